"""Pictures that a model gives back, compares with each other, standardizes itself, or takes in lists."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.advice.batch_size import limit
from dataloader_expert.facts import Facts
from dataloader_expert.probes.model.declared import declared
from dataloader_expert.probes.model.expected import expects
from dataloader_expert.probes.model.misfits import UNTRIED, judged
from dataloader_expert.probes.model.spec import batch_of, leaves, of_input
from dataloader_expert.probes.model.verdict import Verdict

N = 6
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def verdict(model: Any, batch: Any) -> Verdict:
    return judged(model, batch, None, declared(model), seconds=60, n=N, guessed=True)


def said(found: Verdict) -> list[tuple[str, str, bool]]:
    return [(m.code, m.field, m.runs) for m in found.misfits]


class Halving(nn.Module):
    """An autoencoder that halves height and width twice; ``scale``: how many times as large its output is."""

    def __init__(self, scale: int = 1) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 4, 3, 2, 1))
        self.up = nn.Sequential(nn.ConvTranspose2d(4, 4, 2, 2), nn.ConvTranspose2d(4, 1, 2 * scale, 2 * scale))

    def forward(self, x: torch.Tensor) -> Any:
        return self.up(self.down(x))


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize(
    ("side", "scale", "told"),
    [(30, 1, [("shape-mismatch", True)]), (32, 1, []), (32, 2, []), (30, 2, [])],
)
def test_what_is_given_back_has_the_same_size(side: int, scale: int, told: list[Any], labelled: bool) -> None:
    """Seen: an autoencoder that makes 32 x 32 of 30 x 30 was accepted without a word; one that enlarges is meant to."""
    x = torch.rand(N, 1, side, side)
    found = verdict(Halving(scale), [x, torch.arange(N) % 2] if labelled else x)
    assert [(m.code, m.runs) for m in found.misfits] == told
    assert found.accepted


@pytest.mark.parametrize("side", [8, 32])
def test_an_output_of_a_fixed_size_gives_nothing_back(side: int) -> None:
    """Seen: that the input is to have the output's size, of models that pool or resize to one."""
    model = nn.Sequential(nn.Conv2d(3, 3, 3, 1, 1), nn.AdaptiveAvgPool2d(side))
    assert said(verdict(model, [torch.rand(N, 3, 16, 16), torch.arange(N) % 3])) == []


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 16))

    def forward(self, one: torch.Tensor, other: torch.Tensor) -> Any:
        return self.layers(one), self.layers(other)


@pytest.mark.parametrize("shape", [(N, 1), (N,)])
def test_embeddings_of_two_inputs_are_no_classes(shape: tuple[int, ...]) -> None:
    """Seen: that the loss takes labels of another shape, where a contrastive loss compares the embeddings with each other."""
    x = torch.rand(N, 1, 12, 12)
    assert said(verdict(Siamese(), [x, x.flip(0), torch.ones(shape)])) == []


class TwoHeads(nn.Module):
    """The second gives auxiliary logits."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(10, 3) for _ in range(2))

    def forward(self, one: torch.Tensor, other: torch.Tensor) -> Any:
        both = torch.cat([one, other], 1)
        return self.heads[0](both), self.heads[1](both)


def test_two_heads_are_no_embeddings_of_two_inputs() -> None:
    """Seen: nothing of labels beyond the classes, where inputs and outputs were two each."""
    found = verdict(TwoHeads(), {"one": torch.rand(N, 5), "other": torch.rand(N, 5), "label": torch.arange(N)})
    assert [m.code for m in found.misfits] == ["label-out-of-range"]


class Standardizing(nn.Module):
    def __init__(self, names: tuple[str, str]) -> None:
        super().__init__()
        self.names = names
        for name, values in zip(names, (MEAN, STD), strict=True):
            self.register_buffer(name, torch.tensor(values).view(3, 1, 1))
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))

    def forward(self, x: torch.Tensor) -> Any:
        mean, std = (getattr(self, name) for name in self.names)
        return self.layers((x - mean) / std)


@pytest.mark.parametrize("names", [("pixel_mean", "pixel_std"), ("image_mean", "image_std"), ("mean", "std")])
@pytest.mark.parametrize("inside", [False, True])
def test_pictures_that_are_standardized_twice(names: tuple[str, str], inside: bool) -> None:
    """Seen: only of a model that calls them mean and std itself."""
    model: Any = Standardizing(names)
    model = nn.Sequential(model, nn.ReLU()) if inside else model
    x, y = torch.rand(N, 3, 16, 16), torch.arange(N) % 3
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (MEAN, STD))
    assert said(verdict(model, [x, y])) == []
    assert said(verdict(model, [(x - mean) / std, y])) == [("value-range-mismatch", "0", False)]


@pytest.mark.parametrize(("shift", "scale"), [(0.45, 0.26), (0.5, 0.3)])
def test_pictures_standardized_by_others_moments(shift: float, scale: float) -> None:
    """Seen: nothing, where the dataset's mean and std are not the model's, and undoing the model's leaves values a little beyond."""
    x, y = torch.rand(N, 3, 16, 16), torch.arange(N) % 3
    found = verdict(Standardizing(("pixel_mean", "pixel_std")), [(x - shift) / scale, y])
    assert [m.code for m in found.misfits] == ["value-range-mismatch"]
    assert found.accepted


class Bytes(Standardizing):
    """Its mean and std are those of bytes."""

    def forward(self, x: torch.Tensor) -> Any:
        mean, std = (255 * getattr(self, name) for name in self.names)
        return self.layers((x - mean) / std)


def test_a_mean_of_bytes_is_for_bytes() -> None:
    """Seen: of pictures from 0 to 255, that the model expects 0 to 1, though its mean is 124."""
    model, by = Bytes(("mean", "std")), {"mean": [255 * v for v in MEAN], "std": [255 * v for v in STD]}
    batch = [torch.rand(N, 3, 16, 16) * 255, torch.arange(N) % 3]
    assert said(judged(model, batch, None, by, seconds=60, n=N, guessed=True)) == []


@pytest.mark.parametrize(
    ("shift", "scale", "told"), [(0, 1 / 255, []), (0, 1, [True]), (0.485, 0.225, [True]), (0.5, 0.5, [True])]
)
def test_pictures_of_another_scale_for_a_mean_of_bytes(shift: float, scale: float, told: list[bool]) -> None:
    """Seen: nothing, of a part whose ``pixel_mean`` is one of bytes: what it makes of 0 to 1 hardly differs from black."""
    model: Any = Standardizing(("pixel_mean", "pixel_std"))
    model.pixel_mean, model.pixel_std = 255 * model.pixel_mean, 255 * model.pixel_std
    x = torch.rand(N, 3, 16, 16)
    x[0, :, 0, 0], x[0, :, 0, 1] = 0, 1
    found = verdict(nn.Sequential(model), [(x - shift) / scale, torch.arange(N) % 3])
    assert [m.runs or m.cured for m in found.misfits if m.code == "value-range-mismatch"] == told


class Perceptual(nn.Module):
    """An autoencoder with a part that standardizes what its loss compares."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 3, 3, 1, 1), nn.Sigmoid())
        self.compared = Standardizing(("mean", "std"))

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x)


def test_a_part_that_standardizes_what_a_loss_compares_says_nothing_of_the_input() -> None:
    """Seen: that pictures from 0 to 1 are on another scale than the model declares."""
    assert said(verdict(Perceptual(), torch.rand(N, 3, 16, 16))) == []
    assert declared(Perceptual()) is None


class Running(nn.Module):
    """A part that standardizes the measures of a series."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.std = torch.full((5,), 0.5), torch.full((5,), 0.2)
        self.layer = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x)[:, -1]


def test_measures_of_a_series_are_no_pictures() -> None:
    assert declared(nn.Sequential(Running())) is None
    assert said(verdict(nn.Sequential(Running()), [torch.randn(N, 7, 5) * 9, torch.arange(N) % 2])) == []


class Detector(nn.Module):
    """Takes lists, and targets in training mode alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, images: Any, targets: Any = None) -> Any:
        found = [self.layer(image[None]).mean((2, 3)) for image in images]
        if not self.training:
            return [{"boxes": one} for one in found]
        return sum(
            (one - t["boxes"].mean(0)).abs().sum() + t["labels"].sum() for one, t in zip(found, targets, strict=True)
        )


@pytest.mark.parametrize("stacked", [False, True])
def test_targets_in_one_dictionary(stacked: bool) -> None:
    """Seen: "string indices must be integers", of what the default collate function makes of an image and its boxes."""
    images = [torch.rand(3, 9 + i * (not stacked), 9) for i in range(N)]
    lengths = torch.tensor([1, 2] * (N // 2))
    target = {"boxes": torch.rand(N, 2, 4), "boxes_lengths": lengths, "labels": torch.ones(N, 2, dtype=torch.int64)}
    found = verdict(Detector(), [torch.stack(images) if stacked else images, target])
    assert said(found) == [("shape-mismatch", "0" if stacked else "1.boxes", False)]
    assert ("zip(*batch)" in found.misfits[0].says) is not stacked
    assert found.way is not None and "targets" in found.way.code()


def test_images_and_boxes_in_one_dictionary() -> None:
    """Seen: to zip the samples, which are dictionaries and give their keys."""
    batch = {"image": [torch.rand(3, 9 + i, 9) for i in range(N)], "boxes": torch.rand(N, 2, 4)}
    [told] = verdict(Detector(), {**batch, "labels": torch.ones(N, 2, dtype=torch.int64)}).misfits
    assert told.code == "shape-mismatch" and "return both from collate_fn" in told.says


def test_lists_of_numpy_arrays_are_no_images_of_a_detector() -> None:
    """Seen: an AttributeError, as of a tensor's method."""
    images = [torch.rand(3, 9 + i, 9).numpy() for i in range(N)]
    target = {"boxes": torch.rand(N, 2, 4), "labels": torch.ones(N, 2, dtype=torch.int64)}
    assert not judged(Detector(), [images, target], None, seconds=0, n=N).accepted


class Refuses(nn.Module):
    def forward(self, x: Any) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(("batch", "untried"), [(torch.rand(N, 4), [UNTRIED]), ({"x": ["a"] * N}, [])])
def test_changes_that_were_not_tried_are_told_where_there_are_some(batch: Any, untried: list[str]) -> None:
    """Seen: to raise budget_s, where nothing was left to try as the time ended."""
    assert [*judged(Refuses(), batch, None, seconds=0, n=N).unseen] == untried


class Codes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, 2) for n in (4, 6))
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(torch.cat([table(x[:, i]) for i, table in enumerate(self.tables)], 1))


def test_each_column_has_its_own_table() -> None:
    """Seen: that all codes are to be below the size of the first column's table."""
    batch = [torch.tensor([[i % 4, i] for i in range(N)]), torch.arange(N) % 2]
    found = verdict(Codes(), batch)
    assert found.accepted
    assert "column 0 below 4, column 1 below 6" in expects(Codes(), found.way, batch, N)


@pytest.mark.parametrize("device", [None, 16_000_000_000])
def test_a_limit_without_a_step_says_what_it_leaves_out(device: int | None) -> None:
    """Seen: host memory as what limits a batch, where the time ended before a step of the model was traced."""
    assert "memory for training was not measured" in limit(Facts(()), 1 << 34, device, 0.1, model=True)["limited_by"]
    assert "may allow less" not in limit(Facts(()), 1 << 34, device, 0.1)["limited_by"]


class Padded(nn.Module):
    """Looks ids up in a table with an id for padding, or standardizes images, or makes logarithms."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, 6, padding_idx=0), nn.Linear(6, 3)

    def forward(self, input_ids: torch.Tensor, attention_mask: Any = None) -> Any:
        return self.head(self.table(input_ids)).mean(1)


@pytest.mark.parametrize(
    ("model", "described", "told"),
    [
        (Padded(), {"input_ids": {"shape": ["B", 9], "dtype": "int64"}}, []),
        (Standardizing(("mean", "std")), {"x": ["B", 3, 8, 8]}, []),
        (
            Standardizing(("mean", "std")),
            {"x": {"shape": ["B", 3, 8, 8], "low": 0, "high": 255}},
            ["value-range-mismatch"],
        ),
        (Siamese(), {"one": {"shape": ["B", 1, 8, 8], "dtype": "uint8"}, "other": ["B", 1, 8, 8]}, ["dtype-mismatch"]),
    ],
)
def test_drawn_values_say_nothing(model: Any, described: Any, told: list[str]) -> None:
    """Seen: of ids that were drawn, that the padding's id occurs between others."""
    tree = of_input(described)
    drawn = frozenset(name for name, leaf in leaves(tree) if leaf.low is None)
    found = judged(model, batch_of(tree, N), None, declared(model), seconds=60, n=N, drawn=drawn)
    assert [m.code for m in found.misfits] == told


def test_described_pictures_are_bytes() -> None:
    """Seen: a cure that makes floats of bytes without bringing them to a scale of one."""
    pictures = batch_of(of_input({"x": {"shape": ["B", 3, 8, 8], "dtype": "uint8"}}), N)["x"]
    assert int(pictures.max()) > 1
    assert int(batch_of(of_input({"mask": {"shape": ["B", 8, 8], "dtype": "uint8"}}), N)["mask"].max()) <= 1

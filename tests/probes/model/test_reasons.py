"""Where no change of the batch helps, the reason told is that of the call that came furthest, in the batch's own terms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dataloader_expert.errors import RequestError
from dataloader_expert.probes.model.check import with_sizes
from dataloader_expert.probes.model.misfits import judged
from tests.probes.model.test_which_part import ran_as

N = 6


class Detects(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.classes = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 5, 1)

    def forward(self, images: Any, targets: Any) -> Any:
        found = self.classes(self.first(torch.stack(list(images)))).mean((2, 3))
        loss = torch.zeros(())
        for k, target in enumerate(targets):
            boxes = target["boxes"][:, :2]
            loss = loss + F.cross_entropy(found[k].expand(len(boxes), -1), target["labels"])
        return loss


@pytest.mark.journey
def test_classes_that_a_detector_does_not_know_are_told() -> None:
    """Seen: the error of another way of calling it was told, which came less far."""
    images = tuple(torch.rand(3, 8, 8) for _ in range(N))
    targets = tuple({"boxes": torch.rand(k + 1, 4), "labels": torch.full((k + 1,), 3 * k + 1)} for k in range(N))
    (misfit,) = judged(Detects(), (images, targets), None, n=N).misfits
    assert (misfit.code, misfit.field) == ("label-out-of-range", "1.labels") and "labels from 1 to 16" in misfit.says


class Classes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.nll_loss(self.layer(x).log_softmax(-1), y)


def test_labels_that_are_names_are_told() -> None:
    """Seen: of names of classes, that an argument is missing."""
    batch = [torch.randn(N, 4), ["bowline", "sheet bend"] * (N // 2)]
    (misfit,) = judged(Classes(), batch, None).misfits
    assert misfit.field == "1" and "names of classes" in misfit.says and "classes.index(name)" in misfit.fix


def test_one_hot_labels_become_class_numbers() -> None:
    batch = torch.randn(N, 4), F.one_hot(torch.arange(N) % 3, 3).float()
    verdict = judged(Classes(), batch, None)
    assert torch.equal(ran_as(Classes(), verdict, batch)[0][1], torch.arange(N) % 3)


class LooksUp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 1, 1)

    def forward(self, batch: dict[str, torch.Tensor]) -> Any:
        return F.l1_loss(self.layer(batch["image"]), batch["depth"]) + F.l1_loss(batch["image"], batch["normals"])


def test_a_key_that_no_field_stands_for_is_told_with_what_there_is() -> None:
    batch = {"image": torch.rand(N, 3, 5, 5), "depth": torch.rand(N, 1, 5, 5)}
    (misfit,) = judged(LooksUp(), batch, None).misfits
    assert (misfit.code, misfit.field) == ("key-missing", "normals") and "has image, depth" in misfit.says


class Pairs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(1, 4, 3)

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> Any:
        return (self.layer(first) - self.layer(second)).flatten(1).norm(dim=1)


def test_the_two_images_of_a_pair_are_given_one_by_one() -> None:
    batch = torch.rand(N, 2, 1, 8, 8), (torch.arange(N) % 2).float()
    (first, second), y = ran_as(Pairs(), judged(Pairs(), batch, None), batch)
    assert torch.equal(second, batch[0][:, 1]) and torch.equal(first, batch[0][:, 0]) and torch.equal(y, batch[1])


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.table(ids).mean(1)


def test_fractions_for_a_table_are_of_the_wrong_dtype() -> None:
    """Seen: a mismatch of shapes, as the line of code that the error quotes had the word in it."""
    (misfit,) = judged(Table(), {"ids": torch.rand(N, 5)}, None).misfits
    assert (misfit.code, misfit.field) == ("dtype-mismatch", "ids") and "float32" in misfit.says


class Hand(nn.Module):
    def __init__(self, keeps: bool = True) -> None:
        super().__init__()
        self.layer, self.keeps = nn.Linear(4, 1), keeps

    def forward(self, x: torch.Tensor, price: torch.Tensor) -> Any:
        made = self.layer(x)
        return ((made if self.keeps else made.squeeze(1)) - price).pow(2).mean()


def test_a_loss_by_hand_over_all_pairs_of_samples_is_told() -> None:
    """Seen: [B, 1] minus [B] was accepted; only torch's own losses warn of it."""
    batch = torch.randn(N, 4), torch.rand(N)
    verdict = judged(Hand(), batch, None)
    assert not verdict.accepted and [m.code for m in verdict.misfits] == ["shape-mismatch"]
    assert ran_as(Hand(), verdict, batch)[0][1].shape == (N, 1)


class Ranks(nn.Module):
    """All pairs on purpose."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, price: torch.Tensor) -> Any:
        made, above = self.layer(x), price[:, None] - price
        return (torch.relu(1 - (made - made.T)) * (above > 0)).mean()


def test_losses_that_compare_all_pairs_on_purpose_are_sound() -> None:
    for model, batch in (
        (Ranks(), (torch.randn(N, 4), torch.rand(N))),
        (Hand(False), (torch.randn(N, 4), torch.rand(N))),
        (Hand(), (torch.randn(N, 4), torch.rand(N, 1))),
    ):
        verdict = judged(model, batch, None)
        assert verdict.accepted and not verdict.misfits, verdict


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.LazyLinear(8), nn.LazyLinear(3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.cross_entropy(self.last(self.first(x)), y)


def test_lazy_layers_take_their_sizes_from_the_batch() -> None:
    """Seen: such a model was not checked, as its parameters were counted before they had a shape."""
    batch = torch.randn(N, 7), torch.arange(N) % 3
    made: Any = with_sizes(Lazy, batch, N, None)()
    assert made.first.in_features == 7 and judged(made, batch, None).accepted
    with pytest.raises(RequestError, match="lazy layers"):
        with_sizes(Lazy, {"text": ["a"] * N}, N, None)()


def test_one_sample_without_a_batch_dimension_gets_one() -> None:
    """Seen: 22 channels of a sample were taken for samples."""
    batch = {"eeg": torch.randn(22, 50), "stage": 3}
    verdict = judged(Reads(), batch, None, n=1)
    assert ran_as(Reads(), verdict, batch)[0][0].shape == (1, 22, 50)


class Reads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Conv1d(22, 4, 5), nn.Linear(4 * 46, 3)

    def forward(self, eeg: torch.Tensor) -> Any:
        return self.head(self.layer(eeg).flatten(1))

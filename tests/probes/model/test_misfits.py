"""Models that do not take a batch: the difference is named, and the cure runs."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.probes.model.check import without_values
from dataloader_expert.probes.model.declared import declared
from dataloader_expert.probes.model.misfits import breaks_on_one, judged
from dataloader_expert.probes.model.verdict import SCALE, Verdict
from dataloader_expert.probes.model.ways import TARGET, functions

FRESH = int.from_bytes(os.urandom(4), "big")
"""A seed of this run's own: what is planted differs each time."""
SEEDS = (0, FRESH)


class Pictures(nn.Module):
    """[B, channels, H, W] to classes; ``side``: the one size that it takes, or None."""

    def __init__(self, channels: int = 3, classes: int = 10, side: int | None = None) -> None:
        super().__init__()
        self.first, self.side = nn.Conv2d(channels, 6, 3, padding=1), side
        self.norm, self.head = nn.BatchNorm2d(6), nn.Linear(6 * (side or 1) ** 2, classes)

    def forward(self, x: torch.Tensor) -> Any:
        x = self.norm(self.first(x))
        return self.head(x.flatten(1) if self.side else x.mean((2, 3)))


class ChannelsLast(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layer = nn.Linear(channels, 5)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x).mean((1, 2))


class Rows(nn.Module):
    def __init__(self, features: int, out: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, out)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x)


class Words(nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(rows, 6), nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.head(self.table(ids).mean(1))


class ByName(Words):
    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:  # type: ignore[override]
        return self.head(self.table(input_ids).mean(1)) * attention_mask.sum(1, keepdim=True)


class ByKey(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, 3)

    def forward(self, batch: dict[str, torch.Tensor]) -> Any:
        return self.layer(batch["features"])


class Series(nn.Module):
    """``first``: the layer's batch_first."""

    def __init__(self, features: int, first: bool) -> None:
        super().__init__()
        self.layer, self.first = nn.LSTM(features, 7, batch_first=first), first

    def forward(self, x: torch.Tensor) -> Any:
        out = self.layer(x)[0]
        return out[:, -1] if self.first else out[-1]


class Signals(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layer = nn.Conv1d(channels, 4, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x).mean(2)


class Draw:
    """Sizes drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def whole(self, low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def rand(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.generator)

    def ids(self, low: int, high: int, *shape: int) -> torch.Tensor:
        drawn = torch.randint(low, high + 1, shape, generator=self.generator)
        drawn.flatten()[0], drawn.flatten()[-1] = low, high
        return drawn


Planted = tuple[nn.Module, Any]
N = 9


def nhwc(d: Draw) -> Planted:
    return Pictures(), (d.rand(N, d.whole(8, 40), d.whole(8, 40), 3), d.ids(0, 9, N))


def nchw(d: Draw) -> Planted:
    return ChannelsLast(3), (d.rand(N, 3, d.whole(8, 40), d.whole(8, 40)), d.ids(0, 4, N))


def grey(d: Draw) -> Planted:
    side = d.whole(8, 30)
    return Pictures(3), (d.rand(N, 1, side, side), d.ids(0, 9, N))


def alpha(d: Draw) -> Planted:
    side = d.whole(8, 30)
    return Pictures(3), (d.rand(N, 4, side, side), d.ids(0, 9, N))


def colour(d: Draw) -> Planted:
    side = d.whole(8, 30)
    return Pictures(1), (d.rand(N, 3, side, side), d.ids(0, 9, N))


def whole_numbers(d: Draw) -> Planted:
    side = d.whole(8, 30)
    return Pictures(), {"image": d.ids(0, 255, N, 3, side, side).byte(), "label": d.ids(0, 9, N)}


def double(d: Draw) -> Planted:
    n = d.whole(4, 60)
    return Rows(n, 3), (d.rand(N, n).double(), d.ids(0, 2, N))


def half(d: Draw) -> Planted:
    n = d.whole(4, 60)
    return Rows(n, 3), (d.rand(N, n).half(), d.ids(0, 2, N))


def float_ids(d: Draw) -> Planted:
    rows = d.whole(20, 90)
    return Words(rows), (d.ids(0, rows - 1, N, d.whole(4, 12)).float(), d.ids(0, 2, N))


def not_flat(d: Draw) -> Planted:
    side = d.whole(8, 30)
    return Rows(side * side, 4), (d.rand(N, 1, side, side), d.ids(0, 3, N))


def flat(d: Draw) -> Planted:
    side = d.whole(8, 30)
    return Pictures(1), (d.rand(N, side * side), d.ids(0, 9, N))


def another_side(d: Draw) -> Planted:
    side = 32 if d.whole(0, 1) else 28
    return Pictures(3, 10, side), (d.rand(N, 3, side + 2, side + 2), d.ids(0, 9, N))


def no_batch(d: Draw) -> Planted:
    return Pictures(3), d.rand(3, d.whole(11, 30), d.whole(11, 30))


def from_one(d: Draw) -> Planted:
    rows = d.whole(20, 90)
    return Words(rows), {"ids": d.ids(1, rows, N, d.whole(4, 12)), "label": d.ids(0, 2, N)}


def beyond(d: Draw) -> Planted:
    rows = d.whole(20, 90)
    return Words(rows), {"ids": d.ids(0, rows + d.whole(5, 50), N, d.whole(4, 12)), "label": d.ids(0, 2, N)}


def no_mask(d: Draw) -> Planted:
    return ByName(40), {"input_ids": d.ids(0, 39, N, d.whole(4, 12)), "label": d.ids(0, 2, N)}


def other_names(d: Draw) -> Planted:
    length = d.whole(4, 12)
    return ByName(40), {"tokens": d.ids(0, 39, N, length), "mask": torch.ones(N, length), "label": d.ids(0, 2, N)}


def other_key(d: Draw) -> Planted:
    n = d.whole(4, 60)
    return ByKey(n), {"row": d.rand(N, n), "label": d.ids(0, 2, N)}


def batch_first(d: Draw) -> Planted:
    n = d.whole(4, 12)
    return Series(n, first=False), (d.rand(N, d.whole(13, 30), n), d.ids(0, 6, N))


def channels_after(d: Draw) -> Planted:
    n = d.whole(5, 12)
    return Signals(n), (d.rand(N, d.whole(13, 30), n), d.ids(0, 3, N))


class Hourglass(nn.Module):
    """Halves height and width ``depth`` times and doubles them again, next to what it had on the way: masks of two classes."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.first, self.head, self.depth = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 2, 1), depth

    def forward(self, x: torch.Tensor) -> Any:
        sides = [self.first(x)]
        for _ in range(self.depth):
            sides.append(nn.functional.max_pool2d(sides[-1], 2))
        x = sides.pop()
        while sides:
            x = nn.functional.interpolate(x, scale_factor=2) + sides.pop()
        return self.head(x)


class Placed(nn.Module):
    """Ids and their places, each in a table."""

    def __init__(self, rows: int, places: int) -> None:
        super().__init__()
        self.rows, self.places, self.head = nn.Embedding(rows, 6), nn.Embedding(places, 6), nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.head((self.rows(ids) + self.places(torch.arange(ids.shape[1]))).mean(1))


class WithLoss(nn.Module):
    """Takes its target too, and gives the loss."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return nn.functional.cross_entropy(self.layer(x), y)


class Heads(nn.Module):
    """Two outputs by name: classes, and numbers."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.kind, self.size = nn.Linear(features, 4), nn.Linear(features, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return {"kind": self.kind(x), "size": self.size(x)}


def odd_sides(d: Draw) -> Planted:
    depth = d.whole(2, 3)
    sides = 2 ** (depth + 1) + d.whole(1, 3), 2 ** (depth + 1) + d.whole(1, 3)
    return Hourglass(depth), (d.rand(N, 3, *sides), d.ids(0, 1, N, *sides))


def too_long(d: Draw) -> Planted:
    places = d.whole(5, 20)
    return Placed(300, places), (d.ids(0, 299, N, places + d.whole(1, 20)), d.ids(0, 2, N))


def columns(d: Draw) -> Planted:
    return Rows(3, 2), {"a": d.rand(N), "b": d.rand(N), "c": d.rand(N), "label": d.ids(0, 1, N)}


KINDS: dict[str, tuple[Callable[[Draw], Planted], str]] = {
    "channels last": (nhwc, "layout-mismatch"),
    "channels first": (nchw, "layout-mismatch"),
    "grey pictures": (grey, "channels-mismatch"),
    "pictures with alpha": (alpha, "channels-mismatch"),
    "colour for a grey model": (colour, "channels-mismatch"),
    "bytes": (whole_numbers, "dtype-mismatch"),
    "float64": (double, "dtype-mismatch"),
    "float16": (half, "dtype-mismatch"),
    "ids as floats": (float_ids, "dtype-mismatch"),
    "not flattened": (not_flat, "shape-mismatch"),
    "flattened": (flat, "shape-mismatch"),
    "another height and width": (another_side, "shape-mismatch"),
    "no dimension of the batch": (no_batch, "shape-mismatch"),
    "ids from one": (from_one, "out-of-range-ids"),
    "ids beyond the table": (beyond, "out-of-range-ids"),
    "no attention mask": (no_mask, "key-missing"),
    "other names of arguments": (other_names, "key-missing"),
    "another key": (other_key, "key-missing"),
    "batch before time": (batch_first, "layout-mismatch"),
    "channels after time": (channels_after, "layout-mismatch"),
    "columns for a table": (columns, "shape-mismatch"),
    "sides that cannot be halved": (odd_sides, "shape-mismatch"),
    "longer than its places": (too_long, "shape-mismatch"),
}


def ask(model: nn.Module, batch: Any) -> Verdict:
    return judged(model, batch, "label" if isinstance(batch, dict) else None, declared(model), seconds=60)


def cured(verdict: Verdict, model: nn.Module, batch: Any) -> Any:
    """The model's output by the code handed over, as a user would run it."""
    assert verdict.way is not None
    given, named = functions(verdict.way.code())[0](batch)
    return model.eval()(*given, **named)


@pytest.mark.parametrize("seed", SEEDS, ids=["0", "fresh"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_misfit_is_named_and_its_cure_runs(kind: str, seed: int) -> None:
    """Our promise: the code of each kind, whatever the sizes, and lines with which the model takes the batch."""
    plant, code = KINDS[kind]
    print(f"seed {seed}")  # of a failure
    torch.manual_seed(seed)
    model, batch = plant(Draw(seed))
    verdict = ask(model, batch)
    assert not verdict.accepted
    assert [m.code for m in verdict.misfits if m.field != TARGET][:1] == [code]
    assert {m.code for m in verdict.misfits if m.field != TARGET} == {code}
    assert verdict.error
    out = cured(verdict, model, batch)
    assert torch.isfinite(out).all()


FITS: dict[str, Callable[[Draw], Planted]] = {
    "pictures": lambda d: (Pictures(), (d.rand(N, 3, 20, 24), d.ids(0, 9, N))),
    "a mapping": lambda d: (Pictures(), {"image": d.rand(N, 3, 20, 24), "label": d.ids(0, 9, N)}),
    "words": lambda d: (Words(30), {"ids": d.ids(0, 29, N, 6), "label": d.ids(0, 2, N)}),
    "its own names": lambda d: (ByName(30), {"input_ids": d.ids(0, 29, N, 6), "attention_mask": torch.ones(N, 6)}),
    "its own key": lambda d: (ByKey(8), {"features": d.rand(N, 8), "label": d.ids(0, 2, N)}),
    "time": lambda d: (Series(5, first=True), (d.rand(N, 20, 5), d.ids(0, 6, N))),
    "a tensor alone": lambda d: (Rows(6, 3), d.rand(N, 6)),
    "a loss of its own": lambda d: (WithLoss(6), (d.rand(N, 6), d.ids(0, 2, N))),
    "several outputs": lambda d: (Heads(6), (d.rand(N, 6), {"kind": d.ids(0, 3, N), "size": d.rand(N, 2)})),
    "numbers to be learnt": lambda d: (Rows(6, 1), (d.rand(N, 6), d.rand(N, 1))),
}


@pytest.mark.parametrize("kind", FITS)
def test_a_batch_that_fits_is_accepted_without_a_word(kind: str) -> None:
    """Our promise: no false alarm."""
    verdict = ask(*FITS[kind](Draw(FRESH)))
    assert verdict.accepted
    assert not verdict.misfits
    assert verdict.error is None


@pytest.mark.parametrize(
    ("target", "out", "code"),
    [
        pytest.param(lambda d: d.ids(0, 4, N).int(), 5, "dtype-mismatch", id="int32"),
        pytest.param(lambda d: d.ids(0, 4, N).float(), 5, "dtype-mismatch", id="float classes"),
        pytest.param(lambda d: d.ids(1, 5, N), 5, "label-out-of-range", id="from one"),
        pytest.param(lambda d: d.ids(0, 4, N, 1), 5, "shape-mismatch", id="a column"),
        pytest.param(lambda d: d.ids(0, 9, N), 5, "label-out-of-range", id="more classes than outputs"),
        pytest.param(lambda d: d.ids(0, 1, N), 1, "shape-mismatch", id="two classes for one output"),
        pytest.param(lambda d: d.rand(N), 1, "shape-mismatch", id="would be broadcast"),
    ],
)
def test_a_target_that_the_loss_refuses_is_named(target: Any, out: int, code: str) -> None:
    """Our promise: the model takes the batch; what a loss says to the labels is told beside it."""
    d = Draw(FRESH)
    verdict = ask(Rows(6, out), (d.rand(N, 6), target(d)))
    assert verdict.accepted
    assert [(m.code, m.field) for m in verdict.misfits] == [(code, TARGET)]
    [misfit] = verdict.misfits
    assert verdict.way is not None
    y = functions(verdict.way.code())[1]((None, target(d)))
    runs = out == 1 or (not y.is_floating_point() and y.ndim == 1 and 0 <= int(y.min()) <= int(y.max()) < out)
    assert misfit.cured is runs


@pytest.mark.parametrize("scale", [1.0, 255.0])
def test_values_on_another_scale_than_declared_are_told_and_mended(scale: float) -> None:
    """timm's default_cfg, as its documentation shows it: mean and std of pictures divided by 255."""
    d = Draw(FRESH)
    model = Pictures()
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
    model.default_cfg = {"mean": mean, "std": std, "input_size": (3, 20, 24)}  # type: ignore[assignment]  # as timm does
    x = d.rand(N, 3, 20, 24)
    verdict = ask(model, (x * scale, d.ids(0, 9, N)))
    assert verdict.accepted
    assert [m.code for m in verdict.misfits] == [SCALE]
    assert verdict.way is not None
    (mended,), _ = functions(verdict.way.code())[0]((x * scale, None))
    wanted = (x - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)
    assert torch.allclose(mended, wanted, atol=1e-5)
    assert not ask(model, (wanted, d.ids(0, 9, N))).misfits


def test_pictures_of_files_are_brought_to_the_scale_that_the_model_declares() -> None:
    """Seen: of a folder of pictures, whose scale no one had chosen, the model was said not to run correctly."""
    model = Pictures()
    model.default_cfg = {"mean": (0.5,) * 3, "std": (0.2,) * 3, "input_size": (3, 20, 24)}  # type: ignore[assignment]
    batch = {"image": torch.arange(N * 1_440).view(N, 3, 20, 24).remainder(256).byte(), "label": torch.arange(N) % 10}
    verdict = judged(model, batch, "label", declared(model), stored={"image": "image"})
    assert verdict.accepted and verdict.misfits == () and verdict.way is not None
    (x,), named = functions(verdict.way.code())[0](batch)
    assert torch.allclose(x, (batch["image"] / 255 - 0.5) / 0.2, atol=1e-5) and not named


def test_a_batch_of_one_breaks_batch_normalisation_alone() -> None:
    """torch's own behaviour: Expected more than 1 value per channel when training."""
    for layer, breaks in ((nn.BatchNorm1d(4), True), (nn.LayerNorm(4), False)):
        model = nn.Sequential(nn.Linear(6, 4), layer)
        batch = torch.rand(N, 6)
        way = judged(model, batch, None).way
        assert way is not None
        assert breaks_on_one(model, way, batch) is breaks


def test_a_mask_goes_with_its_picture() -> None:
    """Our promise: the loss runs with the target that the cure gives. Seen: the mask was told to be too small for the output."""
    model, batch = odd_sides(Draw(FRESH))
    verdict = ask(model, batch)
    assert verdict.way is not None
    assert [m.field for m in verdict.misfits if m.field == TARGET] == []
    adapt, target = functions(verdict.way.code())
    given, named = adapt(batch)
    loss = nn.functional.cross_entropy(model(*given, **named), target(batch))
    assert torch.isfinite(loss)


def test_no_cure_is_made_up() -> None:
    """Our promise: where no change of the batch makes the model run, only the error is told."""
    verdict = ask(Rows(13, 3), (torch.rand(N, 8), torch.zeros(N, dtype=torch.long)))
    assert verdict.way is None
    assert "cannot be multiplied" in str(verdict.error)


@pytest.mark.parametrize(
    ("ids", "code"), [(torch.zeros(N, 6, dtype=torch.long), None), (torch.zeros(N, 6), "dtype-mismatch")]
)
def test_a_model_too_large_for_memory_is_judged_without_values(ids: torch.Tensor, code: str | None) -> None:
    """Our promise: shapes, names and dtypes are judged on fake tensors as on real ones; 40 GB take no memory."""
    model, context, batch = without_values(lambda: Words(1_600_000_000), {"ids": ids, "label": torch.zeros(N).long()})
    with context:
        verdict = ask(model, batch)
    assert verdict.accepted is (code is None)
    assert [m.code for m in verdict.misfits] == ([] if code is None else [code])


class Preset:
    def __init__(self) -> None:
        self.mean, self.std, self.crop_size = [0.1], [0.2], [24]


class Weights:
    def transforms(self) -> Preset:
        return Preset()


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        pytest.param("weights", Weights(), {"mean": [0.1], "std": [0.2], "size": 24}, id="torchvision"),
        pytest.param("config", {"image_size": 30, "num_channels": 1}, {"size": 30, "channels": 1}, id="hugging face"),
        pytest.param("config", {"vocab_size": 99}, {"vocabulary": 99}, id="a language model"),
        pytest.param("other", 1, None, id="nothing"),
    ],
)
def test_what_a_model_declares_is_read(attribute: str, value: Any, expected: dict[str, Any] | None) -> None:
    """Our promise: declared where it stands, else unknown."""
    model = nn.Linear(2, 2)
    setattr(model, attribute, value)
    found = declared(model)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert {k: v for k, v in found.items() if k != "by"} == expected


class Attends(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, 8), nn.Linear(8, 2)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, ids: torch.Tensor, padding: torch.Tensor) -> Any:
        return self.head(self.layer(self.table(ids), src_key_padding_mask=padding)[:, 0])


def test_a_mask_that_is_inverted_is_told_by_what_the_model_makes_of_it() -> None:
    """Our promise: True for what is to be read, where the model takes True for padding, runs and gives NaN."""
    ids = torch.randint(1, 50, (6, 9))
    padding = torch.arange(9)[None] >= torch.tensor([9, 5, 4, 9, 3, 2])[:, None]
    verdict = judged(Attends().eval(), (ids, ~padding, torch.zeros(6, dtype=torch.long)), None)
    [misfit] = verdict.misfits
    assert (misfit.code, misfit.field, misfit.cured) == (SCALE, "1", True)
    assert verdict.way is not None and "~" in verdict.way.code()
    assert not judged(Attends().eval(), (ids, padding, torch.zeros(6, dtype=torch.long)), None).misfits


def test_an_output_that_is_not_finite_is_told_without_a_cure() -> None:
    model = Rows(4, 2).eval()
    with torch.no_grad():
        model.layer.weight[0, 0] = float("nan")
    [misfit] = judged(model, (torch.ones(5, 4), torch.zeros(5, dtype=torch.long)), None).misfits
    assert (misfit.code, misfit.cured) == (SCALE, False)


class Detects(nn.Module):
    """A list of images of several sizes, and what is in each."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, images: Any, targets: Any = None) -> Any:
        high, wide = (max(image.shape[d] for image in images) for d in (1, 2))
        pad = nn.functional.pad
        x = self.layer(torch.stack([pad(i, (0, wide - i.shape[2], 0, high - i.shape[1])) for i in images]))
        boxes = sum(len(target["boxes"]) for target in targets or ())
        return {"loss_class": x.mean(), "loss_box": x.square().mean() * boxes}


@pytest.mark.parametrize("n", [1, 3, 6])
def test_a_detector_takes_a_list_of_images_and_what_is_in_each(n: int) -> None:
    """Our promise: a batch as torchvision's detectors take it, made by ``tuple(zip(*samples))``, is no misfit."""
    images = tuple(torch.rand(3, 20 + i, 30 - i) for i in range(n))
    targets = tuple({"boxes": torch.rand(i, 4), "labels": torch.ones(i, dtype=torch.long)} for i in range(n))
    verdict = judged(Detects().eval(), (images, targets), None)
    assert verdict.accepted and not verdict.misfits and verdict.way is not None
    assert verdict.way.code().count("batch[") == 2


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(40, 4), nn.Embedding(400, 4)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> Any:
        return (self.users(user) * self.items(item)).sum(1)


@pytest.mark.parametrize("seed", SEEDS, ids=["0", "fresh"])
def test_arguments_in_the_other_order_are_told_as_such(seed: int) -> None:
    """Our promise: ids beyond one table that fit the other are no unknown ids."""
    draw = torch.Generator().manual_seed(seed)
    users, items = torch.randint(0, 40, (20,), generator=draw), torch.randint(40, 400, (20,), generator=draw)
    rating = torch.rand(20)
    verdict = judged(Towers().eval(), (items, users, rating), None)
    assert [m.code for m in verdict.misfits] == ["key-missing"] and verdict.way is not None
    given, _ = functions(verdict.way.code())[0]((items, users, rating))
    assert torch.equal(given[0], users) and torch.equal(given[1], items)
    assert not judged(Towers().eval(), (users, items, rating), None).misfits


@pytest.mark.parametrize(
    ("model", "batch", "code"),
    [
        (Pictures(2, 3), torch.randn(5, 9, 9, dtype=torch.complex64), "dtype-mismatch"),
        (nn.Sequential(nn.Conv1d(1, 4, 3), nn.Flatten(1)), torch.randn(5, 2, 60), "channels-mismatch"),
    ],
)
def test_complex_numbers_and_stereo_are_mended(model: Any, batch: torch.Tensor, code: str) -> None:
    verdict = judged(model.eval(), (batch, torch.zeros(5, dtype=torch.long)), None)
    assert [m.code for m in verdict.misfits if m.field != TARGET] == [code] and verdict.way is not None
    (mended,), _ = functions(verdict.way.code())[0]((batch, None))
    assert mended.is_floating_point() and model(mended).shape[0] == 5


class Trains(nn.Module):
    """Takes its target too, and gives the loss."""

    def __init__(self, inner: nn.Module, loss: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.inner, self.loss = inner, loss

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return self.loss(self.inner(x), y)


def with_void(shape: tuple[int, ...], classes: int) -> torch.Tensor:
    y = torch.arange(torch.Size(shape).numel()).reshape(shape) % classes
    y.view(-1)[1::7] = 255
    return y


@pytest.mark.parametrize(
    ("model", "x", "y", "code", "cure"),
    [
        (Trains(Rows(8, 5), nn.CrossEntropyLoss()), torch.randn(20, 8), torch.arange(20) % 5 + 1,
         "label-out-of-range", "batch[1] - 1"),
        (Trains(nn.Conv2d(3, 4, 1), nn.CrossEntropyLoss()), torch.rand(6, 3, 9, 9), with_void((6, 9, 9), 4),
         "label-out-of-range", "torch.where(batch[1] == 255, -100, batch[1])"),
        (Trains(Rows(8, 1), nn.MSELoss()), torch.randn(20, 8), torch.randn(20), "shape-mismatch", "batch[1].unsqueeze(1)"),
    ],
    ids=["classes from 1", "a class for none", "pairs of samples"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_what_a_loss_within_the_model_refuses_is_told(model: Any, x: Any, y: Any, code: str, cure: str) -> None:
    """Our promise: a model that computes its loss is called with its target, and what ails that is named, with a cure that ran."""
    verdict = judged(model, (x, y), None)
    assert verdict.way is not None and not verdict.accepted
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [(code, "1", True)]
    adapt, _ = functions(verdict.way.code())
    assert f"x1 = {cure}" in verdict.way.code()
    given, named = adapt((x, y))
    assert model(*given, **named).isfinite()
    fine = verdict.way.mends["1"][0].replace("{x}", "batch[1]")
    assert judged(model, (x, eval(fine, {"torch": torch, "batch": (x, y)})), None).accepted  # our own template


def test_masks_beyond_the_outputs_classes_are_told() -> None:
    """Our promise: 255 in a mask is told with what to pass to the loss, and a class that is missing without a cure."""
    model, x = nn.Conv2d(3, 4, 1), torch.rand(6, 3, 9, 9)
    [void] = judged(model, (x, with_void((6, 9, 9), 4)), None).misfits
    assert (void.code, void.field, void.cured) == ("label-out-of-range", TARGET, True)
    assert "ignore_index=255" in void.says
    [more] = judged(model, (x, torch.arange(6 * 81).reshape(6, 9, 9) % 5), None).misfits
    assert (more.code, more.cured) == ("label-out-of-range", False)
    for dtype in (torch.uint8, torch.int32):
        [narrow] = judged(model, (x, with_void((6, 9, 9), 4).to(dtype)), None).misfits
        assert narrow.cured and "ignore_index=255" in narrow.says
    [gap] = judged(model, (x, torch.where(torch.arange(6 * 81).reshape(6, 9, 9) % 5 == 4, 4, 0)), None).misfits
    assert (gap.code, gap.cured) == ("label-out-of-range", False)  # a fifth class, and none to be ignored
    assert judged(model, (x, torch.arange(6 * 81).reshape(6, 9, 9) % 4), None).misfits == ()


class LooksUp(Words):
    def forward(self, batch: dict[str, torch.Tensor]) -> Any:  # type: ignore[override]  # takes the batch whole
        return super().forward(batch["input_ids"]) * batch["attention_mask"].sum(1, keepdim=True)


def test_a_field_that_a_model_looks_up_stands_for_no_other() -> None:
    """Our promise: a mask that is missing follows from the shape; token ids as a mask would train something else."""
    batch = {"input_ids": torch.randint(0, 50, (8, 12)), "label": torch.arange(8) % 3}
    verdict = judged(LooksUp(50), batch, "label")
    assert [(m.code, m.field) for m in verdict.misfits] == [("key-missing", "attention_mask")]
    assert verdict.way is not None and "torch.ones(batch['input_ids'].shape[:2]" in verdict.way.code()


def test_as_many_labels_a_sample_as_the_output_has_numbers() -> None:
    """Our promise: several labels a sample are not taken for class numbers."""
    [found] = judged(Rows(8, 4), (torch.randn(20, 8), (torch.rand(20, 6) > 0.5).float()), None).misfits
    assert (found.code, found.cured) == ("shape-mismatch", False)
    assert "6 labels a sample" in found.says


class Indexes(nn.Module):
    """A table that is a plain tensor."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(rows, 4))

    def forward(self, ids: torch.Tensor) -> Any:
        return self.table[ids].sum(1)


def test_ids_beyond_a_plain_tensor_are_no_labels() -> None:
    """Our promise: torch says "out of bounds" of any index; only that of a target is one of classes."""
    verdict = judged(Indexes(10), (torch.arange(1, 11).repeat(8, 2), torch.zeros(8)), None)
    assert "label-out-of-range" not in {m.code for m in verdict.misfits}


class Slow(Pictures):
    """Takes its time over each sample, and counts them."""

    seen = 0

    def forward(self, x: torch.Tensor) -> Any:
        time.sleep(0.2 * len(x))
        self.seen += len(x)
        return super().forward(x)


@pytest.mark.journey
def test_a_slow_model_is_called_with_few_samples() -> None:
    """Our promise: a large batch of a large model takes no minutes; how many were run is said."""
    model = Slow()
    verdict = judged(model, torch.randn(500, 3, 8, 8), None)
    assert verdict.accepted
    assert 1 < verdict.samples < 100
    assert model.seen <= 4 * verdict.samples


@pytest.mark.journey
def test_ids_beyond_the_table_are_found_however_slow_the_model() -> None:
    """Our promise: the samples with the largest ids are among the few."""

    class Waits(Words):
        def forward(self, ids: torch.Tensor) -> Any:
            time.sleep(0.2 * len(ids))
            return super().forward(ids)

    ids = torch.zeros(300, 4, dtype=torch.long)
    ids[random.randrange(300), 2] = 50
    verdict = judged(Waits(50), ids, None)
    assert not verdict.accepted


class Declares(Words):
    """As models of transformers: every input has a default, and one is declared as the main one."""

    main_input_name = "input_ids"

    def forward(self, input_ids: Any = None, pixel_values: Any = None, labels: Any = None) -> Any:
        return super().forward(input_ids)


class TakesBoth(Declares):
    def forward(self, input_ids: Any = None, pixel_values: Any = None, labels: Any = None) -> Any:
        return self.head(self.table(input_ids).mean(1)) + pixel_values.mean((1, 2, 3))[:, None]


@pytest.mark.parametrize(
    ("model", "batch", "told"),
    [
        (Declares, {"text": "ids", "labels": "y"}, ["text"]),
        (TakesBoth, {"text": "ids", "image": "x"}, ["text", "image"]),
        (TakesBoth, {"input_ids": "ids", "image": "x"}, ["image"]),
    ],
)
def test_inputs_are_called_as_the_model_declares(model: Any, batch: dict[str, str], told: list[str]) -> None:
    """Our promise: trainers pass fields by name, so a name that the model does not know is told, with the one it has."""
    made = {"ids": torch.randint(0, 9, (8, 5)), "x": torch.rand(8, 3, 6, 6), "y": torch.zeros(8, dtype=torch.long)}
    verdict = judged(model(9), {k: made[v] for k, v in batch.items()}, None)
    assert not verdict.accepted
    assert [(m.code, m.field) for m in verdict.misfits] == [("key-missing", f) for f in told]


def test_an_input_that_the_batch_lacks_is_named() -> None:
    verdict = judged(TakesBoth(9), {"input_ids": torch.randint(0, 9, (8, 5))}, None)
    assert [(m.code, m.field, m.cured) for m in verdict.misfits] == [("key-missing", "pixel_values", False)]


class OfBoxes(nn.Module):
    """A detector that looks up another key in each sample's labels than the batch has."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3)

    def forward(self, pixel_values: torch.Tensor, labels: Any = None) -> Any:
        out = self.first(pixel_values).mean((2, 3))
        return out if labels is None else (out, sum(one["class_labels"].sum() for one in labels))


@pytest.mark.journey
def test_labels_that_the_model_refuses_are_no_reason_to_leave_them_out() -> None:
    """Our promise: without them it runs, and has no loss; that is told."""
    labels = [{"boxes": torch.rand(2, 4), "labels": torch.tensor([1, 2])} for _ in range(8)]
    verdict = judged(OfBoxes(), {"pixel_values": torch.rand(8, 3, 16, 16), "labels": labels}, None)
    assert not verdict.accepted
    assert [(m.code, m.field) for m in verdict.misfits] == [("key-missing", "labels")]
    assert "class_labels" in verdict.misfits[0].says
    named = [{"class_labels": one["labels"]} for one in labels]
    assert judged(OfBoxes(), {"pixel_values": torch.rand(8, 3, 16, 16), "labels": named}, None).accepted


class Forecasts(nn.Module):
    """[B, 24, 5] of the past and [B, 6, 5] of the future."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(24, 6)

    def forward(self, past: torch.Tensor, future: torch.Tensor) -> Any:
        if past.shape[1] != 24:
            raise ValueError("another length")
        return {"loss": (self.layer(past.transpose(1, 2)).transpose(1, 2) - future).square().mean()}


def test_fields_that_are_laid_out_alike_are_mended_alike() -> None:
    batch = {"past": torch.rand(8, 5, 24), "future": torch.rand(8, 5, 6)}
    verdict = judged(Forecasts(), batch, None)
    assert {(m.code, m.field) for m in verdict.misfits} == {("layout-mismatch", "past"), ("layout-mismatch", "future")}
    assert cured(verdict, Forecasts(), batch)["loss"] > 0


class Tags(nn.Module):
    """A loss over each token, whose positions begin after that of the padding."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(50, 6), nn.Embedding(20, 6, padding_idx=1)
        self.kinds, self.head = nn.Embedding(2, 6), nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor) -> Any:
        at = torch.arange(ids.shape[1]) + 2
        out = self.head((self.table(ids) + self.places(at) + self.kinds(mask * 0)) * mask[..., None])
        return {"loss": nn.functional.cross_entropy(out.flatten(0, 1), labels.view(-1))}


def test_what_is_too_long_is_cut_in_every_field() -> None:
    """Our promise: to as many positions as the model has, not to the two rows of another table."""
    shape = (8, 30)
    batch = {
        "ids": torch.randint(2, 50, shape),
        "mask": torch.ones(shape, dtype=torch.long),
        "labels": torch.randint(0, 3, shape),
    }
    verdict = judged(Tags(), batch, None)
    assert [m.field for m in verdict.misfits] == ["ids", "mask", "labels"]
    assert "up to 18" in verdict.misfits[0].says
    assert cured(verdict, Tags(), batch)["loss"] > 0

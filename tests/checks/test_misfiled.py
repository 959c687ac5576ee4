"""Labels, targets and masks of a few samples together that contradict what these show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from dataloader_expert.sources.base import Block, Column, Unit
from tests.checks.looking import CHECKS, Data, context_of, judged, judged_alone

RNG = np.random.default_rng(43)
N = 160
SHAPE = np.arange(N) % 4
X = (RNG.normal(0, 1, (N, 24)) + 9 * np.eye(4, 24)[SHAPE]).astype(np.float32)


def filed(label: Any, x: Any = X) -> Data:
    return Data({"x": x, "label": label}, "label", kinds={"x": "embedding", "label": "category"})


def moved(n: int, back: int = 0) -> Any:
    """``n`` samples of the first class in the second, and some the other way."""
    label = SHAPE.copy()
    label[np.flatnonzero(SHAPE == 0)[:n]] = 1
    label[np.flatnonzero(SHAPE == 1)[:back]] = 0
    return label


def of_its_own() -> Data:
    """A second kind of the second class that looks a little like the first."""
    x, kind = X.copy(), np.flatnonzero(SHAPE == 1)[:8]
    x[kind] = 0.2 * RNG.normal(0, 1, (8, 24)) + 6 * np.eye(4, 24)[0] + 5 * np.eye(24)[10]
    return filed(SHAPE, x)


def alike() -> Data:
    """Two classes that resemble each other: some of the second lie at the edge of the first."""
    x, some = X.copy(), np.flatnonzero(SHAPE == 1)
    x[some] = RNG.normal(0, 1, (len(some), 24)) + 9 * np.eye(4, 24)[0] + 9 * np.eye(24)[10]
    edge = some[:8]
    x[edge] = RNG.normal(0, 1, (8, 24)) + 9 * np.eye(4, 24)[0] + 3.4 * np.eye(24)[10]
    return filed(SHAPE, x)


def blank() -> Data:
    """Samples of two classes that hold next to nothing."""
    x, some = X.copy(), np.r_[np.flatnonzero(SHAPE == 0)[:8], np.flatnonzero(SHAPE == 1)[:8]]
    x[some] = 9 * np.eye(4, 24)[1] + 1e-4 * RNG.normal(0, 1, (16, 24))
    return filed(SHAPE, x)


FILED_SILENT = {
    "copies of one placeholder": blank(),
    "labels that fit": filed(SHAPE),
    "two that do not": filed(moved(2)),
    "as many the other way": filed(moved(8, 8)),
    "a kind of its own": of_its_own(),
    "classes that resemble each other": alike(),
    "content that tells nothing": filed(moved(8), RNG.normal(0, 1, (N, 24)).astype(np.float32)),
}
FILED = {"a batch of another class": (filed(moved(9)), "label-odd-one-out", "warning")}


def measured(change: Any = None, rows: slice = slice(120, 160), column: str = "target", told: float = 1.0) -> Data:
    """Spectra with a target that they tell, in four batches."""
    y = RNG.normal(0, 1, N)
    x = told * y[:, None] * np.sin(np.arange(30) / 4) + RNG.normal(0, 0.5, (N, 30)) + RNG.normal(0, 1, (N, 1))
    if change is not None:
        y[rows] = change(y[rows])
    columns = {"x": x.astype(np.float32), column: y, "batch": [f"b{i // 40}" for i in range(N)]}
    return Data(columns, column, kinds={"x": "array", "batch": "category", column: "number"})


TARGETS_SILENT = {
    "targets that fit": measured(),
    "targets that nothing tells": measured(lambda y: y[::-1], told=0.0),
    "a batch of one value": measured(lambda y: np.full_like(y, 0.3)),
}
TARGETS = {
    "a batch in another order": (measured(lambda y: y[::-1].copy()), "label-odd-one-out", "warning"),
    "a batch that is moved by a row": (measured(lambda y: np.roll(y, 1)), "rows-shifted", "warning"),
}


def scenes(bare: Any, annotated: Any = (), wrong: Any = range(40, 52)) -> Data:
    """Water, and water with a bright thing; those in ``bare`` show none, and the masks of those in ``wrong`` are empty too."""
    images, masks = [], []
    for i in range(120):
        pixels = RNG.integers(60, 90, (32, 32, 3), np.uint8)
        mask = np.zeros((32, 32), np.uint8)
        if i not in bare:
            at = RNG.integers(4, 16, 2)
            pixels[at[0] : at[0] + 12, at[1] : at[1] + 12] += 120
            mask[at[0] : at[0] + 12, at[1] : at[1] + 12] = 1 if i not in wrong else 0
        images.append(Image.fromarray(pixels))
        masks.append(mask)
    return Data({"image": images, "mask": masks}, kinds={"mask": "mask"})


RUNS_SILENT = {
    "a row of open water": scenes(range(40, 52), wrong=()),
    "water here and there": scenes(range(0, 120, 5), wrong=()),
    "one that was forgotten": scenes(range(0, 120, 5), wrong=range(41, 42)),
}
RUNS = {"a row that was not annotated": (scenes(range(0, 120, 5)), "empty-sequence", "warning")}


def test_the_classes_of_a_misfiled_batch_are_named() -> None:
    """Seen: twelve orange lichens in a folder of grey ones, and nothing was said."""
    found = judged_alone("misfiled", filed(moved(9)))["label-odd-one-out"]
    assert 7 <= (found.count or 0) <= 9
    assert "labelled 1 look like 0" in found.message


def test_targets_of_a_batch_in_another_order_are_told() -> None:
    """Seen: what a spectrum said of its own target went from 0.99 to 0 in one batch of five, and nothing was said."""
    found = judged_alone("unfit_targets", TARGETS["a batch in another order"][0])["label-odd-one-out"]
    assert "target does not fit x where batch is b3" in found.message
    shifted = judged_alone("unfit_targets", TARGETS["a batch that is moved by a row"][0])["rows-shifted"]
    assert "fits the target of the next sample" in shifted.message


def test_rows_read_here_and_there_show_no_shift_of_all() -> None:
    """Seen: "rows-shifted" of random targets, from the dozen of 211 drawn rows whose next row was drawn too."""
    for seed in (35, 48, 148):
        random = np.random.default_rng(seed)
        x, y = random.normal(0, 1, (200, 40)).astype(np.float32), random.normal(0, 1, 200)
        data = Data({"x": x, "target": y}, "target", kinds={"x": "array", "target": "number"})
        check = CHECKS["unfit_targets"](replace(context_of(data), samples=2000))
        for i in range(200):
            at = 9 * i if i % 12 or i == 0 else 9 * (i - 1) + 1
            columns = {name: Column(values[i : i + 1]) for name, values in data.columns.items()}
            check.see(Block(Unit(i, "part", at, 1, 0, None), columns))
        assert not [*check.facts()]


def test_a_long_row_of_empty_masks_is_odd_where_hardly_any_other_is_empty() -> None:
    found = judged("unmarked_run", scenes((), wrong=range(40, 52)))["empty-sequence"]
    assert (found.severity, found.count) == ("info", 12)
    assert "none of the other 108 are empty" in found.message

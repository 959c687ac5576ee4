"""Recordings whose labels lag by several rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.looking import Data, judged

ROWS, RECORDINGS = 60, 8


def recorded(lags: dict[int, int], wrong: dict[int, str] | None = None, run: int = 7, period: int = 0) -> Data:
    """Vectors of recordings that tell one of four classes, which change every few rows; labels of some come later, or are wrong in a way."""
    rng = np.random.default_rng(21)
    x, y, of = [], [], []
    for k in range(RECORDINGS):
        states = np.arange(ROWS // run + 2) % period if period else np.cumsum(rng.integers(1, 4, ROWS // run + 2)) % 4
        own = np.repeat(states, run)[:ROWS]
        told = np.roll(own, lags.get(k, 0))
        way = (wrong or {}).get(k)
        if way == "guessed":
            told = rng.permutation(own)
        elif way == "two are one":
            told = np.where(own == 1, 2, own)
        elif way == "coarse":
            told = np.repeat(own[::10], 10)
        x.append(rng.normal(0, 1, (ROWS, 6)) + 5 * np.eye(4, 6)[own])
        y += told.tolist()
        of += [f"s{k}"] * ROWS
    columns = {"x": np.concatenate(x).astype(np.float32), "subject": of, "label": y}
    return Data(columns, "label", kinds={"x": "embedding", "subject": "category", "label": "category"})


SPEAKS = {
    "one recording": (recorded({3: 4}), "4 rows in samples 180"),
    "labels that run ahead": (recorded({3: -5}), "5 rows in samples 180"),
    "two recordings of long runs": (recorded({2: 6, 5: 6}, run=14), "6 rows in samples"),
}
SILENT = {
    "none": recorded({}),
    "half of them, by another lag each": recorded({0: 2, 1: 3, 2: 4, 3: 5, 4: 6}),
    "labels of one at random": recorded({}, {3: "guessed"}),
    "two classes that one takes for the same": recorded({}, {3: "two are one"}),
    "labels of one for ten rows at once": recorded({}, {3: "coarse"}, run=8),
    "states by turns": recorded({}, period=2),
    "one of few changes": recorded({3: 6}, run=25),
    "one state throughout": recorded({}, run=ROWS),
}


@pytest.mark.parametrize("name", SPEAKS)
def test_recordings_whose_labels_lag_are_told(name: str) -> None:
    data, told = SPEAKS[name]
    found = judged("moved_labels", data)["rows-shifted"]
    assert found.severity == "warning"
    assert told in found.message


@pytest.mark.parametrize("name", SILENT)
def test_recordings_that_fit_or_fit_nothing_are_not(name: str) -> None:
    assert "rows-shifted" not in judged("moved_labels", SILENT[name])

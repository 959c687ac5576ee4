"""Starts and ends that are by one off in some rows: told by the length of a text, by a group or by a stretch, and not by jitter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

N = 600
rng = np.random.default_rng(31)
START = rng.integers(1000, 10**7, N)
LENGTHS = rng.integers(60, 200, N)
SOURCE = [f"s{i % 5}" for i in range(N)]
FEW = rng.random(N) < 0.1
OF_ONE = np.arange(N) % 5 == 3
STRETCH = (np.arange(N) >= 200) & (np.arange(N) < 260)


def sequences(lengths: Any) -> list[str]:
    return ["".join(rng.choice(list("ACGT"), n)) for n in lengths]


def located(
    extent: Any, texts: list[str] | None = None, names: tuple[str, str] = ("start", "end"), **more: Any
) -> Data:
    columns = {names[0]: START, names[1]: START + extent, "source": SOURCE}
    columns |= {} if texts is None else {"sequence": texts}
    return Data({**columns, **more}, kinds={"sequence": "text"} if texts else {})


FIXED, VARIED = sequences(np.full(N, 120)), sequences(LENGTHS)
UMLAUTS = [t[:-1] + ("ä" if odd else "a") for t, odd in zip(VARIED, FEW, strict=True)]
CHROMOSOMES = [f"chromosome{10 + i % 12 if not FEW[i] else i % 9}" for i in range(N)]
SPEAKS = {
    "one more than the sequence": (located(120 + FEW, FIXED), FEW),
    "one less": (located(LENGTHS - FEW, VARIED), FEW),
    "with the last one": (located(LENGTHS - 1 + FEW, VARIED), FEW),
    "a constant, one more in one group": (located(120 + OF_ONE), OF_ONE),
    "a constant, one more in a stretch": (located(120 + STRETCH), STRETCH),
    "the first of two ends of one start": (located(LENGTHS + FEW, VARIED, stop=2 * START), FEW),
    "the second of two ends of one start": (
        Data(
            {"end": 2 * START, **located(LENGTHS + FEW, VARIED, ("start", "stop")).columns}, kinds={"sequence": "text"}
        ),
        FEW,
    ),
    "names with a word before": (located(LENGTHS + FEW, VARIED, ("chromStart", "chromEnd")), FEW),
}
SILENT = {
    "the sequence": located(LENGTHS, VARIED),
    "a timer that is late now and then": located(60 + FEW),
    "intervals of all lengths": located(LENGTHS),
    "the last windows of files, cut": located(np.where(FEW, rng.integers(5, 119, N), 120)),
    "courses of four or five years": located(4 + FEW),
    "two kinds of windows": located(np.where(OF_ONE, 240, 120)),
    "counted in bytes": located(LENGTHS + FEW, UMLAUTS),
    "a name that happens to be as long": located(np.full(N, 12), CHROMOSOMES),
    "half of the rows": located(LENGTHS + (np.arange(N) % 2), VARIED),
    "numbers that are no ends": located(120 + OF_ONE, names=("width", "height")),
    "few rows": Data({"start": START[:20], "end": START[:20] + 120 + (np.arange(20) < 4), "source": SOURCE[:20]}),
}


@pytest.mark.parametrize(("data", "odd"), [pytest.param(*row, id=name) for name, row in SPEAKS.items()])
def test_extents_by_one_off_are_told(data: Data, odd: Any) -> None:
    """Our promise: all of them, however samples were dealt out."""
    found = judged("extents", data)["length-mismatch"]
    assert (found.severity, found.count) == ("warning", int(odd.sum()))


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SILENT.items()])
def test_others_are_not(data: Data) -> None:
    assert judged("extents", data) == {}

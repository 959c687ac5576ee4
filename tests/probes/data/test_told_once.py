"""Many columns with one cause make one finding."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dataloader_expert.conclusions import Finding
from dataloader_expert.probes.data.told_once import MANY, told_once
from tests.making.scanning import scan


def found(name: str, other: str, value: float) -> Finding:
    return Finding(
        "columns-swapped",
        "error",
        f"{name} and {other} are swapped in test: {value:.3g}",
        ({"fact": "x"},),
        "swap",
        ({"field": name},),
    )


@pytest.mark.parametrize(("n", "told"), [(MANY - 1, MANY - 1), (MANY, 1), (40, 1)])
def test_what_differs_in_names_and_numbers_alone_is_one(n: int, told: int) -> None:
    """Our promise: the first is told whole, and how many others there are; a few are told each."""
    every = [found(f"f{k}", f"f{99 - k}", k / 7) for k in range(n)]
    made = told_once(every, {f"f{k}" for k in range(100)})
    assert len(made) == told
    assert made[0].message.startswith(every[0].message)
    assert (f"{n - 1} more" in made[0].message) == (told == 1)


def test_other_findings_stay_as_they_are() -> None:
    """Our promise: another severity, another code or other words are another finding, in their order."""
    every = [found("a", "b", 1.0), Finding("nan", "warning", "a has NaN", ({"fact": "x"},), "drop", ())]
    assert told_once(every, {"a", "b"}) == every


def test_a_split_that_was_not_normalised_is_told_once(tmp_path: Path) -> None:
    """Seen: curves of test that were left in milliamperes made 96 errors, one for each time step."""
    rng = random.Random(4)
    for name, scale in (("train", 1), ("test", 400)):
        rows = [[f"{rng.gauss(0, 1) * scale + scale - 1:.4f}" for _ in range(12)] + [str(i % 2)] for i in range(120)]
        head = [*(f"f{k}" for k in range(12)), "label"]
        (tmp_path / f"{name}.csv").write_text("\n".join(",".join(row) for row in [head, *rows]) + "\n")
    said = [f.message for f in scan(tmp_path, tmp_path).findings if f.severity == "error"]
    assert len(said) == 1 and "11 more" in said[0]

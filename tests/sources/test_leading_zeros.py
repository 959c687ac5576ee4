"""Codes that have lost their leading zeros; and digits of several lengths that are sound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.conclusions import Finding
from tests.making.scanning import scan

RNG = np.random.default_rng(2)
ZIPS = [f"{n:05}" for n in RNG.choice([*range(1000, 1040), *range(33100, 33140)], 400)]


def table(path: Path, codes: list[str]) -> None:
    rows = [f"{code},{x:.3f}" for code, x in zip(codes, RNG.normal(0, 1, len(codes)), strict=True)]
    path.write_text("\n".join(["zip,x", *rows]) + "\n")


def told(folder: Path) -> list[Finding]:
    return [f for f in scan(folder, folder).findings if f.code == "dtype-drift"]


def stripped(codes: list[str], every: int = 1) -> list[str]:
    return [code.lstrip("0") if i % every == 0 else code for i, code in enumerate(codes)]


def test_lost_zeros_are_told_with_an_example_and_a_cure(tmp_path: Path) -> None:
    table(tmp_path / "t.csv", stripped(ZIPS, 3))
    [found] = told(tmp_path)
    assert found.severity == "warning" and found.where == ({"file": "t.csv", "field": "zip"},)
    assert "codes of 5 digits" in found.message and "for '01" in found.message
    assert "as text" in found.fix


def test_a_file_that_lost_its_zeros_beside_one_that_has_them(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", ZIPS)
    table(tmp_path / "test.csv", stripped(ZIPS[:90]))
    assert [f.where for f in told(tmp_path)] == [({"file": "test.csv", "field": "zip"},)]


SOUND = {
    "all whole": ZIPS,
    "numbers of several lengths": [str(n) for n in RNG.integers(900, 12_000, 400)],
    "none with a zero": [code for code in ZIPS if code[0] != "0"],
    "hours, padded or not": [f"{i % 24:02}" if i % 3 else str(i % 24) for i in range(400)],
    "levels of a classification": [f"{i % 40:04}"[: 2 + 2 * (i % 2)] for i in range(400)],
    "postal codes of two countries": [f"{n:05}" for n in range(1000, 9000, 41)]
    + [str(n) for n in range(1010, 9000, 53)],
    "a sum below a thousand": [f"{n:04}" for n in range(300)] + [str(n) for n in range(500, 600)],
}


@pytest.mark.parametrize("codes", SOUND.values(), ids=SOUND)
def test_sound_digits_are_left_alone(tmp_path: Path, codes: list[str]) -> None:
    table(tmp_path / "t.csv", codes)
    assert told(tmp_path) == []

"""Stretches of samples, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dataloader_expert.checks.common.places import Files


@pytest.mark.parametrize(
    ("files", "stretch", "told"),
    [
        (["rows.csv", "rows.csv"], (3, 12), "samples 3 to about 12"),
        (["a.csv", "b.csv", "b.csv"], (12, 25), "samples 12 to about 25 (of b.csv 2 to 15)"),
        (["a.csv", "b.csv"], (3, 12), "samples 3 to about 12 (a.csv to about b.csv)"),
        (["", ""], (3, 12), "samples 3 to about 12"),
    ],
)
def test_a_stretch_is_told_by_its_files(files: list[str], stretch: tuple[int, int], told: str) -> None:
    """Our promise: samples counted over all files are found by their files; each unit here has ten."""
    known = Files()
    for i, file in enumerate(files):
        block: Any = SimpleNamespace(unit=SimpleNamespace(start=10 * i, file=file, members=()))
        known.note(block)
    assert known.stretch(*stretch) == told

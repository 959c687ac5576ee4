"""Sound files made by other encoders and settings: nothing above an info is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making.encoders import SETS
from tests.making.scanning import scan

LEAST_FILES = 300


@pytest.mark.parametrize("name", SETS)
def test_sound_files_raise_no_alarm(name: str, tmp_path: Path) -> None:
    """Our promise: whoever wrote it, however: what is sound is called sound, and all of it is read."""
    (tmp_path / "data").mkdir()
    SETS[name](tmp_path / "data")
    folders = [p for p in (tmp_path / "data").iterdir() if p.is_dir()] or [tmp_path / "data"]
    for folder in folders:
        scanned = scan(folder, tmp_path)
        found = {f.code: f.message for f in scanned.findings if f.severity != "info"}
        unread = [u for u in scanned.unknowns if not u.startswith("classes:")]
        assert (found, scanned.error, unread) == ({}, None, [])


def test_there_are_files_enough(tmp_path: Path) -> None:
    """What the row above says is said of some hundred files."""
    for i, build in enumerate(SETS.values()):
        (tmp_path / str(i)).mkdir()
        build(tmp_path / str(i))
    assert sum(p.is_file() for p in tmp_path.rglob("*")) >= LEAST_FILES

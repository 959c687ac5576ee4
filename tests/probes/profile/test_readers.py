"""Which library reads, by the frames below the user's line."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.probes.profile.readers import reader_of, readers
from dataloader_expert.probes.profile.stage_classifier import Namer, takes_whole

STANDARD = str(Path(importlib.__file__).parent.parent)
NUMPY = str(Path(np.__file__).parent)
PACKAGES = str(Path(np.__file__).parent.parent)
MINE = ("/data/mine.py", 22, "__getitem__")


@pytest.mark.parametrize(
    ("frames", "library"),
    [
        ([(f"{NUMPY}/lib/format.py", 870, "read_array"), (f"{NUMPY}/lib/npyio.py", 480, "load")], "npy"),
        ([(f"{STANDARD}/zipfile.py", 1031, "_read1"), (f"{NUMPY}/lib/format.py", 870, "read_array")], "npz"),
        ([(f"{NUMPY}/lib/format.py", 870, "read_array"), (f"{NUMPY}/lib/npyio.py", 257, "__getitem__")], "npz"),
        ([(f"{PACKAGES}/soundfile.py", 900, "read")], "soundfile"),
        (
            [(f"{NUMPY}/lib/_function_base_impl.py", 3812, "sinc"), (f"{PACKAGES}/scipy/signal/_x.py", 5, "firwin")],
            None,
        ),
        ([(f"{PACKAGES}/PIL/Image.py", 2440, "resize")], None),
        ([], None),
    ],
)
def test_a_library_reads_where_its_reading_functions_run(
    frames: list[tuple[str, int, str]], library: str | None
) -> None:
    """Our promise: numpy that computes reads nothing, and a member of an archive is no file that can be mapped."""
    stack = (*frames, MINE)
    assert reader_of(Namer(), stack) == library
    found = readers(Namer(), [(stack, 0.4)], 10).value
    places = [{"file": MINE[0], "line": MINE[1]}]
    assert found == ([{"library": library, "share": 0.4, "places": places, "whole": True}] if library else [])


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("x = f['x'][index]", False),
        ("x = self.file['x'][i, :, :]", False),
        ("x = f['x'][a:b]", False),
        ("x = f['x'][:][index]", True),
        ("x = f[name][...]", True),
        ("x = f['x'][...]", True),
        ("x = np.array(f['x'])[i]", True),
        ("x = np.array(f['x'])", True),
        ("x = read(f)", True),
    ],
)
def test_a_line_that_takes_a_sample_is_told_to_have_small_chunks(tmp_path: Path, line: str, whole: bool) -> None:
    """Seen: of a line that reads file['x'][index], the cure began with reading file['x'][index]."""
    (tmp_path / "mine.py").write_text(line + "\n")
    assert takes_whole(str(tmp_path / "mine.py"), 1) is whole

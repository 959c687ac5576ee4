"""Files beside samples of a kind that no reader knows, and whose mistake an error of ours is."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes import base
from dataloader_expert.sources.registry import open_source
from tests.sources.noise import written


def opened(path: Path) -> Any:
    return open_source(SourceRef(str(path), (str(path),)), [])


def test_a_score_beside_each_recording_is_told_and_the_recordings_are_read(tmp_path: Path) -> None:
    """Seen: of recordings with MIDI files of the same names no sample could be read, and the user was told to fix the data."""
    rows = []
    for i in range(18):
        name = f"{(2004, 2006, 2008)[i % 3]}/piece_{i * 37}"
        written(tmp_path / f"{name}.wav", np.random.default_rng(i))
        (tmp_path / f"{name}.midi").write_bytes(b"MThd\0\0\0\6" + bytes(20 + i))
        rows.append([("a", "b")[i % 2], ("train", "test")[i % 5 == 0], name[:4], f"{name}.midi", f"{name}.wav"])
    with (tmp_path / "pieces.csv").open("w", newline="") as out:
        csv.writer(out).writerows([["composer", "split", "year", "midi_filename", "audio_filename"], *rows])
    source = opened(tmp_path)
    assert (source.samples, source.partners) == (18, ())
    assert source.unread["midi"].startswith("files accompany the samples")
    assert not source.by_folder  # its year, as a column says
    values = source.decode(source.units[0], source.read(source.units[0])).columns
    assert {"audio", "composer"} <= values.keys() and "midi" not in values


@pytest.mark.parametrize("ours", [True, False])
def test_only_an_error_in_code_of_the_users_is_theirs(ours: bool) -> None:
    """Our promise: a mistake of this package is never told as one of the data."""
    code = compile("raise StopIteration", base.__file__ if ours else "train.py", "exec")
    try:
        exec(code, {})
    except StopIteration as e:
        assert e.__traceback__ is not None
        assert base.of_users_code(e.with_traceback(e.__traceback__.tb_next)) is not ours

"""Stacks of a user's code are named for what their lines do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dataloader_expert.probes.profile.stage_classifier import Namer, called_on, only_indexes, place_of

SOURCE = """
import io, os, time, zlib
from zlib import decompress as thing
import numpy as np

def q(path, blob, x, self):
    raw = open(path, "rb").read()      # read
    raw = os.listdir(path)             # read
    x = thing(blob)                    # decode
    x = zlib.crc32(blob)               # decode
    x = np.frombuffer(blob).sum()      # transform
    x = x * 2 + 1                      # transform
    x = self.table[3]                  # read
    time.sleep(1)                      # unattributed
    while time.time() < 0: pass        # unattributed
    os.write(1, raw)                   # unattributed
    path = os.path.join(path, "a")     # unattributed
    path = os.fspath(path)             # unattributed
    self.lock.acquire()                # unattributed

def fetch_row(path):
    time.sleep(1)                      # read

def normalise(x):
    time.sleep(1)                      # transform

def decode_it(x):
    while x: pass                      # decode
"""
LINES = [
    (i + 1, line.rpartition("# ")[2], line) for i, line in enumerate(SOURCE.splitlines()) if line.rpartition("# ")[1]
]
IN = {22: "fetch_row", 25: "normalise", 28: "decode_it"}


class Held:
    """A user's dataset that holds a memory map."""

    def __init__(self, table: Any) -> None:
        self.table = table


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    path = tmp_path_factory.mktemp("named") / "theirs.py"
    path.write_text(SOURCE)
    made = ModuleType("theirs")
    made.__file__ = str(path)
    exec(compile(SOURCE, str(path), "exec"), made.__dict__)
    sys.modules["theirs"] = made
    yield made
    del sys.modules["theirs"]


@pytest.mark.parametrize(("line", "stage", "text"), LINES, ids=[t.split("#")[0].strip() for _, _, t in LINES])
def test_a_line_is_named_for_what_it_calls(
    line: int, stage: str, text: str, module: ModuleType, tmp_path: Path
) -> None:
    """By the library that a name leads to, whatever the user calls it; else by the function's own name."""
    np.save(tmp_path / "t.npy", np.zeros((4, 4)))
    namer = Namer(Held(np.load(tmp_path / "t.npy", mmap_mode="r")))
    assert module.__file__ is not None
    function = next((f for at, f in IN.items() if at == line), "q")
    stack = ((module.__file__, line, function), (module.__file__, 2, "__getitem__"))
    assert namer.stage_of(stack) == stage.strip(), text


def test_a_library_speaks_for_its_callers(module: ModuleType) -> None:
    """The innermost frame that is known decides; the user's line that led there is told beside it."""
    import PIL.ImageFile

    assert module.__file__ is not None
    stack = ((PIL.ImageFile.__file__, 1, "load"), (module.__file__, 6, "q"))
    place = place_of(stack)
    assert place is not None
    assert (place.function, place.called_from) == ("load", f"{module.__file__}:6")


def test_a_stack_that_inflates_or_looks_up_is_known(module: ModuleType) -> None:
    """What two findings rest on."""
    assert module.__file__ is not None
    namer = Namer()
    assert namer.traits(((module.__file__, 9, "q"),)) == (True, False)
    assert namer.traits(((module.__file__, 8, "q"),)) == (False, True)
    assert namer.traits(((module.__file__, 12, "q"),)) == (False, False)


def test_paths_that_are_built_are_no_files_that_are_looked_up(module: ModuleType) -> None:
    """Seen: joining paths in a loop was told as listing files, and as reading; `pathlib` does both, the function tells which."""
    import pathlib

    assert module.__file__ is not None
    user, namer = (module.__file__, 19, "__getitem__"), Namer()
    joined = ((pathlib.__file__, 500, "_make_child"), (pathlib.__file__, 860, "__truediv__"), user)
    exists = ((pathlib.__file__, 1013, "stat"), (pathlib.__file__, 1235, "exists"), user)
    assert [namer.traits(stack)[1] for stack in (joined, exists)] == [False, True]
    assert [namer.stage_of(stack) for stack in (joined, exists)] == ["unattributed", "read"]


def test_what_a_line_calls_is_known(module: ModuleType) -> None:
    """Our promise: a costly line is told with what it calls; one that only takes something out of what is held calls nothing."""
    assert module.__file__ is not None
    assert called_on(module.__file__, 7) == ["open", ".read"]
    assert [only_indexes(module.__file__, n) for n in (7, 12, 13)] == [False, False, True]


def test_a_stack_that_waits_for_a_lock_is_known(module: ModuleType) -> None:
    """A lock of processes, taken by ``with`` or by name; a thread or a queue that is waited for is none."""
    import multiprocessing.synchronize
    import threading

    assert module.__file__ is not None
    line = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "acquire" in text)
    user = (module.__file__, line, "q")
    held = (multiprocessing.synchronize.__file__, 95, "__enter__")
    waits = (threading.__file__, 327, "wait")
    assert [Namer().locks(stack) for stack in ((user,), (held, user), (waits, user), ())] == [True, True, False, False]

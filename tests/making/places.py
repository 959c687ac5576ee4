"""Places to measure in: files that are slow to reach, a core that others want, an interpreter of other versions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dataloader_expert.lab.door import Door
from tests.making.asking import Asker
from tests.making.quick import quick


def filesystem(folder: Path) -> str:
    done = subprocess.run(["stat", "--file-system", "--format=%T", str(folder)], capture_output=True, text=True)
    return done.stdout.strip()


def saved(path: Path, array: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Written through to the disk: only clean pages can be dropped from the cache."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as f:
        np.save(f, array)
        f.flush()
        os.fsync(f.fileno())


def one_large(folder: Path) -> str:
    saved(folder / "large" / "rows.npy", np.random.default_rng(0).random((64, 16384), dtype=np.float32))
    return str(folder / "large")


def many_tiny(folder: Path) -> str:
    rows = np.random.default_rng(0).random((24, 4), dtype=np.float32)
    for i, row in enumerate(rows):
        saved(folder / "tiny" / f"c{i % 2}" / f"{i:02}.npy", row)
    return str(folder / "tiny")


def far_away(folder: Path) -> str:
    """The tiny files, each reached through twenty links whose targets have 1400 parts."""
    tiny, links, names = Path(many_tiny(folder)), folder / "links", folder / "far"
    (links / "x").mkdir(parents=True)
    (links / "0").symlink_to(tiny)
    for i in range(1, 20):
        (links / str(i)).symlink_to("x/../" * 700 + str(i - 1))
    for path in tiny.rglob("*.npy"):
        name = path.relative_to(tiny)
        (names / name).parent.mkdir(parents=True, exist_ok=True)
        (names / name).symlink_to(links / "19" / name)
    return str(names)


OTHER_VERSIONS = """
import importlib.abc
import importlib.machinery
import sys

sys.version = "3.10.99 (planted) [of another interpreter]"


class Torch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def and_rename(module):
            load(module)
            module.__version__ = type(module.__version__)("2.98.7+planted")

        spec.loader.exec_module = and_rename
        return spec


sys.meta_path.insert(0, Torch())
"""


@contextmanager
def elsewhere(folder: Path, root: str) -> Iterator[Asker]:
    """An asker on one CPU, which another process wants too, with an interpreter of other versions."""
    (folder / "sitecustomize.py").write_text(OTHER_VERSIONS)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    asker = Asker()
    asker.door = Door(str(python))
    asker.tools = {name: quick(tool) for name, tool in asker.tools.items()}
    try:
        asker.loop.run_until_complete(asker.door.host(True, (root,)))
        with subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) as busy:
            try:
                yield asker
            finally:
                busy.kill()
    finally:
        os.sched_setaffinity(0, allowed)
        asker.close()

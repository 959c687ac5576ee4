# mypy: ignore-errors
"""Small sound data sets of many formats, made from a seed, and defects to plant in them one kind at a time.

This shares no code with the injector that comes with the shared data sets, nor with the builders of the tests. A kind of defect
changes a sound data set and returns what must be found: any of ``codes``, at least as severe as ``severity``, at each of
``places``. A place is a file, a file and a sample's number, or empty if a finding concerns the whole data set.
"""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.plants import arrays, files, objects, pictures, shards, sounds, tables, texts  # noqa: F401  # each registers its kinds
from benchmarks.plants.objects import WRITE, sound_objects
from benchmarks.plants.sound import SOUND, write_table
from benchmarks.plants.texts import SOUND_TEXTS
from benchmarks.plants.tree import PLANTS, Expected, Tree

SOUND |= SOUND_TEXTS | dict.fromkeys(WRITE, sound_objects)

__all__ = ["PLANTS", "SOUND", "Expected", "made"]


def made(format: str, name: str | None, root: Path, outside: Path, seed: int) -> Expected | None:
    """A tree in ``root`` with what ``name`` plants; sound for None."""
    tree = Tree(format, root, random.Random(f"{seed}/{format}/{name}"), outside)
    SOUND[format](tree)
    expected = PLANTS[format, name](tree) if name is not None else None
    write_table(tree)
    return expected

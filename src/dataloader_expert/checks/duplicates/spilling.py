"""Rows of samples that are too many for memory, in a file partitioned by the first bits of their keys."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

PARTS = 256
"""One partition for each value of the first eight bits of a key."""
HELD, STEP = 1 << 19, 1 << 15
"""The most rows of 34 bytes that one check of one process keeps in memory, twice while they are written; and how many are written at a time."""
_COLUMNS = (("key", "<u8"), ("digest", "<u8"), ("label", "<u8"), ("split", "<i2"), ("index", "<i8"))


@dataclass
class Rows:
    """Arrays of equal length: key, digest and label uint64 (label 0: none), split int16, index int64."""

    key: Any
    digest: Any
    label: Any
    split: Any
    index: Any

    def __len__(self) -> int:
        return len(self.digest)

    def take(self, at: Any) -> Rows:
        return Rows(*(getattr(self, name)[at] for name, _ in _COLUMNS))

    def repeated(self) -> Rows:
        """The rows whose key another has too."""
        import numpy as np

        keys = np.sort(self.key)
        twice = keys[1:][keys[1:] == keys[:-1]]
        if not len(twice):
            return self.take(slice(0))
        at = np.searchsorted(twice, self.key)
        return self.take(twice[np.minimum(at, len(twice) - 1)] == self.key)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        import numpy as np

        return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name, _ in _COLUMNS))

    @staticmethod
    def none() -> Rows:
        import numpy as np

        return Rows(*(np.empty(0, dtype) for _, dtype in _COLUMNS))


@dataclass(frozen=True)
class Spill:
    """A file of rows, part by part. ``ends``: number of rows up to the end of each part; ``splits``:
    the meaning of its split codes."""

    path: str
    ends: tuple[int, ...]
    splits: tuple[int, ...] = field(default=())

    @staticmethod
    def of(rows: Rows) -> Spill:
        """Writes the rows to a new file in the request's folder, which is removed with the request."""
        import numpy as np

        parts = (rows.key >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(parts, kind="stable")
        handle, path = tempfile.mkstemp(prefix="rows-", dir=_folder())
        with os.fdopen(handle, "wb") as file:
            for at in range(0, len(order), STEP):
                some = order[at : at + STEP]
                piece = np.empty(len(some), list(_COLUMNS))
                for name, _ in _COLUMNS:
                    piece[name] = getattr(rows, name)[some]
                piece.tofile(file)
        return Spill(path, tuple(np.cumsum(np.bincount(parts, minlength=PARTS)).tolist()))

    def renamed(self, codes: Any) -> Spill:
        """With other split codes: ``codes[c]`` replaces ``c``."""
        now = self.splits or range(len(codes))
        return replace(self, splits=tuple(int(codes[c]) for c in now))

    def read(self, first: int, last: int) -> Rows:
        """The rows of the parts from ``first`` to ``last``."""
        import numpy as np

        start, kind = self.ends[first - 1] if first else 0, np.dtype([*_COLUMNS])
        whole = np.fromfile(self.path, kind, self.ends[last] - start, offset=start * kind.itemsize)
        rows = Rows(*(np.ascontiguousarray(whole[name]) for name, _ in _COLUMNS))
        return replace(rows, split=np.array(self.splits, np.int16)[rows.split]) if self.splits else rows

    def sizes(self) -> Any:
        """Rows of each part, int64."""
        import numpy as np

        return np.diff(self.ends, prepend=0)

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            Path(self.path).unlink()


def at_once(spills: Sequence[Spill], most: int) -> list[tuple[int, int]]:
    """The first and the last of parts that are read together: as many as ``most`` rows allow."""
    sizes = sum(spill.sizes() for spill in spills)
    runs: list[tuple[int, int]] = []
    held = 0
    for part, size in enumerate(sizes.tolist()):
        held += size
        if not runs or held > most:
            runs.append((part, part))
            held = size
        else:
            runs[-1] = runs[-1][0], part
    return runs


def _folder() -> str:
    """The folder of this request's processes, with their sockets; removed with its contents."""
    from multiprocessing.util import get_temp_dir

    return str(get_temp_dir())

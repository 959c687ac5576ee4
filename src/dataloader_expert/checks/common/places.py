"""Where something was found: some samples of each kind, the same whatever the order in which blocks are merged."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Hashable, Iterable
from itertools import zip_longest
from typing import Any, TypeVar

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Json
from dataloader_expert.sources.base import Block

T = TypeVar("T")
MOST_UNITS = 1_000_000


class Places:
    """At most ``MAX_PLACES`` places of each kind, from as many files as possible: one bad file must not hide the others."""

    def __init__(self) -> None:
        self.found: dict[Hashable, dict[str, list[dict[str, Json]]]] = {}
        self.last: dict[Hashable, int] = {}
        """Once enough files have places: the first sample of the last of these files."""

    def room(self, kind: Hashable, file: str) -> int:
        """How many more places in ``file`` may be worth keeping."""
        files = self.found.get(kind, {})
        return MAX_PLACES - len(files.get(file, ()))

    def add(self, kind: Hashable, block: Block, i: int, field: str | None = None) -> None:
        """The block's sample ``i``."""
        self.at(kind, block.index(i), block.file(i), field)

    def at(self, kind: Hashable, sample: int, file: str, field: str | None = None) -> None:
        """The sample with this index."""
        if sample <= self.last.get(kind, sample) and self.room(kind, file) > 0:
            place: dict[str, Json] = {"sample": sample, "file": file or None}
            self.found.setdefault(kind, {}).setdefault(file, []).append(place | ({"field": field} if field else {}))
            self._trim(kind)

    def merge(self, other: Places) -> None:
        for kind, files in other.found.items():
            mine = self.found.setdefault(kind, {})
            for file, places in files.items():
                mine[file] = sorted(mine.get(file, []) + places, key=sample_of)[:MAX_PLACES]
            self._trim(kind)

    def of(self, kind: Hashable) -> list[dict[str, Json]]:
        """In sample order, the first of each file before the second of any."""
        files = sorted(self.found.get(kind, {}).values(), key=lambda places: sample_of(places[0]))
        return sorted(dealt(files), key=sample_of)

    def _trim(self, kind: Hashable) -> None:
        """If there are more files, keeps those whose samples come first."""
        files = self.found[kind]
        for _ in range(len(files) - MAX_PLACES):
            del files[max(files, key=lambda file: sample_of(files[file][0]))]
        if len(files) == MAX_PLACES:
            self.last[kind] = max(sample_of(places[0]) for places in files.values())


class Files:
    """Which file each sample is in, by the first sample of each unit."""

    def __init__(self) -> None:
        self._starts: dict[int, str] = {}
        self._sorted: list[int] = []

    def note(self, block: Block) -> None:
        if len(self._starts) < MOST_UNITS:
            for unit in block.unit.members or (block.unit,):
                self._starts[unit.start] = unit.file

    def merge(self, other: Files) -> None:
        self._starts |= other._starts

    def of(self, sample: int) -> str | None:
        """The file; None if it has no name, or there are too many units to record."""
        if len(self._starts) >= MOST_UNITS:
            return None
        if len(self._sorted) < len(self._starts):
            self._sorted = sorted(self._starts)
        at = bisect.bisect_right(self._sorted, sample) - 1
        return (self._starts[self._sorted[at]] or None) if at >= 0 else None

    def within(self, samples: Any, names: Collection[str]) -> Any:
        """Which of these samples are in one of these files, as far as files are known; bool [n]."""
        import numpy as np

        if not self._starts or len(self._starts) >= MOST_UNITS:
            return np.zeros(len(samples), bool)
        starts = sorted(self._starts)
        named = np.array([False, *(self._starts[start] in names for start in starts)])
        return named[np.searchsorted(starts, samples, side="right")]

    def names(self) -> set[str]:
        """The files; none if there are too many units to record."""
        return set(self._starts.values()) if len(self._starts) < MOST_UNITS else set()

    def numbered(self, samples: Any) -> Any:
        """A number for the file of each of these samples, int64 [n]; the same for all where files are not known."""
        import numpy as np

        if not self._starts or len(self._starts) >= MOST_UNITS:
            return np.zeros(len(samples), np.int64)
        starts = sorted(self._starts)
        names = [self._starts[start] for start in starts]
        numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
        codes = np.array([numbers[name] for name in names], np.int64)
        return codes[np.maximum(np.searchsorted(starts, samples, side="right") - 1, 0)]

    def first(self, file: str) -> int:
        """The first sample of a file; 0 if it is unknown."""
        return min((start for start, name in self._starts.items() if name == file), default=0)

    def places(self, samples: Iterable[int], field: str) -> list[dict[str, Json]]:
        """Some of these samples, which come in order, with their files."""
        kept = Places()
        for sample in samples:
            kept.at(field, sample, self.of(sample) or "", field)
        return kept.of(field)

    def stretch(self, first: int, last: int) -> str:
        """Words for the samples from the first to about the last, by their files where these say more than the numbers do."""
        told, a, b = f"samples {first:,} to about {last:,}", self.of(first), self.of(last)
        if a is None or b is None:
            return told
        if a != b:
            return f"{told} ({escaped(a)} to about {escaped(b)})"
        at = bisect.bisect_right(self._sorted, first) - 1
        while at and self._starts[self._sorted[at - 1]] == a:
            at -= 1
        start = self._sorted[at]
        return f"{told} (of {escaped(a)} {first - start:,} to {last - start:,})" if start else told


def dealt(files: Iterable[list[T]]) -> list[T]:
    """``MAX_PLACES`` of the files' places, the first of each file before the second of any: one file must not hide others."""
    return [place for turn in zip_longest(*files) for place in turn if place is not None][:MAX_PLACES]


def sample_of(place: dict[str, Json]) -> int:
    return int(str(place["sample"]))

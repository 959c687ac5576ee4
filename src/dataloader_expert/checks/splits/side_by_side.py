"""Whether the files of each split are recordings that were made side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

SEVERAL, FEWEST_LARGE = 3, 8
"""The fewest samples of a group, and the fewest such groups, that tell whether splits are by group."""
MEET = 0.2
"""The least share of recordings that begin before an earlier one ends, where they are made side by side."""


@dataclass(frozen=True)
class Recording:
    """The samples of a file, and the first and the last second of them."""

    split: str
    samples: int
    low: float
    high: float

    def with_more(self, other: Recording) -> Recording:
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Recording(self.split, self.samples + other.samples, low, high)


def are_recordings(files: list[Recording]) -> bool:
    """Whether the files of each split are recordings that were made side by side, such as trips of vessels: each covers a part of the
    time, and many begin before an earlier one ends. Files of a day each follow one another; parts of a shuffled table cover all of it.
    A split of few files shows nothing by itself: it is taken to be like the others."""
    splits: dict[str, list[Recording]] = {}
    for file in sorted(files, key=lambda one: one.low):
        if file.samples >= SEVERAL and file.high > file.low:
            splits.setdefault(file.split, []).append(file)
    large = [of for of in splits.values() if len(of) >= FEWEST_LARGE]
    few = min(map(len, splits.values()), default=0) < SEVERAL
    return len(splits) > 1 and bool(large) and not few and all(map(_side_by_side, large))


def _side_by_side(files: list[Recording]) -> bool:
    whole = max(f.high for f in files) - files[0].low
    short = sum(2 * (f.high - f.low) <= whole for f in files)
    meet, end = 0, -math.inf
    for f in files:
        meet, end = meet + (f.low < end), max(end, f.high)
    return 2 * short >= len(files) and meet >= MEET * len(files)

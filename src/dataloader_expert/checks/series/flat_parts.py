"""Components of arrays that hold one value in all samples of a split, a file or a site, and vary in the others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.cohorts import PREFIX, SHARD, SPLIT, Cohorts
from dataloader_expert.facts import Json
from dataloader_expert.sources.base import Block

LEAST = 12
"""The fewest samples of a part, and of all others."""
SELDOM = 0.1
"""The most values elsewhere that are 0, the least or the largest: codes and counts have more, and may well be one value in a part."""


@dataclass
class _Range:
    low: Any
    high: Any
    ends: Any
    """Of each component: its least and largest value, and the values that are 0 or extreme."""
    samples: int
    first: tuple[int, str]

    def add(self, other: _Range) -> None:
        import numpy as np

        self.low, self.high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        self.ends, self.samples = self.ends + other.ends, self.samples + other.samples
        self.first = min(self.first, other.first)


@dataclass(frozen=True)
class FlatPart:
    names: list[str]
    components: list[tuple[int, float]]
    """Which are flat, and their values in the first of the parts."""
    samples: int
    where: list[dict[str, Json]]


class FlatParts:
    """The range of each component in each part, by field, kind of part and part."""

    def __init__(self, context: Context) -> None:
        self.cohorts = Cohorts(context)
        self.ranges: dict[tuple[str, str], dict[int, _Range]] = {}

    def of(self, block: Block) -> dict[str, Any]:
        """The parts of a block's samples."""
        import numpy as np

        return self.cohorts.of(block, np.arange(block.samples))

    def note(
        self, block: Block, cohorts: dict[str, Any], name: str, rows: Any, lows: Any, highs: Any, ends: Any
    ) -> None:
        """What the field has in these rows of a block, [rows, components]; ``cohorts`` as ``of`` gives them."""
        import numpy as np

        for kind, named in self.cohorts.called.items():
            codes = cohorts[f"cohort {kind}"][rows]
            if named.many:
                self.ranges.pop((name, kind), None)
                continue
            known = self.ranges.setdefault((name, kind), {})
            for code in np.unique(codes).tolist():
                own = np.flatnonzero(codes == code)
                i = int(rows[own[0]])
                one = _Range(
                    np.fmin.reduce(lows[own], 0),
                    np.fmax.reduce(highs[own], 0),
                    ends[own].sum(0),
                    len(own),
                    (block.index(i), block.file(i)),
                )
                if code in known:
                    known[code].add(one)
                else:
                    known[code] = one

    def merge(self, other: FlatParts) -> None:
        self.cohorts.merge(other.cohorts)
        for key, ranges in other.ranges.items():
            mine = self.ranges.setdefault(key, {})
            for code, one in ranges.items():
                if code in mine:
                    mine[code].add(one)
                else:
                    mine[code] = one

    def flat(self, name: str, measures: Any) -> Iterator[tuple[str, FlatPart]]:
        """Parts with flat components, by kind. Components that an earlier kind of part tells are not told again.

        Args:
            measures: which components may be measurements, by their steps, bool [components].
        """
        told: set[int] = set()
        for kind in sorted(self.cohorts.called, key=lambda kind: (kind != SPLIT, kind != SHARD, kind != PREFIX)):
            named, ranges = self.cohorts.called[kind], self.ranges.get((name, kind), {})
            if named.many or len(ranges) < 2:
                continue
            found = _flat(ranges, measures, by_split=kind == SPLIT)
            by_set: dict[tuple[int, ...], list[int]] = {}
            for code, of in sorted(found.items(), key=lambda item: ranges[item[0]].first):
                if named.texts.get(code) and (new := tuple(k for k in of if k not in told)):
                    by_set.setdefault(new, []).append(code)
            for new, codes in by_set.items():
                one = ranges[codes[0]]
                where: list[dict[str, Json]] = [
                    {"sample": ranges[c].first[0], "file": ranges[c].first[1] or None} for c in codes
                ]
                names = [named.texts[c] for c in codes]
                samples = sum(ranges[c].samples for c in codes)
                yield kind, FlatPart(names, [(k, float(one.low[k])) for k in new], samples, where)
            told.update(itertools.chain(*by_set))


def _flat(ranges: dict[int, _Range], measures: Any, by_split: bool) -> dict[int, list[int]]:
    """By part, its components of one value, that measure something elsewhere."""
    import numpy as np

    codes = list(ranges)
    sizes = np.array([ranges[c].samples for c in codes])
    flat: Any = np.stack([(ranges[c].low == ranges[c].high) & np.isfinite(ranges[c].low) for c in codes])
    flat &= (sizes >= LEAST)[:, None] & ~flat.all(1)[:, None]  # of samples without anything, that is told
    varies = (~flat * sizes[:, None]).sum(0)
    ends = (~flat * np.stack([ranges[c].ends for c in codes])).sum(0)
    usual = measures & (varies >= LEAST) & (ends <= SELDOM * varies)
    usual &= by_split | (2 * varies >= sizes.sum())
    return {c: np.flatnonzero(own & usual).tolist() for c, own in zip(codes, flat, strict=True) if (own & usual).any()}

"""Clouds of points: some that hold few points, each many times, where others hold as many as they have; some that were filled up with zeros; and one
split in which two axes are swapped.

A cloud is an array of a row for each point. Where no name says that it is one, its rows are in no order: in a series of steps, rows that are next to
each other are more alike than others. Axes are compared by how widely a cloud spreads along each: two are swapped if each spreads as the other does
elsewhere, and neither as itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import Named, in_order, places, split_of
from dataloader_expert.checks.common.scores import apart, chance_apart
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

REPEATED = Quantity("repeated_points", "samples", "clouds of few distinct points that are each repeated, and how many")
PADDED = Quantity(
    "padded_clouds", "samples", "clouds that end in points that are all 0, where most have none, and how many"
)
SWAPPED = Quantity("swapped_axes", "samples", "two axes that are swapped in one split")
AXES, POINTS, KEPT = (3, 6), 64, 2_000
"""The fewest and the most numbers of a point, the fewest points of a cloud, and the most clouds that are looked at."""
ALONE, HALF, SEVERAL = 0.99, 0.5, 3
"""The share of distinct points that clouds have in the median, the one of those that repeat them, and the fewest of these."""
PADS, FILLED = 0.05, 0.5
"""The least share of a cloud's points that are zeros at its end, and the share of clouds from which this is how they are all stored."""
BESIDE = 0.5
"""The share of the repeats that may be next to each other: more are the steps of a series."""
LEAST, UNLIKE, LIKE, CHANCE = 20, 0.3, 0.5, 1e-4
"""The fewest clouds of a split and of all others; the least distance (Kolmogorov and Smirnov's) of an axis's spreads from those of the same one
elsewhere; the part of it that may remain from those of the other axis; and how unlikely such a distance must be by chance."""
NAMES = ("x", "y", "z")
CALLED = {"point", "points", "pts", "cloud", "clouds", "xyz", "xyzrgb", "coords", "vertices"}
"""Words of the names of clouds, whose points may be in the order in which they were scanned."""
NO_ORDER = 0.5
"""The least part of the distance between any two rows of a cloud, squared, that is between rows next to each other."""


class PointClouds(DrawnRows):
    ids = ("constant-samples", "preprocessing-differs")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        low, high = AXES
        self.name = next(
            (
                f.name
                for f in context.fields
                if f.kind in ("array", "sequence") and len(f.shape) == 2 and low <= (f.shape[1] or 0) <= high
                and "float" in f.dtype and f.name != context.label and (f.shape[0] is None or f.shape[0] >= POINTS)
            ),
            "",
        )  # fmt: skip
        self.splits = Named(20)
        self.drawn = Drawn(KEPT)
        self.beside = [self.splits]
        self.needs = [self.name]

    def applies(self) -> bool:
        return bool(self.name)

    def rows(self, block: Block) -> Any:
        rows, values = super().rows(block), block.columns[self.name].values
        return rows[[_is_cloud(values[i]) for i in rows.tolist()]]

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        values = block.columns[self.name].values
        clouds = np.array([measured(values[i]) for i in rows.tolist()], np.float64)
        return {"cloud": clouds, "split": self.splits.coded(split_of(self.context, block, rows))}

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        points, distinct, beside, zeros, order, *spreads = kept["cloud"].T
        if not set(words(self.name)) & CALLED and np.nanmedian(order) < NO_ORDER:
            return
        share = distinct / points
        odd = (share <= HALF) & (beside <= BESIDE * (points - distinct))
        if np.median(share) >= ALONE and odd.sum() >= SEVERAL:
            value: dict[str, Any] = {"count": int(odd.sum()), "of": len(odd), "distinct": int(np.median(distinct[odd]))}
            value |= {"points": int(np.median(points[odd])), "where": places(kept, odd, self.name)}
            yield Fact(REPEATED, value, self.evidence("sampled", len(odd)), {"field": self.name})
        padded = zeros >= PADS * points
        if SEVERAL <= padded.sum() < FILLED * len(padded) and (zeros[~padded] == 0).mean() >= ALONE:
            value = {"count": int(padded.sum()), "of": len(padded), "zeros": int(np.median(zeros[padded]))}
            value |= {"points": int(np.median(points[padded])), "where": places(kept, padded, self.name)}
            yield Fact(PADDED, value, self.evidence("sampled", len(padded)), {"field": self.name})
        yield from self._swapped(kept, spreads)

    def _swapped(self, kept: dict[str, Any], spreads: list[Any]) -> Iterator[Fact]:
        import numpy as np

        for split, name in sorted(self.splits.texts.items(), key=lambda item: item[1]):
            own = kept["split"] == np.uint64(split)
            if not name or min(own.sum(), (~own).sum()) < LEAST or 2 * own.sum() > len(own):
                continue
            for a, b in combinations(range(len(NAMES)), 2):
                far = [apart(spreads[i][own], spreads[j][~own]) for i, j in ((a, a), (b, b), (a, b), (b, a))]
                least = max(UNLIKE, chance_apart(int(own.sum()), int((~own).sum()), CHANCE))
                if min(far[:2]) >= least and max(far[2:]) <= LIKE * min(far[:2]):
                    value = {"axes": [a, b], "count": int(own.sum()), "where": places(kept, own, self.name)}
                    yield Fact(SWAPPED, value, self.evidence("sampled", len(own)), {"field": self.name, "split": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(REPEATED):
            v, n = fact.value, fact.value["count"]
            text = f"{n:,} of {number(v['of'], 'sample')} {verb(n, 'hold')} few distinct points in {escaped(self.name)}: about {v['distinct']:,} of "
            text += f"{v['points']:,}, each repeated, while the others hardly repeat any"
            fix = "sample them again from their sources, or keep each point once and pad when batching: what was filled up looks denser than it is"
            yield finding("constant-samples", "warning", text, fact, fix, v["where"], n)
        for fact in facts.all(PADDED):
            v, n = fact.value, fact.value["count"]
            text = f"{n:,} of {number(v['of'], 'sample')} {verb(n, 'end')} in points of {escaped(self.name)} that are all 0, about {v['zeros']:,} of "
            text += f"{v['points']:,}, while the others have none: they were padded"
            fix = "remove these points, and pad when batching, with a mask, or repeat real points: a model reads zeros as points at the origin"
            yield finding("constant-samples", "warning", text, fact, fix, v["where"], n)
        for fact in facts.all(SWAPPED):
            v = fact.value
            a, b = (NAMES[axis] for axis in v["axes"])
            text = f"{a} and {b} seem to be swapped in {escaped(self.name)} in {escaped(str(fact.at['split']))}: {a} spreads there as {b} does "
            text += f"elsewhere, and {b} as {a} does"
            fix = f"swap the {ORDINALS[v['axes'][0]]} and the {ORDINALS[v['axes'][1]]} column there: the splits seem to come from exports with other "
            fix += "axes pointing up"
            yield finding("preprocessing-differs", "warning", text, fact, fix, v["where"], v["count"])


ORDINALS = ("first", "second", "third")


def measured(cloud: Any) -> tuple[float, ...]:
    """How many points a cloud has, how many distinct ones, how many are those before them, how many at its end are all 0, how far points are from
    those before them, squared, in parts of how far any two are, and how widely it spreads along each axis."""
    import numpy as np

    points = np.ascontiguousarray(cloud)
    as_bytes = points.view(np.dtype((np.void, points.dtype.itemsize * points.shape[1]))).ravel()
    beside = (points[1:] == points[:-1]).all(1).sum()
    there = np.flatnonzero(points.any(1))
    zeros = len(points) - 1 - there[-1] if len(there) else 0
    of_any = 2 * float(points.var(0, dtype=np.float64).sum())
    return (
        float(len(points)),
        float(len(np.unique(as_bytes))),
        float(beside),
        float(zeros),
        float((np.diff(points, axis=0) ** 2).sum(1).mean()) / of_any if of_any > 0 else np.nan,
        *map(float, points[:, :3].std(0)),
    )


def _is_cloud(value: Any) -> bool:
    return getattr(value, "ndim", 0) == 2 and len(value) >= POINTS and AXES[0] <= value.shape[1] <= AXES[1]


CHECK = PointClouds

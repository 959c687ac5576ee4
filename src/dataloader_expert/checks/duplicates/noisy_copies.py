"""Samples of another split that are training samples with a little noise, rounded otherwise or stored as half floats: augmented before the split.

Method: distances to the nearest two training samples, of values in units of their spread. In ``d`` dimensions the ratio of the two is below
``t`` for a share ``t ** d`` of samples, however dense these are (Facco et al., "Estimating the intrinsic dimension of datasets by a minimal
neighborhood information", 2017). The median of the ratios tells ``d``; copies have ratios that should not occur at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import ODD_SCALES, Check, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import digests_of
from dataloader_expert.checks.common.rows_kept import in_order, places, split_of
from dataloader_expert.checks.common.vectors import vectors
from dataloader_expert.checks.duplicates.nearest_two import dimension_of
from dataloader_expert.checks.duplicates.pairs import NEAR
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.sources.base import Block, Field

NOISY = Quantity(
    "noisy_copies", "samples", "samples of a split far closer to one training sample than to the next, with places"
)
MOST, WIDEST = 16_000, 1 << 23
"""The most samples that are compared, and the most numbers of all of them."""
KINDS = ("number", "array", "embedding", "sequence")
PROJECTED, AT_ONCE = 64, 512
"""The dimensions to which wider samples are projected at random, which keeps distances (Johnson and Lindenstrauss, 1984)."""
COLUMNS, VARIED = 3, 0.2
"""The fewest numbers of a sample, and the least share of different values that one must have: of rounded ones many are equal."""
EXTREME = 8.0
"""Spreads from the middle to which values count: one broken value must not make all others alike."""
NEAREST = 4
EXPECTED, FAR_CLOSER, LEAST = 0.01, 0.2, 3
"""How many ratios as small as those of copies would be expected by chance, how large they are at most, and the fewest copies."""
FEWEST = 50
"""The fewest samples of training."""


class NoisyCopies(DrawnRows):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        aside = {context.label, *context.calendar, *context.identifiers}
        aside |= {r.field for r in (context.timed, context.grouped) if r is not None}
        self.fields = [f.name for f in context.fields if f.name not in aside and _measured(f)]
        self.rich = any(f.kind in ("image", "audio", "text", "tokens") for f in context.fields)
        self.drawn = Drawn(MOST)
        self.splits: dict[int, str] = {}

    def applies(self) -> bool:
        return self.context.near and self.context.several_splits and bool(self.fields) and not self.rich

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        values = vectors(block, self.fields, whole=True)[rows].astype(np.float32)
        names, codes = split_of(self.context, block, rows)
        self.splits.update(zip(digests_of(names).tolist(), names, strict=True))
        return {"values": values, "split": digests_of(names)[codes]}

    def merge(self, other: Check) -> None:
        assert isinstance(other, NoisyCopies)
        super().merge(other)
        self.splits.update(other.splits)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        if kept["values"].size > WIDEST:
            return
        values = prepared(kept["values"])
        sizes = {split: int((kept["split"] == split).sum()) for split in self.splits}
        train = max(sizes, key=lambda split: (self.splits[split] == "train", sizes[split]))
        if values is None or sizes[train] < FEWEST:
            return
        known = kept["split"] == train
        for split, name in sorted(self.splits.items(), key=lambda item: item[1]):
            rows = np.flatnonzero(kept["split"] == split)
            if split == train or not name or len(rows) < LEAST:
                continue
            copies = rows[far_closer(values[rows], values[known])]
            if len(copies):
                mask = np.zeros(len(values), bool)
                mask[copies] = True
                value = {"count": len(copies), "of": len(rows), "train": self.splits[train]}
                value |= {"where": places(kept, mask, "")}
                yield Fact(NOISY, value, self.evidence("sampled", len(values)), {"split": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        rounded = facts.find(NEAR, of="rows")
        small = max((f.value["count"] for f in facts.all(ODD_SCALES) if f.value["times"] < 1), default=0)
        for fact in facts.all(NOISY):
            v, split = fact.value, str(fact.at["split"])
            if small >= v["count"]:
                continue  # samples in another unit, of which each is near 0 beside the others
            if rounded is not None and rounded.value["cross_split"] >= v["count"]:
                continue  # told as equal but for rounding
            train = escaped(v["train"])
            text = f"{v['count']:,} of {number(v['of'], 'sample')} of {escaped(split)} {verb(v['count'], 'are')} nearly equal to a sample of {train}: "
            text += "far closer to it than to any other one, as copies with noise or rounding are"
            fix = f"find out whether samples were augmented or converted before the split; if so, split first, and remove these from {escaped(split)}"
            where = [{k: x for k, x in place.items() if k != "field"} for place in v["where"]]
            yield finding("splits-near-overlap", "warning", text, fact, fix, where, v["count"])

    def unknowns(self) -> Iterable[Unknown]:
        if self.applies() and self.seen > MOST:
            yield Unknown("noisy_copies", f"near copies with noise are searched for among {MOST:,} samples only")


def _measured(field: Field) -> bool:
    """Whether its values are measurements, as many of each sample: numbers with fractions, or arrays."""
    whole = "int" in field.dtype and not field.shape
    return field.kind in KINDS and None not in field.shape and field.dtype.startswith(("float", "int")) and not whole


def prepared(values: Any) -> Any:
    """Numbers of samples, [n, columns], in units of their spread, without columns that are mostly equal or absent; None of too few."""
    import numpy as np

    some = values[:: max(1, len(values) // 2_000)]
    finite = np.isfinite(some).mean(0) > 0.5
    varied = np.array([len(np.unique(column)) for column in some.T]) >= VARIED * len(some)
    values = values[:, finite & varied]
    if values.shape[1] < COLUMNS:
        return None
    values = np.where(np.isfinite(values), values, np.nan)
    low, middle, high = np.nanpercentile(values[:: max(1, len(values) // 2_000)], (25, 50, 75), axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        values = (values - middle) / np.maximum(high - low, 1e-9 * np.maximum(np.abs(middle), 1e-30))
    return np.nan_to_num(values, nan=0.0).clip(-EXTREME, EXTREME).astype(np.float32)


def projected(values: Any) -> Any:
    """The same in fewer dimensions, if there are many."""
    import numpy as np

    if values.shape[1] <= PROJECTED:
        return values
    rng = np.random.default_rng(0)
    return values @ rng.normal(0, PROJECTED**-0.5, (values.shape[1], PROJECTED)).astype(np.float32)


def far_closer(others: Any, known: Any) -> Any:
    """Which of ``others`` are so much closer to one of ``known`` than to the next that chance does not explain it; positions, if several."""
    import numpy as np

    # equal ones are told as duplicates, and no longer as equal once they are projected in single precision
    seen = {row.tobytes() for row in known}
    equal = np.array([row.tobytes() in seen for row in others], bool)
    others, known = projected(others), projected(known)
    first, second = two_nearest(others, known)
    there = ~equal & (second > 0)
    if there.sum() < LEAST:
        return np.zeros(0, np.int64)
    ratio = np.where(there, first / np.where(second > 0, second, 1), 1.0)
    own = known[:: max(1, len(known) // 1_000)]
    dimension = max(dimension_of(ratio[there]), dimension_of(_ratios(own, known)))
    least = min(FAR_CLOSER, math.exp(math.log(EXPECTED / len(others)) / max(dimension, 0.1)))
    found = np.flatnonzero(ratio <= least)
    return found if len(found) >= LEAST else found[:0]


def _ratios(some: Any, known: Any) -> Any:
    """The ratios of the distances to the nearest two of ``known`` other than itself."""
    first, second = two_nearest(some, known, itself=True)
    there = (first > 0) & (second > 0)
    return first[there] / second[there]


def two_nearest(some: Any, known: Any, itself: bool = False) -> tuple[Any, Any]:
    """The distances to the nearest two of ``known``; ``itself``: the nearest one is the sample itself, and left out."""
    import numpy as np

    squares = (known * known).sum(1)
    found = []
    for at in range(0, len(some), AT_ONCE):
        part = some[at : at + AT_ONCE]
        apart = squares[None] - 2 * part @ known.T
        near = np.argpartition(apart, NEAREST, 1)[:, : NEAREST + 1]
        exact = np.sqrt(
            ((part[:, None] - known[near]) ** 2).sum(2)
        )  # squares of single precision are too rough for copies
        found.append(np.sort(exact, 1)[:, itself : itself + 2])
    both = np.concatenate(found)
    return both[:, 0], both[:, 1]


CHECK = NoisyCopies

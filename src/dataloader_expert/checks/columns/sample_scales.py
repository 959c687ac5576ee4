"""The length of each sample's vector: where nearly all have length one, those that have not; and samples on another scale than the rest,
such as point clouds in millimetres among ones in metres, or counted from another origin, such as CT slices whose intercept was not subtracted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import DEPTH, ODD_SCALES, Check, Context
from dataloader_expert.checks.common.class_maps import CLASS_MAP
from dataloader_expert.checks.common.places import Files
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

KINDS = {"embedding", "array", "sequence"}
MOST = 2_000_000
"""Samples whose sizes are kept, at 48 bytes each."""
UNIT, OF_UNIT, OFF = 1e-3, 0.6, 0.02
"""How near to one a length is of a unit vector, the least share of such vectors, and how far from one the others are."""
ALIKE = 0.8
"""How near to each other spreads are that are the same."""
STEADY, APART, HALF = 4.0, 20.0, 0.4
"""How many times as large as the median the sizes of most samples may be, how many times it is another scale, and the largest share
of samples that can be odd."""
LEAST = 20
TWO_LEAST, AS_FAR = 0.95, 0.25
"""The share of samples whose smallest value must be one of two, and by how much of the distance between these two that between the means may differ."""
CODES = 256
"""The widest range of whole numbers that may be codes, such as classes, which are not counted from anywhere."""


class SampleScales(Check):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [
            f.name
            for f in context.fields
            if (f.kind in KINDS or f.name == DEPTH)
            and f.shape
            and ("float" in f.dtype or len(f.shape) > 1)
            and f.name != context.label
        ]
        self.floats = {f.name for f in context.fields if "float" in f.dtype}
        self.files = Files()
        self.parts: dict[str, list[tuple[int, Any]]] = {}
        """By field, of each block: its first sample, and of each sample the length, the root mean square, the mean, the spread, the least and the largest value [n, 6]."""

        self.scaled: set[str] = set()
        """Fields that hold more than 0 and 1: labels and marks have no scale."""

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        if max(self.seen, self.context.samples or 0) > MOST or block.rows is not None:
            return
        self.files.note(block)
        for name in self.fields:
            values = block.columns[name].values if name in block.columns else ()
            if not len(values):
                continue
            if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
                flat = values.reshape(len(values), -1).astype(np.float64)
                if not ((flat == 0) | (flat == 1)).all():
                    self.scaled.add(name)
                square, count = np.einsum("ij,ij->i", flat, flat), np.full(len(flat), max(1, flat.shape[1]))
                total = flat.sum(1)
                least, most = flat.min(1, initial=np.inf), flat.max(1, initial=-np.inf)
            else:
                rows = [v.reshape(-1).astype(np.float64) if _is_array(v) else np.zeros(0) for v in values]
                if not all(((r == 0) | (r == 1)).all() for r in rows):
                    self.scaled.add(name)
                square = np.array([float(r @ r) for r in rows])
                count = np.array([max(1, len(r)) for r in rows])
                total, least, most = (
                    np.array([float(of) for of in found])
                    for found in zip(
                        *((r.sum(), r.min(initial=np.inf), r.max(initial=-np.inf)) for r in rows), strict=True
                    )
                )
            with np.errstate(invalid="ignore", over="ignore"):  # infinite values are told elsewhere
                spread = np.maximum(square / count - (total / count) ** 2, 0)
            sizes = np.stack([np.sqrt(square), np.sqrt(square / count), total / count, np.sqrt(spread), least, most], 1)
            self.parts.setdefault(name, []).append((block.unit.start, sizes))

    def merge(self, other: Check) -> None:
        assert isinstance(other, SampleScales)
        self.seen += other.seen
        self.scaled |= other.scaled
        self.files.merge(other.files)
        for name, parts in other.parts.items():
            self.parts.setdefault(name, []).extend(parts)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name in [name for name in self.parts if name in self.scaled]:
            parts = sorted(self.parts[name], key=lambda part: part[0])
            sizes = np.concatenate([p for _, p in parts])
            found = _odd(sizes[:, 0], sizes[:, 1])
            codes = name not in self.floats and float(np.ptp(sizes[:, 4:])) < CODES
            moved = _moved(*sizes[:, 2:5].T) if found is None and not codes else None
            if found is not None:
                odd, unit, times = found
            elif moved is not None:
                odd, unit, times = moved[0], False, 1.0
            else:
                continue
            index = np.concatenate([start + np.arange(len(part)) for start, part in parts])
            where = self.files.places(index[odd].tolist(), name)
            value = {"count": int(odd.sum()), "of": len(sizes), "unit": unit, "times": times, "where": where}
            value["offset"] = moved[1] if moved else None if unit else _offset(sizes[odd, 2:4], sizes[~odd, 2:4])
            yield Fact(ODD_SCALES, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ODD_SCALES):
            v, field = fact.value, str(fact.at["field"])
            if v["offset"] is not None and facts.find(CLASS_MAP, field=field) is not None:
                continue  # the difference of two numbers of classes means nothing
            name = f"{'field ' * field.isdigit()}{escaped(field)}"
            n, of = v["count"], number(v["of"], "sample")
            if v["unit"]:
                text = f"{name} vectors have a median norm of {v['times']:.3g} in {n:,} of {of}, and a norm of 1 in the others"
                fix = "normalise them like the others, or find out which model made them: their dot products are not cosine similarities"
            elif v["offset"] is not None:
                text = f"the values of {name} in {n:,} of {of} are about {abs(v['offset']):,.8g} {'more' if v['offset'] > 0 else 'less'} than in the others, and vary as much"
                fix = f"{'subtract' if v['offset'] > 0 else 'add'} the difference: they are counted from another origin"
            else:
                text = (
                    f"the values of {name} in {n:,} of {of} are about {v['times']:,.3g} times as large as in the others"
                )
                fix = "find out their unit, and convert all values to one unit"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], n)


def _offset(odd: Any, others: Any) -> float | None:
    """What lies between the means of samples that vary as much as the others, which are far less far apart; None: it is a scale."""
    import numpy as np

    (mean, spread), (usual, steady) = np.median(odd, 0), np.median(others, 0)
    alike = steady > 0 and ALIKE * steady <= spread <= steady / ALIKE
    apart, wide = float(mean - usual), max(float(others[:, 0].std()), float(odd[:, 0].std()))
    if not alike or abs(apart) < APART * max(steady, wide):
        return None
    error = wide / math.sqrt(min(len(odd), len(others)))
    return round(apart, -math.ceil(math.log10(error))) if error > 0 else apart


def _moved(mean: Any, spread: Any, least: Any) -> tuple[Any, float] | None:
    """The samples whose smallest value is not the usual one, if their means differ by the same amount and they vary as much; and that amount."""
    import numpy as np

    values, counts = np.unique(least[np.isfinite(least)], return_counts=True)
    if len(least) < LEAST or len(values) < 2:
        return None
    other, usual = np.argsort(counts)[-2:].tolist()
    odd, others = least == values[other], least == values[usual]
    if counts[other] < 2 or counts[other] > HALF * len(least) or counts[other] + counts[usual] < TWO_LEAST * len(least):
        return None
    apart = float(values[other] - values[usual])
    means, spreads = ([float(np.median(of[rows])) for rows in (odd, others)] for of in (mean, spread))
    alike = spreads[1] > 0 and ALIKE * spreads[1] <= spreads[0] <= spreads[1] / ALIKE
    as_far = abs(means[0] - means[1] - apart) <= AS_FAR * abs(apart)
    return (odd, apart) if alike and as_far and abs(apart) >= max(spreads) else None


def _is_array(value: Any) -> bool:
    import numpy as np

    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"


def _odd(lengths: Any, sizes: Any) -> tuple[Any, bool, float] | None:
    """Which samples are odd, whether because they are no unit vectors, and their median length, or how many times as large they are."""
    import numpy as np

    there = np.isfinite(lengths) & (lengths > 0)
    if there.sum() < LEAST:
        return None
    of_unit = np.abs(lengths - 1) <= UNIT
    others = there & (np.abs(lengths - 1) > OFF)
    if of_unit[there].mean() >= OF_UNIT:
        return (others, True, float(np.median(lengths[others]))) if others.any() else None
    ratio = np.where(there, sizes / np.median(sizes[there]), 1.0)
    beyond = _beyond_gap(ratio, there)
    if beyond is not None:
        return beyond, False, float(np.median(ratio[beyond]) / np.median(ratio[there & ~beyond]))
    odd = there & ((ratio > APART) | (ratio < 1 / APART))
    steady = there & (ratio <= STEADY) & (ratio >= 1 / STEADY)
    if (
        not 2 <= odd.sum() <= HALF * there.sum()
        or (odd | steady)[there].mean() < 1
        or (ratio[odd] > 1).min() != (ratio[odd] > 1).max()
    ):
        return None
    within = ratio[odd] / np.median(ratio[odd])
    return (odd, False, float(np.median(ratio[odd]))) if (np.abs(np.log(within)) <= np.log(STEADY)).all() else None


def _beyond_gap(ratio: Any, there: Any) -> Any:
    """The samples beyond the widest gap between sizes, bool [n], if it is as wide as the sizes on either side of it differ: amplitudes may
    differ by much, but none lies between two units. None if it is not."""
    import numpy as np

    logs = np.log(np.where(there, ratio, 1.0))
    order = np.sort(logs[there])
    gaps = np.diff(order)
    k = int(gaps.argmax())
    low, high = order[: k + 1], order[k + 1 :]
    if gaps[k] < max(math.log(APART), float(np.ptp(low)), float(np.ptp(high))):
        return None
    middle = (order[k] + order[k + 1]) / 2
    odd = there & ((logs > middle) if len(high) <= len(low) else (logs < middle))
    return odd if 2 <= odd.sum() <= HALF * there.sum() else None


CHECK = SampleScales

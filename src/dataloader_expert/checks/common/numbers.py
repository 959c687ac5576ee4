"""Statistics of numbers that merge: moments about a pivot, exact quantiles while they fit, then a histogram.

Beyond ``CAP`` values the quantiles come from counts of the upper 16 bits of the float32 of each value
(relative width 2^-8); until then from all values. Moments follow Pebay 2008 (SAND2008-6212) about a fixed pivot.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from dataloader_expert.checks.common.alone import alone
from dataloader_expert.checks.common.binned import binned
from dataloader_expert.checks.common.frequent import most_common
from dataloader_expert.checks.common.quantiles import BUCKETS, bucket_keys, bucket_value, buckets, quantile
from dataloader_expert.checks.common.treatments import marks_of, treatment

CAP = 1 << 22
PIECE = 1 << 15
"""Values that are worked on at a time: what is made of them stays in the cache, and in memory that is used again."""
COUNTED = 1 << 17
"""Values that are counted at a time: there are half as many counts, which are added up each time."""
WAITING = 1 << 18
"""Values whose buckets wait until they are counted together: one count costs as much as some ten thousand values."""
EXTREMES = 32
EXACT = 2**53
"""Whole numbers beyond are not told apart as floats."""
LEVELS = (1, 5, 25, 50, 75, 95, 99)


PILED, HIGHER, BESIDE, PILED_FROM = 0.03, 10, 10, 50
"""The least share of values that the largest one has if values were cut off there; how many times as many that must be as have any
of so many values below it; and of how many distinct values at least."""


def known(moment: float) -> float | None:
    """None where powers of the values are beyond what a float holds."""
    return moment if math.isfinite(moment) else None


class Numbers:
    """What was seen of one field's (or channel's) values."""

    def __init__(self, pivot: float = 0.0, cap: int = CAP) -> None:
        self.pivot, self.cap = pivot, cap
        self.n = self.nan = self.inf_up = self.inf_down = self.zeros = 0
        self.sums = [0.0, 0.0, 0.0, 0.0]
        self.low, self.high = math.inf, -math.inf
        self.counts: Any = None  # of whole numbers 0…65535, or of bfloat16 buckets once `bucketed`
        self.kept: list[Any] = []
        """Values; once ``bucketed``, their buckets that are not yet counted."""
        self.n_kept = 0
        self.bucketed = self.folded = False
        self.whole = True
        self.lowest: list[tuple[float, int]] = []
        self.highest: list[tuple[float, int]] = []

    def see(self, values: Any, first: int = 0, per_sample: int = 1, rows: Any = None) -> None:
        """Looks at values of any shape; value i belongs to sample ``first + i // per_sample``, by ``rows`` if given."""
        import numpy as np

        flat = np.asarray(values).reshape(-1)
        if not flat.size:
            return
        kind = flat.dtype.kind
        if kind == "b":
            flat = flat.astype(np.uint8)
        if flat.dtype == np.uint8 and not self.bucketed:
            if per_sample == 1:
                self._extremes(flat, first, per_sample, None, rows)
            self.see_counts(np.bincount(flat, minlength=256))
            return
        if kind == "c":
            flat = np.abs(flat)
        if flat.dtype.kind == "f":
            flat = flat if flat.dtype.itemsize >= 4 else flat.astype(np.float32)
            if not np.isfinite(flat).all():
                bad = np.isnan(flat)
                self.nan += int(bad.sum())
                self.inf_up += int(np.isposinf(flat).sum())
                self.inf_down += int(np.isneginf(flat).sum())
                where = np.flatnonzero(np.isfinite(flat))
                self._extremes(flat[where], first, per_sample, where, rows)
                flat = flat[where]
            else:
                self._extremes(flat, first, per_sample, None, rows)
            if not flat.size:
                return
        else:
            self._extremes(flat, first, per_sample, None, rows)
        self.n += flat.size
        self.zeros += int(flat.size - np.count_nonzero(flat))
        sums = [0.0, 0.0, 0.0, 0.0]
        for at in range(0, flat.size, PIECE):
            wide = flat[at : at + PIECE].astype(np.float64, copy=False)
            if self.whole and flat.dtype.kind == "f":
                self.whole = bool((wide == np.rint(wide)).all())
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # the fourth power of 1e80 is infinite: then kurtosis is unknown
                off = wide - self.pivot
                square = off * off
                sums[0] += float(off.sum())
                sums[1] += float(square.sum())
                sums[2] += float(np.dot(square, off))
                sums[3] += float(np.dot(square, square))
        self.sums = [a + b for a, b in zip(self.sums, sums, strict=True)]
        self._count(flat)

    def see_counts(self, counts: Any) -> None:
        """Looks at a histogram of whole numbers 0…255, such as an image channel's; its moments are summed at the end."""
        import numpy as np

        if self.counts is None:
            self.counts = np.zeros(BUCKETS, np.int64)
        self.counts[: len(counts)] += counts

    def _extremes(self, flat: Any, first: int, per_sample: int, where: Any, rows: Any) -> None:
        for start in range(0, flat.size, PIECE):
            piece = flat[start : start + PIECE]
            low, high = piece.min().item(), piece.max().item()  # whole numbers stay exact beyond 2 ** 53
            self.low, self.high = min(self.low, low), max(self.high, high)
            index = range(start, start + piece.size) if where is None else where[start : start + PIECE]
            row = int(index[0]) // per_sample
            earliest = first + (row if rows is None else int(rows[row]))
            kept = len(self.lowest), len(self.highest)
            for places, sign, end in ((self.lowest, 1, low), (self.highest, -1, high)):
                worst, last = places[-1] if len(places) == EXTREMES else (sign * math.inf, 0)
                if sign * end > sign * worst or (end == worst and earliest >= last):
                    continue
                for i in _farthest(piece, sign, worst):
                    row = int(index[i]) // per_sample
                    places.append((float(piece[i]), first + (row if rows is None else int(rows[row]))))
            if kept != (len(self.lowest), len(self.highest)):
                self._trim()

    def _trim(self) -> None:
        self.lowest = sorted(set(self.lowest))[:EXTREMES]
        self.highest = sorted(set(self.highest), key=lambda p: (-p[0], p[1]))[:EXTREMES]

    def _count(self, flat: Any) -> None:
        self.kept.append(bucket_keys(flat) if self.bucketed else flat.copy())
        self.n_kept += flat.size
        if self.n_kept > (WAITING if self.bucketed else self.cap):
            self._to_buckets()

    def _to_buckets(self) -> None:
        import numpy as np

        # a copy: a shallow copy of this object may share the counts
        counts = self.counts.copy() if self.bucketed else np.zeros(BUCKETS, np.int64)
        if self.counts is not None and not self.bucketed:
            self._fold_counts()
            levels = np.flatnonzero(self.counts)
            counts += buckets(levels.astype(np.float32), self.counts[levels])
        for values in _together(self.kept):
            if self.bucketed:
                counts += np.bincount(values, minlength=BUCKETS)
                continue
            for at in range(0, values.size, COUNTED):
                counts += buckets(values[at : at + COUNTED])
        self.counts, self.kept, self.n_kept, self.bucketed = counts, [], 0, True

    def merge(self, other: Numbers) -> None:
        """Raises: ValueError: if the other's pivot differs, so that the sums are not comparable."""
        if other.pivot != self.pivot:
            raise ValueError(f"sums about {self.pivot} and {other.pivot} do not merge")
        for name in ("n", "nan", "inf_up", "inf_down", "zeros"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.sums = [a + b for a, b in zip(self.sums, other.sums, strict=True)]
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.whole = self.whole and other.whole
        self.lowest += other.lowest
        self.highest += other.highest
        self._trim()
        for one in (self, other):
            if one.bucketed:
                one._to_buckets()
        if other.bucketed and not self.bucketed:
            self._to_buckets()
        elif self.bucketed and not other.bucketed:
            other._to_buckets()
        if other.counts is not None:
            self.counts = other.counts.copy() if self.counts is None else self.counts + other.counts
        self.kept += other.kept
        self.n_kept += other.n_kept
        if self.n_kept > self.cap:
            self._to_buckets()

    @property
    def total(self) -> int:
        return self.n + self.nan + self.inf_up + self.inf_down

    def distinct(self) -> tuple[Any, bool]:
        """The distinct values in ascending order, and whether they are all, not middles of a histogram's bins."""
        import numpy as np

        if not self.n:
            return np.zeros(0), False
        if self.counts is not None and not self.bucketed and not self.folded:
            self._fold_counts()
            self.folded = True
        return self._levels()[0], not self.bucketed

    def summary(self, bins: bool = False, treated: bool = False) -> dict[str, Any]:
        """The contract's statistics: moments over finite values, quantiles, distribution, outliers.

        ``bins``: with ``histogram``, the values' counts; ``treated``: with a proposed ``treatment`` (see ``treatments``);
        ``marked``: the first samples whose value is to be treated as missing; ``commonest``: the most frequent value and its share;
        ``values``: how many distinct ones there are, and the most frequent of them, unless only histograms were kept or whole numbers are too long to be told apart.
        """
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):  # of values beyond 1e77 some moments are unknown
            return self._summary(bins, treated)

    def _summary(self, bins: bool, treated: bool) -> dict[str, Any]:
        import numpy as np

        if self.bucketed:
            self._to_buckets()
        if self.counts is not None and not self.bucketed and not self.folded:
            self._fold_counts()
            self.folded = True
        if not self.n:
            return {
                **dict.fromkeys(("mean", "std", "min", "max", "skewness", "kurtosis")),
                "quantiles": None,
                "distribution": "other",
                "zeros": 0,
                "nan": self.nan,
                "inf": self.inf_up + self.inf_down,
                "outliers": None,
                "treatment": None,
                "marked": [],
                "piled": None,
                "alone": None,
                "commonest": None,
                "values": None,
                "n": 0,
            }
        n = self.n
        m1 = self.sums[0] / n
        m2 = max(self.sums[1] / n - m1 * m1, 0.0)
        constant = self.low == self.high
        if constant:
            m2 = 0.0
        m3 = self.sums[2] / n - 3 * m1 * self.sums[1] / n + 2 * m1 * m1 * m1
        m4 = self.sums[3] / n - 4 * m1 * self.sums[2] / n + 6 * m1 * m1 * self.sums[1] / n - 3 * m1 * m1 * m1 * m1
        flat = constant or m2 * m2 <= 0  # or so little that its square is nothing
        skew = None if flat else known(m3 / (m2 * math.sqrt(m2)))
        kurt = None if flat else known(m4 / (m2 * m2) - 3)
        levels, weights = self._levels()
        quantiles = quantile(levels, weights, [p / 100 for p in LEVELS])
        if self.bucketed:
            quantiles = np.clip(quantiles, self.low, self.high)
        named = dict(zip((f"p{p}" for p in LEVELS), map(float, quantiles), strict=True))
        histogram = {"histogram": binned(levels, weights, (named["p1"], named["p99"]))} if bins else {}
        outliers = self._outliers(levels, weights, named)
        treated_as = treatment(levels, weights, outliers) if treated else None
        marks = marks_of(treated_as)
        return histogram | {
            "mean": self.pivot + m1,
            "std": math.sqrt(m2),
            "min": self.low,
            "max": self.high,
            "quantiles": named,
            "skewness": skew,
            "kurtosis": kurt,
            "distribution": shape_of(levels, weights, named, skew, kurt, self, math.sqrt(m2)),
            "zeros": self.zeros,
            "nan": self.nan,
            "inf": self.inf_up + self.inf_down,
            "outliers": outliers,
            "treatment": treated_as,
            "marked": sorted({s for v, s in (*self.lowest, *self.highest) if v in marks}),
            "piled": piled(levels, weights),
            "alone": self._alone(levels, weights),
            "commonest": {"value": float(levels[(at := int(weights.argmax()))]), "share": float(weights[at] / n)},
            "values": None if self.bucketed or max(-self.low, self.high) > EXACT else most_common(levels, weights),
            "n": n,
        }

    def _alone(self, levels: Any, weights: Any) -> dict[str, Any] | None:
        """The value that lies alone outside the range of all others, with some samples that have it."""
        found = alone(levels, weights)
        if found is None or (self.bucketed and found.value):  # other values share its bucket
            return None
        return asdict(found) | {"where": sorted({s for v, s in (*self.lowest, *self.highest) if v == found.value})}

    def _fold_counts(self) -> None:
        """Adds what the histogram of whole numbers says to the moments."""
        import numpy as np

        levels = np.flatnonzero(self.counts)
        weights = self.counts[levels]
        off = levels.astype(np.float64) - self.pivot
        self.n += int(weights.sum())
        self.zeros += int(self.counts[0])
        self.sums = [s + float((weights * off**p).sum()) for s, p in zip(self.sums, (1, 2, 3, 4), strict=True)]
        self.low, self.high = min(self.low, float(levels[0])), max(self.high, float(levels[-1]))

    def _levels(self) -> tuple[Any, Any]:
        """Distinct values in order and how often each occurs."""
        import numpy as np

        if self.bucketed:
            self._to_buckets()
            keys = np.flatnonzero(self.counts)
            values = bucket_value(keys)
            order = np.argsort(values, kind="stable")
            return values[order], self.counts[keys][order]
        parts, weights = [], []
        if self.counts is not None:
            at = np.flatnonzero(self.counts)
            parts.append(at.astype(np.float64))
            weights.append(self.counts[at])
        if self.kept:
            values, counts = np.unique(np.concatenate(self.kept), return_counts=True)
            parts.append(values.astype(np.float64))
            weights.append(counts)
        if len(parts) == 1:
            return parts[0], weights[0]
        values, inverse = np.unique(np.concatenate(parts), return_inverse=True)
        return values, np.bincount(inverse, np.concatenate(weights)).astype(np.int64)

    def _outliers(self, levels: Any, weights: Any, q: dict[str, float]) -> dict[str, Any]:
        spread = q["p75"] - q["p25"]
        if spread <= 0:
            rule = "3 x IQR, not applied as the middle half of the values is constant"
            return {"rule": rule, "low": None, "high": None, "count": 0, "where": []}
        low, high = q["p25"] - 3 * spread, q["p75"] + 3 * spread
        count = int(weights[(levels < low) | (levels > high)].sum())
        places = [(v, s) for v, s in self.lowest if v < low] + [(v, s) for v, s in self.highest if v > high]
        farthest = sorted(set(places), key=lambda p: (-max(low - p[0], p[0] - high), p[1]))[:20]
        where = [{"sample": s, "value": v} for v, s in sorted(farthest, key=lambda p: (p[1], p[0]))]
        return {"rule": "3 x IQR beyond the quartiles", "low": low, "high": high, "count": count, "where": where}


def _farthest(values: Any, sign: int, worst: float) -> list[int]:
    """Where the ``EXTREMES`` lowest of the values are (``sign`` 1; -1: the highest), the first of equal ones, none beyond ``worst``."""
    import numpy as np

    at = np.flatnonzero(values <= worst if sign > 0 else values >= worst)
    if len(at) > EXTREMES:
        near = values[at]
        k = EXTREMES - 1 if sign > 0 else len(at) - EXTREMES
        bound = np.partition(near, k)[k]
        closer = at[near < bound if sign > 0 else near > bound]
        at = np.concatenate([closer, at[near == bound][: EXTREMES - len(closer)]])
    found: list[int] = at.tolist()
    return found


def piled(levels: Any, weights: Any) -> dict[str, float] | None:
    """The largest value and how many have it, if that is many more than have any value near it: values that were cut off there.
    None otherwise, and for few distinct values."""
    if len(levels) < PILED_FROM:
        return None
    last, before = int(weights[-1]), int(weights[-1 - BESIDE : -1].max())
    if last < PILED * weights.sum() or last < HIGHER * before:
        return None
    return {"value": float(levels[-1]), "count": last}


def _together(parts: list[Any]) -> list[Any]:
    """Small arrays of one dtype as one."""
    import numpy as np

    return [np.concatenate(parts)] if len(parts) > 1 and len({p.dtype for p in parts}) == 1 else parts


def shape_of(
    levels: Any, weights: Any, q: dict[str, float], skew: float | None, kurt: float | None, numbers: Numbers, std: float
) -> str:
    """The distribution's word: the rules stand here in the order in which they are tried."""
    import numpy as np

    if numbers.low == numbers.high:
        return "constant"
    if len(levels) == 1 or skew is None or kurt is None:
        return "other"  # they differ by less than a float or a bucket tells
    if len(levels) <= 20 and numbers.n >= 5 * len(levels):
        return "categorical"
    low, high = numbers.low, numbers.high
    probabilities = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
    got = np.array(list(q.values()))
    if np.abs(got - (low + (high - low) * probabilities)).max() < 0.03 * (high - low):
        return "uniform"
    mean = numbers.pivot + numbers.sums[0] / numbers.n
    normal = mean + std * np.array([-2.3263, -1.6449, -0.6745, 0, 0.6745, 1.6449, 2.3263])
    if abs(skew) < 0.3 and abs(kurt) < 0.6 and np.abs(got - normal).max() < 0.15 * std:
        return "normal"
    if peaks(levels, weights, q) > 1:
        return "multi-modal"
    if numbers.whole and low >= 0 and skew > 0.5:
        return "count"
    if kurt > 6:
        return "heavy-tailed"
    return "skewed" if abs(skew) > 0.5 else "other"


def peaks(levels: Any, weights: Any, q: dict[str, float]) -> int:
    """Peaks of the smoothed histogram between p1 and p99 that stand 15 % of the highest above their valleys."""
    import numpy as np

    low, high = q["p1"], q["p99"]
    if high <= low or weights.sum() < 100:
        return 1
    counts, _ = np.histogram(levels, 24, (low, high), weights=weights)
    smooth = np.convolve(counts, [0.25, 0.5, 0.25], "same")
    need, found, valley, top = 0.15 * smooth.max(), 0, 0.0, 0.0
    rising = True
    for value in [*smooth, 0.0]:
        if rising:
            top = max(top, value)
            if value < top - need:
                found, rising, valley = found + 1, False, value
        else:
            valley = min(valley, value)
            if value > valley + need:
                rising, top = True, value
    return found

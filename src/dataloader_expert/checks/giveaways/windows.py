"""Windows of rows, and what numbers of a series are over each: the mean of the seven rows before, the largest of the next three."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from dataloader_expert.checks.common.series_rows import Order

BACK, AHEAD, APART, SHORTER = 180, 2, 31, 60
"""Rows that a window reaches back or ahead at most; rows after its own at which it may end or begin; rows before its own at which it may
end, and how many rows those that end before the last one have at most."""
DEVIATION = "standard deviation"
STATS = ("mean", "sum", "largest", "smallest", DEVIATION)


class Window(NamedTuple):
    """A statistic of the rows from ``first`` to ``last``, both counted from the row itself: -1 is the one before. ``first`` None: from the
    beginning of its series."""

    stat: str
    first: int | None
    last: int

    @property
    def own(self) -> bool:
        """Whether the row itself is among them."""
        return self.last >= 0 and (self.first is None or self.first <= 0)

    @property
    def later(self) -> bool:
        return self.last > 0

    @property
    def rows(self) -> int | None:
        return None if self.first is None else self.last - self.first + 1

    def called(self, of: str) -> str:
        """As in 'the mean of sales over the 7 rows before its own'."""
        if self.first is None:
            return (
                f"the {self.stat} of {of} over all rows {'up to and including' if self.last == 0 else 'before'} its own"
            )
        n = self.last - self.first + 1
        if n == 1:
            return f"the {of} {_rows(abs(self.last))} {'later' if self.last > 0 else 'earlier'}"
        if self.last == 0:
            where = f"the {n} rows up to and including its own"
        elif self.last < 0:
            where = f"the {n} rows before " + ("its own" if self.last == -1 else f"the last {-self.last - 1}")
        elif self.first > 0:
            where = f"the {n} rows after " + ("its own" if self.first == 1 else f"the next {self.first - 1}")
        else:
            before = f"the {_rows(-self.first)} before and " if self.first < 0 else ""
            where = f"its own row, {before}the {_rows(self.last)} after it".replace(
                "row, the", "row and the", not before
            )
        return f"the {self.stat} of {of} over {where}"


def _rows(n: int) -> str:
    return f"{n} row{'s' * (n > 1)}"


@functools.cache
def candidates(back: int = BACK) -> tuple[Any, Any]:
    """The first and last rows of the windows that are tried, int64 [windows], those that hold only earlier rows first; none is the row alone."""
    import numpy as np

    ends = [(-n, -1) for n in range(1, back + 1)]
    ends += [(last - n + 1, last) for last in range(-2, -APART - 1, -1) for n in range(1, SHORTER + 1)]
    ends += [(-k, -k) for k in range(APART + 1, back + 1)]
    ends += [(last - n + 1, last) for last in range(AHEAD + 1) for n in range(2, back + 1)]
    ends += [(first, last) for first in range(AHEAD + 1) for last in range(max(first, 1), back + 1)]
    ends += [(-k, k + odd) for k in range(1, back // 2) for odd in (-1, 0, 1)]
    made = np.array(list(dict.fromkeys(ends)))
    return made[:, 0], made[:, 1]


def around(y: Any, order: Order, at: Any, back: int = BACK) -> Any:
    """The numbers of the rows around some, from ``back`` before to ``back`` after, float64 [at, 2 back + 1]; NaN beyond the series."""
    import numpy as np

    places = at[:, None] + np.arange(-back, back + 1)
    inside = (places >= order.begin[at][:, None]) & (places < order.end[at][:, None])
    return np.where(inside, y[np.clip(places, 0, len(y) - 1)], np.nan)


def statistics(values: Any, first: Any, last: Any, back: int = BACK) -> dict[str, Any]:
    """Each statistic over each window, float64 [rows, windows]; NaN where a window lacks a number."""
    import numpy as np

    there = np.isfinite(values)
    middle = np.nan_to_num(np.nanmean(np.where(there.any(1)[:, None], values, 0.0), axis=1))[:, None]
    plain = np.where(there, values - middle, 0.0)
    n = (last - first + 1).astype(np.float64)
    lacking, sums, squares = (_summed(v, first, last, back) for v in (~there, plain, plain * plain))
    gone = lacking > 0.5
    mean = np.where(gone, np.nan, sums / n)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(n > 1, np.maximum(squares - sums * sums / n, 0.0) / np.maximum(n - 1, 1), np.nan)
    found = {"mean": mean + middle, "sum": (mean + middle) * n, DEVIATION: np.sqrt(variance)}
    found[DEVIATION][gone] = np.nan
    for stat, reach in (("largest", np.maximum), ("smallest", np.minimum)):
        made = np.full(mean.shape, np.nan)
        for end in range(-APART, AHEAD + 1):
            own = np.flatnonzero((last == end) & (first <= end))
            made[:, own] = reach.accumulate(values[:, end + back :: -1], axis=1)[:, end - first[own]]  # NaN stays NaN
        for begin in range(AHEAD + 1):
            own = np.flatnonzero(first == begin)
            made[:, own] = reach.accumulate(values[:, begin + back :], axis=1)[:, last[own] - begin]
        found[stat] = np.where(gone, np.nan, made)
    return {stat: found[stat] for stat in STATS}


def _summed(values: Any, first: Any, last: Any, back: int) -> Any:
    import numpy as np

    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=np.float64)], axis=1)
    return sums[:, last + back + 1] - sums[:, first + back]


def over(window: Window, y: Any, order: Order) -> Any:
    """The statistic over the window of each row, in this order, float64 [n]; NaN where the window reaches beyond the series or lacks a
    number."""
    import numpy as np

    n = len(y)
    at = np.arange(n)
    there = np.isfinite(y)
    first = order.begin - at if window.first is None else np.full(n, window.first)
    low, high = at + first, at + window.last
    whole = (low >= order.begin) & (high < order.end) & (high >= low)
    low, high = np.clip(low, 0, n - 1), np.clip(high, 0, n - 1)
    known = np.concatenate([[0], np.cumsum(there)])
    whole &= known[high + 1] - known[low] == high - low + 1
    made = np.full(n, np.nan)
    if window.stat in ("mean", "sum"):
        middle = float(y[there].mean()) if there.any() else 0.0
        sums = np.concatenate([[0.0], np.cumsum(np.where(there, y - middle, 0.0))])
        size = high - low + 1
        total = sums[high + 1] - sums[low] + middle * size
        made[whole] = (total / np.maximum(size, 1) if window.stat == "mean" else total)[whole]
        return made
    rows = window.rows or 1
    if n < rows or (rows == 1 and window.stat == DEVIATION):
        return made
    of: dict[str, Any] = {"largest": np.max, "smallest": np.min, DEVIATION: _deviation}
    views = np.lib.stride_tricks.sliding_window_view(y, rows)
    begins = np.flatnonzero(whole)
    for part in np.array_split(begins, 1 + len(begins) * rows // 4_000_000):
        made[part] = of[window.stat](views[low[part]], axis=1)
    return made


def _deviation(values: Any, axis: int) -> Any:
    return values.std(axis=axis, ddof=1)

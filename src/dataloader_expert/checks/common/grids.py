"""Series of one row a step: which fields name them is found from the times, since within each nearly all steps must be equally long."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from dataloader_expert.sources.base import Column
from dataloader_expert.sources.times import read_time

REGULAR = 0.9
"""The least share of equal steps."""
ENOUGH = 20_000
"""Of how many samples the series are looked at first."""
SOME, UNSURE = 2_000, 0.1
"""Of how many steps their share is looked at first, and by how much it may then be off: nine standard errors."""
LONG = 20
"""The fewest samples of a series, on average."""
REPEATS = 0.05
"""The largest share of repeated times: of more, the fields do not name series, or all of them."""
PERIOD, MOST_OUT, SELDOM = 0.3, 0.01, 0.002
"""The largest share of samples of a period in which times repeat, that of repeats which may lie before or after it, and that of samples there
which repeat: keys that are unique in all other times are keys."""
DAY, YEAR = 86_400.0, 31_556_952.0
HOUR = 3_600.0


class Grid(NamedTuple):
    """The fields that name series (none: all samples are one), and their samples in order."""

    names: tuple[str, ...]
    step: float
    order: Any
    """Samples by series and time, int64."""
    series: Any
    """A digest of each one's series, in that order, uint64."""
    times: Any


def grid_of(times: Any, series: Any, names: Sequence[str]) -> Grid | None:
    """The fewest fields that divide the samples into regular series; the first such fields in table order."""
    import numpy as np

    if len(times) < 2 * LONG:
        return None
    few_of = [i for i in range(len(names)) if LONG * len(np.unique(series[:, i])) <= len(times)]
    each = [of for k in (0, 1, 2) for of in itertools.combinations(few_of, k)]
    in_time = np.argsort(times, kind="stable")
    for of, at_once in [(of, False) for of in each] + [(of, True) for of in each if of]:
        key = np.zeros(len(times), np.uint64)
        for i in of:
            key = key * np.uint64(0x9E3779B97F4A7C15) + series[:, i]
        some = (key >> np.uint64(40)) % np.uint64(1 + len(times) // ENOUGH) == 0
        few = in_time[some[in_time]]
        if ENOUGH // 2 < len(few) < len(times) and _regular(times, key, few, at_once) is None:
            continue  # some of the series tell, at a fraction of the time
        found = _regular(times, key, in_time, at_once)
        if found is not None:
            step, order = found
            return Grid(tuple(names[i] for i in of), step, order, key[order], times[order])
    return None


def _regular(times: Any, key: Any, in_time: Any, at_once: bool) -> tuple[float, Any] | None:
    """The usual step of series with these keys, and their samples by series and time; None if the steps differ, or times repeat, unless
    they do so ``at_once``. ``in_time``: the samples, by time."""
    import numpy as np

    values, codes = np.unique(key[in_time], return_inverse=True)
    if len(in_time) < LONG * len(values):
        return None  # too short
    order = in_time[np.argsort(codes.astype(np.min_scalar_type(len(values))), kind="stable")]  # small ones sort fast
    s, t = key[order], times[order]
    steps = (t[1:] - t[:-1])[s[1:] == s[:-1]]
    some = steps[:: 1 + len(steps) // SOME]
    if len(steps) > SOME and _alike(some[some > 0])[1] < REGULAR - UNSURE:
        return None
    moved = steps[steps > 0]
    if len(steps) - len(moved) > REPEATS * len(in_time) and not (at_once and _in_a_period(s, t)):
        return None
    step, share = _alike(moved)
    return (step, order) if share >= REGULAR else None


def _alike(steps: Any) -> tuple[float, float]:
    """The commonest step, and its share."""
    import numpy as np

    if not len(steps):
        return 0.0, 0.0
    steps = np.sort(steps)
    starts = np.flatnonzero(np.concatenate([[True], steps[1:] > steps[:-1]]))
    runs = np.diff(np.append(starts, len(steps)))
    most = int(runs.argmax())
    return float(steps[starts[most]]), float(runs[most] / len(steps))


def _in_a_period(series: Any, times: Any) -> bool:
    """Whether the times that repeat are nearly all of one short period, of most series, and stand twice: rows of it were written again."""
    import numpy as np

    same = (series[1:] == series[:-1]) & (times[1:] == times[:-1])
    again = times[1:][same]
    since, until = np.quantile(again, [MOST_OUT, 1 - MOST_OUT])
    inside = (times >= since) & (times <= until)
    outside = int((~inside[1:] & same).sum())
    twice = int((same & inside[1:]).sum())
    return bool(
        inside.sum() <= PERIOD * len(times)
        and outside <= SELDOM * (~inside).sum()
        and 2 * twice <= 1.05 * inside.sum()
        and 2 * len(np.unique(series[1:][same & inside[1:]])) > len(np.unique(series[inside]))
    )


def of_calendar(parts: list[Any]) -> Any:
    """Seconds since 1970 of years, months, days and what follows, float64 [n]; NaN where there is no such day."""
    import numpy as np

    year, month, day = parts[:3]
    with np.errstate(invalid="ignore"):
        sound = (year >= 1) & (year < 10_000) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        sound &= np.all([part == np.floor(part) for part in parts[:3]], axis=0)
    months = np.where(sound, (year - 1970) * 12 + month - 1, 0).astype("M8[M]")
    days = months.astype("M8[D]").astype(np.int64) + np.where(sound, day - 1, 0).astype(np.int64)
    sound &= days.astype("M8[D]").astype("M8[M]") == months
    clock = sum((part * unit for part, unit in zip(parts[3:], (HOUR, 60.0, 1.0), strict=False)), np.zeros(len(year)))
    return np.where(sound, days * DAY + clock, np.nan)


def seconds_of(column: Column, n: int) -> Any:
    """Times as numbers, float64 [n]; NaN where there is none."""
    import numpy as np

    values = column.values[:n]
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and values.ndim == 1:
        found = values.astype(np.float64)
    else:
        plain = [v if isinstance(v, str | int | float | None) else str(v) for v in values]
        known: dict[Any, float] = {None: np.nan}
        known |= {v: next((s for s in read_time(v) if s is not None), np.nan) for v in set(plain) if v is not None}
        found = np.array([known[v] for v in plain], np.float64)
    if column.nulls is not None:
        found = np.where(column.nulls[:n], np.nan, found)
    return np.where(np.isfinite(found), found, np.nan)


def moment(seconds: float, dated: bool) -> str:
    """A time as text: a date, if it is ``dated``, since 1970."""
    if dated:
        try:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S").removesuffix(" 00:00:00")
        except (ValueError, OverflowError, OSError):  # beyond the range of dates
            pass
    return f"{seconds:g}"

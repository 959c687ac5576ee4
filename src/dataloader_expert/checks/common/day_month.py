"""Dates with day and month swapped."""

from __future__ import annotations

from typing import Any

DAY, FAR = 86_400.0, 1e11
"""Seconds of a day, and those since 1970 beyond which there are no dates."""


def with_days_swapped(moments: Any) -> Any:
    """Seconds since 1970 with day and month swapped, float64 [n]; NaN where that is no date, or the same one."""
    import numpy as np

    known = np.abs(moments) < FAR  # NaN is not
    days = np.floor(np.where(known, moments, 0.0) / DAY).astype(np.int64)
    months = days.astype("M8[D]").astype("M8[M]")
    day = days - months.astype("M8[D]").astype(np.int64)
    month = months.astype(np.int64) % 12
    other = (months - month + day).astype("M8[D]").astype(np.int64) + month
    return np.where(known & (day < 12) & (day != month), moments + (other - days) * DAY, np.nan)

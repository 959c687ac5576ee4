"""Maps values to positions on the sheet: round ticks, and numbers as an axis shows them."""

from __future__ import annotations

import math
from dataclasses import dataclass

TINY, LARGE = 1e-300, 1e300
"""Spans below the first have no parts; numbers beyond the second may differ by more than a float holds."""
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Scale:
    """Maps ``low … high`` linearly to ``start … end`` of the sheet."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        by = 2.0 if max(abs(self.low), abs(self.high)) > LARGE else 1.0  # the full range may exceed a float
        span = self.high / by - self.low / by
        return self.start + (self.end - self.start) * ((value / by - self.low / by) / span if span else 0.5)


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round values (1, 2 or 5 times a power of ten apart) that cover ``low … high``; the first and last lie outside."""
    if not math.isfinite(high - low) or high - low <= max(1e-9 * max(abs(low), abs(high)), TINY):
        near = low if math.isfinite(low) and abs(low) < 1e15 else 0.0
        low, high = near, near + max(1.0, abs(near))
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9)), 10 * power)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12 - math.floor(math.log10(step))) for i in range(first, last + 1)]


def said(value: float | None) -> str:
    """A number as an axis or a bar shows it: three digits, and a unit prefix from ten thousand up."""
    if value is None:
        return "—"
    size = abs(value)
    if size >= 1e15:
        return f"{value:.3g}"
    if size >= 1e4:
        for unit, prefix in UNITS:
            if size >= unit:
                return f"{value / unit:.3g}{prefix}"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.3g}"


def said_bytes(value: float | None) -> str:
    """Bytes in the nearest unit of 1000."""
    if value is None:
        return "—"
    size, unit = float(value), "B"
    for name in ("kB", "MB", "GB", "TB"):
        if abs(size) < 1000:
            break
        size, unit = size / 1000, name
    return f"{size:.3g} {unit}"


def said_percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.3g} %"

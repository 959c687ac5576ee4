"""Hours of the day that a few groups record otherwise: where nothing is said, and where something is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.checks.looking import Data

N, GROUPS = 6000, 4
WHO = np.arange(N) % GROUPS
DAY = np.exp(1.2 * np.cos((np.arange(24) - 18) * np.pi / 12)) + 0.3
DAY[7:9] += 1.5


def events(
    change: Callable[[Any], Any] = lambda h: h,
    odd: tuple[int, ...] = (2,),
    named: str = "vendor",
    shape: Any = DAY,
    n: int = N,
) -> Data:
    """Trips of several vendors over some months, by hours of the day that are changed for some of them."""
    draw = np.random.default_rng(3)
    hour = draw.choice(24, n, p=shape / shape.sum())
    who = np.arange(n) % GROUPS
    hour = np.where(np.isin(who, odd), change(hour), hour)
    at = 1_699_920_000.0 + 86_400.0 * draw.integers(0, 90, n) + 3600.0 * hour + draw.integers(0, 3600, n)
    return Data(
        {"at": at, named: [f"v{k}" for k in who], "fare": draw.gamma(3, 4, n)}, kinds={"at": "time", named: "category"}
    )


def metered(
    change: Callable[[Any, Any], Any], odd: tuple[int, ...] = (2,), temperature: int = 0, shared: bool = False
) -> Data:
    """What six meters count an hour, with the temperature that they measure; some of it is changed."""
    hours, meters = 720, 6
    hour, who = np.tile(np.arange(hours), meters), np.repeat(np.arange(meters), hours)
    draw = np.random.default_rng(4)
    of_day = (hour - np.where(np.isin(who, odd), temperature, 0)) % 24
    warm = 10 + 4 * np.sin((of_day - 9) * np.pi / 12) + draw.normal(0, 1, len(hour))
    if shared:
        warm = np.tile(warm[:hours], meters).round(1)
    kwh = DAY[hour % 24] * draw.lognormal(0, 0.3, len(hour))
    kwh = np.where(np.isin(who, odd), change(hour, kwh), kwh)
    at = 1_699_920_000.0 + 3600.0 * hour
    columns = {"at": at, "meter": [f"m{k}" for k in who], "kwh": kwh, "temp": warm}
    return Data(columns, kinds={"at": "time", "meter": "category"})


def moved(hours: int) -> Callable[[Any, Any], Any]:
    """Numbers of other hours of the day."""
    return lambda hour, x: DAY[(hour - hours) % 24] / DAY[hour % 24] * x


OPEN = np.where((np.arange(24) >= 9) & (np.arange(24) < 18), 1.0, 0.0)
SILENT = {
    "one clock": events(),
    "hours as frequent at any time": events(lambda h: (h + 8) % 24, shape=np.ones(24)),
    "shops that open later": events(lambda h: h + 3, shape=OPEN, named="shop"),
    "another time in half of them": events(lambda h: (h + 8) % 24, odd=(0, 2)),
    "drivers of the night": events(lambda h: (h + 8) % 24, named="driver"),
    "cities in other parts of the world": events(lambda h: (h + 8) % 24, named="city"),
    "a night bus": events(lambda h: np.where(h > 5, (h * 7) % 9, h)),
    "only mornings, as no one else": events(lambda h: np.minimum(h, 11) // 2),
    "few samples": events(lambda h: (h + 8) % 24, n=400),
    "meters of one day": metered(lambda hour, x: x),
    "a heater of the night, at temperatures as elsewhere": metered(moved(9)),
    "meters of one day, beside the weather of the place": metered(lambda hour, x: x, shared=True),
    "a peak at noon of one meter": metered(lambda hour, x: np.where(hour % 24 == 12, 6 * x, x)),
    "totals at midnight of half of the meters": metered(
        lambda hour, x: np.where(hour % 24 == 0, 24 * 1.6 * x / x.mean(), x), (0, 2, 4)
    ),
}
SPEAKS = {
    "another time zone of one vendor": events(lambda h: (h + 8) % 24),
    "an earlier one": events(lambda h: (h - 5) % 24),
    "no afternoon at one vendor": events(lambda h: h % 12),
    "meters in another time zone": metered(moved(8), temperature=8),
    "two meters in another time zone": metered(moved(8), (1, 4), temperature=8),
    "meters in another time zone, beside the weather of the place": metered(moved(7), (1, 4), shared=True),
    "the total of the day at midnight": metered(lambda hour, x: np.where(hour % 24 == 0, 23 * 1.6, x)),
}

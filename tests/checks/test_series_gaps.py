"""Gaps in one series, counted in steps, however far apart its times are."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged


def gaps(times: list[float]) -> dict[str, str]:
    told = judged("series", Data({"time": np.array(times), "x": np.arange(float(len(times)))}, kinds={"time": "time"}))
    return {code: f.message for code, f in told.items()}


def test_one_wrong_time_does_not_fill_the_memory() -> None:
    """Our promise: seconds up to one time in milliseconds would be 10^12 steps."""
    times = [1.6e9 + i for i in range(300)]
    assert "time-gap" in gaps([*times[:-1], times[-1] * 1000])
    assert "time-gap" not in gaps(times)


def test_steps_are_counted_from_the_beginning() -> None:
    """Our promise: 150 quarters of a second are lacking."""
    times = [1.6e9 + i / 4 for i in range(600) if not 300 <= i < 450]
    assert "150" in gaps(times)["time-gap"]

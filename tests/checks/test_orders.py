"""Two numbers that are exchanged in a few rows, and what only looks like it."""

from __future__ import annotations

import random

import numpy as np

from tests.checks.looking import Data, judged


def test_a_number_that_stands_for_a_missing_one_is_not_exchanged() -> None:
    """Our promise: 9999 years of employment beside an income of 9,730 is a missing value."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    income, years = rng.lognormal(10.6, 0.5, 4000).round(), rng.integers(0, 40, 4000).astype(float)
    years[rng.choice(4000, 60, replace=False)] = 9999
    low = np.flatnonzero(years == 9999)[:3]
    income[low] = [7430, 9730, 8120]
    data = {"income": income, "employment_years": years}
    assert "order-reversed" not in judged("relations", Data(data))
    years[years == 9999] = 7
    swapped = rng.choice(4000, 12, replace=False)
    income[swapped], years[swapped] = years[swapped], income[swapped]
    assert judged("relations", Data(data))["order-reversed"].count == 12

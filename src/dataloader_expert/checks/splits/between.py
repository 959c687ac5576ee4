"""Facts of one split against those of another: which are compared, and by how much counts differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

from dataloader_expert.facts import Fact

APART = 0.1
"""The least total variation distance that is reported."""
SURE = 5.0
"""Standard errors by which splits must differ: many fields are compared, and samples of a split may be correlated."""
LEAST = 20
"""The fewest values of each split."""


def pairs_of(found: Iterable[Fact]) -> list[tuple[Fact, Fact]]:
    """Training against each other split; all pairs if none is called train."""
    facts = list(found)
    train = [f for f in facts if f.at["split"] == "train"]
    if train:
        return [(train[0], f) for f in facts if f is not train[0]]
    return list(itertools.combinations(facts, 2))


def compared(
    one: Mapping[str, int], two: Mapping[str, int], sure: float = SURE, effects: Mapping[str, float] | None = None
) -> tuple[float, bool]:
    """Total variation distance of two sets of counts, and whether a chi-squared test tells them apart.

    The statistic's normal approximation: Wilson and Hilferty, "The distribution of chi-square", 1931. Samples that come in groups,
    with these design ``effects`` by value: Rao and Scott, "The analysis of categorical data from complex sample surveys", 1981,
    their first-order correction.
    """
    n, m = sum(one.values()), sum(two.values())
    if not n or not m:
        return 0.0, False
    keys = sorted({*one, *two})
    distance = 0.5 * sum(abs(one.get(k, 0) / n - two.get(k, 0) / m) for k in keys)
    statistic = 0.0
    for k in keys:
        total = one.get(k, 0) + two.get(k, 0)
        for seen, size in ((one.get(k, 0), n), (two.get(k, 0), m)):
            expected = total * size / (n + m)
            statistic += (seen - expected) ** 2 / expected
    free = max(1, len(keys) - 1)
    if effects is not None:
        shares = {k: (one.get(k, 0) + two.get(k, 0)) / (n + m) for k in keys}
        statistic /= max(1.0, sum((1 - shares[k]) * effects[k] for k in keys) / free)
    z = ((statistic / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))
    return distance, z > sure


def running(split: dict[str, Any]) -> bool:
    """Whether the values have the range and the deviation of whole numbers that each occur once."""
    n = split["n"]
    uniform = math.sqrt((n * n - 1) / 12)
    return bool(split["max"] - split["min"] == n - 1 and abs(split["std"] - uniform) <= 1e-6 * uniform)

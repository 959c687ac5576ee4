"""Splits in which red and blue are swapped, by the means of their channels."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dataloader_expert.checks.base import SPLIT_STATISTICS
from dataloader_expert.checks.common.between import SURE, pairs_of
from dataloader_expert.facts import Fact, Facts, Quantity

CONTRAST = Quantity("red_over_blue", "", "images of one split, and by how much red exceeds blue in them: mean and std")
SWAPPED = Quantity(
    "red_and_blue_swapped",
    "images",
    "images of cohorts whose colours match the others only with red and blue swapped",
)
LEVELS = 4.0
"""Grey levels by which the means of channels must differ to determine their order."""


def swapped_by_means(name: str, facts: Facts) -> Iterator[tuple[Fact, Fact, list[list[float]]]]:
    """Pairs of splits, one of which has a field's channels in reverse order, by facts of their red, and the means of the channels of both."""
    by_split: dict[str, dict[str, Fact]] = {}
    for fact in facts.all(SPLIT_STATISTICS, field=name):
        by_split.setdefault(str(fact.at["split"]), {})[str(fact.at.get("channel"))] = fact
    reds = [f["red"] for f in by_split.values() if {"red", "green", "blue"} <= f.keys()]
    for one, two in pairs_of(reds):
        a, b = by_split[str(one.at["split"])], by_split[str(two.at["split"])]
        means = [[float(f[c].value["mean"]) for c in ("red", "green", "blue")] for f in (a, b)]
        tints = [[x - sum(of) / 3 for x in of] for of in means]  # one split may be brighter than the other, too
        straight = max(abs(x - y) for x, y in zip(*tints, strict=True))
        reverse = max(abs(x - y) for x, y in zip(tints[0], tints[1][::-1], strict=True))
        error = math.hypot(*(_error(facts.find(CONTRAST, field=name, split=f.at["split"])) for f in (one, two)))
        differ = abs((means[0][0] - means[0][2]) - (means[1][0] - means[1][2]))
        brighter = abs(sum(means[0]) - sum(means[1])) / 3  # of another light, such as that of dusk, everything is
        if straight >= LEVELS and brighter <= straight and reverse <= straight / 3 and differ >= SURE * error:
            yield one, two, means


def _error(contrast: Fact | None) -> float:
    """The standard error of a split's mean contrast: images were sampled, not pixels."""
    return math.inf if contrast is None else float(contrast.value["std"]) / math.sqrt(contrast.value["n"])

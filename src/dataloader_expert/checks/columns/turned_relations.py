"""Groups in which two numbers correlate the opposite way from all others, as closely: one of the two counts the other way there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.common.parts import SPLIT, Grouping
from dataloader_expert.checks.common.recorded import few
from dataloader_expert.checks.common.scores import by_group, correlation, normal_scores, worth

LEAST, WEAK = 30, 0.25
"""The fewest rows of a group, and the least rank correlation that is looked at."""
ALIKE, ERRORS = 0.15, 3.0
"""How far the other groups' correlations may lie from theirs, and the odd ones' from its opposite, or so many standard errors."""
SURE = 8.0
"""Standard errors between the odd groups and the others: many pairs are tried."""
CLOSE, GROUPS = 0.97, 6
"""The correlation of two that only rise or fall, and the fewest groups of which then a few tell: trends of a single group are one event."""
TRIED = 3_000


@dataclass(frozen=True)
class TurnedRelation:
    groups: list[int]
    own: float
    others: float


def turned_relation(x: Any, y: Any, grouping: Grouping) -> TurnedRelation | None:
    """The few groups, by their codes, in which scores correlate the opposite way; None if there are none, or the others do not agree."""
    import numpy as np

    step = 1 + len(x) // TRIED
    if abs(correlation(x[::step], y[::step])) < WEAK / 5:
        return None
    both = np.isfinite(x) & np.isfinite(y)
    sizes = np.bincount(grouping.which[both], minlength=len(grouping.texts))
    large = np.flatnonzero(sizes >= LEAST)
    roughly = np.array(by_group(x, y, grouping.which))[large]
    if len(large) < 2 or roughly.min() > -WEAK / 2 or roughly.max() < WEAK / 2:
        return None
    rows = {k: both & (grouping.which == k) for k in large.tolist()}
    of = np.array([correlation(normal_scores(x[mask]), normal_scores(y[mask])) for mask in rows.values()])
    sign = math.copysign(1.0, float(np.median(of)))
    odd = sign * of <= -WEAK
    usual = float(np.median(of[~odd])) if (~odd).any() else 0.0
    if not odd.any() or abs(usual) < WEAK:
        return None
    if not few(int(odd.sum()), len(large)) and not (grouping.name == SPLIT and len(large) == 2):
        return None
    room = np.maximum(ALIKE, ERRORS / np.sqrt(sizes[large]))
    if (np.abs(of - np.where(odd, -usual, usual)) > room).any():
        return None
    own = float(np.average(of[odd], weights=sizes[large][odd]))
    trends = len(large) >= GROUPS and float(np.abs(of).min()) >= CLOSE
    codes = large[odd].tolist()
    if (
        not trends
        and sum(worth(x[rows[k]], y[rows[k]]) for k in codes) * (math.atanh(abs(usual) * 0.999) * 2) ** 2 < SURE**2
    ):
        return None
    return TurnedRelation(codes, own, usual)

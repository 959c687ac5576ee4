"""Groups in which a label of two values goes the other way: what content ranks high elsewhere ranks low there; or where it ranks nothing.

Method: each group's rows are scored by what all others tell, and the area under the curve (AUC) says how well the score ranks the label within
the group. Groups may have other shares of the classes, and content may tell a label badly: neither moves it to the other side of a half. Where all
other groups have about the same small share of one class, and this one that of the other class, the ranks need only agree with that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.common.class_tellers import FEW, SHRUNKEN
from dataloader_expert.checks.common.recorded import few
from dataloader_expert.checks.common.word_cells import presences_by

LEAST, EACH = 40, 10
"""The fewest rows of a group, and of each class in it."""
TELLING, TELLING_WELL = 0.6, 0.7
"""The least AUC elsewhere, for labels that are turned, and that are at random."""
SUSPECT, AGREE, MIRRORED, GONE = 0.25, 0.5, 0.5, 0.2
"""In parts of what the AUC is beyond a half elsewhere: the most of a suspect group, the least of each other group, the least by which it lies on
the other side, and the most that is left where labels are at random."""
HARDLY, BAND, RARE, OTHERS, NEAR = 0.55, 0.15, 0.3, 4, 0.03
"""Where shares are turned too: the least AUC elsewhere, how far the other groups' shares of a class may lie apart, the largest of them, the fewest
such groups, and how far outside of them the other class's share here may lie."""
SURE, APART, ERRORS = 5.0, 7.0, 2.0
"""Standard errors by which the AUC lies below a half, or below that elsewhere; and what luck may take from another group's."""
Scorer = Callable[[Any, Any], Any]
"""Scores of some rows by what others tell of the second class, both bool [n]; float [rows]."""


@dataclass(frozen=True)
class Odd:
    """A group whose labels are turned, or at random, and its AUC and that of the others."""

    group: int
    turned: bool
    here: float
    usual: float


def odd_groups(score: Scorer, label: Any, group: Any, groups: int) -> list[Odd]:
    """The few groups that are unlike all others, which agree; ``label``: 0 or 1."""
    import numpy as np

    ones, all_ = np.bincount(group, label, groups), np.bincount(group, minlength=groups)
    large = [g for g in range(groups) if min(ones[g], all_[g] - ones[g]) >= EACH and all_[g] >= LEAST]
    if len(large) < 3:
        return []
    rows = {g: group == g for g in large}
    first = {g: auc(score(rows[g], ~rows[g]), label[rows[g]]) for g in large}
    middle = float(np.median([*first.values()]))
    shares = {g: ones[g] / all_[g] for g in large}
    aside = [g for g in large if _mirrored(shares[g], [shares[k] for k in large if k != g])]
    aside = aside or [g for g in large if first[g] - 0.5 <= SUSPECT * (middle - 0.5)]
    if middle < HARDLY - 0.05 or not aside or not few(len(aside), len(large)):
        return []
    sound = ~np.isin(group, aside)
    others = {g: auc(score(rows[g], sound & ~rows[g]), label[rows[g]]) for g in large if g not in aside}
    usual = float(np.average([*others.values()], weights=[all_[g] for g in others]))
    error = {g: _error(ones[g], all_[g] - ones[g]) for g in large}
    beyond = usual - 0.5
    if usual < HARDLY or any(a + ERRORS * error[g] < 0.5 + AGREE * beyond for g, a in others.items()):
        return []
    clear = usual >= TELLING and min(others.values()) > 0.5
    found = []
    for g in aside:
        here = auc(score(rows[g], sound), label[rows[g]])
        if here <= 0.5 - MIRRORED * beyond and (
            (clear and 0.5 - here >= SURE * error[g]) or _mirrored(shares[g], [shares[k] for k in others])
        ):
            found.append(Odd(g, True, here, usual))
        elif clear and usual >= TELLING_WELL and abs(here - 0.5) <= GONE * beyond and usual - here >= APART * error[g]:
            found += [] if _tells_itself(score, label, rows[g], usual) else [Odd(g, False, here, usual)]
    return found


def _mirrored(share: float, others: list[float]) -> bool:
    """Whether the one class is as frequent in a group as the other class is in all others, where it is rare."""
    low, high = min(others), max(others)
    if low > 0.5:
        share, low, high = 1 - share, 1 - high, 1 - low
    return len(others) >= OTHERS and high <= RARE and high - low <= BAND and low - NEAR <= 1 - share <= high + NEAR


def _tells_itself(score: Scorer, label: Any, own: Any, usual: float) -> bool:
    """Whether one half of a group tells the labels of the other one: then they have other reasons there."""
    import numpy as np

    at = np.flatnonzero(own)  # in random order
    half, other = np.zeros((2, len(label)), bool)
    half[at[::2]], other[at[1::2]] = True, True
    return auc(score(half, other), label[half]) - 0.5 > AGREE * (usual - 0.5)


def _error(ones: float, zeros: float) -> float:
    """The standard error of the AUC of a score that says nothing, which is the largest (Mann and Whitney, 1947)."""
    return math.sqrt((ones + zeros + 1) / (12 * ones * zeros))


def auc(score: Any, label: Any) -> float:
    """How often a row of the second class has a higher score than one of the first; equal ones count half."""
    import numpy as np

    _, whose, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[whose]
    ones = int(label.sum())
    zeros = len(label) - ones
    return float((ranks[label == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros)) if ones and zeros else 0.5


def by_line(x: Any, label: Any) -> Scorer:
    """Scores of rows of numbers, float [n, d], NaN for what is missing: each by how far its means of the two classes are apart."""
    import numpy as np

    x = np.where(np.isfinite(x), x, np.nan).astype(np.float64)
    x = x[:, np.isfinite(x).any(0)]
    x = np.clip(x, *np.nanpercentile(x, (FEW, 100 - FEW), axis=0))
    x = np.nan_to_num(x - np.nanmean(x, 0))
    x = x[:, x.std(0) > 0]

    def scored(rows: Any, others: Any) -> Any:
        one, zero = (x[others & (label == c)] for c in (1, 0))
        if min(len(one), len(zero)) < 2:
            return np.zeros(int(rows.sum()))
        spread = np.sqrt((one.var(0) * len(one) + zero.var(0) * len(zero)) / (len(one) + len(zero)))
        apart = (one.mean(0) - zero.mean(0)) / np.maximum(spread, 1e-12)
        limit = SHRUNKEN * math.sqrt(1 / len(one) + 1 / len(zero))
        weight = np.sign(apart) * np.maximum(np.abs(apart) - limit, 0) / np.maximum(spread, 1e-12)
        return x[rows] @ np.where(spread > 0, weight, 0.0)

    return scored


def by_cells(cells: Any, label: Any) -> Scorer:
    """The same of texts, by the cells of their words."""
    import numpy as np

    def scored(rows: Any, others: Any) -> Any:
        made = presences_by(cells, label, 2, rows, others)
        return np.nan_to_num(made[:, 1] - made[:, 0])

    return scored

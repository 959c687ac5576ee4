"""Whether the labels of some rows fit their content as labels do elsewhere, by what a teller learns from all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.common.class_tellers import Teller
from dataloader_expert.checks.common.swapped_classes import divergence
from dataloader_expert.checks.common.vectors import distances
from dataloader_expert.checks.common.word_cells import presences_by

LEAST, EACH = 40, 5
"""The fewest rows of a part, and of each of two classes in it."""
TELLING = 0.4
"""The least agreement of what is told with the labels elsewhere, beyond chance (Cohen's kappa)."""
HARDLY, HALF = 0.25, 0.5
"""The most of this agreement that is left in a part whose labels do not fit, and what luck must not explain."""
SELF = 0.3
"""The least agreement of as many rows elsewhere that tell each other: fewer rows tell too little."""
SURE = 0.98
"""The most agreement that is taken to be usual: any labels may be wrong now and then."""
CHANCE, LUCK = 1e-6, 1e-3
"""How unlikely so few fitting labels must be where as many as usual fit, for all parts tried; and where half as many do."""
FITS, NEIGHBOUR = 0.6, (1, -1)
"""The least part of the usual agreement with labels of rows beside, and which rows these are."""
WEAK, MIRRORED = 0.25, 0.7
"""The least agreement elsewhere of labels that are inverted, and the part of it to which they are."""
NEAR, FAR = 1_000, 0.9
"""The most rows that are compared, and the quantile of distances elsewhere that is far."""
NARROW = 0.5
"""The least part of the usual spread, of that between classes that are told, and of how clearly words tell them: blurred or silent content has
less, and tells less."""
WORDS = 0.8
"""The least share of words that others have too, in parts of the usual one."""
CLEAR, FOUND, FEWEST = 0.8, 0.5, 10
"""Of a class that has another label: the least share of rows told it that have one label, elsewhere its own, the least share of its rows that
are told elsewhere, and the fewest rows."""


@dataclass(frozen=True)
class Unfit:
    """Agreements beyond chance: of labels with what others tell, elsewhere and here."""

    usual: float
    here: float
    by: int = 0
    """The row after, or before, whose label fits the content; 0 if none."""
    inverted: bool = False
    """Whether labels, of two, are the other one of what is told."""


@dataclass(frozen=True)
class Renamed:
    """A class whose content has another label in a part, where its own label is given to other content."""

    of: int
    to: int
    rows: Any
    """The rows that have it, bool [n]."""
    seen: int
    usual: float
    """The share of rows elsewhere with this content that have its label."""


def kappa(told: Any, label: Any) -> float:
    """Agreement beyond what the shares of both make by chance."""
    chance = by_chance(told, label)
    return (float((told == label).mean()) - chance) / (1 - chance) if chance < 1 else 0.0


def by_chance(told: Any, label: Any) -> float:
    import numpy as np

    classes = int(max(told.max(initial=0), label.max(initial=0))) + 1
    shares = (np.bincount(of, minlength=classes) / max(1, len(of)) for of in (told, label))
    return float(np.dot(*shares))


def varied(label: Any, own: Any) -> bool:
    """Whether these rows are enough, and of several classes that others have too."""
    import numpy as np

    classes = int(label.max(initial=0)) + 1
    here, there = (np.bincount(label[rows], minlength=classes) for rows in (own, ~own))
    return int(own.sum()) >= LEAST and int(((here >= EACH) & (there >= EACH)).sum()) >= 2 and int((~own).sum()) >= LEAST


def unfit(teller: Teller, label: Any, own: Any, beside: Any, tries: float) -> Unfit | None:
    """How badly the labels of ``own`` rows fit, bool [n]; None if they fit, chance may make it, or their content tells no class anywhere.

    The rest tells nothing of them, and neither do they of each other, as so many rows elsewhere do: else they only look otherwise, or
    their classes have other names. ``beside``: the label of the row before and after each row, -1 for none, int64 [2, n].
    """

    rest = ~own
    usual = kappa(teller(rest, rest), label[rest])
    if usual < TELLING:
        return None
    told, mine = teller(own, rest), label[own]
    here, chance = kappa(told, mine), by_chance(told, mine)
    wrong = float((told != mine).mean())
    unlikely = all(
        len(mine) * divergence(wrong, (1 - part * min(usual, SURE)) * (1 - chance)) >= nats
        for part, nats in ((1, math.log(tries / CHANCE)), (HALF, -math.log(LUCK)))
    )
    if here > HARDLY * usual or not unlikely or not _alone(teller, label, own, rest):
        return None
    for k, by in enumerate(NEIGHBOUR):
        there = beside[k][own] >= 0
        if there.sum() >= LEAST and kappa(told[there], beside[k][own][there]) >= FITS * usual:
            return Unfit(usual, here, by)
    return Unfit(usual, here)


def inverted(teller: Teller, label: Any, own: Any, tries: float) -> Unfit | None:
    """How labels of two classes in these rows are the opposite of what others tell, though it may not be told well; None if they are not."""
    rest = ~own
    if int(label.max(initial=0)) > 1:
        return None  # their permutation tells more
    usual, told, mine = kappa(teller(rest, rest), label[rest]), teller(own, rest), label[own]
    here = kappa(told, mine)
    unlikely = len(mine) * divergence(float((told != mine).mean()), 1 - by_chance(told, mine)) >= math.log(
        tries / CHANCE
    )
    return Unfit(usual, here, inverted=True) if usual >= WEAK and here <= -MIRRORED * usual and unlikely else None


def _alone(teller: Teller, label: Any, own: Any, rest: Any) -> bool:
    """Whether the rows tell nothing of each other, where as many of the rest do."""

    n = min(int(own.sum()), int(rest.sum()))
    mine, theirs = (_first(rows, n) for rows in (own, rest))
    control = kappa(teller(theirs, theirs), label[theirs])
    return control >= SELF and kappa(teller(mine, mine), label[mine]) <= HALF * control


def _first(rows: Any, n: int) -> Any:
    """The first ``n`` of these rows, bool; rows come in random order."""
    import numpy as np

    made = np.zeros(len(rows), bool)
    made[np.flatnonzero(rows)[:n]] = True
    return made


def renamed(teller: Teller, label: Any, own: Any, tries: float) -> Renamed | None:
    """The class whose content has one other label in these rows, where others have its own; None if there is none or several: then these
    rows look otherwise, or classes are swapped, which their permutation tells."""
    import numpy as np

    rest, classes = ~own, int(label.max()) + 1
    here, there = teller(own, rest), teller(rest, rest)
    if kappa(there, label[rest]) < TELLING:
        return None
    pairs, usual = (
        np.bincount(told * classes + label[rows], minlength=classes * classes).reshape(classes, -1)
        for told, rows in ((here, own), (there, rest))
    )
    found = []
    for c in range(classes):
        n, theirs = int(pairs[c].sum()), int(usual[c].sum())
        to = int(pairs[c].argmax())
        if n < FEWEST or not theirs or to == c or pairs[c, to] < CLEAR * n or pairs[c, c] > (1 - CLEAR) / 2 * n:
            continue
        right, known = usual[c, c] / theirs, usual[c, c] / max(1, usual[:, c].sum())
        missed = pairs[:, c].sum() >= EACH and pairs[c, c] <= (1 - CLEAR) / 2 * pairs[:, c].sum()
        luck = n * divergence(float(pairs[c, to] / n), float((usual[c, to] + 1) / (theirs + 2)))
        if right >= CLEAR and known >= FOUND and missed and luck >= math.log(tries / CHANCE):
            rows = np.zeros(len(label), bool)
            rows[np.flatnonzero(own)[(here == c) & (label[own] == to)]] = True
            found.append(Renamed(c, to, rows, n, float(right)))
    return found[0] if len(found) == 1 else None


def amid(x: Any, own: Any, teller: Teller) -> bool:
    """Whether rows of numbers lie among the others and are spread as these: in the median they are no farther from the nearest one than
    others may be, and those that are told different classes lie as far apart."""
    import numpy as np

    z = np.nan_to_num(x[:, np.isfinite(x).any(0)].astype(np.float64))
    spread = z.std(0)
    z = ((z - z.mean(0)) / np.where(spread > 0, spread, 1)).astype(np.float32)
    mine, rest = z[np.flatnonzero(own)[:NEAR]], z[np.flatnonzero(~own)[:NEAR]]
    spreads = [float(rows.var(0).sum()) for rows in (mine, rest)]
    if not NARROW <= spreads[0] / max(spreads[1], 1e-12) <= 1 / NARROW:
        return False
    if np.median(_nearest(mine, rest)) > np.quantile(_nearest(rest, rest, itself=True), FAR):
        return False
    told = teller(~own, ~own)
    axes = np.stack([z[~own][told == c].mean(0) for c in np.unique(told)]) - z[~own].mean(0)
    between = [_between(z[rows] @ axes.T, teller(rows, ~own)) for rows in (own, ~own)]
    return between[0] >= NARROW * between[1]


def _between(scores: Any, told: Any) -> float:
    """How far apart rows lie that are told different classes: the variance of their means, [n, d]."""
    import numpy as np

    parts = [scores[told == c] for c in np.unique(told)]
    apart = [len(part) * float(((part.mean(0) - scores.mean(0)) ** 2).sum()) for part in parts]
    return sum(apart) / len(scores)


def _nearest(some: Any, others: Any, itself: bool = False) -> Any:
    """The squared distance of each row to the nearest of others, which are the same ``itself`` aside."""
    import numpy as np

    far = distances(some, others)
    if itself:
        np.fill_diagonal(far, np.inf)
    return far.min(1)


def known(cells: Any, own: Any, label: Any, classes: int) -> bool:
    """Whether words of texts, by their cells, occur in other texts as often as the words of these do in each other, and tell as clearly."""
    import numpy as np

    rest = np.flatnonzero(~own)
    counts = np.bincount(cells[rest][cells[rest] >= 0], minlength=int(cells.max(initial=0)) + 1)
    shares, clear = [], []
    for rows, least in ((own, 1), (~own, 2)):
        there = cells[rows] >= 0
        shares.append(float((counts[np.where(there, cells[rows], 0)] >= least)[there].mean()) if there.any() else 0.0)
        scores = np.sort(presences_by(cells, label, classes, rows, ~own), 1)
        clear.append(float(np.median(scores[:, -1] - scores[:, -2])))
    return shares[0] >= WORDS * shares[1] and clear[0] >= NARROW * clear[1]

"""Groups of rows in which classes have each other's labels: what their content tells is a permutation of what it tells elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.common.class_tellers import Teller
from dataloader_expert.facts import Quantity

SWAPPED_IN = Quantity(
    "classes_swapped_in",
    "samples",
    "samples of a group or split in which classes carry each other's labels, and which, with places",
)
LEAST, FEWEST = 20, 5
"""The fewest rows of a group that are told to be of swapped classes, and of each such class."""
TELLING, AS_OFTEN, SELDOM = 0.5, 0.8, 0.5
"""On the way from guessing to always right: the least share of rows elsewhere that have the label which is told, and of these the part that
has the swapped one here; and the most that have their own, in parts of what chance makes."""
CHANCE = 1e-9
"""How unlikely it must be that as many rows have the other label by the errors that are usual elsewhere."""
MOST = 8
"""The most groups that are told."""


@dataclass(frozen=True)
class Exchange:
    """``of``: which label the rows have that tell a class, of those classes that have another one's; ``rows`` of the group that have
    such a label, bool [n]."""

    of: dict[int, int]
    rows: Any
    seen: int
    """Rows of the group that tell such a class."""
    usual: float
    """The share of rows elsewhere that have the label which is told, of these classes."""


def swaps(teller: Teller, label: Any, group: Any, groups: int, kept: list[int]) -> dict[int, Exchange]:
    """The groups, of at most half of the rows each, whose classes are swapped against all others that are not.

    ``kept``: groups that are never, such as the split that others are compared with. A group that is swapped spoils what is learnt for the others: the clearest one is set aside until none is left.
    """
    import numpy as np

    sizes = np.bincount(group, minlength=groups)
    aside: list[int] = []
    found: dict[int, Exchange] = {}
    while len(aside) < MOST:
        others = ~np.isin(group, aside)
        best: tuple[float, int, int] | None = None
        for g in np.flatnonzero(sizes >= LEAST).tolist():
            if g in aside or g in kept or 2 * sizes[g] > others.sum():
                continue
            own = group == g
            of = permutation(teller(own, others & ~own), label[own])
            if of is not None and (best is None or (of[1], -sizes[g], g) > best):
                best = of[1], -int(sizes[g]), g
        if best is None:
            break
        aside.append(best[2])
    rest = ~np.isin(group, aside)
    for g in aside:
        swap = _judged(teller, label, group == g, rest, len(aside) * groups)
        if swap is not None:
            found[g] = swap
    return found


def permutation(told: Any, label: Any) -> tuple[dict[int, int], float] | None:
    """Which label each class told mostly has, of those that have another's and are permuted by it, and the share of rows that have it."""
    import numpy as np

    classes = int(max(told.max(initial=0), label.max(initial=0))) + 1
    pairs = np.bincount(told * classes + label, minlength=classes * classes).reshape(classes, -1)
    total = pairs.sum(1)
    of = {
        c: int(pairs[c].argmax())
        for c in range(classes)
        if total[c] >= FEWEST and 2 * pairs[c].max() > total[c] and pairs[c].argmax() != c
    }
    while set(of) != set(of.values()):
        kept = {c: k for c, k in of.items() if k in of and c in of.values()}
        if len(kept) == len(of):
            return None  # two have the same label
        of = kept
    for c, k in of.items():
        if 2 * pairs[c, k] <= pairs[:, k].sum():
            return None  # most with this label tell something else
    rows = sum(int(total[c]) for c in of)
    return (of, sum(int(pairs[c, k]) for c, k in of.items()) / rows) if rows >= LEAST else None


def _judged(teller: Teller, label: Any, own: Any, rest: Any, tries: int) -> Exchange | None:
    import numpy as np

    here, there = teller(own, rest), teller(rest, rest)
    made = permutation(here, label[own])
    if made is None:
        return None
    of = made[0]
    moved = np.arange(max(int(label.max()), int(here.max())) + 1)
    moved[list(of)] = list(of.values())
    ours, theirs = np.isin(here, list(of)), np.isin(there, list(of))
    known = label[rest][theirs]
    if not len(known):
        return None
    shares = np.bincount(known) / len(known)
    usual = float((there[theirs] == known).mean())
    chance = float(shares @ shares)
    fits = moved[here[ours]] == label[own][ours]
    stays = float((here[ours] == label[own][ours]).mean())
    mistaken = ((moved[there[theirs]] == known).sum() + 1) / (len(known) + 2)
    share = float(fits.mean())
    told_well = usual >= shares.max() + TELLING * (1 - shares.max())
    if not told_well or share < chance + AS_OFTEN * (usual - chance) or stays > SELDOM * chance:
        return None
    if len(fits) * divergence(share, float(mistaken)) < -math.log(CHANCE / tries):
        return None
    rows = np.zeros(len(label), bool)
    rows[np.flatnonzero(own)[ours][fits]] = True
    return Exchange(of, rows, int(ours.sum()), usual)


def divergence(share: float, chance: float) -> float:
    """Nats a row by which a share is less likely than chance makes it (Chernoff's bound); 0 of one that is no larger."""
    if share <= chance:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return share * math.log(share / chance) + rest

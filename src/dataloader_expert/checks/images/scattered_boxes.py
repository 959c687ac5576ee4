"""Images here and there whose boxes fit once they are mirrored or enlarged, and clearly not as they are.

A box is no outline, so that some fit better in another way by chance: as many as fit so in any other way, which tells how many that are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataloader_expert.checks.images.edge_fits import Flips, fits

MIRRORED: dict[Flips, str] = {(2,): "left to right", (1,): "top to bottom"}
ENLARGED = (1.5, 2.0, 3.0, 4.0)
LEAST, MOST, PIECE = 60, 4_000, 1_024
"""The fewest images that tell what is usual, how many are looked at, and how many at a time."""
TELLING, AS_WELL = 1.5, 0.75
"""By how much images usually fit their boxes better than in another way, at least; and the part of it by which an odd one fits worse."""
FOUND, TIMES = 5, 4
"""The fewest odd images, and how many times as many as in any other way."""


class Way(NamedTuple):
    """How boxes fit: mirrored along axes of small copies, or enlarged by a number; and the images that they fit so, bool, or their places."""

    flips: Flips
    scale: float
    rows: Any


def scattered(gray: Any, drawn: Callable[[float], Any], index: Any) -> Way | None:
    """The way in which some images fit their boxes, and only these; None if none do.

    ``gray``: small copies, float64 [n, side, side]; ``drawn``: gives the boxes as areas once they are enlarged so, 0 where one is beyond its
    image.
    """
    import numpy as np

    own = drawn(1.0)
    there = np.flatnonzero(own.reshape(len(own), -1).max(1, initial=0) > 0)
    if len(there) < LEAST:
        return None
    gray, index, own = gray[there], index[there], own[there]
    ways = [(flips, 0) for flips in (*MIRRORED, (1, 2))] + [((), 1), ((), -1)]
    made = _fits(gray, own, index, ways)
    plain, gains = made[:, 0], [*(made[:, 1:] - made[:, :1]).T]
    for scale in ENLARGED:
        areas = drawn(scale)[there]
        fit = _fits(gray, areas, index, [((), 1)])
        inside = areas.reshape(len(areas), -1).max(1, initial=0) > 0
        gains += [np.where(inside, fit[:, k] - plain, np.nan) for k in (0, 1)]
    usual = -np.nanmedian(gains[0])
    if usual < TELLING:
        return None
    every = np.nan_to_num(np.stack(gains), nan=-np.inf)
    odd = (every >= AS_WELL * usual) & (
        every == every.max(0)
    )  # what fits as it should not fits somewhat in other ways, too
    tried = [Way(flips, 1.0, odd[k]) for k, flips in enumerate(MIRRORED)]
    tried += [Way((), scale, odd[len(ways) + 2 * k]) for k, scale in enumerate(ENLARGED)]
    best = max(tried, key=lambda way: int(way.rows.sum()))
    others = np.sort(odd.sum(1))[:-1]
    if best.rows.sum() < max(FOUND, TIMES * others[-1]):
        return None
    return best._replace(rows=there[best.rows])


def _fits(gray: Any, areas: Any, index: Any, ways: Any) -> Any:
    import numpy as np

    pieces = [slice(i, i + PIECE) for i in range(0, len(gray), PIECE)]
    return np.concatenate([fits(gray[p], areas[p], index[p], ways)[0] for p in pieces])

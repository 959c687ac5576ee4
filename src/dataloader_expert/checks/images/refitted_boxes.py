"""One split whose boxes fit the edges of its images better once all are moved, widened or narrowed in one way, where those of the other splits fit
best as they are: a conversion of that split lost half a box or added a margin.

Each way is compared on the same images, so that a split of harder images says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataloader_expert.checks.images.edge_fits import fits

LEAST, MOST = 20, 300
"""The fewest images of a split with boxes, and how many of each are looked at."""
SURE, AS_IS, PART = 6.0, -2.0, 0.25
"""By how many standard errors boxes of the split must fit better in another way; and those of the others worse; and the least gain, in parts of how
well boxes of the others fit."""
STEPS = (1 / 32, 2 / 32, 3 / 32)
Sides = Callable[[Any], Any]


class Change(NamedTuple):
    """``words`` say what to do with boxes, ``sides`` does it, by left, top, right and bottom as shares of the image, [n, 4]."""

    words: str
    sides: Sides


def _by(*steps: float) -> Sides:
    return lambda sides: sides + steps


def _by_size(part: float) -> Sides:
    return lambda sides: sides + part * (sides[:, [2, 3, 2, 3]] - sides[:, [0, 1, 0, 1]])


def _changes() -> list[Change]:
    made = [Change("moved by half their size to the left and up", _by_size(-0.5))]
    made += [Change("moved by half their size to the right and down", _by_size(0.5))]
    for s in STEPS:
        made += [Change(f"moved by about {s:.0%} of the width to the left", _by(-s, 0, -s, 0))]
        made += [Change(f"moved by about {s:.0%} of the width to the right", _by(s, 0, s, 0))]
        made += [Change(f"moved up by about {s:.0%} of the height", _by(0, -s, 0, -s))]
        made += [Change(f"moved down by about {s:.0%} of the height", _by(0, s, 0, s))]
        made += [Change(f"made smaller by about {s:.0%} at the right and the bottom", _by(0, 0, -s, -s))]
        made += [Change(f"made smaller by about {s:.0%} on every side", _by(s, s, -s, -s))]
        made += [Change(f"made larger by about {s:.0%} on every side", _by(-s, -s, s, s))]
    return made


CHANGES = _changes()


def refitted(gray: Any, drawn: Callable[[Any, Sides], Any], index: Any, split: Any) -> tuple[int, int] | None:
    """The split and the change with which its boxes fit much better; None if there is none.

    Args:
        gray: small copies, float64 [n, side, side].
        drawn: gives the boxes of these samples as areas, once changed so.
        index: of the samples.
        split: the number of each sample's split, int64 [n].
    """
    import numpy as np

    own = drawn(index, lambda sides: sides)
    there = np.flatnonzero(own.reshape(len(own), -1).max(1, initial=0) > 0)
    kept = np.sort(np.concatenate([there[split[there] == k][:MOST] for k in np.unique(split[there])] or [there]))
    sizes = np.bincount(split[kept])
    if (sizes >= LEAST).sum() < 2:
        return None

    def fit(areas: Any) -> Any:
        return fits(gray[kept], areas, index[kept], [((), 1)])[0, :, 0]

    plain = fit(own[kept])
    best: tuple[float, tuple[int, int]] | None = None
    for c, change in enumerate(CHANGES):
        gain = fit(drawn(index[kept], change.sides)) - plain
        for k in np.flatnonzero(sizes >= LEAST).tolist():
            mine, others = gain[split[kept] == k], gain[split[kept] != k]
            better, worse = (float(g.mean() / max(1e-9, g.std()) * len(g) ** 0.5) for g in (mine, others))
            usual = float(np.median(plain[split[kept] != k]))
            enough = len(others) >= LEAST and better >= SURE and worse <= AS_IS and mine.mean() >= PART * usual
            if enough and (best is None or better > best[0]):
                best = better, (k, c)
    return None if best is None else best[1]

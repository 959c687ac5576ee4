"""Classes that one split numbers otherwise than another, told by how their samples look."""

from __future__ import annotations

from typing import Any

from dataloader_expert.facts import Quantity

RENUMBERED = Quantity(
    "classes_renumbered", "classes", "classes whose boxes in one split look like those of another class in training"
)
APART, NEAR = 2.0, 0.75
"""The standard deviations between the looks of two classes, and of one."""


def renumbered(train: dict[int, Any], other: dict[int, Any], spread: float) -> dict[int, int]:
    """The classes of another split that look like another class of training, and like which: a permutation, else none.

    ``train``, ``other``: of each class the number of its samples, and the sums of two measures and of their squares, [1 + 2 + 2].
    ``spread``: the least standard deviation of a measure that is assumed.
    """
    import numpy as np

    if len(train) < 2:
        return {}
    known = {
        c: (s[1:3] / s[0], np.sqrt(np.maximum(spread**2, s[3:] / s[0] - (s[1:3] / s[0]) ** 2)))
        for c, s in train.items()
    }
    moved: dict[int, int] = {}
    for c, sums in other.items():
        middle = sums[1:3] / sums[0]
        far = {k: float(np.sqrt((((middle - m) / s) ** 2).mean())) for k, (m, s) in known.items()}
        best = min(far, key=lambda k: far[k])
        if best != c and far.get(c, 0.0) >= APART and far[best] <= NEAR:
            moved[c] = best
    return moved if len(moved) > 1 and {*moved} == {*moved.values()} else {}

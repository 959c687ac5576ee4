"""Recordings whose labels lag behind their samples by several rows, or run ahead of them, while those of other recordings fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dataloader_expert.facts import Quantity

LAGGING = Quantity(
    "labels_lagging", "samples", "recordings with labels that fit the samples several rows before or after"
)
SHORTEST, FARTHEST, PARTS = 20, 200, 2
"""The fewest rows of a recording, the most rows by which its labels are shifted, and how many times as many it must have."""
OTHERS, MOSTLY = 2, 0.5
"""The fewest recordings whose labels fit their own samples, and their least share of all."""
FITS, WRONG, FEWER, LEAST = 0.9, 0.1, 5.0, 8
"""Of a shifted recording: the least share of labels that fit once they are moved, in parts of the others' own; the least share, and number,
that do not as they are; and how many times fewer do not once they are moved."""
CHANGES = 5
"""The fewest changes of the label, in recordings that are shifted by as many rows: each must fit anew."""


def lags(told: Any, label: Any, whose: Any, index: Any) -> list[tuple[Any, int, Any]]:
    """Recordings, runs of rows of one value of ``whose``, that are shifted: their value, by how many rows their labels come after the samples
    that they fit (negative: before), and their rows.

    Args:
        told: the class that each row's sample tells, int64 [n]; by ``label``, its class.
        index: which sample each row is: recordings end where some are missing.
    """
    import numpy as np

    ends = np.flatnonzero((whose[1:] != whose[:-1]) | (np.diff(index) != 1)) + 1
    runs = [run for run in np.split(np.arange(len(told)), ends) if len(run) >= SHORTEST]
    own = [float((told[run] == label[run]).mean()) for run in runs]
    if len(runs) <= OTHERS:
        return []
    usual = float(np.median(own))
    found: list[tuple[Any, int, Any]] = []
    changes: Counter[int] = Counter()
    for run, fits in zip(runs, own, strict=True):
        if 1 - fits < WRONG + 2 * (1 - usual):
            continue
        lag = _lag(told[run], label[run], usual)
        if lag is not None:
            found.append((whose[run[0]], lag, run))
            changes[lag] += int((np.diff(label[run]) != 0).sum())
    if len(runs) - len(found) < max(OTHERS, MOSTLY * len(runs)):
        return []
    return [one for one in found if changes[one[1]] >= CHANGES]


def _lag(told: Any, label: Any, usual: float) -> int | None:
    """By how many rows a recording's labels come after the samples that they fit."""
    import numpy as np

    n = len(told)
    best: tuple[float, int] | None = None
    for by in range(2, min(FARTHEST, n // PARTS) + 1):
        for lag in (by, -by):
            a, b = (told[: n - by], label[by:]) if lag > 0 else (told[by:], label[: n - by])
            fits = float((a == b).mean())
            if best is None or fits > best[0]:
                best = fits, lag
    if best is None or best[0] < FITS * usual:
        return None
    fits, lag = best
    by = abs(lag)
    moved = (told[: n - by], label[by:]) if lag > 0 else (told[by:], label[: n - by])
    there = label[by:] if lag > 0 else label[: n - by]
    as_is = told[by:] if lag > 0 else told[: n - by]
    wrong, left = int((as_is != there).sum()), int((moved[0] != moved[1]).sum())
    if wrong < LEAST or wrong < FEWER * left or len(np.unique(there)) < 2:
        return None
    return lag

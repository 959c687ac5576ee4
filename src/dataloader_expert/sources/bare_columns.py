"""Which columns a file lacks that has fewer than the training files, where no header names them: the values tell, never the place.

A test split without its labels has a column fewer. Where the label comes first, as in Criteo's and HIGGS's tables, joining the others by
their place would shift every feature by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dataloader_expert.sources.base import runs

Values = Sequence[Any]
ROWS = 500
"""The most values of a column that are compared."""
FEW = 0.1
"""The most distinct values of labels, as a share of the rows, where they are more than a few."""


def gap(whole: Sequence[Values], part: Sequence[Values]) -> int | None:
    """Where in the columns of ``whole`` those begin, next to each other, that ``part`` lacks; None if the values do not tell.

    A column at an end is more likely than one between others. If both ends fit equally well, it is the one with few values.
    """
    n, k = len(part), len(whole) - len(part)
    if k < 1 or n < 1:
        return None
    a, b = [_some(values) for values in whole], [_some(values) for values in part]
    before = [apart(a[i], b[i]) for i in range(n)]
    behind = [apart(a[i + k], b[i]) for i in range(n)]
    costs = [sum(before[:at]) + sum(behind[at:]) for at in range(n + 1)]
    rows = min(len(values) for values in (*a, *b))
    noise = (n * 2 / max(1, rows)) ** 0.5  # what samples of one distribution differ by
    near = [at for at, cost in enumerate(costs) if cost <= min(costs) + noise]
    ends = [at for at in (0, n) if at in near]
    if len(ends) == 2:
        ends = [at for at in ends if all(_are_few(values) for values in a[at : at + k])]
    return ends[0] if len(ends) == 1 else near[0] if len(near) == 1 else None


def apart(a: Values, b: Values) -> float:
    """How unlike two columns are, from 0 to 1: numbers by their distributions, texts by their lengths and how many are in both."""
    import numpy as np

    kinds = [{isinstance(value, str) for value in of if value is not None} for of in (a, b)]
    if not kinds[0] or not kinds[1]:
        return abs(_missing(a) - _missing(b))
    if kinds[0] != kinds[1]:
        return 1.0
    if kinds[0] == {False}:
        x, y = (np.sort([float(v) for v in of if v is not None]) for of in (a, b))
        at = np.concatenate([x, y])
        steps = (np.searchsorted(of, at, "right") / len(of) for of in (x, y))
        unlike = float(np.abs(np.subtract(*steps)).max())
    else:
        told = [[str(value) for value in of if value is not None] for of in (a, b)]
        lengths = [Counter(map(len, of)) for of in told]
        by_length = sum(
            abs(lengths[0][n] / len(told[0]) - lengths[1][n] / len(told[1])) for n in {*lengths[0], *lengths[1]}
        )
        known = {*told[0]}
        unlike = by_length / 4 + sum(value not in known for value in told[1]) / len(told[1]) / 2
    return max(unlike, abs(_missing(a) - _missing(b)))


def _some(values: Values) -> Values:
    return [values[i] for i in runs(len(values), ROWS).tolist()]


def _missing(values: Values) -> float:
    return sum(value is None for value in values) / max(1, len(values))


def _are_few(values: Values) -> bool:
    return 1 < len({value for value in values if value is not None}) <= max(2, FEW * len(values))

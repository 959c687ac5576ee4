"""The bulk of a field's values, without what lies far from it: several marks of missing values, zeros, the values of another field."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.common.quantiles import quantile

SURE = 0.1
"""The share of values at either end that may be foreign; those between are not."""


def core(levels: Any, weights: Any) -> tuple[float, float]:
    """The least and the largest value of the bulk of sorted ``levels`` that occur ``weights`` times: the middle of all, and what
    joins it at either end without a gap as wide as all between. However many foreign clusters there are, none widens it."""
    import numpy as np

    low, high = quantile(levels, weights, [SURE, 1 - SURE]).tolist()
    first = int(np.searchsorted(levels, low))
    last = int(np.searchsorted(levels, high, side="right")) - 1
    wide = np.flatnonzero(np.diff(levels[: first + 1]) >= levels[last] - levels[1 : first + 1])
    first = int(wide[-1]) + 1 if len(wide) else 0
    wide = np.flatnonzero(np.diff(levels[last:]) >= levels[last:-1] - levels[first])
    last = last + int(wide[0]) if len(wide) else len(levels) - 1
    return float(levels[first]), float(levels[last])


def core_of(values: Any) -> tuple[float, float]:
    """That of finite numbers, of which there is at least one."""
    import numpy as np

    return core(*np.unique(values, return_counts=True))

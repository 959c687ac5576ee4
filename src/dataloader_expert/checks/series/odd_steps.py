"""The few steps of regular series that are unlike all others: a row that is lacking, or a clock that was set."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataloader_expert.checks.common.grids import Grid

SELDOM, MOST = 0.002, 5
"""The largest share of steps that are unlike the others, and their number, in series that are otherwise strictly regular."""
SAME = 1e-6


class OddSteps(NamedTuple):
    """``at``: the rows, in the order of a grid, after which the step is another one; ``moved``: those after which all later times of the series lie
    later, or earlier, than they should by the times of the others."""

    at: Any
    moved: Any


def odd_steps(grid: Grid) -> OddSteps | None:
    """Those of a grid in which nearly every step has the usual length; None if many have not. A step that most series make at once is
    none: all were switched off, or the clock was set for all."""
    import numpy as np

    s, t = grid.series, grid.times
    within = np.flatnonzero(s[1:] == s[:-1])
    steps = (t[1:] - t[:-1])[within]
    odd = within[(steps > 0) & (np.abs(steps - grid.step) > SAME * grid.step)]
    least = 0 if grid.names else 1  # of a single series any step is told
    if len(within) == 0 or len(odd) > max(least, SELDOM * len(within)):
        return None
    first = np.flatnonzero(np.concatenate([[True], s[1:] != s[:-1]]))
    last = np.append(first[1:], len(s)) - 1
    began, ended = t[first], t[last]
    kept = [
        i
        for i in odd.tolist()
        if 2 * int(((t[odd] == t[i]) & (t[odd + 1] == t[i + 1])).sum()) <= _running(began, ended, t[i])
    ]
    if not 0 < len(kept) <= MOST:
        return None
    rows = last - first + 1
    usual_end, usual_rows = (_commonest(x) for x in (ended, rows))
    moved = []
    for i in kept:
        of = int(np.searchsorted(first, i, side="right")) - 1
        late = (t[i + 1] - t[i]) - grid.step
        alone = sum(first[of] <= k <= last[of] for k in kept) == 1
        moved.append(
            alone
            and len(first) > 2
            and rows[of] == usual_rows
            and abs(ended[of] - usual_end - late) <= SAME * grid.step
        )
    return OddSteps(np.array(kept), np.array(moved))


def _running(began: Any, ended: Any, moment: float) -> int:
    """How many series have begun and not ended; one alone counts twice."""
    return max(2, int(((began <= moment) & (ended > moment)).sum()))


def _commonest(values: Any) -> Any:
    import numpy as np

    known, counts = np.unique(values, return_counts=True)
    return known[counts.argmax()]

"""Rows of regular series that are not in the order of time: some series or splits that were shuffled, a part that stands in another place,
or all of a single series."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataloader_expert.checks.common.grids import Grid, moment
from dataloader_expert.checks.common.recorded import few
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Quantity

UNORDERED = Quantity("rows_out_of_order", "samples", "rows of regular series that are not in time order, and how")
LEAST, SHUFFLED = 20, 0.2
"""The fewest steps of a series in one split and file, and the share of them that run back from which on it is in no order."""
CLEAN = 5
"""The fewest series in order of which another one is told that is not, where steps differ."""
MOST, NEXT = 5, 1.5
"""The most different places at which time runs back where a part stands elsewhere, and by how many steps its rows follow others in time."""
SHUFFLED_SOME, MISPLACED, SHUFFLED_ALL = "some", "a part", "all"


class RowOrder(NamedTuple):
    """``kind`` of disorder; ``rows``, in the order of the data, bool [n]: all of shuffled series, else those at which time runs back."""

    kind: str
    rows: Any
    odd: int
    of: int
    """Series that are out of order, and all."""
    since: float = 0.0
    until: float = 0.0
    """The times before and after the first place at which a part stands elsewhere."""


class _Runs(NamedTuple):
    """Rows by series, split and file, in the order of the data: ``at``, which run and series each is in, and how time goes on from the one before."""

    at: Any
    new: Any
    run: Any
    of: Any
    moved: Any
    odd: Any
    """Of each run, whether it is in no order."""
    clean: Any
    large: Any


def row_order(grid: Grid, splits: Any, files: Any) -> RowOrder | None:
    """How rows of these series are out of order; None if they are not, or come in no way that tells. Falling times are an order too.

    Args:
        splits, files: a number for those of each row, in the order of the data.
    """
    import numpy as np

    n = len(grid.order)
    whose, times = np.empty(n, np.uint64), np.empty(n)
    whose[grid.order], times[grid.order] = grid.series, grid.times
    runs = _runs(whose, times, splits, files)
    if not runs.large.any():
        return None
    if not runs.odd.any():
        return _misplaced(grid, times, runs)
    found = _shuffled(runs)
    if found is None and runs.odd[runs.large].all() and len(np.unique(splits)) == 1:
        every = int(runs.of.max()) + 1
        return RowOrder(SHUFFLED_ALL, np.ones(n, bool), every, every)
    return found


def events_out_of_order(whose: Any, times: Any, splits: Any, files: Any) -> RowOrder | None:
    """The few series of events, at whatever times, that are in no order, while those of many others are."""
    import numpy as np

    runs = _runs(whose, times, splits, files)
    found = _shuffled(runs) if runs.odd.any() and runs.clean[runs.large].sum() >= CLEAN else None
    return found if found is not None and few(found.odd, len(np.unique(runs.of))) else None


def _runs(whose: Any, times: Any, splits: Any, files: Any) -> _Runs:
    import numpy as np

    part = _pairs(splits, files)
    at = np.lexsort((np.arange(len(times)), part, whose))
    new = np.concatenate([[True], (whose[at][1:] != whose[at][:-1]) | (part[at][1:] != part[at][:-1])])
    run = np.cumsum(new) - 1
    moved = np.where(new, 0.0, np.sign(np.diff(times[at], prepend=times[at][0])))
    up, down = (np.bincount(run, moved == sign, minlength=run[-1] + 1) for sign in (1, -1))
    back, total = np.minimum(up, down), up + down
    large = total >= LEAST
    moved = np.where((down > up)[run], -moved, moved)
    _, of = np.unique(whose[at], return_inverse=True)
    return _Runs(at, new, run, of, moved, large & (back > SHUFFLED * total), back == 0, large)


def _shuffled(runs: _Runs) -> RowOrder | None:
    """The series that are in no order, where all others are, and have most rows."""
    import numpy as np

    rows = np.zeros(len(runs.at), bool)
    rows[runs.at] = runs.odd[runs.run]
    told = (runs.odd | runs.clean)[runs.large].all() and runs.clean[runs.large].any() and 2 * rows.sum() <= len(rows)
    wrong = len(np.unique(runs.of[runs.odd[runs.run]]))
    return RowOrder(SHUFFLED_SOME, rows, wrong, int(runs.of.max()) + 1) if told else None


def _misplaced(grid: Grid, times: Any, runs: _Runs) -> RowOrder | None:
    """A part that stands in another place: of each series, all parts but the first one go on where another one ends."""
    import numpy as np

    n, at = len(times), runs.at
    follows = np.zeros(n, bool)  # whether another row of the series is one step before it
    steps = np.diff(grid.times)
    follows[grid.order[1:]] = (grid.series[1:] == grid.series[:-1]) & (steps > 0) & (steps <= NEXT * grid.step)
    turns = runs.moved < 0
    before = np.concatenate([[0.0], times[at][:-1]])
    places = np.unique(np.stack([before[turns], times[at][turns]]), axis=1).shape[1]
    loose, broken = (np.bincount(runs.of, mask) for mask in ((turns | runs.new) & ~follows[at], turns))
    falls = (np.diff(times[at])[~runs.new[1:]] < 0).mean() > 0.5 if n > 1 else False
    if not 0 < places <= MOST or falls or (loose[broken > 0] > 1).any():
        return None
    rows = np.zeros(n, bool)
    rows[at[turns]] = True
    first = np.flatnonzero(turns)[at[turns].argmin()]
    every = int(runs.of.max()) + 1
    return RowOrder(MISPLACED, rows, int((broken > 0).sum()), every, float(before[first]), float(times[at][first]))


def order_said(fact: Fact, dated: bool, by_position: bool) -> Finding:
    """``by_position``: whether the samples are rows of numbers, of which windows are cut by position."""
    v, name = fact.value, escaped(str(fact.at["field"]))
    whose = f" by {' and '.join(map(escaped, v['series']))}" if v["series"] else ""
    severity: Severity = "warning"
    fix = f"sort the rows by {' and '.join(map(escaped, [*v['series'], str(fact.at['field'])]))}: otherwise windows, lags and splits by position mix times"
    if v["kind"] == MISPLACED:
        text = f"a block of rows is misplaced: {name} jumps back from {moment(v['since'], dated)} to {moment(v['until'], dated)} between two rows"
        text += f", and at {number(v['count'] - 1, 'more place')}" if v["count"] > 1 else ""
        text += "; elsewhere the rows are in time order, and once sorted they have no gap"
    elif v["kind"] == SHUFFLED_SOME:
        there = f" of {v['part']}" if v["part"] else ""
        text = f"{number(v['count'], 'row')}{there} are not in {name} order: {v['odd']:,} of {v['of']:,} series{whose}, while all others are in order"
        if not v["series"]:
            text = f"{number(v['count'], 'row')}{there} are not in {name} order, while all others are"
    else:
        severity = "warning" if by_position and not v["series"] else "info"
        text = f"the rows are not in {name} order, although they form {'regular series' if v['series'] else 'one regular series'}{whose}"
    return finding("order-reversed", severity, text, fact, fix, v["where"], v["count"])


def _pairs(splits: Any, files: Any) -> Any:
    """A number for each pair of a split and a file, int64 [n]."""
    import numpy as np

    codes = np.unique(splits, return_inverse=True)[1].astype(np.int64)
    return codes * (int(files.max(initial=0)) + 1) + files

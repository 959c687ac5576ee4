"""Numbers of rows in the order of time within series, such as the days of each item in each store: what checks keep of them that compare
rows with those before and after.

Which fields name a series is not known beforehand: each choice of up to two is an order of its own, and a member finds out which one fits.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import LONGEST_TIME, Named, distinct, numbers_of, split_of
from dataloader_expert.errors import escaped
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.times import read_time

MOST, FIELDS = 100_000, 16
"""The most rows, and fields whose numbers are kept: 128 bytes a row."""
LONG = 20
"""The fewest rows of a series, on average."""
AT_ONCE = 0.5
"""The largest share of rows with the time of the one before in their series."""
PURE, MOSTLY = 0.95, 0.9
"""The least share of odd rows within the values that tell them, and of the usual ones outside; and that of odd rows within a stretch."""
MOST_KINDS = 50


class Order(NamedTuple):
    """Rows by series and time, and the fields that name the series: none if all rows are one."""

    names: tuple[str, ...]
    rows: Any
    """Places of the rows, int64 [n]."""
    begin: Any
    end: Any
    """Of each row in this order, where its series begins, and behind its last row, int64 [n]."""

    def head(self, most: int) -> Order:
        """The first rows, at most so many, in this order."""
        import numpy as np

        return Order(self.names, self.rows[:most], self.begin[:most], np.minimum(self.end[:most], most))

    def spread(self, most: int) -> Order:
        """Rows at even steps, at most so many or twice as many, in this order."""
        import numpy as np

        at = np.arange(0, len(self.rows), max(1, len(self.rows) // most))
        starts, which = np.unique(self.begin[at], return_index=True, return_inverse=True)[1:]
        return Order(self.names, self.rows[at], starts[which], np.append(starts[1:], len(at))[which])


class SeriesRows(Check):
    """A member sets ``numbers`` in its constructor; only the first ``MOST`` samples are kept."""

    numbers: list[str]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.times = [context.timed.field] if context.timed is not None else context.calendar
        self.names = context.series_fields
        self.kinds = {name: Named(MOST_KINDS, whole=True) for name in self.names}
        self.splits = Named(MOST_KINDS)
        self.parts: list[tuple[int, dict[str, Any]]] = []
        self.files = Files()

    def looked(self) -> bool:
        return bool(self.parts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        n = min(block.samples, MOST - block.unit.start)
        if n <= 0 or block.rows is not None or not self.applies():
            return
        rows = block.once(("first", n), None, lambda: np.arange(n))
        self.files.note(block)
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.numbers}
        for name, named in self.kinds.items():
            kept[f"kind {name}"] = named.of(block.columns.get(name), rows)
        kept["split"] = self.splits.coded(split_of(self.context, block, rows))
        kept["time"] = block.once(("time", *self.times), rows, lambda: self._time(block, rows))
        self.parts.append((block.unit.start, kept))

    def _time(self, block: Block, rows: Any) -> Any:
        import numpy as np

        time = np.zeros(len(rows))
        for name in self.times:  # of a calendar, the year counts most
            time = time * 64 + seconds_of(block.columns.get(name), rows)
        return time

    def merge(self, other: Check) -> None:
        assert isinstance(other, SeriesRows)
        self.seen += other.seen
        self.parts += other.parts
        self.files.merge(other.files)
        self.splits.merge(other.splits)
        for name, named in other.kinds.items():
            self.kinds[name].merge(named)

    def rows(self) -> dict[str, Any]:
        """What was kept, in the order of the data, with the samples' indices; there must be a row."""
        import numpy as np

        parts = sorted(self.parts, key=lambda part: part[0])
        kept = {name: np.concatenate([part[name] for _, part in parts]) for name in parts[0][1]}
        kept["sample"] = np.concatenate([start + np.arange(len(part["time"])) for start, part in parts])
        return kept

    def orders(self, kept: dict[str, Any]) -> Iterator[Order]:
        """Each order of the rows in which series are long enough: by no field, by one, and by two."""
        import numpy as np

        n = len(kept["time"])
        codes = {name: np.unique(kept[f"kind {name}"], return_inverse=True)[1] for name in self.names}
        in_time = np.lexsort((kept["sample"], kept["time"]))
        known: list[tuple[tuple[str, ...], int]] = []
        for names in itertools.chain.from_iterable(itertools.combinations(self.names, k) for k in (0, 1, 2)):
            of = combined([codes[name] for name in names], n)
            many = int(of.max()) + 1 if n else 0
            same = any(set(less) < set(names) and of_less == many for less, of_less in known)
            known.append((names, many))
            if many * LONG > n or same:
                continue  # series are too short, or those of fewer fields
            by = in_time[np.argsort(of[in_time], kind="stable")]
            begins = np.concatenate([[True], of[by][1:] != of[by][:-1]])
            if self.times and n > 1 and (~begins[1:] & (np.diff(kept["time"][by]) == 0)).mean() > AT_ONCE:
                continue  # rows of several series
            starts = np.flatnonzero(begins)
            which = np.cumsum(begins) - 1
            yield Order(names, by, starts[which], np.append(starts[1:], n)[which])

    def part_of(self, kept: dict[str, Any], odd: Any, usual: Any, aside: Collection[str] = ()) -> dict[str, Any] | None:
        """What tells some odd rows from the usual ones: the split, a field but those ``aside``, or a stretch of rows or times; None if
        nothing does."""
        import numpy as np

        for name, key, of in [("", "split", self.splits), *((n, f"kind {n}", k) for n, k in self.kinds.items())]:
            if of.many or name in aside:
                continue
            values, which = np.unique(kept[key], return_inverse=True)
            here, there = (np.bincount(which[rows], minlength=len(values)) for rows in (odd, usual))
            of_odd = here > there
            if here[of_odd].sum() >= PURE * here.sum() and there[~of_odd].sum() >= PURE * there.sum():
                return {"by": name, "values": [of.texts.get(int(v), "") for v in values[of_odd]][:3]}
        for key in ("sample", "time"):
            low, high = float(kept[key][odd].min()), float(kept[key][odd].max())
            inside = (kept[key][usual] >= low) & (kept[key][usual] <= high)
            if inside.sum() <= (1 - MOSTLY) * len(odd):
                return {"by": None, "along": key, "first": low, "last": high}
        return None

    def part_said(self, v: dict[str, Any]) -> str:
        """Where that is, in words."""
        if v["by"] is not None:
            values = ", ".join(map(escaped, v["values"]))
            return f"in the samples where {escaped(v['by'])} is {values}" if v["by"] else f"in {values}"
        if v["along"] == "sample":
            return f"in {self.files.stretch(int(v['first']), int(v['last']))}"
        return f"in the samples from {_moment(v['first'])} to {_moment(v['last'])}"


def combined(codes: Sequence[Any], n: int) -> Any:
    """The number of each row's combination of codes, in the order of these, from 0 on: of the smallest type, which sorts fast, [n]."""
    import numpy as np

    found = np.zeros(n, np.int64)
    for code in codes:
        found = np.unique(found * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]
    return found.astype(np.min_scalar_type(int(found.max(initial=0))))


def _moment(seconds: float) -> str:
    """A time as a date, if it may be one."""
    if not 1e8 < abs(seconds) < 1e11:
        return f"{seconds:g}"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S").removesuffix(" 00:00:00")


def seconds_of(column: Column | None, rows: Any) -> Any:
    """Times as numbers that order them, float64 [rows]; NaN where there is none, or which one is not known. Not to be written to."""
    import numpy as np

    if column is None or isinstance(column.values, np.ndarray):
        return numbers_of(column, rows)

    def made() -> Any:
        texts, codes = distinct(column, rows, LONGEST_TIME)
        read = [{t for t in read_time(text) if t is not None} if text else () for text in texts]
        return np.array([next(iter(r)) if len(r) == 1 else np.nan for r in read], np.float64)[codes]

    return column.once("seconds", rows, made)

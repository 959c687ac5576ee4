"""Measurements that stay at one value for many rows: a sensor that is stuck, or gaps that were filled with the last value.

Rows of several series, such as sensors, are often interleaved by time: then the rows of each are looked at on their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from dataloader_expert.checks.base import STATISTICS, Check, Context
from dataloader_expert.checks.common.fingerprint import digests
from dataloader_expert.checks.common.treatments import is_mark, marks_of
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.label_names import GOODS
from dataloader_expert.sources.roles import ROW_WORDS, words

RUNS = Quantity(
    "equal_runs",
    "rows",
    "the longest run of equal values of a field in consecutive rows, or in those of one series, where it begins, and further long ones",
)
NAMING = GOODS | ROW_WORDS
"""Last words in the names of numbers that are no measurements but name something, such as an article."""
LEAST = 20
"""The fewest equal rows in a run."""
LONG = 100
"""The fewest equal rows, of a value within the field's range, that are a warning."""
FEW = 3
"""The most components of one array with the same run that are told one by one."""
VARIES = 0.9
"""The least share of consecutive rows that differ: a measurement. Counts, rounded and mostly absent values stay the same anyway."""
STILL = 0.15
"""The largest share of rows in several stretches at one value: beyond it, they are how the field goes."""


@dataclass(frozen=True, order=True)
class Run:
    length: int = 0
    start: int = 0
    """The negated sample at which it begins: of equally long ones the first is the largest."""
    value: float = 0.0
    file: str = ""
    whole: bool = False
    """Whether it is all rows of the file, or of a part that was read at once."""


IN_TIME, LOOK = 0.9, 4_096
"""The least share of consecutive rows of a series that follow one another in time, and the rows that tell whether they do: where
no two of these are of one series, a block has too few rows of each for a run."""
Order = tuple[str, str]
"""A measured field, and the field whose values name series; empty: all rows are one."""


class Stuck(Check):
    ids = ("stuck-values",)
    of_features = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        aside = {
            context.label,
            *(r.field for r in (context.grouped, context.timed, *context.roles.keys) if r is not None),
        }
        self.fields = [
            f.name
            for f in context.fields
            if f.kind == "number" and not f.shape and f.name not in aside and not {*words(f.name)[-1:]} & NAMING
        ]
        self.series = context.series_fields if context.timed is not None else []
        self.runs: dict[tuple[Order, bool], list[Run]] = {}
        """The longest ones, longest first; those of values that are customary for missing ones apart."""
        self.marked: dict[Order, int] = {}
        """The rows in all runs of such values."""
        self.pairs: dict[Order, int] = {}
        self.changes: dict[Order, int] = {}
        """Of consecutive rows, how many pairs there are and how many differ."""
        self.ends: dict[str, tuple[float, float]] = {}
        """The least and largest value of each field."""

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        if block.rows is not None or block.samples < 2:
            return  # not consecutive
        orders: list[tuple[str, Any, Any]] = [("", None, None)]
        for of in self.series:
            if of in block.columns:
                whose = digests(block, [of])
                if self._by_time(block, *by_series(whose[:LOOK])):  # few rows tell, and sorting all of them takes long
                    order, begins = by_series(whose)
                    if self._by_time(block, order, begins):
                        orders.append((of, order, begins))
        for name in self.fields:
            column = block.columns.get(name)
            values = None if column is None else column.values[: block.samples]
            if (
                column is None
                or not isinstance(values, np.ndarray)
                or values.ndim != 1
                or values.dtype.kind not in "iuf"
            ):
                continue
            if column.nulls is not None:
                values = np.where(column.nulls[: block.samples], np.nan, values)
            least, most = values.min(), values.max()
            if not (np.isfinite(least) and np.isfinite(most)) and (finite := values[np.isfinite(values)]).size:
                least, most = finite.min(), finite.max()
            if np.isfinite(least):
                self._reach(name, float(least), float(most))
            for of, order, begins in orders:
                if of != name:
                    self._look(block, (name, of), values, order, begins)

    def _by_time(self, block: Block, order: Any, begins: Any) -> bool:
        """Whether most rows of each series follow one another in time, if that is known: else they are not consecutive."""
        import numpy as np

        timed = self.context.timed
        column = None if timed is None else block.columns.get(timed.field)
        times = None if column is None else column.values
        if not isinstance(times, np.ndarray) or times.ndim != 1:
            return True
        times, inside = times[order], ~begins[1:]
        later, earlier = (times[1:] >= times[:-1])[inside], (times[1:] <= times[:-1])[inside]
        return len(later) > 0 and bool(max(later.mean(), earlier.mean()) >= IN_TIME)

    def _reach(self, name: str, least: float, most: float) -> None:
        low, high = self.ends.get(name, (least, most))
        self.ends[name] = min(low, least), max(high, most)

    def _look(self, block: Block, key: Order, values: Any, order: Any, begins: Any) -> None:
        import numpy as np

        if order is not None:
            values = values[order]
        change = np.concatenate([[True], values[1:] != values[:-1]])
        pairs, changes = len(values) - 1, int(np.count_nonzero(change)) - 1
        if begins is not None:
            pairs, changes = len(values) - int(begins.sum()), int((change & ~begins).sum())
            change |= begins
        self.pairs[key] = self.pairs.get(key, 0) + pairs
        self.changes[key] = self.changes.get(key, 0) + changes
        if pairs - changes < LEAST - 1:
            return  # too few equal neighbours for a run, as of most measurements
        starts = np.flatnonzero(change)
        lengths = np.diff(np.concatenate([starts, [len(values)]]))
        lengths[values[starts] == 0] = 0  # nothing happens often: no rain, no sale
        long = np.flatnonzero(lengths >= LEAST)
        if not len(long):
            return
        inside = slice(None) if begins is None else ~begins[1:]
        if changes and ((values[1:] >= values[:-1])[inside].all() or (values[1:] <= values[:-1])[inside].all()):
            return  # rows that were sorted by it, where equal values meet
        long = long[np.argsort(-lengths[long], kind="stable")]
        marks = np.array([is_mark(float(value)) for value in values[starts[long]].tolist()])
        self.marked[key] = self.marked.get(key, 0) + int(lengths[long[marks]].sum())
        for marked in (False, True):
            found = []
            for at in long[marks == marked][:MAX_PLACES].tolist():
                first, length = int(starts[at]), int(lengths[at])
                row = first if order is None else int(order[first])
                whole = length == block.unit.samples
                found.append(Run(length, -block.index(row), float(values[first]), block.file(row), whole))
            if found:
                self._keep((key, marked), found)

    def _keep(self, key: tuple[Order, bool], found: list[Run]) -> None:
        self.runs[key] = sorted([*self.runs.get(key, ()), *found], reverse=True)[:MAX_PLACES]

    def merge(self, other: Check) -> None:
        assert isinstance(other, Stuck)
        self.seen += other.seen
        for mine, theirs in ((self.pairs, other.pairs), (self.changes, other.changes), (self.marked, other.marked)):
            for key, n in theirs.items():
                mine[key] = mine.get(key, 0) + n
        for name, ends in other.ends.items():
            self._reach(name, *ends)
        for kept, found in other.runs.items():
            self._keep(kept, found)

    def facts(self) -> Iterable[Fact]:
        for name, marked in product(self.fields, (False, True)):
            found = [
                (runs[0], of)
                for ((field, of), marks), runs in self.runs.items()
                if (field, marks) == (name, marked) and self._varies((name, of))
            ]
            if found:
                run, of = max(found)
                value: dict[str, Json] = {
                    "rows": run.length,
                    "value": run.value,
                    "sample": -run.start,
                    "file": run.file or None,
                }
                # at an end of its range it may be saturated, or the most that there is
                value["whole"] = run.whole
                further = self.runs[(name, of), marked][1:]
                value["further"] = [{"sample": -r.start, "file": r.file or None, "field": name} for r in further]
                value["at_an_end"] = run.value in self.ends.get(name, ())
                yield Fact(RUNS, value | {"series": of or None}, self.evidence(), {"field": name, "marked": marked})

    def _varies(self, key: Order) -> bool:
        """Whether the field changes from row to row but in these runs; where they are a large share, but in the longest."""
        lengths = [run.length for run in self.runs.get((key, False), ())] or [0]
        still = sum(lengths) if sum(lengths) <= STILL * self.pairs[key] else lengths[0]
        return self.changes[key] >= max(1, VARIES * (self.pairs[key] - still - self.marked.get(key, 0)))

    def judge(self, facts: Facts) -> Iterable[Finding]:
        runs: dict[tuple[str, str], list[Fact]] = {}
        for fact in facts.all(RUNS):
            name = str(fact.at["field"])
            feature = self.context.features.get(name)
            stated = facts.find(STATISTICS, field=feature.of if feature is not None else name)
            if fact.at["marked"] and stated is not None and fact.value["value"] in marks_of(stated.value["treatment"]):
                continue  # told as missing values
            one = f"{fact.value['sample']} {fact.value['rows']}" if feature is not None else ""
            runs.setdefault((feature.of if feature is not None else name, one), []).append(fact)
        for (of, _), same in runs.items():
            told = [(f"{len(same)} components of {escaped(of)} each keep one value", same[:1])]
            if len(same) <= FEW:
                told = [(f"{escaped(str(fact.at['field']))} is {fact.value['value']:g}", [fact]) for fact in same]
            for text, [fact] in told:
                v = fact.value
                rows = "rows" if v["series"] is None else f"rows with the same {escaped(v['series'])}"
                n = len(v["further"])
                further = (
                    f"{n} further stretch{'es' * (n > 1)}" if n < MAX_PLACES - 1 else f"at least {n} further stretches"
                )
                yield finding(
                    "stuck-values",
                    "warning" if (v["rows"] >= LONG or v["whole"]) and not v["at_an_end"] else "info",
                    f"{text} in {v['rows']:,} consecutive {rows}, while {'they change' if len(same) > FEW else 'it changes'} from row to row elsewhere"
                    + (f"; {further} {verb(n, 'keep')} one value for {LEAST} rows or more" if v["further"] else ""),
                    fact,
                    "find out whether it was measured there; if not, mark these rows as missing",
                    [{"sample": v["sample"], "file": v["file"], "field": fact.at["field"]}, *v["further"]],
                    v["rows"],
                )


def by_series(whose: Any) -> tuple[Any, Any]:
    """The order of rows in which those of each series follow one another, and where in it a series begins, bool [n]."""
    import numpy as np

    order = np.argsort(whose, kind="stable")
    return order, np.concatenate([[True], whose[order][1:] != whose[order][:-1]])


CHECK = Stuck

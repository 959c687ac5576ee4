"""Measurements that stay at one value for many rows: a sensor that is stuck, or gaps that were filled with the last value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

RUNS = Quantity(
    "equal_runs", "rows", "the longest run of equal values of a field in consecutive rows, and where it begins"
)
LEAST = 20
"""The fewest equal rows in a run."""
VARIES = 0.9
"""The least share of consecutive rows that differ: a measurement. Counts, rounded and mostly absent values stay the same anyway."""


@dataclass(frozen=True, order=True)
class Run:
    length: int = 0
    start: int = 0
    """The negated sample at which it begins: of equally long ones the first is the largest."""
    value: float = 0.0
    file: str = ""


class Stuck(Check):
    ids = ("stuck-values",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        aside = {
            context.label,
            *(r.field for r in (context.grouped, context.timed, *context.roles.keys) if r is not None),
        }
        self.fields = [
            f.name
            for f in context.fields
            if f.kind == "number" and "float" in f.dtype and not f.shape and f.name not in aside
        ]
        self.longest: dict[str, Run] = {}
        self.pairs: dict[str, int] = {}
        self.changes: dict[str, int] = {}
        """Of consecutive rows, how many pairs there are and how many differ."""

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        if block.rows is not None or block.samples < 2:
            return  # not consecutive
        for name in self.fields:
            column = block.columns.get(name)
            values = None if column is None else column.values
            if column is None or not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "f":
                continue
            if column.nulls is not None:
                values = np.where(column.nulls, np.nan, values)
            change = np.flatnonzero(values[1:] != values[:-1]) + 1
            self.pairs[name] = self.pairs.get(name, 0) + len(values) - 1
            self.changes[name] = self.changes.get(name, 0) + len(change)
            starts = np.concatenate([[0], change])
            lengths = np.diff(np.concatenate([starts, [len(values)]]))
            lengths[values[starts] == 0] = 0  # nothing happens often: no rain, no sale
            at = int(lengths.argmax())
            first = int(starts[at])
            run = Run(int(lengths[at]), -block.index(first), float(values[first]), block.file(first))
            self.longest[name] = max(run, self.longest.get(name, Run()))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Stuck)
        self.seen += other.seen
        for mine, theirs in ((self.pairs, other.pairs), (self.changes, other.changes)):
            for name, n in theirs.items():
                mine[name] = mine.get(name, 0) + n
        for name, run in other.longest.items():
            self.longest[name] = max(run, self.longest.get(name, Run()))

    def facts(self) -> Iterable[Fact]:
        for name, run in self.longest.items():
            if run.length >= LEAST and self.changes[name] >= VARIES * (self.pairs[name] - run.length):
                value = {"rows": run.length, "value": run.value, "sample": -run.start, "file": run.file or None}
                yield Fact(RUNS, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(RUNS):
            v, name = fact.value, str(fact.at["field"])
            yield finding(
                "stuck-values",
                "info",
                f"{name} is {v['value']:g} in {v['rows']:,} consecutive rows, while it changes from row to row elsewhere",
                fact,
                "find out whether it was measured there; if not, mark these rows as missing",
                [{"sample": v["sample"], "file": v["file"], "field": name}],
                v["rows"],
            )


CHECK = Stuck

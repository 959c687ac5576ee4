"""Times in several units: seconds since 1970 in some samples, milliseconds in others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import EPOCH_UNITS, Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import TIME_WORDS, words

SCALES = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
EARLIEST, LATEST = 631e6, 2209e6
"""1990 and 2040, in seconds."""
LEAST = 5
"""The fewest samples of a unit that are no mistake of one."""


class EpochUnits(Check):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        timed = None if context.timed is None else context.timed.field
        plain = [f for f in context.fields if not f.shape and f.kind == "number"]
        self.names = [f.name for f in plain if f.name == timed or set(words(f.name)) & TIME_WORDS]
        self.counts: Counter[tuple[str, str]] = Counter()
        self.all: Counter[str] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.names)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        for name in self.names:
            column = block.columns.get(name)
            if column is None or not isinstance(column.values, np.ndarray) or column.values.dtype.kind not in "iuf":
                continue
            values = column.values[: block.samples].astype(np.float64)
            self.all[name] += int(np.isfinite(values).sum())
            for unit, scale in SCALES.items():
                rows = np.flatnonzero((values >= scale * EARLIEST) & (values <= scale * LATEST))
                self.counts[name, unit] += len(rows)
                for i in rows[: self.where.room((name, unit), block.unit.file)].tolist():
                    self.where.add((name, unit), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, EpochUnits)
        self.seen += other.seen
        self.counts += other.counts
        self.all += other.all
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name in self.names:
            found = {unit: self.counts[name, unit] for unit in SCALES if self.counts[name, unit] >= LEAST}
            if len(found) > 1 and sum(found.values()) >= 0.9 * self.all[name]:
                rarest = min(found, key=lambda unit: found[unit])
                value = {"units": found, "where": self.where.of((name, rarest))}
                yield Fact(EPOCH_UNITS, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(EPOCH_UNITS):
            units, name = fact.value["units"], escaped(str(fact.at["field"]))
            told = ", ".join(f"{unit} in {n:,} samples" for unit, n in units.items())
            text = f"{name} counts since 1970 in several units: {told}"
            fix = "convert all to one unit: times that differ by a factor of 1,000 cannot be compared"
            yield finding("scale-drift", "error", text, fact, fix, fact.value["where"], min(units.values()))


CHECK = EpochUnits

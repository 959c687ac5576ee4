"""Events that were logged twice: the same user does the same thing again within seconds, all else of the row equal.

People do things again, and sensors report what has not changed. Told are repeats that come within seconds and hardly ever later, in data where
the rows of one user are usually much further apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn_groups import DrawnGroups
from dataloader_expert.checks.common.fingerprint import digests
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import moments_of
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

TWICE = Quantity(
    "logged_twice", "samples", "rows that are equal to one of the same group some seconds before in all but the time"
)
SOON, UNIT = 10.0, (2e10, 1e3)
"""Seconds within which an event may be logged again; numbers above the first are milliseconds since 1970."""
LEAST, SHARE, MOST = 20, 0.002, 0.4
"""The fewest rows that repeat another, and the least and the largest share of all."""
RARER, FURTHER = 5, 4
"""How many times as rare later repeats are, and how many times as far apart the rows of a group usually are."""


class LoggedTwice(Check):
    ids = ("near-duplicates",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        self.time = None if context.timed is None else context.timed.field
        group = None if context.grouped is None else context.grouped.field
        plain = [f.name for f in context.fields if not f.shape]
        aside = {self.time, group, *(r.field for r in (roles.split, *roles.keys) if r is not None)}
        self.others = [name for name in plain if name not in aside]
        self.drawn = DrawnGroups(group, context) if group in plain and self.time in plain else None
        self.group = group
        self.files = Files()

    def applies(self) -> bool:
        return self.drawn is not None and bool(self.others)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.files.note(block)
        if self.drawn is None or not self.applies() or not block.samples:
            return
        rows, groups = self.drawn.rows(block)
        if len(rows):
            times = moments_of(block.columns.get(self.time or ""), rows)
            names = [name for name in self.others if name in block.columns]
            made = digests(block.take(rows), names) if names else groups
            self.drawn.keep(block, rows, groups, {"time": times, "value": made})

    def merge(self, other: Check) -> None:
        assert isinstance(other, LoggedTwice)
        self.seen += other.seen
        self.files.merge(other.files)
        if self.drawn is not None and other.drawn is not None:
            self.drawn.merge(other.drawn)

    def facts(self) -> Iterable[Fact]:
        kept = self.drawn.all() if self.drawn is not None else {}
        found = self._of(kept) if kept else None
        if found is not None:
            at = {"field": self.time, "group": self.group}
            yield Fact(TWICE, found, self.evidence("sampled", len(kept["sample"])), at)

    def _of(self, kept: dict[str, Any]) -> dict[str, Any] | None:
        import numpy as np

        there = np.isfinite(kept["time"])
        kept = {name: values[there] for name, values in kept.items()}
        n = len(kept["time"])
        if n < LEAST / SHARE / 10:
            return None
        time = np.where(kept["time"] > UNIT[0], kept["time"] / UNIT[1], kept["time"])
        order = np.lexsort((time, kept["value"], kept["group"]))
        same = (np.diff(kept["group"][order]) == 0) & (np.diff(kept["value"][order]) == 0)
        gap = np.diff(time[order])
        soon, later = same & (gap <= SOON) & (gap > 0), same & (gap > SOON)
        k = int(soon.sum())
        if k < LEAST or not SHARE <= k / n <= MOST or k < RARER * int(later.sum()):
            return None
        order_ = np.lexsort((time, kept["group"]))
        steps = np.diff(time[order_])[np.diff(kept["group"][order_]) == 0]
        usual = float(np.median(gap[soon]))
        unlike = np.sort(steps)[k:]  # without those of what is logged twice
        if not len(unlike) or float(np.median(unlike)) < FURTHER * usual:
            return None
        samples = np.sort(kept["sample"][order][1:][soon])
        where = [{"sample": int(s), "file": self.files.of(int(s)), "field": self.time} for s in samples[:MAX_PLACES]]
        rows = k if n == self.seen else round(k / n * self.seen)
        return {
            "rows": rows,
            "share": k / n,
            "seconds": float(gap[soon].max()),
            "later": int(later.sum()),
            "where": where,
        }

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(TWICE):
            v, group = fact.value, escaped(str(fact.at["group"]))
            text = f"{v['rows']:,} rows ({v['share']:.1%}) repeat a row of the same {group} from at most {v['seconds']:.3g} seconds earlier in everything "
            text += f"but {escaped(str(fact.at['field']))}: the same events were probably logged twice"
            fix = "keep the first of each: repeats count twice in losses and counts, and a split by time or at random can put "
            fix += "one on each side"
            yield finding("near-duplicates", "warning", text, fact, fix, v["where"], v["rows"])


CHECK = LoggedTwice

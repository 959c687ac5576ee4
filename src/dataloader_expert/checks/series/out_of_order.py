"""Times that run back where an index says that they go on: the second visit of a patient before the first one.

In nearly all groups an index, such as the number of a visit, and a time rise together; where they do not, one of the two is wrong. Where all
such dates are in order once day and month are swapped, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.day_month import with_days_swapped
from dataloader_expert.checks.common.drawn_groups import DrawnGroups
from dataloader_expert.checks.common.explained import explained
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, moments_of, numbers_of
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import NOT_TIMES, words

BACKWARD = Quantity(
    "times_run_back", "samples", "rows with an earlier time than the row before by an index of the same group"
)
TIMES, INDICES, KINDS, VALUES = 3, 4, 8, 100
"""The most fields of each kind that are compared, and values of one that may explain which rows are wrong."""
RISES, SELDOM, OWN = 30, 0.1, 0.98
"""The fewest rows that follow another one in time; the largest share that runs back; the least share of rows with an index of their own in
their group."""
LEFT = 0.1
"""The most of the rows that still run back where swapping day and month explains them."""


class OutOfOrder(Check):
    ids = ("order-reversed",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        group = None if context.grouped is None else context.grouped.field
        aside = {group, context.label, *(r.field for r in (context.roles.split, *context.roles.keys) if r is not None)}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        timed = None if context.timed is None else context.timed.field
        times = [f.name for f in plain if f.name == timed or (f.kind == "time" and not NOT_TIMES & {*words(f.name)})]
        self.times = sorted(times, key=lambda name: name != timed)[:TIMES]
        self.indices = [f.name for f in plain if f.kind == "number" and "int" in f.dtype and f.name not in times][
            :INDICES
        ]
        self.kinds = {
            f.name: Named(VALUES) for f in [f for f in plain if f.kind == "category"][:KINDS] if f.name not in times
        }
        there = any(f.name == group for f in context.fields)
        self.drawn = DrawnGroups(group, context) if group is not None and there else None
        self.files = Files()

    def applies(self) -> bool:
        return self.drawn is not None and bool(self.times and self.indices)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.files.note(block)
        if self.drawn is None or not self.applies() or not block.samples:
            return
        rows, groups = self.drawn.rows(block)
        if len(rows):
            kept = {f"time {name}": moments_of(block.columns.get(name), rows) for name in self.times}
            kept |= {f"index {name}": numbers_of(block.columns.get(name), rows) for name in self.indices}
            kept |= {f"group {name}": named.of(block.columns.get(name), rows) for name, named in self.kinds.items()}
            self.drawn.keep(block, rows, groups, kept)

    def merge(self, other: Check) -> None:
        assert isinstance(other, OutOfOrder)
        self.seen += other.seen
        self.files.merge(other.files)
        for name, named in other.kinds.items():
            self.kinds[name].merge(named)
        if self.drawn is not None and other.drawn is not None:
            self.drawn.merge(other.drawn)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        kept = self.drawn.all() if self.drawn is not None else {}
        for time in self.times if kept else ():
            for index in self.indices:
                moments, steps = kept[f"time {time}"], kept[f"index {index}"]
                before, after = neighbours(kept["group"], steps, np.isfinite(moments))
                back = moments[after] < moments[before]
                if not len(back) or not 0 < back.sum() <= SELDOM * len(back) or (~back).sum() < RISES:
                    continue
                if (moments[after] > moments[before]).sum() < RISES:
                    continue
                odd, others = np.zeros((2, len(moments)), bool)
                odd[after[back]], others[after[~back]] = True, True
                because = explained(kept, self.kinds, odd, others)
                part = np.ones(len(moments), bool)
                if because is not None:
                    by, text = str(because[0]), str(because[1])
                    part = np.array([self.kinds[by].texts.get(int(v)) == text for v in kept[f"group {by}"]], bool)
                swapped = with_days_swapped(moments)
                turned = np.where(part & np.isfinite(swapped), swapped, moments)
                value = {
                    "count": int(back.sum()),
                    "of": len(back),
                    "because": because,
                    "days": bool((turned[after] < turned[before]).sum() <= LEFT * back.sum()),
                    "where": self.files.places(kept["sample"][odd].tolist(), time),
                }
                at = {"field": time, "index": index}
                yield Fact(BACKWARD, value, self.evidence("sampled", len(moments)), at)
                break

    def judge(self, facts: Facts) -> Iterable[Finding]:
        group = None if self.context.grouped is None else self.context.grouped.field
        for fact in facts.all(BACKWARD):
            v, time, index = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["index"]))
            text = f"{time} runs back while {index} goes on in {v['count']:,} of {number(v['of'], 'row')} that {verb(v['of'], 'follow')} another one "
            text += f"of the same {escaped(str(group))}"
            if v["because"] is not None:
                text += f"; these are rows where {escaped(v['because'][0])} is {escaped(v['because'][1])}"
            text += ". With day and month swapped there, they are in order" if v["days"] else ""
            fix = f"correct {time} or {index} of these rows: what is counted or split by time is wrong otherwise"
            fix = (
                "find out how these dates were parsed, and swap the day (up to 12) and the month back"
                if v["days"]
                else fix
            )
            yield finding("order-reversed", "warning", text, fact, fix, v["where"], v["count"])


def neighbours(groups: Any, index: Any, known: Any) -> tuple[Any, Any]:
    """Rows that follow each other by an index within their groups, the earlier and the later ones, int64 [n] each; none if it is no index:
    it has the same number several times in a group, or never goes on by 1."""
    import numpy as np

    at = np.flatnonzero(known & np.isfinite(index))
    order = at[np.lexsort((index[at], groups[at]))]
    same = groups[order][1:] == groups[order][:-1]
    steps = np.diff(index[order])[same]
    if not len(steps) or (steps > 0).mean() < OWN or 2 * (steps == 1).sum() < len(steps):
        return order[:0], order[:0]
    rises = np.flatnonzero(same & (np.diff(index[order]) > 0))
    return order[rises], order[rises + 1]


CHECK = OutOfOrder

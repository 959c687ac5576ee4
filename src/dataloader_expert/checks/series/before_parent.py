"""Rows that are earlier than the row that they name as their parent: a reply before the mail that it answers, a child born before its mother.

A field that holds keys of other rows of the same table tells which row came first; where nearly all times agree with that, the few that do not
are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.explained import explained
from dataloader_expert.checks.common.grids import HOUR, seconds_of
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, digest_of, digests_by_name, moments_of, numbers_of
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.roles import TIME_WORDS, words

EARLY = Quantity(
    "earlier_than_parent", "samples", "rows that are earlier than the row whose key they hold, with places"
)
PARENTS = {
    "parent", "reply", "replies", "replied", "answers", "previous", "prev", "predecessor", "original", "root", "quoted", "retweeted",
    "references", "mother", "father", "dam", "sire", "cause", "trigger",
}  # fmt: skip
"""Words in the names of fields that name a row which came first."""
BORN, ENDS = (
    {"birth", "born", "birthday", "birthdate", "dob"},
    {"death", "died", "expiry", "expires", "due", "duration", "elapsed"},
)
"""Words in the names of times that tell when something began, though no samples are ordered by them; and of those that do not."""
KEYS, LINKS, TIMES, KINDS, VALUES = 4, 4, 3, 6, 100
"""The most fields of each kind that are looked at, and values of one that may explain which rows are wrong."""
MOST = 300_000
"""The most rows that are kept, at about 100 bytes each."""
UNIQUE, HELD = 0.98, 0.5
"""The least share of rows with a key of their own, and of parents that are in the table: what is split or filtered lacks some."""
LEAST, SELDOM = 30, 0.1
"""The fewest rows that are later than their parent, and the largest share that is earlier."""
SKEW = HOUR / 2
"""By how much clocks of two machines may differ: time zones differ by more."""


class BeforeParent(Check):
    ids = ("order-reversed",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        plain = [f for f in context.fields if not f.shape]
        coded = [f.name for f in plain if f.dtype == "str" or "int" in f.dtype]
        timed = None if context.timed is None else context.timed.field
        called = {
            f.name for f in plain if f.dtype == "str" and f.kind != "text" and {*words(f.name)} & (TIME_WORDS | BORN)
        }
        times = [f.name for f in plain if f.name in (timed, *called) or f.kind == "time"]
        self.times = sorted((name for name in times if not ENDS & {*words(name)}), key=lambda name: name != timed)[
            :TIMES
        ]
        self.links = [name for name in coded if {*words(name)} & PARENTS][:LINKS]
        own = [r.field for r in context.roles.keys]
        keys = [name for name in coded if name in own or "id" in words(name) or name.lower().endswith("id")]
        self.keys = [name for name in dict.fromkeys([*own, *keys]) if name not in (*self.links, *self.times)][:KEYS]
        kinds = [f.name for f in plain if f.kind == "category" and f.name not in (*self.links, *self.keys)]
        self.kinds = {name: Named(VALUES) for name in kinds[:KINDS]}
        self.parts: list[dict[str, Any]] = []
        self.kept = 0
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.times and self.links and self.keys)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        needed = (*self.times, *self.links, *self.keys)
        if not block.samples or self.kept >= MOST or not self.applies() or any(n not in block.columns for n in needed):
            return
        n, rows = block.samples, np.arange(block.samples)
        kept = {f"code {name}": codes_of(block.columns[name], rows) for name in (*self.links, *self.keys)}
        timed = None if self.context.timed is None else self.context.timed.field
        for name in self.times:
            column = block.columns[name]
            kept[f"time {name}"] = seconds_of(column, n) if name == timed else moments_of(column, rows, as_others=True)
        kept |= {f"group {name}": named.of(block.columns.get(name), rows) for name, named in self.kinds.items()}
        self.parts.append({**kept, "sample": block.indices()})
        self.kept += n

    def merge(self, other: Check) -> None:
        assert isinstance(other, BeforeParent)
        self.seen += other.seen
        self.parts += other.parts
        self.kept += other.kept
        self.files.merge(other.files)
        for name, named in other.kinds.items():
            self.kinds[name].merge(named)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.parts:
            return
        kept = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        order = np.argsort(kept["sample"], kind="stable")
        kept = {name: values[order] for name, values in kept.items()}
        for link in self.links:
            each = (parents(kept[f"code {key}"], kept[f"code {link}"]) for key in self.keys)
            found = next((pair for pair in each if pair is not None), None)
            if found is not None:
                yield from self._early(link, *found, kept)

    def _early(self, link: str, child: Any, parent: Any, kept: dict[str, Any]) -> Iterable[Fact]:
        """The rows that are earlier than their parent, by the first time that nearly always tells which one came first."""
        import numpy as np

        for time in self.times:
            moments = kept[f"time {time}"]
            apart = moments[child] - moments[parent]
            dated = any(f.kind != "number" for f in self.context.fields if f.name == time)
            early, late = apart < (-SKEW if dated else 0), apart > 0
            if late.sum() < LEAST or early.sum() > SELDOM * len(apart):
                continue
            if not early.any():
                break  # it tells which one came first, and all agree: another time may be that of a later change
            odd, others = np.zeros((2, len(moments)), bool)
            odd[child[early]], others[child[~early]] = True, True
            value: dict[str, Json] = {"count": int(early.sum()), "of": int(np.isfinite(apart).sum())}
            value |= {"because": explained(kept, self.kinds, odd, others)}
            value |= {"where": [*self.files.places(kept["sample"][odd].tolist(), time)]}
            yield Fact(EARLY, value, self.evidence(n=self.kept), {"field": time, "parent": link})
            break

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(EARLY):
            v, time, link = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["parent"]))
            text = f"{time} is earlier than in the parent row ({link}) in {v['count']:,} of {number(v['of'], 'row')}"
            if v["because"] is not None:
                text += f"; these are rows where {escaped(v['because'][0])} is {escaped(v['because'][1])}"
            fix = "check the clocks and time zones of these rows: otherwise histories are in the wrong order, and a split by time leaks the future"
            yield finding("order-reversed", "warning", text, fact, fix, v["where"], v["count"])


def codes_of(column: Column, rows: Any) -> Any:
    """The same uint64 for the same value, in whatever field; 0 for none."""
    import numpy as np

    if isinstance(column.values, np.ndarray):
        values = numbers_of(column, rows)
        return np.where(np.isfinite(values), values, 0.0).astype(np.float64).view(np.uint64)
    made = digests_by_name(column, rows)
    return np.where(made == np.uint64(digest_of("")), np.uint64(0), made)


def parents(keys: Any, links: Any) -> tuple[Any, Any] | None:
    """The rows that name another row, and the rows that they name, int64 [n] each; None if the keys are not those of rows, or few links are
    among them. Digests, 0 for none."""
    import numpy as np

    rows = np.flatnonzero(keys)
    known, first = np.unique(keys[rows], return_index=True)
    child = np.flatnonzero(links)
    if len(rows) < LEAST or len(known) < UNIQUE * len(rows) or not len(child):
        return None
    at = np.minimum(np.searchsorted(known, links[child]), len(known) - 1)
    there = known[at] == links[child]
    child, parent = child[there], rows[first[at[there]]]
    apart = child != parent
    if there.mean() < HELD or apart.sum() < LEAST:
        return None
    return child[apart], parent[apart]


CHECK = BeforeParent

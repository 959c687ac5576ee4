"""Rows that a join multiplied: a part of the ids stands twice or more, and all else of these rows is equal but for one column.

Rows of one user or patient differ in several columns, and where a table has one row for each value of a list, nearly all ids recur. Where
most ids are of a single row, and those that recur have nothing of their own but one column, the table on the other side of a join had several
rows for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn_groups import DrawnGroups
from dataloader_expert.checks.common.fingerprint import digests
from dataloader_expert.checks.common.places import Files
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import GROUP_WORDS, ROW_WORDS, words

FANNED = Quantity(
    "fanned_out", "samples", "rows that repeat the id of another row and differ from it in one column only"
)
FIELDS, OTHERS, COLUMNS = 2, 4, 40
"""Ids that are looked at; the fewest other columns that vary, and the most that are compared."""
LEAST, MOSTLY, ALONE = 20, 0.95, 0.5
"""The fewest such rows; the least share of recurring rows that differ in one column at most, and of ids that are of a single row."""


class FanOuts(Check):
    ids = ("duplicate-keys",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None} | {context.label}
        plain = [
            f for f in context.fields if not f.shape and f.kind in ("number", "category", "text", "boolean", "time")
        ]
        named = [
            f.name
            for f in plain
            if f.name not in aside
            and not f.dtype.startswith("float")
            and {*words(f.name)} & ROW_WORDS
            and not {word.rstrip("s") for word in words(f.name)} & GROUP_WORDS
        ]
        split = None if roles.split is None else roles.split.field
        keys = {r.field for r in roles.keys}
        self.others = [f.name for f in plain if f.name not in keys and f.name != split][:COLUMNS]
        self.drawn = {name: DrawnGroups(name, context) for name in named[:FIELDS]}
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.drawn) and len(self.others) > OTHERS

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        for drawn in self.drawn.values() if self.applies() and block.samples else ():
            rows, groups = drawn.rows(block)
            if len(rows):
                part = block.take(rows)
                zeros = np.zeros(len(rows), np.uint64)
                absent = [name not in part.columns for name in self.others]
                made = [
                    zeros if gone else digests(part, [name]) for name, gone in zip(self.others, absent, strict=True)
                ]
                drawn.keep(block, rows, groups, {"values": np.stack(made, axis=1)})

    def merge(self, other: Check) -> None:
        assert isinstance(other, FanOuts)
        self.seen += other.seen
        self.files.merge(other.files)
        for name, drawn in other.drawn.items():
            self.drawn[name].merge(drawn)

    def facts(self) -> Iterable[Fact]:
        for name, drawn in self.drawn.items():
            kept = drawn.all()
            found = self._of(name, kept) if kept else None
            if found is not None:
                yield Fact(FANNED, found, self.evidence("sampled", len(kept["sample"])), {"field": name})
                return

    def _of(self, name: str, kept: dict[str, Any]) -> dict[str, Any] | None:
        import numpy as np

        at = [k for k, other in enumerate(self.others) if other != name]
        order = np.argsort(kept["group"], kind="stable")
        groups, values, samples = kept["group"][order], kept["values"][order][:, at], kept["sample"][order]
        again = np.flatnonzero(groups[1:] == groups[:-1]) + 1
        _, sizes = np.unique(groups, return_counts=True)
        varied = (values != values[0]).mean(0) > 1 - MOSTLY
        if len(again) < LEAST or (sizes == 1).mean() < ALONE or varied.sum() < OTHERS:
            return None
        unlike = values[again] != values[again - 1]
        one = unlike.sum(1) == 1
        near = unlike.sum(1) <= 1
        if near.mean() < MOSTLY or one.sum() < LEAST:
            return None
        by = np.array([self.others[k] for k in at], object)[unlike[one].argmax(1)]
        columns, counts = np.unique(by, return_counts=True)
        differs = str(columns[counts.argmax()])
        if (
            counts.max() < MOSTLY * one.sum() or differs == self.context.label
        ):  # of labels, it is told that they contradict each other
            return None
        share = len(again) / len(samples)
        where = [
            {"sample": int(samples[k]), "file": self.files.of(int(samples[k])), "field": name}
            for k in sorted(again[one].tolist(), key=lambda k: int(samples[k]))[:MAX_PLACES]
        ]
        rows = len(again) if len(samples) == self.seen else round(share * self.seen)
        return {"rows": rows, "share": share, "differs": differs, "where": where}

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(FANNED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = (
                f"{v['rows']:,} rows ({v['share']:.1%}) repeat an earlier row with the same {name} in everything but "
            )
            text += f"{escaped(v['differs'])}, while most values of {name} have a single row: a join probably multiplied these rows"
            fix = f"keep one row per {name}, and aggregate the other table by {name} before joining: repeated rows are "
            fix += "counted several times, and a random split puts them on both sides"
            yield finding("duplicate-keys", "warning", text, fact, fix, v["where"], v["rows"])


CHECK = FanOuts

"""Groups that straddle splits, and times that run backwards from train to test."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import GROUP_NAMES, Check, Context
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column

GROUPS = Quantity("groups", "groups", "groups in all, and those with samples in more than one split")
TIMES = Quantity("time_range", "", "earliest and latest time of a split")
TIME = re.compile(r"(^|_)(date|time|datetime|timestamp)($|_)|_at$")
NOT_GROUPS = {"sample_id", "row_id", "image_id", "label_id", "class_id", "category_id", "file_id"}


class Leakage(Check):
    ids = ("group-leakage", "time-leakage")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        names = {f.name.lower(): f.name for f in context.fields if not f.shape}
        groups = [n for n in names if n in GROUP_NAMES or (n.endswith("_id") and n not in NOT_GROUPS)]
        times = [n for n in names if TIME.search(n)]
        self.group = context.group or next((names[n] for n in groups if names[n] != context.label), None)
        self.time = context.time or next((names[n] for n in times), None)
        self.groups: dict[str, set[str]] = {}
        self.times: dict[str, tuple[Any, Any]] = {}

    def applies(self) -> bool:
        return len(self.context.splits) > 1 and (self.group is not None or self.time is not None)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        split = block.unit.split
        if split is None:
            return
        if self.group in block.columns:
            for value in set(_present(block.columns[self.group])):
                self.groups.setdefault(str(value), set()).add(split)
        if self.time in block.columns:
            present = _present(block.columns[self.time])
            if present:
                self._range(split, min(present), max(present))

    def _range(self, split: str, low: Any, high: Any) -> None:
        known = self.times.get(split)
        self.times[split] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Leakage)
        self.seen += other.seen
        for value, splits in other.groups.items():
            self.groups.setdefault(value, set()).update(splits)
        for split, (low, high) in other.times.items():
            self._range(split, low, high)

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        if self.groups:
            astride = sorted(g for g, splits in self.groups.items() if len(splits) > 1)
            value = {"groups": len(self.groups), "astride": len(astride), "first": astride[:20], "field": self.group}
            value["taken"] = "as asked" if self.context.group else "for a group by its name"
            yield Fact(GROUPS, value, evidence)
        for split, (low, high) in self.times.items():
            value = {"earliest": _plain(low), "latest": _plain(high), "field": self.time}
            value["taken"] = "as asked" if self.context.time else "for a time by its name"
            yield Fact(TIMES, value, evidence, {"split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        groups = facts.find(GROUPS)
        if groups is not None and groups.value["astride"]:
            g = groups.value
            asked: Severity = "error" if self.context.group else "warning"
            yield finding(
                "group-leakage",
                asked,
                f"{g['astride']} of {g['groups']} values of {g['field']} have samples in more than one split"
                + ("" if self.context.group else f" ({g['field']} was taken for a group by its name)"),
                groups,
                "split by group, so that a group is in one split only",
                [{"field": g["field"], "value": escaped(v)} for v in g["first"]],
                g["astride"],
            )
        train = facts.find(TIMES, split="train")
        for fact in facts.all(TIMES):
            if train is None or fact.at["split"] == "train" or not train.value["latest"] > fact.value["earliest"]:
                continue
            severity: Severity = "error" if self.context.time else "info"
            yield finding(
                "time-leakage",
                severity,
                f"training samples reach {train.value['latest']}, {fact.at['split']} begins at {fact.value['earliest']}"
                + ("" if self.context.time else f" ({self.time} was taken for a time by its name)"),
                [train, fact],
                "split by time: train on what came before",
                [{"field": self.time, "split": fact.at["split"]}],
            )


def _present(column: Column) -> list[Any]:
    """The values that are there: neither absent nor NaN."""
    values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
    absent = column.nulls
    return [v for i, v in enumerate(values) if v is not None and v == v and (absent is None or not absent[i])]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


CHECK = Leakage

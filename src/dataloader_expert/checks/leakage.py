"""Groups that straddle splits, and times that run backwards from train to test."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import GROUP_NAMES, Check, Context
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.times import READINGS, read_time

GROUPS = Quantity("groups", "groups", "groups in all, and those with samples in more than one split")
TIMES = Quantity("time_range", "", "earliest and latest time of a split, by each way in which its dates can be read")
TIME = re.compile(r"(^|_)(date|time|datetime|timestamp)($|_)|_at$")
Moment = tuple[float, Any]
"""Seconds that compare, and the value that said so."""
Range = tuple[Moment, Moment]
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
        self.times: dict[str, dict[str, Range]] = {}
        self.unreadable: set[str] = set()
        self.no_time: Any = None
        """A value of the time's field that is none."""

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
            for value in set(_present(block.columns[self.time])):
                for reading, seconds in zip(READINGS, read_time(value), strict=True):
                    if seconds is None:
                        self.no_time = value if self.no_time is None else self.no_time
                        self.unreadable.add(reading)
                    else:
                        self._range(split, reading, (seconds, value), (seconds, value))

    def _range(self, split: str, reading: str, low: Moment, high: Moment) -> None:
        ranges = self.times.setdefault(split, {})
        known = ranges.get(reading)
        ranges[reading] = (
            (low, high) if known is None else (min(low, known[0], key=_when), max(high, known[1], key=_when))
        )

    def merge(self, other: Check) -> None:
        assert isinstance(other, Leakage)
        self.seen += other.seen
        for value, splits in other.groups.items():
            self.groups.setdefault(value, set()).update(splits)
        for split, ranges in other.times.items():
            for reading, (low, high) in ranges.items():
                self._range(split, reading, low, high)
        self.unreadable |= other.unreadable
        self.no_time = other.no_time if self.no_time is None else self.no_time

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        if self.groups:
            astride = sorted(g for g, splits in self.groups.items() if len(splits) > 1)
            value = {"groups": len(self.groups), "astride": len(astride), "first": astride[:20], "field": self.group}
            value["taken"] = "as asked" if self.context.group else "for a group by its name"
            yield Fact(GROUPS, value, evidence)
        for split, ranges in self.times.items():
            for reading, (low, high) in ranges.items():
                if reading in self.unreadable:
                    continue
                value = {"earliest": _plain(low[1]), "latest": _plain(high[1]), "field": self.time}
                value.update(since=low[0], until=high[0])
                value["taken"] = "as asked" if self.context.time else "for a time by its name"
                yield Fact(TIMES, value, evidence, {"split": split, "reading": reading})

    def unknowns(self) -> Iterable[Unknown]:
        if len(self.unreadable) == len(READINGS):
            yield Unknown(
                "time-leakage", f"{escaped(self.time)} holds what is no time, such as {escaped(self.no_time, 40)}"
            )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        groups = facts.find(GROUPS)
        if groups is not None and groups.value["astride"]:
            g = groups.value
            asked: Severity = "error" if self.context.group else "warning"
            yield finding(
                "group-leakage",
                asked,
                f"{g['astride']} of {g['groups']} values of {escaped(g['field'])} have samples in more than one split"
                + ("" if self.context.group else f" ({g['field']} was taken for a group by its name)"),
                groups,
                "split by group, so that a group is in one split only",
                [{"field": g["field"], "value": escaped(v)} for v in g["first"]],
                g["astride"],
            )
        for split in dict.fromkeys(str(f.at["split"]) for f in facts.all(TIMES)):
            pairs = [
                (facts.find(TIMES, split="train", reading=r), facts.find(TIMES, split=split, reading=r))
                for r in READINGS
            ]
            both = [(train, other) for train, other in pairs if train is not None and other is not None]
            if split == "train" or not both or not all(t.value["until"] > o.value["since"] for t, o in both):
                continue  # by one reading at least they are in order
            train, other = both[0]
            severity: Severity = "error" if self.context.time else "info"
            yield finding(
                "time-leakage",
                severity,
                f"training samples reach {escaped(train.value['latest'])}, {split} begins at {escaped(other.value['earliest'])}"
                + ("" if self.context.time else f" ({escaped(self.time)} was taken for a time by its name)"),
                [train, other],
                "split by time: train on what came before",
                [{"field": self.time, "split": split}],
            )


def _present(column: Column) -> list[Any]:
    """The values that are there: neither absent nor NaN."""
    values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
    absent = column.nulls
    return [v for i, v in enumerate(values) if v is not None and v == v and (absent is None or not absent[i])]


def _when(moment: Moment) -> float:
    return moment[0]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


CHECK = Leakage

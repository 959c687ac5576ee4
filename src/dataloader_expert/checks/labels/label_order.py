"""Rows in the order of their labels: splits by position, and readers that do not shuffle, see one class after another.

Method: the number of neighbours with different labels, compared with its expectation in random order (Wald and Wolfowitz, "On a test
whether two samples are from the same population", 1940).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

ORDER = Quantity(
    "label_order", "pairs of neighbours", "neighbours with different labels, and how many random order has"
)
LEAST, FEW = 30, 0.1
"""The fewest changes that random order must have, and the largest share of these that is an order by label."""
MOST_LABELS = 1_000
STREAMED, SEVERAL = (".tar", ".tar.gz", ".tgz"), 2
"""The ends of names of files that are read as streams, and the fewest of a split."""


class LabelOrder(Check):
    ids = ("sorted-by-label",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.changes: Counter[str] = Counter()
        self.pairs: Counter[str] = Counter()
        """By split."""
        self.labels: dict[str, Counter[Any]] = {}
        self.shards: dict[str, set[str]] = {}
        """The files of each split that are read as streams."""

    def applies(self) -> bool:
        return self.context.label is not None

    def looked(self) -> bool:
        return bool(self.pairs)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        import numpy as np

        column = block.columns.get(str(self.context.label))
        files = {unit.file for unit in block.unit.members or (block.unit,)}
        if (
            column is None or block.samples < 2 or 2 * len(files) > block.samples
        ):  # files are in the order of their folders
            return
        values = column.values[: block.samples]
        labels = self.labels.setdefault(str(block.unit.split), Counter())
        if len(labels) > MOST_LABELS:
            return
        if getattr(values, "ndim", 0) == 1:
            distinct, counts = np.unique(values, return_counts=True)
            labels.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))
            changes = int((values[1:] != values[:-1]).sum())
        elif column.coded is not None:
            labels.update(column.counts())
            changes = int((column.coded[0][1:] != column.coded[0][:-1]).sum())
        elif all(isinstance(value, str | int | None) for value in values):
            labels.update(values)
            changes = sum(a != b for a, b in itertools.pairwise(values))
        else:
            return
        if all(file.endswith(STREAMED) for file in files):
            self.shards.setdefault(str(block.unit.split), set()).update(files)
        self.pairs[str(block.unit.split)] += block.samples - 1
        self.changes[str(block.unit.split)] += changes

    def merge(self, other: Check) -> None:
        assert isinstance(other, LabelOrder)
        self.seen += other.seen
        self.pairs += other.pairs
        self.changes.update(other.changes)
        for split, shards in other.shards.items():
            self.shards.setdefault(split, set()).update(shards)
        for split, labels in other.labels.items():
            self.labels.setdefault(split, Counter()).update(labels)

    def facts(self) -> Iterable[Fact]:
        found, random, shards = 0, 0.0, 0
        for split, labels in self.labels.items():
            n = labels.total()
            if not n or len(labels) > MOST_LABELS:
                return
            by_chance = self.pairs[split] * (1 - sum(k * k for k in labels.values()) / n**2)
            found += self.changes[split]
            random += by_chance
            ordered = by_chance >= LEAST and self.changes[split] <= FEW * by_chance
            shards = max(shards, len(self.shards.get(split, ())) if ordered else 0)
        if random:
            yield Fact(
                ORDER, {"changes": found, "random": random, "shards": shards}, self.evidence(n=sum(self.pairs.values()))
            )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ORDER):
            found, random = fact.value["changes"], fact.value["random"]
            shards = fact.value["shards"]
            in_order = random >= LEAST and found <= FEW * random
            if (in_order or shards >= SEVERAL) and self.context.timed is None and self.context.grouped is None:
                name = escaped(str(self.context.label))
                text = f"samples are sorted by {name}: within files it changes {number(found, 'time')} from one sample to the next, against "
                text += f"{random:,.0f} in random order"
                fix = "shuffle them before splitting by position; load them with shuffle=True, or a stream with a shuffle buffer larger than a class"
                if shards >= SEVERAL:
                    text += f"; the {shards} shards of a split are streamed, so training sees one class at a time"
                    fix = "shuffle all samples once and rewrite the shards: a shuffle buffer only mixes samples that are a few thousand apart"
                severity: Severity = "warning" if shards >= SEVERAL else "info"
                yield finding("sorted-by-label", severity, text, fact, fix, [{"field": str(self.context.label)}])


CHECK = LabelOrder

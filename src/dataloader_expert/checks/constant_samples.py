"""Samples whose array holds a single value while others vary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import STATISTICS, Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

CONSTANT = Quantity("constant_samples", "samples", "samples whose array has a single value throughout, with places")
LEAST = 8
"""Shorter arrays may well be constant."""
FEW = 100
"""For integers, at most one constant sample in this many is odd; if there are more, they may be masks."""


class ConstantSamples(Check):
    ids = ("constant-samples",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = ("array", "sequence", "embedding", "image")
        self.whole = {f.name for f in context.fields if "float" not in f.dtype}
        self.fields = [
            f.name
            for f in context.fields
            if f.kind in kinds
            and f.shape
            and f.name not in (context.label, context.classes_of_objects)
            and f.dtype != "bool"
        ]
        self.counts: Counter[str] = Counter()
        self.varied: Counter[str] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        for name in self.fields:
            if name not in block.columns:
                continue
            values = block.columns[name].values
            flat = values.reshape(len(values), -1) if isinstance(values, np.ndarray) else [_flat(v) for v in values]
            if isinstance(flat, np.ndarray):
                one = np.zeros(len(flat), bool)
                if flat.shape[1] >= LEAST:  # few rows begin with equal values, and only those are compared in full
                    rows = np.flatnonzero((flat[:, :LEAST] == flat[:, :1]).all(1))
                    one[rows] = (flat[rows] == flat[rows, :1]).all(1)
            else:
                one = np.array([v is not None and len(v) >= LEAST and _constant(v) for v in flat], bool)
            self.counts[name] += int(one.sum())
            self.varied[name] += len(one) - int(one.sum())
            for i in np.flatnonzero(one)[:MAX_PLACES].tolist():
                self.where.add(name, block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, ConstantSamples)
        self.seen += other.seen
        self.counts += other.counts
        self.varied += other.varied
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name, n in sorted(self.counts.items()):
            value = {"count": n, "varied": self.varied[name], "where": self.where.of(name)}
            yield Fact(CONSTANT, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CONSTANT):
            v, name = fact.value, str(fact.at["field"])
            if name in self.whole and v["count"] * FEW > v["varied"]:
                continue  # masks may well be empty
            ranges = [(f.value["min"], f.value["max"]) for f in facts.all(STATISTICS, field=name)]
            if name in self.whole and ranges and all(low is not None and 0 <= low <= high <= 1 for low, high in ranges):
                continue  # marks, such as which tokens count: all of a sample's may be set
            if v["count"] and v["varied"]:
                yield finding(
                    "constant-samples",
                    "warning",
                    f"{v['count']} of {v['count'] + v['varied']} samples {verb(v['count'], 'have')} a single value throughout {escaped(name)}",
                    fact,
                    "inspect them: they may be blank or failed recordings; drop the empty ones",
                    v["where"],
                    v["count"],
                )


def _constant(value: Any) -> bool:
    return bool((value[:LEAST] == value[0]).all() and (value == value[0]).all())


def _flat(value: Any) -> Any:
    return value.reshape(-1) if hasattr(value, "reshape") and value.dtype.kind in "biufc" else None


CHECK = ConstantSamples

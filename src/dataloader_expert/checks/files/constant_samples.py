"""Samples whose array holds a single value while others vary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import LABELS_EACH, STATISTICS, Check, Context
from dataloader_expert.checks.common.class_maps import NAMES
from dataloader_expert.checks.common.fingerprint import constant
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.files.shape_findings import of_objects
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Field
from dataloader_expert.sources.roles import words

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
        self.marks = {
            f.name
            for f in context.fields
            if ("float" not in f.dtype and not _in_colour(f)) or set(words(f.name)) & NAMES
        }
        """Fields that may be masks, or mark something: whole numbers, but for images in colour; and what is named so."""
        self.fields = [
            f.name
            for f in context.fields
            if f.kind in kinds
            and f.shape
            and f.name != context.label
            and not of_objects(f, context)  # of objects whose keypoints nobody labelled, all are 0
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
            if isinstance(values, np.ndarray):
                one = constant(values, LEAST)
            else:
                one = np.array([hasattr(v, "reshape") and bool(constant(v[None], LEAST)[0]) for v in values], bool)
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
            if facts.find(LABELS_EACH, field=name) is not None:
                continue  # several labels a sample, or none
            if name in self.marks and v["count"] * FEW > v["varied"]:
                continue  # masks may well be empty
            ranges = [(f.value["min"], f.value["max"]) for f in facts.all(STATISTICS, field=name)]
            if name in self.marks and ranges and all(low is not None and 0 <= low <= high <= 1 for low, high in ranges):
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


def _in_colour(field: Field) -> bool:
    return field.kind == "image" and len(field.shape) == 3 and 3 in (field.shape[0], field.shape[-1])


CHECK = ConstantSamples

"""NaN and infinities in what nested objects hold, such as a dictionary of lists in a line of JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

NOT_FINITE = Quantity("nested_not_finite", "values", "NaN or infinite numbers in nested objects, with their samples")
MOST = 20
"""Distinct places within objects that are told apart; keys may be data themselves."""
DEEPEST = 32


class Nested(Check):
    ids = ("nan", "inf")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = context.nested
        self.counts: Counter[tuple[str, str]] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name, i, value in block.values(self.fields):
            for path, leaf in floats(value, name):
                if not math.isfinite(leaf):
                    code = "nan" if leaf != leaf else "inf"
                    kind = code, path if (code, path) in self.counts or len(self.counts) < MOST else name
                    self.counts[kind] += 1
                    self.where.add(kind, block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Nested)
        self.seen += other.seen
        self.counts += other.counts
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for (code, path), n in sorted(self.counts.items()):
            value = {"count": n, "where": self.where.of((code, path))}
            yield Fact(NOT_FINITE, value, self.evidence(), {"code": code, "path": path})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NOT_FINITE):
            code, n = str(fact.at["code"]), fact.value["count"]
            yield finding(
                code,
                "error",
                f"{fact.at['path']} has {number(n, 'NaN' if code == 'nan' else 'infinite value')}",
                fact,
                "find where they arise; drop or impute those samples before training: a single one makes the loss NaN",
                fact.value["where"],
                n,
            )


def floats(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, float]]:
    """The floats in dictionaries and lists, each with its path: ``sensor.values[]``."""
    if isinstance(value, float):
        yield path, value
    elif depth < DEEPEST and isinstance(value, dict):
        for key, inner in value.items():
            yield from floats(inner, f"{path}.{key}", depth + 1)
    elif depth < DEEPEST and isinstance(value, list | tuple):
        for inner in value:
            yield from floats(inner, f"{path}[]", depth + 1)
    elif getattr(getattr(value, "dtype", None), "kind", "") == "f":
        yield from ((f"{path}[]" if value.ndim else path, leaf) for leaf in value.reshape(-1).tolist())


CHECK = Nested

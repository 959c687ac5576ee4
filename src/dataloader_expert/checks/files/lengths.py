"""Fields of a sample that run in step, such as tokens and their tags: where their lengths differ, a loss or a collate
function raises."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

IN_STEP = Quantity("lengths_in_step", "samples", "samples in which two ragged fields have as many elements, and others")
FIELDS = 8
"""The most ragged fields that are compared with each other."""
LEAST, NEARLY_ALL = 10, 0.9
"""The fewest samples, and the share of them in which two fields must be as long as each other to belong together."""


class Lengths(Check):
    ids = ("length-mismatch",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.shape[:1] == (None,) or f.dtype == "list"][:FIELDS]
        self.pairs = list(itertools.combinations(self.fields, 2))
        self.equal: Counter[tuple[str, str]] = Counter()
        self.unequal: Counter[tuple[str, str]] = Counter()
        self.distinct: dict[str, set[int]] = {name: set() for name in self.fields}
        """Up to two lengths of each field."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.pairs)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        lengths = {n: _lengths(block.columns[n].values) for n in self.fields if n in block.columns}
        for name, own in lengths.items():
            if len(self.distinct[name]) < 2:
                self.distinct[name] |= {int(n) for n in np.unique(own[own >= 0])[:2]}
        for pair in self.pairs:
            if not set(pair) <= lengths.keys():
                continue
            one, two = lengths[pair[0]], lengths[pair[1]]
            there = (one >= 0) & (two >= 0)
            odd = np.flatnonzero(there & (one != two))
            self.equal[pair] += int(there.sum()) - len(odd)
            self.unequal[pair] += len(odd)
            for i in odd[: self.where.room(pair, block.unit.file)].tolist():
                self.where.add(pair, block, i, pair[1])

    def merge(self, other: Check) -> None:
        assert isinstance(other, Lengths)
        self.seen += other.seen
        self.equal += other.equal
        self.unequal += other.unequal
        self.where.merge(other.where)
        for name, some in other.distinct.items():
            self.distinct[name] = set(sorted(self.distinct[name] | some)[:2])

    def facts(self) -> Iterable[Fact]:
        for pair in self.pairs:
            equal, unequal = self.equal[pair], self.unequal[pair]
            ragged = all(len(self.distinct[name]) > 1 for name in pair)
            if ragged and unequal and equal + unequal >= LEAST and equal >= NEARLY_ALL * (equal + unequal):
                value = {"equal": equal, "unequal": unequal, "where": self.where.of(pair)}
                yield Fact(IN_STEP, value, self.evidence(), {"field": pair[1], "other": pair[0]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(IN_STEP):
            v, (one, two) = fact.value, (escaped(fact.at["other"]), escaped(fact.at["field"]))
            samples = f"{v['unequal']} sample{'s' * (v['unequal'] > 1)}"
            yield finding(
                "length-mismatch",
                "error",
                f"{one} and {two} differ in length in {samples}; in the other {v['equal']:,} they are equally long",
                fact,
                "align them again, or drop these samples: a loss over both fields raises, or pairs the wrong elements",
                v["where"],
                v["unequal"],
            )


def _lengths(values: Any) -> Any:
    """The number of elements of each value on its first axis, int64 [n]; -1 where there is none."""
    import numpy as np

    if isinstance(values, np.ndarray):
        return np.full(len(values), values.shape[1] if values.ndim > 1 else -1)
    return np.array(
        [len(v) if hasattr(v, "__len__") and not isinstance(v, str | bytes | dict) else -1 for v in values], np.int64
    )


CHECK = Lengths

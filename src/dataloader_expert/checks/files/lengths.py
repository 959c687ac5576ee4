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
from dataloader_expert.sources.roles import words

IN_STEP = Quantity("lengths_in_step", "samples", "samples in which two ragged fields have as many elements, and others")
FIELDS = 8
"""The most ragged fields that are compared with each other."""
LEAST, NEARLY_ALL = 10, 0.9
"""The fewest samples, and the share of them in which two fields must be as long as each other to belong together."""
NAMED, LEAST_IN_SPLIT, LENGTHS = 0.7, 30, 8
"""That share for fields whose names begin with the same word, as those of the edges of a graph do; and the fewest samples, and lengths among
them, of a split in which all are equally long: by chance they never are."""


class Lengths(Check):
    ids = ("length-mismatch",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        ragged = [f for f in context.fields if None in f.shape[:2] or f.dtype == "list"]
        self.axes = {f.name: f.shape.index(None) if None in f.shape[:2] else 0 for f in ragged if f.kind != "image"}
        """Of each field, the axis along which samples differ: the last one of the edges of a graph, [2, n]."""
        self.fields = [*self.axes][:FIELDS]
        self.pairs = list(itertools.combinations(self.fields, 2))
        self.equal: Counter[tuple[str, str]] = Counter()
        self.unequal: Counter[tuple[str, str]] = Counter()
        self.by_split: dict[tuple[tuple[str, str], str | None], tuple[int, int]] = {}
        """Samples of a split, and of them those in which two fields are equally long."""
        self.distinct: dict[str, set[int]] = {name: set() for name in self.fields}
        """Some lengths of each field."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.pairs)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        lengths = {n: _lengths(block.columns[n].values, self.axes[n]) for n in self.fields if n in block.columns}
        names, codes = self.context.splits_of(block)
        for name, own in lengths.items():
            if len(self.distinct[name]) < LENGTHS:
                self.distinct[name] |= {int(n) for n in np.unique(own[own >= 0])[:LENGTHS]}
        for pair in self.pairs:
            if not set(pair) <= lengths.keys():
                continue
            one, two = lengths[pair[0]], lengths[pair[1]]
            there = (one >= 0) & (two >= 0)
            odd = np.flatnonzero(there & (one != two))
            self.equal[pair] += int(there.sum()) - len(odd)
            self.unequal[pair] += len(odd)
            for code, split in enumerate(names):
                here = there & (codes[: len(there)] == code)
                n, same = self.by_split.get((pair, split), (0, 0))
                self.by_split[pair, split] = n + int(here.sum()), same + int((here & (one == two)).sum())
            for i in odd[: self.where.room(pair, block.unit.file)].tolist():
                self.where.add(pair, block, i, pair[1])

    def merge(self, other: Check) -> None:
        assert isinstance(other, Lengths)
        self.seen += other.seen
        self.equal += other.equal
        self.unequal += other.unequal
        self.where.merge(other.where)
        for at, (n, same) in other.by_split.items():
            mine = self.by_split.get(at, (0, 0))
            self.by_split[at] = mine[0] + n, mine[1] + same
        for name, some in other.distinct.items():
            self.distinct[name] = set(sorted(self.distinct[name] | some)[:LENGTHS])

    def facts(self) -> Iterable[Fact]:
        for pair in self.pairs:
            equal, unequal = self.equal[pair], self.unequal[pair]
            ragged = all(len(self.distinct[name]) > 1 for name in pair)
            if ragged and unequal and equal + unequal >= LEAST and self._in_step(pair):
                value = {"equal": equal, "unequal": unequal, "where": self.where.of(pair)}
                yield Fact(IN_STEP, value, self.evidence(), {"field": pair[1], "other": pair[0]})

    def _in_step(self, pair: tuple[str, str]) -> bool:
        """Whether two fields belong together: in nearly all samples, in most of them by their names, or in one split without exception."""
        share = self.equal[pair] / (self.equal[pair] + self.unequal[pair])
        begin = [words(name)[:1] for name in pair]
        whole = any(n == same >= LEAST_IN_SPLIT for (of, _), (n, same) in self.by_split.items() if of == pair)
        varied = all(len(self.distinct[name]) >= LENGTHS for name in pair)
        return share >= (NAMED if begin[0] == begin[1] else NEARLY_ALL) or (whole and varied)

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


def _lengths(values: Any, axis: int) -> Any:
    """The number of elements of each value along an axis, int64 [n]; -1 where there is none."""
    import numpy as np

    if isinstance(values, np.ndarray):
        return np.full(len(values), values.shape[axis + 1] if values.ndim > axis + 1 else -1)
    if axis:
        return np.array([v.shape[axis] if getattr(v, "ndim", 0) > axis else -1 for v in values], np.int64)
    return np.array(
        [len(v) if hasattr(v, "__len__") and not isinstance(v, str | bytes | dict) else -1 for v in values], np.int64
    )


CHECK = Lengths

"""Graphs and meshes: arrays whose numbers say which rows of another array of the sample belong together.

That an array points into another one shows in the data: its largest number is the last row's in most samples, however many rows these have.
Edges that are there in both directions in one split are in both in the others, or messages pass one way only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Field
from dataloader_expert.sources.roles import words

BEYOND = Quantity(
    "indices_beyond", "samples", "samples in which an array points beyond the rows of another one, with places"
)
BOTH_WAYS = Quantity("edges_both_ways", "", "the share of each split's graphs that have each edge in both directions")
POINTING, ENDS = ("edge", "edges", "adjacency", "face", "faces", "triangles"), (2, 3, 4)
"""Words in the names of arrays that point at rows, and how many rows each of their entries joins."""
SAID_OF_EACH = {
    "attr", "attrs", "attribute", "attributes", "feat", "feats", "feature", "features", "type", "types", "weight", "weights",
}  # fmt: skip
"""Words in the names of arrays that say something of each edge or node."""
FIELDS, LENGTHS = 4, 3
"""The most arrays that may point, or be pointed at; and the fewest numbers of rows that samples must have."""
LEAST, MOSTLY = 10, 0.5
"""The fewest samples, and the share in which an array must reach the last row of another one to point into it."""
NEARLY_ALL, HARDLY = 0.95, 0.05
Pair = tuple[str, str]


class Edges(Check):
    ids = ("out-of-range-ids", "preprocessing-differs")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.pointing = [f.name for f in context.fields if _points(f)][:FIELDS]
        rows = [f for f in context.fields if _is_pointed_at(f)]
        self.measured = {f.name for f in rows if "float" in f.dtype}
        """Numbers of other kinds may count what they like."""
        names = sorted((f.name for f in rows), key=lambda name: name not in self.measured)[:FIELDS]
        pairs = product(self.pointing, names)
        self.pairs: list[Pair] = [(a, b) for a, b in pairs if a != b and (b in self.measured or _named(a))]
        self.counts: dict[Pair, Counter[str]] = {pair: Counter() for pair in self.pairs}
        """By what the largest number is: that of the last row, one more, larger still, or negative."""
        self.lengths: dict[Pair, set[int]] = {pair: set() for pair in self.pairs}
        self.graphs: Counter[tuple[str, str | None]] = Counter()
        self.both: Counter[tuple[str, str | None]] = Counter()
        """Graphs with edges by split, and those of them that have each in both directions."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.pointing)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        names, codes = self.context.splits_of(block)
        for name, i, value in block.values(self.pointing):
            if not hasattr(value, "dtype") or value.dtype.kind not in "iu" or value.ndim != 2 or not value.size:
                continue
            if 2 in value.shape:
                at = name, names[int(codes[i])]
                self.graphs[at] += 1
                self.both[at] += _both_ways(value if value.shape[0] == 2 else value.T)
            least, most = int(value.min()), int(value.max())
            for pair in self.pairs:
                column = block.columns.get(pair[1]) if pair[0] == name else None
                if column is None or not hasattr(column.values[i], "__len__"):
                    continue
                n = len(column.values[i])
                self._count(pair, n, least, most)
                if least < 0 or most >= n:
                    self.where.add(pair, block, i, name)

    def _count(self, pair: Pair, n: int, least: int, most: int) -> None:
        counts = self.counts[pair]
        counts["samples"] += 1
        counts["last"] += most == n - 1
        counts["within"] += least >= 0 and most < n
        counts["from one"] += least == 1 and most == n
        if len(self.lengths[pair]) < LENGTHS:
            self.lengths[pair].add(n)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Edges)
        self.seen += other.seen
        for pair, counts in other.counts.items():
            self.counts[pair] += counts
            self.lengths[pair] = {*sorted(self.lengths[pair] | other.lengths[pair])[:LENGTHS]}
        self.graphs += other.graphs
        self.both += other.both
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name in self.pointing:
            yield from self._beyond([pair for pair in self.pairs if pair[0] == name])
            shares = {
                split: self.both[at] / n
                for at, n in self.graphs.items()
                if at[0] == name and n >= LEAST and (split := at[1]) is not None
            }
            if len(shares) > 1:
                yield Fact(BOTH_WAYS, {"shares": shares}, self.evidence(), {"field": name})

    def _beyond(self, pairs: list[Pair]) -> Iterator[Fact]:
        """Of the array that the field points into, if it does."""
        found = [pair for pair in pairs if self._into(pair)]
        if found:
            pair = max(found, key=lambda pair: (self.counts[pair]["last"], self.counts[pair]["from one"]))
            counts = self.counts[pair]
            odd = counts["samples"] - counts["within"]
            if odd:
                value = {"count": odd, "of": counts["samples"], "from_one": counts["from one"]}
                yield Fact(
                    BEYOND, value | {"where": self.where.of(pair)}, self.evidence(), {"field": pair[0], "rows": pair[1]}
                )

    def _into(self, pair: Pair) -> bool:
        counts = self.counts[pair]
        n, reach = counts["samples"], max(counts["last"], counts["from one"])
        named = pair[1] in self.measured and _named(pair[0])
        named = named and counts["within"] + counts["from one"] >= MOSTLY * n
        return n >= LEAST and len(self.lengths[pair]) >= LENGTHS and (reach >= MOSTLY * n or named)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BEYOND):
            v, name, rows = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["rows"]))
            text = f"{name} points beyond the last row of {rows} in {v['count']:,} of {number(v['of'], 'sample')}"
            fix = f"find out which {rows} was meant, or drop these samples: indexing raises, or another sample of the batch is read"
            if 2 * v["from_one"] >= v["count"]:
                text += ": it seems to count from 1, since its smallest number is 1 and its largest the number of rows"
                fix = f"subtract 1 from {name} there: frameworks count from 0"
            yield finding("out-of-range-ids", "error", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(BOTH_WAYS):
            shares, name = fact.value["shares"], escaped(str(fact.at["field"]))
            both = [escaped(split) for split, share in shares.items() if share >= NEARLY_ALL]
            single = [escaped(split) for split, share in shares.items() if share <= HARDLY]
            if both and single:
                text = f"{name} holds each edge in both directions in {' and '.join(both)}, but in one direction only in {' and '.join(single)}"
                fix = f"prepare {' and '.join(single)} like {' and '.join(both)}, for example with torch_geometric.utils.to_undirected"
                yield finding("preprocessing-differs", "warning", text, fact, fix, [{"field": fact.at["field"]}])


def _points(field: Field) -> bool:
    """Whether it may hold the ends of edges, or the corners of faces: whole numbers, two to four for each of any number of entries."""
    fits = len(field.shape) == 2 and field.dtype.startswith(("int", "uint")) and field.kind != "image"
    fits = fits and not {*words(field.name)} & SAID_OF_EACH
    return fits and any(field.shape[k] is None and field.shape[1 - k] in ENDS for k in (0, 1))


def _named(name: str) -> bool:
    """Whether a field is called after edges or faces: of whole numbers beside whole numbers nothing else tells which point where."""
    return bool({*words(name)} & {*POINTING})


def _is_pointed_at(field: Field) -> bool:
    """Whether it may have a row for each node: measurements, or whole numbers such as those of elements."""
    whole = "int" in field.dtype and not _named(field.name)
    return field.shape[:1] == (None,) and (whole or ("float" in field.dtype and len(field.shape) > 1))


def _both_ways(edges: Any) -> bool:
    """Whether edges, [2, n], are there in both directions."""
    import numpy as np

    one, other = edges.astype(np.int64)
    size = int(edges.max()) + 1
    return bool(np.array_equal(np.unique(one * size + other), np.unique(other * size + one)))


CHECK = Edges

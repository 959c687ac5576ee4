"""Columns that say the same, such as the number and the name of a class, which contradict each other in a few rows.

One column decides another if nearly every value of it goes with a single value of the other (an approximate functional dependency:
Huhtala et al., "TANE", The Computer Journal 42(2), 1999). Values that go with several, as towns of one name do, decide nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import CONSTANT, CONTRADICTED, Check, Context
from dataloader_expert.checks.common.places import Places, sample_of
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block, Column

MOST_COLUMNS, MOST_VALUES, MOST_CELLS = 16, 1_000, 20_000
"""Columns that are compared, distinct values of one in a block, and pairs of values that are counted."""
LEAST, EACH = 100, 20
"""The fewest rows with both values, and the fewest of a value that tell what it goes with."""
FEW, SELDOM = 0.01, 0.1
"""The largest share of rows, and of the rows of one value, that contradict the others; of few rows, as many as chance may make of it."""
NAMES, LUCK = 10, 3.0
"""From how many values on that each go with one other they are names of one thing, and not merely alike; and the standard deviations of a
number of rows that are chance: of these, so many more may contradict the others."""
NUMBERED, OF_ONE, CLASSES = 0.06, 0.2, 3
"""The same shares of names and their numbers, one for each of so many at least: only mistakes make these differ, if they are classes."""
HALF = 0.5
"""A value that as many rows have is common to all of another column by chance."""
APART = 0.05
"""The share of a block's rows that must contradict, both ways, to show that columns do not say the same."""
Pair = tuple[str, str]


@dataclass
class _Codes:
    """A block's values of a column: the code of each sample, -1 for none, and what the codes stand for."""

    codes: Any
    values: list[Any]


@dataclass
class _Seen:
    cells: Counter[tuple[Any, Any]] = field(default_factory=Counter)
    apart: bool = False


class Dependencies(Check):
    ids = ("columns-contradict",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        keys = {role.field for role in context.roles.keys}
        fields = [f for f in context.fields if not f.shape and f.name not in keys]
        self.fields = [f.name for f in fields if f.dtype == "str" or "int" in f.dtype][:MOST_COLUMNS]
        self.pairs: dict[Pair, _Seen] = {pair: _Seen() for pair in combinations(self.fields, 2)}
        self.where = Places()

    def applies(self) -> bool:
        return len(self.fields) > 1

    def looked(self) -> bool:
        return any(not seen.apart and seen.cells for seen in self.pairs.values())

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        alive = {name for pair, seen in self.pairs.items() if not seen.apart for name in pair}
        known = {name: codes_of(block.columns[name], block.samples) for name in alive if name in block.columns}
        for pair, seen in self.pairs.items():
            one, other = (known.get(name) for name in pair)
            if seen.apart or any(name in block.columns and known.get(name) is None for name in pair):
                seen.apart = True
                seen.cells.clear()
                continue
            if one is None or other is None:
                continue
            both = np.flatnonzero((one.codes >= 0) & (other.codes >= 0))
            cell = one.codes[both].astype(np.int64) * len(other.values) + other.codes[both]
            found, counts = np.unique(cell, return_counts=True)
            a, b = found // max(1, len(other.values)), found % max(1, len(other.values))
            odd = [counts < _most(of, counts)[of] for of in (a, b)]
            if len(both) >= LEAST and min(counts[o].sum() for o in odd) > APART * len(both):
                seen.apart = True
                seen.cells.clear()
                continue
            for i, j, n in zip(a.tolist(), b.tolist(), counts.tolist(), strict=True):
                seen.cells[one.values[i], other.values[j]] += n
            if len(seen.cells) > MOST_CELLS:
                seen.apart = True
                seen.cells.clear()
                continue
            for at in np.flatnonzero(odd[0] | odd[1]).tolist():
                rows = both[np.flatnonzero(cell == found[at])[:MAX_PLACES]]
                for row in rows.tolist():
                    kind = (pair, one.values[int(a[at])], other.values[int(b[at])])
                    self.where.add(kind, block, row, pair[1])

    def merge(self, other: Check) -> None:
        assert isinstance(other, Dependencies)
        self.seen += other.seen
        self.where.merge(other.where)
        for pair, theirs in other.pairs.items():
            mine = self.pairs[pair]
            mine.cells += theirs.cells
            mine.apart = mine.apart or theirs.apart or len(mine.cells) > MOST_CELLS
            if mine.apart:
                mine.cells.clear()

    def facts(self) -> Iterable[Fact]:
        for pair, seen in self.pairs.items():
            turned = Counter({(b, a): n for (a, b), n in seen.cells.items()})
            forth = contradictions(seen.cells)
            found = forth or {(a, b): n for (b, a), n in contradictions(turned).items()}
            several = not found
            if several:
                found = forth = contradictions(seen.cells, numbered=True)
            if not found:
                continue
            places = [place for a, b in found for place in self.where.of((pair, a, b))]
            example = max(found, key=lambda cell: (found[cell], str(cell)))
            of, to = (0, 1) if forth else (1, 0)
            usual = max((n, str(c[to])) for c, n in seen.cells.items() if c[of] == example[of])[1]
            value = {
                "count": sum(found.values()),
                "of": seen.cells.total(),
                "several": several,
                "both_ways": usual_of(turned) == {b: a for a, b in usual_of(seen.cells).items()},
                "example": [str(example[of]), str(example[to]), usual],
                "where": sorted(places, key=sample_of)[:MAX_PLACES],
            }
            yield Fact(CONTRADICTED, value, self.evidence(), {"fields": [pair[of], pair[to]]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CONTRADICTED):
            v, (one, other) = fact.value, (escaped(name) for name in fact.at["fields"])
            a, b, usual = (escaped(text, 40) for text in v["example"])
            text = f"{one} and {other} contradict each other in {v['count']:,} of {number(v['of'], 'row')}: {one} {a} goes with {other} {b} there, but with {usual} elsewhere"
            fix = "find out which of the two columns is right, and correct the other"
            comes_back = any(  # as what has changed for good does not
                known.value["back"] and {known.at["field"], known.at["group"]} == {*fact.at["fields"]}
                for known in facts.all(CONSTANT)
            )
            sure = v["both_ways"] and (not v["several"] or self.context.label in fact.at["fields"])
            severity: Severity = "warning" if sure or comes_back else "info"
            yield finding("columns-contradict", severity, text, fact, fix, v["where"], v["count"])


def codes_of(column: Column, n: int) -> _Codes | None:
    """The codes of a column's values; None if they are too many, or neither texts nor whole numbers."""
    import numpy as np

    values = column.values
    if column.coded is not None:
        codes, texts = column.coded
        if len(texts) > MOST_VALUES:
            return None
        none = np.array([text is None for text in texts], bool)
        return _Codes(np.where(none[codes], -1, codes)[:n], list(texts))
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            return None
        if not len(values):
            return _Codes(np.empty(0, np.int64), [])
        low = int(values.min())
        if int(values.max()) - low >= 100 * MOST_VALUES:
            return None
        values = np.subtract(values, low, dtype=np.int64, casting="unsafe")
        there = np.flatnonzero(np.bincount(values))
        if len(there) > MOST_VALUES:
            return None
        codes = np.searchsorted(there, values)
        if column.nulls is not None:
            codes = np.where(column.nulls, -1, codes)
        return _Codes(codes[:n], (there + low).tolist())
    seen: dict[Any, int] = {}
    codes = np.full(n, -1, np.int64)
    for i, value in enumerate(values[:n]):
        if isinstance(value, str):
            codes[i] = seen.setdefault(value, len(seen))
            if len(seen) > MOST_VALUES:
                return None
        elif value is not None:
            return None
    return _Codes(codes, list(seen))


def _most(of: Any, counts: Any) -> Any:
    """The largest count of each code."""
    import numpy as np

    most = np.zeros(int(of.max()) + 1 if len(of) else 0, np.int64)
    np.maximum.at(most, of, counts)
    return most


def contradictions(cells: Counter[tuple[Any, Any]], numbered: bool = False) -> dict[tuple[Any, Any], int]:
    """The few pairs of values that contradict the others, with their rows; empty if the first column does not decide the second.

    ``numbered``: not so few of names and their numbers; of others none.
    """
    to: Counter[Any] = Counter()
    for (_, b), n in cells.items():
        to[b] += n
    total = to.total()
    if total < LEAST or len(to) < 2 or max(to.values()) > HALF * total:
        return {}
    found: dict[tuple[Any, Any], int] = {}
    decided = 0
    usual = usual_of(cells)
    if numbered and not _numbered(usual):
        return {}
    for a, going in _by_first(cells).items():
        n = going.total()
        odd = n - going[usual[a]]
        if odd > (OF_ONE if numbered else SELDOM) * n:
            return {}  # it goes with several
        decided += n >= EACH
        found |= {(a, b): k for b, k in going.items() if b != usual[a]}
    # what contradicts is the value of another: a swap, and no new spelling
    if decided < 2 or any(b not in usual.values() for _, b in found):
        return {}
    if sum(a == b for a, b in usual.items()) > HALF * len(usual):
        return {}  # two opinions on one thing, as of a label and a prediction
    few = FEW * total
    most = few + LUCK * math.sqrt(few) if len(usual) >= NAMES else few
    most = NUMBERED * total if numbered else most
    return found if 0 < sum(found.values()) <= most else {}


def _numbered(usual: dict[Any, Any]) -> bool:
    """Whether several names each go with a number of their own, or numbers with a name."""
    texts = [sum(isinstance(value, str) for value in values) for values in (usual, usual.values())]
    return len({*usual.values()}) == len(usual) >= CLASSES and sorted(texts) == [0, len(usual)]


def usual_of(cells: Counter[tuple[Any, Any]]) -> dict[Any, Any]:
    """What each value of the first column mostly goes with."""
    return {a: max(going, key=lambda b: (going[b], str(b))) for a, going in _by_first(cells).items()}


def _by_first(cells: Counter[tuple[Any, Any]]) -> dict[Any, Counter[Any]]:
    of: dict[Any, Counter[Any]] = {}
    for (a, b), n in cells.items():
        of.setdefault(a, Counter())[b] += n
    return of


CHECK = Dependencies

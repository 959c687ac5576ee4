"""Codes that are written with zeros in front in some rows and without in others: SC-00120 and SC-120, or in another case or with another
separator. Whoever counts, joins or splits by them takes one thing for two."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column

PADDED = Quantity(
    "codes_respelled", "codes", "codes that a field has in two spellings, equal but for zeros, case and separators"
)
FIELDS, MOST = 8, 100_000
"""The most fields that are looked at, and codes of one."""
FEWEST, MOSTLY = 3, 0.8
"""The fewest codes that are written in two ways, and the least share of a field's values that are codes."""
LONGEST, FIRST = 40, 64
"""Characters of a code, and values of a block that tell whether it is worth looking at the others."""
_CODE = re.compile(r"\s*(?:([A-Za-z]{1,12})[-_ ./#]?)?(\d{1,18})\s*")
"""What stands before the number separates it from letters: alone it is the sign of a number."""


class PaddedCodes(Check):
    ids = ("label-twins",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        plain = [f for f in context.fields if f.dtype == "str" and not f.shape and f.kind != "time"]
        split = None if context.roles.split is None else context.roles.split.field
        self.fields = [f.name for f in plain if f.name not in (split, context.label) and f.kind != "text"][:FIELDS]
        self.codes: dict[str, dict[str, tuple[int, str]]] = {name: {} for name in self.fields}
        """Of each field its values with the first sample of each, and the file of that."""
        self.lost: set[str] = set()
        """Fields of too many values, or of values that are no codes."""

    def applies(self) -> bool:
        return bool(self.fields)

    def looked(self) -> bool:
        return len(self.lost) < len(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name in self.fields:
            column = block.columns.get(name)
            if column is None or name in self.lost:
                continue
            known = self.codes[name]
            values = column.values[: block.samples]
            if not _are_codes([value for value in values[:FIRST] if isinstance(value, str) and value]):
                self._lose(name)
                continue
            first = _first(column, block.samples)
            if not _are_codes(first):
                self._lose(name)
                continue
            for value, i in first.items():
                place = (block.index(i), block.file(i))
                known[value] = min(place, known.get(value, place))
            if len(known) > MOST:
                self._lose(name)

    def _lose(self, name: str) -> None:
        self.lost.add(name)
        self.codes[name].clear()

    def merge(self, other: Check) -> None:
        assert isinstance(other, PaddedCodes)
        self.seen += other.seen
        for name, known in other.codes.items():
            mine = self.codes[name]
            for value, place in known.items():
                mine[value] = min(place, mine.get(value, place))
            if name in other.lost or len(mine) > MOST:
                self._lose(name)
        for name in self.lost:
            self.codes[name].clear()

    def facts(self) -> Iterable[Fact]:
        for name, known in self.codes.items():
            by_code: dict[tuple[str, int], list[str]] = {}
            for value in known if name not in self.lost else ():
                found = _CODE.fullmatch(value)
                if found is not None:
                    by_code.setdefault(((found[1] or "").casefold(), int(found[2])), []).append(value)
            twice = [sorted(values, key=lambda v: known[v]) for values in by_code.values() if len(values) > 1]
            if len(twice) >= FEWEST:
                later = sorted(known[value] for values in twice for value in values[1:])
                told = {
                    "count": len(twice),
                    "of": len(by_code),
                    "example": min(twice, key=lambda values: known[values[0]])[:2],
                    "where": [{"sample": i, "file": file or None, "field": name} for i, file in later[:MAX_PLACES]],
                }
                yield Fact(PADDED, told, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PADDED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} writes {number(v['count'], 'code')} of {v['of']:,} in two ways, such as {' and '.join(map(escaped, v['example']))}: they differ "
            text += "only in zeros in front, case or separators"
            fix = (
                "write all codes in one way; rows of one thing are otherwise counted, joined and split as those of two"
            )
            yield finding("label-twins", "warning", text, fact, fix, v["where"], v["count"])


def _first(column: Column, n: int) -> dict[str, int]:
    """The texts among ``n`` values, but for empty ones, with where each comes first."""
    import numpy as np

    if column.coded is not None:
        codes, texts = column.coded
        used, at = np.unique(codes[:n], return_index=True)
        return {text: i for k, i in zip(used.tolist(), at.tolist(), strict=True) if (text := texts[k])}
    first: dict[str, int] = {}
    for i, value in enumerate(column.values[:n]):
        if isinstance(value, str) and value:
            first.setdefault(value, i)
    return first


def _are_codes(values: Collection[str]) -> bool:
    return sum(len(v) <= LONGEST and _CODE.fullmatch(v) is not None for v in values) >= MOSTLY * len(values)


CHECK = PaddedCodes

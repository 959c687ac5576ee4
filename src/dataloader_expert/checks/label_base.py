"""Files whose class numbers begin at one where those of the others begin at zero: one shard, written by another script."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

BASES = Quantity(
    "label_bases", "files", "files whose class numbers are those of the others, each larger or smaller by one"
)
MOST_FILES, MOST_CLASSES, TOLD = 10_000, 1_000, 20
COVERED = 0.8
"""The least share of the classes that such a file has."""
CHANCE = 1e-6
"""How unlikely it must be that a file lacks the first class, or has the only samples of the one beyond the last."""


class LabelBase(Check):
    ids = ("label-out-of-range",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.counts: dict[str, dict[int, int]] = {}
        """Samples of each class number, by file."""
        self.classes: set[int] = set()
        self.many = False
        """Whether there are too many files, or numbers that are no classes."""

    def applies(self) -> bool:
        label = next((f for f in self.context.fields if f.name == self.context.label), None)
        return label is not None and not label.shape and "int" in label.dtype

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        column = block.columns.get(self.context.label or "")
        values = None if column is None else column.values
        if column is None or not isinstance(values, np.ndarray) or values.dtype.kind not in "iu" or values.ndim != 1:
            return
        there = np.arange(block.samples) if column.nulls is None else np.flatnonzero(~column.nulls[: block.samples])
        files = [block.file(int(i)) for i in there] if block.unit.members else [block.unit.file] * len(there)
        for file, rows in _by_file(files, there).items():
            found, counts = np.unique(values[rows], return_counts=True)
            self._add(file, dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def _add(self, file: str, counts: dict[int, int]) -> None:
        self.classes |= counts.keys()
        if self.many:
            return
        own = self.counts.setdefault(file, {})
        for value, n in counts.items():
            own[value] = own.get(value, 0) + n
        if len(self.counts) > MOST_FILES or len(self.classes) > MOST_CLASSES:
            self.many = True
            self.counts.clear()
            self.classes.clear()

    def merge(self, other: Check) -> None:
        assert isinstance(other, LabelBase)
        self.seen += other.seen
        if other.many:
            self.many = True
            self.counts.clear()
        for file, counts in other.counts.items():
            self._add(file, counts)

    def facts(self) -> Iterable[Fact]:
        for by in (1, -1):
            found = moved(self.counts, by)
            if found:
                samples = sum(sum(self.counts[file].values()) for file in found)
                every = {value for of in self.counts.values() for value in of}
                ends = (min(every), max(every)) if by == 1 else (max(every), min(every))
                value = {"files": sorted(found)[:TOLD], "count": len(found), "of": len(self.counts), "samples": samples}
                value |= {"end": ends[0], "beyond": ends[1]}
                yield Fact(BASES, value, self.evidence(), {"field": self.context.label, "by": by})
                return  # seen from them, the others are moved the other way

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BASES):
            v, name, more = fact.value, escaped(str(fact.at["field"])), fact.at["by"] == 1
            one = v["count"] == 1
            yield finding(
                "label-out-of-range",
                "warning",
                f"the class numbers of {name} in {escaped(v['files'][0]) if one else number(v['count'], 'file')} seem to be one "
                f"{'more' if more else 'less'} than in the other {number(v['of'] - v['count'], 'file')}: {'it has' if one else 'they have'} no "
                f"sample of class {v['end']}, and all samples of class {v['beyond']}",
                fact,
                f"{'subtract' if more else 'add'} one there, if that is so",
                [{"file": file, "field": fact.at["field"]} for file in v["files"]],
                v["samples"],
            )


def _by_file(files: list[str], rows: Any) -> dict[str, Any]:
    if len(set(files)) <= 1:
        return dict.fromkeys(files[:1], rows)
    found: dict[str, Any] = {}
    for file, row in zip(files, rows.tolist(), strict=True):
        found.setdefault(file, []).append(row)
    return found


def moved(counts: dict[str, dict[int, int]], by: int) -> list[str]:
    """The files whose class numbers are those of the others plus ``by``; the others are most of the samples."""
    every: dict[int, int] = {}
    for of in counts.values():
        for value, n in of.items():
            every[value] = every.get(value, 0) + n
    if len(counts) < 2 or len(every) < 3:
        return []
    beyond, end = (max(every), min(every)) if by == 1 else (min(every), max(every))
    found = [file for file, of in counts.items() if beyond in of and end not in of]
    if any(len(counts[file]) < COVERED * (len(every) - 1) for file in found):
        return []  # files of a few classes each
    others = [of for file, of in counts.items() if file not in found]
    if not found or any(beyond in of for of in others) or len(found) > len(counts) / 2:
        return []
    total = sum(sum(of.values()) for of in others)
    share_of_end = sum(of.get(end, 0) for of in others) / max(1, total)
    share_beyond = sum(counts[file][beyond] for file in found) / max(
        1, sum(sum(counts[file].values()) for file in found)
    )
    if total == 0 or not 0 < share_of_end < 1 or not 0 < share_beyond < 1:
        return []
    theirs = sum(sum(counts[file].values()) for file in found)
    lacks = theirs * math.log(1 - share_of_end)
    alone = total * math.log(1 - share_beyond)
    return found if lacks <= math.log(CHANCE) and alone <= math.log(CHANCE) else []


CHECK = LabelBase

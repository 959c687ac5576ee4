"""Files whose class numbers begin at one where those of the others begin at zero: one shard, written by another script; the same of splits, which one
file may hold; and one group of samples, such as those of one site, where a field tells them apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import LABEL_BASES, QUANTITY_LABEL, Check, Context
from dataloader_expert.checks.common.guessed_labels import is_outcome
from dataloader_expert.checks.common.rows_kept import NAME, distinct
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

GROUP_BASES = Quantity(
    "label_bases_of_groups",
    "samples",
    "samples of a group whose class numbers are those of all others, each larger or smaller by one",
)
MOST_FILES, MOST_CLASSES, TOLD = 10_000, 1_000, 20
COVERED, APART = 0.8, 0.05
"""The least share of the classes that such a file has; and how far apart the shares of classes may be, beyond chance, to be alike."""
CHANCE = 1e-6
"""How unlikely it must be that a file lacks the first class, or has the only samples of the one beyond the last."""


MOST_GROUPS, MOST_FIELDS = 50, 4
FEWEST_GROUPS, FEWEST_CLASSES, EDGE = 3, 4, 0.5
"""Of fields: the fewest groups and classes, and the least share of the first class and of that beyond the last, beside the mean of all
classes: of a degree or a count, which may well be higher in one group, the ends are rare."""


class LabelBase(Check):
    ids = ("label-out-of-range",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.counts: dict[str, dict[int, int]] = {}
        """Samples of each class number, by file."""
        self.splits: dict[str, dict[int, int]] = {}
        """The same by split."""
        self.lost: set[str] = set()
        """Splits with too many numbers to be classes."""
        self.classes: set[int] = set()
        self.many = False
        """Whether there are too many files, or numbers that are no classes."""
        split = None if context.roles.split is None else context.roles.split.field
        scalar = [f for f in context.fields if not f.shape and f.name not in (context.label, split)]
        plain = [f.name for f in scalar if f.kind == "category"]
        plain += [f.name for f in scalar if f.kind == "number" and "int" in f.dtype]
        self.groups: dict[str, dict[str, dict[int, int]]] = {name: {} for name in plain[:MOST_FIELDS]}
        """The same by value of each field; without one that has too many values."""

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
        names, codes = self.context.splits_of(block)
        for k, split in enumerate(names):
            found, counts = np.unique(values[there[codes[there] == k]], return_counts=True)
            if split is not None:
                self._add_split(split, dict(zip(found.tolist(), counts.tolist(), strict=True)))
        if len(there):
            self._see_groups(block, values[there].astype(np.int64), there)

    def _see_groups(self, block: Block, labels: Any, there: Any) -> None:
        import numpy as np

        classes, numbers = np.unique(labels, return_inverse=True)
        for name in list(self.groups):
            texts, codes = distinct(block.columns.get(name), there, NAME)
            cells, counts = np.unique(codes * len(classes) + numbers, return_counts=True)
            whose, which = np.divmod(cells, len(classes))
            found: dict[str, dict[int, int]] = {}
            for group, value, n in zip(whose.tolist(), classes[which].tolist(), counts.tolist(), strict=True):
                own = found.setdefault(texts[group], {})
                own[value] = own.get(value, 0) + n
            self._add_groups(name, found)

    def _add_groups(self, name: str, found: dict[str, dict[int, int]]) -> None:
        mine = self.groups[name]
        for group, counts in found.items():
            _count(mine, group, counts)
        if len(mine) > MOST_GROUPS or any(len(of) > MOST_CLASSES for of in mine.values()):
            del self.groups[name]

    def _add(self, file: str, counts: dict[int, int]) -> None:
        self.classes |= counts.keys()
        if self.many:
            return
        _count(self.counts, file, counts)
        if len(self.counts) > MOST_FILES or len(self.classes) > MOST_CLASSES:
            self.many = True
            self.counts.clear()
            self.classes.clear()

    def _add_split(self, split: str, counts: dict[int, int]) -> None:
        if split not in self.lost:
            _count(self.splits, split, counts)
            if len(self.splits[split]) > MOST_CLASSES:
                self._lose(split)

    def _lose(self, split: str) -> None:
        self.lost.add(split)
        self.splits.pop(split, None)

    def merge(self, other: Check) -> None:
        assert isinstance(other, LabelBase)
        self.seen += other.seen
        if other.many:
            self.many = True
            self.counts.clear()
        for file, counts in other.counts.items():
            self._add(file, counts)
        for split in other.lost:
            self._lose(split)
        for split, counts in other.splits.items():
            self._add_split(split, counts)
        for name in list(self.groups):
            if name in other.groups:
                self._add_groups(name, other.groups[name])
            else:
                del self.groups[name]

    def facts(self) -> Iterable[Fact]:
        for what, parts in (("file", self.counts), ("split", self.splits)):
            for by in (1, -1):
                found = moved(parts, by)
                if found:
                    samples = sum(sum(parts[part].values()) for part in found)
                    every = {value for of in parts.values() for value in of}
                    ends = (min(every), max(every)) if by == 1 else (max(every), min(every))
                    value = {"parts": sorted(found)[:TOLD], "count": len(found), "of": len(parts), "samples": samples}
                    value["others"] = sorted(parts.keys() - {*found})[:TOLD]
                    value |= {"end": ends[0], "beyond": ends[1], "alike": alike(parts, found, by)}
                    yield Fact(LABEL_BASES, value, self.evidence(), {"field": self.context.label, "of": what, "by": by})
                    return  # seen from them, the others are moved the other way
        for name, counts in self.groups.items():
            told = {group: of for group, of in counts.items() if group}
            for by in (1, -1):
                group = moved_group(told, by)
                if group is not None:
                    rest = [value for other, of in told.items() if other != group for value in of]
                    ends = (min(rest), max(rest) + 1) if by == 1 else (max(rest), min(rest) - 1)
                    value = {"of": group, "samples": sum(told[group].values()), "groups": len(told)}
                    at = {"field": name, "by": by}
                    yield Fact(GROUP_BASES, value | {"end": ends[0], "beyond": ends[1]}, self.evidence(), at)
                    return

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(LABEL_BASES):
            v, name, more = fact.value, escaped(str(fact.at["field"])), fact.at["by"] == 1
            one, what = v["count"] == 1, str(fact.at["of"])
            rest = (
                escaped(v["others"][0])
                if len(v["others"]) == 1
                else f"the {number(v['of'] - v['count'], f'other {what}')}"
            )
            yield finding(
                "label-out-of-range",
                "warning",
                f"the class numbers of {'field ' * name.isdigit()}{name} in {escaped(v['parts'][0]) if one else number(v['count'], what)} seem to be one "
                f"{'higher' if more else 'lower'} than in {rest}: there is no "
                f"sample of class {v['end']} there, and class {v['beyond']} occurs nowhere else",
                fact,
                f"if so, {'subtract' if more else 'add'} one there",
                [{what: part, "field": fact.at["field"]} for part in v["parts"]],
                v["samples"],
            )

        if facts.value(QUANTITY_LABEL, False):
            return  # it may well be larger in one group
        for fact in facts.all(GROUP_BASES):
            v, name, more = fact.value, escaped(str(fact.at["field"])), fact.at["by"] == 1
            label = escaped(self.context.label)
            yield finding(
                "label-out-of-range",
                "warning",
                f"the class numbers of {label} where {name} is {escaped(v['of'])} ({number(v['samples'], 'sample')}) seem to be one "
                f"{'higher' if more else 'lower'} than elsewhere: class {v['end']}, which every other {name} has, is missing there, and "
                f"class {v['beyond']} is found only there",
                fact,
                f"if so, {'subtract' if more else 'add'} one there",
                [{"field": fact.at["field"]}],
                v["samples"],
            )

    def stands(self, one: Finding, facts: Facts) -> bool:
        """Class numbers in the very shares of the others are these, moved, whatever they are numbers of."""
        return any(fact.value["alike"] for fact in facts.all(LABEL_BASES)) and is_outcome(self.context.label)


def _count(parts: dict[str, dict[int, int]], part: str, counts: dict[int, int]) -> None:
    own = parts.setdefault(part, {})
    for value, n in counts.items():
        own[value] = own.get(value, 0) + n


def alike(counts: dict[str, dict[int, int]], moved: list[str], by: int) -> bool:
    """Whether files have each class, moved, about as often as the others have it."""
    own, others = Counter[int](), Counter[int]()
    for file, of in counts.items():
        (own if file in moved else others).update(
            {value - by if file in moved else value: n for value, n in of.items()}
        )
    n, m = own.total(), others.total()
    apart = sum(abs(own[k] / n - others[k] / m) for k in own | others) / 2
    return own.keys() == others.keys() and apart <= APART + 1 / math.sqrt(min(n, m))


def moved_group(groups: dict[str, dict[int, int]], by: int) -> str | None:
    """The one group whose class numbers are those of all others plus ``by``, where these have all classes, of which no end is rare."""
    found = moved(groups, by) if len(groups) >= FEWEST_GROUPS else []
    if len(found) != 1:
        return None
    own, others = groups[found[0]], [of for group, of in groups.items() if group != found[0]]
    classes = {value for of in others for value in of}
    if len(classes) < FEWEST_CLASSES or any(classes - of.keys() for of in others):
        return None
    if sorted(own) != [value + by for value in sorted(classes)]:
        return None
    end, beyond = (min(classes), max(own)) if by == 1 else (max(classes), min(own))
    common = all(of[end] * len(classes) >= EDGE * sum(of.values()) for of in others)
    return found[0] if common and own[beyond] * len(classes) >= EDGE * sum(own.values()) else None


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

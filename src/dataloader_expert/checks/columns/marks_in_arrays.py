"""Numbers within arrays and depth maps that stand for no value, such as 65535 or -9999 among measurements.

They are the largest or the least of their samples, the same in each, and lie far from all others: what saturated is near them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.checks.base import DEPTH, STATISTICS, Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.treatments import customary, marks_of
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block, Field
from dataloader_expert.sources.roles import words

MARKED = Quantity(
    "marks_in_arrays",
    "samples",
    "samples with a number that stands for a missing value, far from all others of the field, and where",
)
KINDS = ("array", "sequence", "image")
OTHERS = {
    "mask", "masks", "label", "labels", "keypoints", "landmarks", "edge", "edges", "index", "indices", "ids", "id", "classes", "class", "ptr",
    "neighbors", "neighbours", "faces",
}  # fmt: skip
"""Words in the names of arrays whose numbers stand for things, or for whether there is one."""
SEVERAL, PIXELS = 2, 10
"""The fewest samples with such a number, and how often it must occur in all."""
AWAY, LARGE = 0.5, 100
"""How far it lies from the others, in parts of their range; and the least reach of whole numbers among which -1 is no number of a thing."""
MOSTLY = 0.5
"""The share of samples from which on it is how the field marks what has no value."""


@dataclass
class _Range:
    low: float = float("inf")
    high: float = float("-inf")
    """Of all values but the marks."""
    samples: Counter[str] = field(default_factory=Counter)
    """By split."""
    marked: dict[float, Counter[str]] = field(default_factory=dict)
    """By mark and split."""
    values: Counter[float] = field(default_factory=Counter)
    """How often each mark occurs."""
    zeros: Counter[str] = field(default_factory=Counter)
    """Samples that hold 0, by split."""

    def add(self, other: _Range) -> None:
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.samples += other.samples
        self.values += other.values
        self.zeros += other.zeros
        for mark, of in other.marked.items():
            self.marked.setdefault(mark, Counter()).update(of)


class MarksInArrays(Check):
    ids = ("missing-values",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.found = {f.name: _Range() for f in context.fields if _measures(f) and f.name not in context.identifiers}
        self.whole = {f.name for f in context.fields if "int" in f.dtype}
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.found)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        names, codes = self.context.splits_of(block)
        for name, found in self.found.items():
            for i, low, high, value in _extremes(block, name):
                split = str(names[int(codes[i])] or "")
                found.samples[split] += 1
                found.zeros[split] += bool((value == 0).any())
                marks = [mark for mark in {low, high} if customary(mark) or mark == -1]
                if marks:
                    rest = value[~_is_one(value, marks)]
                    low, high = (float(rest.min()), float(rest.max())) if rest.size else (float("inf"), float("-inf"))
                for mark in marks:
                    found.marked.setdefault(mark, Counter())[split] += 1
                    found.values[mark] += int((value == mark).sum())
                    self.where.add((name, mark), block, i, name)
                found.low, found.high = min(found.low, low), max(found.high, high)

    def merge(self, other: Check) -> None:
        assert isinstance(other, MarksInArrays)
        self.seen += other.seen
        for name, theirs in other.found.items():
            self.found[name].add(theirs)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name, found in self.found.items():
            for mark, by_split in sorted(found.marked.items()):
                n = by_split.total()
                if n < SEVERAL or found.values[mark] < PIXELS or not _stands_apart(mark, found, name in self.whole):
                    continue
                inside = [split for split in by_split if split and by_split[split]]
                only = inside[0] if len(inside) == 1 and found.samples[inside[0]] < found.samples.total() else None
                rest = found.samples.total() - found.samples[only] if only is not None else 0
                zeros = only is not None and not found.zeros[only] and 2 * found.zeros.total() > rest
                value: dict[str, Json] = {
                    "count": n,
                    "of": found.samples.total(),
                    "split": only,
                    "nearest": found.high if mark > 0 else found.low,
                }
                value |= {"instead_of_zero": bool(zeros), "where": self.where.of((name, mark))}
                yield Fact(MARKED, value, self.evidence(), {"field": name, "value": mark})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MARKED):
            v, name, mark = fact.value, str(fact.at["field"]), float(fact.at["value"])
            told = facts.value(STATISTICS, None, field=name) or {}
            if mark in marks_of(told.get("treatment")):
                continue  # said of the field's values
            text = f"{escaped(name)} holds {mark:g} in {v['count']:,} of {number(v['of'], 'sample')}"
            text += f", all of them in {escaped(v['split'])}" if v["split"] is not None else ""
            text += f", far from all other values ({'at most' if mark > 0 else 'at least'} {v['nearest']:.6g}): this usually marks a missing value"
            text += "; the other splits seem to use 0 instead" if v["instead_of_zero"] else ""
            fix = f"mask {mark:g} in every split before values are scaled or averaged; otherwise a model takes it for a measurement"
            usual = v["split"] is None and v["count"] > MOSTLY * v["of"]
            yield finding("missing-values", "info" if usual else "warning", text, fact, fix, v["where"], v["count"])


def _measures(field: Field) -> bool:
    """Whether a field has arrays of measurements of more than bytes."""
    if field.name == DEPTH:
        return True
    many = len(field.shape) > 1 or field.kind == "image"
    numbers = field.dtype.startswith(("float", "int", "uint")) and field.dtype not in ("uint8", "int8")
    return field.kind in KINDS and many and numbers and not has_boxes(field) and not set(words(field.name)) & OTHERS


def _extremes(block: Block, name: str) -> Iterator[tuple[int, float, float, Any]]:
    """Each sample of a block with its least and its largest value, and its values as one array."""
    import numpy as np

    column = block.columns.get(name)
    for i, value in enumerate(column.values[: block.samples] if column is not None else ()):
        made = np.asarray(value) if hasattr(value, "dtype") or hasattr(value, "getbands") else None
        if made is None or not made.size or made.dtype.kind not in "iuf":
            continue
        low, high = float(made.min()), float(made.max())
        if not np.isfinite(low) or not np.isfinite(high):
            made = made[np.isfinite(made)]
            if not made.size:
                continue
            low, high = float(made.min()), float(made.max())
        yield i, low, high, made


def _is_one(value: Any, marks: list[float]) -> Any:
    import numpy as np

    return np.isin(value, marks)


def _stands_apart(mark: float, found: _Range, whole: bool) -> bool:
    """Whether a number lies far from all values but the other marks."""
    if found.low > found.high:
        return False
    if mark == -1:  # among what is never below zero, and no number of a thing
        return found.low >= 0 and (found.high >= LARGE if whole else found.high > 1)
    away = mark - found.high if mark > found.high else found.low - mark
    return away > 0 and away >= AWAY * (found.high - found.low)


CHECK = MarksInArrays

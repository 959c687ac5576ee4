"""Objects of images: how many of each class in each split, classes that nobody declared or that another split numbers otherwise, and
boxes that are there twice, names of classes in several spellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from dataloader_expert.checks.base import OBJECT_COUNTS, Check, Context
from dataloader_expert.checks.common.alike import spellings, spelt
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.renumbered import RENUMBERED, renumbered
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import array_of, has_boxes
from dataloader_expert.sources.base import Block, Objects

UNDECLARED = Quantity("objects_undeclared", "objects", "objects of classes that are not declared, and where")
REPEATED = Quantity("boxes_repeated", "boxes", "boxes equal to another one of their class in the same image, and where")
RESPELT = Quantity(
    "object_classes_respelt", "objects", "objects by spellings of the name of one class, and where the rarer ones are"
)
SHAPED, SPREAD = 15, 0.15
"""The fewest boxes of a class that tell its shape, and the least standard deviation, in logarithms of aspect and area, that is assumed."""
CHANCE = 1e-6
"""How unlikely it must be that the first class does not occur in a split."""
DUE = 10
"""Objects of a class that a split should have by its share of all, from which it is no chance that it has none."""
SEVERE = 10.0
MOST = 10_000
"""Classes that are counted."""


class ObjectClasses(Check):
    ids = (
        "class-missing-in-split",
        "label-out-of-range",
        "severe-imbalance",
        "duplicate-boxes",
        "label-drift",
        "label-twins",
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.objects = context.objects or Objects("", {})
        self.boxes = next((f.name for f in context.fields if has_boxes(f)), None)
        self.counts: dict[str | None, Counter[int]] = {}
        self.shapes: dict[tuple[str | None, int], Any] = {}
        """By split and class: the number of boxes, and the sums of log aspect and log area and of their squares."""
        self.undeclared: Counter[int] = Counter()
        self.next: Counter[str | None] = Counter()
        """Objects of each split with the first number that is not declared."""
        self.repeated = 0
        self.where = Places()

    def applies(self) -> bool:
        return self.context.objects is not None

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for split, part in self.context.by_split(block):
            self._count(split, part)

    def _count(self, split: str | None, block: Block) -> None:
        import numpy as np

        names, column = self.objects.names, block.columns.get(self.objects.field)
        if column is None:
            return
        counts = self.counts.setdefault(split, Counter())
        boxes = block.columns[self.boxes].values if self.boxes in block.columns else ()
        for i, value in enumerate(column.values[: block.samples]):
            if value is None or (classes := array_of(value)).dtype.kind not in "iu" or classes.ndim != 1:
                continue
            own = classes.tolist()
            wrong = [one for one in own if names and one not in names]
            for one in own:
                if one in counts or (len(counts) < MOST and one not in wrong):
                    counts[one] += 1
            for one in set(own) & names.keys():
                self.where.add(one, block, i, self.objects.field)
            if wrong:
                self.next[split] += wrong.count(len(names))
                self.undeclared.update(wrong[:MAX_PLACES])
                self.where.add("undeclared", block, i, self.objects.field)
            box = array_of(boxes[i]) if i < len(boxes) and boxes[i] is not None else None
            if box is not None and box.shape == (len(own), 4) and len(own) > 1:
                again = len(own) - len(np.unique(np.column_stack([classes, box]), axis=0))
                if again:
                    self.repeated += again
                    self.where.add("repeated", block, i, self.boxes)
            if box is not None and box.shape == (len(own), 4) and self.context.corners:
                self._shape(split, own, box.astype(np.float64))

    def _shape(self, split: str | None, classes: list[int], boxes: Any) -> None:
        import numpy as np

        wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        there = (wide > 0) & (high > 0)
        wide, high = wide[there], high[there]
        shapes = np.log(np.column_stack([wide / high, wide * high]))
        sums = np.column_stack([np.ones(len(shapes)), shapes, shapes**2])
        for one, row in zip(np.asarray(classes)[there].tolist(), sums, strict=True):
            self._sum((split, one), row)

    def _sum(self, key: tuple[str | None, int], more: Any) -> None:
        if key in self.shapes or len(self.shapes) < MOST:
            self.shapes[key] = self.shapes.get(key, 0) + more

    def merge(self, other: Check) -> None:
        assert isinstance(other, ObjectClasses)
        self.seen += other.seen
        for split, counts in other.counts.items():
            self.counts.setdefault(split, Counter()).update(counts)
        for key, sums in other.shapes.items():
            self._sum(key, sums)
        self.undeclared.update(other.undeclared)
        self.next.update(other.next)
        self.repeated += other.repeated
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        total: Counter[int] = sum(self.counts.values(), Counter())
        evidence = self.evidence()
        if not total:
            return
        for split, counts in [(None, total), *((s, c) for s, c in self.counts.items() if s is not None)]:
            yield Fact(OBJECT_COUNTS, self._named(counts), evidence, {"split": split, "field": self.objects.field})
        for split in self.counts:
            if split not in (None, "train"):
                moved = renumbered(self._of("train"), self._of(split), SPREAD)
                if moved:
                    named = {self._name(c): self._name(k) for c, k in moved.items()}
                    yield Fact(RENUMBERED, named, evidence, {"split": split})
        counted = self._named(total)
        for right, same in _spellings(counted).items():
            rare = [one for one in sorted(total) if self._name(one) in same and self._name(one) != right]
            where = [place for one in rare for place in self.where.of(one)]
            found = {"counts": {name: counted[name] for name in same}, "where": where[:MAX_PLACES]}
            yield Fact(RESPELT, found, evidence, {"class": right})
        undeclared = {str(k): n for k, n in sorted(self.undeclared.items())}
        told = {"counts": undeclared, "where": self.where.of("undeclared"), "from_one": self._from_one()}
        yield Fact(UNDECLARED, told, evidence)
        yield Fact(REPEATED, {"count": self.repeated, "where": self.where.of("repeated")}, evidence)

    def _from_one(self) -> list[str | None]:
        """The splits whose classes are numbered from one, those declared from zero: the last number is one too high, and the first
        does not occur, though it would by its share in the others. None stands for all of them."""
        classes, found = len(self.objects.names), []
        if not classes or set(self.objects.names) != set(range(classes)):
            return []
        every, beyond = sum(self.counts.values(), Counter[int]()), sum(self.next.values())
        if not every[0] and beyond and (1 - 1 / classes) ** (every.total() + beyond) < CHANCE:
            return [None]
        for split, counts in self.counts.items():
            others = sum((c for s, c in self.counts.items() if s != split), Counter[int]())
            share = others[0] / others.total() if others else 1 / classes
            if not counts[0] and self.next[split] and (1 - share) ** (counts.total() + self.next[split]) < CHANCE:
                found.append(split)
        return found

    def _of(self, split: str | None) -> dict[int, Any]:
        """The sums of a split by class, of those with boxes enough."""
        own = {c: sums for (s, c), sums in self.shapes.items() if s == split and sums[0] >= SHAPED}
        return dict(sorted(own.items()))

    def _name(self, one: int) -> str:
        return self.objects.names.get(one) or str(one)

    def _named(self, counts: Counter[int]) -> dict[str, int]:
        found = Counter[str]()
        for one, n in sorted(counts.items()):
            found[self._name(one)] += n
        return dict(found)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        all_ = facts.find(OBJECT_COUNTS, split=None)
        if all_ is None:
            return
        field, counts = self.objects.field, _folded(all_.value, all_.value)
        undeclared = facts.find(UNDECLARED)
        if undeclared is not None and undeclared.value["counts"]:
            odd = undeclared.value["counts"]
            n = sum(odd.values())
            text = f"{number(n, 'object')} in {field} {verb(n, 'have')} a class that is not declared: {', '.join(list(odd)[:5])}"
            fix = f"the dataset declares {number(len(self.objects.names), 'class')}; fix the label or the list"
            from_one = [split for split in undeclared.value["from_one"] if split is not None]
            if undeclared.value["from_one"]:
                of = f" of {', '.join(map(escaped, from_one))}" if from_one else ""
                text += f", as the classes{of} are numbered from 1: none is 0"
                fix = f"subtract 1 from the classes{of}"
            yield finding(
                "label-out-of-range",
                "error",
                text,
                undeclared,
                fix,
                undeclared.value["where"],
                n,
            )
        repeated = facts.find(REPEATED)
        if repeated is not None and repeated.value["count"]:
            n = repeated.value["count"]
            yield finding(
                "duplicate-boxes",
                "warning",
                f"{number(n, 'box')} {verb(n, 'equal')} another box of the same class in the same image",
                repeated,
                "drop the copies: they count an object twice in the loss and in the metric",
                repeated.value["where"],
                n,
            )
        small, large = (f(counts, key=lambda k: (counts[k], k)) for f in (min, max))
        if counts[large] > SEVERE * counts[small] and all_.evidence.how == "counted":
            yield finding(
                "severe-imbalance",
                "info",
                f"class {large} has {number(counts[large], 'object')}, class {small} has {counts[small]} ({counts[large] / counts[small]:.1f}:1)",
                all_,
                "weight the loss by class, or draw images with rare classes more often",
            )
        for fact in facts.all(RESPELT):
            alike, right = fact.value["counts"], str(fact.at["class"])
            yield finding(
                "label-twins",
                "warning",
                f"one class of objects in several spellings: {spelt(alike)}; {spelt([right])} is the most common",
                fact,
                "use one spelling",
                fact.value["where"],
                sum(n for name, n in alike.items() if name != right),
            )
        for fact in facts.all(RENUMBERED):
            split = escaped(str(fact.at["split"]))
            pairs = [f"{escaped(c)} has the shape of train's {escaped(k)}" for c, k in fact.value.items()]
            yield finding(
                "label-drift",
                "warning",
                f"the classes of {split} seem to be numbered differently than in train: in {split}, {', '.join(pairs[:5])}"
                + (", …" if len(pairs) > 5 else ""),
                fact,
                "compare the class lists used to label the two, and renumber one",
                [{"split": fact.at["split"]}],
                len(pairs),
            )
        yield from self._judge_splits(facts, all_.value)

    def _judge_splits(self, facts: Facts, every: dict[str, int]) -> Iterable[Finding]:
        """A class that training never sees is a fault; one that another split lacks is, unless it is rare."""
        counts = _folded(every, every)
        total = sum(counts.values())
        for fact in facts.all(OBJECT_COUNTS):
            split = fact.at["split"]
            if split is None or fact.evidence.how != "counted" or not fact.value:
                continue
            share = sum(fact.value.values()) / total
            absent = sorted(set(counts) - set(_folded(fact.value, every)))
            if absent:
                due = split == "train" or any(counts[name] * share >= DUE for name in absent)
                more = ", …" if len(absent) > 5 else ""
                yield finding(
                    "class-missing-in-split",
                    "warning" if due else "info",
                    f"{split} has no object of {number(len(absent), 'class')}: {', '.join(absent[:5])}{more}",
                    fact,
                    "split again, so that each split has images with every class",
                    [{"split": split}],
                    len(absent),
                )


def _spellings(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Names that mean one class, by the one that is right. Single letters are what is read."""
    return {right: same for right, same in spellings(counts).items() if max(map(len, same)) > 1}


def _folded(counts: Mapping[str, int], every: Mapping[str, int]) -> dict[str, int]:
    """Objects of each class in ``counts``; what names mean is decided on the whole data set."""
    meant = {name: right for right, same in _spellings(every).items() for name in same}
    found: dict[str, int] = {}
    for name, n in counts.items():
        right = meant.get(name, name)
        found[right] = found.get(right, 0) + n
    return found


CHECK = ObjectClasses

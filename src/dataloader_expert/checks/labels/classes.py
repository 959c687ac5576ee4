"""Classes: samples of each in each split, imbalance, and odd labels."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

from dataloader_expert.checks.base import (
    CLASS_COUNTS,
    EFFECTS,
    LABELS_BLANK,
    QUANTITY_LABEL,
    Check,
    Context,
    lacks_partner,
    recoded,
)
from dataloader_expert.checks.common.alike import meant_by, misspelt, spelt, twins
from dataloader_expert.checks.common.guessed_labels import is_outcome
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.scores import RATINGS
from dataloader_expert.checks.common.sound_only import sound_only
from dataloader_expert.checks.common.wording import ABSENT
from dataloader_expert.checks.labels.quantities import quantities
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped, listed
from dataloader_expert.facts import Fact, Facts, Json, Quantity, Unknown
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.joined_labels import mark_of
from dataloader_expert.sources.roles import WHAT, WHO, is_identifier, words

LABELS_MISSING = Quantity("labels_missing", "samples", "samples without a label")
LABELS_MARKED = Quantity(
    "labels_marked", "samples", "samples with a label that stands for none, such as -1, and their places"
)
TRAIN_IMBALANCE = Quantity(
    "train_imbalance_ratio", "", "imbalance ratio of the training split, from which a sampler draws"
)
IMBALANCE = Quantity("imbalance_ratio", "", "samples of the largest class divided by those of the smallest")
LABEL_PLACES = Quantity("label_places", "", "places of samples whose class is rare in their file")
CLASS_LIMIT = 10_000
RARE = 1_000
"""Labels whose locations are kept."""
SEVERE = 10.0
FEW_ABSENT, CHANCE = 3, 1e-6
"""Of a label that is only guessed: of how many classes training may lack one for that to be told as a fault, and how unlikely that must be
by chance."""
LIKELY = 0.2
"""How likely it is that a split that was drawn at random has no sample of a class that is so rare."""
DEVIATIONS = 3
"""By how many standard deviations more classes may be absent from a split than are on average from one that was drawn at random."""
SHOWN = 5
"""Classes that a message names."""
LEAST_TOLD = 20
"""So many samples tell whether a label that is only guessed has a value for each."""
STARS = {"rating", "ratings", "stars", "star"}
"""Those that are said of nothing else."""
NAME = re.compile(r"[^\W\d_]{2}")
"""Two letters, which names have and marks lack."""


class Classes(Check):
    ids = (
        "severe-imbalance",
        "class-missing-in-split",
        "label-singleton",
        "label-twins",
        "label-blank",
        "label-out-of-range",
        "split-empty",
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.counts: dict[str | None, Counter[Any]] = {}
        self.missing: Counter[str | None] = Counter()
        self.floats = False
        self.marked = 0
        self.mark: Any = None
        """How many samples have a label that stands for none, such as -1, and which one; they are counted as missing."""
        self.odd = 0
        self.where = Places()

    def applies(self) -> bool:
        return self.context.label is not None

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for split, part in self.context.by_split(block):
            column = part.columns.get(self.context.label or "")
            if column is not None:
                self._count(column, split, part)

    def _count(self, column: Column, split: str | None, block: Block) -> None:
        import numpy as np

        values, counts = column.values, self.counts.setdefault(split, Counter())
        if isinstance(values, np.ndarray):
            if values.ndim > 1:
                self.odd += len(values)
                return
            there = np.ones(len(values), bool) if column.nulls is None else ~column.nulls
            if values.dtype.kind == "f":
                there = there & ~np.isnan(values)
                self.floats = self.floats or bool((values[there] != np.rint(values[there])).any())
            absent = np.flatnonzero(~there)
            self.missing[split] += len(absent)
            for i in absent[:MAX_PLACES].tolist():
                self.where.add((split, None), block, i, self.context.label)
            distinct, n = np.unique(values[there], return_counts=True)
            counts.update(dict(zip(distinct.tolist(), n.tolist(), strict=True)))
            self._note(values, there, distinct[n <= MAX_PLACES], block)
        elif column.coded is not None:
            codes, texts = column.coded
            used, first, n = np.unique(codes, return_index=True, return_counts=True)
            for k in np.argsort(first).tolist():
                text, at = texts[used[k]], np.flatnonzero(codes == used[k])[:MAX_PLACES].tolist()
                if text is None:
                    self.missing[split] += int(n[k])
                    kind: Any = (split, None)
                else:
                    kind, at = text, at[: max(0, MAX_PLACES - counts[text])]
                    counts[text] += int(n[k])
                for i in at:
                    self.where.add(kind, block, i, self.context.label)
        else:
            for i, value in enumerate(values):
                if isinstance(value, np.ndarray):
                    self.odd += value.size > 1
                    value = value.item() if value.size == 1 else None
                elif isinstance(value, list | dict | tuple):  # several labels of one sample
                    self.odd += 1
                    continue
                if value is None:
                    self.missing[split] += 1
                    self.where.add((split, None), block, i, self.context.label)
                    continue
                value = value if isinstance(value, str | int | float) else str(value)
                counts[value] += 1
                if counts[value] <= MAX_PLACES:
                    self.where.add(value, block, i, self.context.label)

    def _note(self, values: Any, there: Any, rare: Any, block: Block) -> None:
        """Locations of the labels that few samples of the block have, since odd labels are rare."""
        import numpy as np

        if self.floats or not 0 < len(rare) <= RARE:
            return
        for i in np.flatnonzero(np.isin(values, rare) & there).tolist():
            self.where.add(values[i].item(), block, i, self.context.label)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Classes)
        self.seen += other.seen
        self.missing.update(other.missing)
        self.odd += other.odd
        self.floats = self.floats or other.floats
        self.where.merge(other.where)
        for split, counts in other.counts.items():
            self.counts.setdefault(split, Counter()).update(counts)

    def _hide(self) -> None:
        """Counts the labels of a split that are -1 throughout as absent, for so GLUE and others withhold them, and -1 beside classes from 0
        on, or "-" beside names, for so SNLI and others mark what has none."""
        total: Counter[Any] = sum(self.counts.values(), Counter())
        mark = _mark_of_none(total) if self.context.classes is None else None
        if mark is not None:
            self.mark = mark
            for split, counts in self.counts.items():
                n = counts.pop(mark, 0)
                self.missing[split] += n
                self.marked += n if counts else 0
            return
        hidden = [s for s, counts in self.counts.items() if set(counts) == {-1}]
        if any(-1 in counts for split, counts in self.counts.items() if split not in hidden):
            return
        for split in hidden if len(hidden) < len(self.counts) else ():
            self.missing[split] += self.counts[split].total()
            self.counts[split] = Counter()

    def _is_quantity(self, total: Counter[Any]) -> bool:
        """Whether the labels are amounts, or what users think of things, which is more or less."""
        fields = {f.name for f in self.context.fields if f.kind not in ("text", "image", "audio")} - {
            self.context.label
        }
        named = [set(words(name)) for name in fields]
        given, keys = {*words(self.context.label or "")}, {role.field for role in self.context.roles.keys}
        rated = (given & RATINGS and any(of & WHO for of in named) and any(of & WHAT for of in named)) or (
            given & STARS and sum(map(is_identifier, fields - keys)) > 1  # who, and what, whatever they are called
        )
        alone = len(fields) == len(self.context.fields) - 1  # a review is classified by its text
        levels = all(isinstance(v, int | float) for v in total) and len(total) > 2
        return quantities(self.context.label or "", total) or (bool(rated) and alone and levels)

    def usable(self) -> bool:
        self._hide()
        total: Counter[Any] = sum(self.counts.values(), Counter())
        if not total or self.floats or self.odd or len(total) > CLASS_LIMIT or mark_of(total) is not None:
            return False
        if self.context.classes is not None:
            return True
        return not self._is_quantity(total) and not self._tells_samples(total)

    def _tells_samples(self, total: Counter[Any]) -> bool:
        """Whether a label that is only guessed is a key or a text of each sample."""
        n, texts = total.total(), all(isinstance(v, str) for v in total)
        return self.context.guessed and n >= LEAST_TOLD and (2 * len(total) > n if texts else len(total) == n)

    def unknowns(self) -> Iterable[Unknown]:
        if not self.usable():
            why = (
                "its values are not whole numbers"
                if self.floats
                else "its values are lists or arrays"
                if self.odd
                else "its values hold several labels each"
                if mark_of(sum(self.counts.values(), Counter())) is not None
                else "its values are counts or measurements, not class numbers"
                if self._is_quantity(sum(self.counts.values(), Counter()))
                else "most samples have a value of their own"
                if self._tells_samples(sum(self.counts.values(), Counter()))
                else "there are too many"
            )
            yield Unknown("classes", f"{self.context.label} is not a class label: {why}")

    def facts(self) -> Iterable[Fact]:
        if not self.usable():
            if self.floats or self._is_quantity(sum(self.counts.values(), Counter())):
                yield Fact(QUANTITY_LABEL, True, self.evidence())
            return
        evidence = self.evidence()
        if self.context.folders and self.context.roles.split is None:  # exact, however many of the files were read
            self.counts = {split: Counter(counts) for split, counts in self.context.folders.items()}
            evidence = self.evidence("counted", n=sum(counts.total() for counts in self.counts.values()))
        total: Counter[Any] = sum(self.counts.values(), Counter())
        for split, counts in [(None, total), *self.counts.items()]:
            if split is None and counts is not total:
                continue
            named: Counter[str] = Counter()
            for value, n in sorted(counts.items(), key=lambda kv: (str(type(kv[0])), kv[0])):
                named[self.context.class_name(value)] += n
            yield Fact(CLASS_COUNTS, dict(named), evidence, {"split": split})
        yield Fact(LABELS_MISSING, self.missing.total(), evidence)
        if self.counts.get("train") and {*self.missing, *self.counts} > {"train"}:
            yield Fact(LABELS_MISSING, self.missing["train"], evidence, {"split": "train"})
        if self.marked:
            value = {"count": self.marked, "mark": self.mark, "where": self.where.of(self.mark)}
            yield Fact(LABELS_MARKED, value, evidence)
        # a split in which most samples have no label is unlabelled on purpose
        some = [s for s, n in self.missing.items() if 0 < n < self.counts.get(s, Counter()).total()]
        where = [place for split in some for place in self.where.of((split, None))]
        blank = max(0, sum(self.missing[s] for s in some) - self.marked)
        yield Fact(LABELS_BLANK, {"count": blank, "where": where if blank else []}, evidence)
        counts = Counter[str]()
        for value, n in total.items():
            counts[self.context.class_name(value)] += n
        odd = {*_once(counts), *_blank(counts), *_unknown(counts, self.context.classes)}
        odd |= {name for names in twins(counts) for name in names} | {wrong for wrong, _ in misspelt(counts)}
        placed: dict[str, list[dict[str, Json]]] = {}
        for kind in self.where.found:
            if isinstance(kind, tuple):
                continue  # samples without a label
            name = self.context.class_name(cast(Json, kind))
            if name in odd and len(placed) < RARE:
                placed.setdefault(name, []).extend(self.where.of(kind))
        yield Fact(LABEL_PLACES, placed, evidence)
        classes = _classes(counts, counts)
        yield Fact(IMBALANCE, max(classes.values()) / min(classes.values()), evidence)
        if self.counts.get("train") and len(self.counts) > 1:
            named = Counter[str]()
            for value, n in self.counts["train"].items():
                named[self.context.class_name(value)] += n
            train = _classes(named, counts)
            seen = [n for n in train.values() if n]  # a class that training never sees is another finding
            if seen:  # else all labels of the training split are blank
                yield Fact(TRAIN_IMBALANCE, max(seen) / min(seen), evidence)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        all_ = facts.find(CLASS_COUNTS, split=None)
        ratio = facts.find(IMBALANCE)
        if all_ is None or ratio is None:
            return
        counts: dict[str, int] = all_.value
        placed = facts.value(LABEL_PLACES, {})
        classes = _classes(counts, counts)

        def places(names: Iterable[str]) -> list[dict[str, Json]]:
            return [place for name in names for place in placed.get(name, ())]

        whole = all_.evidence.how == "counted"
        of_read = "" if whole else "of the samples read, "
        if (ratio.value > SEVERE and whole) or ratio.value > 2 * SEVERE:
            small = min(classes, key=lambda k: (classes[k], k))
            large = max(classes, key=lambda k: (classes[k], k))
            handled = f"; {self.context.handled} decides which are drawn" if self.context.handled else ""
            yield finding(
                "severe-imbalance",
                "info" if handled or self.context.guessed else "warning",
                f"{of_read}class {large} has {classes[large]} samples, class {small} has {classes[small]} ({ratio.value:.1f}:1){handled}",
                [ratio, all_],
                f"{'unless that sampler balances the classes, ' * bool(handled)}draw balanced batches or weight the loss; suggest_sampler shows what each does",
            )
        once = _once(classes)
        if once and whole:  # samples that were not read may be of these classes
            yield finding(
                "label-singleton",
                "info",
                f"{len(once)} classes have a single sample each: {listed(once, SHOWN)}"
                if len(once) > 1
                else f"class {once[0]} has a single sample",
                all_,
                "add samples or merge the class: a single sample can be neither split nor balanced",
                places(once),
                len(once),
            )
        blank, absent = _blank(counts), facts.value(LABELS_BLANK, {"count": 0, "where": []})
        if lacks_partner(facts, absent["where"], absent["count"]):
            absent = {"count": 0, "where": []}
        n = sum(counts[k] for k in blank) + (0 if self.context.guessed else absent["count"])
        if n:
            yield finding(
                "label-blank",
                "error",
                f"{number(n, 'sample')} {verb(n, 'have')} a blank label",
                all_,
                "label or drop them",
                [*places(blank), *absent["where"]],
                n,
            )
        marked = facts.find(LABELS_MARKED)
        if marked is not None:
            mark, n = marked.value["mark"], marked.value["count"]
            numbers, some = isinstance(mark, int), " and ".join(spelt([name]) for name in sorted(counts)[:2])
            yield finding(
                "label-out-of-range",
                "warning",
                f"{number(n, 'sample')} {verb(n, 'have')} the label {mark if numbers else repr(mark)}, while the "
                f"{f'classes are 0 to {len(counts) - 1}' if numbers else f'other labels are names such as {some}'}: treated as unlabelled",
                marked,
                f"leave them out: {'cross-entropy rejects a label of -1, and ' * numbers}a model would learn it if it counted as a class",
                marked.value["where"],
                n,
            )
        for names in twins(counts):
            one = f"{escaped(self.context.label)} has one value" if self.context.guessed else "one label"
            yield finding(
                "label-twins",
                "warning",
                f"{one} in several spellings: {spelt(names)}",
                all_,
                "use one spelling",
                places(sorted(names, key=lambda name: (counts[name], name))[:-1]),  # the commonest is the right one
                len(names),
            )
        for wrong, meant in misspelt(counts):
            yield finding(
                "label-twins",
                "warning",
                f"{of_read}{wrong!r}, {number(counts[wrong], 'sample')}, is probably a misspelt {meant!r}, {counts[meant]:,} samples",
                all_,
                "use one spelling",
                places([wrong]),
                counts[wrong],
            )
        yield from self._judge_splits(facts, counts)
        out = _unknown(counts, self.context.classes)
        if out:
            yield finding(
                "label-out-of-range",
                "error",
                f"labels that are not declared classes: {listed(out, SHOWN)}",
                all_,
                f"the dataset declares {number(len(self.context.classes or ()), 'class')}; fix the label or the list",
                places(out),
                sum(counts[k] for k in out),
            )

    def stands(self, one: Finding, facts: Facts) -> bool:
        """A few values that training lacks, far beyond chance, are missing there whatever is learnt."""
        if one.code != "class-missing-in-split" or one.where != ({"split": "train"},):
            return False
        every, train = facts.value(CLASS_COUNTS, {}, split=None), facts.value(CLASS_COUNTS, {}, split="train")
        absent, n = every.keys() - train.keys(), sum(every.values())
        effects = [f.value for f in facts.all(EFFECTS)]
        seen = sum(every[k] / max((of.get(k, 1.0) for of in effects), default=1.0) for k in absent)
        elsewhere = 1 - sum(train.values()) / n if n else 1.0
        few = 0 < FEW_ABSENT * len(absent) <= len(every) and 0 < elsewhere < 1
        return few and is_outcome(self.context.label) and seen * math.log(elsewhere) <= math.log(CHANCE)

    def _judge_splits(self, facts: Facts, counts: dict[str, int]) -> Iterable[Finding]:
        if not self.context.several_splits or recoded(facts, self.context.label):
            return  # what is written differently is neither missing nor new
        meant = _meant(counts)
        # a split without any label omits them on purpose
        found = [f for f in facts.all(CLASS_COUNTS) if f.at.get("split") is not None and f.value]
        counted = all(f.evidence.how == "counted" for f in found)
        if counted and len(found) > 1 and sum(len(f.value) for f in found) == len(counts):
            yield finding(
                "class-missing-in-split",
                "warning",
                f"no class of {self.context.label} is in more than one split: {spelt(sorted(counts)[:5])}{', …' if len(counts) > 5 else ''}",
                found,
                "if these are speakers, patients or other groups, name the label with label=; otherwise split again, stratified by class",
                [{"split": f.at["split"]} for f in found],
                len(counts),
            )
            return
        sound = sound_only(facts)
        for fact in found:
            split = fact.at.get("split")
            if fact.evidence.how != "counted":
                continue
            absent = sorted(set(meant.values()) - {meant.get(k) for k in fact.value})
            if absent and sound is not None and fact.value.keys() == sound.value.keys():
                yield finding(
                    "class-missing-in-split",
                    "info",
                    f"{split} has only samples of class {escaped(next(iter(fact.value)))}, as is usual for anomaly detection",
                    fact,
                    "if a classifier is to be trained, split again, stratified by class",
                    [{"split": split}],
                    len(absent),
                )
            elif absent:
                share = sum(fact.value.values()) / max(1, sum(counts.values()))
                seen = _classes(counts, counts)
                rare = split != "train" and absent_by_chance(
                    {name: (1 - share) ** n for name, n in seen.items()}, absent
                )
                text = (
                    f"{split} has no sample of {len(absent)} class{'es' * (len(absent) > 1)}: {listed(absent, SHOWN)}"
                )
                if rare:
                    most = max(seen[name] for name in absent)
                    text += f"; a random split of this size often misses a class of at most {number(most, 'sample')}"
                yield finding(
                    "class-missing-in-split",
                    "info" if rare else "warning",
                    text,
                    fact,
                    "if you need scores for them, split again, stratified by class"
                    if rare
                    else "split again, stratified by class",
                    [{"split": split}],
                    len(absent),
                )


def absent_by_chance(chances: Mapping[str, float], absent: list[str]) -> bool:
    """Whether a random split often misses each of the absent classes, and as many at once.

    ``chances``: of each class, how likely a random split has none of it.
    """
    expected, variance = sum(chances.values()), sum(p * (1 - p) for p in chances.values())
    often = all(chances[name] >= LIKELY for name in absent)
    return often and len(absent) <= expected + DEVIATIONS * math.sqrt(variance)


def _mark_of_none(counts: Mapping[Any, int]) -> Any:
    """The label that says that a sample has none: -1 where the others are numbers of classes from 0 on, more than the two of a scale
    from -1 to 1; or what stands for a missing text where the others are names. None if there is no such."""
    if all(type(v) is int for v in counts):
        others = sorted(v for v in counts if v != -1)
        return -1 if -1 in counts and len(others) > 2 and others == list(range(len(others))) else None
    if not all(isinstance(v, str) for v in counts):
        return None
    marks = [v for v in counts if v.strip().casefold() in ABSENT - {"missing"}]  # which a part or a tooth may be
    named = sum(bool(NAME.search(v)) for v in counts if v not in marks) == len(counts) - 1 > 1
    return marks[0] if len(marks) == 1 and named and 2 * counts[marks[0]] < sum(counts.values()) else None


def _meant(counts: Mapping[str, int]) -> dict[str, str]:
    """The class that each label means: a blank label, a rarer spelling or a misspelt one is an error, not a class."""
    return meant_by({name: n for name, n in counts.items() if name.strip()} or counts)


def _classes(counts: Mapping[str, int], every: Mapping[str, int]) -> Counter[str]:
    """Samples of each class in ``counts``; what labels mean is decided on the whole data set."""
    found = Counter[str]()
    for name, meant in _meant(every).items():
        found[meant] += counts.get(name, 0)
    return found


def _once(counts: Mapping[str, int]) -> list[str]:
    """Classes with a single sample, if there are others."""
    return sorted(k for k, n in counts.items() if n == 1) if len(counts) > 1 else []


def _blank(counts: Mapping[str, int]) -> list[str]:
    return [k for k in counts if not k.strip()]


def _unknown(counts: Mapping[str, int], known: tuple[str, ...] | None) -> list[str]:
    """Names that the data set does not declare; empty if it declares none."""
    return [] if known is None else [k for k in counts if k not in known]


CHECK = Classes

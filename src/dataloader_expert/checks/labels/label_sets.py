"""Several labels a sample: how often each occurs, which never does, and which a split lacks.

They come as a list of names or numbers, as of tags, as a text that joins them, or as a vector of 0 and 1 with a place for each label. What is named like
labels is taken for a set of them only if no sample has one of them twice: labels of tokens repeat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import LABEL_SETS, LABELS_EACH, Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped, listed
from dataloader_expert.facts import Fact, Facts, Json
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block, Column, Field
from dataloader_expert.sources.joined_labels import mark_of, parts_of
from dataloader_expert.sources.roles import words

NAMED = {
    "label", "labels", "tag", "tags", "class", "classes", "category", "categories", "genre", "genres", "target", "targets",
    "topic", "topics", "attribute", "attributes", "finding", "findings", "emotions", "y", "multilabel", "multihot",
}  # fmt: skip
CALLED = {"label", "labels", "target", "targets"}
"""Those of them that say more than the others."""
KINDS = {"embedding", "array", "sequence", "tokens"}
SEVERE = 10.0
FEW = 20
"""Vectors of which at most one in so many has not one label are one-hot."""
RARE = 100
"""One in so many with several labels is rather a mistake than meant."""
DUE = 10
"""Samples with a label that a split should have by its share of all, from which it is no chance that it has none."""
MOST_LABELS, MOST_TEXTS, MOST = 1_000, 10_000, 2_000_000
"""Labels, and texts that join some, beyond which they are no classes, and samples whose labels are kept for drawing epochs."""


class LabelSets(Check):
    ids = ("severe-imbalance", "class-missing-in-split", "empty-class", "label-blank", "label-conflict")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.columns = context.label_names
        """Fields that each say whether a sample has one label, in place of one that holds all."""
        self.field = listed(self.columns) if self.columns else field_of_sets(context)
        self.names: dict[Json, int] = {}
        self.counts: dict[str | None, Counter[int]] = {}
        self.several = self.none = self.missing = 0
        self.vectors: bool | None = None
        """Whether values are vectors of 0 and 1, as the first block shows; None before it."""
        self.texts = any(f.name == self.field and f.dtype == "str" for f in context.fields)
        """Whether values are texts, which are counted whole until all are seen."""
        self.mark: str | None = None
        """What joins the labels of a text."""
        self.odd = Places()
        """Vectors with no label, and with several."""
        self.rows: list[tuple[int, Any, Any]] = []
        """By block: its first sample, the number of labels of each sample, and their codes one after another."""
        self.none_such = False

    def applies(self) -> bool:
        return self.field is not None

    def looked(self) -> bool:
        return self.usable()

    def see(self, block: Block) -> None:
        self.seen += block.samples
        column = self._joined(block) if self.columns else block.columns.get(self.field or "")
        if self.none_such or column is None:
            return
        values = column.values[: block.samples]
        held = [v for i, v in enumerate(values) if v is not None and (column.nulls is None or not column.nulls[i])]
        if self.vectors is None and held:
            self.vectors = all(is_vector(v) for v in held) and len({len(v) for v in held}) == 1
        absent = [False] * len(values) if column.nulls is None else column.nulls[: len(values)].tolist()
        found = [self._codes(None if gone else v) for v, gone in zip(values, absent, strict=True)]
        if any(f is None for f in found) or len(self.names) > (MOST_TEXTS if self.texts else MOST_LABELS):
            self.none_such = True
            return
        self._keep(block, found, values)

    def _joined(self, block: Block) -> Column | None:
        """The columns as a vector of 0 and 1 for each sample, what nobody knows as 0; None for one of which nothing is known, and where a
        column is not there."""
        import numpy as np

        columns = [block.columns[name] for name in self.columns if name in block.columns]
        if len(columns) < len(self.columns):
            return None
        self.names = self.names or {name: at for at, name in enumerate(self.columns)}
        values = np.stack([np.asarray(c.values, np.float64) for c in columns], 1)
        assert self.context.label_columns is not None
        known: Any = np.stack([np.ones(len(c), bool) if c.nulls is None else ~c.nulls for c in columns], 1)
        known &= values >= self.context.label_columns.no
        return Column([has & of if of.any() else None for has, of in zip(values > 0, known, strict=True)])

    def _codes(self, value: Any) -> list[int] | None:
        """The labels of one value; None if it is no set of labels."""
        import numpy as np

        if value is None:
            self.missing += 1
            return []
        if self.vectors:
            if not is_vector(value) or (self.names and len(value) != len(self.names)):
                return None
            if not self.names:
                self.names = {at: at for at in range(len(value))}
            found: list[int] = np.flatnonzero(value).tolist()
            return found
        if self.texts:
            return [self.names.setdefault(str(value), len(self.names))]
        listed = value.tolist() if hasattr(value, "tolist") else value
        if not isinstance(listed, list | tuple) or len(set(map(str, listed))) < len(listed):
            return None
        if not all(isinstance(one, str | int) and not isinstance(one, bool) for one in listed):
            return None
        return [self.names.setdefault(one, len(self.names)) for one in listed]

    def _keep(self, block: Block, found: list[list[int] | None], values: Any) -> None:
        import numpy as np

        sizes = np.array([len(f or ()) for f in found], np.int32)
        codes = np.array([code for f in found for code in f or ()], np.int32)
        self.several += int((sizes > 1).sum())
        self.none += int((sizes == 0).sum())
        for i in np.flatnonzero(sizes != 1).tolist() if self.vectors else ():
            if found[i] is not None and values[i] is not None:
                self.odd.add("several" if sizes[i] else "none", block, i, next(iter(self.columns), str(self.field)))
        names, of = self.context.splits_of(block)
        of = np.repeat(of[: len(sizes)], sizes)
        for at, split in enumerate(names):
            self.counts.setdefault(split, Counter()).update(Counter(codes[of == at].tolist()))
        if max(self.seen, self.context.samples or 0) <= MOST:
            self.rows.append((block.unit.start, sizes, codes))

    def merge(self, other: Check) -> None:
        import numpy as np

        assert isinstance(other, LabelSets)
        self.seen += other.seen
        if other.vectors is None and not other.none_such:
            self.missing += other.missing
            self.none += other.none
            return
        self.none_such = self.none_such or other.none_such or self.vectors not in (None, other.vectors)
        if self.vectors and self.names and len(self.names) != len(other.names):
            self.none_such = True
        if self.none_such:
            self.rows.clear()
            return
        self.vectors = other.vectors
        place = np.array([self.names.setdefault(name, len(self.names)) for name in other.names] or [0], np.int32)
        for split, counts in other.counts.items():
            mine = self.counts.setdefault(split, Counter())
            for code, n in counts.items():
                mine[int(place[code])] += n
        self.several += other.several
        self.none += other.none
        self.missing += other.missing
        self.odd.merge(other.odd)
        self.rows += [(start, sizes, place[codes]) for start, sizes, codes in other.rows]

    def _part(self) -> None:
        """Once all texts are seen: the labels that they join in place of the texts."""
        import numpy as np

        self.mark = mark_of(dict.fromkeys(self.names, 1))
        self.texts, self.none_such = False, self.none_such or self.mark is None
        if self.mark is None:
            return
        of = [parts_of(str(text), self.mark) for text in self.names]
        self.names = {}
        held = [[self.names.setdefault(part, len(self.names)) for part in parts] for parts in of]
        total: Counter[int] = sum(self.counts.values(), Counter())
        self.several = sum(n for code, n in total.items() if len(held[code]) > 1)
        self.none += sum(n for code, n in total.items() if not held[code])
        for split, counts in self.counts.items():
            self.counts[split] = Counter()
            for code, n in counts.items():
                self.counts[split].update(dict.fromkeys(held[code], n))
        each = np.array([len(parts) for parts in held], np.int32)
        for at, (start, sizes, codes) in enumerate(self.rows):
            sizes[sizes > 0] = each[codes]
            self.rows[at] = start, sizes, np.array([code for whole in codes.tolist() for code in held[whole]], np.int32)

    def usable(self) -> bool:
        """Whether the field holds sets of labels: there are few, and lists have several somewhere."""
        if self.texts:
            self._part()
        n = len(self.names)
        total = sum(self.counts.values(), Counter()).total()
        few = bool(self.vectors) or (self.several > 0 and 2 * n <= total)
        return not self.none_such and total > 0 and few and 2 <= n <= MOST_LABELS

    def sets(self) -> tuple[Any, Any, list[str], list[str]] | None:
        """The number of labels of each sample, in index order, the codes of all, one sample after another, and the label of each
        code as text and by its name; None if there are no such samples."""
        import numpy as np

        if not self.rows or not self.usable():
            return None
        rows = sorted(self.rows, key=lambda row: row[0])
        sizes, codes = (np.concatenate([row[part] for row in rows]) for part in (1, 2))
        return sizes, codes, [str(name) for name in self.names], self.called()

    def called(self) -> list[str]:
        """The labels' names, by code."""
        return [self.context.class_name(name) for name in self.names]

    def facts(self) -> Iterable[Fact]:
        if not self.usable():
            return
        total: Counter[int] = sum(self.counts.values(), Counter())
        called, evidence = self.called(), self.evidence()
        order = range(len(called)) if self.vectors else sorted(range(len(called)), key=lambda code: called[code])
        for split, counts in [(None, total), *((s, c) for s, c in self.counts.items() if s is not None)]:
            named = {called[code]: counts.get(code, 0) for code in order}
            yield Fact(LABEL_SETS, named, evidence, {"split": split, "field": self.field})
        each: dict[str, Any] = {"several": self.several, "none": self.none - self.missing, "missing": self.missing}
        mean = total.total() / max(1, self.seen - self.missing)
        each["one_hot"] = bool(self.vectors) and FEW * (self.several + self.none) <= self.seen
        each["where"] = {kind: self.odd.of(kind) for kind in ("none", "several")} if each["one_hot"] else {}
        each |= {"mean": mean, "vector": bool(self.vectors), "columns": list(self.columns), "mark": self.mark}
        yield Fact(LABELS_EACH, each, evidence, {"field": self.field})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        all_ = facts.find(LABEL_SETS, split=None)
        if all_ is None or all_.evidence.how != "counted":
            return
        counts: dict[str, int] = all_.value
        field = escaped(self.field)
        never = [name for name, n in counts.items() if not n]
        if never:
            more = ", …" if len(never) > 5 else ""
            yield finding(
                "empty-class",
                "warning",
                f"{len(never)} of {number(len(counts), 'label')} in {field} {'is' if len(never) == 1 else 'are'} in no sample: "
                f"{', '.join(map(escaped, never[:5]))}{more}",
                all_,
                "add samples, or leave these outputs out: a model only learns never to predict them",
                [{"field": self.field}],
                len(never),
            )
        there = {name: n for name, n in counts.items() if n}
        small, large = (f(there, key=lambda k: (there[k], k)) for f in (min, max))
        if there[large] > SEVERE * there[small]:
            yield finding(
                "severe-imbalance",
                "info",
                f"label {escaped(large)} is in {number(there[large], 'sample')}, label {escaped(small)} in {there[small]:,} "
                f"({there[large] / there[small]:.1f}:1)",
                all_,
                "weight the loss by label, such as with pos_weight of BCEWithLogitsLoss, or draw samples with rare labels more often",
            )
        yield from self._not_one(facts)
        yield from self._judge_splits(facts, there)

    def _not_one(self, facts: Facts) -> Iterable[Finding]:
        """The few vectors without a label, or with several, where nearly all are one-hot."""
        fact = facts.find(LABELS_EACH)
        if fact is None or not fact.value["one_hot"]:
            return
        for kind, code, words_ in (
            ("none", "label-blank", "no label"),
            ("several", "label-conflict", "several labels"),
        ):
            n = fact.value[kind]
            if n:
                yield finding(
                    code,
                    "warning" if kind == "none" or RARE * n <= self.seen else "info",
                    f"{number(n, 'sample')} {verb(n, 'have')} {words_} in {escaped(self.field)}, and nearly all others exactly one",
                    fact,
                    "correct them, or drop these samples; if samples may have several labels or none, nothing is wrong",
                    fact.value["where"][kind],
                    n,
                )

    def _judge_splits(self, facts: Facts, counts: dict[str, int]) -> Iterable[Finding]:
        """A label that training never sees is a fault; one that another split lacks is, unless it is rare."""
        total = sum(counts.values())
        for fact in facts.all(LABEL_SETS):
            split, seen = fact.at["split"], sum(fact.value.values())
            absent = [name for name in counts if not fact.value.get(name)]
            if split is None or not seen or not absent:
                continue
            due = split == "train" or any(counts[name] * seen / total >= DUE for name in absent)
            yield finding(
                "class-missing-in-split",
                "warning" if due else "info",
                f"{number(len(absent), 'label')} of {escaped(self.field)} never {verb(len(absent), 'occur')} in {escaped(str(split))}: "
                f"{', '.join(map(escaped, absent[:5]))}{', …' if len(absent) > 5 else ''}",
                fact,
                "split again, so that each split has samples with every label",
                [{"split": split}],
                len(absent),
            )


def field_of_sets(context: Context) -> str | None:
    """The field that may hold several labels a sample: by its name, or as the last item of a sample without names."""
    if context.objects is not None or any(has_boxes(f) for f in context.fields):
        return None  # labels of boxes
    able = [f for f in context.fields if could_hold(f, context.label) and f.name not in context.conversations]
    named = [f.name for f in able if f.name == context.label or set(words(f.name)) & NAMED]
    named.sort(
        key=lambda name: name != context.label and not set(words(name)) & CALLED
    )  # beside labels there may be tags
    if context.label is not None and named[:1] != [context.label]:
        return None  # each sample has one label, beside which there may be tags
    last = context.fields[-1:] if len(context.fields) > 1 else ()
    unnamed = [f.name for f in last if f in able and f.name.isdigit() and f.shape not in ((), (None,))]
    return next(iter([*named, *unnamed]), None)


def could_hold(field: Field, label: str | None) -> bool:
    """``label``: the one that is known, which may be texts that join several."""
    listed = (field.kind == "other" and field.dtype == "list") or (field.name == label and field.dtype == "str")
    return listed or (field.kind in KINDS and len(field.shape) == 1)


def is_vector(value: Any) -> bool:
    """Whether a value is a row of 0 and 1, of at least two."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return (
            value.ndim == 1
            and len(value) > 1
            and value.dtype.kind in "biuf"
            and bool(((value == 0) | (value == 1)).all())
        )
    if not isinstance(value, list | tuple) or len(value) < 2:
        return False
    return all(isinstance(v, bool | int | float) and v in (0, 1) for v in value)


CHECK = LabelSets

"""Texts: blank ones, and those that, unlike most of their field, contain markup, tokens of a template or invisible characters, stand
for a missing one, or were encoded twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places, dealt, sample_of
from dataloader_expert.checks.common.split_said import in_split
from dataloader_expert.checks.common.wording import FEW, FIXES, KINDS, ONCE, STRIP, indented, kinds_of, said_by_others
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.roles import words

BLANK = Quantity("blank_texts", "samples", "texts that are empty or white space, with samples")
ALL = "all"
AGAIN = 2
"""The fewest texts of a field that are placeholders or the like."""
WORD = 40
"""Characters of a word at most."""
FEW_LABELS = 1_000
"""Labels that are told apart."""
NEEDED = {
    "text", "output", "outputs", "response", "answer", "completion", "target", "label", "summary", "chosen", "rejected", "prompt",
    "question", "query", "instruction", "source", "src", "tgt", "translation", "caption", "transcript", "sentence", "document",
}  # fmt: skip
"""Words in the names of texts without which a sample is none."""
STRANGE = Quantity("strange_texts", "samples", "texts with markup or invisible characters, with samples")


class Texts(Check):
    ids = ("blank-text", "suspicious-text", "encoding-error")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = frozenset(f.name for f in context.fields if f.kind == "text")
        measured = [
            f for f in context.fields if f.kind == "number" and f.name not in (*context.identifiers, context.label)
        ]
        self.beside = len(self.names) > 1 or (context.short_texts and bool(measured))
        """Whether a text is not all that a sample holds: beside others, or a name or title beside numbers."""
        self.counts: Counter[tuple[str, str]] = Counter()
        """Strange texts by kind and field."""
        self.blank: Counter[str] = Counter()
        """Blank texts by field, of which so many hold ``each`` field."""
        self.labels: dict[tuple[str, bool], set[str]] = {}
        """Labels of a field's blank texts, and of its others; of each the first few."""
        self.each: Counter[str] = Counter()
        self.short: Counter[str] = Counter()
        """Texts by field that are a word."""
        self.blocks: Counter[str] = Counter()
        """Texts by field that are programs with blocks."""
        self.in_split: dict[str, Counter[str | None]] = {}
        """Texts by kind and split, of ``ALL`` kinds too."""
        self.where = Places()

    def applies(self) -> bool:
        return any(f.kind == "text" for f in self.context.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for field in self.context.fields:
            if field.kind != "text" or field.name not in block.columns:
                continue
            names, codes = self.context.splits_of(block)
            values = block.columns[field.name].values
            here = [i for i, value in enumerate(values) if isinstance(value, str)]
            self._count(field.name, values, here, block)
            for i in here:
                value, program = values[i], False
                if ":" in value and (deeper := indented(value)) is not None:
                    self.blocks[field.name] += 1
                    program = True
                    if not deeper:
                        self.counts["flat", field.name] += 1
                        self.where.add(("flat", field.name), block, i, field.name)
                for kind in kinds_of(value):
                    if kind == "blank":
                        self.blank[field.name] += 1
                        self.where.add((kind, field.name), block, i, field.name)
                        continue
                    if kind == "markup" and program:
                        continue  # what it writes
                    if kind == "printed" and said_by_others(value, block, i, self.names - {field.name}):
                        continue
                    self.counts[kind, field.name] += 1
                    self.in_split.setdefault(kind, Counter())[names[codes[i]]] += 1
                    self.where.add((kind, field.name), block, i, field.name)

    def _count(self, name: str, values: Any, here: list[int], block: Block) -> None:
        import numpy as np

        names, codes = self.context.splits_of(block)
        for code, n in enumerate(np.bincount(codes[here], minlength=len(names)).tolist() if here else ()):
            if n:
                self.in_split.setdefault(ALL, Counter())[names[code]] += n
        self.each[name] += len(here)
        words = [value for i in here if len(value := values[i]) <= WORD]
        self.short[name] += sum(len(value.split()) == 1 for value in words)
        label = block.columns.get(self.context.label or "")
        if label is not None:
            blank = [i for i in here if not values[i] or values[i].isspace()]
            others = [i for i in here if i not in {*blank}] if blank else here
            for is_blank, rows in ((True, blank), (False, others)):
                known = self.labels.setdefault((name, is_blank), set()) if rows else set()
                if rows and len(known) < FEW_LABELS:
                    known.update(sorted(_texts_of(label, rows) - known)[: FEW_LABELS - len(known)])

    def merge(self, other: Check) -> None:
        assert isinstance(other, Texts)
        self.seen += other.seen
        self.blocks += other.blocks
        self.short += other.short
        self.counts += other.counts
        self.blank += other.blank
        for key, labels in other.labels.items():
            known = self.labels.setdefault(key, set())
            known.update(sorted(labels)[: max(0, FEW_LABELS - len(known))])
        self.each += other.each
        for kind, counts in other.in_split.items():
            self.in_split.setdefault(kind, Counter()).update(counts)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name, n in sorted(self.blank.items()):
            value = {"count": n, "of": self.each[name], "where": self.where.of(("blank", name))}
            own, others = (self.labels.get((name, blank), set()) for blank in (True, False))
            value["class"] = (
                min(own) if len(own) == 1 and others and len(others) < FEW_LABELS and not own & others else None
            )
            yield Fact(BLANK, value, self.evidence(), {"field": name})
        for kind in KINDS:
            if kind == "blank":
                continue
            told = [name for name in sorted(self.each) if self._odd(kind, name)]
            if told:
                places = sorted(dealt(self.where.of((kind, name)) for name in told), key=sample_of)
                value = {"count": sum(self.counts[kind, name] for name in told), "where": places[:MAX_PLACES]}
                value["split"] = in_split(self.in_split.get(kind, {}), self.in_split[ALL])
                yield Fact(STRANGE, value, self.evidence(), {"kind": kind})

    def _odd(self, kind: str, name: str) -> bool:
        """Whether so few texts of a field are of a kind that they do not mean to be: what most of them are, they mean to be."""
        n, of = self.counts[kind, name], self.blocks[name] if kind == "flat" else self.each[name]
        if kind == "said" and self.short[name] > 2 * n:
            return False
        least = AGAIN if kind in ONCE else 1  # what occurs once may be what it says
        return n >= least and n * (1 if kind == "encoded twice" else 2) <= of

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BLANK):
            name, n, of = str(fact.at["field"]), fact.value["count"], fact.value["of"]
            means = fact.value["class"]
            optional = self.beside and n * FEW > of and not set(words(name)) & NEEDED
            yield finding(
                "blank-text",
                "info" if optional or means is not None else "warning",
                f"{escaped(name)}: {n:,} of {number(of, 'text')} {verb(n, 'are blank')}"
                + ("" if means is None else f": those of class {escaped(means)}, and no others"),
                fact,
                "keep them: the class means that there is none"
                if means is not None
                else "keep them if the field is optional, as the input to an instruction is"
                if optional
                else "drop these samples",
                fact.value["where"],
                n,
            )
        for fact in facts.all(STRANGE):
            n, kind = fact.value["count"], str(fact.at["kind"])
            yield finding(
                "encoding-error" if kind == "encoded twice" else "suspicious-text",
                "warning",
                f"{number(n, 'text')} {verb(n, KINDS[kind])}{fact.value['split']}",
                fact,
                FIXES.get(kind, STRIP),
                fact.value["where"],
                n,
            )


def _texts_of(column: Column, rows: list[int]) -> set[str]:
    """The values of these rows as texts."""
    import numpy as np

    values = column.values
    if column.coded is not None:
        codes, texts = column.coded
        return {str(texts[k]) for k in np.unique(codes[rows]).tolist()}
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return {str(value) for value in np.unique(values[rows])}
    return {str(values[i]) for i in rows}


CHECK = Texts

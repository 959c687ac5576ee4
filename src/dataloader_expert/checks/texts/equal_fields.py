"""Two texts of a sample that are the same in some samples only: a preferred answer that is also the rejected one, a source that was
copied into its translation, a positive passage among the negative ones. And an answer that is not among its choices, where most are; and a
docstring or a summary that appears word for word in the text that it is to be written from.

Half is the border: what most samples keep to is meant. Equal texts may be meant in some samples, as where nothing had to be
corrected, but not of fields whose names say that one is the better and one the worse; of these, white space makes no difference either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations, product

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.wording import BETTER, FEW, WORSE, said
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words
from dataloader_expert.sources.text_pairs import pair_of

EQUAL = Quantity("equal_fields", "samples", "samples with the same text in two fields, with places")
AMONG = Quantity(
    "text_among", "samples", "samples whose text is one of a list in another field, or is not, with places"
)
HELD = Quantity(
    "text_held",
    "samples",
    "samples with a docstring or summary that appears in the text that it describes, with places",
)
WRITTEN, OF = {"docstring", "summary", "abstract"}, {"code", "function", "article", "document", "body", "dialogue"}
"""Words in the names of what is written of a text, and of that text."""
SAID, HALF = 20, 0.5
"""The fewest characters of what may be copied, and the least share of samples in which it can be."""
LEAST = 20
"""The fewest samples with both fields of which some can be odd."""
MOST = 8
"""Fields that are compared with each other."""
SHORT = 12
"""A text of fewer characters may well stand in two fields."""
UNCHANGED = 100
"""Of so many translations one may be like its source, as names and commands are."""
MOSTLY = 0.8
"""The share of samples whose text is in a list from which on it belongs there."""


class EqualFields(Check):
    ids = ("equal-fields",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        texts = [f.name for f in context.fields if f.kind == "text" or f.name in context.conversations][:MOST]
        lists = [f.name for f in context.fields if f.kind == "other" and f.dtype == "list" and f.name not in texts][
            :MOST
        ]
        single = [f.name for f in context.fields if f.dtype == "str" and not f.shape][:MOST]
        self.pairs = list(combinations(texts, 2))
        self.inside = [(one, many) for one in single for many in lists]
        plain = [name for name in texts if name not in context.conversations]
        written, of = ([name for name in plain if {*words(name)} & kind] for kind in (WRITTEN, OF))
        self.written = list(product(written, [name for name in of if name not in written]))
        self.stands_in: Counter[tuple[str, str]] = Counter()
        """Samples in which the one text stands in the other, and those in which it could."""
        self.both_there: Counter[tuple[str, str]] = Counter()
        self.better_worse = {pair for pair in self.pairs if ranked(*pair)}
        self.both: Counter[tuple[str, str]] = Counter()
        self.equal: Counter[tuple[str, str]] = Counter()
        """Samples with equal texts; or with a long text that is in the list."""
        self.without: Counter[tuple[str, str]] = Counter()
        """Samples whose text is not in the list."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.pairs or self.inside)

    def looked(self) -> bool:
        return bool(self.both)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for pair in (*self.pairs, *self.inside):
            columns = [block.columns[name].values for name in pair if name in block.columns]
            if len(columns) < 2:
                continue
            for i, (a, b) in enumerate(zip(*columns, strict=False)):
                texts = [list(said(value)) for value in (a, b)]
                if pair in self.inside:
                    self._look_inside(block, pair, i, texts, b)
                elif all(sum(map(len, text)) >= SHORT for text in texts):
                    self.both[pair] += 1
                    if texts[0] == texts[1] or (pair in self.better_worse and spaced(*texts)):
                        self.equal[pair] += 1
                        self.where.add((pair, "in"), block, i, pair[1])

        for pair in self.written:
            columns = [block.columns[name].values for name in pair if name in block.columns]
            for i, values in enumerate(zip(*columns, strict=False) if len(columns) == 2 else ()):
                one, other = (" ".join(value.split()) if isinstance(value, str) else "" for value in values)
                if SAID <= len(one) < len(other):
                    self.both_there[pair] += 1
                    if one in other:
                        self.stands_in[pair] += 1
                        self.where.add((pair, "held"), block, i, pair[1])

    def _look_inside(self, block: Block, pair: tuple[str, str], i: int, texts: list[list[str]], many: object) -> None:
        if not texts[0] or not isinstance(many, list) or not many or not all(isinstance(one, str) for one in many):
            return
        self.both[pair] += 1
        if texts[0][0] not in texts[1]:
            self.without[pair] += 1
            self.where.add((pair, "out"), block, i, pair[0])
        elif len(texts[0][0]) >= SHORT:
            self.equal[pair] += 1
            self.where.add((pair, "in"), block, i, pair[1])

    def merge(self, other: Check) -> None:
        assert isinstance(other, EqualFields)
        self.seen += other.seen
        self.both += other.both
        self.equal += other.equal
        self.without += other.without
        self.stands_in += other.stands_in
        self.both_there += other.both_there
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for pair in self.written:
            n, of = self.stands_in[pair], self.both_there[pair]
            if of >= LEAST and n >= HALF * of:
                value = {"count": n, "of": of, "where": self.where.of((pair, "held"))}
                yield Fact(HELD, value, self.evidence(), {"fields": list(pair)})
        for pair in (*self.pairs, *self.inside):
            of, n, out, evidence = self.both[pair], self.equal[pair], self.without[pair], self.evidence()
            if of < LEAST:
                continue
            if 0 < 2 * n <= of:
                quantity = AMONG if pair in self.inside else EQUAL
                value = {"count": n, "of": of, "where": self.where.of((pair, "in"))}
                yield Fact(quantity, value, evidence, {"fields": list(pair), "odd": "in"})
            elif pair in self.inside and 0 < out <= (1 - MOSTLY) * of:
                value = {"count": out, "of": of, "where": self.where.of((pair, "out"))}
                yield Fact(AMONG, value, evidence, {"fields": list(pair), "odd": "out"})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(HELD):
            n, (a, b) = fact.value["count"], (escaped(name) for name in fact.at["fields"])
            text = f"{a} appears word for word in {b} in {n:,} of {number(fact.value['of'], 'sample')}: a model that is to generate {a} can simply copy it"
            fix = f"if {a} is the target, remove it from {b}"
            yield finding("equal-fields", "warning", text, fact, fix, fact.value["where"], n)
        for fact in (*facts.all(EQUAL), *facts.all(AMONG)):
            n, of, pair = fact.value["count"], fact.value["of"], fact.at["fields"]
            a, b = (escaped(name) for name in pair)
            unchanged = opposed(*pair) and not ranked(*pair) and n * UNCHANGED <= of
            severity: Severity = "warning" if (opposed(*pair) or n * FEW <= of) and not unchanged else "info"
            fix = "check them, and drop them if the two are meant to differ"
            if fact.at["odd"] == "out":
                text, severity = f"in {n:,} of {of:,} samples {a} is not one of {b}", "warning"
                fix = "correct one of the two: an answer that is not among the choices can never be predicted"
            elif fact.quantity == AMONG:
                text = f"in {n:,} of {of:,} samples {a} is also one of {b}"
            else:
                text = f"{n} of {of:,} samples {verb(n, 'have')} the same content in {a} and {b}"
            yield finding("equal-fields", severity, text, fact, fix, fact.value["where"], n)


def opposed(one: str, other: str) -> bool:
    """Whether the names say that one is the better and the other the worse, or that they are in two languages."""
    told = pair_of({name: {*words(name)} for name in (one, other)}, {})
    return (told is not None and told[0] == "translation") or ranked(one, other)


def ranked(one: str, other: str) -> bool:
    """Whether the names say that one is the better and the other the worse."""
    a, b = ({*words(name)} for name in (one, other))
    return bool((a & BETTER and b & WORSE) or (a & WORSE and b & BETTER))


def spaced(texts: list[str], others: list[str]) -> bool:
    """Whether texts differ by white space only."""
    pairs = list(zip(texts, others, strict=False))
    begun = all(a.lstrip()[:SHORT].split() == b.lstrip()[:SHORT].split() for a, b in pairs)  # of most, this tells it
    return begun and len(texts) == len(others) and all(a.split() == b.split() for a, b in pairs)


CHECK = EqualFields

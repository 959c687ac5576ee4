"""A value of a category that another split writes in another way: a stop that is abbreviated in the test split, the letter O for the digit 0.

One value of training is missing there, and one that training never has is there instead, about as often; the two are spelt alike (one is an
abbreviation of the other, or has letters that look like the other's), and the splits share their other values. Names that only differ in
case or spaces are told whatever the split (``spelling``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.alike import meant_by
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

RENAMED = Quantity(
    "values_renamed", "samples", "a value that one split writes in another way than training, and how often it has it"
)
MOST = 200
"""Distinct values beyond which a field is no category."""
DUE, APART, COMMON = 10, 4.0, 0.5
"""How many samples of a split are expected with a missing value at least, by how many standard errors shares may differ, and the least share of a
split's samples whose values training has."""
SHORTEST = 3
"""Letters of the shortest abbreviation."""
VERSIONS = {
    "version",
    "release",
    "build",
    "model",
    "firmware",
    "date",
    "day",
    "month",
    "year",
    "week",
    "period",
    "season",
    "quarter",
}
"""Words in the names of fields whose values follow one another."""
LOOK_ALIKE = str.maketrans("OoIl|", "00111")
"""Letters that look like digits."""


class RenamedValues(Check):
    ids = ("label-twins",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, context.timed, *roles.keys) if r is not None}
        plain = [f.name for f in context.fields if f.kind == "category" and f.dtype == "str" and not f.shape]
        self.fields = [name for name in plain if name not in aside and not {*words(name)} & VERSIONS]
        self.counts: dict[tuple[str, str], Counter[str]] = {}
        """Values by field and split."""

    def applies(self) -> bool:
        return self.context.several_splits and bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for split, part in self.context.by_split(block) if self.applies() else ():
            for name in self.fields if split is not None else ():
                column, counts = part.columns.get(name), self.counts.setdefault((name, str(split)), Counter())
                if column is not None and len(counts) <= MOST:
                    counts.update({text: n for text, n in column.texts.items() if text.strip()})

    def merge(self, other: Check) -> None:
        assert isinstance(other, RenamedValues)
        self.seen += other.seen
        for key, counts in other.counts.items():
            self.counts.setdefault(key, Counter()).update(counts)

    def facts(self) -> Iterable[Fact]:
        for name, split in sorted(self.counts):
            train, own = self.counts.get((name, "train"), Counter()), self.counts[name, split]
            if split != "train" and len(train) <= MOST and len(own) <= MOST:
                for usual, odd in renamed(train, own):
                    value = {"usual": usual, "odd": odd, "count": own[odd]}
                    yield Fact(RENAMED, value, self.evidence(), {"field": name, "split": split, "values": [usual, odd]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(RENAMED):
            v, name, split = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["split"]))
            odd, usual = escaped(v["odd"]), escaped(v["usual"])
            text = f"{name} is {odd!r} in {v['count']:,} samples of {split} but never in train, and {usual!r} never in {split} but in train about as "
            text += "often: they seem to be one value spelt in two ways"
            fix = f"if so, write {usual!r} in {split} too: a model trained on train has never seen {odd!r}"
            yield finding(
                "label-twins",
                "warning",
                text,
                fact,
                fix,
                [{"field": fact.at["field"], "split": fact.at["split"]}],
                v["count"],
            )


def renamed(train: Mapping[str, int], own: Mapping[str, int]) -> list[tuple[str, str]]:
    """Values of training that a split lacks, each with the one that it has instead. ``own``: how often it has each value."""
    n, m = sum(train.values()), sum(own.values())
    if not n or sum(k for value, k in own.items() if value in train) < COMMON * m:
        return []
    same = meant_by({**train, **own})
    gone = [value for value, k in train.items() if value not in own and k * m >= DUE * n]
    new = [value for value in own if value not in train]
    found = []
    for usual in gone:
        fits = [
            odd
            for odd in new
            if same[odd] != same[usual] and _alike(usual, odd) and _as_often(train[usual], n, own[odd], m)
        ]
        found += [(usual, fits[0])] if len(fits) == 1 else []
    return found


def _as_often(k: int, n: int, j: int, m: int) -> bool:
    """Whether two shares may be one."""
    pooled = (k + j) / (n + m)
    return (
        abs(k / n - j / m) <= APART * math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        or 0.5 <= (j / m) / (k / n) <= 2
    )


def _alike(one: str, two: str) -> bool:
    """Whether one text abbreviates the other one, or letters of the one look like those of the other; numbers are others."""
    if one.translate(LOOK_ALIKE) == two.translate(LOOK_ALIKE):
        return True
    short, long = sorted((_letters(one), _letters(two)), key=len)
    digits = [[c for c in text if c.isdigit()] for text in (one, two)]
    if digits[0] != digits[1] or not SHORTEST <= len(short) < len(long) or short[0] != long[0]:
        return False
    rest = iter(long)
    return all(letter in rest for letter in short)


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalpha())


CHECK = RenamedValues

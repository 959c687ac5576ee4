"""Tags of tokens in two schemes: entities of one token are B- in some samples (BIO) and U- or S- in others (BILOU, BIOES)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SCHEMES = Quantity(
    "tag_schemes", "samples", "samples whose tags are of each of two schemes, and where the rarer ones are"
)
BIO, BILOU = "BIO", "BILOU"
LAST, SINGLE = {"L", "E"}, {"U", "S"}
LEAST = 3
"""The fewest samples of a scheme."""


class TagSchemes(Check):
    ids = ("label-twins",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind == "other" and f.dtype == "list"]
        self.counts: Counter[tuple[str, str]] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name, i, value in block.values(self.fields):
            scheme = scheme_of(value) if isinstance(value, list) and value else None
            if scheme is not None:
                self.counts[name, scheme] += 1
                self.where.add((name, scheme), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, TagSchemes)
        self.seen += other.seen
        self.counts += other.counts
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name in self.fields:
            counts = {scheme: self.counts[name, scheme] for scheme in (BIO, BILOU)}
            if min(counts.values()) >= LEAST:
                rare = min(counts, key=lambda scheme: counts[scheme])
                value = {"counts": counts, "rare": rare, "where": self.where.of((name, rare))}
                yield Fact(SCHEMES, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SCHEMES):
            v, name = fact.value, escaped(str(fact.at["field"]))
            n = v["counts"][v["rare"]]
            text = f"{name} is tagged by {v['rare']} in {number(n, 'sample')} and by {BIO if v['rare'] == BILOU else BILOU} in others: "
            text += f"entities of one token {verb(2, 'are')} B- in some and U- or S- in others"
            fix = "convert all to one scheme: the same entity has two labels now"
            yield finding("label-twins", "warning", text, fact, fix, v["where"], n)


def scheme_of(tags: Sequence[object]) -> str | None:
    """The scheme that a sample's tags are surely of; None if they may be of both, or are no such tags."""
    if not all(isinstance(tag, str) for tag in tags):
        return None
    heads = [str(tag).partition("-")[0] if "-" in str(tag) else str(tag) for tag in tags]
    if not {*heads} <= {"B", "I", "O"} | LAST | SINGLE or not {"B", *SINGLE} & {*heads}:
        return None
    if {*heads} & (LAST | SINGLE):
        return BILOU
    ends = [i for i, head in enumerate(heads) if head in "BI" and head != "O" and heads[i + 1 : i + 2] != ["I"]]
    return BIO if ends else None


CHECK = TagSchemes

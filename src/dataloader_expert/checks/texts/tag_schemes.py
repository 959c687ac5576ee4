"""Tags of tokens in two schemes: entities of one token are B- in some samples (BIO) and U- or S- in others (BILOU, BIOES); and a few
samples, or one split or stretch (IOB1), in which an entity begins without B-, where the others always have it; and one type of entity in several spellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.alike import spellings, spelt
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.texts.confined import Confined
from dataloader_expert.checks.texts.tagging import BILOU, BIO, scheme_of, tags_of, without_start
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SCHEMES = Quantity(
    "tag_schemes", "samples", "samples whose tags are of each of two schemes, and where the rarer ones are"
)
STARTS = Quantity(
    "tags_without_start", "samples", "samples with an I- tag that continues no entity of its type, with places"
)
TYPES = Quantity("tag_types", "tags", "spellings of one type of entity, with the tags of each")
LEAST = 3
"""The fewest samples of a scheme."""
MOST_TYPES, SHORTEST = 1_000, 3
"""The most types, beyond which nothing is said of their spelling, and letters of the shortest that may be misspelt, as PRE is for PER."""
MINORITY = 2
"""One sample in so many may begin entities without B-: in the scheme that is meant so (IOB1), nearly all do."""


class TagSchemes(Check):
    ids = ("label-twins", "tag-order")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind == "other" and f.dtype == "list"]
        self.counts: Counter[tuple[str, str]] = Counter()
        self.tagged: Counter[str] = Counter()
        self.orphans: Counter[str] = Counter()
        """Samples with tags of entities, and those of which one has no beginning, by field."""
        self.types: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        """Tags of each type of entity, by field."""
        self.confined = Confined(context)
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def looked(self) -> bool:
        return bool(self.tagged)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        splits = self.confined.note(block)
        for name, i, value in block.values(self.fields):
            if not isinstance(value, list) or not value:
                continue
            tags = tags_of(value)
            if tags is not None and any(head in ("B", "I") for head, _ in tags):
                self.tagged[name] += 1
                self.confined.of[name, splits[i]] += 1
                self._count(name, [kind for _, kind in tags if kind], block, i)
                if without_start(tags):
                    self.orphans[name] += 1
                    self.confined.add_odd(name, splits[i], block.index(i))
                    self.where.add((name, "orphan"), block, i, name)
            scheme = scheme_of(value)
            if scheme is not None:
                self.counts[name, scheme] += 1
                self.where.add((name, scheme), block, i, name)

    def _count(self, name: str, kinds: list[str], block: Block, i: int) -> None:
        counts = self.types[name]
        for kind, n in Counter(kinds).items():
            if kind in counts or len(counts) <= MOST_TYPES:
                counts[kind] += n
                self.where.add((name, "type", kind), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, TagSchemes)
        self.seen += other.seen
        self.counts += other.counts
        self.tagged += other.tagged
        self.orphans += other.orphans
        self.confined.merge(other.confined)
        for name, counts in other.types.items():
            self.types[name] += counts
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name in self.fields:
            counts = {scheme: self.counts[name, scheme] for scheme in (BIO, BILOU)}
            if min(counts.values()) >= LEAST:
                rare = min(counts, key=lambda scheme: counts[scheme])
                value = {"counts": counts, "rare": rare, "where": self.where.of((name, rare))}
                yield Fact(SCHEMES, value, self.evidence(), {"field": name})
            part = self.confined.part(name, name) if self.orphans[name] else None
            if part is not None or 0 < self.orphans[name] * MINORITY <= self.tagged[name]:
                places = self.where.of((name, "orphan"))
                odd = {"count": self.orphans[name], "of": self.tagged[name], "where": places}
                odd |= {"part": None if part is None else part.said()}
                yield Fact(STARTS, odd, self.evidence(), {"field": name})
            few = self.types[name] if len(self.types[name]) <= MOST_TYPES else {}
            for alike in spellings(few, SHORTEST).values():
                counted = {kind: self.types[name][kind] for kind in alike}
                places = [place for kind in alike[1:] for place in self.where.of((name, "type", kind))][:MAX_PLACES]
                told = {"counts": counted, "where": places}
                yield Fact(TYPES, told, self.evidence(), {"field": name, "type": alike[0]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SCHEMES):
            v, name = fact.value, escaped(str(fact.at["field"]))
            n = v["counts"][v["rare"]]
            text = f"{name} uses the {v['rare']} scheme in {number(n, 'sample')} and {BIO if v['rare'] == BILOU else BILOU} in the others: "
            text += "one-token entities are B- in some and U- or S- in others"
            fix = "convert all to one scheme: the same entity has two labels now"
            yield finding("label-twins", "warning", text, fact, fix, v["where"], n)
        for fact in facts.all(TYPES):
            counts, name = fact.value["counts"], escaped(str(fact.at["field"]))
            right, *others = counts
            n = sum(counts[kind] for kind in others)
            text = f"{name} has one type of entity in several spellings: {spelt([right])}, {number(counts[right], 'tag')}, and {spelt(others)}, "
            text += number(n, "tag")
            fix = f"write {escaped(right)} in all of them: each spelling is a class of its own"
            yield finding("label-twins", "warning", text, fact, fix, fact.value["where"], n)
        for fact in facts.all(STARTS):
            n, name = fact.value["count"], escaped(str(fact.at["field"]))
            text = f"{name}: in {n:,} of {number(fact.value['of'], 'sample')} an I- tag follows neither B- nor I- of its type"
            text += f" ({fact.value['part']})" if fact.value["part"] else ""
            fix = "write B- where an entity begins, as in the other samples, or correct the type: evaluation drops or joins such entities"
            yield finding("tag-order", "warning", text, fact, fix, fact.value["where"], n)


CHECK = TagSchemes

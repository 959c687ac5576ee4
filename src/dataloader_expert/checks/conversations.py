"""Conversations: what chat templates expect of the order of turns, and what a few conversations do not keep to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.checks.wording import FEW
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.turns import ANSWER, ASK, KNOWN, role_of

TURNS = Quantity(
    "odd_conversations", "conversations", "conversations whose turns are unlike those of the others, with samples"
)
LEAST = 20
"""The fewest conversations of which a few can be odd."""
DEEPEST, NAMES = 4, 5
TEXTS = {
    "unanswered": ("{end} without an answer", "drop them, or cut the last turn: there is nothing to learn from it"),
    "repeated": (
        "{have} two turns of one role in a row",
        "merge these turns or drop them: chat templates expect the roles to alternate",
    ),
    "late": (
        "{have} a system turn after the first",
        "move it to the beginning: many chat templates refuse it elsewhere",
    ),
    "unknown": (
        "{have} a turn of an unknown role",
        "correct it: chat templates ignore or refuse roles that they do not know",
    ),
}


class Conversations(Check):
    ids = ("turn-order",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = context.nested
        self.counts: Counter[tuple[str, str]] = Counter()
        """By field and what was seen; the empty word counts all conversations."""
        self.names: dict[str, list[str]] = {}
        """Of each field the unknown roles, the first few in the order of the alphabet."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name, i, value in block.values(self.fields):
            for roles in conversations(value, 0):
                self.counts[name, ""] += 1
                for odd in oddities(roles):
                    self.counts[name, odd] += 1
                    self.where.add((name, odd), block, i, name)
                self._name(name, {role[:40] for role in roles} - KNOWN)

    def _name(self, field: str, roles: set[str]) -> None:
        if roles:
            self.names[field] = sorted({*self.names.get(field, ()), *roles})[:NAMES]

    def merge(self, other: Check) -> None:
        assert isinstance(other, Conversations)
        self.seen += other.seen
        self.counts += other.counts
        self.where.merge(other.where)
        for field, roles in other.names.items():
            self._name(field, {*roles})

    def facts(self) -> Iterable[Fact]:
        for (name, odd), n in sorted(self.counts.items()):
            of = self.counts[name, ""]
            if odd and of >= LEAST and n * FEW <= of:
                value = {"count": n, "of": of, "where": self.where.of((name, odd))}
                value |= {"roles": self.names[name]} if odd == "unknown" else {}
                yield Fact(TURNS, value, self.evidence(), {"field": name, "odd": odd})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(TURNS):
            n, (text, fix) = fact.value["count"], TEXTS[str(fact.at["odd"])]
            text = text.format(end=verb(n, "end"), have=verb(n, "have"))
            text = f"{escaped(str(fact.at['field']))}: {n} of {number(fact.value['of'], 'conversation')} {text}"
            roles = ", ".join(map(escaped, fact.value.get("roles", ())))
            text += f": {roles}" if roles else ""
            yield finding("turn-order", "warning", text, fact, fix, fact.value["where"], n)


def conversations(value: Any, depth: int) -> Iterator[list[str]]:
    """The roles of each list of turns within a value."""
    if isinstance(value, dict):
        for inner in value.values() if depth < DEEPEST else ():
            yield from conversations(inner, depth + 1)
    elif isinstance(value, list | tuple) and value and all(isinstance(turn, dict) for turn in value):
        roles = [role for turn in value if (role := role_of(turn)) is not None]
        if len(roles) == len(value) and KNOWN & {*roles}:  # else the key says something else
            yield roles


def oddities(roles: list[str]) -> Iterator[str]:
    """What is odd about a conversation with these roles."""
    if {*roles} - KNOWN:
        yield "unknown"
    if roles[-1] in ASK or not ANSWER & {*roles}:
        yield "unanswered"
    if any(a == b and a in ASK | ANSWER for a, b in pairwise(roles)):
        yield "repeated"
    if "system" in roles[1:]:
        yield "late"


CHECK = Conversations

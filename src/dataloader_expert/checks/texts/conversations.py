"""Conversations: what chat templates expect of turns and of calls of tools, and what a few conversations do not keep to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.numbers import piled
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.wording import FEW, has_template, said
from dataloader_expert.checks.texts.confined import Confined
from dataloader_expert.checks.texts.tool_calls import COLUMNS, odd_calls
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.turns import ANSWER, ASK, KNOWN, ROLE_KEYS, TOOLS, conversations, role_of

TURNS = Quantity(
    "odd_conversations", "conversations", "conversations whose turns are unlike those of the others, with samples"
)
FAMILIES = Quantity("role_names", "conversations", "conversations with other role names than most, with places")
CUT = Quantity("answers_cut", "answers", "answers that are as long as the longest, where hardly any is nearly as long")
MOST_LENGTHS = 100_000
"""Distinct lengths of answers that are counted."""
LEAST = 20
"""The fewest conversations of which a few can be odd."""
NAMES = 5
TEMPLATED = "templated"
ECHO, LONG = "echo", 30
"""An answer that holds the question before it, and the fewest letters of such a question: a word may be asked for."""
WRONG = {ECHO, TEMPLATED, "unanswered", "unheard", "swapped", "garbled", "dangling", "undeclared", "lacking", "surplus"}
"""What is a fault in any number of conversations that most are free of; the others may be the way of one source among several, such as an
agent that speaks before each call of a tool."""
REVERSED, GREETED = "reversed", "greeted"
"""A conversation in which answers and questions alternate from an answer to a question, and one that an answer begins otherwise: where hardly
any does, the former has its roles swapped."""
REVERSE = (
    "begin with an answer and end with a question, the reverse of the others: their roles seem to be swapped",
    "swap the two roles in these conversations: a model learns to ask where it should answer",
)
MOSTLY = 0.9
"""The share of conversations without a last answer that are the reverse of the others, if that is what happened to them."""
SELDOM = 50
"""One answer in so many may repeat its question for a reason."""
TEXTS = {
    "unanswered": ("{end} without an answer", "drop them, or cut the last turn: there is nothing to learn from it"),
    "swapped": (
        "{have} an answer before its question",
        "swap these two turns, unless the first one is a greeting and the roles alternate after it",
    ),
    "unheard": (
        "{have} two questions in a row, the first without an answer",
        "find out whether answers were lost; else merge the two turns: chat templates expect the roles to alternate",
    ),
    "repeated": (
        "{have} two answers in a row",
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
    "garbled": (
        "{have} a tool call whose arguments are not JSON",
        "correct or drop them: a model learns to write calls that no program can read",
    ),
    "echo": (
        "{have} an answer that repeats the whole question",
        "find out whether the prompt was written into the answers; if so, remove it: a model learns to repeat it",
    ),
    TEMPLATED: (
        "{have} tokens of a chat template in a turn, such as <|im_end|> or [INST]",
        "remove them: the template writes these tokens itself, and a model learns to generate them",
    ),
    "undeclared": (
        "{have} a call of a tool that is not among their tools",
        "add the tool to the list, or drop these samples: a model learns to call tools that it was not given",
    ),
    "lacking": (
        "{have} a tool call without an argument that the tool requires",
        "complete the arguments, or drop these samples: a model learns to write calls that fail",
    ),
    "surplus": (
        "{have} a tool call with an argument that the tool does not have",
        "correct the arguments or the tool's schema, or drop these samples: a model learns to make arguments up",
    ),
    "unresolved": (
        "{have} a tool call without its result, though the conversation goes on",
        "restore the result, or drop these samples: a model learns to answer without it, and some chat templates refuse them",
    ),
    "dangling": (
        "{have} a tool result without its call",
        "give both the same id, or drop them: some chat templates refuse a result that belongs to no call",
    ),
}


class Conversations(Check):
    ids = ("turn-order", "suspicious-text")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = context.nested
        self.counts: Counter[tuple[str, str]] = Counter()
        """By field and what was seen; the empty word counts all conversations."""
        self.names: dict[str, list[str]] = {}
        """Of each field the unknown roles, the first few in the order of the alphabet."""
        self.families: Counter[tuple[str, str]] = Counter()
        """Conversations by field and by the names of who asks and who answers."""
        self.lengths: dict[str, Counter[int]] = {}
        """Characters of answers, by field."""
        self.longest: dict[str, int] = {}
        self.confined = Confined(context)
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        splits = self.confined.note(block)
        listed = next((block.columns[name].values for name in COLUMNS if name in block.columns), None)
        tools = [None] * block.samples if listed is None else listed
        for name, i, value in block.values(self.fields):
            for turns in conversations(value):
                roles = [str(role_of(turn)) for turn in turns]
                self.counts[name, ""] += 1
                self.confined.of[name, splits[i]] += 1
                for turn in turns:
                    if role_of(turn) in ANSWER:
                        self._measure(name, turn, block, i)
                for odd in (
                    *oddities(roles),
                    *begun(roles),
                    *odd_calls(turns, tools[i]),
                    *echoes(turns),
                    *templated(turns),
                ):
                    self.counts[name, odd] += 1
                    self.confined.add_odd((name, odd), splits[i], block.index(i))
                    self.where.add((name, odd), block, i, name)
                family = (frozenset(roles) & ASK, frozenset(roles) & ANSWER)
                if all(len(named) == 1 for named in family):
                    kind = " and ".join(next(iter(named)) for named in family)
                    self.families[name, kind] += 1
                    self.where.add((name, "family", kind), block, i, name)
                self._name(name, {role[:40] for role in roles} - KNOWN)

    def _measure(self, name: str, turn: dict[str, Any], block: Block, i: int) -> None:
        lengths = self.lengths.setdefault(name, Counter())
        n = sum(map(len, said({k: v for k, v in turn.items() if k not in ROLE_KEYS})))
        if n >= self.longest.get(name, 0):
            self.longest[name] = n
            self.where.add((name, n), block, i, name)
        if n in lengths or len(lengths) < MOST_LENGTHS:
            lengths[n] += 1

    def _name(self, field: str, roles: set[str]) -> None:
        if roles:
            self.names[field] = sorted({*self.names.get(field, ()), *roles})[:NAMES]

    def merge(self, other: Check) -> None:
        assert isinstance(other, Conversations)
        self.seen += other.seen
        self.counts += other.counts
        self.families += other.families
        self.where.merge(other.where)
        self.confined.merge(other.confined)
        for field, lengths in other.lengths.items():
            self.lengths.setdefault(field, Counter()).update(lengths)
        for field, n in other.longest.items():
            self.longest[field] = max(n, self.longest.get(field, 0))
        for field, roles in other.names.items():
            self._name(field, {*roles})

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for (name, odd), n in sorted(self.counts.items()):
            of = self.counts[name, ""]
            if odd in ("", REVERSED, GREETED) or of < LEAST:
                continue
            part = self.confined.part(name, (name, odd))
            if part is not None or n * (2 if odd in WRONG else FEW) <= of:
                value = {"count": n, "of": of, "where": self.where.of((name, odd))}
                value |= {"part": None if part is None else part.said()}
                value |= {"roles": self.names[name]} if odd == "unknown" else {}
                value |= {"reversed": self._reversed(name)} if odd == "unanswered" else {}
                yield Fact(TURNS, value, self.evidence(), {"field": name, "odd": odd})

        for name in sorted({name for name, _ in self.families}):
            named = Counter({kind: n for (of, kind), n in self.families.items() if of == name})
            if len(named) > 1 and named.total() >= LEAST:
                (usual, _), *rare = named.most_common()
                places = [place for kind, _ in rare for place in self.where.of((name, "family", kind))][:MAX_PLACES]
                value = {
                    "usual": usual,
                    "rare": [kind for kind, _ in rare],
                    "count": sum(n for _, n in rare),
                    "of": named.total(),
                }
                yield Fact(FAMILIES, value | {"where": places}, self.evidence(), {"field": name})
        for name, lengths in sorted(self.lengths.items()):
            levels = sorted(lengths)
            cut = piled(np.array(levels), np.array([lengths[n] for n in levels]))
            if cut is not None:
                value = {**cut, "n": lengths.total(), "where": self.where.of((name, int(cut["value"])))}
                yield Fact(CUT, value, self.evidence(), {"field": name})

    def _reversed(self, name: str) -> bool:
        """Whether conversations without a last answer have their roles swapped."""
        n = self.counts[name, REVERSED]
        return n >= MOSTLY * self.counts[name, "unanswered"] and self.counts[name, GREETED] * FEW <= n

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(FAMILIES):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name}: {v['count']:,} of {number(v['of'], 'conversation')} {verb(v['count'], 'use')} other role "
            text += f"names than the rest: {', '.join(v['rare'][:3])} instead of {v['usual']}"
            fix = "rename all roles to those of the chat template: it ignores or rejects turns of other roles"
            yield finding("turn-order", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(CUT):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name}: {v['count']:,} of {v['n']:,} answers {verb(v['count'], 'are')} exactly {int(v['value']):,} characters long, as "
            text += "long as the longest"
            fix = "they were probably cut off: fetch them in full from their source, or drop them"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(TURNS):
            n, (text, fix) = fact.value["count"], TEXTS[str(fact.at["odd"])]
            text, fix = REVERSE if fact.value.get("reversed") else (text, fix)
            text = text.format(end=verb(n, "end"), have=verb(n, "have"))
            text = f"{escaped(str(fact.at['field']))}: {n} of {number(fact.value['of'], 'conversation')} {text}"
            roles = ", ".join(map(escaped, fact.value.get("roles", ())))
            text += f": {roles}" if roles else ""
            text += f" ({fact.value['part']})" if fact.value["part"] else ""
            code = "suspicious-text" if fact.at["odd"] in (ECHO, TEMPLATED) else "turn-order"
            seldom = (
                fact.at["odd"] == ECHO and n * SELDOM < fact.value["of"]
            )  # such as a sentence that is right as it is
            yield finding(code, "info" if seldom else "warning", text, fact, fix, fact.value["where"], n)


def oddities(roles: list[str]) -> Iterator[str]:
    """What is odd about a conversation with these roles."""
    if {*roles} - KNOWN:
        yield "unknown"
    spoken = [
        one for one, then in pairwise([*roles, ""]) if one not in ANSWER or then not in TOOLS
    ]  # not a call of a tool
    swapped = _swapped([role for role in spoken if role in ASK | ANSWER])
    if swapped:
        yield "swapped"
    elif roles[-1] in ASK or not {*roles} - KNOWN | ANSWER & {*roles}:
        yield "unanswered"
    for odd, named in (("unheard", ASK), ("repeated", ANSWER)):
        if not swapped and any(a == b and a in named for a, b in pairwise(roles)):
            yield odd
    if "system" in roles[1:]:
        yield "late"


def begun(roles: list[str]) -> Iterator[str]:
    """Whether an answer begins a conversation, and whether all of it is then the reverse of a conversation."""
    said = [role in ASK for role in roles if role in ASK | ANSWER]
    if said and not said[0]:
        yield REVERSED if all(ask == i % 2 for i, ask in enumerate(said)) and said[-1] else GREETED


def _swapped(roles: list[str]) -> bool:
    """Whether questions and answers alternate once an answer and the question after it change places, and do not as they are."""
    asks = [role in ASK for role in roles]
    due = [i % 2 == 0 for i in range(len(asks))]
    odd = [i for i, (is_, should) in enumerate(zip(asks, due, strict=True)) if is_ != should]
    return len(asks) % 2 == 0 and len(odd) == 2 and odd[1] == odd[0] + 1 and asks[odd[1]]


def echoes(turns: list[dict[str, Any]]) -> Iterator[str]:
    """Whether an answer holds all of the question before it; where most do, they are texts to be completed."""
    for one, two in pairwise(turns):
        if role_of(one) in ASK and role_of(two) in ANSWER:
            question, answer = map(_text, (one, two))
            if len(question) >= LONG and question in answer:
                yield ECHO
                return


def templated(turns: list[dict[str, Any]]) -> Iterator[str]:
    """Whether a turn holds tokens of a chat template."""
    if any(has_template(text) for turn in turns for text in said(turn)):
        yield TEMPLATED


def _text(turn: dict[str, Any]) -> str:
    """What is said in a turn, in lower case with single spaces."""
    return " ".join(" ".join(said({k: v for k, v in turn.items() if k not in ROLE_KEYS})).split()).casefold()


CHECK = Conversations

"""Texts of a template that was never filled in: a few say ``Answer the question: {question}`` where the others have the question.

A text may well speak of placeholders: code, a message that a program fills in, a letter that somebody is to sign. Such texts differ from
each other, and so do their placeholders. A template that was not filled in makes the same text again and again, at least around the
placeholder, so only what recurs counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places, dealt, sample_of
from dataloader_expert.checks.common.wording import said
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

UNFILLED = Quantity(
    "unfilled_texts", "samples", "texts with a placeholder that recurs in the same words, and which it is"
)
LEAST, WHOLE = 3, 2
"""The fewest texts alike around a placeholder, and the fewest that are nothing but one."""
USUAL = 0.1
"""Where more of a field's texts have placeholders, they are meant to have them."""
BRACES = 0.05
"""Where more of a field's texts have braces otherwise, braces are its way of writing, such as that of code or formulas."""
RECUR = 0.5
"""The least share of a field's texts with placeholders that recur: others are what texts speak of."""
MOST = 1_000
"""Texts around placeholders that are told apart; a field with more speaks of placeholders."""
AROUND, LONGEST = 20, 20_000
"""Characters beside a placeholder that tell a template, and of the longest text that is read."""
SLOTS = {
    "text", "input", "inputs", "output", "outputs", "response", "answer", "answers", "completion", "summary", "prompt", "question",
    "query", "instruction", "instructions", "context", "passage", "document", "article", "sentence", "premise", "hypothesis", "title",
    "topic", "content", "message", "body", "subject", "description", "caption", "source", "target", "translation", "language", "label",
    "category", "user", "username", "customer", "name", "firstname", "lastname", "fullname", "company", "product", "brand", "city",
    "country", "location", "address", "date", "placeholder", "value", "choices", "options", "history", "dialogue", "conversation",
}  # fmt: skip
"""Words in the names of what a template is filled with; other words in single braces may be sounds, signs or variables."""
_NAME = r"\s*([A-Za-z_][\w.-]{0,40})\s*"
_PLACEHOLDER = re.compile(
    rf"(?P<sure>\{{\{{{_NAME}\}}\}}|\$\{{{_NAME}\}}|%\({_NAME}\)[sd]|<%={_NAME}%>)|(?<![{{$\\\w/=^]){{(?P<name>[A-Za-z_][\w.-]{{0,40}})}}(?![}}/])"
)
_ASKED = re.compile(r"\s*[\[<{(](?:insert|enter|add|your|put)\b[^\[\]<>{}()]{0,60}[\]>})]\s*", re.I)
"""A whole text that asks for another: ``[INSERT NAME]``."""
_CODE = re.compile(
    r"```|\b(?:def|function|return|import|print|const|printf|echo|format|lambda|SELECT|class)\b\s*[\w(.*\"']|=>|;\s*$|\bf['\"]|\\[a-zA-Z]+\{|</?\w+>|[{}]",
    re.M,
)
"""Signs of code and formulas, in a text without its placeholders."""


class Unfilled(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [
            f.name
            for f in context.fields
            if f.name != context.label and ((f.kind in ("text", "category") and f.dtype == "str") or self._talk(f.name))
        ]
        self.slots = SLOTS | {f.name.casefold() for f in context.fields}
        self.each: Counter[str] = Counter()
        self.braces: Counter[str] = Counter()
        """Texts of each field that have braces in another way."""
        self.found: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in self.fields}
        """Texts of each field by placeholder and what stands beside it; nothing of a text that is nothing else."""
        self.many: set[str] = set()
        self.where = Places()

    def _talk(self, name: str) -> bool:
        return name in self.context.conversations

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name in self.fields:
            column = block.columns.get(name)
            values = [] if column is None else column.values[: block.samples]
            if self._talk(name):
                self.each[name] += len(values)
                for i, value in enumerate(values):
                    any(self._look(name, text[:LONGEST], block, i) for text in said(value) if _may(text))
                continue
            texts = {} if column is None else column.texts
            self.each[name] += sum(texts.values())
            looked_at = {text for text in texts if _may(text)}  # nearly all columns have none, and values recur
            for i, value in enumerate(values if looked_at else ()):
                if isinstance(value, str) and value in looked_at:
                    self._look(name, value[:LONGEST], block, i)

    def _look(self, name: str, text: str, block: Block, i: int) -> bool:
        """Notes what placeholder a text has, or that it has braces otherwise; whether either is so."""
        if _ASKED.fullmatch(text):
            return self._note(name, (text.strip()[:AROUND], ""), block, i)
        held = [m for m in _PLACEHOLDER.finditer(text) if m["sure"] or self._is_slot(m["name"])]
        if not held:
            braces = "{" in text
            self.braces[name] += braces
            return braces
        first, last = held[0].start(), held[-1].end()
        if _CODE.search(_PLACEHOLDER.sub("", text)):
            self.braces[name] += 1
            return True
        before, after = text[:first].strip(), text[held[0].end() :].strip()
        alone = not any(map(str.isalnum, text[:first] + text[last:])) and len(held) == 1
        beside = "" if alone else (before[-AROUND:] if any(map(str.isalpha, before)) else after[:AROUND])
        return self._note(name, (held[0][0], beside), block, i)

    def _is_slot(self, name: str) -> bool:
        return name.casefold() in self.slots or bool(set(words(name)) & SLOTS and len(words(name)) > 1)

    def _note(self, name: str, key: tuple[str, str], block: Block, i: int) -> bool:
        if name not in self.many:
            self.found[name][key] += 1
            self._limit(name)
            self.where.add((name, key), block, i, name)
        return True

    def _limit(self, name: str) -> None:
        if name in self.many or len(self.found[name]) > MOST:
            self.many.add(name)
            for key in self.found[name]:
                self.where.found.pop((name, key), None)
            self.found[name].clear()

    def merge(self, other: Check) -> None:
        assert isinstance(other, Unfilled)
        self.seen += other.seen
        self.each += other.each
        self.braces += other.braces
        self.many |= other.many
        self.where.merge(other.where)
        for name in self.fields:
            self.found[name] += other.found[name]
            self._limit(name)

    def facts(self) -> Iterable[Fact]:
        for name in self.fields:
            counts = self.found[name]
            recur = {key: n for key, n in counts.items() if n >= (LEAST if key[1] else WHOLE)}
            if not recur:
                continue
            first = max(recur, key=lambda key: (recur[key], key))
            places = sorted(dealt(self.where.of((name, key)) for key in sorted(recur)), key=sample_of)[:MAX_PLACES]
            value = {
                "count": sum(recur.values()),
                "with": counts.total(),
                "of": self.each[name],
                "braces": self.braces[name],
                "placeholder": first[0],
                "where": places,
            }
            yield Fact(UNFILLED, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(UNFILLED):
            v, n = fact.value, fact.value["count"]
            meant = v["with"] > USUAL * v["of"] or v["braces"] > BRACES * v["of"] or n < RECUR * v["with"]
            if meant:
                continue
            yield finding(
                "suspicious-text",
                "warning",
                f"{escaped(str(fact.at['field']))}: {n:,} of {number(v['of'], 'text')} {verb(n, 'have')} a placeholder that was never filled in: "
                f"{escaped(v['placeholder'])}",
                fact,
                "fill in the template again from the source of these samples, or drop them",
                v["where"],
                n,
            )


def _may(text: str) -> bool:
    """Whether a text may have a placeholder, or braces."""
    return "{" in text or "%" in text or text.lstrip()[:1] in ("[", "<", "(")


CHECK = Unfilled

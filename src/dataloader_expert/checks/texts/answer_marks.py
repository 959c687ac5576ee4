"""The mark before the final answer, such as ``####``, which a few texts lack and nearly all others have in their last line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.wording import FEW
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

UNMARKED = Quantity(
    "answers_unmarked", "samples", "texts without the mark that the last line of the others begins with"
)
LEAST = 100
"""The fewest texts of which nearly all share a mark."""
MOST_MARKS = 1_000
_MARK = re.compile(r"(?:[^\w\s]{2,8}(?![^\w\s])|(?:[A-Z][\w']*\s){0,4}[A-Z]?[\w']*:)(?=\s*\S)")
"""Two to eight characters that are neither letters nor digits, or up to five words and a colon: ``####``, ``Final Answer:``."""


class AnswerMarks(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind == "text"]
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        """Of each field: texts by the mark of their last line; without one, the empty text."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name in self.fields:
            column = block.columns.get(name)
            if column is None:
                continue
            counts = self.counts[name]
            texts = {i: v for i, v in enumerate(column.values[: block.samples]) if isinstance(v, str) and v.strip()}
            marks = {i: mark_of(text) for i, text in texts.items()}
            [(usual, _)] = Counter(marks.values()).most_common(1) or [("", 0)]
            found: dict[str, list[int]] = {}
            for i, mark in marks.items():
                above = mark != usual != "" and any(line.lstrip().startswith(usual) for line in texts[i].splitlines())
                found.setdefault(usual if above else mark, []).append(i)  # what follows the mark may take several lines
            for mark, at in found.items():
                kept = mark if mark in counts or len(counts) < MOST_MARKS else ""
                counts[kept] += len(at)
                for i in at[:MAX_PLACES]:
                    self.where.add((name, kept), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, AnswerMarks)
        self.seen += other.seen
        self.where.merge(other.where)
        for name, counts in other.counts.items():
            self.counts[name] += counts

    def facts(self) -> Iterable[Fact]:
        for name, counts in self.counts.items():
            if counts.total() < LEAST:
                continue
            mark, most = max(counts.items(), key=lambda item: (item[1], item[0]))
            odd = counts.total() - most
            if not mark or not 0 < odd * FEW <= counts.total():
                continue
            places = [place for other in sorted(counts) if other != mark for place in self.where.of((name, other))]
            value = {"count": odd, "of": counts.total(), "mark": mark, "where": places}
            yield Fact(UNMARKED, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(UNMARKED):
            n, of, name = fact.value["count"], fact.value["of"], escaped(str(fact.at["field"]))
            text = f"{name}: {n:,} of {number(of, 'text')} {verb(n, 'lack')} the last line that the others have, beginning with {fact.value['mark']!r}"
            fix = "find out whether these texts were cut off or use another format: a parser that looks for this mark fails on them"
            yield finding("suspicious-text", "warning", text, fact, fix, fact.value["where"], n)


def mark_of(text: str) -> str:
    """The mark that the last line begins with; empty if there is none."""
    last = text.rstrip().rpartition("\n")[2]
    found = _MARK.match(last.lstrip())
    return found[0] if found else ""


CHECK = AnswerMarks

"""Answers that begin with their whole prompt in some samples, where most do not: what a model wrote was saved with what it was given.

Half is the border: where most answers begin so, the field holds whole conversations. Texts of a few words may well begin an answer. Of a
preferred and a rejected answer, both hold them or neither: else what tells the preference is the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.explained import explained
from dataloader_expert.checks.common.rows_kept import Named, in_order, places, texts_of
from dataloader_expert.checks.common.wording import BETTER, WORSE
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

BEGUN = Quantity(
    "answers_with_prompts", "samples", "answers that begin with the whole prompt of their sample, with places"
)
ONE_ONLY = Quantity(
    "prompts_in_one_answer", "", "the shares of preferred and of rejected answers that begin with the whole prompt"
)
ASKED = {"prompt", "prompts", "question", "query", "instruction"}
ANSWERS = {"answer", "response", "completion", "output", "reply"} | BETTER | WORSE
"""Words in the names of fields of prompts and of answers."""
ROWS, PAIRS, GROUPS, VALUES = 1 << 15, 4, 8, 200
LEAST, SEVERAL, MOST = 20, 5, 0.5
"""The fewest samples, the fewest answers that begin so, and the largest share of all."""
NEARLY_ALL, HARDLY = 0.9, 0.1
"""The least share of the answers of one kind that begin with their prompts, and the largest of the other, where this tells them apart."""
LONG = 20
"""The fewest characters of a prompt."""


class PromptsRepeated(DrawnRows):
    ids = ("suspicious-text", "label-leaked-by-field")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        split = None if context.roles.split is None else context.roles.split.field
        texts = [f.name for f in context.fields if f.dtype == "str" and not f.shape]
        asked, answers = ([name for name in texts if {*words(name)} & of] for of in (ASKED, ANSWERS))
        self.opposed = [(a, b) for a, b in product(answers, answers) if {*words(a)} & BETTER and {*words(b)} & WORSE]
        self.pairs = [(a, b) for a, b in product(asked, answers) if a != b and b not in asked][:PAIRS]
        groups = [f.name for f in context.fields if f.kind == "category" and not f.shape and f.name != split]
        self.groups = {name: Named(VALUES) for name in groups[:GROUPS]} if self.pairs else {}
        self.drawn = Drawn(ROWS)
        self.beside = [*self.groups.values()]

    def applies(self) -> bool:
        return bool(self.pairs)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept: dict[str, Any] = {}
        for asked, answer in self.pairs:
            both = zip(*(texts_of(block.columns.get(name), rows) for name in (asked, answer)), strict=True)
            kept[f"{asked} in {answer}"] = np.array([_begins(a.strip(), b) for a, b in both], bool)
        for name, named in self.groups.items():
            kept[f"group {name}"] = named.of(block.columns.get(name), rows)
        return kept

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        for asked, answer in self.pairs:
            odd = kept[f"{asked} in {answer}"]
            if len(odd) >= LEAST and SEVERAL <= odd.sum() <= MOST * len(odd):
                value = {"count": int(odd.sum()), "of": len(odd), "where": places(kept, odd, answer)}
                value |= {"because": explained(kept, self.groups, odd, ~odd)}
                yield Fact(BEGUN, value, self.evidence("sampled", len(odd)), {"fields": [asked, answer]})
        for asked in dict.fromkeys(asked for asked, _ in self.pairs):
            for pair in [p for p in self.opposed if {(asked, name) for name in p} <= {*self.pairs}]:
                shares = {name: round(float(kept[f"{asked} in {name}"].mean()), 4) for name in pair}
                if max(shares.values()) >= NEARLY_ALL and min(shares.values()) <= HARDLY:
                    n = len(kept["sample"])
                    yield Fact(ONE_ONLY, shares, self.evidence("sampled", n), {"field": asked, "answers": [*pair]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ONE_ONLY):
            (full, most), (bare, least) = sorted(fact.value.items(), key=lambda item: -item[1])
            name, full, bare = map(escaped, (str(fact.at["field"]), full, bare))
            text = f"{most:.0%} of the texts of {full} begin with the whole {name}, but only {least:.0%} of those of {bare}: "
            text += "this alone tells which answer is preferred"
            fix = f"cut the {name} off in {full}, or write it before both answers"
            yield finding("label-leaked-by-field", "warning", text, fact, fix, [{"field": full}])
        for fact in facts.all(BEGUN):
            v, (asked, answer) = fact.value, (escaped(name) for name in fact.at["fields"])
            text = f"{answer}: {v['count']:,} of {number(v['of'], 'text')} {verb(v['count'], 'begin')} with the whole {asked}, the others do not"
            if v["because"] is not None:
                text += f"; nearly all of them have {escaped(v['because'][0])} {escaped(v['because'][1])}"
            fix = f"cut the {asked} off there: a model learns to repeat what it is asked"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], v["count"])


def _begins(asked: str, answer: str) -> bool:
    """Whether an answer begins with a prompt of some length, and goes on."""
    return len(asked) >= LONG and len(answer) > len(asked) and answer.lstrip().startswith(asked)


CHECK = PromptsRepeated

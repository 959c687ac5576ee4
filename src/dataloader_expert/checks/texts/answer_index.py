"""The number of the right choice: beyond the choices of its sample, or counted from one in a group of samples and from zero in others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

BEYOND = Quantity(
    "answers_beyond", "samples", "samples whose answer is not a valid index into their choices, with places"
)
ANSWERS = {"answer", "label", "correct", "gold", "target", "solution", "key"}
CHOICES = {"choices", "options", "answers", "endings", "candidates"}
LEAST, MOSTLY = 20, 0.5
"""The fewest samples, and the least share of them whose answer is an index, from which it is meant as one."""


class AnswerIndex(Check):
    ids = ("out-of-range-ids",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        whole = [f.name for f in context.fields if "int" in f.dtype and not f.shape and set(words(f.name)) & ANSWERS]
        lists = [
            f.name for f in context.fields if f.kind == "other" and f.dtype == "list" and set(words(f.name)) & CHOICES
        ]
        self.pair = (whole[0], lists[0]) if whole and lists else None
        self.counts: Counter[str] = Counter()
        """Samples whose answer is ``within`` the choices, is as many as there are (``last``), or lies ``beyond`` that."""
        self.where = Places()

    def applies(self) -> bool:
        return self.pair is not None

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        columns = [block.columns.get(name) for name in self.pair or ()]
        if len(columns) < 2 or columns[0] is None or columns[1] is None:
            return
        for i, (answer, choices) in enumerate(zip(columns[0].values, columns[1].values, strict=False)):
            if not isinstance(choices, list) or not choices or (columns[0].nulls is not None and columns[0].nulls[i]):
                continue
            kind = "within" if 0 <= int(answer) < len(choices) else "last" if int(answer) == len(choices) else "beyond"
            self.counts[kind] += 1
            self.counts["first"] += int(answer) == 0
            if kind != "within":
                self.where.add("odd", block, i, (self.pair or ("",))[0])

    def merge(self, other: Check) -> None:
        assert isinstance(other, AnswerIndex)
        self.seen += other.seen
        self.counts += other.counts
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        odd = self.counts["last"] + self.counts["beyond"]
        total = odd + self.counts["within"]
        from_one = not self.counts["first"] and not self.counts["beyond"]  # all count from one
        if odd and total >= LEAST and self.counts["within"] >= MOSTLY * total and not from_one:
            value = {"count": odd, "of": total, "last": self.counts["last"], "where": self.where.of("odd")}
            yield Fact(
                BEYOND, value, self.evidence(), {"field": (self.pair or ("",))[0], "list": (self.pair or ("", ""))[1]}
            )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BEYOND):
            v, name, of = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["list"]))
            n = v["count"]
            text = f"{name} is past the end of {of} in {n:,} of {number(v['of'], 'sample')}, counting from 0 as in the others"
            fix = "correct or drop them"
            if v["last"] == n:
                text += ": each names the last choice, counting from 1"
                fix = "find out which samples count from 1 (perhaps those of one source), and subtract 1 in all of them"
            yield finding("out-of-range-ids", "error", text, fact, fix, v["where"], n)


CHECK = AnswerIndex

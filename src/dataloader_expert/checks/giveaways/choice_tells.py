"""What tells the right answer of several without a look at the question: it is nearly always the longest one, or stands in one place; and
options that stand twice in one question.

A score says how much better that is than a guess: 0 if it is not, 1 if it is always right. Options that are the same in most questions, such
as yes, no and maybe, are classes: their places tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.choices import MOST, choices_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import digest64
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

TOLD = Quantity(
    "choice_told_by", "samples", "how often the longest or the shortest answer, or that in one place, is the right one"
)
TWICE = Quantity("options_twice", "samples", "questions with the same option twice, with places")
ROWS = 20_000
LEAST, SURE = 50, 0.9
"""The fewest samples, and the least score of a length that tells the right answer."""
OFTEN, SEVERAL = 2.0, 3
"""How many times as often as by chance the right answer stands in one place; and the fewest options of which it does."""
VARIED = 0.5
"""The least share of different options in first place."""
SELDOM = 0.5
"""The largest share of questions with an option that stands twice."""


class ChoiceTells(DrawnRows):
    ids = ("label-leaked-by-field", "equal-fields")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.choices = choices_of(context)
        self.drawn = Drawn(ROWS)
        self.needs = [*self.choices.options] if self.choices is not None else []

    def applies(self) -> bool:
        return self.choices is not None

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        assert self.choices is not None
        lengths = np.full((len(rows), MOST), np.nan)
        kept = {
            "right": np.full(len(rows), -1),
            "number": np.zeros(len(rows), bool),
            "twice": np.zeros(len(rows), bool),
        }
        kept["first"] = np.zeros(len(rows), np.uint64)
        for k, (texts, right, counted) in enumerate(self.choices.read(block, rows.tolist())):
            said = [text for text in texts if text]
            if len(texts) <= MOST and len(said) > 1:
                lengths[k, : len(texts)] = [len(text) or np.nan for text in texts]
                kept["right"][k], kept["number"][k], kept["twice"][k] = right, counted, len({*said}) < len(said)
                kept["first"][k] = digest64(texts[0].encode("utf-8", "surrogatepass"))
        return kept | {"length": lengths}

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.choices is None:
            return
        rows = in_order(self.drawn.all()[1])
        lengths, right = rows["length"], rows["right"].astype(np.int64)
        several = np.isfinite(lengths).sum(1) > 1
        varied = several.any() and len(np.unique(rows["first"][several])) >= VARIED * several.sum()
        if several.sum() < LEAST or not varied:
            return
        at, evidence = {"fields": [*self.choices.options]}, self.evidence("sampled", int(several.sum()))
        odd = rows["twice"] & several
        if not self.choices.pair and 0 < odd.sum() <= SELDOM * several.sum():
            value = {
                "count": int(odd.sum()),
                "of": int(several.sum()),
                "where": places(rows, odd, self.choices.options[0]),
            }
            yield Fact(TWICE, value, evidence, at)
        counted = rows["number"] & several & (right >= 0)
        from_one = counted.any() and right[counted].min() == 1 and (right == np.isfinite(lengths).sum(1))[counted].any()
        right = right - (rows["number"] & from_one)
        there = several & (right >= 0) & (right < MOST)
        there[there] &= np.isfinite(lengths[there, right[there]])
        if there.sum() < LEAST:
            return
        told = _told(lengths[there], right[there])
        for how, value in told.items():
            if how in ("longest", "shortest") or not self.choices.pair:
                yield Fact(TOLD, value, evidence, at | {"how": how})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(TWICE):
            n, of = fact.value["count"], fact.value["of"]
            text = f"{n:,} of {number(of, 'question')} {verb(n, 'have')} the same option twice"
            fix = "replace one of the two: if it is the right answer, one of the two counts as wrong"
            yield finding("equal-fields", "warning", text, fact, fix, fact.value["where"], n)
        for fact in facts.all(TOLD):
            v, how, fields = fact.value, fact.at["how"], [escaped(name) for name in fact.at["fields"]]
            where = [{"field": name} for name in fact.at["fields"]]
            score = (v["share"] - v["chance"]) / (1 - v["chance"])
            anywhere = (
                v["places"] >= v["options"] >= SEVERAL
            )  # where it is always the first, whoever reads them shuffles
            if how == "place" and anywhere and v["share"] >= OFTEN * v["chance"]:
                text = f"the right answer is option {v['place'] + 1} in {v['share']:.0%} of {number(v['of'], 'question')} ({v['chance']:.0%} by chance): "
                text += "always picking it scores well without the question"
                fix = "shuffle the options of each question, and update its answer"
                yield finding("label-leaked-by-field", "warning", text, fact, fix, where)
            elif how != "place" and score >= SURE:
                pair = self.choices is not None and self.choices.pair
                what = (
                    f"{fields[0]} is the {how[:-3]}er of the two" if pair else f"the right answer is the {how} option"
                )
                text = f"{what} in {v['share']:.1%} of {number(v['of'], 'sample')} ({v['chance']:.0%} by chance): length alone gives the answer away"
                fix = (
                    "balance the lengths, or rewrite the wrong answers: a model learns the length instead of the answer"
                )
                yield finding("label-leaked-by-field", "warning", text, fact, fix, where)


def _told(lengths: Any, right: Any) -> dict[str, dict[str, Any]]:
    """How often the longest, the shortest, and the commonest place is the right one, and how often by chance."""
    import numpy as np

    options = np.isfinite(lengths).sum(1)
    value = {"of": len(right), "chance": round(float((1 / options).mean()), 4), "options": int(np.median(options))}
    own = lengths[np.arange(len(right)), right]
    others = lengths.copy()
    others[np.arange(len(right)), right] = np.nan
    counts = np.bincount(right)
    value["places"] = int((counts > 0).sum())
    return {
        "longest": value | {"share": round(float((own > np.nanmax(others, 1)).mean()), 4)},
        "shortest": value | {"share": round(float((own < np.nanmin(others, 1)).mean()), 4)},
        "place": value | {"share": round(float(counts.max() / len(right)), 4), "place": int(counts.argmax())},
    }


CHECK = ChoiceTells

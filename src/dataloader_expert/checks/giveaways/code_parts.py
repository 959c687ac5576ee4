"""Codes that give the label away by how they begin, or end: all events whose code begins with E9 are anomalies.

Method: a rule (the commonest class of each beginning) is learnt on half of the codes and tested on the rows of the others, so that it
holds for codes that it has not seen. A code that always comes with one class tells nothing of that kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from dataloader_expert.checks.base import GIVEAWAY, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import digests_of, mix
from dataloader_expert.checks.common.rows_kept import NAME, Coded, Named, distinct
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column

CODE_KNOWN = Quantity(
    "label_known_by_code",
    "",
    "how well the beginning or end of a code predicts the label of codes that were held out: 0 no better than a guess, 1 always right",
)
ROWS, FIELDS, CLASSES, EXAMPLES = 20_000, 6, 100, 1_000
"""Rows that are drawn, fields of codes, classes of the label, and parts of codes that are known as text."""
PARTS = {
    **{f"first {'character' if k == 1 else f'{k} characters'}": slice(0, k) for k in (1, 2, 3, 4)},
    **{f"last {'character' if k == 1 else f'{k} characters'}": slice(-k, None) for k in (1, 2, 3)},
}
CODE, LONGEST, MOSTLY = re.compile(r"(?=.*\d)(?!.*\.[A-Za-z]\w{1,4}$)[^\W_][\w.:-]*"), 24, 0.9
"""A code: one word that has a digit, and is no file's name; its characters; the least share of a field's values that are codes."""
CODES, FEWEST, LEAST = 20, 5, 30
"""The fewest codes of a field; of them in either half such as come with another class than most; and rows to test on."""
COARSER = 2
"""So many codes share a beginning on average at least."""
KNOWN = 0.98
LABEL = "label"


class Known(NamedTuple):
    """``score``: the share of what a guess gets wrong that the rule gets right; ``part``, ``klass``: digests of the commonest part that
    tells another class than most, and of that class."""

    score: float
    right: float
    guess: float
    part: int
    klass: int


class CodeParts(DrawnRows):
    ids = ("label-leaked-by-field",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {context.label, *(r.field for r in (roles.split, roles.time, *roles.keys) if r is not None)}
        if context.grouped is not None and (context.group is not None or context.grouped.sure):
            aside.add(context.grouped.field)  # whom a sample is of, a model does not see
        codes = [f.name for f in context.fields if f.kind == "category" and f.dtype == "str" and not f.shape]
        self.fields = [name for name in codes if name not in aside][:FIELDS]
        self.classes = Named(CLASSES)
        self.examples = {(name, part): Named(EXAMPLES) for name in self.fields for part in PARTS}
        self.drawn = Drawn(ROWS)
        self.beside = [self.classes, *self.examples.values()]
        self.needs = [context.label or ""]

    def applies(self) -> bool:
        return self.context.label is not None and bool(self.fields)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        label = block.columns[self.context.label or ""]
        kept = {LABEL: self.classes.of(label, rows), "labelled": _labelled(label, rows)}
        for name in self.fields:
            texts, at = distinct(block.columns.get(name), rows, NAME)
            codes = np.array([len(text) <= LONGEST and CODE.fullmatch(text) is not None for text in texts], bool)
            kept[f"code {name}"], kept[f"whole {name}"] = codes[at], digests_of(texts)[at]
            for part, here in PARTS.items():
                kept[f"{part} {name}"] = self.examples[name, part].coded(Coded([text[here] for text in texts], at))
        return kept

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts or self.classes.many:
            return
        kept = self.drawn.all()[1]
        for name in self.fields:
            codes = kept[f"code {name}"] & kept["labelled"]
            if codes.sum() < MOSTLY * kept["labelled"].sum():
                continue
            whole, target = kept[f"whole {name}"][codes], kept[LABEL][codes]
            for part in PARTS:
                known = _known(kept[f"{part} {name}"][codes], target, whole)
                if known is not None and known.score >= KNOWN:
                    value = {
                        "score": round(known.score, 4),
                        "right": round(known.right, 4),
                        "guess": round(known.guess, 4),
                        "classes": len(self.classes.texts),
                        "part": self.examples[name, part].texts.get(known.part, ""),
                        "class": self.classes.texts.get(known.klass, ""),
                    }
                    at = {"field": name, "measure": part}
                    yield Fact(CODE_KNOWN, value, self.evidence("sampled", int(codes.sum())), at)
                    break

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CODE_KNOWN):
            v, field, part = fact.value, str(fact.at["field"]), str(fact.at["measure"])
            if any("measure" not in f.at and f.value["score"] >= KNOWN for f in facts.all(GIVEAWAY, field=field)):
                continue  # the whole code does
            name, label = escaped(field), escaped(self.context.label)
            severity: Severity = (
                "info" if self.context.guessed or v["classes"] > 2 else "warning"
            )  # sku, and what is sold
            text = f"the {part} of {name} {'predicts' if part.endswith('r') else 'predict'} {label} for {v['right']:.1%} of samples with "
            text += f"held-out codes (always guessing the most common class: {v['guess']:.1%})"
            if v["part"]:
                text += f"; for example, {escaped(v['part'])} means {escaped(v['class'])}"
            fix = f"drop {name} unless it is known before the label: a model that sees it has no reason to use anything else"
            yield finding("label-leaked-by-field", severity, text, fact, fix, [{"field": field}])


def _labelled(label: Column, rows: Any) -> Any:
    """Which of these rows have a label, bool [rows]."""
    import numpy as np

    values = label.values[rows] if isinstance(label.values, np.ndarray) else [label.values[i] for i in rows.tolist()]
    plain = str | int | float | np.generic
    there = np.array([isinstance(v, plain) and bool(v == v) and v != "" for v in values], bool)
    return there if label.nulls is None else there & ~label.nulls[rows]


def _known(parts: Any, target: Any, whole: Any) -> Known | None:
    """How well the parts of some codes predict the class of the other codes' rows."""
    import numpy as np

    codes = np.unique(whole)
    distinct_parts, at = np.unique(parts, return_inverse=True)
    classes, klass = np.unique(target, return_inverse=True)
    if len(codes) < CODES or len(distinct_parts) * COARSER > len(codes) or len(classes) < 2:
        return None
    learns = (mix(whole) & np.uint64(1)).astype(bool)
    tests = ~learns
    if min(learns.sum(), tests.sum()) < LEAST:
        return None
    usual = int(np.bincount(klass[learns], minlength=len(classes)).argmax())
    other = klass != usual
    if min(len(np.unique(whole[half & other])) for half in (learns, tests)) < FEWEST:
        return None
    table = np.zeros((len(distinct_parts), len(classes)), np.int64)
    np.add.at(table, (at[learns], klass[learns]), 1)
    rule = np.where(table.any(1), table.argmax(1), usual)
    right, guess = float((rule[at[tests]] == klass[tests]).mean()), float((~other[tests]).mean())
    if guess == 1:
        return None
    telling = np.where(rule == usual, 0, table.max(1))
    best = int(telling.argmax())
    return Known((right - guess) / (1 - guess), right, guess, int(distinct_parts[best]), int(classes[rule[best]]))


CHECK = CodeParts

"""A column that with another one gives the label by a sum, a product or a ratio: the price of a square foot beside the area.

Such a column was made of the label. Neither of both alone tells much, so nothing that looks at one field at a time sees it. Without a label it is
only said which number is made of which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import permutations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_numbers import DrawnNumbers
from dataloader_expert.checks.common.rows_kept import in_order
from dataloader_expert.checks.common.scores import nearness
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.roles import words

FORMULA = Quantity("label_by_formula", "", "a column that is the label combined with another column, and how")
ROWS, FIELDS = 2_000, 24
LEAST, TRIED, EXACT = 100, 64, 0.98
"""The fewest rows, rows on which formulas are tried first, and the share of rows in which one holds."""
VARIED, WIDE = 20, 20.0
"""The fewest distinct values of each column, and how many times its rounding a column spreads at least."""
OF_LABEL: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "ratio": (lambda label, b: label / b, "{label} divided by {b}"),
    "inverse": (lambda label, b: b / label, "{b} divided by {label}"),
    "product": (lambda label, b: label * b, "{label} times {b}"),
    "difference": (lambda label, b: label - b, "{label} less {b}"),
    "rest": (lambda label, b: b - label, "{b} less {label}"),
    "sum": (lambda label, b: label + b, "the sum of {label} and {b}"),
}
"""What a column is made of, and how a sentence says it."""


class Formulas(DrawnNumbers):
    ids = ("label-leaked-by-field",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        numbers = [f.name for f in plain if f.kind == "number" and f.name != context.label]
        label = [f.name for f in plain if f.name == context.label and f.dtype.startswith(("int", "uint", "float"))]
        self.label = label[0] if label else None
        self.fields = [*label, *numbers][:FIELDS]
        self.kinds = {}
        self.drawn = Drawn(ROWS)

    def applies(self) -> bool:
        return self.label is not None and len(self.fields) > 2

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.label is None:
            return
        kept = in_order(self.drawn.all()[1])
        numbers = {name: kept[f"number {name}"] for name in self.fields}
        numbers = {name: v for name, v in numbers.items() if len(np.unique(v[np.isfinite(v)])) >= VARIED}
        label = numbers.pop(self.label, None)
        if label is None:
            return
        found: list[tuple[bool, int, str, dict[str, Json]]] = []
        order, said = list(numbers), {*words(self.label)}
        for a, b in permutations(numbers, 2):
            for how, (of, _) in OF_LABEL.items():
                share = holds(numbers[a], of, label, numbers[b])
                if share is not None:
                    found.append((bool({*words(a)} & said), order.index(a), a, {"of": b, "how": how, "share": share}))
        if found:  # of two, the one that is named for the label was made of it, else the later
            *_, name, value = max(found, key=lambda one: one[:2])
            yield Fact(FORMULA, value, self.evidence("sampled", len(label)), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(FORMULA):
            v, a = fact.value, escaped(str(fact.at["field"]))
            made = OF_LABEL[v["how"]][1].format(label=escaped(str(self.label)), b=escaped(v["of"]))
            text = f"{a} is {made} in {v['share']:.1%} of the rows: the label can be computed from the two"
            fix = f"drop {a}: it was computed from the label, and is not known at prediction time"
            yield finding("label-leaked-by-field", "warning", text, fact, fix, [{"field": fact.at["field"]}])


def holds(a: Any, of: Callable[[Any, Any], Any], label: Any, b: Any) -> float | None:
    """The share of rows in which a column is made of the label and another one so, up to its rounding; None if it is not."""
    import numpy as np

    with np.errstate(all="ignore"):
        there = np.flatnonzero(np.isfinite(a) & np.isfinite(label) & np.isfinite(b))
        if len(there) < LEAST:
            return None
        near = max(nearness(a), 1e-9 * float(np.abs(a[there]).max()))
        some = there[np.linspace(0, len(there) - 1, TRIED).astype(np.int64)]
        if (np.abs(of(label[some], b[some]) - a[some]) <= near).mean() < EXACT - 0.05:
            return None
        made = of(label[there], b[there])
        given = np.abs(made - a[there]) <= near
        share = float(given.mean())
        alone = max(float((np.abs(x[there] - a[there]) <= near).mean()) for x in (label, b))
        if len(np.unique(a[there][given])) < VARIED:
            return None  # what is mostly 0 is whatever rounds to 0
        return share if share >= EXACT and alone < 0.5 and float(a[there].std()) >= WIDE * near else None


CHECK = Formulas

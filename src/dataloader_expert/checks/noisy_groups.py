"""Labels of one annotator, source or site that disagree with what the texts of all others tell.

Method: a naive Bayes classifier over the words of the texts, each text by the counts of all others. Judged is only where it agrees with
most labels; a group is told if far more of its labels than of the others' are surely other ones by their texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.drawn import Drawn
from dataloader_expert.checks.rows_kept import Named, at_of, places, texts_of
from dataloader_expert.checks.word_cells import cells_of, likelihoods
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

NOISY = Quantity(
    "noisy_groups", "samples", "samples of a group whose label is surely another one by their text, with places"
)
KEPT, MOST_CLASSES, MOST_GROUPS, MOST_FIELDS = 10_000, 20, 50, 4
CERTAIN, RIGHT = 3.0, 0.8
"""Nats by which another class must be likelier, and the least share of labels that the classifier must agree with."""
LEAST, RATE, TIMES, SIGMAS = 30, 0.15, 4.0, 6.0
"""The fewest samples of a group; the least share of its labels that are others, how many times that of the other groups it is, and by how
many standard deviations it exceeds that."""


class NoisyGroups(Check):
    ids = ("label-odd-one-out",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.text = next((f.name for f in context.fields if f.kind == "text" and f.name != context.label), None)
        split = None if context.roles.split is None else context.roles.split.field
        plain = [
            f.name
            for f in context.fields
            if f.kind == "category" and not f.shape and f.name not in (context.label, split)
        ]
        self.groups = {name: Named(MOST_GROUPS) for name in plain[:MOST_FIELDS]}
        self.labels = Named(MOST_CLASSES)
        self.drawn = Drawn(KEPT)

    def applies(self) -> bool:
        return self.context.label is not None and self.text is not None and bool(self.groups)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        rows = self.drawn.rows(block) if block.samples else ()
        if not len(rows) or self.labels.many:
            return
        kept = {f"group {name}": named.of(block.columns.get(name), rows) for name, named in self.groups.items()}
        kept["label"] = self.labels.of(block.columns.get(self.context.label or ""), rows)
        kept["cells"] = np.stack([cells_of(text) for text in texts_of(block.columns.get(self.text or ""), rows)])
        self.drawn.keep(block, rows, kept | at_of(block, rows))

    def merge(self, other: Check) -> None:
        assert isinstance(other, NoisyGroups)
        self.seen += other.seen
        self.drawn.merge(other.drawn)
        self.labels.merge(other.labels)
        for name, named in self.groups.items():
            named.merge(other.groups[name])

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.labels.many:
            return
        _, rows = self.drawn.all()
        classes, label = np.unique(rows["label"], return_inverse=True)
        if not 2 <= len(classes) <= MOST_CLASSES or len(label) < 4 * LEAST:
            return
        margin = doubts(rows["cells"], label, len(classes))
        if (margin > 0).mean() < RIGHT:
            return  # the words of the texts do not tell the label
        wrong = margin < -CERTAIN
        for name, named in self.groups.items():
            values, whose = np.unique(rows[f"group {name}"], return_inverse=True)
            for k in range(len(values)) if not named.many and len(values) > 1 else ():
                own = whose == k
                n, rest = int(own.sum()), ~own
                if n < LEAST or rest.sum() < LEAST:
                    continue
                rate, base = float(wrong[own].mean()), float(wrong[rest].mean())
                spread = math.sqrt(max(base, 1 / rest.sum()) / n)
                if rate >= RATE and rate >= TIMES * base and rate - base >= SIGMAS * spread:
                    value = {
                        "of": named.texts.get(int(values[k]), ""),
                        "count": int((wrong & own).sum()),
                        "rows": n,
                        "others": base,
                    }
                    at = {"field": name, "group": k}
                    yield Fact(
                        NOISY,
                        value | {"where": places(rows, wrong & own, self.context.label or "")},
                        self.evidence("sampled", len(label)),
                        at,
                    )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NOISY):
            v, name, label = fact.value, escaped(str(fact.at["field"])), escaped(self.context.label)
            text = f"{v['count']:,} of {number(v['rows'], 'sample')} in which {name} is {escaped(v['of'])} have another {label} than their text "
            text += f"tells by those of the others, of which {v['others']:.1%} have"
            fix = f"look at some; if they are wrong, label them again or leave this {name} out of training"
            severity: Severity = "info" if self.context.guessed else "warning"
            yield finding("label-odd-one-out", severity, text, fact, fix, v["where"], v["count"])


def doubts(cells: Any, label: Any, classes: int) -> Any:
    """By how many nats each text is likelier of its own class than of the likeliest other, [n]."""
    import numpy as np

    scores = likelihoods(cells, label, classes)
    mine = scores[np.arange(len(label)), label]
    scores[np.arange(len(label)), label] = -np.inf
    return mine - scores.max(1)


CHECK = NoisyGroups

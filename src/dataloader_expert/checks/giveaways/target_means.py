"""A number that is the mean of the label over the rows that share a value of another field, the row itself among them: it gives the label
of rare values away, and on new rows it tells far less."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import digests_by_name, numbers_of, split_of
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

ENCODED = Quantity(
    "target_encoded",
    "",
    "share of rows in which a number is the mean label over all rows with the same value of another field",
)
KEPT, MOST = 20_000, 8
"""The most rows, all of which must be known, and fields of a kind."""
NEAR, ALWAYS, GROUPS = 6e-3, 0.98, 10
"""By how much a rounded mean may differ from the label's, relative to its spread; the least share of rows; and the fewest values."""


class TargetMeans(DrawnRows):
    ids = ("label-leaked-by-field",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        plain = [f for f in context.fields if not f.shape and f.name != context.label]
        self.numbers = [f.name for f in plain if f.kind == "number"][:MOST]
        self.groups = [f.name for f in plain if f.dtype == "str" or (f.kind == "number" and "int" in f.dtype)][:MOST]
        self.label = next(
            (f.name for f in context.fields if f.name == context.label and not f.shape and f.dtype != "str"), None
        )
        self.drawn = Drawn(KEPT)

    def applies(self) -> bool:
        small = self.context.samples is not None and self.context.samples <= KEPT
        return small and self.label is not None and bool(self.numbers and self.groups)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept = {
            f"number {name}": numbers_of(block.columns.get(name), rows) for name in (*self.numbers, self.label or "")
        }
        for name in self.groups:
            kept[f"group {name}"] = digests_by_name(block.columns.get(name), rows)
        splits, codes = split_of(self.context, block, rows)
        kept["train"] = np.array([split in ("", "train") for split in splits], bool)[codes]
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        label = rows[f"number {self.label}"]
        there = rows["train"] & np.isfinite(label)
        spread = float(label[there].std()) if there.any() else 0.0
        for group in self.groups if spread else ():
            values, whose, sizes = np.unique(rows[f"group {group}"][there], return_inverse=True, return_counts=True)
            if not GROUPS <= len(values) <= 0.8 * there.sum() or sizes.max() < 3:
                continue
            mean = (np.bincount(whose, label[there]) / sizes)[whose]
            for name in self.numbers:
                x = rows[f"number {name}"][there]
                if name == group or not np.isfinite(x).all() or x.std() < 0.1 * mean.std() or mean.std() == 0:
                    continue
                share = float((np.abs(x - mean) <= NEAR * spread + 1e-9).mean())
                if share >= ALWAYS:
                    yield Fact(ENCODED, share, self.evidence(n=int(there.sum())), {"field": name, "group": group})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ENCODED):
            name, group, label = escaped(str(fact.at["field"])), escaped(str(fact.at["group"])), escaped(self.label)
            text = f"{name} is the mean of {label} over the training rows with the same {group}, including the row itself, in {fact.value:.1%} "
            text += "of them"
            fix = f"compute it without the row itself, out of fold, or from earlier rows: where a {group} has one row, it is the label"
            severity: Severity = "info" if self.context.guessed else "warning"
            yield finding("label-leaked-by-field", severity, text, fact, fix, [{"field": fact.at["field"]}])


CHECK = TargetMeans

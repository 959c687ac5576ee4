"""Groups whose rows are in several folds of a cross-validation, where a column says in which fold each row is."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.splits.likely_groups import are_likely
from dataloader_expert.conclusions import Finding, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import group_name, words

IN_FOLDS = Quantity(
    "groups_in_folds", "groups", "how many groups there are, and how many have rows in more than one fold"
)
WORDS = {"fold", "folds", "kfold", "cvfold"}
MOST_FOLDS, MOST_GROUPS = 20, 1_000_000


class Folds(Check):
    ids = ("group-leakage",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        split = context.roles.split
        aside = {context.label, None if split is None else split.field}
        self.field = next(
            (f.name for f in context.fields if not f.shape and f.name not in aside and set(words(f.name)[-1:]) & WORDS),
            None,
        )
        self.folds: set[str] = set()
        self.of: dict[str, set[str]] = {}
        """The folds of each group."""

    def applies(self) -> bool:
        return self.field is not None and self.context.grouped is not None

    def see(self, block: Block) -> None:
        self.seen += block.samples
        column = block.columns.get(self.field or "")
        if column is None or len(self.folds) > MOST_FOLDS or len(self.of) > MOST_GROUPS:
            return
        values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
        for i, (group, fold) in enumerate(zip(self.context.groups_of(block), values, strict=False)):
            plain = isinstance(fold, str | int | float) and fold == fold
            if group is not None and plain and not (column.nulls is not None and column.nulls[i]):
                self._add(group_name(group), {fold.strip() if isinstance(fold, str) else f"{fold:g}"})

    def _add(self, group: str, folds: set[str]) -> None:
        self.folds |= folds
        self.of.setdefault(group, set()).update(folds)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Folds)
        self.seen += other.seen
        self.folds |= other.folds
        for group, folds in other.of.items():
            self._add(group, folds)

    def facts(self) -> Iterable[Fact]:
        if 2 <= len(self.folds) <= MOST_FOLDS and len(self.of) <= MOST_GROUPS:
            astride = sorted(group for group, folds in self.of.items() if len(folds) > 1)
            value = {"groups": len(self.of), "astride": len(astride), "folds": len(self.folds), "first": astride[:20]}
            value["samples"] = self.seen
            yield Fact(IN_FOLDS, value, self.evidence(), {"field": self.field})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        role = self.context.grouped
        for fact in facts.all(IN_FOLDS):
            v = fact.value
            if not v["astride"] or role is None:
                continue
            sure = role.sure or role.how == "as asked"
            sure = sure or are_likely(self.context, v["groups"], v["samples"], v["astride"])
            yield finding(
                "group-leakage",
                "warning" if sure else "info",
                f"{v['astride']:,} of {v['groups']:,} values of {escaped(role.field)} {verb(v['astride'], 'have')} samples in more than one "
                f"of the {v['folds']} folds that {escaped(str(self.field))} names, so models are validated on groups that they were trained on",
                fact,
                "redraw the folds by group, for example with scikit-learn's GroupKFold",
                [{"field": role.field, "value": escaped(group)} for group in v["first"]],
                v["astride"],
            )


CHECK = Folds

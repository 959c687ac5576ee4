"""Fields that samples of some kinds have and others lack by nature: a price of purchases, the size of a garage for cars.

Where the values of one category, or of a number of few values, decide each nearly without exception whether a field is there, its
absence says nothing that these do not; so does whether a number is zero. Where the label does, the field gives it away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import BY_KIND, Check, Context
from dataloader_expert.checks.drawn import Drawn
from dataloader_expert.checks.rows_kept import Named, digest_of, numbers_of, texts_of
from dataloader_expert.facts import Fact
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.roles import TIME_WORDS, words

KEPT, CELLS, MOST_KINDS, MOST_NAMES, MOST_FIELDS = 20_000, 2_000_000, 20, 1_000, 200
LEAST, NEARLY, APART = 20, 0.99, 0.5
"""The fewest samples of a kind that count, the share of them that agree, and of the range of all others that zero may lie off."""


class AbsentByKind(Check):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        plain = [f for f in context.fields if not f.shape][:MOST_FIELDS]
        self.fields = [f.name for f in plain if f.name != context.label]
        roles = context.roles
        aside = {r.field for r in (roles.split, context.grouped, roles.time, *roles.keys) if r is not None} | {
            context.label
        }
        plain = [f for f in plain if f.name not in aside]
        self.numbers = [f.name for f in plain if f.kind == "number" and not set(words(f.name)) & TIME_WORDS]
        named = [f.name for f in plain if f.kind in ("category", "boolean")] + self.numbers
        named += [f.name for f in context.fields if f.name == context.label and not f.shape]
        self.numeric = {f.name for f in context.fields if f.dtype.startswith(("int", "uint", "float"))}
        self.kinds = {name: Named(MOST_NAMES) for name in named}
        """Not what says where or when a sample is from; the label last."""
        self.drawn = Drawn(max(1, min(KEPT, CELLS // max(1, len(self.fields) + len(self.kinds)))))

    def applies(self) -> bool:
        return bool(self.fields and self.kinds)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        rows = self.drawn.rows(block) if block.samples else ()
        if not len(rows):
            return
        kept: dict[str, Any] = {}
        for name in self.fields:
            column = block.columns.get(name)
            nulls = None if column is None else column.nulls
            kept[f"absent {name}"] = np.full(len(rows), column is None) if nulls is None else nulls[rows]
        for name, named in self.kinds.items():
            column = block.columns.get(name)
            if name in self.numbers:
                kept[f"number {name}"] = numbers_of(column, rows)
            texts = _numerals(column, rows) if name in self.numeric else texts_of(column, rows, 80)
            kept[f"kind {name}"] = named.digests(texts)
        self.drawn.keep(block, rows, kept)

    def merge(self, other: Check) -> None:
        assert isinstance(other, AbsentByKind)
        self.seen += other.seen
        self.drawn.merge(other.drawn)
        for name, named in other.kinds.items():
            self.kinds[name].merge(named)

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        kinds = list(self._kinds(rows))
        for field in self.fields:
            absent = rows[f"absent {field}"].astype(bool)
            if not absent.any() or absent.all():
                continue
            for name, known, whose, called in kinds:
                if name == field or not absent[known].any():
                    continue
                if (found := _decided(absent[known], whose[known], len(called))) is not None:
                    told = sorted(called[k] for k in found)
                    yield Fact(
                        BY_KIND, {"by": name, "has": told}, self.evidence("sampled", len(absent)), {"field": field}
                    )
                    break

    def _kinds(self, rows: dict[str, Any]) -> Iterable[tuple[str, Any, Any, list[str]]]:
        """What may decide: a field, the rows in which it has a value, the kind of each row by its number, and what kinds are called.

        First the fields of few values, then whether a number is zero."""
        import numpy as np

        for name, named in self.kinds.items():
            values, whose = np.unique(rows[f"kind {name}"], return_inverse=True)
            if not named.many and len(values) <= MOST_KINDS:
                called = [named.texts.get(int(value), "") for value in values]
                yield name, rows[f"kind {name}"] != digest_of(""), whose, called
        for name in self.numbers:
            if set_apart(rows[f"number {name}"]):
                continue
            digests = rows[f"kind {name}"]
            yield name, digests != digest_of(""), (digests != digest_of("0")).astype(int), ["0", "all but 0"]


def set_apart(numbers: Any) -> bool:
    """Whether zero lies far from all other numbers, as where a sensor failed: what is missing there failed as well."""
    import numpy as np

    others = numbers[np.isfinite(numbers) & (numbers != 0)]
    return len(others) > 0 and np.abs(others).min() > APART * np.ptp(others)


def _numerals(column: Column | None, rows: Any) -> list[str]:
    """Numbers as texts, the same whether a block holds them as whole ones or not; empty for a missing one."""
    return ["" if value != value else f"{value:.12g}" for value in (numbers_of(column, rows) + 0.0).tolist()]


def _decided(absent: Any, whose: Any, kinds: int) -> list[int] | None:
    """The kinds whose samples have the field, if each kind decides whether they do; None if one does not."""
    import numpy as np

    sizes = np.bincount(whose, minlength=kinds)
    shares = np.bincount(whose, weights=absent, minlength=kinds) / np.maximum(1, sizes)
    large = sizes >= LEAST
    has, lacks = shares <= 1 - NEARLY, shares >= NEARLY
    if not (large & has).any() or not (large & lacks).any() or not (has | lacks)[large].all():
        return None
    return np.flatnonzero(large & has).tolist() if sizes[large].sum() >= NEARLY * len(whose) else None


CHECK = AbsentByKind

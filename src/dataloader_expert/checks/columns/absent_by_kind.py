"""Fields that samples of some kinds have and others lack by nature: a price of purchases, the size of a garage for cars.

Where the values of one category, or of a number of few values, decide each nearly without exception whether a field is there, its
absence says nothing that these do not; so does whether a number is zero. Where the label does, the field gives it away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import BY_KIND, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import Named, digest_of, numbers_of
from dataloader_expert.facts import Fact
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import TIME_WORDS, words

KEPT, CELLS, MOST_KINDS, MOST_NAMES, MOST_FIELDS = 20_000, 2_000_000, 20, 1_000, 200
LEAST, NEARLY, APART = 20, 0.99, 0.5
"""The fewest samples of a kind that count, the share of them that agree, and of the range of all others that zero may lie off."""


class AbsentByKind(DrawnRows):
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
        numeric = {f.name for f in context.fields if f.dtype.startswith(("int", "uint", "float"))} | set(self.numbers)
        self.kinds = {name: None if name in numeric else Named(MOST_NAMES) for name in named}
        """Not what says where or when a sample is from, the label last; of texts what they are called."""
        self.drawn = Drawn(max(1, min(KEPT, CELLS // max(1, len(self.fields) + len(self.kinds)))))
        self.beside = [named for named in self.kinds.values() if named is not None]

    def applies(self) -> bool:
        return bool(self.fields and self.kinds)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept: dict[str, Any] = {}
        for name in self.fields:
            column = block.columns.get(name)
            nulls = None if column is None else column.nulls
            kept[f"absent {name}"] = np.full(len(rows), column is None) if nulls is None else nulls[rows]
        for name, named in self.kinds.items():
            column = block.columns.get(name)
            kept[f"kind {name}"] = numbers_of(column, rows) if named is None else named.of(column, rows)
        return kept

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
            own = rows[f"kind {name}"]
            values, whose = np.unique(own, return_inverse=True)
            if (named is not None and named.many) or len(values) > MOST_KINDS:
                continue
            called = [f"{v:.12g}" for v in values] if named is None else [named.texts.get(int(v), "") for v in values]
            there = own == own if named is None else own != digest_of("")
            yield name, there, whose, called
        for name in self.numbers:
            own = rows[f"kind {name}"]
            if not set_apart(own):
                yield name, own == own, (own != 0).astype(int), ["0", "all but 0"]


def set_apart(numbers: Any) -> bool:
    """Whether zero lies far from all other numbers, as where a sensor failed: what is missing there failed as well."""
    import numpy as np

    others = numbers[np.isfinite(numbers) & (numbers != 0)]
    return len(others) > 0 and np.abs(others).min() > APART * np.ptp(others)


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

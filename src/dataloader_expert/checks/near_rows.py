"""Rows that are equal to three significant digits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.fingerprint import ROWS, digests
from dataloader_expert.checks.pairs import Seen, judge_near, near_fact
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block, Column

RULE = "equal to three significant digits"
LEAST_FIELDS = 3
"""Rows of fewer numbers agree by chance."""


class NearRows(Check):
    ids = ("near-duplicates", "splits-near-overlap")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context)
        self.keys: list[Any] = []
        kinds = {f.name: f for f in context.fields}
        self.measured = [
            n for n in self.kept.names if "float" in kinds[n].dtype and kinds[n].kind not in ("image", "time")
        ]
        """Fields of floats: whole numbers and texts that differ are different."""

    def applies(self) -> bool:
        kinds = {f.name: f.kind for f in self.context.fields}
        rich = any(kinds[n] in ("image", "text", "tokens") for n in self.kept.names)
        return self.context.near and bool(self.measured) and not rich

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if block.samples and self.applies():
            self.kept.see(block)
            self.keys.append(self._rounded(block))

    def _rounded(self, block: Block) -> Any:
        import numpy as np

        columns: dict[str, Column] = {}
        for name in self.kept.names:
            column = block.columns.get(name)
            if column is None:
                continue
            values = column.values
            if isinstance(values, np.ndarray):
                values = _round(values) if name in self.measured else values
            else:
                measured = name in self.measured
                values = [_round(v) if measured and isinstance(v, np.ndarray) else v for v in values]
            columns[name] = Column(values, column.nulls)
        n = block.samples
        return digests(Block(block.unit, columns), self.kept.names)[:n] if columns else np.zeros(n, np.uint64)

    def merge(self, other: Check) -> None:
        assert isinstance(other, NearRows)
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.keys += other.keys

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.keys:
            return
        key, digest = np.concatenate(self.keys), self.kept.all()[0]
        order = np.lexsort((digest, key))
        starts = np.flatnonzero(np.concatenate([[True], key[order][1:] != key[order][:-1]]))
        ends = np.concatenate([starts[1:], [len(order)]])
        groups = []
        for g in np.flatnonzero(ends - starts > 1).tolist():
            members = order[starts[g] : ends[g]]
            _, first = np.unique(digest[members], return_index=True)  # one of each content
            if len(first) > 1:
                groups.append(members[first].tolist())
        yield near_fact(
            self.kept, "rows", groups, RULE, self.evidence(), "near copies of rows that differ by more than rounding"
        )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        numbers = sum(max(1, _size(f.shape)) for f in self.context.fields if f.name in self.measured)
        return judge_near(facts, "rows", sure=numbers >= LEAST_FIELDS)


def _size(shape: tuple[int | None, ...]) -> int:
    size = 1
    for x in shape:
        size *= x or LEAST_FIELDS
    return size


def _round(values: Any) -> Any:
    """Rounded to three significant digits."""
    import numpy as np

    if len(values) > ROWS and values.ndim == 1:  # what is made of so many stays in the cache
        out = np.empty(len(values))
        for at in range(0, len(values), ROWS):
            out[at : at + ROWS] = _round(values[at : at + ROWS])
        return out
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (2 - np.floor(np.log10(np.abs(values.astype(np.float64)))))
        out = np.where((values == 0) | ~np.isfinite(values), values, np.round(values * scale) / scale)
    return out + 0.0


CHECK = NearRows

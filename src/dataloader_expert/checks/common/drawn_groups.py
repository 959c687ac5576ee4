"""All rows of some values of a field: those of each id, or of each user, whose digest is small, whatever the order of blocks."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.fingerprint import digests, digests_of
from dataloader_expert.sources.base import Block

MOST = 40_000
"""About so many rows are kept, and no more than four times as many."""


class DrawnGroups:
    """Of each row that is kept: its group, its index, and what else is asked for, arrays by name."""

    def __init__(self, field: str, context: Context) -> None:
        self.field, self.context = field, context
        samples = context.samples
        self.limit = (1 << 64) - 1 if samples is None or samples <= MOST else (1 << 64) * MOST // samples
        self.parts: list[dict[str, Any]] = []
        self.held = 0

    def rows(self, block: Block) -> tuple[Any, Any]:
        """The rows of a block that are kept, and their groups."""
        import numpy as np

        if self.held > 4 * MOST or self.field not in block.columns:
            return np.arange(0), np.zeros(0, np.uint64)
        names, codes = self.context.splits_of(block)
        made = present(block, self.field, digests_of(names)[codes])
        rows = np.flatnonzero((made != 0) & (made <= np.uint64(self.limit)))
        return rows, made[rows]

    def keep(self, block: Block, rows: Any, groups: Any, values: dict[str, Any]) -> None:
        self.parts.append({"group": groups, "sample": block.indices(rows), **values})
        self.held += len(rows)

    def merge(self, other: DrawnGroups) -> None:
        self.parts += other.parts
        self.held += other.held

    def all(self) -> dict[str, Any]:
        """What is kept, in the order of the data; nothing if there is none."""
        import numpy as np

        if not self.held:
            return {}
        made = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        order = np.argsort(made["sample"], kind="stable")
        return {name: values[order] for name, values in made.items()}


def present(block: Block, name: str, salt: Any) -> Any:
    """A digest of each sample's value and split; 0 where there is none."""
    import numpy as np

    column, n = block.columns.get(name), block.samples
    if column is None:
        return np.zeros(n, np.uint64)
    made = digests(block, [name], salt)
    absent = np.zeros(n, bool) if column.nulls is None else np.asarray(column.nulls[:n], bool)
    if column.coded is not None:
        codes, texts = column.coded
        absent = absent | np.array([not text for text in texts], bool)[codes[:n]]
    elif isinstance(column.values, list):
        absent = absent | np.array(
            [value is None or (isinstance(value, str) and not value) for value in column.values[:n]], bool
        )
    elif column.values.dtype.kind == "f":
        absent = absent | np.isnan(column.values[:n])
    return np.where(absent, np.uint64(0), np.maximum(made, np.uint64(1)))

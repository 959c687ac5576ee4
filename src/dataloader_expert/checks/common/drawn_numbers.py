"""Checks that draw rows, and keep of each some numbers, of what kind the row is, and when it is from."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import Named, moments_of, numbers_of
from dataloader_expert.sources.base import Block


class DrawnNumbers(DrawnRows):
    """A member sets these in its constructor, and states facts from ``drawn``: ``number x``, ``kind y`` and where each row is."""

    fields: list[str]
    kinds: dict[str, Named]
    """Fields that may explain what is odd about rows."""
    time: str | None = None
    """The field by which rows are in the order of time, if a member asks for ``time``."""

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.fields}
        kept |= {f"kind {name}": named.of(block.columns.get(name), rows) for name, named in self.kinds.items()}
        if self.time is not None:
            kept["time"] = moments_of(block.columns.get(self.time), rows)
        return kept

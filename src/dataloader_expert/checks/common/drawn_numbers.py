"""Checks that draw rows, and keep of each some numbers and of what kind the row is: what they keep, and how they merge."""

from __future__ import annotations

from dataloader_expert.checks.base import Check
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.rows_kept import Named, at_of, moments_of, numbers_of
from dataloader_expert.sources.base import Block


class DrawnNumbers(Check):
    """A member sets these in its constructor, and states facts from ``drawn``: ``number x``, ``kind y`` and where each row is."""

    fields: list[str]
    kinds: dict[str, Named]
    """Fields that may explain what is odd about rows."""
    drawn: Drawn
    time: str | None = None
    """The field by which rows are in the order of time, if a member asks for ``time``."""

    def see(self, block: Block) -> None:
        self.seen += block.samples
        rows = self.drawn.rows(block) if block.samples and self.applies() else ()
        if not len(rows):
            return
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.fields}
        for name, named in self.kinds.items():
            kept[f"kind {name}"] = named.of(block.columns.get(name), rows)
        if self.time is not None:
            kept["time"] = moments_of(block.columns.get(self.time), rows)
        self.drawn.keep(block, rows, kept | at_of(block, rows))

    def merge(self, other: Check) -> None:
        assert isinstance(other, DrawnNumbers)
        self.seen += other.seen
        self.drawn.merge(other.drawn)
        for name, named in other.kinds.items():
            self.kinds[name].merge(named)

"""What checks share that draw rows of a table and compare its parts: splits, sites, files."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.parts import Parts
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, at_of
from dataloader_expert.sources.base import Block


class InParts(Check):
    """A subclass calls ``draw`` in its constructor and says in ``kept`` what it keeps of the rows."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.parts, self.files = Parts(context), Files()
        self.drawn = Drawn(0)
        self.named: dict[str, Named] = {}
        """Fields that are kept as digests of their texts."""

    def draw(self, most: int, cells: int, columns: int) -> None:
        """``most`` rows, and fewer if they and their parts, at so many columns each, would be more than ``cells`` values."""
        self.drawn = Drawn(min(most, cells // (columns + len(self.parts.called))))

    @abstractmethod
    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        """Arrays with an entry for each of these rows of a block."""

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.files.note(block)
        rows = self.drawn.rows(block) if block.samples and self.applies() else ()
        if len(rows):
            self.drawn.keep(block, rows, self.kept(block, rows) | self.parts.of(block, rows) | at_of(block, rows))

    def merge(self, other: Check) -> None:
        assert isinstance(other, type(self))
        self.seen += other.seen
        self.files.merge(other.files)
        self.drawn.merge(other.drawn)
        self.parts.merge(other.parts)
        for name, named in self.named.items():
            named.merge(other.named[name])

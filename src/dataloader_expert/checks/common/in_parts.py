"""What checks share that draw rows of a table and compare its parts: splits, sites, files."""

from __future__ import annotations

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.parts import Parts
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named
from dataloader_expert.sources.base import Block


class InParts(DrawnRows):
    """A subclass calls ``draw`` in its constructor, and keeps ``parts`` of the rows too."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.parts, self.files = Parts(context), Files()
        self.named: dict[str, Named] = {}
        """Fields that are kept as digests of their texts."""

    def draw(self, most: int, cells: int, columns: int) -> None:
        """``most`` rows, and fewer if they and their parts, at so many columns each, would be more than ``cells`` values."""
        self.drawn = Drawn(min(most, cells // (columns + len(self.parts.called))))
        self.beside = [self.parts, self.files, *self.named.values()]

    def see(self, block: Block) -> None:
        self.files.note(block)
        super().see(block)

"""Checks that draw rows, and keep something of each: how they look at blocks, and how they merge."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.rows_kept import at_of
from dataloader_expert.sources.base import Block


class Mergeable(Protocol):
    def merge(self, other: Any, /) -> None: ...


class DrawnRows(Check):
    """A member sets these in its constructor, says in ``kept`` what it keeps of rows, and states facts from ``drawn``."""

    drawn: Drawn
    beside: Sequence[Mergeable] = ()
    """What is merged along with the rows, such as the texts that belong to digests."""
    needs: Sequence[str] = ()
    """Fields without which nothing is kept of a block: a shard may lack a member."""

    @abstractmethod
    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        """Arrays by name with an entry for each of these rows of a block; where the rows are is kept too."""

    def rows(self, block: Block) -> Any:
        """The rows of a block to keep; a member may leave some of them out."""
        return self.drawn.rows(block)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if not block.samples or not self.applies() or any(name not in block.columns for name in self.needs):
            return
        rows = self.rows(block)
        if len(rows):
            self.drawn.keep(block, rows, self.kept(block, rows) | at_of(block, rows))

    def merge(self, other: Check) -> None:
        assert isinstance(other, type(self))
        self.seen += other.seen
        self.drawn.merge(other.drawn)
        for mine, theirs in zip(self.beside, other.beside, strict=True):
            mine.merge(theirs)


class DrawnField(DrawnRows):
    """Looks at drawn samples of one field. A member chooses the field, and says at most how many samples."""

    most: ClassVar[int]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.field = self.chosen(context)
        self.drawn, self.needs = Drawn(self.most), [self.field]

    @abstractmethod
    def chosen(self, context: Context) -> str:
        """The field's name; empty if no field fits, and there is nothing to check."""

    def applies(self) -> bool:
        return bool(self.field)

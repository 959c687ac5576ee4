"""Drawn samples of one field with their classes, in which what gives a class away is looked for."""

from __future__ import annotations

from typing import Any, ClassVar

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import Named
from dataloader_expert.sources.base import Block


class DrawnByClass(DrawnRows):
    """Looks at drawn samples of the first field of a kind. A member says which, at most how many samples, and of how many classes."""

    kind: ClassVar[str]
    most: ClassVar[int]
    classes: ClassVar[int]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.name = next((f.name for f in context.fields if f.kind == self.kind and f.name != context.label), "")
        self.label = context.label or ""
        self.called = Named(self.classes)
        self.drawn = Drawn(self.most)
        self.beside, self.needs = [self.called], [self.name, self.label]

    def applies(self) -> bool:
        return bool(self.name) and self.context.label is not None

    def rows(self, block: Block) -> Any:
        return () if self.called.many else super().rows(block)

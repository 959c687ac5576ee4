"""Drawn samples of one field with their classes, in which what gives a class away is looked for."""

from __future__ import annotations

from typing import ClassVar

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.rows_kept import Named


class DrawnByClass(Check):
    """Looks at drawn samples of the first field of a kind. A member says which, how many samples are kept, and of how many classes."""

    kind: ClassVar[str]
    kept: ClassVar[int]
    classes: ClassVar[int]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.name = next((f.name for f in context.fields if f.kind == self.kind and f.name != context.label), "")
        self.called = Named(self.classes)
        self.drawn = Drawn(self.kept)

    def applies(self) -> bool:
        return bool(self.name) and self.context.label is not None

    def merge(self, other: Check) -> None:
        assert isinstance(other, DrawnByClass)
        self.seen += other.seen
        self.drawn.merge(other.drawn)
        self.called.merge(other.called)

"""The content of a section of the page, before it becomes HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dataloader_expert.charts.drawing import Chart, Table
from dataloader_expert.report import Picture


@dataclass(frozen=True)
class Line:
    name: str
    text: str


@dataclass(frozen=True)
class Box:
    name: str
    status: str
    why: str


@dataclass(frozen=True)
class Captioned:
    caption: str
    table: Table


@dataclass(frozen=True)
class Shown:
    title: str
    says: str
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Section:
    key: str
    title: str
    lines: Sequence[Line] = ()
    boxes: Sequence[Box] = ()
    charts: Sequence[Chart] = ()
    pictures: Sequence[Shown] = field(default=())
    tables: Sequence[Captioned] = ()
    more: Sequence[Line] = ()
    """Long lists, collapsed."""

    @property
    def empty(self) -> bool:
        return not (self.lines or self.boxes or self.charts or self.pictures or self.tables)

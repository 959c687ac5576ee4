"""What a chart is: marks on a sheet, a sentence that says what they show, and a table of the same data.

Marks know nothing of HTML or pixels, so that the same drawing becomes SVG for the page and PNG for clients that show images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

WIDTH = 360.0
"""Width of every chart in units: about the pixels of a phone, so that labels are readable there too."""
FONT = 12.0
CHARACTER = 6.4
"""Mean width of a character at that size."""

Paint = Literal["first", "second", "third", "fourth", "fifth", "sixth", "good", "bad", "muted", "grid", "ink"]
SERIES: tuple[Paint, ...] = ("first", "second", "third", "fourth", "fifth", "sixth")
Anchor = Literal["start", "middle", "end"]
Cell = str | int | float | None


@dataclass(frozen=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    paint: Paint
    opacity: float = 1.0


@dataclass(frozen=True)
class Line:
    points: tuple[tuple[float, float], ...]
    paint: Paint
    width: float = 1.5
    dashed: bool = False


@dataclass(frozen=True)
class Area:
    points: tuple[tuple[float, float], ...]
    paint: Paint
    opacity: float = 0.2


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    radius: float
    paint: Paint


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    paint: Paint = "ink"
    halo: bool = False
    """Outlined in the page's colour, to be readable on any background."""


Mark = Rect | Line | Area | Dot | Text


@dataclass(frozen=True)
class Drawing:
    """Marks in painting order, on a sheet of ``WIDTH`` by ``height``."""

    height: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Table:
    """A header, and rows with as many cells; the first cell of each names its row."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Chart:
    """``key`` is unique on a page; ``says`` describes in a sentence what a reader sees; ``note`` is what they should know about it."""

    key: str
    title: str
    says: str
    drawing: Drawing
    table: Table
    note: str = ""


def shortened(text: str, width: float) -> str:
    """The text, shortened to fit into ``width`` units."""
    most = max(2, int(width / CHARACTER))
    return text if len(text) <= most else text[: most - 1] + "…"


def legend(names: Sequence[str], top: float) -> tuple[list[Mark], float]:
    """The legend from ``top`` down, each series with its paint; and where it ends."""
    marks: list[Mark] = []
    x, y = 0.0, top
    for name, paint in zip(names, SERIES, strict=False):
        label = shortened(name, WIDTH - 20)
        wide = 16 + CHARACTER * len(label) + 14
        if x and x + wide > WIDTH:
            x, y = 0.0, y + 18
        marks += [Rect(x, y, 10, 10, paint), Text(x + 15, y + 9.5, label, paint="muted")]
        x += wide
    return marks, y + 18

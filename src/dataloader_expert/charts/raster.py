"""A chart as a PNG, for clients that show images but no page. Pillow is imported when one is drawn."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from dataloader_expert.charts.drawing import FONT, WIDTH, Area, Chart, Dot, Line, Mark, Paint, Rect, Text
from dataloader_expert.charts.svg import LIGHT
from dataloader_expert.errors import escaped

SCALE, EDGE, TITLE = 2.0, 12.0, 22.0
"""Pixels per unit, units of margin around the drawing, and units above it for the title."""
PAPER = (255, 255, 255)
DASH = 4.0


def png(chart: Chart) -> bytes:
    """The chart below its title, on white, 768 pixels wide."""
    from PIL import Image, ImageDraw

    height = chart.drawing.height + TITLE + 2 * EDGE
    image = Image.new("RGB", (round((WIDTH + 2 * EDGE) * SCALE), round(height * SCALE)), PAPER)
    pen = ImageDraw.Draw(image, "RGBA")  # so that translucent marks are blended
    for mark in (Text(0, -8, chart.title), *chart.drawing.marks):
        _draw(pen, mark)
    out = io.BytesIO()
    image.quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()


def _draw(pen: Any, m: Mark) -> None:
    if isinstance(m, Rect):
        (x, y), (right, bottom) = _at(m.x, m.y), _at(m.x + m.width, m.y + m.height)
        if right - x >= 1 and bottom - y >= 1:
            pen.rectangle((x, y, right - 1, bottom - 1), fill=_colour(m.paint, m.opacity))
    elif isinstance(m, Line):
        for piece in _dashes(m) if m.dashed else [m.points]:
            pen.line([_at(*p) for p in piece], _colour(m.paint), round(m.width * SCALE))
    elif isinstance(m, Area):
        pen.polygon([_at(*p) for p in m.points], fill=_colour(m.paint, m.opacity))
    elif isinstance(m, Dot):
        (x, y), r = _at(m.x, m.y), m.radius * SCALE
        pen.ellipse((x - r, y - r, x + r, y + r), fill=_colour(m.paint))
    else:
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[m.anchor]
        edge = {"stroke_width": 3, "stroke_fill": PAPER} if m.halo else {}
        pen.text(_at(m.x, m.y), escaped(m.text, None), _colour(m.paint), _font(), anchor, **edge)


def _dashes(m: Line) -> list[tuple[tuple[float, float], ...]]:
    """Short pieces of the line, with gaps of the same length."""
    pieces: list[tuple[tuple[float, float], ...]] = []
    for (x0, y0), (x1, y1) in zip(m.points, m.points[1:], strict=False):
        n = max(1, int(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 / DASH))
        steps = [(x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n) for i in range(n + 1)]
        pieces += [(steps[i], steps[i + 1]) for i in range(0, n, 2)]
    return pieces


def _at(x: float, y: float) -> tuple[float, float]:
    return (x + EDGE) * SCALE, (y + EDGE + TITLE) * SCALE


def _colour(paint: Paint, opacity: float = 1.0) -> tuple[int, int, int, int]:
    text = LIGHT[paint]
    red, green, blue = (int(text[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue, round(255 * opacity)


@cache
def _font() -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(FONT * SCALE)

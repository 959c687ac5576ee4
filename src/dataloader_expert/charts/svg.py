"""A drawing as inline SVG: colours as classes, so that the page's light and dark modes apply, and as attributes for mail programs."""

from __future__ import annotations

from html import escape

from dataloader_expert.charts.drawing import FONT, WIDTH, Area, Chart, Dot, Line, Mark, Rect
from dataloader_expert.errors import escaped

LIGHT = {
    "first": "#0b62a8", "second": "#b35309", "third": "#1d7a4c", "fourth": "#8a3ba8", "fifth": "#7a6a00",
    "sixth": "#a3244f", "good": "#1d7a4c", "bad": "#b3261e", "muted": "#57606a", "grid": "#d0d7de", "ink": "#1f2328",
}  # fmt: skip
DARK = {
    "first": "#6cb6ff", "second": "#f0a35c", "third": "#5fd39a", "fourth": "#d2a2f2", "fifth": "#d9c65a",
    "sixth": "#f58fb1", "good": "#5fd39a", "bad": "#ff8f87", "muted": "#9aa4af", "grid": "#3a424c", "ink": "#e6edf3",
}  # fmt: skip


def svg(chart: Chart, prefix: str = "") -> str:
    """The chart as an ``<svg>`` element whose title and sentence a screen reader reads."""
    d = chart.drawing
    own = escape(f"{prefix}{chart.key}")
    body = "".join(_mark(m) for m in d.marks)
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {_n(WIDTH)} {_n(d.height)}" font-size="{_n(FONT)}" '
        f'font-family="system-ui, sans-serif" aria-labelledby="{own}-t {own}-d">'
        f'<title id="{own}-t">{_text(chart.title)}</title><desc id="{own}-d">{_text(chart.says)}</desc>{body}</svg>'
    )


def _mark(m: Mark) -> str:
    if isinstance(m, Rect):
        faint = f' fill-opacity="{_n(m.opacity)}"' if m.opacity < 1 else ""
        size = f'x="{_n(m.x)}" y="{_n(m.y)}" width="{_n(m.width)}" height="{_n(m.height)}"'
        return f'<rect class="f-{m.paint}" fill="{LIGHT[m.paint]}" {size}{faint}/>'
    if isinstance(m, Line):
        dashed = ' stroke-dasharray="5 4"' if m.dashed else ""
        look = f'class="s-{m.paint}" stroke="{LIGHT[m.paint]}" stroke-width="{_n(m.width)}"{dashed}'
        return f'<polyline {look} fill="none" points="{_points(m.points)}"/>'
    if isinstance(m, Area):
        look = f'class="f-{m.paint}" fill="{LIGHT[m.paint]}" fill-opacity="{_n(m.opacity)}"'
        return f'<polygon {look} points="{_points(m.points)}"/>'
    if isinstance(m, Dot):
        look = f'class="f-{m.paint}" fill="{LIGHT[m.paint]}"'
        return f'<circle {look} cx="{_n(m.x)}" cy="{_n(m.y)}" r="{_n(m.radius)}"/>'
    anchor = f' text-anchor="{m.anchor}"' if m.anchor != "start" else ""
    look = f'class="{"halo" if m.halo else f"f-{m.paint}"}" fill="{LIGHT[m.paint]}"'
    if m.halo:
        look += ' stroke="#ffffff" stroke-width="3" paint-order="stroke"'
    return f'<text {look} x="{_n(m.x)}" y="{_n(m.y)}"{anchor}>{_text(m.text)}</text>'


def _points(points: tuple[tuple[float, float], ...]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    """Text from outside: made printable, with markup escaped."""
    return escape(escaped(text, None))

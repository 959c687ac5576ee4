"""Horizontal bars: plain ones, and stacked ones in several series."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataloader_expert.charts.drawing import (
    CHARACTER,
    SERIES,
    WIDTH,
    Chart,
    Drawing,
    Line,
    Mark,
    Paint,
    Rect,
    Table,
    Text,
    legend,
    shortened,
)
from dataloader_expert.charts.scales import Scale, said

BAR, GAP, NAMES = 16.0, 7.0, 118.0
MOST = 24
"""The most bars that are drawn; the table has them all."""


def bars(
    key: str,
    title: str,
    says: str,
    named: Sequence[tuple[str, float]],
    header: tuple[str, str],
    words: Callable[[float | None], str] = said,
    paints: Sequence[Paint] = (),
) -> Chart:
    """One bar per name, in the given order; ``words`` formats the value shown at the end of its bar."""
    shown = list(named[:MOST])
    room = max((len(words(v)) for _, v in shown), default=1) * CHARACTER + 6
    scale = Scale(0.0, max((v for _, v in shown), default=1.0) or 1.0, NAMES, WIDTH - room)
    marks: list[Mark] = [Line(((NAMES, 0), (NAMES, _height(len(shown)))), "grid", 1)]
    for i, (name, value) in enumerate(shown):
        y = GAP / 2 + i * (BAR + GAP)
        end = scale.at(max(0.0, value))
        marks += [
            Text(NAMES - 6, y + BAR - 4, shortened(name, NAMES - 8), "end"),
            Rect(NAMES, y, max(0.0, end - NAMES), BAR, paints[i] if i < len(paints) else "first"),
            Text(end + 4, y + BAR - 4, words(value), paint="muted"),
        ]
    table = Table(header, tuple((name, value) for name, value in named))
    return Chart(key, title, says, Drawing(_height(len(shown)), tuple(marks)), table, _rest(len(named), len(shown)))


def stacked(
    key: str,
    title: str,
    says: str,
    rows: Sequence[tuple[str, Sequence[float]]],
    series: Sequence[str],
    header: str,
    words: Callable[[float | None], str] = said,
    side_by_side: bool = False,
) -> Chart:
    """One bar per row, each part in its own paint; ``side_by_side``: the parts next to each other, each starting at zero."""
    shown = list(rows[:MOST])
    names = list(series[: len(SERIES)])
    marks, top = legend(names, 0)
    deep = (BAR if not side_by_side else 11.0 * len(names)) + GAP
    totals = [max(parts, default=0.0) if side_by_side else sum(parts) for _, parts in shown]
    room = max((len(words(t)) for t in totals), default=1) * CHARACTER + 6
    scale = Scale(0.0, max(totals, default=1.0) or 1.0, NAMES, WIDTH - room)
    height = top + deep * len(shown) + GAP / 2
    marks.append(Line(((NAMES, top), (NAMES, height)), "grid", 1))
    for i, (name, parts) in enumerate(shown):
        y = top + GAP / 2 + i * deep
        marks.append(Text(NAMES - 6, y + (deep - GAP) / 2 + 4, shortened(name, NAMES - 8), "end"))
        x = NAMES
        for j, (part, paint) in enumerate(zip(parts, SERIES, strict=False)):
            wide = scale.at(part) - NAMES
            if side_by_side:
                marks.append(Rect(NAMES, y + 11 * j, wide, 10, paint))
                marks.append(Text(NAMES + wide + 4, y + 11 * j + 9.5, words(part), paint="muted"))
            else:
                marks.append(Rect(x, y, wide, BAR, paint))
                x += wide
        if not side_by_side:
            marks.append(Text(x + 4, y + BAR - 4, words(totals[i]), paint="muted"))
    table = Table((header, *series), tuple((name, *parts) for name, parts in rows))
    return Chart(key, title, says, Drawing(height, tuple(marks)), table, _rest(len(rows), len(shown)))


def _height(n: int) -> float:
    return n * (BAR + GAP) + GAP / 2


def _rest(total: int, shown: int) -> str:
    return f"The first {shown} of {total:,} are drawn; the table has them all." if total > shown else ""

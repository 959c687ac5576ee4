"""A histogram: how many values fall into each of equally wide bins."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from dataloader_expert.charts.drawing import (
    SERIES,
    WIDTH,
    Area,
    Cell,
    Chart,
    Drawing,
    Line,
    Mark,
    Rect,
    Table,
    Text,
    legend,
)
from dataloader_expert.charts.scales import Scale, said, ticks

HEIGHT, LEFT, BOTTOM = 150.0, 46.0, 20.0


def histogram(
    key: str,
    title: str,
    says: str,
    edges: Sequence[float],
    counts: Sequence[tuple[str, Sequence[float]]],
    unit: str,
    of: str = "Samples",
    words: Callable[[float | None], str] = said,
) -> Chart:
    """``counts``: one or several series by name, each one shorter than ``edges``; several are drawn as outlines."""
    several = len(counts) > 1
    marks, top = legend([name for name, _ in counts], 0) if several else ([], 6.0)
    high = max((n for _, series in counts for n in series), default=1) or 1
    y = Scale(0.0, ticks(0, high, 3)[-1], top + HEIGHT, top)
    x = Scale(edges[0], edges[-1], LEFT, WIDTH - 8)
    for value in ticks(0, high, 3):
        marks += [
            Line(((LEFT, y.at(value)), (WIDTH, y.at(value))), "grid", 1),
            Text(LEFT - 5, y.at(value) + 4, said(value), "end", "muted"),
        ]
    for (_, series), paint in zip(counts, SERIES, strict=False):
        tops = [(x.at(a), x.at(b), y.at(n)) for a, b, n in zip(edges, edges[1:], series, strict=False)]
        if not several:
            marks += [Rect(a, t, max(0.5, b - a - 1), y.at(0) - t, paint) for a, b, t in tops]
            continue
        steps = tuple(p for a, b, t in tops for p in ((a, t), (b, t)))
        marks += [Area(((x.at(edges[0]), y.at(0)), *steps, (x.at(edges[-1]), y.at(0))), paint), Line(steps, paint)]
    marks.append(Line(((LEFT, y.at(0)), (WIDTH, y.at(0))), "muted", 1))
    low, high = ends(edges[0], edges[-1])
    marks += x_labels(x, [low, low / 2 + high / 2, high], top + HEIGHT + 15, words)
    header = (f"From, {unit}" if unit else "From", "To", *((n for n, _ in counts) if several else (of,)))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*map(words, ends(a, b)), *(series[i] for _, series in counts))
        for i, (a, b) in enumerate(itertools.pairwise(edges))
    )
    return Chart(key, title, says, Drawing(top + HEIGHT + BOTTOM, tuple(marks)), Table(header, rows))


def ends(low: float, high: float) -> tuple[float, float]:
    """The smallest and largest value of a bin; for integers, whose bin edges lie halfway between them, the integers."""
    return (low + 0.5, high - 0.5) if low % 1 == 0.5 and high % 1 == 0.5 else (low, high)


def x_labels(x: Scale, values: Sequence[float], at: float, words: Callable[[float | None], str]) -> list[Mark]:
    """Labels under an axis; the first and last stay on the sheet."""
    out: list[Mark] = []
    for i, value in enumerate(values):
        end = i == len(values) - 1
        out.append(
            Text(
                x.at(value) if not end else max(x.at(value), WIDTH - 8),
                at,
                words(value),
                "start" if not i else "end" if end else "middle",
                "muted",
            )
        )
    return out

"""Points with their intervals, and curves with their bands, over numbers or over categories evenly spaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dataloader_expert.charts.drawing import SERIES, WIDTH, Area, Chart, Dot, Drawing, Line, Mark, Table, Text, legend
from dataloader_expert.charts.scales import Scale, said, ticks

HEIGHT, LEFT = 170.0, 46.0


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    """``joined``: drawn as a curve with a band; otherwise as points with intervals."""

    name: str
    points: tuple[Point, ...]
    joined: bool = False
    dashed: bool = False


def lines(
    key: str,
    title: str,
    says: str,
    series: Sequence[Series],
    x_name: str,
    y_name: str,
    words: Callable[[float | None], str] = said,
    limit: tuple[str, float] | None = None,
    note: str = "",
    even: bool = True,
) -> Chart:
    """``even``: the values of ``x`` are spaced evenly in order, since settings double; ``limit``: a named level."""
    levels = sorted({p.x for s in series for p in s.points})
    places: dict[float, float] = {v: i if even else v for i, v in enumerate(levels)}
    highest = max((p.high if p.high is not None else p.y for s in series for p in s.points), default=1.0)
    top_y = max(highest, limit[1] if limit and limit[1] <= 3 * highest else 0.0)
    marks, top = legend([s.name for s in series], 0)
    if y_name:
        marks.append(Text(0, top + 10, y_name, paint="muted"))
    top += 26 if y_name else 10
    grid = ticks(0, top_y, 4)
    y = Scale(0.0, grid[-1], top + HEIGHT, top)
    x = Scale(-0.3, max(len(levels) - 0.7, 0.3), LEFT, WIDTH) if even else Scale(0.0, levels[-1], LEFT, WIDTH - 10)
    for value in grid:
        marks += [
            Line(((LEFT, y.at(value)), (WIDTH, y.at(value))), "grid", 1),
            Text(LEFT - 5, y.at(value) + 4, words(value), "end", "muted"),
        ]
    painted = sorted(zip(series, SERIES, strict=False), key=lambda pair: not pair[0].joined)  # points over bands
    for one, paint in painted:
        at = [(x.at(places[p.x]), y.at(p.y)) for p in one.points]
        if one.joined:
            low = [(x.at(places[p.x]), y.at(max(0.0, p.low))) for p in one.points if p.low is not None]
            high = [(x.at(places[p.x]), y.at(min(p.high, grid[-1]))) for p in one.points if p.high is not None]
            if low and len(low) == len(high):
                marks.append(Area((*low, *reversed(high)), paint))
            marks.append(Line(tuple(at), paint, 2, one.dashed))
            continue
        for p, (px, py) in zip(one.points, at, strict=True):
            if p.low is not None and p.high is not None:
                ends = y.at(max(0.0, p.low)), y.at(p.high)
                marks.append(Line(((px, ends[0]), (px, ends[1])), paint, 2))
                marks += [Line(((px - 4, e), (px + 4, e)), paint, 2) for e in ends]
            marks.append(Dot(px, py, 4, paint))
    if limit is not None and limit[1] <= grid[-1]:
        at_limit = y.at(limit[1])
        marks += [
            Line(((LEFT, at_limit), (WIDTH, at_limit)), "bad", 1.5, True),
            Text(WIDTH, at_limit - 4, limit[0], "end", "bad"),
        ]
    marks.append(Line(((LEFT, y.at(0)), (WIDTH, y.at(0))), "muted", 1))
    marks += _under(x, levels, top + HEIGHT + 15) if even else _round(x, levels[-1], top + HEIGHT + 15)
    marks.append(Text((LEFT + WIDTH) / 2, top + HEIGHT + 32, x_name, "middle", "muted"))
    return Chart(key, title, says, Drawing(top + HEIGHT + 38, tuple(marks)), _table(series, levels, x_name), note)


def _under(x: Scale, levels: Sequence[float], at: float) -> list[Mark]:
    """A label under each level, or under every other one if they are close."""
    every = max(1, -(-len(levels) * max((len(said(v)) for v in levels), default=1) // 34))
    return [Text(x.at(i), at, said(v), "middle", "muted") for i, v in enumerate(levels) if i % every == 0]


def _round(x: Scale, most: float, at: float) -> list[Mark]:
    """Labels at round values."""
    return [Text(x.at(v), at, said(v), "middle", "muted") for v in ticks(0, most, 4) if v <= most]


def _table(series: Sequence[Series], levels: Sequence[float], x_name: str) -> Table:
    header = [x_name]
    for one in series:
        header.append(one.name)
        if any(p.low is not None for p in one.points):
            header += ["low", "high"]
    rows: list[tuple[str | float | None, ...]] = []
    for level in levels:
        row: list[str | float | None] = [said(level)]
        for one in series:
            point = next((p for p in one.points if p.x == level), None)
            row.append(None if point is None else point.y)
            if any(p.low is not None for p in one.points):
                row += [None, None] if point is None else [point.low, point.high]
        rows.append(tuple(row))
    return Table(tuple(header), tuple(rows))

"""A heat map of a matrix: one cell per pair, darker for larger values, in a second paint for negative ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataloader_expert.charts.drawing import CHARACTER, WIDTH, Chart, Drawing, Mark, Rect, Table, Text, shortened
from dataloader_expert.charts.scales import said

LABELS = 96.0
NUMBERED = 9
"""The most columns with which a cell has room for its number."""


def heatmap(
    key: str,
    title: str,
    says: str,
    names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    most: float,
    words: Callable[[float | None], str] = said,
    note: str = "",
) -> Chart:
    """``values[i][j]`` belongs to ``names[i]`` and ``names[j]``; ``most`` is the darkest value; None is an empty cell."""
    n = len(names)
    side = min(44.0, (WIDTH - LABELS) / max(1, n))
    turned = side < 5 * CHARACTER
    top = 18.0
    marks: list[Mark] = []
    for i, name in enumerate(names):
        label = f"{i + 1}" if turned else shortened(name, side)
        marks.append(Text(LABELS + (i + 0.5) * side, top - 5, label, "middle", "muted"))
        row = f"{i + 1} {name}" if turned else name
        marks.append(Text(LABELS - 6, top + (i + 0.5) * side + 4, shortened(row, LABELS - 8), "end"))
        for j, value in enumerate(values[i]):
            x, y = LABELS + j * side, top + i * side
            marks.append(Rect(x, y, side - 1, side - 1, "grid", 0.35))
            if value is None:
                continue
            depth = min(1.0, abs(value) / most) if most else 0.0
            if depth:
                marks.append(Rect(x, y, side - 1, side - 1, "first" if value > 0 else "second", 0.08 + 0.77 * depth))
            if n <= NUMBERED:
                marks.append(Text(x + side / 2 - 0.5, y + side / 2 + 4, words(value), "middle", halo=True))
    header = ("", *names)
    rows = tuple((name, *row) for name, row in zip(names, values, strict=True))
    return Chart(key, title, says, Drawing(top + n * side + 4, tuple(marks)), Table(header, rows), note)

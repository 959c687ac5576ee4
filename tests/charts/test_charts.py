"""Charts are pure: the same values give the same marks, each value is in the table, and no text is markup."""

from __future__ import annotations

import io
import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.charts.bars import MOST, bars, stacked
from dataloader_expert.charts.drawing import WIDTH, Chart, Dot, Line, Rect, Text
from dataloader_expert.charts.heatmap import heatmap
from dataloader_expert.charts.histogram import histogram
from dataloader_expert.charts.lines import Point, Series, lines
from dataloader_expert.charts.raster import SCALE, png
from dataloader_expert.charts.scales import said, said_bytes, ticks
from dataloader_expert.charts.svg import DARK, LIGHT, svg

HOSTILE = "<script>alert(1)</script>\"'&\N{RIGHT-TO-LEFT OVERRIDE}"
CURVE = (Point(0, 90.0, 80, 100), Point(4, 300.0, 250, 350))
CHARTS = {
    "bars": bars("b", HOSTILE, HOSTILE, [(HOSTILE, 3.0), ("dog", 1.0)], ("Class", "Samples")),
    "stacked": stacked("s", "S", "S", [(HOSTILE, [3.0, 1.0]), ("dog", [2.0, 2.0])], ("train", HOSTILE), "Class"),
    "beside": stacked("sb", "S", "S", [("cat", [3.0, 1.0])], ("before", "after"), "Class", side_by_side=True),
    "histogram": histogram("h", "H", "H", [0.0, 1, 2, 3], [("", [5, 0, 2])], "pixels"),
    "channels": histogram("hc", "H", "H", [0.0, 1, 2], [("red", [5, 0]), (HOSTILE, [1, 2])], ""),
    "lines": lines("l", "L", "L", [Series("Timed", CURVE), Series(HOSTILE, CURVE, True)], "workers", "samples/s"),
    "limit": lines("ll", "L", "L", [Series("One", CURVE, True, True)], "n", "b", limit=("most", 320.0), even=False),
    "heatmap": heatmap("m", "M", "M", [HOSTILE, "b"], [[None, 3.0], [-3.0, 0.0]], 3.0),
    "nothing": bars("n", "N", "N", [], ("Class", "Samples")),
}
every_chart = pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)


@every_chart
def test_a_chart_is_well_formed_and_says_what_it_shows(chart: Chart) -> None:
    """Our promise: a screen reader reads title and sentence; no text of the data's becomes markup."""
    root = ET.fromstring(svg(chart))
    assert root.attrib["role"] == "img"
    ids = {e.attrib["id"]: e.text for e in root if "id" in e.attrib}
    assert list(ids) == root.attrib["aria-labelledby"].split()
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in svg(chart)
    assert {e.tag for e in root.iter()} <= {"svg", "title", "desc", "rect", "polyline", "polygon", "circle", "text"}
    assert all(name not in ("href", "style") and not name.startswith("on") for e in root.iter() for name in e.attrib)


@every_chart
def test_all_marks_lie_on_the_sheet(chart: Chart) -> None:
    """Our promise: nothing is drawn outside what is shown."""
    on_the_sheet(chart)


def on_the_sheet(chart: Chart) -> None:
    for mark in chart.drawing.marks:
        xs, ys = _extent(mark)
        assert all(math.isfinite(v) for v in (*xs, *ys))
        assert min(xs) >= -1
        assert max(xs) <= WIDTH + 1
        assert min(ys) >= -1
        assert max(ys) <= chart.drawing.height + 1


def _extent(mark: object) -> tuple[list[float], list[float]]:
    if isinstance(mark, Rect):
        assert mark.width >= 0
        assert mark.height >= 0
        return [mark.x, mark.x + mark.width], [mark.y, mark.y + mark.height]
    if isinstance(mark, Text | Dot):
        return [mark.x], [mark.y]
    points = mark.points  # type: ignore[attr-defined]  # lines and areas have them
    return [x for x, _ in points], [y for _, y in points]


@every_chart
def test_a_row_of_the_table_has_a_cell_for_each_heading(chart: Chart) -> None:
    """Our promise: the data of each chart is a table."""
    assert all(len(row) == len(chart.table.header) for row in chart.table.rows)


def test_a_bar_is_as_long_as_its_value() -> None:
    """Our promise: lengths are proportional, from zero."""
    drawn = [m for m in CHARTS["bars"].drawing.marks if isinstance(m, Rect)]
    assert drawn[0].width == pytest.approx(3 * drawn[1].width)


def test_the_table_has_the_bars_that_are_not_drawn() -> None:
    """Our promise: a thousand classes are not a thousand bars, and none is lost."""
    many = bars("b", "B", "B", [(str(i), float(i)) for i in range(1000)], ("Class", "Samples"))
    assert sum(isinstance(m, Rect) for m in many.drawing.marks) == MOST
    assert len(many.table.rows) == 1000
    assert f"{MOST} of 1,000" in many.note


def test_an_interval_is_drawn_from_low_to_high() -> None:
    """Our promise: what is timed is a point with its interval, what is predicted a curve with its band."""
    chart = CHARTS["lines"]
    upright = [m for m in chart.drawing.marks if isinstance(m, Line) and m.points[0][0] == m.points[-1][0]]
    dots = [m for m in chart.drawing.marks if isinstance(m, Dot)]
    assert len(dots) == len(CURVE) == len(upright)
    for dot, line in zip(dots, upright, strict=True):
        assert line.points[0][1] > dot.y > line.points[1][1]
    assert chart.table.rows[0] == ("0", 90.0, 80, 100, 90.0, 80, 100)


def test_negative_cells_have_a_paint_of_their_own() -> None:
    """Our promise: a map tells signs apart by colour and by number."""
    cells = [m for m in CHARTS["heatmap"].drawing.marks if isinstance(m, Rect) and m.paint != "grid"]
    assert [(c.paint, c.opacity) for c in cells] == [("first", 0.85), ("second", 0.85)]


@every_chart
def test_a_chart_is_a_small_png_too(chart: Chart) -> None:
    """Our promise: clients without pages see the same marks."""
    data = png(chart)
    image = Image.open(io.BytesIO(data))
    assert image.width == round((WIDTH + 24) * SCALE)
    assert len(data) < 40_000
    if chart.table.rows:
        assert len(image.convert("RGB").getcolors(1 << 20) or ()) > 3


@pytest.mark.parametrize("paints", [LIGHT, DARK], ids=["light", "dark"])
def test_paints_stand_out_from_the_page(paints: dict[str, str]) -> None:
    """WCAG 2.2: 3 to 1 for graphics (1.4.11), 4.5 to 1 for text (1.4.3); the grid is decoration."""
    from dataloader_expert.page.rendering import GROUND

    ground = GROUND["LIGHT" if paints is LIGHT else "DARK"]
    for name, colour in paints.items():
        if name != "grid":
            assert min(contrast(colour, ground["page"]), contrast(colour, ground["raised"])) >= 4.5, name


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of relative luminances."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_ticks_cover_the_values_evenly(low: float, span: float) -> None:
    """Our promise: an axis begins and ends outside its values, at round steps."""
    high = low + span
    if high <= low or span < 1e-9 * abs(low):
        return
    found = ticks(low, high)
    step = found[1] - found[0]
    assert found[0] <= low + 1e-6 * step
    assert found[-1] >= high - 1e-6 * step
    assert 2 <= len(found) <= 8


ANY = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.floats(0, 1e300)


@example([0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 5e-324])
@given(st.lists(ANY, min_size=2, max_size=6, unique=True), st.lists(COUNT, min_size=5, max_size=5))
def test_whatever_is_measured_can_be_drawn(values: list[float], counts: list[float]) -> None:
    """Our promise: no figure, however large or small, keeps a reader from the page."""
    edges = sorted(values)
    points = tuple(Point(float(i), n, n / 2, n) for i, n in enumerate(counts))
    r = [[v / max(1.0, *map(abs, edges)) for v in edges] for _ in edges]
    for chart in (
        histogram("h", "H", "H", edges, [("", counts[: len(edges) - 1])], ""),
        lines("l", "L", "L", [Series("A", points), Series("B", points, True)], "x", "y"),
        lines("e", "L", "L", [Series("A", points, True)], "x", "y", said_bytes, ("limit", counts[0]), even=False),
        bars("b", "B", "B", [(str(i), n) for i, n in enumerate(counts)], ("a", "b")),
        stacked("s", "S", "S", [("a", counts), ("b", counts)], "abcde", "a"),
        heatmap("m", "M", "M", [str(e) for e in edges], r, 1.0),
    ):
        ET.fromstring(svg(chart))
        on_the_sheet(chart)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (1204.4, "1,204"), (53940, "53.9k"), (0.03333, "0.0333"), (None, "—"), (2.5e6, "2.5M"), (-4, "-4")],
)
def test_an_axis_says_numbers_briefly(value: float | None, words: str) -> None:
    """Our promise: three digits."""
    assert said(value) == words


def test_bytes_are_said_in_units_of_1000() -> None:
    """Our promise: as everywhere in the report."""
    assert [said_bytes(v) for v in (0, 999, 1_500_000, None)] == ["0 B", "999 B", "1.5 MB", "—"]

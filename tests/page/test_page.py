"""The page holds what the result holds, as text: well-formed, without script or request, each chart with its table."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections import Counter
from typing import Any

import pytest

from dataloader_expert.charts.drawing import Chart
from dataloader_expert.page.rendering import charts_of, page
from dataloader_expert.report import Picture, Report
from dataloader_expert.templates import PICTURE, isolated, printable
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.rendering import FULL_ONLY, in_detail
from tests.making.hostile_pictures import HANDLER, LINK, SCRIPT, SECRET
from tests.page.conftest import ASKED, FIELD
from tests.page.reading import Element, read

pytestmark = pytest.mark.journey

every_report = pytest.mark.parametrize("key", ASKED)
CHARTS = {
    "characterize": {"classes", "splits", "height-0", "value-2"},
    "check": {"overlap-exact"},
    "sampler": {"drawn", "unique"},
    "batch": {"memory"},
    "diagnose": {"stages", "throughput"},
    "table": {"classes", "correlation", "value-0"},
    "analyze": {"classes", "splits", "overlap-exact", "height-0", "memory"},
}
"""Charts that each report must have; more may be there."""
ADDRESS = re.compile(r"(?:https?:)?//[\w.-]+", re.IGNORECASE)


@pytest.fixture(scope="module")
def pages(reports: dict[str, Report]) -> dict[str, Element]:
    return {key: read(page(report)) for key, report in reports.items()}


def elements(root: Element) -> list[Element]:
    return [root, *(e for child in root.inside for e in elements(child))]


@every_report
def test_no_script_no_handler_no_address(key: str, pages: dict[str, Element]) -> None:
    """Our promise: the page runs nothing and asks for nothing, whatever the data are called."""
    for e in elements(pages[key]):
        assert e.tag not in ("script", "iframe", "object", "embed", "link", "base", "form", "a") or (
            e.tag == "a" and e.attributes["href"] == "#main"
        ), e.tag
        for name, value in e.attributes.items():
            assert not name.startswith("on"), name
            assert name not in ("style", "srcset", "action", "formaction", "xlink:href")
            if name in ("src", "href"):
                assert value == "#main" or PICTURE.fullmatch(value or ""), value
    (style,) = pages[key].all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text
    policy = next(m.attributes["content"] for m in pages[key].all("meta") if "http-equiv" in m.attributes)
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@every_report
def test_every_chart_has_its_table(key: str, reports: dict[str, Report], pages: dict[str, Element]) -> None:
    """Our promise: what is drawn can be read, and each table says what it is of."""
    charts = {c.key: c for c in charts_of(reports[key])}
    assert set(charts) >= CHARTS[key], "a chart is missing"
    figures = pages[key].all("figure")
    assert len(figures) == len(charts)
    for figure, chart in zip(figures, charts.values(), strict=True):
        (drawn,), (table,) = figure.all("svg"), figure.all("table")
        assert drawn.attributes["role"] == "img"
        assert chart.title in figure.all("figcaption")[0].whole() or "alert" in chart.title
        assert len(table.all("tr")) == len(chart.table.rows) + 1
        assert len(table.all("caption")) == 1
        assert [h.attributes["scope"] for h in table.all("th")].count("row") == len(chart.table.rows)


@every_report
def test_the_page_can_be_found_through(key: str, pages: dict[str, Element]) -> None:
    """Our promise: landmarks, one first heading, no level skipped, names that point somewhere, alternatives of pictures."""
    root = pages[key]
    for landmark in ("header", "main", "footer", "h1", "title"):
        assert len(root.all(landmark)) >= 1
    assert len(root.all("main")) == len(root.all("h1")) == 1
    assert root.all("html")[0].attributes["lang"] == "en"
    levels = [int(e.tag[1]) for e in elements(root) if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    ids = [str(e.attributes["id"]) for e in elements(root) if "id" in e.attributes]
    assert not [i for i, n in Counter(ids).items() if n > 1]
    named = [w for e in elements(root) for w in str(e.attributes.get("aria-labelledby") or "").split()]
    assert set(named) <= set(ids)
    assert all(e.attributes.get("alt") for e in root.all("img"))
    for e in elements(root):
        if e.attributes.get("class") == "scroll":
            assert e.attributes["tabindex"] == "0"
            assert e.attributes["aria-label"]


@every_report
def test_the_verdict_comes_before_the_evidence(key: str, pages: dict[str, Element]) -> None:
    """Our promise: verdict, cause and cure first; then what is advised; then what it rests on."""
    names = [s.attributes["aria-labelledby"] for s in pages[key].all("section")]
    assert names[0] == "verdict"
    order = [n for n in ("cure", "findings", "loading", "quality", "data", "batch", "unknowns") if n in names]
    assert [n for n in names if n in order] == order


@every_report
def test_names_of_the_data_are_told_as_they_are(
    key: str, reports: dict[str, Report], pages: dict[str, Element]
) -> None:
    """Our promise: a hostile name is text: it can be read, and is nothing else."""
    text = pages[key].whole()
    for name in {"characterize": [SCRIPT, LINK], "check": [LINK], "table": [FIELD], "sampler": [SCRIPT]}.get(key, []):
        assert name in text
    raw = page(reports[key])
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in raw
    assert "<script" not in raw.lower()
    assert SECRET not in raw


def test_an_odd_sample_is_shown_and_what_cannot_be_decoded_is_named(
    reports: dict[str, Report], pages: dict[str, Element]
) -> None:
    """Our promise: thumbnails of what decodes; of a bomb and a cut file only the place."""
    shown: dict[str | None, list[Picture]] = {}
    for picture in reports["check"].pictures or []:
        shown.setdefault(picture.why, []).append(picture)
    assert all(p.data and PICTURE.fullmatch(p.data) for p in shown["splits-overlap"])
    assert [p.data for p in (*shown["bomb"], *shown["truncated"])] == [None, None]
    assert HANDLER in {str(p.file).rsplit("/", 1)[-1] for p in shown["splits-overlap"]}
    assert len([d for d in pages["check"].all("div") if d.attributes.get("class") == "none"]) == 2


def test_a_batch_is_shown_as_the_model_gets_it(reports: dict[str, Report]) -> None:
    """Our promise: real samples with their labels; floats say what is black and what is white."""
    (of,) = {p.of for p in reports["batch"].pictures or []}
    assert of == "batch"
    for p in reports["batch"].pictures or []:
        assert (p.width, p.height) == (8, 8)
        assert p.label in ("<b>", "javascript:alert(1)", "0", "1")
        assert p.scaled is not None
        assert -0.5 <= p.scaled[0] < p.scaled[1] <= 0.5


@every_report
def test_what_is_drawn_is_the_result(key: str, reports: dict[str, Report]) -> None:
    """Our promise: charts are made of the result's own figures."""
    charts = {c.key: c for c in charts_of(reports[key])}
    report: Any = reports[key]
    if "classes" in charts:
        c = report.characterization if key == "analyze" else report
        drawn = {row[0]: sum(float(n) for n in row[1:] if n is not None) for row in charts["classes"].table.rows}
        assert drawn == c.classes.counts
    if key == "diagnose":
        rows = {int(str(row[0])): row[1] for row in charts["throughput"].table.rows if row[1] is not None}
        best: dict[int, float] = {}
        for t in report.trials:
            best[t.num_workers] = max(best.get(t.num_workers, 0.0), t.throughput.value)
        assert rows == best
    if "memory" in charts:
        memory = (report.batch_spec if key == "analyze" else report).memory
        assert [row[1] for row in charts["memory"].table.rows] == [s.batch_bytes for s in memory.by_batch_size]
    if key == "check":
        assert charts["overlap-exact"].table.rows[0][2] == 3.0, "three samples are in both splits"


@every_report
def test_a_concise_result_has_nothing_that_only_charts_need(key: str, reports: dict[str, Report]) -> None:
    """The contract: a concise result stays small; what is drawn is in full detail, pictures at the report's address."""
    report = reports[key]
    tool = all_tools()[report.tool]

    def held(value: Any) -> set[str]:
        if isinstance(value, dict):
            return {k for k, v in value.items() if k in FULL_ONLY and v is not None}.union(*map(held, value.values()))
        return set().union(*map(held, value)) if isinstance(value, list) else set()

    if key not in ("check", "sampler"):  # what these draw is in their concise form, too
        assert held(report.model_dump(mode="json")) - {"pictures"}, "full detail has nothing to draw"
    assert held(in_detail(tool, report, "concise").model_dump(mode="json")) == set()
    assert "pictures" not in held(in_detail(tool, report, "full").model_dump(mode="json"))
    assert "data:image" not in json.dumps(in_detail(tool, report, "full").model_dump(mode="json"))


@pytest.mark.parametrize(
    "data",
    [
        "javascript:alert(1)",
        "data:text/html;base64,AAAA",
        "data:image/svg+xml;base64,AAAA",
        'data:image/png;base64,AAAA" onerror="alert(1)',
        "https://example.org/x.png",
    ],
)
def test_no_other_address_becomes_a_picture(data: str, reports: dict[str, Report]) -> None:
    """Our promise: even if a measuring process said so."""
    bad = Picture(of="findings", field=None, sample=1, file="x", label=None, why="flat", width=1, height=1, data=data)
    root = read(page(reports["check"].model_copy(update={"pictures": [bad]})))
    assert root.all("img") == []


@pytest.mark.parametrize("name", [SCRIPT, LINK, FIELD, "a\nb", "\N{RIGHT-TO-LEFT OVERRIDE}x", "\udc80", "שלום"])
def test_a_name_is_isolated_and_printable(name: str) -> None:
    """Our promise: a name written from right to left turns nothing around it."""
    made = str(isolated(name))
    assert made.startswith("<bdi>")
    assert html.unescape(made.removeprefix("<bdi>").removesuffix("</bdi>")) == printable(name)
    assert "<" not in made.removeprefix("<bdi>").removesuffix("</bdi>")


def test_every_chart_is_drawn_by_our_own_functions(reports: dict[str, Report]) -> None:
    """Our promise: a chart's key is its own on its page."""
    for report in reports.values():
        keys = [c.key for c in charts_of(report)]
        assert len(keys) == len(set(keys))
        assert all(isinstance(c, Chart) for c in charts_of(report))

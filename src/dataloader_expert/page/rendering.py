"""Renders a full result as a page: verdict and cause, fix and gain, then the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dataloader_expert import __version__
from dataloader_expert.charts.svg import DARK, LIGHT, svg
from dataloader_expert.page.batch import batch
from dataloader_expert.page.dataset import dataset
from dataloader_expert.page.loading import loading
from dataloader_expert.page.parts import TITLES, Parts, parts_of
from dataloader_expert.page.pictures import odd
from dataloader_expert.page.quality import quality
from dataloader_expert.page.sampler import sampler
from dataloader_expert.page.sections import Section
from dataloader_expert.page.verdict import tiles, verdict
from dataloader_expert.templates import render_page

if TYPE_CHECKING:
    from dataloader_expert.charts.drawing import Chart
    from dataloader_expert.report import Report

GROUND = {
    "LIGHT": {"page": "#ffffff", "raised": "#f6f8fa", "ink": "#1f2328", "muted": "#57606a", "grid": "#d0d7de"},
    "DARK": {"page": "#0d1117", "raised": "#161b22", "ink": "#e6edf3", "muted": "#9aa4af", "grid": "#30363d"},
}


def page(report: Report) -> str:
    """The report as one HTML document. All text from the user's data is escaped."""
    parts = parts_of(report)
    values = {
        "r": report,
        "name": Path(report.source).name or report.source,
        "title": TITLES.get(report.tool, report.tool),
        "v": verdict(report, parts),
        "tiles": tiles(report, parts),
        "sections": sections(report, parts),
        "advice": sorted(report.advice, key=lambda a: a.gain is None),  # proven gains come first
        "worst": [f for f in report.findings if f.severity != "info"],
        "infos": [f for f in report.findings if f.severity == "info"],
        "code": code_of(parts),
        "version": __version__,
    }
    return render_page("page.html", css(), svg, **values)


def sections(report: Report, parts: Parts) -> list[Section]:
    """In the order of a reader's questions: is it slow, is it sound, what is it, what should a batch look like."""
    pictures = report.pictures or []
    made = []
    if parts.io is not None:
        made.append(loading(parts.io))
    if parts.quality is not None:
        made.append(quality(parts.quality, pictures))
    if parts.characterization is not None:
        made.append(dataset(parts.characterization, odd(pictures) if parts.quality is None else []))
    if parts.batch_spec is not None:
        made.append(batch(parts.batch_spec, pictures))
    if parts.sampler is not None:
        made.append(sampler(parts.sampler))
    return [s for s in made if not s.empty]


def charts_of(report: Report) -> list[Chart]:
    """All charts of the page, in order."""
    return [chart for section in sections(report, parts_of(report)) for chart in section.charts]


def code_of(parts: Parts) -> str | None:
    """The one code block that is shown: the batch's, else the loader's; if no loader was measured, the sampler's comes first."""
    for part in (parts.sampler if parts.io is None else None, parts.batch_spec, parts.io):
        if part is not None and part.code:
            return str(part.code)
    return None


def css() -> str:
    """The style sheet, with the colours of the charts."""
    from importlib.resources import files

    text = files("dataloader_expert.templates").joinpath("page.css").read_text(encoding="utf-8")
    for word, paints in (("LIGHT", LIGHT), ("DARK", DARK)):
        ground = "".join(f"--{k}: {v}; " for k, v in GROUND[word].items())
        text = text.replace(word, ground + "".join(f"--c-{k}: {v}; " for k, v in paints.items()))
    own = "".join(f".f-{k} {{ fill: var(--c-{k}); }} .s-{k} {{ stroke: var(--c-{k}); }}\n" for k in LIGHT)
    return text + own + ".halo { fill: var(--c-ink); stroke: var(--page); }\n"

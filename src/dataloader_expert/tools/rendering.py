"""A result in the requested detail, and its Markdown: the least useful parts are shortened first, until it fits.

A cause, its evidence and its fix are cut last, and unknowns never before the rest. ``shortened`` names what was cut, and
``rest`` says how to get all of it.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dataloader_expert.advice.causes import ALIKE_FROM, grouped
from dataloader_expert.conclusions import Finding
from dataloader_expert.report import Detail, FindingLine, Report, Shortened
from dataloader_expert.templates import render
from dataloader_expert.tools.base import Tool

MOST = 45_000
"""The most characters of a result that a server sends: beyond some 50,000 a client writes it to a file, and its model sees a preview."""
DIGITS = 7
MAPS_FROM = 10
"""Maps of up to this many plain entries are not shortened: they are arguments and settings, not data."""
CODE_FROM = 300
"""Code longer than this may be omitted from a concise result."""
FIRST = 40
"""The most entries of a list or map, even if there is room for more."""
LEFT_OUT = "# left out of this result, which would be too long with it: {rest}\n"
WHOLE = ("stages", "shape", "roles", "not_checked", "by_workers", "checklist", "environment", "source_args")
"""Small, requested, or needed to understand the rest."""
ALIKE, OTHERS, CODE = "findings of one code", "all else", "code"
STEPS: tuple[tuple[str, int], ...] = (
    ("blocks", 1),
    ("where", 5),
    ("pairs", 10),
    (OTHERS, 20),
    ("passed_checks", 12),
    ("statistics", 12),
    (ALIKE, 1),
    ("where", 2),
    ("pairs", 5),
    (OTHERS, 10),
    ("statistics", 6),
    ("fields", 10),
    ("sampler.code", 0),
    ("io.code", 0),
    ("quality.code", 0),
    ("evidence", 3),
    ("alternatives", 3),
    ("where", 1),
    ("findings", 12),
    ("blocks", 0),
    ("passed_checks", 0),
    ("statistics", 4),
    ("fields", 6),
    ("pairs", 3),
    (OTHERS, 6),
    ("evidence", 2),
    ("findings", 8),
    ("statistics", 2),
    ("alternatives", 1),
    ("trials", 8),
    ("fields", 3),
    (OTHERS, 4),
    ("evidence", 1),
    ("findings", 5),
    ("trials", 5),
    ("advice", 8),
    (CODE, 0),
    (OTHERS, 3),
    ("advice", 5),
    ("trials", 3),
    ("hotspots", 6),
    ("statistics", 1),
    ("fields", 1),
    ("findings", 3),
    ("hotspots", 5),
    ("unknowns", 12),
    (OTHERS, 2),
    ("where", 0),
    ("findings", 2),
    ("advice", 3),
    (OTHERS, 1),
    ("unknowns", 8),
    ("findings", 1),
    ("unknowns", 5),
)
"""What is cut to how many entries, in this order; a name is that of a field, with or without its parents."""
AT_A_TERMINAL = STEPS[:12]
"""Here no size is required; lists that nobody reads to the end are cut anyway."""


FULL_ONLY = {"class_counts_by_split", "common", "histograms", "matrix", "by_batch_size", "predicted", "pictures"}
"""What only charts need: omitted from concise results. Pictures are omitted from every result, but kept at its URI."""


def in_detail(tool: Tool, full: Report, detail: Detail, alone: bool = False) -> Report:
    """The result with its Markdown. A concise one stays within the tool's character limit; a full one that a server sends
    stays within what clients show their model, with all of it at ``report_uri``.

    ``alone``: the Markdown is read without the other fields, at a terminal, so it contains tables and code.
    """
    uri, full = full.report_uri, full.model_copy(update={"pictures": None})
    if detail == "full":
        whole = with_markdown(tool, full, False)
        if uri is None or written(whole) <= MOST:
            return whole
        return _within(tool, full, MOST, f"read {uri} (Markdown) or {uri}.json", False)
    if alone:
        return with_markdown(tool, shortened(full, dict(AT_A_TERMINAL), "pass --detail full"), False)
    resource = "" if uri is None else f", or read {uri} (Markdown) or {uri}.json"
    return _within(tool, full, tool.limit, f'pass detail="full"{resource}', True)


def _within(tool: Tool, full: Report, limit: int, rest: str, brief: bool) -> Report:
    """The result within ``limit`` characters, cut step by step."""
    short, caps = full, dict[str, int]()
    for name, most in ((OTHERS, FIRST), *STEPS):
        caps[name] = most
        short = shortened(full, caps, rest)
        if written(short) < limit:
            short = with_markdown(tool, short, brief)
            if written(short) <= limit:
                return short
    return _told_less(short, limit)


def with_markdown(tool: Tool, report: Report, brief: bool) -> Report:
    return report.model_copy(update={"report_markdown": markdown(tool, report, brief)})


def _told_less(report: Report, limit: int) -> Report:
    """Cuts texts too, for a result with a few enormous ones."""
    told = report
    for room in (limit // 20, limit // 40, limit // 80, limit // 160):
        told = _texts_cut(report.model_copy(update={"report_markdown": ""}), room)
        text = f"## {told.source}\n\n{told.summary}\n\nShortened; to get all of it, {report.rest}.\n"
        told = told.model_copy(update={"rest": report.rest, "report_uri": report.report_uri, "report_markdown": text})
        if written(told) <= limit:
            return told
    return told


def _texts_cut(report: Report, most: int) -> Report:
    told: Report = _texts(report, most)
    return told


def _texts(value: Any, most: int) -> Any:
    if isinstance(value, BaseModel):
        return value.model_copy(update={n: _texts(getattr(value, n), most) for n in type(value).model_fields})
    if isinstance(value, list):
        return [_texts(v, most) for v in value]
    if isinstance(value, dict):
        return {k: _texts(v, most) for k, v in value.items()}
    if not isinstance(value, str) or len(value) <= most or value.startswith(LEFT_OUT.partition("{")[0]):
        return value
    return value[: most - 1] + "…"


def written(report: Report) -> int:
    """Characters of the result as JSON, with the usual spaces after commas and colons."""
    return len(json.dumps(report.model_dump(mode="json", by_alias=True), ensure_ascii=False))


def prepare(tool: Tool) -> None:
    """Imports and compiles what reports are made with, which may be done while it is measured."""
    from dataloader_expert import templates

    importlib.import_module("dataloader_expert.tools.recipes.results")
    templates.prepare(f"{tool.name}.md")


def markdown(tool: Tool, report: Report, brief: bool = False) -> str:
    """The report, rendered from the tool's template. ``brief``: what other fields contain in full is not repeated."""
    name = Path(report.source).name or report.source
    values: dict[str, Any] = {"r": report, "name": name, "brief": brief}
    if tool.name == "analyze_dataset":
        classes = report.characterization.classes  # type: ignore[attr-defined]  # analyze_dataset's has it
        values["total"] = sum(classes.counts.values()) if classes else 0
        values["code"] = report.batch_spec.code  # type: ignore[attr-defined]  # likewise
    return render(f"{tool.name}.md", **values)


def shortened(full: Report, caps: dict[str, int], rest: str) -> Report:
    """The result with lists and maps of at most ``caps`` entries, and what was cut."""
    cuts: dict[str, Shortened] = {}
    report = full
    if ALIKE in caps:
        findings = _together(full.findings)
        if len(findings) < len(full.findings):
            cuts["findings"] = Shortened(shown=len(findings), total=len(full.findings))
            report = full.model_copy(update={"findings": findings})
    short: Any = _cut(report, caps, "", cuts, rest)
    if "findings" in cuts:
        cuts["findings"] = Shortened(shown=len(short.findings), total=len(full.findings))
    told: Report = short.model_copy(update={"shortened": cuts, "rest": rest if cuts else None})
    return told


def _together(findings: Sequence[FindingLine]) -> list[FindingLine]:
    """Findings of one code that differ only by field are merged if there are ``ALIKE_FROM`` or more."""
    if len(findings) < ALIKE_FROM:
        return list(findings)
    return [FindingLine.of(f) for f in grouped([Finding.from_json(f.model_dump(mode="json")) for f in findings])]


def _most(path: str, caps: dict[str, int]) -> int | None:
    """How many entries of what is at this path are kept; None: all."""
    words = path.replace("[]", "").replace(".*", "").split(".")
    if words[-1] in WHOLE:
        return None
    named = [most for name, most in caps.items() if words[-name.count(".") - 1 :] == name.split(".")]
    if named:
        return min(named)
    return None if words[-1] in NAMES else caps[OTHERS]


NAMES = {name.rsplit(".", 1)[-1] for name, _ in STEPS}
"""What has steps of its own is not cut with the rest."""


def _cut(value: Any, caps: dict[str, int], path: str, cuts: dict[str, Shortened], rest: str) -> Any:
    if isinstance(value, BaseModel):
        return _cut_model(value, caps, path, cuts, rest)
    if isinstance(value, list):
        most = _most(path, caps)
        kept = value if most is None else value[:most]
        _note(path, kept, value, cuts)
        return [_cut(v, caps, f"{path}[]", cuts, rest) for v in kept]
    if isinstance(value, dict):
        most = _most(path, caps)
        if most is not None and not _rich(value.values()):
            most = max(most, MAPS_FROM)
        kept_map = value if most is None else dict(list(value.items())[: max(1, most)])
        _note(path, kept_map, value, cuts)
        return {k: _cut(v, caps, f"{path}.*", cuts, rest) for k, v in kept_map.items()}
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value


def _cut_model(model: BaseModel, caps: dict[str, int], path: str, cuts: dict[str, Shortened], rest: str) -> BaseModel:
    changed: dict[str, Any] = {}
    for name in type(model).model_fields:
        if name in ("report_markdown", "shortened", "rest"):
            continue
        old, at = getattr(model, name), f"{path}.{name}" if path else name
        if name in FULL_ONLY and old is not None:
            changed[name] = None
            continue
        if name == CODE and isinstance(old, str):
            if len(old) > CODE_FROM and _most(at, {OTHERS: 1, **caps}) == 0:
                cuts[at] = Shortened(shown=0, total=len(old))
                changed[name] = LEFT_OUT.format(rest=rest)
            continue
        new = _cut(old, caps, at, cuts, rest)
        if new is not old:
            changed[name] = new
    return model.model_copy(update=changed) if changed else model


def _note(path: str, kept: Any, whole: Any, cuts: dict[str, Shortened]) -> None:
    if len(kept) < len(whole):
        cuts.setdefault(path, Shortened(shown=len(kept), total=len(whole)))


def _rich(values: Iterable[Any]) -> bool:
    """Whether a map's entries are objects: data, not settings."""
    return any(isinstance(v, BaseModel) for m in values for v in (m.values() if isinstance(m, dict) else [m]))

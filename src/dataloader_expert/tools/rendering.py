"""A result in the asked detail: lists and maps shortened until it fits, and its Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dataloader_expert.report import Detail, Report, Shortened
from dataloader_expert.templates import render
from dataloader_expert.tools.base import Tool

CAPS = (40, 25, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1)
DIGITS = 9
MAPS_FROM = 10
"""Maps of up to this many plain entries are left whole: they are arguments and settings, not data."""
WEIGHTS = {
    "findings": 8,
    "statistics": 2,
    "fields": 2,
    "unknowns": 3,
    "advice": 5,
    "next": 3,
    "stages": 5,
    "hotspots": 8,  # as many as there are at the most: where a sample's time goes is never cut
    "by_workers": 12,  # asked for by name, and small
    "trials": 3,
    "splits": 5,
    "roles": 20,
    "not_checked": 20,
    "overlaps": 10,
    "passed_checks": 60,  # told in one line, and counted there
    "shape": 10,
    "classes": 2,
    "where": 0.5,
    "blocks": 0.5,
    "evidence": 0.5,
}
"""How much more (or less) of a list is kept than the common cap: what one reads first is cut last."""


FULL_ONLY = {"class_counts_by_split", "histograms", "matrix", "by_batch_size", "predicted", "pictures"}
"""What only charts are made of: left out of concise results. Pictures are left out of every result, but kept at its URI."""


def in_detail(tool: Tool, full: Report, detail: Detail) -> Report:
    """The result with its Markdown; concise ones stay within the tool's limit of characters."""
    full = full.model_copy(update={"pictures": None})
    if detail == "full":
        return full.model_copy(update={"report_markdown": markdown(tool, full)})
    for cap in CAPS:
        cuts: dict[str, Shortened] = {}
        short: Report = _cut(full, cap, "", cuts).model_copy(update={"shortened": cuts})
        short = short.model_copy(update={"report_markdown": markdown(tool, short)})
        if written(short) <= tool.limit:
            return short
    room = tool.limit - written(short.model_copy(update={"report_markdown": ""}))
    text = short.report_markdown[: max(0, int(room * 0.8))]
    return short.model_copy(update={"report_markdown": text + "\n…\n"})


def written(report: Report) -> int:
    """Characters of the result as JSON, with a client's usual blanks after commas and colons."""
    return len(json.dumps(report.model_dump(mode="json", by_alias=True), ensure_ascii=False))


def markdown(tool: Tool, report: Report) -> str:
    """The report by the tool's template."""
    name = Path(report.source).name or report.source
    values: dict[str, Any] = {"r": report, "name": name}
    if tool.name == "analyze_dataset":
        classes = report.characterization.classes  # type: ignore[attr-defined]  # analyze_dataset's has it
        values["total"] = sum(classes.counts.values()) if classes else 0
        values["code"] = report.batch_spec.code  # type: ignore[attr-defined]  # likewise
    return render(f"{tool.name}.md", **values)


def _cut(value: Any, cap: int, path: str, cuts: dict[str, Shortened]) -> Any:
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        changed: dict[str, Any] = {}
        for name in type(value).model_fields:
            if name in ("report_markdown", "shortened", "code"):
                continue
            old = getattr(value, name)
            if name in FULL_ONLY and old is not None:
                changed[name] = None
                continue
            new = _cut(old, cap, f"{path}.{name}" if path else name, cuts)
            if new is not old:
                changed[name] = new
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, list):
        kept = value[: max(1, round(cap * WEIGHTS.get(path.rsplit(".", 1)[-1].removesuffix("[]"), 1)))]
        if len(kept) < len(value):
            cuts.setdefault(path, Shortened(shown=len(kept), total=len(value)))
        return [_cut(v, cap, f"{path}[]", cuts) for v in kept]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        rich = any(
            isinstance(v, BaseModel) for m in value.values() for v in (m.values() if isinstance(m, dict) else [m])
        )
        weighted = round(cap * WEIGHTS.get(path.rsplit(".", 1)[-1], 1))
        most = max(2, weighted) if rich else max(cap, MAPS_FROM)
        kept_map = dict(list(value.items())[:most])
        if len(kept_map) < len(value):
            cuts.setdefault(path, Shortened(shown=len(kept_map), total=len(value)))
        return {k: _cut(v, cap, f"{path}.*", cuts) for k, v in kept_map.items()}
    return value

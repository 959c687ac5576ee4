"""A result split into its parts: each of the five analyses that it contains, or None, whichever tool made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataloader_expert.report import Report

OF_TOOL = {
    "characterize_dataset": "characterization",
    "recommend_batch_spec": "batch_spec",
    "diagnose_io": "io",
    "check_quality": "quality",
    "suggest_sampler": "sampler",
}
TITLES = {
    "analyze_dataset": "Analysis",
    "characterize_dataset": "The data",
    "recommend_batch_spec": "Batch specification",
    "diagnose_io": "Loading",
    "check_quality": "Data quality",
    "suggest_sampler": "Sampler",
}


@dataclass(frozen=True)
class Parts:
    """Each part has the fields of its tool's result."""

    characterization: Any = None
    batch_spec: Any = None
    io: Any = None
    quality: Any = None
    sampler: Any = None


def parts_of(report: Report) -> Parts:
    if report.tool == "analyze_dataset":
        return Parts(**{name: getattr(report, name) for name in OF_TOOL.values()})
    name = OF_TOOL.get(report.tool)
    return Parts() if name is None else Parts(**{name: report})

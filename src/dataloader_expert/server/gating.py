"""The exit status of a tool's command: what a CI job lets pass."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from dataloader_expert.report import FindingLine

FINE, FOUND, FAILED = 0, 1, 2


@dataclass(frozen=True)
class Gate:
    """``fail_on``: the severity from which findings count; ``ignored``: codes of findings that do not, ``CODE`` or ``CODE:GLOB`` of
    files; ``least``: the least samples/s that are enough."""

    fail_on: Literal["error", "warning", "never"] = "error"
    ignored: tuple[str, ...] = ()
    least: float | None = None

    def status(self, report: Any) -> int:
        """0 fine, 1 found something, 2 undecided."""
        if self.failing(report):
            return FOUND
        if self.fail_on != "never" and unchecked(report):
            return FAILED
        if self.least is not None:
            rate = _throughput(report)
            return FAILED if rate is None else FOUND if rate < self.least else FINE
        if self.fail_on == "never" or not hasattr(report, "passed"):
            return FINE
        # what is ignored may be all that kept the data from passing, but not all may have been read
        decided = report.passed or (report.passed is False and report.coverage.complete)
        return FINE if decided else FAILED

    def failing(self, report: Any) -> list[FindingLine]:
        """The findings that count: by their severity, or since a box of the checklist fails for them."""
        counted: set[str] = {"error": {"error"}, "warning": {"error", "warning"}, "never": set()}[self.fail_on]
        boxes: set[str] = set()
        if hasattr(report, "checklist") and self.fail_on != "never":
            from dataloader_expert.tools.recipes.check_quality import BOXES

            failed = [name for name, status in report.checklist.model_dump().items() if status == "fail"]
            boxes = set().union(*(BOXES[name] for name in failed))
        found = [f for f in report.findings if not self.ignores(f)]
        return [f for f in found if f.severity in counted or (f.code in boxes and f.severity == "warning")]

    def ignores(self, finding: FindingLine) -> bool:
        """Whether it is known: by its code, or if all its places are in files that are."""
        for one in self.ignored:
            code, _, glob = one.partition(":")
            files = [str(place.get("file") or "") for place in finding.where]
            listed = bool(files) and finding.count <= len(files)  # else there may be more elsewhere
            if code == finding.code and (not glob or (listed and all(fnmatch(file, glob) for file in files))):
                return True
        return False


def unchecked(report: Any) -> bool:
    """Whether a model was named, and no batch was fed to it."""
    from dataloader_expert.tools.base import NO_MODEL

    return any(u.what == "model_check" and u.why != NO_MODEL for u in getattr(report, "unknowns", ()))


def _throughput(report: Any) -> float | None:
    """Samples/s at the present settings, as many as they may be; None if they were not measured."""
    rate = None if report.current is None else report.current.throughput
    return None if rate is None else rate.high if rate.high is not None else rate.value

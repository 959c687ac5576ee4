"""The verdict in a word, its cause, and the fix with its gain: what a reader sees first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dataloader_expert.advice.causes import cause as first_cause
from dataloader_expert.charts.scales import said, said_bytes
from dataloader_expert.page.parts import Parts

if TYPE_CHECKING:
    from dataloader_expert.report import Figure, FindingLine, Report

Level = Literal["bad", "care", "good", "open"]


@dataclass(frozen=True)
class Verdict:
    level: Level
    word: str
    cause: FindingLine | None
    cure: str | None
    gain: Figure | None


@dataclass(frozen=True)
class Tile:
    name: str
    value: str
    small: str = ""


def verdict(report: Report, parts: Parts) -> Verdict:
    """The word depends on what was asked; the fix is the advice with a measured gain, else the fix of the worst finding."""
    worst: set[str] = {f.severity for f in report.findings}
    serious = (f for f in report.findings if f.severity != "info")
    cause = first_cause(report.findings) if parts.quality is None else next(serious, None)
    level, word = _word(parts, worst)
    proved = next((a for a in report.advice if a.gain is not None), None)
    data = {c.id for c in parts.quality.checks} if parts.quality is not None else set()
    if cause is not None and cause.code in data:  # what makes loading faster does not mend data
        return Verdict(level, word, cause, cause.fix, None)
    if proved is not None:
        instead = "" if proved.instead_of is None else f" instead of {proved.instead_of}"
        return Verdict(level, word, cause, f"{proved.setting} = {proved.value}{instead}: {proved.why}", proved.gain)
    return Verdict(level, word, cause, None if cause is None else cause.fix, None)


def _word(parts: Parts, worst: set[str]) -> tuple[Level, str]:
    level: Level = "bad" if "error" in worst else "care" if "warning" in worst else "good"
    if parts.quality is not None:
        passed: bool | None = parts.quality.passed
        if passed is False:
            return "bad", "Failed"
        if passed is None:
            return ("open" if level == "good" else level), "Undecided"
        return level, "Passed with warnings" if level == "care" else "Passed"
    if level == "bad":
        return level, "Errors found"
    if parts.io is not None:
        return level, _faster(parts.io)
    if parts.batch_spec is not None:
        return level, f"Batch size {parts.batch_spec.batch_size:,}"
    if parts.sampler is not None:
        return level, f"Sampler: {parts.sampler.strategy}"
    return level, "No error found" if level == "good" else "Warnings"


def _faster(io: Any) -> str:
    """The outcome of the search."""
    found = io.speedup
    if io.recommended is None or found is None or found.value is None:
        return "No setting could be compared"
    if found.how == "timed" and (found.low or 0.0) > 1:
        return f"{found.value:.2g} times as fast with other settings"
    if found.how == "timed" and found.value > 1:
        return f"Probably {found.value:.2g} times as fast with other settings"
    return "No setting tried is faster" if io.search_ended == "converged" else "No setting tried is proven faster"


def tiles(report: Report, parts: Parts) -> list[Tile]:
    """The figures that readers look for first."""
    made: list[Tile] = []
    c, b, io, q = parts.characterization, parts.batch_spec, parts.io, parts.quality
    samples = report.coverage.samples_total
    if samples is not None:
        read = report.coverage.samples_read
        failed = f"{read:,} read, {samples - read:,} unreadable" if read < samples else "all read"
        made.append(Tile("Samples", f"{samples:,}", failed if report.coverage.complete else f"{read:,} read"))
    if c is not None and c.classes is not None:
        made.append(Tile("Classes", f"{c.classes.count:,}", f"largest to smallest {c.classes.imbalance_ratio:.3g}:1"))
    if b is not None:
        made.append(Tile("Batch size", f"{b.batch_size:,}", f"at most {b.batch_size_limit.value:,}"))
        if b.memory.batch_bytes is not None:
            made.append(Tile("A batch", said_bytes(b.memory.batch_bytes), "in memory"))
    if io is not None and io.recommended is not None and io.recommended.throughput is not None:
        rate, workers = io.recommended.throughput, io.recommended.num_workers
        made.append(Tile("Throughput", f"{said(rate.value)} samples/s", f"num_workers={workers}, {rate.how}"))
    if io is not None and io.speedup is not None and io.speedup.how == "timed" and io.speedup.value is not None:
        s = io.speedup
        bounds = "" if s.low is None or s.high is None else f"95 % {s.low:.3g} to {s.high:.3g}"
        made.append(Tile("Speedup", f"{s.value:.3g} times", bounds))
    if io is not None and io.bottleneck is not None:
        share = next((s.share.value for s in io.stages if s.name == io.bottleneck), None)
        made.append(
            Tile("Most time in", io.bottleneck, "" if share is None else f"{100 * share:.0f} % of a sample's time")
        )
    if q is not None:
        made.append(Tile("Checks passed", f"{len(q.passed_checks)}", f"{_not_passed(q)} did not"))
    if parts.sampler is not None:
        made.append(Tile("Sampler", parts.sampler.strategy))
    return made


def _not_passed(quality: Any) -> int:
    return sum(c.status != "pass" for c in quality.checks)

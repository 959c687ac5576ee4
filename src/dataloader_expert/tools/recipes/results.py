"""From measurements to a result: what the results of all tools have in common."""

from __future__ import annotations

from dataclasses import replace

from dataloader_expert.advice.causes import grouped, ordered
from dataloader_expert.checks.base import CLASS_COUNTS
from dataloader_expert.checks.files.integrity import FILES_READ
from dataloader_expert.conclusions import Advice, Finding
from dataloader_expert.errors import escaped, escaped_json
from dataloader_expert.facts import Fact, Facts, Json
from dataloader_expert.lab.surroundings import Surroundings
from dataloader_expert.probes.data.layout import FILES, FORMAT, MODALITY, SAMPLES
from dataloader_expert.probes.data.pictures import PICTURES
from dataloader_expert.probes.data.scan import SCANNED
from dataloader_expert.probes.system.environment import ENVIRONMENT
from dataloader_expert.report import (
    AdviceLine,
    Coverage,
    Environment,
    EvidenceLine,
    Figure,
    FindingLine,
    Picture,
    Report,
    UnknownLine,
    supported,
)
from dataloader_expert.tools.base import Conclusion, Measured, Request, Tool


def coverage(facts: Facts) -> Coverage:
    scanned = facts.value(SCANNED, {"read": 0, "failed": 0, "total": None})
    total = facts.value(SAMPLES, scanned["total"])
    files = facts.value(FILES)
    read = scanned["read"] + scanned["failed"]
    files_read = facts.value(FILES_READ)
    complete = total is not None and read >= total
    if files is not None and complete:
        files_read = files  # files next to the samples, such as lists of class names, are read too
    return Coverage(
        samples_total=total, samples_read=scanned["read"], files_total=files, files_read=files_read, complete=complete
    )


def environment(facts: Facts, around: Surroundings) -> Environment:
    seen = facts.value(ENVIRONMENT, {"python": None, "torch": None, "devices": []})
    return Environment(
        python=seen["python"],
        torch=seen["torch"],
        cpus=around.cpus,
        memory_bytes=around.memory_bytes,
        shm_bytes=around.shm_bytes,
        devices=seen["devices"],
    )


def advice_line(advice: Advice) -> AdviceLine:
    gain = None if advice.gain is None else Figure.model_validate(advice.gain)
    return AdviceLine(
        setting=advice.setting,
        value=advice.value,
        instead_of=advice.instead_of,
        why=advice.why,
        gain=gain,
        cost=advice.cost,
        evidence=[EvidenceLine.model_validate(e) for e in advice.evidence],
        only_if=advice.only_if,
    )


def elsewhere(finding: Finding, tool: Tool) -> Finding:
    """The finding, whose fix does not send its reader to the tool that it is from."""
    steps = [step for step in finding.fix.split("; ") if not step.startswith(f"{tool.name} ")]
    return replace(finding, fix="; ".join(steps)) if steps else finding


def result(tool: Tool, request: Request, measured: Measured, said: Conclusion) -> Report:
    """The tool's result model, built here and nowhere else."""
    findings = ordered([*measured.findings, *said.findings])
    if tool.groups:
        findings = grouped(findings)
    findings = [elsewhere(f, tool) for f in findings]
    supported(findings, list(said.advice), measured.facts)
    unknowns = list(dict.fromkeys([*measured.unknowns, *said.unknowns]))
    return tool.result(
        tool=tool.name,
        source=escaped(request.source, None),
        format=measured.facts.value(FORMAT, "unknown"),
        modality=measured.facts.value(MODALITY),
        summary=said.summary,
        findings=[FindingLine.of(f) for f in findings],
        coverage=coverage(measured.facts),
        environment=environment(measured.facts, measured.surroundings),
        unknowns=[UnknownLine(what=u.what, why=u.why) for u in unknowns],
        advice=[advice_line(a) for a in said.advice],
        next=[n.model_copy(update={"arguments": escaped_json(n.arguments)}) for n in said.next],
        elapsed_s=round(measured.elapsed_s, 3),
        pictures=pictures_of(measured.facts),
        **said.fields,
    )


def pictures_of(facts: Facts) -> list[Picture] | None:
    found = []
    for fact in facts.all(PICTURES):
        low, high = fact.at.get("low"), fact.at.get("high")
        scaled = None if low is None or high is None else [low, high]
        found += [Picture(of=fact.at["of"], field=fact.at.get("field"), scaled=scaled, **p) for p in fact.value]
    return found or None


def fact_figure(value: float | None, fact: Fact, unit: str | None = None) -> Figure:
    """A figure derived from a fact: its own value and unit."""
    return Figure(
        value=value, unit=fact.quantity.unit if unit is None else unit, n=fact.evidence.seen, how=fact.evidence.how
    )


def class_counts(facts: Facts) -> dict[str, int] | None:
    value: Json = facts.value(CLASS_COUNTS, None, split=None)
    return value if isinstance(value, dict) else None

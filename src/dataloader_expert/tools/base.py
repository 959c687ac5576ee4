"""What tools share: the common arguments, a tool as data, and what its conclusion may use."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dataloader_expert.advice.causes import grouped, ordered
from dataloader_expert.checks.base import CLASS_COUNTS
from dataloader_expert.conclusions import Advice, Finding
from dataloader_expert.errors import escaped, escaped_json
from dataloader_expert.facts import Fact, Facts, Json, Unknown
from dataloader_expert.lab.surroundings import Surroundings
from dataloader_expert.probes.base import Probe
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
    Next,
    Picture,
    Report,
    UnknownLine,
)

BUDGET_S = 30.0


class Request(BaseModel):
    """Arguments common to the tools."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: str = Field(description="path, glob, or file.py:name of a Dataset, DataLoader or function")
    source_args: dict[str, Any] = Field(default_factory=dict, description="its keyword arguments")
    format: str | None = Field(None, description="if guessed wrong")
    split: str | None = Field(None, description="only this one; or field naming splits")
    train_split: str | None = Field(None, description="if not 'train'")
    label: str | None = Field(None, description="label field")
    budget_s: float | None = Field(BUDGET_S, gt=0, allow_inf_nan=False, description="seconds to spend")
    seed: int = Field(0, description="random seed")
    detail: Literal["concise", "full"] = Field("concise", description="full: whole lists")

    def stated(self) -> Iterable[Fact]:
        """What the request itself says about training, for the rules."""
        return ()

    def fields_read(self) -> tuple[str, ...] | None:
        """The fields that are wanted; None: all."""
        return None


NO_DEVICE = "no CUDA device is visible to the measuring process"
NO_MODEL = "needs a model: pass model="
NO_CUDA = f"device='cuda' was requested, but {NO_DEVICE}; the CPU was used instead"


@dataclass(frozen=True)
class Measured:
    """What a tool draws its conclusions from: the facts, and the findings of checks and rules."""

    facts: Facts
    findings: tuple[Finding, ...]
    unknowns: tuple[Unknown, ...]
    surroundings: Surroundings
    elapsed_s: float


@dataclass(frozen=True)
class Conclusion:
    """A conclusion before it becomes a result: the tool's own fields, its advice, summary and next steps."""

    fields: dict[str, Any]
    summary: str
    advice: Sequence[Advice] = ()
    next: Sequence[Next] = ()
    unknowns: Sequence[Unknown] = ()
    findings: Sequence[Finding] = field(default=())


@dataclass(frozen=True)
class Tool:
    """``recipe``: which probes; ``conclude``: facts to fields, pure; ``model``: the request needs the user's host."""

    name: str
    command: str
    title: str
    description: str
    request: type[Request]
    result: type[Report]
    recipe: Callable[[Any], tuple[Probe, ...]]
    conclude: Callable[[Any, Measured], Conclusion]
    limit: int = 12_000
    groups: bool = False
    """Whether findings that differ only by field are merged."""
    hint: str = ""
    unprinted: Mapping[str, Unknown] = field(default_factory=dict)
    """Probes, by name, whose result a terminal does not print, and what is said in its place: they are not run for one."""


def all_tools() -> dict[str, Tool]:
    """The tools in this folder, in the order of ``ORDER`` and then by name."""
    found = {}
    package = importlib.import_module("dataloader_expert.tools")
    for module in pkgutil.iter_modules(package.__path__):
        tool = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "TOOL", None)
        if tool is not None:
            found[tool.name] = tool
    order = ("analyze_dataset", "characterize_dataset", "recommend_batch_spec", "diagnose_io", "check_quality")
    return dict(sorted(found.items(), key=lambda kv: (order.index(kv[0]) if kv[0] in order else len(order), kv[0])))


def coverage(facts: Facts) -> Coverage:
    scanned = facts.value(SCANNED, {"read": 0, "failed": 0, "total": None})
    total = facts.value(SAMPLES, scanned["total"])
    files = facts.value(FILES)
    read = scanned["read"] + scanned["failed"]
    from dataloader_expert.checks.integrity import FILES_READ

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


def finding_line(finding: Finding) -> FindingLine:
    return FindingLine.model_validate(finding.to_json())


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
    )


def result(tool: Tool, request: Request, measured: Measured, said: Conclusion) -> Report:
    """The tool's result model, built here and nowhere else."""
    from dataloader_expert.report import supported

    findings = ordered([*measured.findings, *said.findings])
    if tool.groups:
        findings = grouped(findings)
    supported(findings, list(said.advice), measured.facts)
    unknowns = list(dict.fromkeys([*measured.unknowns, *said.unknowns]))
    return tool.result(
        tool=tool.name,
        source=escaped(request.source, None),
        format=measured.facts.value(FORMAT, "unknown"),
        modality=measured.facts.value(MODALITY),
        summary=said.summary,
        findings=[finding_line(f) for f in findings],
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

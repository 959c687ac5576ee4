"""The whole scan in this process: what the measuring child does, without the child, and what the rules say of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dataloader_expert.advice.base import findings_of
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import run


@dataclass
class Scanned:
    """``error``: the request could not be carried out, ``code: message``; ``unknowns`` in words."""

    findings: list[Finding] = field(default_factory=list)
    unknowns: list[str] = field(default_factory=list)
    facts: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


def scan(source: Path, root: Path, **ref: Any) -> Scanned:
    """Layout and scan of a data set, every check, no budget."""
    said = Scanned()

    def emit(event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "finding":
            said.findings.append(Finding.from_json(event["finding"]))
        elif kind == "unknown":
            said.unknowns.append(f"{event['unknown']['what']}: {event['unknown']['why']}")
        elif kind == "fact":
            said.facts.append(event["fact"])
        elif kind == "error":
            said.error = f"{event['code']}: {event['message']}"

    request = {
        "source": SourceRef(str(source), (str(root),), **ref).to_json(),
        "probes": [{"probe": "layout"}, {"probe": "scan"}],
        "seed": 0,
        "cpus": 1,
        "memory_bytes": 4 << 30,
        "seconds": None,
    }
    run(request, emit, lambda sample: None)
    said.findings += findings_of(Facts(tuple(map(Fact.from_json, said.facts))))
    return said

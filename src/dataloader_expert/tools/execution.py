"""Carrying a request out: down the stairs once, up once."""

from __future__ import annotations

import asyncio
import glob
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.facts import Evidence, Fact, Quantity, Unknown
from dataloader_expert.lab.door import Door, Limits, OnEvent, Outcome
from dataloader_expert.lab.surroundings import held, surroundings, throttled
from dataloader_expert.report import Report
from dataloader_expert.sources.files import must_exist
from dataloader_expert.sources.opened import below
from dataloader_expert.tools.base import FAILED, Measured, Request, Tool, result
from dataloader_expert.tools.code import is_reference, ref_of

MEMORY_SHARE = 0.7
LEAST_PERIODS = 10
"""Scheduling periods, a tenth of a second each as a rule, from which on a share of them says something."""
RENDER_S = 0.6
"""Kept of the budget for judging and rendering."""

PAGE_CACHE = Quantity("page_cache", "B", "page cache of the container, and what reading added to it")
CACHE_GREW, CACHE_HOLDS = 0.05, 0.3
"""Shares of a container's limit that page cache must have grown by, and hold, to be told."""
THROTTLED = Quantity("cpu_throttled", "", "share of scheduling periods in which a CPU quota was used up")

FINDING_OF = {
    "timed-out": "sample-hangs",
    "worker-crashed": "sample-crashes",
    "out-of-memory": "memory-limit-reached",
    "dataset-raised": "sample-raises",
}


@dataclass(frozen=True)
class Settings:
    """What the server or command line was started with."""

    roots: tuple[str, ...]
    no_code: bool = False
    python: str | None = None
    memory_limit_gb: float | None = None


def default_roots() -> tuple[str, ...]:
    """CLAUDE_PROJECT_DIR, else the current directory; never ``/`` or the home folder unless named."""
    folder = os.path.realpath(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    return () if folder in ("/", os.path.realpath(Path.home())) else (folder,)


def resolve(request: Request, settings: Settings) -> str:
    """The absolute path or reference, refused where the rules say so.

    Raises:
        RequestError: ``outside-roots``, ``code-refused`` or ``source-not-found``.
    """
    source = request.source
    if "://" in source:
        raise RequestError(
            "outside-roots", f"{escaped(source)} is a URL: remote storage is not read by this version; fetch it first"
        )
    if not settings.roots:
        raise RequestError("outside-roots", "no root is set: start in your project's folder, or pass --root DIR")
    code = is_reference(source) and not Path(source).exists()
    if source.endswith(".py") and request.format is None:
        names = ", ".join(f"{source}:{n}" for n in defined_in(_find(source, settings.roots))) or f"{source}:NAME"
        raise RequestError(
            "invalid-argument", f"{escaped(source)} is a Python file; name what is in it: {escaped(names, 300)}"
        )
    if code and (request.split is not None or request.format not in (None, "reference")):
        which = "split" if request.split is not None else "format"
        raise RequestError(
            "invalid-argument",
            f"{which} is for data on disk: what a Python reference reads is decided by its source_args",
        )
    if code and settings.no_code:
        raise RequestError(
            "code-refused", f"{escaped(source)} is a Python reference and --no-code is on; give a path to data"
        )
    name, attribute = source.rsplit(":", 1) if code else (source, "")
    if code and not name.endswith(".py"):
        return source
    path = _find(name, settings.roots)
    real = os.path.realpath(path)
    if not below(real, settings.roots):
        raise RequestError(
            "outside-roots",
            f"{escaped(source)} lies outside the roots ({', '.join(map(escaped, settings.roots))}); start with --root naming its folder",
        )
    if not glob.has_magic(str(path)):
        must_exist(path)  # known at once, where a measuring process would have to start first
    return f"{path}:{attribute}" if code else str(path)


def defined_in(path: Path) -> list[str]:
    """The classes and functions at the top of a Python file, found without running it; at most eight."""
    import ast

    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    found = [n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and not n.name.startswith("_")]
    return found[:8]


def _find(name: str, roots: tuple[str, ...]) -> Path:
    path = Path(name).expanduser()
    if path.is_absolute():
        return path
    here = str(Path.cwd())
    inside = below(os.path.realpath(here), roots)
    for root in (
        (here, *roots) if inside else (*roots, here)
    ):  # what lies outside is named so only if nothing else is meant
        if (Path(root) / path).exists():
            return Path(root) / path
    return Path(roots[0]) / path


def folder_of(root: str) -> str:
    """The root, or the folder of a root that is a file."""
    return root if Path(root).is_dir() else str(Path(root).parent)


async def execute(
    tool: Tool, request: Request, door: Door, settings: Settings, on_event: OnEvent | None = None
) -> Report:
    """The tool's full result.

    Raises:
        RequestError: if nothing could be measured.
    """
    begun = time.monotonic()
    source = resolve(request, settings)
    around = surroundings()
    memory = (
        int(settings.memory_limit_gb * 1e9)
        if settings.memory_limit_gb is not None
        else int(MEMORY_SHARE * around.memory_bytes)
    )
    seconds = None if request.budget_s is None else max(1.0, request.budget_s - min(RENDER_S, 0.1 * request.budget_s))
    ref = ref_of(request, source, settings.roots)
    user = ref.code or getattr(request, "model", None) is not None
    if user and settings.no_code:
        raise RequestError("code-refused", "model= is a Python reference and --no-code is on")
    message: dict[str, Any] = {
        "source": ref.to_json(),
        "probes": [p.to_json() for p in tool.recipe(request)],
        "seed": request.seed,
        "cpus": around.cpus,
        "memory_bytes": around.memory_bytes,
        "limit_bytes": memory,
        "reserve": 1.0 if seconds is None else min(1.0, 0.15 * seconds),
        "folder": folder_of(settings.roots[0]),
    }
    before, cache = throttled(), held()
    outcome = await door.run(message, Limits(seconds, memory), user, settings.roots, on_event)
    facts, findings, unknowns = _with_failure(outcome)
    findings += throttling(before, throttled(), outcome) + cache_growth(cache, held(), outcome)
    measured = Measured(facts.facts, tuple(findings), tuple(unknowns), around, time.monotonic() - begun)
    return await asyncio.to_thread(_conclude, tool, request, measured)


def _conclude(tool: Tool, request: Request, measured: Measured) -> Report:
    return result(tool, request, measured, tool.conclude(request, measured))


def throttling(before: tuple[int, int], after: tuple[int, int], outcome: Outcome) -> list[Finding]:
    """Whether a CPU quota was used up in a twentieth of the periods that measuring took."""
    periods, stopped = after[0] - before[0], after[1] - before[1]
    if periods < LEAST_PERIODS or stopped < 0.05 * periods:
        return []
    fact = Fact(THROTTLED, round(stopped / periods, 4), Evidence("counted", "surroundings", seen=periods))
    outcome.facts.add(fact)
    text = f"the CPU quota of this container was used up in {stopped / periods:.0%} of the time: its processes were stopped"
    return [
        finding("cpu-throttled", "warning", text, fact, "no more workers than the quota has cores, or a larger quota")
    ]


def cache_growth(before: tuple[int, int, int], after: tuple[int, int, int], outcome: Outcome) -> list[Finding]:
    """Whether reading has filled a container with page cache, which its total counts and which is no leak."""
    cache, anon, limit = after[0] - before[0], after[1] - before[1], after[2]
    if not limit or cache < CACHE_GREW * limit or after[0] < CACHE_HOLDS * limit or anon > 0.2 * cache:
        return []
    value = {"cache_bytes": after[0], "grown_bytes": cache, "limit_bytes": limit}
    fact = Fact(PAGE_CACHE, value, Evidence("counted", "surroundings", seen=1))
    outcome.facts.add(fact)
    text = f"{after[0] / 1e6:,.0f} of the {limit / 1e6:,.0f} MB of this container are page cache, {cache / 1e6:,.0f} MB of it"
    text += " from this reading: it is given back when memory is wanted, and is no leak"
    fix = "watch anon in the container's memory.stat, not its total"
    return [finding("page-cache-growth", "info", text, fact, fix)]


def _with_failure(outcome: Outcome) -> tuple[Outcome, list[Finding], list[Unknown]]:
    """A failure after something was measured is a finding and an unknown; before, it is the answer."""
    findings, unknowns = list(outcome.findings), list(outcome.unknowns)
    failure = outcome.failure
    if failure is None:
        return outcome, findings, unknowns
    measured = any(f.evidence.by not in ("probe layout", "probe environment") for f in outcome.facts)
    if not measured:
        raise failure
    if failure.code == "timed-out" and not outcome.stalled:
        unknowns.append(Unknown("what was not yet measured", "the budget ended before it: raise budget_s"))
        return outcome, findings, unknowns
    fact = Fact(FAILED, failure.to_json(), Evidence("counted", "door", seen=1))
    outcome.facts.add(fact)
    code = FINDING_OF.get(failure.code)
    if code is not None:
        findings.append(finding(code, "error", failure.message, fact, "mend what is named and call again"))
    unknowns.append(Unknown("what was not yet measured", str(failure)))
    return outcome, findings, unknowns

"""The execution of a request: once down through the layers, once up."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from dataloader_expert.advice.base import findings_of
from dataloader_expert.errors import RequestError, Unreadable, escaped
from dataloader_expert.facts import Unknown
from dataloader_expert.lab.door import START_S, Door
from dataloader_expert.lab.outcome import Limits, OnEvent, Outcome
from dataloader_expert.lab.surroundings import Surroundings, held, surroundings, throttled
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.system.environment import may_have_devices
from dataloader_expert.probes.system.outside import cache_growth, failed, machine, throttling
from dataloader_expert.report import Report
from dataloader_expert.sources.files import is_pattern, must_exist, stat_of
from dataloader_expert.sources.opened import OpenFile, below
from dataloader_expert.tools.base import Measured, Request, Tool, is_reference

T = TypeVar("T")

MEMORY_SHARE = 0.7
RENDER_S = 0.6
"""The part of the budget that is reserved for judging and rendering."""


@dataclass(frozen=True)
class Settings:
    """The options that the server or command was started with."""

    roots: tuple[str, ...]
    no_code: bool = False
    python: str | None = None
    memory_limit_gb: float | None = None


def default_roots() -> tuple[str, ...]:
    """CLAUDE_PROJECT_DIR, else the current directory; never ``/`` or the home folder unless named."""
    folder = os.path.realpath(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    return () if folder in ("/", os.path.realpath(Path.home())) else (folder,)


def resolve(request: Request, settings: Settings) -> SourceRef:
    """What the request names: an absolute path, or a Python reference; refused where the rules say so.

    Raises:
        RequestError: ``outside-roots``, ``code-refused``, ``source-not-found`` or ``invalid-argument``.
    """
    source, roots = request.source, settings.roots
    if "://" in source:
        raise RequestError(
            "outside-roots", f"{escaped(source)} is a URL: this version does not read remote storage; download it first"
        )
    if not roots:
        raise RequestError("outside-roots", "no root is set: start in your project's folder, or pass --root DIR")
    if not source:  # the request describes its input instead
        if getattr(request, "input", None) is None:
            raise RequestError("invalid-argument", "source is empty; name a folder, a file or a Python reference")
        return replace(ref_of(request, "", roots, True), format="input")
    code = is_reference(source) and stat_of(_find(source, roots)) is None
    columns = request.fields_read() is not None
    if code and (columns or request.format not in (None, "reference")):
        which = "columns" if columns else "format"
        raise RequestError(
            "invalid-argument",
            f"{which} applies to data on disk only; for a Python reference use source_args",
        )
    if code and settings.no_code:
        raise RequestError(
            "code-refused",
            f"{escaped(source)} is a Python reference, and --no-code forbids running code; give a path to data",
        )
    name, attribute = source.rsplit(":", 1) if code else (source, "")
    if code and not name.endswith(".py"):
        return ref_of(request, source, roots, code)
    path = _find(name, roots)
    if not below(os.path.realpath(path), roots):
        lies = "is a link that leads" if below(os.path.normpath(Path(path).absolute()), roots) else "lies"
        raise RequestError(
            "outside-roots",
            f"{escaped(source)} {lies} outside the roots ({', '.join(map(escaped, roots))}); start the server or the command with --root naming its folder",
        )
    if not is_pattern(str(path)):
        must_exist(path)  # known at once, without starting a measuring process
    if not code and name.endswith(".py") and request.format is None:
        names = ", ".join(f"{source}:{n}" for n in defined_in(path, roots)) or f"{source}:NAME"
        raise RequestError(
            "invalid-argument", f"{escaped(source)} is a Python file; name the object in it: {escaped(names, 300)}"
        )
    return ref_of(request, f"{path}:{attribute}" if code else str(path), roots, code)


def ref_of(request: Request, source: str, roots: tuple[str, ...], code: bool) -> SourceRef:
    """What is sent to the child: the request's source as an absolute path, or as a reference (``code``)."""
    return SourceRef(
        source,
        roots,
        code,
        dict(request.source_args),
        request.format,
        request.split,
        request.label,
        train=request.train_split,
        columns=request.fields_read(),
    )


DEFINITION = re.compile(r"^(?:class|def|async def)\s+([A-Za-z]\w*)", re.MULTILINE)


def defined_in(path: Path, roots: tuple[str, ...]) -> list[str]:
    """The top-level classes and functions of a Python file, found by regular expression: neither run nor parsed."""
    try:
        with OpenFile(path, roots) as file:
            text = file.upto(0, 1 << 20).decode("utf-8", "replace")
    except Unreadable:
        return []
    return list(dict.fromkeys(DEFINITION.findall(text)))[:8]


def _find(name: str, roots: tuple[str, ...]) -> Path:
    try:
        if "\0" in name:
            raise ValueError
        os.fsencode(name)
        path = Path(name).expanduser()
    except (ValueError, RuntimeError):  # a NUL, a lone surrogate, the home of an unknown user
        raise RequestError("source-not-found", f"{escaped(name)} is not a valid file name; check the path") from None
    if path.is_absolute():
        return path
    here = str(Path.cwd())
    inside = below(os.path.realpath(here), roots)
    # reported as outside the roots only if it cannot mean anything else
    for root in (here, *roots) if inside else (*roots, here):
        if stat_of(Path(root) / path) is not None:
            return Path(root) / path
    return Path(roots[0]) / path


def placed(reference: str, roots: tuple[str, ...], argument: str) -> str:
    """A reference whose file has an absolute path: the source's code is imported in another folder.

    Raises:
        RequestError: if there is no such file.
    """
    name, _, attribute = reference.rpartition(":")
    if not name.endswith(".py"):
        return reference
    path = _find(name, roots)
    if stat_of(path) is None:
        raise RequestError(
            "invalid-argument", f"{argument}: {escaped(name)} does not exist; give file.py:name below a root"
        )
    return f"{path}:{attribute}"


def folder_of(root: str) -> str:
    """The root, or the folder of a root that is a file."""
    return root if Path(root).is_dir() else str(Path(root).parent)


async def execute(
    tool: Tool,
    request: Request,
    door: Door,
    settings: Settings,
    on_event: OnEvent | None = None,
    printed: bool = False,
) -> Report:
    """The tool's full result; ``printed``: without what a terminal does not print.

    Raises:
        RequestError: if nothing could be measured.
    """
    begun = time.monotonic()
    seconds = None if request.budget_s is None else max(1.0, request.budget_s - min(RENDER_S, 0.1 * request.budget_s))
    ref = await in_thread(lambda: resolve(request, settings), START_S if seconds is None else seconds)
    around = surroundings()
    named = [name for name in ("model", "transform") if getattr(request, name, None) is not None]
    user = ref.code or bool(named)
    if named and settings.no_code:
        raise RequestError("code-refused", f"{named[0]}= is a Python reference, and --no-code forbids running code")
    request = request.model_copy(update={n: placed(getattr(request, n), settings.roots, n) for n in named})
    probes = tool.recipe(request)
    left_out = tuple(tool.unprinted[p.name] for p in probes if p.name in tool.unprinted) if printed else ()
    if left_out:
        probes = tuple(p for p in probes if p.name not in tool.unprinted)
    if seconds is not None:  # what finding the source and importing the recipe took is of the request's time, too
        seconds = max(1.0, seconds - (time.monotonic() - begun))
    message, memory = message_for(ref, probes, request.seed, seconds, settings, around)
    before, cache = throttled(), held()
    outcome = await door.run(message, Limits(seconds, memory), user, settings.roots, on_event)
    of_model = {p.doing for p in probes if p.of_model} if request.budget_s is not None else set()
    unknowns = (*outcome.unknowns, *_ended(outcome, of_model), *left_out)
    outside = machine(around.cpus, around.memory_bytes, around.shm_bytes)
    for fact in (outside, *throttling(before, throttled()), *cache_growth(cache, held()), *request.stated()):
        outcome.facts.add(fact)
    return await asyncio.to_thread(_conclude, tool, request, outcome, unknowns, around, time.monotonic() - begun)


def message_for(
    ref: SourceRef,
    probes: tuple[Probe, ...],
    seed: int,
    seconds: float | None,
    settings: Settings,
    around: Surroundings | None = None,
) -> tuple[dict[str, Any], int]:
    """The message for a measuring process, and the memory that it may use."""
    around = surroundings() if around is None else around
    limit = settings.memory_limit_gb
    memory = int(MEMORY_SHARE * around.memory_bytes if limit is None else limit * 1e9)
    message = {
        "source": replace(ref, limit_bytes=memory).to_json(),
        "probes": [p.to_json() for p in probes],
        "torch": any(p.torch for p in probes) or ref.name.endswith((".pt", ".pth")) or may_have_devices(),
        "seed": seed,
        "cpus": around.cpus,
        "memory_bytes": around.memory_bytes,
        "limit_bytes": memory,
        "reserve": 1.0 if seconds is None else min(1.0, 0.15 * seconds),
        "folder": folder_of(settings.roots[0]),
    }
    return message, memory


async def in_thread(look: Callable[[], T], seconds: float) -> T:
    """What ``look`` returns, from a thread that may be abandoned: a drive that hangs must not block the caller.

    Raises:
        RequestError: ``timed-out`` after ``seconds``; whatever ``look`` raises.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if not found.done():
            found.set_exception(error) if error is not None else found.set_result(cast("T", value))

    def run() -> None:
        value, error = None, None
        try:
            value = look()
        except BaseException as e:  # passed on to the caller
            error = e
        with contextlib.suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return await asyncio.wait_for(found, seconds)
    except TimeoutError:
        raise RequestError(
            "timed-out",
            f"the file system did not answer within {seconds:.0f} s; check the drive that holds the source",
        ) from None


def _conclude(
    tool: Tool,
    request: Request,
    outcome: Outcome,
    unknowns: tuple[Unknown, ...],
    around: Surroundings,
    seconds: float,
) -> Report:
    """Judges: the findings of checks came with the facts; all other rules are applied here."""
    from dataloader_expert.advice.models import of_measures
    from dataloader_expert.tools.recipes.results import result  # not before the first call: a server opens without

    findings = (*of_measures(outcome.findings, outcome.facts), *findings_of(outcome.facts))
    measured = Measured(outcome.facts, findings, unknowns, around, seconds)
    return result(tool, request, measured, tool.conclude(request, measured))


def _ended(outcome: Outcome, of_model: Container[str] = ()) -> Iterator[Unknown]:
    """What a failure left unmeasured. If something was measured before, the failure becomes a fact; otherwise it is the answer.

    ``of_model``: what is done to a model, of whose import and making nothing is heard: within a budget, slow is no hang.
    """
    failure = outcome.failure
    if failure is None:
        return
    if all(f.evidence.by in ("probe layout", "probe environment") for f in outcome.facts):
        raise failure
    if failure.code == "timed-out" and not outcome.stalled:
        yield Unknown("the remaining measurements", "the budget ran out: raise budget_s")
        return
    if failure.code == "timed-out" and outcome.doing in of_model:
        yield Unknown("the remaining measurements", failure.message)
        return
    outcome.facts.add(failed(failure))
    yield Unknown("the remaining measurements", str(failure))

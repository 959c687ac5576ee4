"""What probes share: the bench on which they measure, and the execution of a request in the child process."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from dataloader_expert.conclusions import Finding
from dataloader_expert.errors import NothingReadable, RequestError, Unreadable, escaped
from dataloader_expert.facts import Evidence, Fact, Facts, Json, Quantity, Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.descriptors import USED_UP, Growth, left_open, used_up
from dataloader_expert.probes.hung import HANGS, Hang

if TYPE_CHECKING:
    from dataloader_expert.sources.base import Source

Observation = Fact | Unknown
"""What a probe yields: a measured fact, or what could not be measured."""
Said = Observation | Finding
"""What the child sends: findings are those of the checks, which judge in the child and pass through the scan."""
SIGNAL = re.compile(r"\[(SIG[A-Z]+)\]")
"""The signal that ended a worker, as the search adds it to torch's error."""
FRAME = re.compile(r'  File "(.+)", line (\d+),? in (.+)')


@dataclass
class Bench:
    """The state of a request's measurement: one opened source, one deadline, and what is known so far.

    Attributes:
        at: called with the current sample, so that a crash can be attributed to it.
        deadline: monotonic time by which measuring must end; None: no limit.
        labels, lengths, groups, difficulty, train: per sample in index order, once a scan has read them.
    """

    source: Source
    ref: SourceRef
    seed: int
    deadline: float | None
    at: Callable[[int], None]
    progress: Callable[[str, float | None], None]
    facts: Facts = field(default_factory=Facts)
    cpus: float = 1.0
    memory_bytes: int = 8 << 30
    limit_bytes: int = 8 << 30
    """Memory that this request's processes may hold together before they are stopped."""
    labels: Any = None
    lengths: Any = None
    groups: Any = None
    difficulty: Any = None
    train: Any = None
    rows: Any = None
    """The indices of the samples that these are of, if a scan has read samples one by one."""
    collated: tuple[str, dict[str, int]] | None = None
    """The collate function that the user's samples take, and the fields that vary in length; None until it was tried."""
    blocks: Any = None
    """What a built-in source has decoded so far, shared by all probes so that none decodes it again."""
    fitted_s: float | None = None
    """Seconds of a sample in a batch, once a probe that fits its batches to the budget has measured it."""
    silent: Fact | None = None
    """What workers did that delivered nothing in time before the search, which looks at that more closely."""
    sampled_s: float | None = None
    """Seconds of a sample in the last batch that was timed to fit its size, which may have been a cold one."""
    fitted_to_the_end: bool = False
    """Whether that used all of its time; else it stopped once the batch was known to be small enough for that probe."""
    begun: float = field(default_factory=time.monotonic)
    classes: tuple[str, ...] | None = None
    class_names: list[str] = field(default_factory=list)
    garbled: str = ""
    """An exception of the user's code that a worker cannot send to the main process, if one was raised."""
    untouched: dict[str, Any] = field(default_factory=dict)
    """By probe, a process forked before anything was read, for experiments that depend on a process's history."""
    ask_stacks: Callable[[list[int]], str] = lambda pids: ""
    """Returns the stacks of this request's other processes, requested by a signal."""
    raised: list[tuple[int | None, str]] = field(default_factory=list)
    hung: dict[int, Hang] = field(default_factory=dict)
    """The samples that did not come."""
    findings: list[Finding] = field(default_factory=list)
    """What checks have found so far: whose samples are then shown."""
    shown: dict[str, Any] = field(default_factory=dict)
    """The first samples of a batch by field, of which thumbnails are made once classes are known."""
    growth: Growth | None = None
    """Of open descriptors, over the samples read one by one before the search."""
    label_sets: Any = None
    """Of samples with several labels: how many each has, the codes of all one after another, and the label of each code as stored and by its
    name."""

    def left(self) -> float:
        """Seconds left; infinite without a limit."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    def until(self, share: float, most: float = math.inf) -> float | None:
        """The monotonic time at which a probe that may use this share of the time left must stop."""
        if self.deadline is None and math.isinf(most):
            return None
        return time.monotonic() + min(most, max(0.0, share * self.left()))


class TooDear(Exception):
    """The budget is too small for the minimum that a probe must do; ``str()`` says what that is."""


class Probe(ABC):
    """A frozen dataclass; its fields are its arguments. ``doing``: what a user is told while it runs."""

    name: ClassVar[str]
    doing: ClassVar[str]
    of_model: ClassVar[bool] = False
    """Whether it makes and calls the user's model, which takes as long as it takes, and says nothing meanwhile."""
    torch: ClassVar[bool] = True
    """Whether it runs torch on data files: their host then imports it, once, before the request's process is forked."""

    def ready(self, bench: Bench) -> None:  # noqa: B027  # most probes refuse nothing
        """Rejects a request that cannot be carried out; called for every probe before anything is measured.

        Raises:
            RequestError: if it cannot.
        """

    def tells_damage(self) -> bool:
        """Whether a source of which no file can be read is one that it measures: it tells what is wrong with them."""
        return False

    def compares_splits(self) -> bool:
        """Whether it wants all splits that the user's code has; else they are those of the training split."""
        return False

    @abstractmethod
    def measure(self, bench: Bench) -> Iterable[Said]:
        """Yields what was found; facts become visible to later probes as they are yielded."""

    def to_json(self) -> dict[str, Json]:
        return {"probe": self.name, **{f.name: getattr(self, f.name) for f in fields(self)}}  # type: ignore[arg-type]  # probes are dataclasses


@cache
def probes() -> Mapping[str, type[Probe]]:
    """The probes of this folder's packages by name."""
    found = {}
    package = importlib.import_module("dataloader_expert.probes")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for probe in getattr(importlib.import_module(module.name), "PROBES", ()):
            found[probe.name] = probe
    return MappingProxyType(found)


def evidence(how: Any, by: str, **rest: Any) -> Evidence:
    return Evidence(how, f"probe {by}", **rest)


def run(
    request: dict[str, Any],
    emit: Callable[[dict[str, Any]], None],
    at: Callable[[int], None],
    stacks: Callable[[list[int]], str] = lambda pids: "",
) -> None:
    """Carries out a request: opens the source once, then runs each probe in turn.

    A probe that raises becomes an unknown (and, for the user's code, a fact); if nothing at all could be measured, one
    ``error`` event says why.
    """
    seconds = request.get("seconds")
    deadline = None if seconds is None else time.monotonic() + seconds - request.get("reserve", 1.0)
    ref = SourceRef.from_json(request["source"])
    begun = time.monotonic()
    unknowns: list[Unknown] = []

    def progress(message: str, share: float | None) -> None:
        emit({"event": "progress", "message": message, "share": share})

    progress(f"opening {escaped(ref.name)}", None)
    known = probes()
    asked = [known[d["probe"]](**{k: v for k, v in d.items() if k != "probe"}) for d in request["probes"]]
    source = _open(ref, unknowns, emit, any(probe.tells_damage() for probe in asked))
    if source is None:
        return
    if not any(probe.compares_splits() for probe in asked):
        source.only_training(ref)
    bench = Bench(source, ref, request["seed"], deadline, at, progress, begun=begun, ask_stacks=stacks)
    bench.cpus, bench.memory_bytes = request["cpus"], request["memory_bytes"]
    bench.limit_bytes = request.get("limit_bytes", bench.memory_bytes)
    for unknown in unknowns:
        emit({"event": "unknown", "unknown": unknown.to_json()})
    measured = False
    failed: list[str] = []
    mistakes: list[str] = []
    """What our own readers and probes raised, without any code of the user's."""
    try:
        for probe in asked:
            probe.ready(bench)
    except RequestError as e:
        emit({"event": "error", **e.to_json()})
        return
    for probe in asked:
        for fact in newly_hung(bench):
            emit(_event(fact))
        name = probe.name
        progress(probe.doing, None)
        try:
            for said in probe.measure(bench):
                if isinstance(said, Fact):
                    bench.facts.add(said)
                    measured = measured or name not in ("layout", "environment")
                elif isinstance(said, Finding):
                    bench.findings.append(said)
                emit(_event(said))
        except RequestError as e:
            if not measured or e.code in ("import-failed", "label-not-found", "invalid-argument"):
                emit({"event": "error", **e.to_json()})
                return
            emit(_event(Unknown(name, str(e))))
        except TooDear as e:
            failed.append(str(e))
            emit(_event(Unknown(name, str(e))))
        except Unreadable as e:
            emit(_event(Unknown(name, f"{e.code}: {e.message} ({e.where})")))
        except Exception as e:  # the user's collate function, sampler or model may raise anything
            (failed if bench.ref.code or of_users_code(e) else mistakes).append(in_words(e))
            emit(_event(Unknown(name, in_words(e))))
            _told(e)
            unsaid = name == "loading" and not ours(e) and bench.facts.find(LOADER_FAILED) is None
            if bench.source.format == "reference":
                full = used_up(e) and bench.facts.find(USED_UP) is None
                for fact in (*(loader_failed(e) if unsaid else ()), *(left_open(bench.growth) if full else ())):
                    bench.facts.add(fact)
                    emit(_event(fact))
    if not measured and mistakes and not failed and not bench.raised:
        text = f"a mistake in dataloader-expert, not in the data: {mistakes[0]}; please report it, and meanwhile pass format="
        emit({"event": "error", "code": "format-unknown", "message": f"{text} or a folder with fewer kinds of files"})
    elif not measured:
        text = bench.raised[0][1] if bench.raised else failed[0] if failed else "no probe had a result"
        emit({"event": "error", "code": "dataset-raised", "message": f"{text}; fix it and run the tool again"})


def newly_hung(bench: Bench) -> Iterator[Fact]:
    """The samples that did not come since it was last asked: told at once, as the process may yet be stopped."""
    known = sum(1 for _ in bench.facts.all(HANGS))
    for index in [*bench.hung][known:]:
        fact = Fact(HANGS, bench.hung[index]._asdict(), evidence("timed", "patience", seen=1), {"sample": index})
        bench.facts.add(fact)
        yield fact


def _open(
    ref: SourceRef, unknowns: list[Unknown], emit: Callable[[dict[str, Any]], None], tells_damage: bool
) -> Source | None:
    """The opened source; None if an event has said why there is none. ``tells_damage``: one of which nothing can be read is one."""
    from dataloader_expert.sources.damaged import damaged

    try:
        if ref.code:
            from dataloader_expert.sources.files import Listing
            from dataloader_expert.sources.reference import Described, Reference

            kind = Described if ref.format == "input" else Reference
            source: Source = kind.open(Listing(__import__("pathlib").Path("."), ref.roots), ref)
        else:
            from dataloader_expert.sources.registry import open_source

            source = open_source(ref, unknowns)
    except RequestError as e:
        if tells_damage and isinstance(e, NothingReadable) and e.problems:
            return damaged(e.problems, e.format)
        emit({"event": "error", **e.to_json()})
        return None
    except Unreadable as e:
        if tells_damage:
            return damaged([e], "")
        emit({"event": "error", "code": "format-unknown", "message": f"{e.told()}; no sample can be read"})
        return None
    except Exception as e:  # hostile bytes make libraries raise anything, and so may a user's object
        _told(e)
        code = "dataset-raised" if ref.code else "format-unknown"
        text = f"opening {escaped(ref.name)} raised {in_words(e)}; fix what the error names, or leave that file out"
        emit({"event": "error", "code": code, "message": text})
        return None
    return source


def loader_failed(error: Exception, workers: int = 0, waiting_for: str = "", stacks: str = "") -> Iterator[Fact]:
    """A DataLoader over the user's code failed: whether a worker died, hung or raised.

    ``waiting_for``: what its workers were blocked on; ``stacks``: their stacks, if they were still alive.
    """
    text = str(error)
    hung = "timed out after" in text
    value = {
        "error": in_words(error),
        "signal": signal[1] if (signal := SIGNAL.search(text)) is not None else "",
        "died": "DataLoader worker" in text and ("killed" in text or "exited unexpectedly" in text),
        "locked": hung and waiting_for == "a lock",
        "client": any(word in stacks for word in CLIENTS),
        "pool": any(word in stacks for word in POOLS),
        "where": user_line(stacks) if hung else "",
    }
    at: dict[str, Json] = {"workers": workers, "hung": hung} if workers else {"hung": hung}
    yield Fact(LOADER_FAILED, value, evidence("counted", "loading", seen=1), at)


def ours(error: BaseException) -> bool:
    """Whether this package's own code failed, and not what it runs; what it says of a loader is a ``RuntimeError``."""
    frames = traceback.extract_tb(error.__traceback__)
    here = str(Path(__file__).parent.parent)
    return bool(frames) and frames[-1].filename.startswith(here) and not isinstance(error, RuntimeError | TimeoutError)


def in_worker(error: Exception) -> bool:
    """Whether a worker raised it, or ended or hung: whatever started it, what ran there is the user's."""
    return "DataLoader worker" in str(error) or "timed out after" in str(error)


CLIENTS = ("selectors.py", "asyncio", "ssl.py", "socket.py", "http/client", "concurrent/futures", "grpc")
"""Files whose frames show that a worker waits for a connection or an event loop."""
POOLS = ("concurrent/futures", "multiprocessing/pool.py")
"""Those of pools of threads or processes."""


def user_line(stacks: str) -> str:
    """The innermost frame of the user's code in a dump of stacks, as text."""
    from dataloader_expert.sources.users import is_users

    frames = [m for line in stacks.splitlines() if (m := FRAME.match(line)) is not None]
    return next((f"{m[3]} ({m[1]}:{m[2]})" for m in frames if is_users(m[1])), "")


def too_many(bench: Bench) -> float:
    """The number of workers that were stopped at the memory limit; infinite if none were."""
    found = bench.facts.find(OVERFULL)
    return math.inf if found is None else float(found.at["workers"])


def hangs(bench: Bench) -> bool:
    """Whether workers were found to hang: running them again would take as long."""
    return bench.facts.find(LOADER_FAILED, hung=True) is not None


OVERFULL = Quantity("overfull", "", "memory held by workers that were stopped at the memory limit")
PICKLING = Quantity("pickling", "", "seconds and bytes of pickling the dataset, and the part that cannot be pickled")
FIRST = Quantity("first_sample", "s", "time to read the very first sample, including lazy set-up of the dataset")
SLOWEST = Quantity("slowest_in_trials", "", "seconds and index of the samples that took longest in the search's trials")
LOADER_FAILED = Quantity("loader_failed", "", "why the DataLoader did not deliver")


def in_words(error: Exception) -> str:
    """The error and the user's own frames; those of the worker if torch passed the error on from one."""
    from dataloader_expert.sources.reference import in_brackets, user_frames
    from dataloader_expert.sources.users import is_users

    lines = str(error).strip().splitlines() or [""]
    told = [line for line in lines if not line.startswith((" ", "Traceback", "Caught", "Original"))]
    last = escaped(told[-1] if told else lines[-1], 300)
    name = type(error).__name__
    kind, _, rest = last.partition(": ")
    last = f"{name}: {rest}" if kind.rpartition(".")[2] == name else last  # without the module, as tracebacks give it
    found = [FRAME.match(line) for line in lines]
    theirs = [f"{m[1]}:{m[2]} in {m[3]}" for m in found if m is not None and is_users(m[1])]
    frames = in_brackets(theirs) or user_frames(error)
    return (last if last.startswith(f"{name}:") else f"{name}: {last}") + frames


def of_users_code(error: Exception) -> bool:
    """Whether code of the user's was running when the error was raised, here or in a worker."""
    from dataloader_expert.sources.reference import user_frames
    from dataloader_expert.sources.users import is_users

    found = [FRAME.match(line) for line in str(error).splitlines()]
    return bool(user_frames(error)) or any(m is not None and is_users(m[1]) for m in found)


def _told(error: Exception) -> None:
    """Prints the whole traceback to this process's stderr, which is kept for debugging this tool."""
    traceback.print_exception(error, file=sys.stderr)


def _event(said: Said) -> dict[str, Any]:
    if isinstance(said, Fact):
        return {"event": "fact", "fact": clean(said.to_json())}
    if isinstance(said, Finding):
        return {"event": "finding", "finding": clean(said.to_json())}
    return {"event": "unknown", "unknown": said.to_json()}


def clean(value: Json) -> Json:
    """Replaces NaN and infinity, which JSON does not have, with null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if hasattr(value, "item"):
        return clean(value.item())
    return value

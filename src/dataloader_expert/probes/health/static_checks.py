"""The user's loader before it runs: its order, length, seeds, timeout, and whether its parts can be pickled."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import PICKLING, Bench, Observation, Probe, evidence
from dataloader_expert.probes.health.shared_handles import pool
from dataloader_expert.probes.profile.stage_classifier import is_users
from dataloader_expert.probes.serving import Serving, serving

ORDER = Quantity("order_of_epochs", "", "whether two epochs of the sampler have the same order, and what seeds it")
ORDER_DRAWN = Quantity(
    "order_drawn", "s", "time from the beginning of an epoch to the sampler's first index, the shorter of two"
)
ORDER_PACE = Quantity(
    "order_pace", "s", "time that the sampler takes for an index after the first, the shorter of two epochs"
)
LENGTH = Quantity("length", "samples", "how many of the dataset's samples the loader delivers in an epoch, computed")
SENDING = Quantity("sending", "", "whether a batch can be pickled the way a worker sends it")
SETTINGS = Quantity("loader_settings", "", "settings of the user's loader that affect its health")
WEIGHTS = Quantity("sampler_weights", "weights", "weights of the loader's WeightedRandomSampler")
LEFT_OVER = Quantity("left_in_shm", "", "torch's files in /dev/shm whose process has ended")
SNAPSHOTS = Quantity("state_snapshots", "s", "seconds that state_dict() of the dataset takes, and that a batch takes")
DRAWN_S = 0.15
"""Seconds for which the indices of an epoch are drawn, to time them."""
LOOKED = 256
PICKLE_MOST = 256 << 20


@dataclass(frozen=True)
class StaticChecks(Probe):
    name: ClassVar[str] = "static_checks"
    doing: ClassVar[str] = "checking the loader's settings"
    batch_size: int | None = None
    num_workers: int | None = None

    def measure(self, bench: Bench) -> Iterable[Observation]:
        yield from left_over()
        if bench.source.format != "reference":
            return
        served = serving(bench, self.batch_size, self.num_workers)
        yield from travelling(served)
        held = pool(served.dataset)
        if held is not None:
            yield held
        yield from sending(bench, served)
        if not bench.source.iterable:
            yield from length(served)
        if served.user_loader is not None:
            yield from settings(served)
            if not bench.source.iterable:
                yield from order(bench, served)


def left_over() -> Iterator[Observation]:
    """Torch's shared memory files that belong to no running process: reported, never removed."""
    try:
        names = os.listdir("/dev/shm")
    except OSError:
        return
    dead = [n for n in names if n.startswith("torch_") and not os.path.exists(f"/proc/{n.split('_')[1]}")]
    held = 0
    for name in dead:
        with contextlib.suppress(OSError):
            held += os.stat(f"/dev/shm/{name}").st_size
    value = {"bytes": held, "entries": len(dead), "paths": [f"/dev/shm/{n}" for n in sorted(dead)[:MAX_PLACES]]}
    yield Fact(LEFT_OVER, value, evidence("counted", "static_checks", seen=len(names)))


def travelling(served: Serving) -> Iterator[Observation]:
    """Whether the dataset can be pickled, as spawn and forkserver require, and how long that takes."""
    import multiprocessing

    context = getattr(served.user_loader, "multiprocessing_context", None)
    method = context.get_start_method() if context is not None else multiprocessing.get_start_method()
    begun = time.perf_counter()
    counting = _Counting()
    served.before_workers(1)
    why = _unpicklable(served.dataset, counting)
    seconds = time.perf_counter() - begun
    if why is None and served.user_loader is not None:
        parts = (_part(served.user_loader, name) for name in ("collate_fn", "worker_init_fn"))
        why = next((part for part in parts if part), None)
    value = {
        "seconds": round(seconds, 4),
        "bytes": counting.bytes,
        "why": why,
        "start_method": method,
        "workers": served.current.workers,
    }
    yield Fact(PICKLING, value, evidence("timed", "static_checks", seen=1))


class _Counting(io.RawIOBase):
    """Counts the bytes written and keeps none."""

    bytes = 0

    def write(self, data: Any) -> int:
        self.bytes += len(data)
        if self.bytes > PICKLE_MOST:
            raise _TooLarge
        return len(data)

    def writable(self) -> bool:
        return True


class _TooLarge(Exception):
    pass


def _unpicklable(value: Any, into: _Counting, path: str = "dataset", of: tuple[Any, ...] = ()) -> str | None:
    """The innermost attribute that cannot be pickled, where it is defined if it is a function, and why; ``of``: what holds it."""
    error = _fails(value, into)
    if error is None:
        return None
    for name, inner in list(getattr(value, "__dict__", {}).items())[:200]:
        if any(inner is one for one in (*of, value)):
            continue
        if _fails(inner, _Counting()) == error:  # what is of another kind is pickled by what holds it
            return _unpicklable(inner, _Counting(), f"{path}.{name}", (*of, value))
    code = getattr(value, "__code__", None)
    at = f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code is not None else ""
    return f"`{path}`{at} cannot be pickled: {error}"


class _Spawning:
    """What a process being spawned is to the objects that are pickled for it: locks of this context let themselves be sent to it."""

    DupFd = int

    def duplicate_for_child(self, fd: int) -> int:
        return fd


def _fails(value: Any, into: _Counting) -> str | None:
    from multiprocessing.context import get_spawning_popen, set_spawning_popen
    from multiprocessing.reduction import ForkingPickler

    import torch

    class Pickler(ForkingPickler):
        """Tensors are sent through shared memory: they are skipped here, so that they are not moved there."""

        def reducer_override(self, thing: Any) -> Any:
            return (int, (0,)) if isinstance(thing, torch.Tensor) else NotImplemented

    before = get_spawning_popen()
    set_spawning_popen(cast(Any, _Spawning()))
    try:
        Pickler(into).dump(value)
    except _TooLarge:
        return None
    except Exception as e:  # the user's __reduce__ may raise anything
        return f"{type(e).__name__}: {textwrap.shorten(str(e), 160, placeholder=' …')}"
    finally:
        set_spawning_popen(before)
    return None


def _part(loader: Any, name: str) -> str | None:
    part = getattr(loader, name, None)
    return None if part is None else _unpicklable(part, _Counting(), name)


def sending(bench: Bench, served: Serving) -> Iterator[Observation]:
    """Whether a worker can send a batch, and whether it can be pinned."""
    try:
        sample = next(iter(served.dataset)) if bench.source.iterable else served.dataset[0]
        batch = served.collate([sample])
    except Exception:  # the scan reports which samples raise, the search what the collate function raises
        return
    why = _fails(batch, _Counting())
    loader = served.user_loader
    kind = type(batch)
    plain = kind.__module__ == "torch" or isinstance(batch, str | bytes | Mapping | Sequence)
    pinnable = plain or hasattr(batch, "pin_memory")
    asked = loader is not None and bool(loader.pin_memory)
    value = {"why": why, "type": kind.__name__, "pinnable": pinnable, "pin_memory": asked}
    yield Fact(SENDING, value, evidence("counted", "static_checks", seen=1))


def length(served: Serving) -> Iterator[Observation]:
    """How many of the samples an epoch delivers."""
    n, plan = len(served.dataset), served.current
    try:
        served.dataset[n - 1]
        lies = False
    except IndexError:
        lies = True
    except Exception:  # the scan says which samples raise
        lies = False
    dropped = n % plan.batch_size if plan.drop_last else 0
    value = {"samples": n, "dropped": dropped, "lies": lies}
    yield Fact(LENGTH, value, evidence("counted", "static_checks", seen=n))


def settings(served: Serving) -> Iterator[Observation]:
    loader = served.user_loader
    weights = getattr(loader.sampler, "weights", None)
    value = {"timeout": loader.timeout, "num_workers": loader.num_workers, "pin_memory": loader.pin_memory}
    value["whole"] = served.whole
    value["iterates"] = served.iterates
    yield Fact(SETTINGS, value, evidence("declared", "static_checks"))
    if weights is not None and hasattr(weights, "__len__") and type(loader.sampler).__module__.startswith("torch"):
        yield Fact(WEIGHTS, len(weights), evidence("counted", "static_checks", seen=len(weights)))
    state = getattr(served.dataset, "state_dict", None)
    if state is not None and hasattr(loader, "state_dict"):
        begun = time.perf_counter()
        try:
            state()
        except Exception as e:  # the user's code may raise anything
            yield Unknown("health: state snapshots", f"state_dict() raised {type(e).__name__}: {str(e)[:160]}")
            return
        took = (time.perf_counter() - begun) / max(1, getattr(loader, "snapshot_every_n_steps", 1))
        batch_s = served.batch_s or _batch_s(served)
        costs = {"seconds": round(took, 6), "batch_s": round(batch_s, 6)}
        yield Fact(SNAPSHOTS, costs, evidence("timed", "static_checks", seen=1))


def _home(function: Any) -> str:
    """The file in which a function is defined."""
    return str(getattr(getattr(function, "__code__", None), "co_filename", "<unknown>"))


def _batch_s(served: Serving) -> float:
    """Seconds of a batch, estimated from a few samples read here."""
    n = min(4, len(served.dataset))
    begun = time.perf_counter()
    for i in range(n):
        with contextlib.suppress(Exception):  # the scan says which samples raise
            served.dataset[i]
    return (time.perf_counter() - begun) / max(1, n) * served.current.batch_size


def order(bench: Bench, served: Serving) -> Iterator[Observation]:
    """The first indices of two epochs; and whether the order is drawn from the global generator. Nothing if another probe has told it."""
    from dataloader_expert.loaders.building import orders, shuffles

    if bench.facts.find(ORDER) is not None:
        return
    loader = served.user_loader
    try:
        (one, first_s, pace_s), (two, again_s, pace_again_s) = _drawn(orders(loader)), _drawn(orders(loader))
    except Exception as e:  # the user's sampler may raise anything
        yield Unknown("health: order of epochs", f"the sampler raised {type(e).__name__}: {str(e)[:160]}")
        return
    told = hasattr(loader.sampler, "set_epoch")
    heeds = told and one == two and _heeds_epochs(loader, one)
    unseeded = shuffles(loader) and loader.generator is None and getattr(loader.sampler, "generator", None) is None
    value = {"same": one == two, "ascending": one == sorted(one), "set_epoch": told, "heeds": heeds, "global": unseeded}
    yield Fact(ORDER, value, evidence("counted", "static_checks", seen=len(one)))
    yield Fact(ORDER_DRAWN, min(first_s, again_s), evidence("timed", "static_checks", seen=2))
    yield Fact(
        ORDER_PACE, min(pace_s, pace_again_s), evidence("timed", "static_checks", seen=len(one)), _sampler(loader)
    )


def _sampler(loader: Any) -> dict[str, Any]:
    """The sampler that decides the order, and where its class is defined if it is the user's."""
    samplers = (loader.batch_sampler, loader.sampler)
    own = next((s for s in samplers if is_users(_home(getattr(type(s), "__iter__", None)))), samplers[-1])
    code = getattr(type(own).__iter__, "__code__", None)
    users = code is not None and is_users(code.co_filename)
    return {
        "sampler": type(own).__name__,
        "place": {"file": code.co_filename, "line": code.co_firstlineno} if code is not None and users else None,
    }


def _heeds_epochs(loader: Any, first: list[Any]) -> bool:
    """Whether the sampler's set_epoch changes its order."""
    from dataloader_expert.loaders.building import orders

    epoch = getattr(loader.sampler, "epoch", 0)
    try:
        loader.sampler.set_epoch(epoch + 1)
        return _drawn(orders(loader))[0] != first
    except Exception:  # the user's sampler may raise anything
        return False
    finally:
        with contextlib.suppress(Exception):
            loader.sampler.set_epoch(epoch)


def _drawn(indices: Iterator[Any]) -> tuple[list[Any], float, float]:
    """The first indices of an epoch, the seconds until the very first, and those for each further one."""
    begun = time.perf_counter()
    first = list(itertools.islice(indices, 1))
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    more = list(itertools.islice(indices, LOOKED - 1))
    drawn = len(more)
    while time.perf_counter() - begun < DRAWN_S and (further := sum(1 for _ in itertools.islice(indices, LOOKED))):
        drawn += further  # the first batches may take longer than those that have less to choose from
    return [*first, *more], seconds, (time.perf_counter() - begun) / max(1, drawn)


PROBES = (StaticChecks,)

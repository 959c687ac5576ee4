"""The bytes of live tensors over a training step, as a stream of allocations and frees that can be replayed."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.probes.model.allocator import Block, CachingAllocator, rounded
from dataloader_expert.probes.model.kernels import (
    HOPPER,
    LT_WORKSPACE,
    MULTIPROCESSORS,
    convolution_workspace,
    cublas_workspace,
    reduction_buffer,
)

PHASES = ("forward", "backward", "optimizer_step")
PARTS = ("parameters", "buffers", "batch", "gradients", "optimizer_states", "activations", "temporary", "workspace")


@dataclass
class Stream:
    """Allocations in the order in which they happened.

    Attributes:
        events: ``(id, bytes)`` where memory is taken, ``(id, -1)`` where it is freed.
        marks: the position in ``events`` at which a phase begins.
        kinds: what a piece of memory is, by its id; one of ``PARTS``, else temporary.
        buffers: ids of what kernels borrow by steps: no straight line in the batch size.
        by_mask: whether elements were selected by a mask without values, of which all were taken.
    """

    events: list[tuple[int, int]] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)
    kinds: dict[int, str] = field(default_factory=dict)
    buffers: set[int] = field(default_factory=set)
    by_mask: bool = False

    def take(self, size: int, kind: str | None = None) -> int:
        id_ = len(self.events)
        self.events.append((id_, size))
        if kind is not None:
            self.kinds[id_] = kind
        return id_

    def free(self, id_: int) -> None:
        self.events.append((id_, -1))

    def kept(self) -> dict[int, int]:
        """Workspaces that are never freed, by id: from the second step on they are there from the beginning."""
        freed = {id_ for id_, size in self.events if size < 0}
        return {
            id_: rounded(size)
            for id_, size in self.events
            if size >= 0 and self.kinds.get(id_) == "workspace" and id_ not in freed
        }


@dataclass(frozen=True)
class Peak:
    """The most bytes of a phase, in blocks as an allocator rounds them, and what they were."""

    bytes: int
    phase: str
    parts: dict[str, int]


def peaks(stream: Stream, buffers: bool = True) -> dict[str, Peak]:
    """The peak of each phase; without ``buffers``, of what grows in a straight line."""
    found: dict[str, Peak] = {}
    kept = stream.kept()
    live: dict[int, int] = {}
    held = {**dict.fromkeys(PARTS, 0), "workspace": sum(kept.values())}
    now, most = held["workspace"], 0
    phase, marks = "", [*stream.marks, (len(stream.events) + 1, "")]
    for at, (id_, size) in enumerate(stream.events):
        while marks and marks[0][0] <= at:
            phase, most = marks.pop(0)[1], 0
        kind = stream.kinds.get(id_, "temporary")
        if not buffers and id_ in stream.buffers:
            continue
        if size < 0:
            freed = live.pop(id_)
            held[kind] -= freed
            now -= freed
        elif id_ not in kept:
            live[id_] = rounded(size)
            held[kind] += live[id_]
            now += live[id_]
        if phase and now > most:
            most = now
            found[phase] = Peak(now, phase, dict(held))
    return found


def moments(stream: Stream) -> list[tuple[str, int]]:
    """After each allocation of a phase but a kernel's buffers, what is live, in blocks as an allocator rounds them."""
    found = []
    kept = stream.kept()
    live: dict[int, int] = {}
    now = sum(kept.values())
    phase, marks = "", [*stream.marks, (len(stream.events) + 1, "")]
    for at, (id_, size) in enumerate(stream.events):
        while marks and marks[0][0] <= at:
            phase = marks.pop(0)[1]
        if id_ in stream.buffers or id_ in kept:
            continue
        if size < 0:
            now -= live.pop(id_)
        else:
            live[id_] = rounded(size)
            now += live[id_]
            if phase in PHASES:
                found.append((phase, now))
    return found


def envelopes(low: Stream, n: int, high: Stream, m: int) -> dict[str, list[tuple[float, float]]] | None:
    """For each phase, the lines (bytes at none, bytes per sample) whose maximum its peak is, at any batch size.

    What is live at one moment of a step is a straight line in the batch size, so that two traces, at ``n`` and ``m``
    samples, tell it of every moment. None: the two do not take the same steps.
    """
    before, after = moments(low), moments(high)
    if [p for p, _ in before] != [p for p, _ in after]:
        return None
    lines: dict[str, set[tuple[float, float]]] = {}
    for (phase, a), (_, b) in zip(before, after, strict=True):
        slope = max(0.0, (b - a) / (m - n))
        lines.setdefault(phase, set()).add((b - slope * m, slope))
    return {phase: highest(found) for phase, found in lines.items()}


def highest(lines: set[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those of the lines (base, slope) that are highest at some size from one up, flattest first."""
    kept: list[tuple[float, float]] = []
    for base, slope in sorted(lines, key=lambda line: (line[1], line[0])):
        while kept and kept[-1][0] + kept[-1][1] <= base + slope:
            kept.pop()  # lower at one sample, and no steeper
        while len(kept) > 1 and _crossing(kept[-2], (base, slope)) <= _crossing(kept[-2], kept[-1]):
            kept.pop()
        kept.append((base, slope))
    return kept


def _crossing(flat: tuple[float, float], steep: tuple[float, float]) -> float:
    return (flat[0] - steep[0]) / (steep[1] - flat[1])


def replayed(stream: Stream, cap: float = math.inf, times: int = 2) -> CachingAllocator:
    """The allocator of a device after the step was run so many times.

    Raises:
        DeviceFull: if it does not fit below ``cap``.
    """
    device = CachingAllocator(cap)
    held: dict[int, Block] = {}
    begin = next((at for at, phase in stream.marks if phase == PHASES[0]), 0)
    before = {id_ for id_, _ in stream.events[:begin]}  # model, optimizer and batch: freed after the last step
    for turn in range(times):
        events = enumerate(stream.events) if not turn else enumerate(stream.events[begin:], begin)
        for at, (id_, size) in events:
            if size < 0:
                block = None if at >= begin and id_ in before else held.pop(id_, None)
                if block is not None:
                    device.give(block)
            elif id_ not in held or not turn:
                held[id_] = device.take(size)
    return device


def recorder(stream: Stream, major: int = HOPPER, multiprocessors: int = MULTIPROCESSORS) -> Any:
    """A mode under which torch's operations, on fake tensors or real ones, write to ``stream``.

    ``major``, ``multiprocessors``: of the device whose libraries' workspaces are told.
    ``see(tensors, kind)`` registers tensors made outside, ``name(tensors, kind)`` says what known ones are,
    ``elsewhere(tensors)`` that they are in other memory, and ``rest(kind)`` names all that is live and has no name.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_iter

    aten = torch.ops.aten
    convolutions = {aten.convolution.default, aten.convolution_backward.default}
    products = {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default}

    class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]  # torch's
            self.live: dict[int, tuple[int, Any]] = {}
            self.workspaces: set[str] = set()
            self.allowances = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            self.see(tree_iter(out))
            if self.allowances and func in convolutions:
                self._relaid(args, out)
            elif self.allowances and func in products:
                self._handle(func is aten.addmm.default)
            elif self.allowances and func is aten.sum.dim_IntList:
                self._reduced(args[0], args[1])
            return out

        def see(self, tensors: Iterable[Any], kind: str | None = None) -> None:
            for t in tensors:
                if not isinstance(t, torch.Tensor) or t.layout is not torch.strided:
                    continue
                storage = t.untyped_storage()
                key = storage._cdata
                if key in self.live:
                    continue
                id_ = stream.take(storage.nbytes(), kind)

                def gone(_: Any, key: int = key, id_: int = id_) -> None:
                    self.live.pop(key, None)
                    stream.free(id_)

                self.live[key] = (id_, weakref.ref(storage, gone))

        def name(self, tensors: Iterable[Any], kind: str) -> None:
            for t in tensors:
                found = None if t is None else self.live.get(t.untyped_storage()._cdata)
                if found is not None:
                    stream.kinds[found[0]] = kind

        def elsewhere(self, tensors: Iterable[Any]) -> None:
            """These lie in other memory, as long as they live."""
            for t in tensors:
                storage = t.untyped_storage()
                if storage._cdata in self.live:
                    id_, _ = self.live[storage._cdata]
                    self.live[storage._cdata] = (id_, weakref.ref(storage))
                    stream.free(id_)

        def rest(self, kind: str) -> None:
            for id_, _ in self.live.values():
                stream.kinds.setdefault(id_, kind)

        def _relaid(self, args: Any, out: Any) -> None:
            """cuDNN's workspace lives as long as the operation."""
            backward = isinstance(out, tuple)
            used = [*args[:3]] if backward else [args[0], args[1], out]
            stride, groups = (args[4], args[9]) if backward else (args[3], args[8])
            if groups == 1 or groups < used[1 if backward else 0].shape[1]:
                weight = used[2 if backward else 1]
                pointwise = all(n == 1 for n in (*weight.shape[2:], *stride))
                size = convolution_workspace(used, pointwise, backward)
                if size:
                    stream.free(stream.take(size, "workspace"))

        def _handle(self, fused: bool) -> None:
            """cuBLAS keeps a workspace for each thread that uses it: the forward pass's, and autograd's own; cuBLASLt,
            which adds a bias as it multiplies, a further one."""
            phase = stream.marks[-1][1] if stream.marks else "forward"
            thread = "backward" if phase == "backward" else "forward"
            for kept, size in ((thread, cublas_workspace(major)), (f"{thread}, fused", LT_WORKSPACE if fused else 0)):
                if size and kept not in self.workspaces:
                    self.workspaces.add(kept)
                    stream.take(size, "workspace")

        def _reduced(self, t: Any, dims: Any) -> None:
            """A sum over all but the fastest dimension borrows a buffer."""
            if not dims or t.ndim < 2 or (t.ndim - 1) in {d % t.ndim for d in dims} or not t.is_contiguous():
                return
            rows = math.prod(t.shape[d] for d in dims)
            size = reduction_buffer(rows, t.numel() // max(1, rows), multiprocessors)
            if size:
                borrowed = stream.take(size, "workspace")
                stream.buffers.add(borrowed)
                stream.free(borrowed)

    return Recorder()

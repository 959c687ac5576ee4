"""The bytes of live tensors over a training step, as a stream of allocations and frees that can be replayed."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.probes.model.allocator import Block, CachingAllocator, rounded

PHASES = ("forward", "backward", "optimizer_step")
PARTS = ("parameters", "buffers", "batch", "gradients", "optimizer_states", "activations", "temporary", "workspace")


@dataclass
class Stream:
    """Allocations in the order in which they happened.

    Attributes:
        events: ``(id, bytes)`` where memory is taken, ``(id, -1)`` where it is freed.
        marks: the position in ``events`` at which a phase begins.
        kinds: what a piece of memory is, by its id; one of ``PARTS``, else temporary.
    """

    events: list[tuple[int, int]] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)
    kinds: dict[int, str] = field(default_factory=dict)

    def take(self, size: int, kind: str | None = None) -> int:
        id_ = len(self.events)
        self.events.append((id_, size))
        if kind is not None:
            self.kinds[id_] = kind
        return id_

    def free(self, id_: int) -> None:
        self.events.append((id_, -1))


@dataclass(frozen=True)
class Peak:
    """The most bytes of a phase, in blocks as an allocator rounds them, and what they were."""

    bytes: int
    phase: str
    parts: dict[str, int]


def peaks(stream: Stream) -> dict[str, Peak]:
    """The peak of each phase."""
    found: dict[str, Peak] = {}
    live: dict[int, int] = {}
    held = dict.fromkeys(PARTS, 0)
    now = most = 0
    phase, marks = "", [*stream.marks, (len(stream.events) + 1, "")]
    for at, (id_, size) in enumerate(stream.events):
        while marks and marks[0][0] <= at:
            phase, most = marks.pop(0)[1], 0
        kind = stream.kinds.get(id_, "temporary")
        if size < 0:
            freed = live.pop(id_)
            held[kind] -= freed
            now -= freed
        else:
            live[id_] = rounded(size)
            held[kind] += live[id_]
            now += live[id_]
        if phase and now > most:
            most = now
            found[phase] = Peak(now, phase, dict(held))
    return found


def moments(stream: Stream) -> list[tuple[str, int]]:
    """After each allocation of a phase, what is live, in blocks as an allocator rounds them."""
    found = []
    live: dict[int, int] = {}
    now = 0
    phase, marks = "", [*stream.marks, (len(stream.events) + 1, "")]
    for at, (id_, size) in enumerate(stream.events):
        while marks and marks[0][0] <= at:
            phase = marks.pop(0)[1]
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
    for turn in range(times):
        events = stream.events if not turn else stream.events[begin:]
        for id_, size in events:
            if size < 0:
                block = held.pop(id_, None)
                if block is not None:
                    device.give(block)
            elif id_ not in held or not turn:
                held[id_] = device.take(size)
    return device


def recorder(stream: Stream) -> Any:
    """A mode under which torch's operations, on fake tensors or real ones, write to ``stream``.

    ``see(tensors, kind)`` registers tensors made outside, ``name(tensors, kind)`` says what known ones are, and
    ``rest(kind)`` names all that is live and has no name.
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
                self._handle()
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
                found = self.live.get(t.untyped_storage()._cdata)
                if found is not None:
                    stream.kinds[found[0]] = kind

        def rest(self, kind: str) -> None:
            for id_, _ in self.live.values():
                stream.kinds.setdefault(id_, kind)

        def _relaid(self, args: Any, out: Any) -> None:
            """cuDNN's tensor-core kernels work on copies in channels-last order, which live as long as the operation."""
            used = [args[0], args[1] if isinstance(out, tuple) else out]  # of a backward: what came, and the input
            if any(t.ndim < 4 or (t.shape[1] > 1 and is_channels_last(t)) for t in used):
                return
            stream.free(stream.take(sum(t.numel() * t.element_size() for t in used), "workspace"))

        def _handle(self) -> None:
            """cuBLAS keeps a workspace for each thread that uses it: the forward pass's, and autograd's own."""
            phase = stream.marks[-1][1] if stream.marks else "forward"
            thread = "backward" if phase == "backward" else "forward"
            if thread not in self.workspaces:
                self.workspaces.add(thread)
                stream.take(CUBLAS_WORKSPACE, "workspace")

    return Recorder()


def is_channels_last(t: Any) -> bool:
    import torch

    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return bool(t.ndim in formats and t.is_contiguous(memory_format=formats[t.ndim]))


CUBLAS_WORKSPACE = 8_519_680
"""Bytes: torch's default ``:4096:2:16:8`` before Hopper; 32 MiB there."""

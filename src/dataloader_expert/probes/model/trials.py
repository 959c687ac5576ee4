"""One training step at one batch size: on a CUDA device, or traced on fake tensors and replayed in its allocator."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

from dataloader_expert.facts import Json
from dataloader_expert.probes.model.allocator import DeviceFull
from dataloader_expert.probes.model.assumptions import assuming
from dataloader_expert.probes.model.calling import unfused
from dataloader_expert.probes.model.cuda_semantics import as_on_cuda, autocast
from dataloader_expert.probes.model.empty_model import faked
from dataloader_expert.probes.model.kernels import HOPPER, MULTIPROCESSORS
from dataloader_expert.probes.model.live_bytes import PHASES, Stream, envelopes, peaks, recorder, replayed
from dataloader_expert.probes.model.training_step import loss_of, optimizer_of, step, warmed
from dataloader_expert.probes.model.values_read import Values, reading

Call = Callable[[Any, Any], tuple[Callable[[], Any], Any]]
"""Model and batch to a forward pass without arguments, and the target of the loss (None: none)."""


@dataclass(frozen=True)
class Setup:
    """How the step is taken. ``cap``: bytes that torch's allocator may reserve; ``evaluate``: a forward pass alone;
    ``major``, ``multiprocessors``: of the device that a trace stands for."""

    optimizer: str = "adamw"
    precision: str = "float32"
    channels_last: bool = False
    checkpointing: bool = False
    evaluate: bool = False
    cap: float | None = None
    steps: int = 3
    major: int = HOPPER
    multiprocessors: int = MULTIPROCESSORS


@dataclass(frozen=True)
class Trial:
    """What a step took. ``fits`` False: out of memory; ``error``: why nothing could be said.

    Attributes:
        allocated, reserved: the peaks of tensors, and of what torch's allocator took from the device, in bytes.
        phases: the peak of each phase, without buffers that kernels borrow, which raise the highest by ``buffers``.
        parts: what was live at the highest.
        context: bytes that the device holds beyond torch's allocator; None without a device.
        free: bytes that were free on the device before the first tensor; None without a device.
        step_s: seconds of a step on the device.
        by_mask: whether a mask without values was taken to select everything, so that less may be taken.
    """

    batch_size: int
    fits: bool
    allocated: int = 0
    reserved: int = 0
    phases: dict[str, int] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    loss: str = ""
    retries: int = 0
    buffers: int = 0
    context: int | None = None
    free: int | None = None
    step_s: float | None = None
    by_mask: bool = False
    error: str | None = None

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def without_devices() -> None:
    """No CUDA device is visible to this process from here on, if it has touched none.

    An optimizer asks whether its stream is being captured, and many a model whether it may move to a device: either
    would initialise CUDA, which a fork of this process could then no longer use.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


def traced(
    make: Callable[[], Any], batch: Callable[[], Any], call: Call, size: int, setup: Setup, values: Values | None = None
) -> Trial:
    """The step on fake tensors; its stream of allocations is replayed in a simulated allocator.

    ``values``: what the model reads of tensors in Python, from ``values_read``.

    Raises:
        Exception: whatever the model raises, or torch where the model reads values that fake tensors do not have.
    """
    return measured(*_faked_stream(make, batch, call, setup, values), size, setup)


def values_read(make: Callable[[], Any], batch: Callable[[], Any], call: Call, setup: Setup) -> dict[str, list[Json]]:
    """What the model reads of tensors in Python, by line, over one real step on the CPU."""
    model = make().train(not setup.evaluate)
    forward, target = call(model, batch())
    with reading() as seen:
        loss, _ = loss_of(forward(), target)
        if loss.requires_grad:
            loss.backward()
    return seen


def traced_twice(
    make: Callable[[], Any],
    batch: Callable[[int], Any],
    call: Call,
    sizes: tuple[int, int],
    setup: Setup,
    values: Values | None = None,
) -> tuple[list[Trial], dict[str, list[tuple[float, float]]] | None]:
    """The same at two sizes, and the lines that the peak of each phase follows between and beyond them."""
    (low, words), (high, _) = (_faked_stream(make, lambda n=n: batch(n), call, setup, values) for n in sizes)  # type: ignore[misc]  # n is bound
    made = [measured(s, words, n, setup) for s, n in zip((low, high), sizes, strict=True)]
    return made, envelopes(low, sizes[0], high, sizes[1])


def _faked_stream(
    make: Callable[[], Any], batch: Callable[[], Any], call: Call, setup: Setup, values: Values | None
) -> tuple[Stream, str]:
    from torch._subclasses.fake_tensor import FakeTensorMode

    model = make()
    with FakeTensorMode(allow_non_fake_inputs=True):
        faked(model)
        return recorded(model, batch, call, setup, values=values)


def run_here(make: Callable[[], Any], batch: Callable[[], Any], call: Call, size: int, setup: Setup) -> Trial:
    """The same with real tensors on the CPU, for a model that fake tensors cannot run."""
    return measured(*recorded(make(), batch, call, setup), size, setup)


def recorded(
    model: Any,
    batch: Callable[[], Any],
    call: Call,
    setup: Setup,
    as_cuda: bool = True,
    foreach: bool = True,
    values: Values | None = None,
) -> tuple[Stream, str]:
    """The stream of one step (or one forward pass) after the optimizer has its states, and the loss in words.

    ``as_cuda`` False records what the CPU itself allocates, to be compared with what it counts.
    """
    import torch

    stream = Stream()
    words = ""
    model.train(not setup.evaluate)
    if setup.channels_last:
        for p in model.parameters():  # Module.to() cannot swap fake parameters
            p.data = placed(p.data, "cpu", channels_last=True)
    trained = [p for p in model.parameters() if p.requires_grad]
    with assuming(values) as assumed, recorder(stream, setup.major, setup.multiprocessors) as live:
        live.allowances = as_cuda
        live.see(model.parameters(), "parameters")
        live.see(model.buffers(), "buffers")
        optimizer = None
        if trained and not setup.evaluate:
            optimizer = optimizer_of(setup.optimizer, trained, foreach)
            warmed(optimizer)
            if as_cuda:  # where torch keeps the number of steps on the host, unless it is asked for a captured step
                live.elsewhere(state["step"] for state in optimizer.state.values() if "step" in state)
            live.rest("optimizer_states")
        given = placed(batch(), "cpu", setup.channels_last)
        live.rest("batch")
        for p in trained:
            p.register_post_accumulate_grad_hook(lambda p: live.name([p.grad], "gradients"))

        def mark(phase: str) -> None:
            if phase == "backward":
                live.rest("activations")
            stream.marks.append((len(stream.events), phase))

        forward, target = call(model, given)
        cast = autocast(setup.precision)
        with as_on_cuda(setup.precision) if as_cuda else nullcontext(), unfused():
            if optimizer is None:
                mark("forward")
                with torch.no_grad(), cast:
                    out = forward()
                mark("end")
                del out
            else:
                words = step(forward, target, optimizer, cast, mark)
    stream.by_mask = "masks" in assumed
    return stream, words


def measured(stream: Stream, words: str, size: int, setup: Setup) -> Trial:
    """What a device's allocator makes of the stream."""
    top = max((peak for phase, peak in peaks(stream).items() if phase in PHASES), key=lambda p: p.bytes)
    phases = {phase: peak.bytes for phase, peak in peaks(stream, buffers=False).items() if phase in PHASES}
    buffers = top.bytes - max(phases.values())
    try:
        device = replayed(stream, setup.cap or math.inf)
    except DeviceFull:
        return Trial(size, False, top.bytes, 0, phases, top.parts, words, buffers=buffers, by_mask=stream.by_mask)
    taken = device.most_allocated, device.most_reserved
    return Trial(size, True, *taken, phases, top.parts, words, device.retries, buffers, by_mask=stream.by_mask)


def on_cuda(make: Callable[[], Any], batch: Callable[[], Any], call: Call, size: int, setup: Setup) -> Trial:
    """The step on the first CUDA device: two to warm up, then ``setup.steps`` measured. For a process of its own."""
    import torch

    device = torch.device("cuda", 0)
    total = torch.cuda.get_device_properties(device).total_memory
    free_before = torch.cuda.mem_get_info(device)[0]
    if setup.cap is not None:
        torch.cuda.set_per_process_memory_fraction(min(1.0, setup.cap / total), device)
    try:
        steps = _steps(make().to(device), placed(batch(), "cuda", setup.channels_last), call, setup)
    except torch.cuda.OutOfMemoryError:
        taken = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        return Trial(size, False, *taken, free=free_before)
    words, peaks_, reserved, seconds = steps
    context = max(0, free_before - torch.cuda.mem_get_info(device)[0] - torch.cuda.memory_reserved())
    retries = int(torch.cuda.memory_stats()["num_alloc_retries"])
    phases = {phase: peak for phase, peak in peaks_.items() if phase in PHASES}
    return Trial(
        size, True, max(peaks_.values()), reserved, phases, {}, words, retries, 0, context, free_before, seconds
    )


def _steps(model: Any, given: Any, call: Call, setup: Setup) -> tuple[str, dict[str, int], int, float]:
    """The loss in words, the peak of each phase and between steps (``end``), the most reserved, and seconds of a step."""
    import torch

    phases: dict[str, int] = {}
    reserved = 0
    last = "end"

    def mark(phase: str) -> None:
        nonlocal last, reserved
        phases[last] = max(phases.get(last, 0), torch.cuda.max_memory_allocated())
        reserved = max(reserved, torch.cuda.max_memory_reserved())
        torch.cuda.reset_peak_memory_stats()  # each phase has a peak of its own
        last = phase

    model.train(not setup.evaluate)
    if setup.channels_last:
        model.to(memory_format=torch.channels_last)
    half = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(setup.precision)
    cast: Callable[[], AbstractContextManager[Any]] = lambda: torch.autocast(  # noqa: E731  # one line, used twice
        "cuda", dtype=half or torch.float16, enabled=half is not None
    )
    forward, target = call(model, given)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = None if setup.evaluate or not trained else optimizer_of(setup.optimizer, trained)
    words, begun = "", 0.0
    for turn in range(2 + setup.steps):
        if turn == 2:
            torch.cuda.synchronize()
            mark("end")
            phases, reserved = {}, 0
            begun = time.perf_counter()
        if optimizer is None:
            mark("forward")
            with torch.no_grad(), cast():
                words = loss_of(forward(), target)[1]
            mark("end")
        else:
            words = step(forward, target, optimizer, cast(), mark)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begun
    mark("end")
    return words, phases, reserved, seconds / max(1, setup.steps)


def placed(value: Any, device: str, channels_last: bool = False) -> Any:
    """The batch on the device; tensors of four dimensions in channels-last order if asked."""
    import torch

    if isinstance(value, torch.Tensor):
        moved = value.to(device)
        return moved.contiguous(memory_format=torch.channels_last) if channels_last and moved.ndim == 4 else moved
    if isinstance(value, dict):
        return {k: placed(v, device, channels_last) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(placed(v, device, channels_last) for v in value))
    if isinstance(value, list | tuple):
        return type(value)(placed(v, device, channels_last) for v in value)
    return value


def checkpointed(model: Any) -> Any:
    """The model with gradient checkpointing switched on.

    Raises:
        NotImplementedError: if it has no switch for it.
    """
    switch = getattr(model, "gradient_checkpointing_enable", None) or getattr(model, "set_grad_checkpointing", None)
    if switch is None:
        raise NotImplementedError("the model has neither gradient_checkpointing_enable() nor set_grad_checkpointing()")
    switch()
    return model

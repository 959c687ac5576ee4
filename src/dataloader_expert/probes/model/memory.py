"""Memory of a training step: measured on a CUDA device in processes of their own, else predicted from traces."""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from dataloader_expert.facts import Evidence, Fact, Json, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.model.check import MODEL, SPEC
from dataloader_expert.probes.model.fitting import (
    SIZES,
    Fit,
    Line,
    fitted,
    largest_fitting,
    largest_near,
    straightened,
)
from dataloader_expert.probes.model.sizes import chosen_size, host_limit
from dataloader_expert.probes.model.spec import Tree, from_json, leaves, listed
from dataloader_expert.probes.model.trials import Setup, Trial, without_devices
from dataloader_expert.probes.system.branches import Branches
from dataloader_expert.probes.system.environment import ENVIRONMENT

DEVICE_PEAK = Quantity("device_peak_bytes", "bytes", "peak memory of forward, backward and step at a batch size")
MEMORY_FIT = Quantity(
    "device_memory_fit", "bytes", "peak of each phase by batch size: a line, from three sizes, and its check"
)
MEMORY_PARTS = Quantity("device_memory_parts", "bytes", "what is live at the peak, by kind, and the peak of each phase")
DEVICE_LIMIT = Quantity(
    "device_limit", "samples", "the largest batch that was run, or traced, within the device's memory"
)
EVALUATION = Quantity("evaluation_bytes", "bytes", "peak of a forward pass without gradients: a line in the batch size")
INSTEAD = Quantity("device_peak_instead", "bytes", "peak of the step with one setting changed, at the same batch size")
STEP_SPEED = Quantity("step_throughput", "samples/s", "samples per second that the device trains on, by batch size")
CONTEXT = 512 << 20
"""Bytes that a process takes on a CUDA device beyond torch's allocator, where none could be measured."""
TRIAL_S = 60.0
SMALL = (2, 16)
"""Batch sizes that are run on a device first where a model could not be traced."""
FEW_SIZES = (2, 4, 8)
"""Batch sizes at which a model is run that needs real tensors, or that goes through lists with an entry for each sample."""
SHARE = 0.5
ON_DEVICE = 5
"""Trials of the search on a device, after a first at the size that is advised so far."""
STATES = {"adam": 2, "adamw": 2}
"""States of each parameter that an optimizer keeps; none by others, as far as is known."""
LONG = 20
"""Steps of the trial at the size advised."""
SHRINK = 0.95


@dataclass(frozen=True)
class ModelMemory(Probe):
    """``memory_limit``: bytes that torch may take of the device; None: all there is. ``batch_size``: as asked."""

    name: ClassVar[str] = "memory"
    doing: ClassVar[str] = "measuring the memory of a training step"
    of_model: ClassVar[bool] = True
    model: str = ""
    model_args: Any = None
    batch_size: int | None = None
    device: str = "auto"
    optimizer: str = "adamw"
    precision: str = "float32"
    memory_limit: int | None = None
    margin: float = 0.1

    def ready(self, bench: Bench) -> None:
        roots, args = bench.ref.roots, dict(self.model_args or {})

        def one(request: dict[str, Any]) -> dict[str, Any]:
            return work(request, self.model, args, roots)

        # traces share a process, which sees no device; a step on the device begins with torch and nothing of CUDA
        bench.untouched[self.name] = {"trace": Branches(one, warm, keep=True), "cuda": Branches(one, imported)}

    def measure(self, bench: Bench) -> Iterable[Observation]:
        branches: dict[str, Branches] = bench.untouched.pop(self.name)
        try:
            call = bench.facts.value(MODEL, {"call": None})["call"]
            if call is None:
                yield Unknown("memory.device_peak_bytes", "the model accepts no batch: see model_check")
                return
            devices = bench.facts.value(ENVIRONMENT, {"devices": []})["devices"] if self.device != "cpu" else []
            spec = {"spec": bench.facts.value(SPEC), "call": "\n".join(call)}
            tree = from_json(spec["spec"])
            unknown = unsized(tree, bench.facts.value(MODEL)["inputs"])
            if unknown:
                why = f"how the first dimension of {', '.join(unknown)} follows from the batch size is not known"
                yield Unknown("memory.device_peak_bytes", why)
                return
            until = bench.until(SHARE) or math.inf
            measuring = _Measuring(self, bench, branches, spec, devices, until)
            measuring.sizes = FEW_SIZES if listed(tree) else SIZES
            yield from measuring.all()
        finally:
            for branch in branches.values():
                branch.close()


def unsized(tree: Tree, fed: list[str] | None) -> list[str]:
    """The fields without a size for each batch size, of those that the model is fed (None: of all)."""
    return [name for name, leaf in leaves(tree) if None in leaf.shape and (fed is None or name in fed)]


class CannotTry(Exception):
    """No trial can be made; ``str()`` says why."""


class _Measuring:
    def __init__(
        self,
        asked: ModelMemory,
        bench: Bench,
        branches: dict[str, Branches],
        spec: dict[str, Any],
        devices: Any,
        until: float,
    ) -> None:
        self.asked, self.bench, self.branches, self.spec, self.until = asked, bench, branches, spec, until
        self.total = devices[0]["total_bytes"] if devices else None
        kind = {k: devices[0][k] for k in ("major", "multiprocessors")} if devices else {}
        self.setup = Setup(asked.optimizer, asked.precision, **kind)
        self.on = "trace"
        self.sizes = SIZES
        self.values: dict[str, Json] | None = None
        """What the model reads of tensors in Python, once that is known."""

    def trial(self, size: int, on: str | None = None, **changed: Any) -> Trial:
        """Raises:
        CannotTry: if it failed for another reason than memory, or took too long.
        """
        on = on or self.on
        setup = asdict(replace(self.setup, **changed))
        return Trial(**self.asked_of("cuda" if on == "cuda" else "trace", size=size, on=on, setup=setup))

    def asked_of(self, branch: str, **request: Any) -> dict[str, Any]:
        left = min(TRIAL_S, self.until - time.monotonic())
        if left <= 0.1:
            raise CannotTry("the budget ran out: raise budget_s")
        said = self.branches[branch].ask({**self.spec, "values": self.values, **request}, left)
        if said.get("error"):
            raise CannotTry(str(said["error"]))
        self.values = said.pop("values", self.values)
        return said

    def all(self) -> Iterator[Observation]:
        room = self.room(CONTEXT)
        fixed, state = self.bench.facts.value(MODEL, {"step_bytes": [0, 0]})["step_bytes"]
        least = fixed + STATES.get(self.setup.optimizer, 0) * state
        if room is not None and least > room:
            yield self.limit(0, 1, 0, room, "derived")
            text = f"parameters, gradients and the optimizer's states alone take {least / 1e9:.3g} GB"
            yield Unknown("memory.device_peak_bytes", f"no step fits: {text}, more than {room / 1e9:.3g} GB")
            return
        only = self.bench.facts.value(MODEL, {"only": None})["only"]
        if only is not None:
            yield from self.of_one_size(only, room)
            return
        fit: Fit | None = None
        trials: list[Trial] = []
        try:
            fit, trials = self.traced()
        except CannotTry as e:
            if self.total is None:
                yield Unknown("memory.device_peak_bytes", f"no training step could be traced: {e}")
                return
        if self.total is not None:
            kind, observed = self.on, list(self.measured(fit))
            yield from observed
            if fit is not None and not any(isinstance(o, Fact) and o.quantity is DEVICE_PEAK for o in observed):
                self.on = kind
                yield from self.told(fit, trials[-1], trials, "derived")
            return
        assert fit is not None
        room = self.room(CONTEXT)
        most = host_limit(self.bench.facts, self.bench.memory_bytes, self.asked.margin)["value"]
        limit: int | None = None
        size: int | None = None
        try:
            if room is not None:
                search = largest_fitting(lambda n: self.trial(n, cap=room), fit, room, most)
                limit = search.size
                yield self.limit(search.size, search.failed, search.trials, room, "derived")
            size, _ = chosen_size(self.bench.facts, self.asked.batch_size, most if limit is None else min(most, limit))
            last = self.trial(size)
            yield from self.told(fit, last, trials, "derived")
            yield from self.others(last)
        except CannotTry as e:
            if size is None:
                most = fit.largest(room, most) if room is not None else most
                size, _ = chosen_size(self.bench.facts, self.asked.batch_size, most)
            yield from self.told(fit, trials[-1], trials, "derived", at=size)
            yield Unknown("memory: the limit, or its check at the recommended size", str(e))

    def of_one_size(self, size: int, room: int | None) -> Iterator[Observation]:
        """The step of a model that takes no batch of another size, of which no line can be drawn."""
        self.on, how = ("trace", "derived") if self.total is None else ("cuda", "probed")
        try:
            made = self.trial(size, cap=room)
        except CannotTry as e:
            yield Unknown("memory.device_peak_bytes", f"no training step could be taken: {e}")
            return
        if room is not None:
            yield self.limit(size if made.fits else 0, None if made.fits else size, 1, room, how)
        if made.fits:
            yield from self.of_step(made, how, 1)

    def traced(self) -> tuple[Fit, list[Trial]]:
        """The fit from three sizes on fake tensors; where the model needs values, with real ones on the CPU, unless there is a
        device to run it."""
        try:
            return straightened(self.trial, self.twice, self.sizes)
        except CannotTry as e:
            why = str(e)
            if "budget" in why or "longer" in why or self.total is not None:
                raise
        self.on = "cpu"
        try:
            return straightened(self.trial, self.twice, FEW_SIZES)
        except CannotTry as e:
            raise CannotTry(f"{why}; with real tensors: {e}") from None

    def twice(self, sizes: tuple[int, int]) -> tuple[list[Trial], Any]:
        """Trials at both sizes, and the lines that the peaks of the phases follow; None where they must be drawn here."""
        if self.on != "trace":
            return [self.trial(n) for n in sizes], None
        said = self.asked_of("trace", size=sizes, on="twice", setup=asdict(self.setup))
        return [Trial(**t) for t in said["trials"]], said["lines"]

    def room(self, context: int, free: int | None = None) -> int | None:
        """Bytes that torch's allocator may take, the margin left free; None: nothing bounds it here. ``free``: of the
        device, part of which other processes may hold."""
        asked, margin = self.asked.memory_limit, self.asked.margin
        rooms = [] if asked is None else [asked]
        if self.total is not None:
            rooms.append(min(self.total - context, self.total if free is None else free))
        return int(min(rooms) * (1 - margin)) if rooms else None

    def measured(self, guess: Fit | None) -> Iterator[Observation]:
        """On the device: first the size advised so far, as time may end the rest; then trials near the largest batch that traces
        predict find the largest that runs. Without a trace (None) two small batches predict it."""
        most = host_limit(self.bench.facts, self.bench.memory_bytes, self.asked.margin)["value"]
        trials: list[Trial] = []
        room, kind = self.room(CONTEXT) or 0, self.on if guess is not None else "none"
        start = 0
        if guess is not None:
            start = min(most, guess.largest(room))
            if kind == "trace":
                with contextlib.suppress(CannotTry):  # without it the lines say where to begin
                    start = largest_fitting(lambda n: self.trial(n, cap=room), guess, room, most).size
        self.on = "cuda"
        search = None
        try:
            if guess is None:
                for n in dict.fromkeys(min(n, most) for n in SMALL):
                    if self.kept(trials, n, room).fits:
                        guess = through(trials)
                start = min(most, guess.largest(room)) if guess is not None else 1
            else:
                size, _ = chosen_size(self.bench.facts, self.asked.batch_size, start)
                self.kept(trials, min(size, max(1, start // 2)), room)  # below the limit, where it fits for certain
            first = trials[-1]
            room = self.room(first.context or CONTEXT, first.free) or room
            if guess is not None:
                start = min(start, guess.largest(room))  # others may hold a part of the device
            low = max((t.batch_size for t in trials if t.fits), default=0)
            search = largest_near(lambda n: self.kept(trials, n, room), start, most, 1 + ON_DEVICE - len(trials), low)
            tried = len(trials)
            if search.size > 1:
                self.kept(trials, search.size // 2, room)  # for its speed
        except CannotTry as e:
            rest = "memory: the speed at other batch sizes" if search is not None else "memory: the limit"
            yield Unknown(rest if trials else "memory.device_peak_bytes", f"on the device: {e}")
        fitting = [t for t in trials if t.fits]
        if not fitting:
            if search is not None:
                yield self.limit(0, search.failed, tried, room, "probed")
            return
        speeds = {t.batch_size: t.batch_size / t.step_s for t in fitting if t.step_s}
        for n, speed in sorted(speeds.items()):
            yield Fact(STEP_SPEED, speed, evidence("timed", "memory", seen=self.setup.steps), {"batch_size": n})
        most = max(t.batch_size for t in fitting)
        size, _ = chosen_size(self.bench.facts, self.asked.batch_size, most, speeds)
        last, failed = min(fitting, key=lambda t: abs(t.batch_size - size)), None
        try:
            made = self.trial(size, cap=room, steps=LONG)
            while not made.fits and size > 1:  # more steps may find less room
                failed, size = size, max(1, int(size * SHRINK))
                made = self.trial(size, cap=room, steps=LONG)
            last = made if made.fits else last
        except CannotTry as e:  # what is told is of fewer steps, or of another size
            yield Unknown(f"memory: the peak of {LONG} steps at the recommended size", str(e))
        if search is not None:
            limit = search.size if failed is None else min(last.batch_size, failed - 1)
            yield self.limit(limit, failed or search.failed, tried, room, "probed")
        yield from self.compared(guess or through(fitting), kind, last, fitting)

    def compared(self, guess: Fit, kind: str, last: Trial, fitting: list[Trial]) -> Iterator[Observation]:
        """What the device took, compared with what a trace at this size expects, corrected by what the device took beyond a
        trace at the nearest other size; and what other settings would take, from traces."""
        others = [t for t in fitting if t.batch_size != last.batch_size]
        near = min(others, key=lambda t: abs(math.log(t.batch_size / last.batch_size)), default=None)
        try:
            if kind != "trace":
                raise CannotTry
            same = self.trial(last.batch_size, kind)
            off = 0 if near is None else near.allocated - self.trial(near.batch_size, kind).allocated
        except CannotTry:  # it needs real tensors, or time is up
            fit = guess if near is None else guess.moved(near.allocated - guess.peak(near.batch_size))
            yield from self.told(fit, last, fitting, "probed")
            return
        yield from self.told(guess.moved(off), replace(last, parts=same.parts), fitting, "probed", same.allocated + off)
        self.on = kind
        yield from self.others(same)

    def kept(self, trials: list[Trial], size: int, room: int) -> Trial:
        made = self.trial(size, cap=room)
        trials.append(made)
        return made

    def limit(self, size: int, failed: int | None, tried: int, room: int, how: str) -> Fact:
        value = {"value": size, "failed": failed, "trials": tried, "room": room, "margin": self.asked.margin}
        return Fact(DEVICE_LIMIT, value, evidence(how, "memory", seen=tried))

    def told(
        self,
        fit: Fit,
        last: Trial,
        trials: list[Trial],
        how: str,
        expected: int | None = None,
        at: int | None = None,
    ) -> Iterator[Observation]:
        """The facts of the step at the size advised, and the line with its check there; ``expected``: the peak that was
        expected there, if not the line's; ``at``: the size advised, where there was no time for a trial of it: its step is the lines'."""
        yield from self.of_step(last if at is None else estimated(fit, last, at), how, len(trials) + 1)
        got = last.allocated
        if expected is None:  # tensors; an allocator's blocks may be larger
            expected, got = round(fit.peak(last.batch_size)), max(last.phases.values(), default=got)
        off = expected / got - 1
        check = {"batch_size": last.batch_size, "predicted": expected, "got": got}
        value = {**fit.to_json(), "check": {**check, "error": round(off, 5)}, "on": self.on}
        yield Fact(MEMORY_FIT, value, self.seen(last, how, len(trials) + 1))
        try:
            on = "trace" if self.on == "cuda" and last.parts else self.on  # a third of a second, where it can be traced
            low, high = (self.trial(b, on, evaluate=True) for b in (8, 16))
        except CannotTry:
            return
        slope = (high.allocated - low.allocated) / 8
        line = Line(low.allocated - 8 * slope, slope)
        seen = evidence("probed" if on == "cuda" else "derived", "memory", seen=2)
        yield Fact(EVALUATION, [line.base, line.per_sample], seen)

    def of_step(self, made: Trial, how: str, tried: int) -> Iterator[Observation]:
        """The peak of one step, and what it is made of."""
        n, seen = {"batch_size": made.batch_size}, self.seen(made, how, tried)
        yield Fact(DEVICE_PEAK, made.allocated, seen, n)
        top = max(made.phases, key=lambda p: made.phases[p]) if made.phases else None
        parts: dict[str, Json] = {"parts": made.parts, "phases": made.phases, "peak_at": top, "reserved": made.reserved}
        yield Fact(
            MEMORY_PARTS, {**parts, "loss": made.loss, "context": made.context, "retries": made.retries}, seen, n
        )

    def seen(self, made: Trial, how: str, tried: int) -> Evidence:
        conditions = {"on": self.on, "optimizer": self.setup.optimizer, "precision": self.setup.precision}
        if made.by_mask:
            conditions["masks"] = "taken to select everything"
        return evidence(how, "memory", seen=tried, conditions=conditions)

    def others(self, last: Trial) -> Iterator[Observation]:
        """The same step with one setting changed, each from one trace."""
        changes: list[dict[str, Any]] = []
        if self.setup.precision == "float32":
            changes.append({"precision": "bfloat16"})
        if last.parts.get("workspace", 0) > 0.1 * last.allocated:
            changes.append({"channels_last": True})
        changes.append({"checkpointing": True})
        if self.setup.optimizer != "sgd" and last.parts.get("optimizer_states", 0) > 0.25 * last.allocated:
            changes.append({"optimizer": "sgd"})
        for change in changes:
            try:
                made = self.trial(last.batch_size, "trace" if self.on == "cuda" else self.on, **change)
            except CannotTry:  # the model has no such switch, or time is up
                continue
            [(name, value)] = change.items()
            at = {"batch_size": last.batch_size, name: value}
            yield Fact(INSTEAD, made.allocated, evidence("derived", "memory", seen=1), at)


def estimated(fit: Fit, near: Trial, size: int) -> Trial:
    """The step at a size that was not tried, by the lines; what is live at its peak, they do not tell."""
    phases = {p: round(max(line.at(size) for line in lines)) for p, lines in fit.phases.items()}
    peak = max(phases.values())
    return replace(near, batch_size=size, allocated=peak, reserved=peak, phases=phases, parts={})


def through(trials: list[Trial]) -> Fit:
    """The line through the last two trials; of one, as if the model itself took nothing."""
    if len(trials) > 1:
        return fitted(*trials[-2:])
    [made] = trials
    return Fit({p: (Line(0.0, n / made.batch_size),) for p, n in made.phases.items()}, (made.batch_size,), False)


def imported() -> None:
    """Imports what a step on a device needs, which touches no device."""
    import torch  # noqa: F401

    import dataloader_expert.probes.model.empty_model
    import dataloader_expert.probes.model.trials  # noqa: F401  # for the processes that are forked from this one


def warm() -> None:
    """Hides the devices, which a trace must not touch, and imports what the first one would import."""
    without_devices()
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from dataloader_expert.probes.model.spec import Leaf
    from dataloader_expert.probes.model.training_step import optimizer_of, warmed
    from dataloader_expert.probes.model.trials import traced

    leaf = Leaf("float32", ("B", 2))
    # without a backward pass: a fork of a process whose autograd has started threads for devices cannot use its own
    setup = Setup(evaluate=True)
    traced(lambda: torch.nn.Linear(2, 2), lambda: leaf.tensor(2), lambda m, b: (lambda: m(b), None), 2, setup)
    with FakeTensorMode(allow_non_fake_inputs=True):
        warmed(optimizer_of("adamw", [torch.nn.Parameter(torch.empty(2))]))


def work(request: dict[str, Any], model: str, args: dict[str, Any], roots: tuple[str, ...]) -> dict[str, Any]:
    """One trial; each begins with the same random numbers, so that a model that draws takes the same way at every size."""
    import numpy as np
    import torch

    from dataloader_expert.probes.model import trials, values_read
    from dataloader_expert.probes.model.empty_model import made_empty
    from dataloader_expert.probes.model.lazy import settled
    from dataloader_expert.probes.model.spec import batch_of
    from dataloader_expert.probes.model.training_step import with_own_loss
    from dataloader_expert.probes.model.ways import functions
    from dataloader_expert.sources.reference import load

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    tree, size, setup = from_json(request["spec"]), request["size"], Setup(**request["setup"])
    adapt, target = functions(request["call"])

    def call(made: Any, batch: Any) -> tuple[Any, Any]:
        given, named = adapt(batch)
        return (lambda: with_own_loss(made(*given, **named), named)), target(batch)

    def make() -> Any:
        made = settled(load(model, args, roots, "model_args"), [lambda m: call(m, batch_of(tree, FEW_SIZES[0]))[0]()])
        return trials.checkpointed(made) if setup.checkpointing else made

    def batch() -> Any:
        return batch_of(tree, size)

    if request["on"] in ("cuda", "cpu"):
        on = {"cuda": trials.on_cuda, "cpu": trials.run_here}[request["on"]]
        return on(make, batch, call, size, setup).to_json()

    def traced(values: Any) -> dict[str, Any]:
        def empty() -> Any:
            return made_empty(make)

        if request["on"] == "twice":
            both = trials.traced_twice(empty, lambda n: batch_of(tree, n), call, tuple(size), setup, values)
            return {"trials": [t.to_json() for t in both[0]], "lines": both[1]}
        return trials.traced(empty, batch, call, size, setup, values).to_json()

    def read() -> Any:
        return trials.values_read(make, lambda: batch_of(tree, values_read.SIZE), call, setup)

    said, values = values_read.answered(traced, read, request["values"])
    return {**said, "values": values}


PROBES = (ModelMemory,)

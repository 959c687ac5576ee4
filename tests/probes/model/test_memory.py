"""Memory of a training step: traces against real tensors, the allocator, the line through three sizes, the search."""

from __future__ import annotations

import functools
import math
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode

from dataloader_expert.probes.model.allocator import LARGE_SEGMENT, CachingAllocator, DeviceFull, rounded
from dataloader_expert.probes.model.empty_model import faked, made_empty, parameter_bytes
from dataloader_expert.probes.model.fitting import (
    ENOUGH,
    MOST_TRIALS,
    Fit,
    Line,
    largest_fitting,
    largest_near,
    straightened,
)
from dataloader_expert.probes.model.growth import Growth
from dataloader_expert.probes.model.live_bytes import PHASES, peaks
from dataloader_expert.probes.model.memory import estimated
from dataloader_expert.probes.model.spec import batch_of, from_json, of_batch, of_input, to_json
from dataloader_expert.probes.model.trials import Setup, Trial, recorded, run_here, traced, traced_twice
from dataloader_expert.probes.system.branches import Branches
from tests.making.standard_models import MODELS, Cnn, Encoder


def call(model: Any, batch: Any) -> tuple[Callable[[], Any], Any]:
    given = dict(batch)
    target = given.pop("label", None)
    return (lambda: model(*given.values())), target


@functools.cache
def trace(name: str, size: int, **setup: Any) -> Trial:
    cls, described = MODELS[name]
    tree = of_input(described)
    return traced(lambda: made_empty(cls), lambda: batch_of(tree, size), call, size, Setup(**setup))


def twice(name: str, sizes: tuple[int, int]) -> Any:
    cls, described = MODELS[name]
    tree = of_input(described)
    return traced_twice(lambda: made_empty(cls), lambda n: batch_of(tree, n), call, sizes, Setup())


@functools.cache
def fit_of(name: str) -> tuple[Fit, list[Trial]]:
    return straightened(lambda n: trace(name, n), lambda sizes: twice(name, sizes))


@pytest.mark.journey
@pytest.mark.parametrize("name", [n for n in MODELS if n != "lstm"])  # on the CPU its kernel hides what it takes
def test_a_trace_counts_what_real_tensors_take(name: str) -> None:
    """Our promise: without what only a CUDA device does, fake and real tensors give the same peaks, to the byte."""
    cls, described = MODELS[name]
    tree = of_input(described)

    def batch() -> Any:
        return batch_of(tree, 4)

    with FakeTensorMode(allow_non_fake_inputs=True):
        model = made_empty(cls)
        faked(model)
        faked_, _ = recorded(model, batch, call, Setup(), as_cuda=False, foreach=False)
    real, _ = recorded(cls(), batch, call, Setup(), as_cuda=False, foreach=False)
    of_fake, of_real = ({p: k.bytes for p, k in peaks(s).items() if p in PHASES} for s in (faked_, real))
    for phase in PHASES:
        assert of_fake[phase] == pytest.approx(of_real[phase], rel=0.02), phase


@pytest.mark.journey
@pytest.mark.parametrize("name", MODELS)
def test_the_line_through_three_sizes_holds_far_beyond_them(name: str) -> None:
    """Our promise: within half a percent at any size, whatever piece is the peak there."""
    fit, trials = fit_of(name)
    assert fit.straight
    assert len({t.batch_size for t in trials}) >= 3
    for size in (24, 8 * trials[-1].batch_size):
        got = trace(name, size)
        assert fit.peak(size) == pytest.approx(max(got.phases.values()), rel=0.005)
        assert fit.peak(size) + got.buffers == pytest.approx(got.allocated, rel=0.02)


@pytest.mark.journey
def test_small_batches_mislead_and_the_phases_do_not() -> None:
    """The facts: a line through batches of 1 and 2 misses the peak of 128, which another phase sets."""
    one, two, far = (trace("encoder", n).allocated for n in (1, 2, 256))
    assert one + (two - one) * 255 < 0.7 * far
    fit, _ = fit_of("encoder")
    assert fit.peak(256) == pytest.approx(far, rel=0.01)


def test_the_optimizers_step_takes_five_times_the_parameters() -> None:
    """The facts: parameters, gradients, two moments and one temporary of foreach; workspaces come on top."""
    made = trace("embedding", 8)
    held = parameter_bytes(MODELS["embedding"][0]())
    assert max(made.phases, key=lambda p: made.phases[p]) == "optimizer_step"
    without = made.phases["optimizer_step"] - made.parts["workspace"]
    assert without == pytest.approx(5 * held, rel=0.01)


@pytest.mark.journey
@pytest.mark.parametrize("name", ["cnn", "encoder", "decoder", "unet", "lstm"])
def test_half_precision_keeps_less(name: str) -> None:
    """Our promise: activations of autocast take between half and nine tenths of those of float32."""
    whole, half = (trace(name, 32, precision=p).parts["activations"] for p in ("float32", "bfloat16"))
    assert 0.45 * whole < half < 0.9 * whole


@pytest.mark.journey
def test_checkpointing_and_channels_last_and_sgd_take_less() -> None:
    """Our promise: each is traced as the model would run it."""

    def encoder(checkpoint: bool) -> Trial:
        tree = of_input(MODELS["encoder"][1])
        make = lambda: made_empty(lambda: Encoder(depth=8, vocabulary=500, checkpoint=checkpoint))  # noqa: E731
        return traced(make, lambda: batch_of(tree, 16), call, 16, Setup())

    kept, again = (made.allocated - made.parts["workspace"] for made in map(encoder, (False, True)))
    assert again < 0.6 * kept
    assert trace("cnn", 16, channels_last=True).allocated < trace("cnn", 16).allocated
    assert trace("embedding", 16, optimizer="sgd").allocated < 0.7 * trace("embedding", 16).allocated


def test_a_forward_pass_alone_takes_less_than_a_step() -> None:
    assert trace("cnn", 32, evaluate=True).allocated < 0.6 * trace("cnn", 32).allocated


class ReadsValues(torch.nn.Module):
    """Keeps the rows above nought: their number is in the values."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x[x[:, 0] > float(x.min())])


def test_a_model_that_reads_values_is_run_with_real_tensors() -> None:
    """Our promise: fake tensors cannot run it, real ones can."""
    tree = of_input({"x": {"shape": ["B", 6]}})
    arguments: Any = (lambda: ReadsValues(), lambda: batch_of(tree, 8), call, 8, Setup())
    with pytest.raises(Exception, match="_local_scalar_dense"):
        traced(*arguments)
    assert run_here(*arguments).allocated > 0


@given(st.lists(st.tuples(st.integers(1, 40 << 20), st.integers(0, 5)), min_size=1, max_size=60))
def test_an_allocator_reserves_what_it_holds_and_no_piece_is_lost(steps: list[tuple[int, int]]) -> None:
    """Our promise: whatever is taken and freed, reserved bounds allocated, and freeing all gives whole segments back."""
    device, held = CachingAllocator(), []
    for size, frees in steps:
        held.append(device.take(size))
        assert held[-1].size >= rounded(size)
        for _ in range(min(frees, len(held))):
            device.give(held.pop(random.Random(size).randrange(len(held))))
        assert sum(b.size for b in held) == device.allocated <= device.reserved
    for block in held:
        device.give(block)
    assert device.allocated == 0
    device.cap = max(device.reserved, LARGE_SEGMENT)  # so much fits at once only after every segment was given back
    device.take(int(device.cap))
    assert device.reserved == device.cap


def test_the_allocators_sizes_are_torchs() -> None:
    """CUDACachingAllocator: 512-byte blocks, segments of 2 and 20 MiB, larger ones of their own in steps of 2 MiB."""
    for size, taken, reserved in [
        (1, 512, 2 << 20),
        (513, 1024, 2 << 20),
        (1 << 20, 1 << 20, 2 << 20),
        ((1 << 20) + 1, (1 << 20) + 512, 20 << 20),
        ((10 << 20) + 1, (10 << 20) + 512, 12 << 20),
    ]:
        device = CachingAllocator()
        assert device.take(size).size == taken
        assert device.reserved == reserved


def test_a_full_device_gives_back_what_is_cached_before_it_refuses() -> None:
    """torch's: num_alloc_retries counts it."""
    device = CachingAllocator(cap=30 << 20)
    device.give(device.take(16 << 20))
    device.take(20 << 20)
    assert (device.retries, device.reserved) == (1, 20 << 20)
    with pytest.raises(DeviceFull):
        device.take(11 << 20)


@dataclass(frozen=True)
class Run:
    """A trial of a simulated device; ``phases`` as a line gives them, reserved with what fragmentation adds."""

    batch_size: int
    fits: bool
    allocated: int
    reserved: int
    phases: dict[str, int] = field(default_factory=dict)


@given(
    base=st.floats(1e6, 4e9),
    each=st.floats(1e3, 5e8),
    step=st.floats(1e6, 4e9),
    lost=st.floats(0, 0.25),
    room=st.floats(2e9, 8e10),
)
def test_the_search_reaches_the_limit_in_six_trials_and_never_beyond(
    base: float, each: float, step: float, lost: float, room: float
) -> None:
    """Our promise: at least 95 % of the largest batch that fits, within six trials, none returned that was not run."""
    tried: list[int] = []

    def fits(n: int) -> bool:
        return max(step, base + each * n) * (1 + lost) <= room

    def trial(n: int) -> Run:
        tried.append(n)
        phases = {"backward": int(base + each * n), "optimizer_step": int(step)}
        return Run(n, fits(n), max(phases.values()), 0, phases)

    fit = Fit({"backward": (Line(base, each),), "optimizer_step": (Line(step, 0.0),)}, (8, 64, 512), True)
    most = 1 << 24
    found = largest_fitting(trial, fit, room, most)
    largest = 0 if max(step, base + each) * (1 + lost) > room else int((room / (1 + lost) - base) / each)
    largest = min(most, largest)
    while largest and not fits(largest):
        largest -= 1
    assert found.trials <= MOST_TRIALS
    assert found.size <= largest
    assert found.size == 0 or found.size in tried
    assert found.size >= largest * (1 - ENOUGH) - 1


@given(largest=st.integers(0, 1 << 20), off=st.floats(0.9, 1.1), most=st.integers(1, 1 << 20))
def test_a_prediction_within_a_tenth_is_made_exact_in_five_trials(largest: int, off: float, most: int) -> None:
    """Our promise: the largest that runs, to 4 %, from what traces predict."""
    tried: list[int] = []

    def trial(n: int) -> Run:
        tried.append(n)
        return Run(n, n <= largest, 0, 0)

    found = largest_near(trial, round(largest * off), most, MOST_TRIALS - 1)
    assert len(tried) == found.trials <= MOST_TRIALS - 1
    assert found.size == max((n for n in tried if n <= largest), default=0)
    assert found.size >= min(largest, most) * (1 - ENOUGH) - 1
    assert found.failed == min((n for n in tried if n > largest), default=None)


@pytest.mark.journey
@pytest.mark.parametrize("name", ["cnn", "lstm", "mlp"])
@pytest.mark.parametrize("gib", [2, 8, 24])
def test_the_limit_of_a_simulated_device_is_found(name: str, gib: int) -> None:
    """Our promise: under three caps, by traces replayed in the allocator; bisection tells the truth."""
    room = int(0.9 * (gib << 30))
    fit, _ = fit_of(name)
    found = largest_fitting(lambda n: trace(name, n, cap=room), fit, room, 1 << 24)
    assert found.trials <= MOST_TRIALS
    assert trace(name, found.size, cap=room).fits
    over = math.ceil(found.size / 0.95)
    assert not trace(name, over, cap=room).fits


def test_a_batch_survives_its_description() -> None:
    """Our promise: nested, with what is no tensor; shapes, dtypes and the range of values."""
    batch = {"x": torch.full((4, 3), 7), "more": (torch.rand(4, 2), ["a", "b"]), "n": 3}
    tree = from_json(to_json(of_batch(batch, 4, {"more.0": Growth(("B", 9))})))
    made = batch_of(tree, 6)
    assert made["x"].shape == (6, 3)
    assert made["x"].dtype == torch.int64
    assert (made["x"] == 7).all()
    assert made["more"][0].shape == (6, 9)
    assert made["more"][1] == ["a", "b"]


@pytest.mark.parametrize(
    ("described", "told"),
    [
        ({"x": {"shape": ["B", "C"]}}, r"input\.x\.shape\[1\] is 'C'"),
        ({"x": {"shape": ["B"], "dtype": "float12"}}, "float12, which torch does not have"),
        ({"x": {"shape": ["B"], "size": 3}}, "input.x has size"),
        ({"x": None}, "input.x is None"),
        ([], "input is"),
    ],
)
def test_a_description_that_says_nothing_is_refused(described: Any, told: str) -> None:
    """Our promise: what, where, what to do."""
    with pytest.raises(ValueError, match=told):
        of_input(described)


def branch(request: dict[str, Any]) -> dict[str, Any]:
    if request["do"] == "die":
        os.kill(os.getpid(), signal.SIGABRT)
    if request["do"] == "raise":
        raise RuntimeError("out of order")
    if request["do"] == "wait":
        time.sleep(60)
    return {"said": request["do"], "pid": os.getpid()}


def test_what_ends_a_branch_ends_nothing_else() -> None:
    """Our promise: an abort, an exception and a hang are answers, and the next branch begins anew."""
    branches = Branches(branch)
    try:
        first = branches.ask({"do": "well"}, 20)
        assert branches.ask({"do": "die"}, 20)["error"] == "ended by SIGABRT"
        assert branches.ask({"do": "raise"}, 20)["error"] == "RuntimeError: out of order"
        assert branches.ask({"do": "wait"}, 0.5)["late"]
        last = branches.ask({"do": "well"}, 20)
        assert first["pid"] != last["pid"]
        assert last["said"] == "well"
    finally:
        branches.close()


def test_a_kept_branch_does_all_until_it_ends() -> None:
    """Our promise: one process for all the work, and another after a failure."""
    branches = Branches(branch, keep=True)
    try:
        first, second = (branches.ask({"do": "well"}, 20)["pid"] for _ in range(2))
        assert first == second
        for ending in ("die", "raise", "wait"):
            assert "error" in branches.ask({"do": ending}, 0.5 if ending == "wait" else 20)
            third, fourth = (branches.ask({"do": "well"}, 20)["pid"] for _ in range(2))
            assert first != third == fourth
            first = third
    finally:
        branches.close()


def test_a_models_tensors_are_shared_as_before_when_made_empty() -> None:
    """Our promise: tied weights count once."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    model[1].weight = model[0].weight
    before = parameter_bytes(model)
    with FakeTensorMode():
        faked(model)
    assert model[1].weight is model[0].weight
    assert parameter_bytes(model) == before
    assert parameter_bytes(made_empty(Cnn)) == parameter_bytes(Cnn())


def test_where_time_is_up_the_peak_is_that_of_the_size_advised() -> None:
    """Seen: the peak of 512 samples beside a batch size of 16, as the last trial had been made with 512."""
    fit = Fit({"forward": (Line(100.0, 10.0),), "backward": (Line(200.0, 9.0), Line(0.0, 12.0))}, (8, 64), True)
    made = estimated(fit, Trial(512, True, 6144, 8000, {"backward": 6144}, {"activations": 6000}, "squared error"), 16)
    assert (made.batch_size, made.allocated, made.phases) == (16, 344, {"forward": 260, "backward": 344})
    assert made.parts == {} and made.loss == "squared error"

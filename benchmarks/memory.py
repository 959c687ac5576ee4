"""Predicted memory compared with what can be measured: training steps, the limit of a device, and the host.

``python -m benchmarks.memory`` prints three tables:

- *steps*: the peak of a training step of eight standard models, traced on fake tensors as the CPU would run it, compared
  with the peak of torch's own CPU allocator, which the profiler records; on a CUDA device also the peak predicted for the
  device, compared with ``max_memory_allocated``. Without a device the second comparison is omitted, and the table says so;
- *limits*: the number of trials until 95 % of the largest batch that fits is reached, under three caps, compared with
  accelerate's ``find_executable_batch_size`` and Lightning's two methods (reimplemented: doubling, and doubling with
  bisection). Without a CUDA device a trial is a trace replayed in the simulated caching allocator;
- *host*: the growth of the process tree's proportional set size while a loader's queue is full, compared with the forecast.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.utils.data import Dataset

from benchmarks.common import HERE, keep

NAME = "memory"
CAPS_GB = (2, 8, 24)
MARGIN = 0.1
SIZE = 16
MOST = 1 << 24
GIVE_UP = 200
"""Trials after which a peer is stopped."""


def call(model: Any, batch: Any) -> tuple[Callable[[], Any], Any]:
    given = dict(batch)
    target = given.pop("label", None)
    return (lambda: model(*given.values())), target


def of(name: str) -> tuple[Any, Any]:
    from tests.making.standard_models import MODELS

    from dataloader_expert.probes.model.spec import of_input

    cls, described = MODELS[name]
    return cls, of_input(described)


def measured_on_the_cpu(name: str, size: int) -> int:
    """The peak of a step in torch's CPU allocator, its own kernels' scratch included; values are real."""
    from torch.profiler import ProfilerActivity, profile

    from dataloader_expert.probes.model.empty_model import parameter_bytes
    from dataloader_expert.probes.model.spec import batch_of
    from dataloader_expert.probes.model.training_step import optimizer_of, step, warmed

    cls, tree = of(name)
    model = cls().train()
    optimizer = optimizer_of("adamw", list(model.parameters()), foreach=False)
    warmed(optimizer)
    held = 3 * parameter_bytes(model)
    from contextlib import nullcontext

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        forward, target = call(model, batch_of(tree, size))
        step(forward, target, optimizer, nullcontext())
    events = [e for e in profiled.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak = held
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


def traced_as_on_the_cpu(name: str, size: int) -> int:
    from torch._subclasses.fake_tensor import FakeTensorMode

    from dataloader_expert.probes.model.empty_model import faked, made_empty
    from dataloader_expert.probes.model.live_bytes import PHASES, peaks
    from dataloader_expert.probes.model.spec import batch_of
    from dataloader_expert.probes.model.trials import Setup, recorded

    cls, tree = of(name)
    model = made_empty(cls)
    with FakeTensorMode(allow_non_fake_inputs=True):
        faked(model)
        stream, _ = recorded(model, lambda: batch_of(tree, size), call, Setup(), as_cuda=False, foreach=False)
    return max(peak.bytes for phase, peak in peaks(stream).items() if phase in PHASES)


def trial(name: str, size: int, cuda: bool, **setup: Any) -> Any:
    from dataloader_expert.probes.model.empty_model import made_empty
    from dataloader_expert.probes.model.spec import batch_of
    from dataloader_expert.probes.model.trials import Setup, on_cuda, traced, without_devices

    cls, tree = of(name)
    make = cls if cuda else lambda: made_empty(cls)
    if not cuda:
        without_devices()
    return (on_cuda if cuda else traced)(make, lambda: batch_of(tree, size), call, size, Setup(**setup))


def tried(name: str, size: int, cuda: bool, **setup: Any) -> dict[str, Any]:
    return dict(trial(name, size, cuda, **setup).to_json())


def tried_twice(name: str, sizes: tuple[int, int]) -> Any:
    """Traces at both sizes as JSON, and the lines of the phases between and beyond them."""
    from dataloader_expert.probes.model.empty_model import made_empty
    from dataloader_expert.probes.model.spec import batch_of
    from dataloader_expert.probes.model.trials import Setup, traced_twice, without_devices

    without_devices()
    cls, tree = of(name)
    made, lines = traced_twice(lambda: made_empty(cls), lambda n: batch_of(tree, n), call, sizes, Setup())
    return [[t.to_json() for t in made], lines]


def in_a_process(work: Callable[[], Any]) -> Any:
    """The JSON value that the work gives in a process of its own."""
    from dataloader_expert.probes.system.branches import Branches

    branches = Branches(lambda _: {"value": work()})
    try:
        said = branches.ask({}, 300)
    finally:
        branches.close()
    if "value" not in said:
        raise RuntimeError(said["error"])
    return said["value"]


def steps(names: list[str], cuda: bool) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        begun = time.perf_counter()
        row: dict[str, Any] = {"model": name, "batch": SIZE}
        row["cpu_traced"] = in_a_process(partial(traced_as_on_the_cpu, name, SIZE))
        row["cpu_measured"] = in_a_process(partial(measured_on_the_cpu, name, SIZE))
        for precision in ("float32", "bfloat16"):
            made = in_a_process(partial(tried, name, SIZE, False, precision=precision))
            row[f"cuda_traced_{precision}"] = made["allocated"]
            if cuda:
                got = in_a_process(partial(tried, name, SIZE, True, precision=precision))
                row[f"cuda_measured_{precision}"] = got["allocated"]
        rows.append({**row, "seconds": round(time.perf_counter() - begun, 1)})
        error = row["cpu_traced"] / row["cpu_measured"] - 1
        line = f"{name:10} CPU: {row['cpu_traced'] / 1e6:8.1f} MB traced, {row['cpu_measured'] / 1e6:8.1f} measured"
        line += f" {error:+6.1%}; CUDA: {row['cuda_traced_float32'] / 1e6:8.1f} traced (float32)"
        if cuda:
            line += f" {row['cuda_traced_float32'] / row['cuda_measured_float32'] - 1:+6.1%} of measured"
        print(line, flush=True)
    errors = [abs(r["cpu_traced"] / r["cpu_measured"] - 1) for r in rows]
    print(f"CPU: median error {statistics.median(errors):.1%}, worst {max(errors):.1%}")
    if not cuda:
        print("no CUDA device: what a device would take is not compared with one")
    return rows


class Full(RuntimeError):
    """As torch says it: accelerate looks for these words."""

    def __init__(self) -> None:
        super().__init__("CUDA out of memory.")


def peer_trials(fits: Callable[[int], bool], largest: int) -> dict[str, int | None]:
    """Trials of each peer until 95 % of the largest; None: it ends below."""
    wanted = 0.95 * largest
    out: dict[str, int | None] = {"accelerate": None, "lightning power": None, "lightning binsearch": None}
    try:
        from accelerate.utils import find_executable_batch_size
    except ImportError:
        out.pop("accelerate")
    else:
        seen: list[int] = []

        @find_executable_batch_size(starting_batch_size=128)  # type: ignore[untyped-decorator]  # its default
        def train(batch_size: int) -> int:
            seen.append(batch_size)
            if len(seen) < GIVE_UP and not fits(batch_size):
                raise Full
            return batch_size

        found = train()
        out["accelerate"] = len(seen) if wanted <= found <= largest else None
    size, count = 2, 0  # lightning.pytorch.tuner.batch_size_scaling: init_val=2, doubled until it does not fit
    while count < GIVE_UP and fits(size):
        count, size = count + 1, 2 * size
        if wanted <= size // 2 <= largest:
            out["lightning power"] = out["lightning binsearch"] = count
    count += 1
    low, high = size // 2, size
    while out["lightning binsearch"] is None and high - low > 1 and count < GIVE_UP:
        middle = (low + high) // 2
        count += 1
        if fits(middle):
            low = middle
            if low >= wanted:
                out["lightning binsearch"] = count
        else:
            high = middle
    return out


def limits(names: list[str], cuda: bool, caps_gb: list[int]) -> list[dict[str, Any]]:
    from dataloader_expert.probes.model.fitting import largest_fitting, straightened
    from dataloader_expert.probes.model.trials import Trial

    rows = []
    for name in names:

        def run(size: int, cap: float | None = None, on: bool = False, name: str = name) -> Trial:
            return Trial(**in_a_process(partial(tried, name, size, on, cap=cap)))

        def both(sizes: tuple[int, int], name: str = name) -> Any:
            made, lines = in_a_process(partial(tried_twice, name, sizes))
            return [Trial(**t) for t in made], lines

        fit, _ = straightened(run, both)
        for cap in caps_gb:
            room = int((cap << 30) * (1 - MARGIN))
            known: dict[int, bool] = {}

            def fits(size: int, known: dict[int, bool] = known, room: int = room, run: Any = run) -> bool:
                if size not in known:
                    known[size] = size <= MOST and run(size, room, cuda).fits
                return known[size]

            found = largest_fitting(partial(run, cap=room, on=cuda), fit, room, MOST)
            low, high = max(1, found.size), found.failed or 2 * max(1, found.size)
            while high - low > max(1, low // 500):
                middle = (low + high) // 2
                low, high = (middle, high) if fits(middle) else (low, middle)
            peers = peer_trials(fits, low)
            share = found.size / low
            rows.append(
                {"model": name, "cap_gb": cap, "found": found.size, "largest": low, "trials": found.trials, **peers}
            )
            said = ", ".join(f"{k} {'never' if v is None else v}" for k, v in peers.items())
            print(
                f"{name:10} {cap:3} GiB: {found.size:9,} of {low:9,} ({share:.1%}) in {found.trials} trials; {said}",
                flush=True,
            )
    return rows


def host() -> list[dict[str, Any]]:
    """The tool's figure of a loader, beside a fresh interpreter that runs the loader as it was advised."""
    from tests.making.asking import Asker

    rows = []
    asker = Asker()
    for side, size in [(224, 32), (224, 64), (64, 256), (128, 64), (32, 512)]:
        arguments = {"source_args": {"side": side}, "batch_size": size, "budget_s": 60}
        report: Any = asker.ask("recommend_batch_spec", f"{__file__}:Frames", str(HERE.parent), **arguments)
        told, workers = report.memory.host_total_bytes, report.dataloader.train["num_workers"]
        if told is None:
            print(f"{side:4} x {side:<4} batch {size:4}: not measured in time", flush=True)
            continue
        got = [int(fresh(f"print(on_the_host({side}, {size}, {workers}))")) for _ in range(3)]
        row = {"side": side, "batch": size, "workers": workers, "told": told, "measured": sorted(got)[1]}
        rows.append(row)
        print(
            f"{side:4} x {side:<4} batch {size:4}, {workers} workers: {told / 1e6:7.1f} MB told,"
            f" {row['measured'] / 1e6:7.1f} in a fresh process {told / row['measured'] - 1:+6.1%}",
            flush=True,
        )
    asker.close()
    return rows


class Frames(Dataset[Any]):
    """Frames of so many pixels a side, which take time to make."""

    def __init__(self, side: int) -> None:
        self.side = side

    def __len__(self) -> int:
        return 4_000

    def __getitem__(self, i: int) -> Any:
        time.sleep(0.001)
        return torch.full((3, self.side, self.side), float(i % 7)), i % 7


def fresh(code: str) -> str:
    """The last line that the code prints in a fresh interpreter: a fork's memory is shared with what it was forked from."""
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"from benchmarks.memory import on_the_host\n{code}"],
        check=True,
        capture_output=True,
        text=True,
        cwd=HERE.parent,
    )
    return said.stdout.strip().splitlines()[-1]


def on_the_host(side: int, size: int, workers: int) -> int:
    """The most that the process tree grew over batches that the consumer holds until the queue is full."""
    from dataloader_expert.loaders.building import build
    from dataloader_expert.plan import LoaderPlan
    from dataloader_expert.probes.model.host_memory import growth

    frames = Frames(side)
    frames[0]
    return growth(lambda: build(frames, LoaderPlan(batch_size=size, workers=workers, prefetch=2)), 30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("steps", "limits", "host"), default=None)
    parser.add_argument("--only", nargs="+", default=None, help="models")
    parser.add_argument("--caps-gb", nargs="+", type=int, default=CAPS_GB, help="GiB")
    given = parser.parse_args()
    from tests.making.standard_models import MODELS

    names = given.only or list(MODELS)
    cuda = in_a_process(torch.cuda.is_available)
    run: dict[str, Any] = {"device": in_a_process(torch.cuda.get_device_name) if cuda else "simulated allocator"}
    if given.part in (None, "steps"):
        run["steps"] = steps(names, cuda)
    if given.part in (None, "limits"):
        run["limits"] = limits(names, cuda, given.caps_gb)
    if given.part in (None, "host"):
        run["host"] = host()
    keep(NAME, run)


if __name__ == "__main__":
    main()

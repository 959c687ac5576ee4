"""Predicted memory compared with what can be measured: training steps, the limit of a device, and the host.

``python -m benchmarks.memory`` prints three tables:

- *steps*: the peak of a training step of eight standard models, traced on fake tensors as the CPU would run it, compared
  with the peak of torch's own CPU allocator, which the profiler records; on a CUDA device also the peak predicted for the
  device, compared with ``max_memory_allocated``. Without a device the second comparison is with what was last measured on
  one, if the same model was, and the table says so; other versions of the models' packages may take other memory.
  ``--published``: models of torchvision, transformers and timm instead;
- *limits*: the largest batch that ``recommend_batch_spec`` finds under three caps, the share of the largest that runs, and
  the number of trials; and of those until accelerate's ``find_executable_batch_size`` and Lightning's two methods
  (reimplemented: doubling, and doubling with bisection) reach 95 % of it. Without a CUDA device a trial is a trace
  replayed in the simulated caching allocator;
- *host*: the growth of the process tree's proportional set size while a loader's queue is full, compared with the forecast.
"""

from __future__ import annotations

import argparse
import inspect
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils.data import Dataset

from benchmarks.common import HERE, RESULTS, keep

NAME = "memory"
CAPS_GB = (2, 8, 24)
MARGIN = 0.1
SIZES = (16, 256)
MOST = 1 << 24
GIVE_UP = 200
"""Trials after which a peer is stopped."""


def call(model: Any, batch: Any) -> tuple[Callable[[], Any], Any]:
    given = dict(batch)
    target = given.pop("label", None)
    return (lambda: model(**given)), target


def models() -> dict[str, tuple[Callable[[], Any], dict[str, Any]]]:
    """What makes each model, and the ``input`` it is asked with."""
    from tests.making.standard_models import MODELS

    from benchmarks import published_models

    return {**MODELS, **published_models.MODELS}


def of(name: str) -> tuple[Any, Any]:
    from dataloader_expert.probes.model.spec import of_input

    make, described = models()[name]
    return make, of_input(described)


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
    from dataloader_expert.probes.model import trials, values_read
    from dataloader_expert.probes.model.empty_model import made_empty
    from dataloader_expert.probes.model.spec import batch_of

    make, tree = of(name)
    taken = trials.Setup(**setup)

    def batch() -> Any:
        return batch_of(tree, size)

    if cuda:
        return trials.on_cuda(make, batch, call, size, taken)
    trials.without_devices()
    return values_read.answered(
        lambda values: trials.traced(lambda: made_empty(make), batch, call, size, taken, values),
        lambda: trials.values_read(make, lambda: batch_of(tree, values_read.SIZE), call, taken),
        None,
    )[0]


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


def steps(names: list[str], cuda: bool, sizes: Sequence[int], cpu: bool) -> list[dict[str, Any]]:
    """``cpu``: whether the peak on the CPU is compared too."""
    rows = []
    known = {} if cuda else measured_before()
    for name, size in [(name, size) for name in names for size in sizes]:
        begun = time.perf_counter()
        row: dict[str, Any] = {"model": name, "batch": size}
        words = []
        if cpu and size == sizes[0]:
            row["cpu_traced"] = in_a_process(partial(traced_as_on_the_cpu, name, size))
            row["cpu_measured"] = in_a_process(partial(measured_on_the_cpu, name, size))
            words.append(f"CPU {row['cpu_traced'] / 1e6:.1f} MB traced, {off(row, 'cpu'):+.1%}")
        for precision in ("float32", "bfloat16"):
            kind = f"cuda_{precision}"
            made = in_a_process(partial(tried, name, size, False, precision=precision))
            row[f"{kind}_traced"] = made["allocated"]
            words.append(f"CUDA {precision} {made['allocated'] / 1e6:.1f} MB traced")
            if cuda:
                got = in_a_process(partial(tried, name, size, True, precision=precision))
                row[f"{kind}_measured"] = got["allocated"]
            elif (name, size, kind) in known:
                row["measured_at"], row[f"{kind}_measured"] = known[name, size, kind]
            if f"{kind}_measured" in row:
                words[-1] += f", {off(row, kind):+.1%}"
        rows.append({**row, "seconds": round(time.perf_counter() - begun, 1)})
        print(f"{name:10} batch {size:4}: {'; '.join(words)}", flush=True)
    for kinds in (("cpu",), ("cuda_float32", "cuda_bfloat16")):
        errors = [abs(off(r, kind)) for kind in kinds for r in rows if f"{kind}_measured" in r]
        if errors:
            within = sum(e <= 0.1 for e in errors)
            print(
                f"{kinds[0].split('_')[0]}: median error {statistics.median(errors):.1%}, worst {max(errors):.1%},"
                f" {within} of {len(errors)} within 10 %"
            )
    if not cuda:
        print("no CUDA device: compared with what was measured on one before, where it was")
    return rows


def measured_before() -> dict[tuple[str, int, str], tuple[str, int]]:
    """By model, batch size and kind: when a device last measured it, and the peak."""
    found: dict[tuple[str, int, str], tuple[str, int]] = {}
    for line in (RESULTS / f"{NAME}.jsonl").read_text().splitlines():
        run = json.loads(line)
        for row in run.get("steps", []):
            for kind in ("cuda_float32", "cuda_bfloat16"):
                if f"{kind}_measured" in row and "measured_at" not in row:
                    found[row["model"], row["batch"], kind] = run["at"], row[f"{kind}_measured"]
    return found


def off(row: dict[str, Any], kind: str) -> float:
    """By how much the trace is off what was measured, as a share of it."""
    return float(row[f"{kind}_traced"] / row[f"{kind}_measured"] - 1)


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


def limits(names: list[str], cuda: bool, caps_gb: list[int], with_peers: bool = True) -> list[dict[str, Any]]:
    """The limit that the tool advises under each cap, and the largest size that runs, found by bisection."""
    rows = []
    for name in names:
        for cap in caps_gb:
            room = int(cap * 1e9 * (1 - MARGIN))
            known: dict[int, bool] = {}

            def fits(size: int, known: dict[int, bool] = known, room: int = room, name: str = name) -> bool:
                if size not in known:
                    known[size] = size <= MOST and in_a_process(partial(tried, name, size, cuda, cap=room))["fits"]
                return known[size]

            row = advised(name, cap)
            low, high = max(1, row["found"]), row["failed"] or 2 * max(1, row["found"])
            if not fits(low):
                low, high = 1, low
            while high - low > max(1, low // 500):
                middle = (low + high) // 2
                low, high = (middle, high) if fits(middle) else (low, middle)
            peers = peer_trials(fits, low) if with_peers else {}
            rows.append({**row, "largest": low, **peers})
            said = ", ".join(f"{k} {'never' if v is None else v}" for k, v in peers.items())
            print(
                f"{name:10} {cap:3} GB: {row['found']:9,} of {low:9,} ({row['found'] / low:.1%}) in {row['trials']}"
                f" trials; peak at {row['at']:,} {row['error']:+.1%} off; {said}",
                flush=True,
            )
    return rows


def advised(name: str, cap: int) -> dict[str, Any]:
    """What ``recommend_batch_spec`` finds for the model with so much memory: on the device if there is one."""
    from tests.making.asking import Asker

    from dataloader_expert.probes.model.memory import DEVICE_LIMIT, MEMORY_FIT

    make, described = models()[name]
    asker = Asker()
    try:
        root = HERE.parent
        model = f"{inspect.getfile(make)}:{make.__name__}"
        given = {"input": described, "model": model, "memory_limit_gb": cap, "budget_s": 200}
        facts = asker.facts("recommend_batch_spec", "", str(root), **given)
    finally:
        asker.close()
    limit, check = facts.value(DEVICE_LIMIT), facts.value(MEMORY_FIT)["check"]
    found = {key: limit[key] for key in ("failed", "trials")}
    return {
        "model": name,
        "cap_gb": cap,
        "found": limit["value"],
        **found,
        "at": check["batch_size"],
        "error": check["error"],
    }


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
    parser.add_argument("--published", action="store_true", help="models of torchvision, transformers and timm instead")
    parser.add_argument("--sizes", nargs=2, type=int, default=SIZES, help="batch sizes of the steps")
    parser.add_argument("--no-peers", action="store_true", help="no finders of others")
    parser.add_argument("--caps-gb", nargs="+", type=int, default=CAPS_GB, help="GB")
    given = parser.parse_args()
    from tests.making.standard_models import MODELS

    from benchmarks import published_models

    names = given.only or list(published_models.MODELS if given.published else MODELS)
    cuda = in_a_process(torch.cuda.is_available)
    run: dict[str, Any] = {"device": in_a_process(torch.cuda.get_device_name) if cuda else "simulated allocator"}
    if given.part in (None, "steps"):
        run["steps"] = steps(names, cuda, given.sizes, not given.published)
    if given.part in (None, "limits"):
        run["limits"] = limits(names, cuda, given.caps_gb, not given.no_peers)
    if given.part in (None, "host"):
        run["host"] = host()
    keep(NAME, run)


if __name__ == "__main__":
    main()

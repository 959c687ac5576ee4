"""Where a sample's time goes, stage by stage, in this process; and what reading it leaves behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.conclusions import finding
from dataloader_expert.errors import Unreadable
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Probe, Said, evidence
from dataloader_expert.probes.clock import QueueClock, now, since
from dataloader_expert.probes.serving import STAGE, Serving, flat, samples_in, serving

OVERHEAD = Quantity("overhead", "", "the measuring's own share of a sample's time")
OPEN_FILES = Quantity("open_files_per_1000", "descriptors", "growth of open descriptors per 1000 samples read")
MEMORY_GROWTH = Quantity("memory_mb_per_1000", "MB", "growth of private memory per 1000 samples, after a first pass")
SLOW = Quantity("slow_samples", "samples", "samples that take at least ten times the median")
NONDETERMINISTIC = Quantity("nondeterministic", "", "whether the same index gave different content twice")
TO_DEVICE = Quantity("to_device_gb_s", "GB/s", "host-to-device copy of a real pinned batch, by CUDA events")
MOST = 4096
SLOW_TIMES, SLOW_LEAST_S, AGAIN = 10, 0.01, 2


@dataclass(frozen=True)
class Stages(Probe):
    name: ClassVar[str] = "stages"
    batch_size: int | None = None
    share: float = 0.25
    most_s: float = 3.0

    def measure(self, bench: Bench) -> Iterable[Said]:
        served = serving(bench, self.batch_size, 0)
        if bench.source.iterable:
            yield from self._stream(bench, served)
            return
        import numpy as np

        deadline = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        n = len(served.dataset)
        order = np.random.default_rng(bench.seed + 1).permutation(min(n, 1_000_000))[:MOST].tolist()
        size = min(served.current.batch_size, len(order))
        clock = QueueClock()
        stages: dict[str, list[tuple[float, float, float]]] = {}
        took: list[tuple[float, int]] = []
        files, memory = [(0, _open_files())], [(0, _private())]
        done = 0
        waiting: list[Any] = []
        first: list[Any] = []
        while done < len(order):
            index = order[done]
            bench.at(int(index))
            queued = clock.read()
            begun = now()
            try:
                if served.ours:
                    sample, spent = served.dataset.timed(index)
                else:
                    sample, spent = served.dataset[index], {}
            except Exception as e:  # the scan says which samples raise, and how; here they are passed over
                if done == 0 and len(order) == 1:
                    raise RuntimeError(f"the only sample raises: {e}") from e
                order.pop(done)
                continue
            whole = since(begun)
            wait = clock.read() - queued
            if not served.ours:
                spent = {"unattributed": whole}
            for name, (wall, cpu) in spent.items():
                part = wait * wall / whole[0] if whole[0] > 0 else 0.0
                stages.setdefault(name, []).append((wall, cpu, part))
            took.append((whole[0], int(index)))
            waiting.append(sample)
            if len(first) < size:
                first.append(sample)
            done += 1
            if len(waiting) >= size or done == len(order):
                queued, begun = clock.read(), now()
                served.collate(waiting)
                wall, cpu = since(begun)
                m = len(waiting)
                stages.setdefault("collate", []).append((wall / m, cpu / m, (clock.read() - queued) / m))
                waiting = []
            late = time.monotonic() > deadline and done >= 3
            if done % max(16, size) == 0 or done == len(order) or late:
                files.append((done, _open_files()))
                memory.append((done, _private()))
            if late:
                break
        if not took:
            raise RuntimeError("no sample could be read for timing")
        if waiting:
            begun = now()
            served.collate(waiting)
            wall, cpu = since(begun)
            stages.setdefault("collate", []).append((wall / len(waiting), cpu / len(waiting), 0.0))
        bench.at(-1)
        stages["worker_transfer"] = transport(served.collate(first), len(first))
        for name in ("read", "decode", "transform", "unattributed", "collate", "worker_transfer"):
            if stages.get(name):
                yield stage_fact(name, stages[name])
        yield from to_device(served.collate(first), len(first))
        per = sum(t for t, _ in took) / len(took)
        yield Fact(
            OVERHEAD,
            _timer_cost() * (4 if served.ours else 2) / per if per else 0.0,
            evidence("timed", "stages", seen=1000),
        )
        yield from health(bench, files, memory, done)
        yield from slow_samples(bench, served, took)
        if 6 * per < 0.1 * bench.left():
            yield from same_twice(bench, served, order[:3])
        else:
            yield Unknown("health.nondeterministic", "samples are too slow to be read twice within the budget")

    def _stream(self, bench: Bench, served: Serving) -> Iterable[Said]:
        clock = QueueClock()
        found: list[tuple[float, float, float]] = []
        files, memory = [(0, _open_files())], [(0, _private())]
        took: list[tuple[float, int]] = []
        deadline = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        samples: list[Any] = []
        stream = iter(served.dataset)
        while len(found) < MOST and (time.monotonic() < deadline or len(found) < 3):
            bench.at(len(found))
            queued, begun = clock.read(), now()
            try:
                samples.append(next(stream))
            except StopIteration:
                break
            wall, cpu = since(begun)
            found.append((wall, cpu, clock.read() - queued))
            took.append((wall, len(found) - 1))
            if len(found) % 32 == 0:
                files.append((len(found), _open_files()))
                memory.append((len(found), _private()))
                del samples[:-32]
        if not found:
            yield Unknown("stages", "the stream gave no sample")
            return
        yield stage_fact("unattributed", found)
        begun = now()
        served.collate(samples[-32:])
        wall, cpu = since(begun)
        m = len(samples[-32:])
        yield stage_fact("collate", [(wall / m, cpu / m, 0.0)])
        yield from health(bench, files, memory, len(found))
        yield from slow_samples(bench, served, took)
        yield Fact(NONDETERMINISTIC, None, evidence("derived", "stages"))


def stage_fact(name: str, spent: list[tuple[float, float, float]]) -> Fact:
    """Mean times per sample in ms with a 95 % interval of the wall time."""
    import math

    n = len(spent)
    wall = [1e3 * w for w, _, _ in spent]
    mean = sum(wall) / n
    sd = math.sqrt(sum((w - mean) ** 2 for w in wall) / (n - 1)) if n > 1 else 0.0
    half = 1.96 * sd / math.sqrt(n)
    cpu = 1e3 * sum(c for _, c, _ in spent) / n
    queue = 1e3 * sum(q for _, _, q in spent) / n
    queue = min(queue, max(0.0, mean - cpu))
    value = {"ms": mean, "cpu_ms": min(cpu, mean), "wait_ms": max(0.0, mean - cpu - queue), "queue_ms": queue}
    bounds = (max(0.0, mean - half), mean + half) if n > 1 else None
    return Fact(STAGE, value, evidence("timed", "stages", seen=n, interval=bounds), {"stage": name})


class _Ready:
    """A dataset of one ready batch, given again and again: what a loader over it costs is transport."""

    def __init__(self, batch: Any, n: int) -> None:
        self.batch, self.n = batch, n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        if index >= self.n:
            raise IndexError(index)
        return self.batch


def transport(batch: Any, size: int) -> list[tuple[float, float, float]]:
    """Seconds per sample to bring a ready batch from one worker to this process: ten after two dropped."""
    from dataloader_expert.loaders.building import deliver

    out = []
    iterator = iter(deliver(_Ready(batch, 12), 1))  # type: ignore[arg-type]  # a dataset by its methods
    begun = now()
    for i, got in enumerate(iterator):
        wall, cpu = since(begun)
        n = samples_in(got) or size
        if i >= 2:
            out.append((wall / n, cpu / n, 0.0))
        begun = now()
    return out


def to_device(batch: Any, size: int) -> Iterable[Said]:
    """Pinning a real batch and copying it to the device, by CUDA events, median of ten; nothing without a device."""
    import torch

    tensors = [v for _, v in flat(batch) if isinstance(v, torch.Tensor) and v.numel()]
    if not torch.cuda.is_available() or not tensors:
        return
    pins: list[tuple[float, float, float]] = []
    copies: list[tuple[float, float, float]] = []
    event: Any = torch.cuda.Event
    for i in range(12):
        begun = now()
        pinned = [t.pin_memory() for t in tensors]
        wall, cpu = since(begun)
        begin, end = event(enable_timing=True), event(enable_timing=True)
        begin.record()
        moved = [t.to("cuda", non_blocking=True) for t in pinned]
        end.record()
        torch.cuda.synchronize()
        copied = begin.elapsed_time(end) / 1e3
        if i >= 2:
            pins.append((wall / size, cpu / size, 0.0))
            copies.append((copied / size, 0.0, 0.0))
        del moved
    yield stage_fact("pin", pins)
    yield stage_fact("to_device", copies)
    bytes_ = sum(t.numel() * t.element_size() for t in tensors)
    rate = bytes_ / (sorted(c for c, _, _ in copies)[len(copies) // 2] * size) / 1e9
    yield Fact(TO_DEVICE, rate, evidence("timed", "stages", seen=len(copies)))


def health(bench: Bench, files: list[tuple[int, int]], memory: list[tuple[int, int]], n: int) -> Iterable[Said]:
    half = next((i for i, (done, _) in enumerate(files) if done >= n // 3), 0)
    span = max(1, files[-1][0] - files[half][0])
    growth = (files[-1][1] - files[half][1]) / span * 1000
    fact = Fact(OPEN_FILES, round(growth, 3), evidence("counted", "stages", seen=span))
    yield fact
    if growth >= 20 and span >= 8 and files[-1][1] - files[0][1] >= 4:
        yield finding(
            "file-descriptors-grow",
            "error",
            f"open files grow by {growth:.0f} per 1000 samples",
            fact,
            "close what __getitem__ opens, with a with statement",
        )
    grown = (memory[-1][1] - memory[half][1]) / span * 1000 / 1e6
    fact = Fact(MEMORY_GROWTH, round(grown, 3), evidence("counted", "stages", seen=span))
    yield fact
    if (
        span >= 100
        and grown > 10
        and (memory[-1][1] - memory[half][1]) > 32 << 20
        and bench.source.format == "reference"
    ):
        yield finding(
            "memory-leak",
            "warning",
            f"private memory grows by {grown:.0f} MB per 1000 samples and was not given back",
            fact,
            "look for what __getitem__ keeps: lists on self, caches without a bound",
        )


def slow_samples(bench: Bench, served: Serving, took: list[tuple[float, int]]) -> Iterable[Said]:
    """Samples that take ten times the median, and do so again each time they are read alone: not a busy machine."""
    import statistics

    median = statistics.median(t for t, _ in took)
    suspects = sorted(((t, i) for t, i in took if t >= SLOW_TIMES * median and t > SLOW_LEAST_S), reverse=True)
    until = bench.until(0.1)
    if suspects and bench.source.iterable:
        yield Unknown("health.slow_samples", f"{len(suspects)} seemed slow, and a stream's cannot be read again")
        return
    slow: list[tuple[float, int]] = []
    for k, (_, index) in enumerate(suspects):
        if until is not None and time.monotonic() > until:
            yield Unknown("health.slow_samples", f"{len(suspects) - k} seemed slow; the budget held no second look")
            break
        bench.at(index)
        again = min(_read_again(served, index) for _ in range(AGAIN))
        if again >= SLOW_TIMES * median and again > SLOW_LEAST_S:
            slow.append((again, index))
    bench.at(-1)
    slow.sort(reverse=True)
    listed = [{"sample": i, "ms": round(1e3 * t, 2)} for t, i in slow[:20]]
    fact = Fact(SLOW, listed, evidence("timed", "stages", seen=len(took)))
    yield fact
    if slow and len(took) >= 20:
        yield finding(
            "slow-samples",
            "warning",
            f"{len(slow)} of {len(took)} samples take ten times the median of {1e3 * median:.2f} ms or more, each time",
            fact,
            "look at these samples: one holds up its whole batch",
            [{"sample": i} for _, i in slow],
            len(slow),
        )


def _read_again(served: Serving, index: int) -> float:
    begun = now()
    try:
        served.dataset[index]
    except Exception:  # it was read before: what it is now is not slow
        return 0.0
    return since(begun)[0]


def same_twice(bench: Bench, served: Serving, indices: list[int]) -> Iterable[Said]:
    """Reads a few samples twice more and compares their content."""
    from dataloader_expert.checks.fingerprint import content, digest64
    from dataloader_expert.sources.reference import items_of

    def digest(index: int) -> list[int]:
        return [
            digest64(content(v.detach().cpu().numpy() if hasattr(v, "detach") else v))
            for _, v in items_of(served.dataset[index])
        ]

    try:
        differ = any(digest(i) != digest(i) for i in indices)
    except (Unreadable, RuntimeError, ValueError, OSError):
        return
    yield Fact(NONDETERMINISTIC, differ, evidence("counted", "stages", seen=len(indices)))


def _timer_cost() -> float:
    begun = time.perf_counter()
    for _ in range(1000):
        now()
    return (time.perf_counter() - begun) / 1000


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def _private() -> int:
    try:
        with open("/proc/self/status") as f:
            for line in f:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


PROBES = (Stages,)

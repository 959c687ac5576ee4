"""Where a sample's time goes, stage by stage, inside the loading processes; and what reading it leaves behind.

The present loader runs with timers around fetch and collate in its processes (``instrumentation``). Built-in sources
report where they read and decode; for user code stacks are sampled (``sampling_profiler``) and classified
(``stage_classifier``): the shares of running stacks divide the CPU time, those of blocked stacks the blocked time.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import in_flight
from dataloader_expert.probes.base import LOADER_FAILED, SLOWEST, Bench, Observation, Probe, evidence, too_many
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.carried import tensors_in
from dataloader_expert.probes.clocks import StolenClock, apart, now, since
from dataloader_expert.probes.descriptors import OPEN_FILES
from dataloader_expert.probes.profile.avoidable import avoidable
from dataloader_expert.probes.profile.hotspots import hotspot_facts, unseen, weighed
from dataloader_expert.probes.profile.instrumentation import Watch, watching
from dataloader_expert.probes.profile.readers import readers
from dataloader_expert.probes.profile.rereads import NONDETERMINISTIC, as_many_threads, same_twice, slow_samples
from dataloader_expert.probes.profile.sampling_profiler import Tick, Ticker
from dataloader_expert.probes.profile.stage import STAGE, stage_fact
from dataloader_expert.probes.profile.stage_classifier import Namer, is_overhead, place_of
from dataloader_expert.probes.profile.transfer import in_iterators, sent, to_device, transport, trip
from dataloader_expert.probes.serving import Serving, serving

OVERHEAD = Quantity("overhead", "", "CPU time of the measurement itself as a share of a sample's CPU and blocked time")
READING = Quantity("reading", "", "bytes read by the loading process and bytes delivered, per sample")
COSTS = Quantity("sample_costs", "s", "pairs of CPU and blocked seconds of single samples, in turn")
RECEIVING = Quantity("receiving", "", "a batch as the main process receives it: CPU seconds, bytes, tensors, samples")
OWN_ITER = Quantity("own_iter", "ms", "what the loader's own __iter__ computes for a batch, in the main process")
PULSES = Quantity(
    "pulses",
    "s",
    "seconds that loading processes ran, of their threads on a CPU and waiting for one, of their collectors",
)
MEMORY_GROWTH = Quantity("memory_mb_per_1000", "MB", "growth of private memory per 1000 samples, after the first pass")
EVERY_S, EVERY_OURS_S = 0.012, 0.03
"""Seconds between two stacks over all processes: user code is classified by them; for built-in sources they only name
functions."""
OURS_S = 2.5
"""The most seconds if no share depends on stacks."""
HALF = 0.025
"""Stacks are collected until a share is known within this at 95 %."""
SETTLED = 4
"""Growth is measured after this many batches of a process: the first ones, in transit, hold files of their own."""
LAST = 2
"""Past its time, the watch goes on for its fewest batches only while the budget has room for this many more."""
KEPT = 256
"""Samples whose costs are kept for the forecast."""


@dataclass
class Seen:
    """The result of watching the loader: lines of its processes, stacks, and what the main process saw of its
    batches; ``own_s``: the part of ``received_s`` that was not spent in torch's iterator."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    scribe_s: float = 0.0
    batches: int = 0
    samples: int = 0
    received_s: float = 0.0
    own_s: float = 0.0
    bytes: int = 0
    tensors: int = 0
    last: Any = None


@dataclass(frozen=True)
class Stages(Probe):
    name: ClassVar[str] = "stages"
    doing: ClassVar[str] = "timing the stages of a sample"
    batch_size: int | None = None
    num_workers: int | None = None
    share: float = 0.3
    most_s: float = 12.0
    half: float = HALF
    trip: bool = False
    whole: bool = True
    """Also what reading leaves behind, hotspots and slow samples; else the times of the stages alone."""

    def measure(self, bench: Bench) -> Iterable[Observation]:
        broken = bench.facts.find(LOADER_FAILED) is not None
        served = serving(bench, self.batch_size, 0 if broken else self.num_workers)
        started = served.current.workers and served.start_method(served.user_loader) != "fork"
        if started or served.current.workers >= too_many(bench):  # a worker that is not forked cannot be observed
            served = serving(bench, self.batch_size, 0)
        most = min(self.most_s, OURS_S) if served.ours else self.most_s
        deadline = bench.until(self.share, most) or time.monotonic() + most
        served.fit(bench, max(0.02, (deadline - time.monotonic()) / 8))
        seen = watched(bench, served, deadline, self.half)
        timed = [line for line in seen.lines if line["timed"] and line["n"]]
        if not timed:
            yield Unknown("stages", "no batch came back" if not seen.batches else "no batch could be timed")
            return
        said = stage_facts(served, timed, seen)
        yield from said if self.whole else (s for s in said if isinstance(s, Fact) and s.quantity is STAGE)
        size = max(1, seen.samples // max(1, seen.batches))
        if not served.current.workers:
            yield sent("stage_ms.worker_transfer", lambda: stage_fact("worker_transfer", transport(seen.last, size)))
        if self.trip:
            yield sent("trip", lambda: trip(seen.last))
        each = _each(timed)
        if self.whole:
            yield from to_device(seen.last, size)
            yield from kept(served, seen, bench.cpus)
            plan = served.current
            yield from health(seen, in_flight(1, plan.prefetch) * seen.tensors if plan.workers else 0)
            first = _each(line for line in seen.lines if not line["timed"])
            doubtful = [i for line in seen.lines if not line["timed"] for i in line["slow"]]
            trials = [(t, i) for t, i in bench.facts.value(SLOWEST, [])]
            with as_many_threads(plan.workers):
                yield from slow_samples(bench, served, each, first, doubtful, trials)
        per = sum(t for t, _ in each) / len(each) if each else served.batch_s / size
        if bench.source.iterable:
            yield Fact(NONDETERMINISTIC, None, evidence("derived", "stages"))
        elif 6 * per < 0.1 * bench.left():
            yield from same_twice(bench, served, [i for _, i in each[:3]] or [0])
        else:
            yield Unknown(
                "health.nondeterministic", "samples take too long to read twice within the budget: raise budget_s"
            )


def watched(bench: Bench, served: Serving, deadline: float, half: float) -> Seen:
    """Runs the present loader until there are enough stacks and enough time has passed."""
    plan, workers = served.current, served.current.workers
    if served.user_loader is None and workers:
        plan = plan.but(timeout=max(5.0, deadline - time.monotonic()))
    ticker = Ticker(workers, EVERY_OURS_S if served.ours else EVERY_S, served.batch_s / plan.batch_size)
    watch = Watch("transform" if served.ours else "unattributed", bench.at, served.count, ticker)
    seen, stolen = Seen(), StolenClock()
    try:
        with watching(watch), in_iterators() as spent:
            begun = told = time.monotonic()
            for _ in _batches(served, plan, seen, watch, spent):
                moment = time.monotonic()
                if moment - told > 1.0:
                    told = moment
                    bench.progress(f"observed {seen.batches} batches", None)
                late = moment > deadline and seen.batches >= max(3, workers + 1)  # two of one process
                # fewer batches are better than none: the budget ends a probe without its results
                last = moment > deadline and bench.left() < LAST * (moment - begun) / seen.batches
                if late or last or (ticker.enough(half) and seen.batches >= 8):
                    break
    finally:
        seen.ticks, seen.scribe_s = ticker.finish()
        bench.at(-1)
    lines = first_dropped(list(watch.lines()))
    seen.lines = stolen_apart(lines, stolen_rate(lines, seen.ticks, stolen.read()))
    watch.close()
    return seen


def stolen_rate(lines: list[dict[str, Any]], ticks: list[Tick], most: float) -> float:
    """Stolen seconds per CPU second of these processes: their blocked time beyond the share of stacks seen blocked, and
    at most the ``most`` seconds that the hypervisor took from anyone. A sleeper's wake-ups may be what was delayed, so
    the stacks decide; one long pause may fall on these processes alone, so no share of it is theirs beforehand."""
    spent = [v for line in lines for v in line.get("spent", {}).values()]
    wall, cpu, queue = (sum(part) for part in zip(*spent, strict=True)) if spent else (0.0, 0.0, 0.0)
    blocked, looks = sum(t.blocked for t in ticks), sum(t.running + t.blocked for t in ticks)
    if not looks or not cpu:
        return 0.0
    return float(min(most, max(0.0, wall - cpu - queue - wall * blocked / looks)) / cpu)


def stolen_apart(lines: list[dict[str, Any]], rate: float) -> list[dict[str, Any]]:
    """Moves stolen time in stages to waiting for a core, which is charged to the machine. Single samples are left as
    they are: nothing would remain of the slow ones, and those are read again anyway."""
    found = [{**line, "spent": dict(line.get("spent", {}))} for line in lines]
    for stage in {stage for line in found for stage in line["spent"]}:
        those = [line["spent"] for line in found if stage in line["spent"]]
        for spent, v in zip(those, apart([spent[stage] for spent in those], rate), strict=True):
            spent[stage] = v
    return found


def _batches(served: Serving, plan: Any, seen: Seen, watch: Watch, spent: list[float]) -> Iterator[None]:
    """Batches of one epoch after another. A built-in source drops what it decoded, so that each epoch is like the
    first. ``spent``: CPU seconds of this thread in torch's iterators."""
    from dataloader_expert.loaders.building import release

    loader = served.loader(plan)
    iterator: Any = None
    try:
        while True:
            if served.ours:
                served.dataset.blocks.forget()
            served.before_workers(plan.workers)
            iterator = iter(loader)
            got = 0
            while True:
                wall, cpu = now()
                within = spent[0]
                batch = next(iterator, None)
                if batch is None:
                    break
                _, busy = since((wall, cpu))
                got += 1
                seen.last = batch
                if seen.batches or got > 1:
                    seen.received_s += busy
                    seen.own_s += max(0.0, busy - (spent[0] - within))
                # torch sends each by itself, however deep it lies
                tensors = [tensor for _, tensor in tensors_in(batch)]
                texts = [v for _, v in flat(batch) if isinstance(v, list | tuple)]
                seen.bytes += sum(t.numel() * t.element_size() for t in tensors)
                seen.bytes += sum(len(x) if isinstance(x, str | bytes) else 8 for v in texts for x in v)
                seen.tensors = len(tensors)
                seen.batches += 1
                seen.samples += served.count(batch)
                yield
            if not got:
                return
    finally:
        watch.ends(iterator, served.batch_s / plan.batch_size)
        release(loader, iterator)


def _each(lines: Iterable[dict[str, Any]]) -> list[tuple[float, int]]:
    """Seconds without waiting for a core, and index, of each timed sample."""
    return [(wall - queue, i) for line in lines for i, wall, _, queue in line.get("each", ())]


def first_dropped(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drops each process's first batch, which opens files and warms up, if later ones go through the same stages. If
    none does, the first did what an epoch needs once, such as decoding a table, and stays."""
    others: dict[int, set[str]] = defaultdict(set)
    for line in lines:
        if line["batch"] and line["timed"]:
            others[line["worker"]].update(line["spent"])
    first = {"timed": False, "slow": []}  # its counters are kept
    return [
        {**line, **first}
        if not line["batch"] and line["worker"] in others and others[line["worker"]].issuperset(line.get("spent", ()))
        else line
        for line in lines
    ]


def stage_facts(served: Serving, timed: list[dict[str, Any]], seen: Seen) -> Iterable[Observation]:
    """Stages of a fetch, divided by stacks where there are no timers; transfer; hotspots; overhead."""
    spent: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    namer = Namer(served.dataset)
    looked = [tick for tick in seen.ticks if not is_overhead(tick.stack)]
    running, blocked = shares(namer, looked)
    ticks = sum(running.values()) + sum(blocked.values())
    split = not served.ours and ticks > 0
    fetching = [line["spent"]["unattributed"] for line in timed if "unattributed" in line["spent"]]
    missed = not blocked and unseen(sum(c for _, c, _ in fetching), sum(w - c - q for w, c, q in fetching))
    for line in timed:
        n = line["n"]
        for stage, (wall, cpu, queue) in line["spent"].items():
            if stage != "unattributed" or not split:
                spent[stage].append((wall / n, cpu / n, queue / n))
                continue
            waits = max(0.0, wall - cpu - queue)
            on, off = (running or blocked), (Counter({"unattributed": 1}) if missed else blocked or running)
            for name in {*on, *off}:
                f, g = on[name] / sum(on.values()), off[name] / sum(off.values())
                spent[name].append(((f * (cpu + queue) + g * waits) / n, f * cpu / n, f * queue / n))
    for parts in spent.values():  # a batch that skipped a stage spent no time in it
        parts += [(0.0, 0.0, 0.0)] * (len(timed) - len(parts))
    if served.current.workers:
        own_s = 0.0 if served.iterates is None else seen.own_s
        spent["worker_transfer"] = _transfer(seen, seen.received_s - own_s)  # what it computes itself is no transfer
        if served.iterates is not None:
            computed = round(1e3 * own_s / max(1, seen.batches - 1), 3)  # the first batch is not timed
            yield Fact(OWN_ITER, computed, evidence("timed", "stages", seen=seen.batches))
    for name in ("read", "decode", "transform", "unattributed", "collate", "worker_transfer"):
        if spent.get(name):
            yield stage_fact(name, spent[name], ticks if split and name not in ("collate", "worker_transfer") else None)
    total = sum(_mean(spent[name])[1] + _blocked(spent[name]) for name in spent)
    if looked or served.ours:  # also where all that was seen is collating
        stacks = weighed(namer, looked, seconds_of(spent), total)
        ticked, columns = sum(t.running + t.blocked for t in looked), [tick.columns for tick in looked]
        yield from hotspot_facts(namer, stacks, ticked, columns)
        yield readers(namer, stacks, ticked)
        yield from avoidable(served, stacks, ticked, total, columns)
    else:
        yield Unknown(
            "hotspots",
            "no stack of a loading process could be sampled: the run was too short, or the system forbids it",
        )
    yield Fact(OVERHEAD, overhead(seen, total), evidence("derived", "stages", seen=len(seen.lines)))
    keep = timed[:: max(1, len(timed) // KEPT)]
    pairs = [
        (c, max(0.0, w - c - q)) for line in keep for _, w, c, q in line.get("each", ())[:: max(1, line["n"] // 8)]
    ]
    if not pairs:
        own = [
            (sum(c for _, c, _ in v), sum(w - c - q for w, c, q in v), line["n"])
            for line in keep
            if (v := _fetch(line))
        ]
        pairs = [(c / n, max(0.0, b / n)) for c, b, n in own]
    yield Fact(
        COSTS, [[round(c, 7), round(b, 7)] for c, b in pairs[: 4 * KEPT]], evidence("timed", "stages", seen=len(pairs))
    )


def _fetch(line: dict[str, Any]) -> list[tuple[float, float, float]]:
    return [v for stage, v in line["spent"].items() if stage != "collate"]


def shares(namer: Namer, ticks: list[Tick]) -> tuple[Counter[str], Counter[str]]:
    """How often each stage of a fetch was seen running, and blocked. Collating has its own timers.

    If no user frame is left, a sample's function has returned and its values are being freed: that time belongs to
    whatever made them and is distributed in proportion, unless nothing else was seen.
    """
    running: Counter[str] = Counter()
    blocked: Counter[str] = Counter()
    theirs = [t for t in ticks if place_of(t.stack) is not None and namer.stage_of(t.stack) != "collate"]
    for tick in theirs or [t for t in ticks if t.stack and namer.stage_of(t.stack) != "collate"]:
        stage = namer.stage_of(tick.stack)
        running[stage] += tick.running
        blocked[stage] += tick.blocked
    return +running, +blocked


def _transfer(seen: Seen, receiving_s: float) -> list[tuple[float, float, float]]:
    """CPU seconds per sample of a worker's sending thread and of the main process as it receives."""
    sent = [(b["feeder"] - a["feeder"]) / m for a, b, m in spans(seen.lines)]
    feeder = sum(sent) / len(sent) if sent else 0.0
    received = receiving_s / max(1, seen.samples)
    return [(feeder + received, feeder + received, 0.0)]


def spans(lines: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any], int]]:
    """The first and last counters of every process, and the samples that it read between them."""
    found = [(p[0], p[-1], p[-1]["samples"] - p[0]["samples"]) for p in by_process(lines)]
    return [(a, b, m) for a, b, m in found if m > 0]


def seconds_of(spent: dict[str, list[tuple[float, float, float]]]) -> dict[tuple[bool, bool], float]:
    """Seconds of a sample keyed by (collating, on a CPU); transport has no stacks."""
    collating = spent.get("collate", [])
    of_fetch = [v for name, v in spent.items() if name not in ("collate", "worker_transfer")]
    return {
        (False, True): sum(_mean(v)[1] for v in of_fetch),
        (False, False): sum(_blocked(v) for v in of_fetch),
        (True, True): _mean(collating)[1],
        (True, False): _blocked(collating),
    }


def overhead(seen: Seen, per_sample: float) -> float | None:
    """CPU seconds of sampling and bookkeeping, over the CPU and blocked seconds of the samples."""
    parts = spans(seen.lines)
    samples = sum(m for _, _, m in parts)
    if not samples or not per_sample or not seen.samples:
        return None
    ours = sum(b["cost"] - a["cost"] for a, b, _ in parts) / samples
    return float((ours + seen.scribe_s / seen.samples) / per_sample)


def _mean(spent: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    n = max(1, len(spent))
    return sum(w for w, _, _ in spent) / n, sum(c for _, c, _ in spent) / n, sum(q for _, _, q in spent) / n


def _blocked(spent: list[tuple[float, float, float]]) -> float:
    wall, cpu, queue = _mean(spent)
    return max(0.0, wall - cpu - queue)


def threads_of(parts: list[tuple[dict[str, Any], dict[str, Any], int]]) -> dict[str, Any]:
    """What the threads of loading processes did between two counters each; ``others_s``: CPU seconds of other threads than the one
    that loads and the one that sends, ``helped_s`` for a sample."""

    def sum_of(name: str) -> float:
        return float(sum(max(0.0, b[name] - a[name]) for a, b, _ in parts))

    helped = sum_of("others")
    return {
        "seconds": sum_of("t"),
        "pauses_s": sum_of("pauses"),
        "threads": max((b["threads"] for _, b, _ in parts), default=0),
        "cpu_s": sum_of("cpu") + helped,
        "others_s": helped,
        "queue_s": sum_of("queue"),
        "helped_s": helped / max(1, sum(m for _, _, m in parts)),
    }


def kept(served: Serving, seen: Seen, cpus: float) -> Iterable[Observation]:
    """Facts of the run that rules need later: reading, receiving, pauses."""
    parts = spans(seen.lines)
    samples = sum(m for _, _, m in parts)
    delivered = seen.bytes / max(1, seen.samples)
    said = evidence("counted", "stages", seen=samples)
    if samples:
        read = (
            sum(
                b["io"].get("rchar", 0) - a["io"].get("rchar", 0) - (b["own_bytes"] - a["own_bytes"])
                for a, b, _ in parts
            )
            / samples
        )
        disk = sum(b["io"].get("read_bytes", 0) - a["io"].get("read_bytes", 0) for a, b, _ in parts) / samples
    else:
        read, disk = 0.0, 0.0
    fields = len(flat(seen.last)) if seen.last is not None else None
    value = {
        "bytes_read_per_sample": max(0.0, round(read, 1)),
        "bytes_delivered_per_sample": round(delivered, 1),
        "amplification": round(max(0.0, read) / delivered, 3) if delivered else None,
        "fields_read": fields if served.ours else None,
        "fields_used": fields,
        "from_disk_per_sample": max(0.0, round(disk, 1)),
    }
    yield Fact(READING, value, said)
    batches = max(1, seen.batches)
    receiving = {
        "main_s": seen.received_s / batches,
        "bytes": seen.bytes / batches,
        "tensors": seen.tensors,
        "samples": seen.samples / batches,
        "workers": served.current.workers,
    }
    yield Fact(RECEIVING, receiving, evidence("timed", "stages", seen=seen.batches))
    yield Fact(PULSES, threads_of(parts) | {"cpus": cpus}, said)


def health(seen: Seen, on_way: int) -> Iterable[Observation]:
    """Growth of descriptors and of private memory in the loading processes, after the first third of what they read.

    ``on_way``: tensors of one worker's batches that the main process has not received: it holds a descriptor for each.
    """
    files, memory, span = 0.0, 0.0, 0
    first_file, judged = 0.0, 0
    for pulses in by_process(seen.lines):
        done = pulses[-1]["samples"]
        earlier = [p for p in pulses if p["samples"] < done]
        if not earlier:
            continue
        start = next((p for p in earlier if p["samples"] >= done / 3), earlier[-1])
        span += done - start["samples"]
        grown = pulses[-1].get("files", 0) - start.get("files", 0)
        files += grown if abs(grown) > on_way else 0
        first_file += pulses[-1].get("files", 0) - pulses[0].get("files", 0)
        memory += pulses[-1]["anon"] - start["anon"]
        judged += done - start["samples"] if done >= SETTLED * pulses[0]["samples"] else 0
    if not span:
        yield Unknown("health.open_files_per_1000, memory_mb_per_1000", "the loader ran too briefly to see growth")
        return
    # growth counts only if it continues after the first batches and exceeds a file or two
    conditions = {"samples_settled": judged, "files_gained": first_file}
    counted = evidence("counted", "stages", seen=span, conditions=conditions)
    yield Fact(OPEN_FILES, round(files / span * 1000, 3), counted)
    yield Fact(MEMORY_GROWTH, round(memory / span * 1000 / 1e6, 3), evidence("counted", "stages", seen=span))


def by_process(lines: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The counters of each process in order: a worker of a later epoch is another process."""
    found: list[list[dict[str, Any]]] = []
    at: dict[int, int] = {}
    last: dict[int, int] = {}
    for line in lines:
        worker = line["worker"]
        if worker not in at or line["batch"] <= last[worker]:
            at[worker] = len(found)
            found.append([])
        last[worker] = line["batch"]
        if "pulse" in line:
            found[at[worker]].append(line["pulse"])
    return [pulses for pulses in found if pulses]


PROBES = (Stages,)

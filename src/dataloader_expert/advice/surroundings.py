"""How the machine and its limits affect loading: quotas, page cache, shared memory, cores, leftovers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.stages import (
    FOREIGN,
    LOCKED_LEAST,
    QUEUED_MS,
    child_processes,
    cpu_and_waits,
    fetching,
    queued_ms,
    waiting_for_others,
    waits_on_stores,
)
from dataloader_expert.advice.transport import beginning
from dataloader_expert.advice.worker_counts import many_threads
from dataloader_expert.advice.workers import host_bytes, most_advised, settings
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.static_checks import LEFT_OVER, LENGTH
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.profile.hotspots import LOCKED
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import PULSES
from dataloader_expert.probes.search.loading import CURRENT, CURVE
from dataloader_expert.probes.search.thresholds import ALIKE
from dataloader_expert.probes.search.trials import TRIALS
from dataloader_expert.probes.system.outside import MACHINE, PAGE_CACHE, THROTTLED

SCALES = 0.5
"""The power of the number of workers with which the rate grows where they still help."""
MOST_PARALLEL = 2
"""Batches of an epoch for each worker from which an epoch's end leaves few of them idle."""
LEAST_PERIODS = 10
"""Fewest scheduling periods (usually a tenth of a second each) that a share is computed from."""
CACHE_GREW, CACHE_HOLDS = 0.05, 0.3
"""Shares of a container's limit: page cache is reported if it grew by the first and now holds the second."""
HELD_LEAST = 1 << 20
QUEUED = 0.3
"""The share of a sample's time from which waiting for a core is reported."""
TRANSPORT = 3
"""CPU time of transferring a batch from a worker, as a multiple of the main process's part."""


def throttled(facts: Facts) -> Iterator[Finding]:
    """B32: the CPU quota was used up in a twentieth of the scheduling periods during the measurement."""
    fact = facts.find(THROTTLED)
    if fact is None or (fact.evidence.seen or 0) < LEAST_PERIODS or fact.value < 0.05:
        return
    text = f"this container used up its CPU quota in {fact.value:.0%} of scheduling periods: its processes were paused"
    yield finding(
        "cpu-throttled", "warning", text, fact, "use at most as many workers as the quota has cores, or raise the quota"
    )


def page_cache(facts: Facts) -> Iterator[Finding]:
    """B3: reading filled the container's memory with page cache, which counts in its total but is not a leak."""
    fact = facts.find(PAGE_CACHE)
    if fact is None:
        return
    v = fact.value
    cache, grown, limit = v["cache_bytes"], v["grown_bytes"], v["limit_bytes"]
    if grown < CACHE_GREW * limit or cache < CACHE_HOLDS * limit or v["anon_grown_bytes"] > 0.2 * grown:
        return
    text = (
        f"{cache / 1e6:,.0f} of the {limit / 1e6:,.0f} MB of this container are page cache, {grown / 1e6:,.0f} MB of it"
    )
    text += " from this run: the kernel frees it when memory is needed, so it is not a leak"
    fix = "watch anon in the container's memory.stat, not the total"
    yield finding("page-cache-growth", "info", text, fact, fix)


def memory(facts: Facts) -> Iterator[Finding]:
    """B14, B34: how much shared memory and memory the batches in flight take."""
    machine, current, batch = facts.find(MACHINE), facts.find(CURRENT), facts.find(BATCH)
    if machine is None or current is None or batch is None or not current.value["num_workers"]:
        return
    v = current.value
    held = host_bytes(facts, v["batch_size"], v["num_workers"], v.get("prefetch_factor"))
    if held is None:
        return
    memory_bytes, shm_bytes = machine.value["memory_bytes"], machine.value["shm_bytes"]
    if held > 0.8 * shm_bytes:
        text = f"batches in flight take {held / 1e9:.2f} GB of the {shm_bytes / 1e9:.2f} GB left in /dev/shm"
        fix = "enlarge /dev/shm (docker run --shm-size), or use fewer workers, a smaller prefetch_factor or batch"
        yield finding("shared-memory-too-small", "error", text, [current, batch], fix)
    elif held > 0.1 * memory_bytes:
        text = f"batches in flight take {held / 1e9:.2f} GB, {held / memory_bytes:.0%} of the memory left"
        fix = "use a smaller prefetch_factor, or fewer workers"
        yield finding("prefetch-memory", "warning", text, [current, batch], fix)


def cores(facts: Facts) -> Iterator[Finding]:
    """B33: more workers than cores gain nothing, as samples are CPU-bound."""
    machine, tried, current = facts.find(MACHINE), facts.find(TRIALS), facts.find(CURRENT)
    cpu, waits = cpu_and_waits(facts)
    if machine is None or tried is None or cpu < 0.2:
        return
    queue = sum(f.value["queue_ms"] for f in facts.all(STAGE) if f.at["stage"] != "worker_transfer")
    if cpu < 4 * waits and queue < 2 * waits:
        return
    rates = {t["num_workers"]: t["throughput"]["value"] for t in tried.value if t["num_workers"] and t["in_order"]}
    many, cpus = max(rates, default=0), machine.value["cpus"]
    if many <= cpus:
        return
    if facts.value(LOCKED, {"share": 0.0})["share"] >= LOCKED_LEAST:
        return  # they wait for a lock, which is told, and not for a core
    few, by = _as_fast(rates, many), tried
    curve = facts.find(CURVE)
    if not few and curve is not None:
        kept = {row["num_workers"]: row["throughput"] for row in curve.value if row["num_workers"]}
        few, by = _as_fast(kept, many), curve
    best = settings(facts)[1]
    if most_advised(facts) > few or (best is not None and best["workers"] < few):
        return  # another number is recommended, or more looked faster or are expected to be
    if few:
        are = ("is" if few == 1 else "are") if by is tried else "should be"
        text = f"{number(few, 'worker')} {are} as fast as {many}"
        text += f": the {cpus:g} cores are busy" if few >= cpus else ""  # else something that all share is
        fix = "make samples cheaper or add cores; more workers only take memory"
        if current is not None and current.value["num_workers"] == many:
            fix = f"set num_workers={few}: more only take memory, and time to start"
        yield finding("cores-used-up", "info", text, by, fix)


def _as_fast(rates: dict[int, float], many: int) -> int:
    """The fewest workers that are as fast as ``many``; 0 where none are."""
    return min((n for n in rates if n < many and rates.get(many, math.inf) < ALIKE * rates[n]), default=0)


def busy(facts: Facts) -> Iterator[Finding]:
    """Samples wait for a core longer than this loader's own processes explain: others run."""
    machine, current = facts.find(MACHINE), facts.find(CURRENT)
    if machine is None or current is None:
        return
    pulses = facts.find(PULSES)
    if (pulses is not None and many_threads(pulses.value)) or facts.value(THROTTLED, 0.0) > 0:
        return
    fetched = fetching(facts)
    queue, whole = queued_ms(facts), sum(f.value["ms"] for f in fetched)
    few = current.value["num_workers"] + 1 <= machine.value["cpus"]  # the main process needs one as well
    if few and whole > 0 and queue >= QUEUED * whole and queue >= QUEUED_MS:
        text = f"samples wait {queue / whole:.0%} of their time for a core, although there are fewer workers than cores: other"
    elif not few and waiting_for_others(facts) >= FOREIGN:
        cpu = sum(f.value["cpu_ms"] for f in fetched)
        text = f"samples wait for a core {queue / cpu:.1f} times as long as they compute, although the loader's own {current.value['num_workers'] + 1}"
        text += f" processes explain only {queue / cpu - waiting_for_others(facts):.1f} times as long: other"
    else:
        return
    text += " processes are running, and every rate here is lower than on an idle machine"
    yield finding(
        "machine-busy", "info", text, fetched, "stop the other processes and repeat, before you rely on these rates"
    )


def bandwidth(facts: Facts) -> Iterator[Finding]:
    """B36: samples wait, and several workers get far less than they would if their waits overlapped."""
    machine, tried = facts.find(MACHINE), facts.find(TRIALS)
    cpu, waits = cpu_and_waits(facts)
    if machine is None or tried is None or waits < 0.5 * (cpu + waits) or waits < 0.2 or not waits_on_stores(facts):
        return
    if facts.value(LOCKED, {"share": 0.0})["share"] >= LOCKED_LEAST or child_processes(facts):
        return  # what they wait for is told, and is no storage
    if waiting_for_others(facts) >= FOREIGN:
        return  # other processes take the cores that a second worker would need
    current = settings(facts)[0]
    if current is not None and most_advised(facts) > max(1, current["num_workers"]):
        return  # more workers were proved to help, or are expected to
    rows = {t["num_workers"]: t for t in tried.value if t["in_order"]}
    many = max((n for n in rows if n >= 2), default=0)
    if not many:
        return
    little = 0.4 if many >= 4 else 1.3 / many  # two workers that gain no more than this wait one after the other
    got = rows[many]["throughput"]["value"]
    # a process delivers as much as one worker; samples were timed in many, where they may have waited for one another
    one = next((rows[n]["throughput"]["value"] for n in (0, 1) if n in rows), None)
    alone, who = (1e3 / (cpu + waits), "one would read") if one is None else (one, "one reads")
    if got <= 0:
        return
    fewer = max((n for n in rows if 0 < n < many), default=0)
    if fewer and got > rows[fewer]["throughput"]["value"] * (many / fewer) ** SCALES:
        return  # more workers still help: samples are uneven, or beginning an epoch takes long
    delivered = facts.value(LENGTH, None)
    if delivered is not None and delivered["samples"] < MOST_PARALLEL * many * rows[many]["batch_size"]:
        return  # workers have no batches of their own
    begins = beginning(facts)
    if begins is not None and begins[0].value > 0.2 * begins[1] / got:
        return  # the rate is that of beginning epochs
    moved = TRANSPORT * rows[many]["main_ms"] / rows[many]["batch_size"]  # sending costs about what receiving does
    if got < little * min(many * alone, 1e3 * machine.value["cpus"] / (cpu + moved)):
        at_once = max(1, round(got / alone if one is not None else got * waits / 1e3))
        text = f"{many} workers read {got:,.0f} samples/s, {who} {alone:,.0f}: the storage or service"
        text += f" that samples wait for serves about {at_once} at a time"
        fix = f"read fewer bytes per sample, or use faster storage; more than {number(at_once, 'worker')} hardly help{'s' * (at_once == 1)}"
        yield finding("bandwidth-bound", "info", text, tried, fix)


def left_over(facts: Facts) -> Iterator[Finding]:
    """B54: torch's shared memory files whose process has ended."""
    fact = facts.find(LEFT_OVER)
    if fact is None or fact.value["bytes"] < HELD_LEAST:
        return
    paths, count, held = fact.value["paths"], fact.value["entries"], fact.value["bytes"]
    text = f"{count} files in /dev/shm belong to processes that have ended and hold {held / 1e6:.1f} MB"
    fix = "remove them: " + " ".join(paths[:3])
    yield finding("stale-shared-memory", "warning", text, fact, fix, [{"file": p} for p in paths], count)


RULES: tuple[Rule, ...] = (throttled, page_cache, memory, cores, busy, bandwidth, left_over)

"""What the machine and its limits do to loading: quotas, page cache, shared memory, cores, leftovers."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.stages import cpu_and_waits
from dataloader_expert.advice.workers import host_bytes
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.static_checks import LEFT_OVER
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.trials import TRIALS
from dataloader_expert.probes.system.outside import MACHINE, PAGE_CACHE, THROTTLED

LEAST_PERIODS = 10
"""Scheduling periods, a tenth of a second each as a rule, from which on a share of them says something."""
CACHE_GREW, CACHE_HOLDS = 0.05, 0.3
"""Shares of a container's limit: page cache is reported if it grew by the one and now holds the other."""
HELD_LEAST = 1 << 20
TRANSPORT = 3
"""CPU of bringing a batch from a worker, as a multiple of the main process's part."""


def throttled(facts: Facts) -> Iterator[Finding]:
    """B32: a CPU quota was used up in a twentieth of the periods that measuring took."""
    fact = facts.find(THROTTLED)
    if fact is None or (fact.evidence.seen or 0) < LEAST_PERIODS or fact.value < 0.05:
        return
    text = f"the CPU quota of this container was used up in {fact.value:.0%} of the time: its processes were stopped"
    yield finding("cpu-throttled", "warning", text, fact, "no more workers than the quota has cores, or a larger quota")


def page_cache(facts: Facts) -> Iterator[Finding]:
    """B3: reading has filled a container with page cache, which its total counts and which is no leak."""
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
    text += " from this reading: the kernel frees it when memory is needed, so it is no leak"
    fix = "watch anon in the container's memory.stat, not its total"
    yield finding("page-cache-growth", "info", text, fact, fix)


def memory(facts: Facts) -> Iterator[Finding]:
    """B14, B34: what the batches in flight take of shared memory and of memory."""
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
        fix = "a larger /dev/shm (docker run --shm-size), fewer workers, a smaller prefetch_factor or batch"
        yield finding("shared-memory-too-small", "error", text, [current, batch], fix)
    elif held > 0.1 * memory_bytes:
        text = f"batches in flight take {held / 1e9:.2f} GB, {held / memory_bytes:.0%} of the memory left"
        fix = "a smaller prefetch_factor, or fewer workers"
        yield finding("prefetch-memory", "warning", text, [current, batch], fix)


def cores(facts: Facts) -> Iterator[Finding]:
    """B33: more workers than cores, no gain, and samples that compute."""
    machine, tried = facts.find(MACHINE), facts.find(TRIALS)
    cpu, waits = cpu_and_waits(facts)
    if machine is None or tried is None or cpu < 0.2 or cpu < 4 * waits:
        return
    cpus = machine.value["cpus"]
    rates = {t["num_workers"]: t["throughput"]["value"] for t in tried.value if t["num_workers"] and t["in_order"]}
    many, few = [n for n in rates if n > cpus], [n for n in rates if 0 < n <= cpus]
    if many and few and rates[max(many)] < 1.03 * rates[max(few)]:
        text = f"{max(many)} workers give no more than {max(few)}: the {cpus:g} cores are used up"
        fix = "make a sample cheaper, or add cores; more workers only take memory"
        yield finding("cores-used-up", "info", text, tried, fix)


def bandwidth(facts: Facts) -> Iterator[Finding]:
    """B36: samples wait, and several workers get far less than that many samples waiting side by side."""
    machine, tried = facts.find(MACHINE), facts.find(TRIALS)
    cpu, waits = cpu_and_waits(facts)
    if machine is None or tried is None or waits < 0.5 * (cpu + waits) or waits < 0.2:
        return
    rows = {t["num_workers"]: t for t in tried.value if t["in_order"]}
    many = max((n for n in rows if n >= 2), default=0)
    if not many:
        return
    little = 0.4 if many >= 4 else 1.3 / many  # two that gain no more: all wait in turn
    alone = rows[0]["throughput"]["value"] if 0 in rows else 1e3 / (cpu + waits)
    got = rows[many]["throughput"]["value"]
    moved = TRANSPORT * rows[many]["main_ms"] / rows[many]["batch_size"]  # sending costs about what receiving does
    if got < little * min(many * alone, 1e3 * machine.value["cpus"] / (cpu + moved)):
        text = f"samples wait, and {many} workers read {got:,.0f} samples/s where the main process alone reads {alone:,.0f}:"
        text += " what they wait for hardly serves more of them at once"
        fix = "read fewer bytes a sample, or use faster storage; more workers do not help"
        yield finding("bandwidth-bound", "info", text, tried, fix)


def left_over(facts: Facts) -> Iterator[Finding]:
    """B54: shared memory of torch's whose process has gone."""
    fact = facts.find(LEFT_OVER)
    if fact is None or fact.value["bytes"] < HELD_LEAST:
        return
    paths, count, held = fact.value["paths"], fact.value["entries"], fact.value["bytes"]
    text = f"{count} entries in /dev/shm belong to processes that have ended: they hold {held / 1e6:.1f} MB"
    fix = "remove them: " + " ".join(paths[:3])
    yield finding("stale-shared-memory", "warning", text, fact, fix, [{"file": p} for p in paths], count)


RULES: tuple[Rule, ...] = (throttled, page_cache, memory, cores, bandwidth, left_over)

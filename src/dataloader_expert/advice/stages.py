"""The stages of a sample: which of them the present loader has, and which take too long."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.transport import FRESH_BYTES_S, MOVING
from dataloader_expert.advice.workers import settings
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.base import LOADER_FAILED
from dataloader_expert.probes.clocks import helping
from dataloader_expert.probes.model.batch import BATCH, COLLATE
from dataloader_expert.probes.profile.avoidable import AVOIDABLE
from dataloader_expert.probes.profile.hotspots import HOTSPOTS, LOCKED, USER_FUNCTIONS
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import PULSES
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.thresholds import WORTH
from dataloader_expert.probes.search.trials import TRIALS
from dataloader_expert.probes.system.outside import MACHINE

QUEUED_MS = 0.1
"""The milliseconds from which waiting for a core is told."""
FOREIGN = 0.5
"""How many times as long as they compute samples wait for a core beyond what their own processes explain, if the machine is busy."""
LOCKED_LEAST = 0.2
"""The least share of a sample's time that waiting for locks is reported from."""
COPIES = 2.0
"""Times as long as copying its bytes once that torch's collate may take: stacking reads and writes them."""


def taken(facts: Facts) -> list[Fact]:
    """The stages of the present loader: transport only with workers, pinning only with pin_memory."""
    current, _ = settings(facts)
    present = current or {"num_workers": 0, "pin_memory": False}
    left_out = {"worker_transfer"} if not present["num_workers"] else set()
    left_out |= {"pin"} if not present["pin_memory"] else set()
    return [f for f in facts.all(STAGE) if f.at["stage"] not in left_out]


def cpu_and_waits(facts: Facts) -> tuple[float, float]:
    """A sample's CPU and blocked time in milliseconds, without transport. What it is blocked while threads of its own
    compute is CPU time."""
    cpu, waits = _blocked(facts)
    pulses = facts.value(PULSES, {"helped_s": 0.0, "cpus": 1.0})
    helped = helping(waits, cpu, 1e3 * pulses["helped_s"], pulses["cpus"])
    return cpu + helped, waits - helped


def _blocked(facts: Facts) -> tuple[float, float]:
    """A sample's CPU time in the thread that loads, and that thread's blocked time, in milliseconds."""
    stages = [f.value for f in facts.all(STAGE) if f.at["stage"] != "worker_transfer"]
    return sum(v["cpu_ms"] for v in stages), sum(v["wait_ms"] for v in stages)


def fetching(facts: Facts) -> list[Fact]:
    """The stages in which a batch is made, without those in which it is moved."""
    return [fact for fact in facts.all(STAGE) if fact.at["stage"] not in MOVING]


def queued_ms(facts: Facts) -> float:
    """Milliseconds for which a sample waits for a core while it is made."""
    return float(sum(fact.value.get("queue_ms", 0.0) for fact in fetching(facts)))


def waiting_for_others(facts: Facts) -> float:
    """How many times as long as they compute samples wait for a core, beyond what this loader's own processes can be the cause of: of n
    threads that all want one of c cores each waits (n - c) / c times as long as it runs."""
    machine, current = facts.find(MACHINE), facts.find(CURRENT)
    cpu, queue = sum(f.value["cpu_ms"] for f in fetching(facts)), queued_ms(facts)
    if machine is None or current is None or not cpu or queue < QUEUED_MS:
        return 0.0
    sent = facts.find(STAGE, stage="worker_transfer")
    sending = 0.0 if sent is None else min(1.0, sent.value["cpu_ms"] / cpu)  # of each worker's second thread
    cpus, own = float(machine.value["cpus"]), 1 + current.value["num_workers"] * (1 + sending)
    return float(queue / cpu - max(0.0, (own - cpus) / cpus))


def waits_on_stores(facts: Facts) -> bool:
    """Whether most of the blocked time is that of reading, of a lock, or of code that is known to be nothing else: what computes is
    blocked by the machine."""
    cpu, waits = _blocked(facts)
    of_stores = [f.value["wait_ms"] for f in facts.all(STAGE) if f.at["stage"] in ("read", "unattributed")]
    locked = facts.value(LOCKED, {"share": 0.0})["share"] * (cpu + waits)
    return bool(sum(of_stores) + locked >= 0.5 * waits > 0)


def waits_for_threads(facts: Facts) -> bool:
    """Whether most of the blocked time is that of waiting for threads of the same process, which compute."""
    return cpu_and_waits(facts)[1] < 0.5 * _blocked(facts)[1]


def waits_for_locks(facts: Facts) -> bool:
    """Whether most of the blocked time is spent waiting for locks."""
    cpu, waits = _blocked(facts)
    return bool(facts.value(LOCKED, {"share": 0.0})["share"] * (cpu + waits) > 0.5 * waits > 0)


def locks(facts: Facts) -> Iterator[Finding]:
    """Loading processes wait for a lock that one of them holds."""
    fact, current = facts.find(LOCKED), facts.find(CURRENT)
    alone = current is not None and current.value["num_workers"] < 2
    if fact is None or fact.value["share"] < LOCKED_LEAST or alone:
        return
    at = fact.value["at"]
    text = f"loading processes spend {fact.value['share']:.0%} of a sample's time waiting for a lock or semaphore"
    text += f", at {posixpath.basename(at['file'])}:{at['line']} in `{at['function']}`" if at else ""
    text += ": whoever holds it keeps the others waiting"
    fix = "hold it for a shorter time, not while reading or decoding, or give each worker a handle of its own, which needs"
    fix += " none; more workers do not help"
    places = [{"file": at["file"], "line": at["line"]}] if at else []
    yield finding("waits-for-lock", "warning", text, fact, fix, places, cost=fact.value["share"])


def loading_ms(facts: Facts, stage: Fact) -> float:
    """A stage's CPU and blocked time in milliseconds. What other processes interrupt looks blocked as well, about as long as samples are
    queued, and no stack shows where: like waiting for a core, it is the machine's time."""
    v = stage.value
    seen = facts.find(HOTSPOTS)
    unseen = seen is not None and all(h["stage"] != "unattributed" for h in seen.value)
    if (
        unseen
        and stage.at["stage"] == "unattributed"
        and v["wait_ms"] <= 2 * queued_ms(facts)
        and waiting_for_others(facts) >= FOREIGN
    ):
        return float(v["cpu_ms"])
    return float(v["cpu_ms"] + v["wait_ms"])


def latency(facts: Facts) -> Iterator[Finding]:
    """B36: reading spends most of its time waiting."""
    if waits_for_locks(facts) or waits_for_threads(facts) or facts.find(LOADER_FAILED, hung=True) is not None:
        return
    if (locked := facts.find(LOCKED)) is not None and locked.value["share"] >= LOCKED_LEAST:
        return  # more workers wait for the same lock
    if any(work["kind"] == "retries" for work in facts.value(AVOIDABLE, [])):
        return  # more workers hide what fails
    if child_processes(facts):
        return  # what is waited for computes, and needs a core
    stages = fetching(facts)
    others = queued_ms(facts) if waiting_for_others(facts) >= FOREIGN else 0.0
    whole = sum(f.value["ms"] for f in stages)
    for fact in stages:
        v = fact.value
        if fact.at["stage"] not in ("read", "unattributed") or v["ms"] <= 0.5 or v["wait_ms"] <= 0.5 * v["ms"]:
            continue
        if fact.at["stage"] == "unattributed" and v["wait_ms"] <= 2 * others:
            continue  # what other processes interrupt looks blocked, about as long as samples are queued, and no stack shows it
        what = "reading" if fact.at["stage"] == "read" else "code that could not be attributed to a stage"
        text = f"{what} waits {v['wait_ms']:.2f} ms of the {whole:.2f} ms that a sample takes"
        fix = "use more workers than cores, so that waits overlap"
        if not workers_help(facts) or cores_suffice(facts):
            fix = "fetch several samples at once (__getitems__ or threads), or read fewer bytes: more workers were tried and delivered no more"
        yield finding("latency-bound", "info", text, fact, fix)


def child_processes(facts: Facts) -> bool:
    """Whether samples mostly wait for processes that they start: those compute, and what is read from them is no storage."""
    return any(work["kind"] == "processes" and work["share"] >= 0.5 for work in facts.value(AVOIDABLE, []))


def copying_ms(facts: Facts) -> float:
    """Milliseconds that writing a sample's bytes to fresh memory takes."""
    fields = facts.value(BATCH, {"fields": []})["fields"]
    return 1e3 * float(sum(f["bytes_per_sample"] for f in fields)) / FRESH_BYTES_S


def workers_help(facts: Facts) -> bool:
    """Whether the numbers of workers that were tried do not show that more of them deliver no more; too many may deliver less again."""
    rates: dict[int, float] = {}
    for trial in facts.value(TRIALS, []):
        n = trial["num_workers"]
        rates[n] = max(rates.get(n, 0.0), trial["throughput"]["value"])
    return len(rates) < 2 or max(rates.values()) >= WORTH * rates[min(rates)]


def cores_suffice(facts: Facts) -> bool:
    """Whether more workers than cores were tried and delivered no more than as many as there are cores."""
    cpus = facts.value(MACHINE, {"cpus": math.inf})["cpus"]
    rates = [(t["num_workers"], t["throughput"]["value"]) for t in facts.value(TRIALS, [])]
    few, many = ([rate for n, rate in rates if (n > cpus) is beyond] for beyond in (False, True))
    return bool(few and many) and max(many) < WORTH * max(few)


def own_ms(stage: Fact) -> float:
    """What a stage takes without waiting for a core, which is the machine's time."""
    return float(stage.value["ms"] - stage.value.get("queue_ms", 0.0))


def collating(facts: Facts) -> Iterator[Finding]:
    """B52: collate takes a quarter of a sample's CPU time, and torch's own longer than any that copies the same bytes."""
    collate, current = facts.find(STAGE, stage="collate"), settings(facts)[0]
    spent = sum(f.value["cpu_ms"] for f in taken(facts))
    lasts = sum(own_ms(f) for f in taken(facts))
    if collate is None or collate.value["cpu_ms"] <= max(0.05, 0.25 * spent, 0.1 * lasts):
        return
    default = facts.value(COLLATE, {"name": ""})["name"] in ("default", "default_collate")
    if default and collate.value["cpu_ms"] <= COPIES * copying_ms(facts):
        return
    if default and not (current or {"num_workers": 0})["num_workers"] and waiting_for_others(facts) >= FOREIGN:
        return  # torch's threads wait for one another on cores that others use, which counts as computing
    text = f"collate takes {collate.value['cpu_ms'] / spent:.0%} of a sample's CPU time"
    fix = "only stack and pad in it, in one call and to the longest sample of the batch; load tokenizers and models once, compute with whole "
    fix += "arrays (numpy, torch) instead of item by item, and do once beforehand what is the same in every epoch"
    fix += "; workers collate as well, so more of them help" if workers_help(facts) else ""
    if default:
        fix = "torch's default_collate only stacks: return few, small tensors in their final dtype, or make batches in __getitems__"
    spots = [spot for spot in facts.value(USER_FUNCTIONS, []) if spot["stage"] == "collate"]
    known = sum(work["share"] for work in facts.value(AVOIDABLE, []) if _within(work, spots))
    if known >= 0.5 * own_ms(collate) / lasts:
        return  # told as the work that it is
    most = [spot for spot in spots if 2 * spot["inclusive"] >= max(s["inclusive"] for s in spots)]
    spot = min(most, key=lambda s: s["inclusive"], default=None)  # the innermost
    where = []
    own = facts.value(COLLATE, {}).get("place")
    if spot is None and own is not None:
        text += f", in `{own['function']}` ({posixpath.basename(own['file'])}:{own['line']})"
        where = [{"file": own["file"], "line": own["line"]}]
    if spot is not None:
        text += f", most of it at {posixpath.basename(spot['file'])}:{spot['line']} in `{spot['function']}`"
        text += f", which calls {' and '.join(spot['calls'])}" if 0 < len(spot.get("calls", [])) <= 2 else ""
        where = [{"file": spot["file"], "line": spot["line"]}]
    share = collate.value["cpu_ms"] / spent
    if known:  # what is known to be done in it comes first
        yield finding("slow-collate", "info", text, collate, fix, where)
    else:
        yield finding("slow-collate", "warning", text, collate, fix, where, cost=share)


def _within(work: dict[str, Any], spots: list[dict[str, Any]]) -> bool:
    """Whether work is done in one of these functions of the user's."""
    place = work["places"][0] if work["places"] else None
    return place is not None and any((s["file"], s["function"]) == (place["file"], place["function"]) for s in spots)


RULES: tuple[Rule, ...] = (latency, locks, collating)

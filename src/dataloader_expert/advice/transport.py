"""What workers cost: starting them, transferring batches, keeping the order."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.workers import settings, throughput_at
from dataloader_expert.conclusions import Finding, Severity, finding, number, saved
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.base import PICKLING
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.experiments.packing import PACKED
from dataloader_expert.probes.first_use import FIRST_USE
from dataloader_expert.probes.health.batch_storages import CARRIED, LEAST_UNUSED
from dataloader_expert.probes.health.own_cache import MADE_FIRST
from dataloader_expert.probes.health.static_checks import ORDER_DRAWN, ORDER_PACE, SETTINGS, WEIGHTS
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import OWN_ITER, RECEIVING
from dataloader_expert.probes.search.loading import CURRENT, REMADE, SPEEDUP, UNPROVED
from dataloader_expert.probes.search.ordering import ORDERING
from dataloader_expert.probes.search.trials import EPOCH_START, STARTING, STARTUP, THROUGHPUT, TRIALS
from dataloader_expert.probes.sharding import SHARDING

FRESH_BYTES_S = 1.2e9
"""Bytes per second written to fresh shared memory, measured on two cores."""
TENSOR_MS = 0.39
"""CPU time of one more tensor in a batch that crosses a process boundary, measured on two cores."""
LEAST_SENDING = 0.15
"""The least share of a sample's time that sending it takes if that is a warning."""
MOVING = ("worker_transfer", "pin", "to_device")
"""Stages of a batch that is made."""
SLOW_START_S = 2.0
UNPICKLED = "keep the dataset object small, as it is pickled for each worker"
ONCE_STARTED = "set persistent_workers=True to start them once for all epochs"
LEAST_GAIN = 1.1
"""The least gain of out-of-order delivery that is told."""
PAUSE_SHARE, PAUSE_S = 0.05, 0.1
"""The share of an epoch that its beginning may take, and the shortest that is told."""
SPARSE = 0.05
"""Below this share of values that are not 0 a tensor takes less as indices and values, at 16 bytes for an entry of a matrix."""
DRAWING_SHARE, DRAWING_S = 0.125, 1e-4
"""The share of the time that drawing batches may take, of which the double is a warning; and the shortest of a batch that is told."""
AT_ONCE = "draw the batches of the whole epoch at once, with numpy (argsort, permutation), instead of searching or sorting what is left for each batch"
INTO_WORKERS = "move this work into the collate function or __getitem__, so that workers do it in parallel"
ITER_MS = 2.0
"""The least milliseconds of a batch that a loader's own __iter__ takes if that is told."""
PACK = "pack fields of one dtype into one tensor"


def head_of_line(facts: Facts) -> Iterator[Finding]:
    """B19: the consumer waits while later batches are ready, and in_order=False is significantly faster."""
    fact = facts.find(ORDERING)
    if fact is None or fact.value["low"] <= 1 or fact.value["gain"] < LEAST_GAIN:
        return
    if fact.value["overtaken"] < 1 - 1 / max(LEAST_GAIN, fact.value["low"]):
        return  # what keeps a worker idle for less cannot cost as much
    text = (
        f"with {fact.at['workers']} workers, in-order delivery keeps a worker idle {fact.value['overtaken']:.0%} of the "
        f"time spent waiting for a slow batch; in_order=False is {fact.value['gain']:.2f} times as fast"
    )
    fix = "set in_order=False if the order does not matter, or make batches of similar cost"
    yield finding("head-of-line-blocking", "warning", text, fact, fix, cost=saved(fact.value["low"]))


def cheap(facts: Facts) -> Iterator[Finding]:
    """B16: every number of workers tried is slower than none, and transport costs more than the samples themselves."""
    tried = facts.find(TRIALS)
    stages = {f.at["stage"]: f for f in facts.all(STAGE)}
    transfer = stages.pop("worker_transfer", None)
    if tried is None or transfer is None:
        return
    alone = [t["throughput"]["value"] for t in tried.value if not t["num_workers"]]
    others = [t["throughput"]["value"] for t in tried.value if t["num_workers"]]
    if alone and others and max(others) < 0.9 * max(alone):
        if transfer.value["ms"] > sum(f.value["ms"] for f in stages.values()):
            text = "loading a sample costs less than transferring it from a worker: workers slow this loader down"
            present = facts.value(CURRENT, {"num_workers": 1})["num_workers"]
            fix = f"{'use' if present else 'keep'} num_workers=0"
            loader = facts.value(PRESENT, {"batch_size": 1})
            if loader["batch_size"] is None and not loader["own_batches"]:
                fix += ", or make larger batches"  # the dataset makes them already
            elif facts.find(SHARDING) is not None:
                fix += ", or yield whole batches, with batch_size=None"
            elif not facts.value(SETTINGS, {}).get("whole"):
                fix += ", or fetch whole batches with __getitems__"
            yield finding(
                "samples-cheaper-than-transport", "info", text, [transfer, tried], fix, cost=_workers_cost(facts)
            )


def _workers_cost(facts: Facts) -> float | None:
    """The share of the time that having workers costs, if that was proved."""
    current, best = settings(facts)
    gain = facts.find(SPEEDUP)
    if current is None or not current["num_workers"] or best is None or best["settings"]["num_workers"]:
        return None
    if gain is None or gain.evidence.interval is None or facts.find(UNPROVED) is not None:
        return None
    return saved(gain.evidence.interval[0])


def batch_ms(facts: Facts) -> float:
    """Milliseconds that the samples of a batch take before it is sent."""
    costs = {str(f.at["stage"]): f.value for f in facts.all(STAGE)}
    own = sum(v["cpu_ms"] + v["wait_ms"] for name, v in costs.items() if name not in MOVING)
    return float(own * facts.value(RECEIVING, {"samples": 0})["samples"])


def sending_share(facts: Facts) -> float | None:
    """The share of a sample's time that sending it to the main process takes; None: not measured."""
    spent = {str(f.at["stage"]): f.value["cpu_ms"] + f.value["wait_ms"] for f in facts.all(STAGE)}
    whole = sum(spent.values())
    return spent["worker_transfer"] / whole if whole and "worker_transfer" in spent else None


def transport(facts: Facts) -> Iterator[Finding]:
    """B17, B18: what transferring batches from workers costs, by number of tensors and by bytes."""
    fact = facts.find(RECEIVING)
    batch = facts.find(BATCH)
    if fact is None or batch is None or not fact.value["samples"]:
        return
    carried = facts.value(CARRIED, {"unused": 0})
    if carried["unused"] >= LEAST_UNUSED:
        return  # what is sent is the storages behind the tensors
    if [*iterating(facts)]:
        return  # what is received is not what was sent
    each = batch_ms(facts)
    tensors, bytes_ = fact.value["tensors"], fact.value["bytes"]
    current, best = settings(facts)
    plans = [current, best and best["settings"]]
    sends = fact.value["workers"] or any(plan["num_workers"] for plan in plans if plan is not None)
    if (
        sends
        and facts.find(PACKED) is None
        and tensors >= 8
        and TENSOR_MS * tensors >= 0.2 * (each + TENSOR_MS * tensors)
    ):
        text = f"a batch has {tensors} tensors, each of which costs about {TENSOR_MS} ms to transfer from a worker, on"
        text += f" top of {each:.1f} ms for the samples (estimated: packed batches were not run)"
        yield finding("many-small-tensors", "warning", text, [fact, batch], PACK, cost=sending_share(facts))
    copied = 1e3 * bytes_ / FRESH_BYTES_S
    if fact.value["workers"] and bytes_ >= 4 << 20 and tensors < 8 and copied >= 0.2 * max(each, copied):
        text = f"writing a batch of {bytes_ / 1e6:.0f} MB to fresh shared memory takes a worker about {copied:.0f} ms,"
        text += f" loading its samples {each:.0f} ms"
        fix = "send uint8 and convert on the device, or crop or resize earlier"
        if best is not None and not best["settings"]["num_workers"]:
            fix += ", or load in the main process, as recommended"
        most, where = carried.get("largest"), []
        if most is not None:
            text += f"; `{escaped(most['path'] or 'the batch')}` (shape {most['shape']}) has {min(1.0, most['bytes'] / max(1, bytes_)):.0%} of its bytes"
            where = [place for place in (most["collate"],) if place is not None]
            where = [{**place, "field": most["path"]} for place in where] or [{"field": most["path"]}]
            if most["nonzero"] < SPARSE:
                text += f", {most['nonzero']:.1%} of its values are not 0"
                fix = f"send only the non-zero values of `{escaped(most['path'] or 'it')}` with their indices, and rebuild the dense tensor on the device if it is needed"
        share = sending_share(facts)
        severity: Severity = "info" if share is not None and share < LEAST_SENDING else "warning"
        yield finding("large-batches-copied", severity, text, [fact, batch], fix, where, cost=share)


def iterating(facts: Facts) -> Iterator[Finding]:
    """B30: the loader's own __iter__ computes longer for a batch than the workers, which share them, take for one."""
    fact, current = facts.find(OWN_ITER), facts.find(CURRENT)
    workers = 0 if current is None else current.value["num_workers"]
    if fact is None or workers < 2:
        return
    own, each = fact.value, batch_ms(facts)
    if own >= ITER_MS and workers * own >= each:
        text = (
            f"`{facts.value(SETTINGS, {}).get('iterates')}.__iter__` takes {own:.1f} ms per batch in the main process; "
        )
        text += f"a worker takes {each:.1f} ms to load one, and {workers} load in parallel"
        cost = saved(max(1.0, workers * own / (own + each)))
        yield finding("main-process-busy", "warning", text, fact, INTO_WORKERS, cost=cost)


def main_busy(facts: Facts) -> Iterator[Finding]:
    """B30: the main process computes a quarter of the time although workers do the loading."""
    fact = facts.find(TRIALS)
    if fact is None or [*iterating(facts)]:
        return
    begins = beginning(facts)
    current, best = settings(facts)
    mine = {plan["num_workers"] for plan in (current, best and best["settings"]) if plan is not None}
    for trial in fact.value:
        if mine and trial["num_workers"] not in mine:
            continue  # nobody trains so
        period = 1e3 * trial["batch_size"] / trial["throughput"]["value"] if trial["throughput"]["value"] else 0.0
        own = trial["main_ms"]
        if begins is not None and begins[1]:  # drawing the order is told as what it is
            own -= 1e3 * begins[0].value * trial["batch_size"] / begins[1]
        if trial["num_workers"] >= 2 and period > 1.0 and own >= 0.25 * period and own > 2.0:
            text = f"with {trial['num_workers']} workers the main process spends {own:.1f} of the "
            text += f"{period:.1f} ms between two batches "
            pace, own_iter = facts.find(ORDER_PACE), facts.value(SETTINGS, {}).get("iterates")
            by_sampler = 0.0 if pace is None else 1e3 * pace.value * trial["batch_size"]
            if pace is not None and 2 * by_sampler >= own:
                if pace.at.get("place") is not None:
                    return  # told by the rule for samplers
                text += f"in the sampler `{escaped(str(pace.at['sampler']))}`, which takes {by_sampler:.1f} ms to draw a batch"
                cost = min(1.0, by_sampler / period)
                yield finding("main-process-busy", "warning", text, [fact, pace], AT_ONCE, cost=cost)
                return
            text += f"in `{own_iter}.__iter__`" if own_iter else "on receiving them"
            fix = "return few large tensors instead of many small ones or nested Python objects"
            if own_iter:
                fix = INTO_WORKERS
            yield finding("main-process-busy", "warning", text, fact, fix, cost=min(1.0, own / period))
            return


def drawing(facts: Facts) -> Iterator[Finding]:
    """The user's sampler takes much of the time in which batches arrive: it runs in the main process, whatever the workers do."""
    pace, current, tried = facts.find(ORDER_PACE), facts.find(CURRENT), facts.find(TRIALS)
    if pace is None or current is None or tried is None or pace.at.get("place") is None:
        return
    workers = current.value["num_workers"]
    rates = [t["throughput"]["value"] for t in tried.value if t["num_workers"] == workers]
    share = pace.value * max(rates, default=0.0)
    if share < DRAWING_SHARE or pace.value * current.value["batch_size"] < DRAWING_S:
        return
    place = pace.at["place"]
    name = f"`{escaped(str(pace.at['sampler']))}.__iter__` ({posixpath.basename(place['file'])}:{place['line']})"
    text = f"the sampler takes {min(1.0, share):.0%} of the time between two batches to draw the next one"
    text += f" ({1e3 * pace.value * current.value['batch_size']:.2g} ms): {name}"
    text += ", which no number of workers speeds up, as it runs in the main process" if workers else ""
    severity: Severity = "warning" if share >= 2 * DRAWING_SHARE else "info"
    yield finding("main-process-busy", severity, text, [pace, tried], AT_ONCE, [place], cost=min(1.0, share))


def beginning(facts: Facts) -> tuple[Fact, float] | None:
    """What an epoch begins with, in seconds, and its samples: as the search timed it, else the drawing of the order."""
    fact, drawn, samples = facts.find(EPOCH_START), facts.find(ORDER_DRAWN), facts.value(SAMPLES)
    if fact is not None:
        return fact, float(fact.at["samples"])
    return (drawn, float(samples)) if drawn is not None and samples else None


def epoch_start(facts: Facts) -> Iterator[Finding]:
    """An epoch begins with a pause that is not the start of workers."""
    begins, current, drawn = beginning(facts), facts.find(CURRENT), facts.value(ORDER_DRAWN, 0.0)
    through = throughput_at(facts, current.value) if current is not None else None
    if begins is None or through is None:
        return
    fact, samples = begins
    if (
        facts.find(ORDER_DRAWN) is not None
        and drawn < 0.5 * fact.value
        and not facts.value(SETTINGS, {}).get("iterates")
    ):
        return  # the sampler was timed alone and is not it, and there is no stream: a busy machine
    tried = facts.value(TRIALS, [])
    starts = (t["startup_s"] for t in tried if not t["num_workers"] and t["startup_s"] is not None)
    if min(starts, default=math.inf) < 0.5 * fact.value:
        return  # without workers, drawing the order or opening the stream and reading a whole batch takes less
    seconds = samples / through.value + (fact.value if fact.quantity.name == ORDER_DRAWN.name else 0.0)
    if fact.value >= max(PAUSE_S, PAUSE_SHARE * seconds):
        text = (
            f"each epoch of {seconds:.2g} s begins with {fact.value:.2f} s before the first batch is read, also where"
        )
        text += " workers persist: "
        fix = "draw the order faster (torch.randperm, numpy)"
        if drawn >= 0.5 * fact.value:
            text += "the sampler takes that long to draw its order"
            if facts.find(WEIGHTS) is not None:
                fix = "use dataloader_expert.samplers.WeightedSampler, which draws an epoch several times as fast"
        else:
            text += "the sampler draws its order, or the stream opens its source"
            fix += ", or keep the connection or file open between epochs"
        pace = facts.find(ORDER_PACE)
        place = None if pace is None else pace.at.get("place")
        if drawn >= 0.5 * fact.value and place is not None and pace is not None:
            text += (
                f": `{escaped(str(pace.at['sampler']))}.__iter__`, {posixpath.basename(place['file'])}:{place['line']}"
            )
            fix = "compute once, in the sampler's __init__, what does not change from one epoch to the next, such as lengths, counts or weights, and only draw in __iter__"
        where = [place] if place is not None else []
        yield finding(
            "slow-epoch-start", "warning", text, [fact, through], fix, where, cost=min(1.0, fact.value / seconds)
        )


def startup(facts: Facts) -> Iterator[Finding]:
    """B21, B22: workers that are restarted each epoch, and workers that are slow to start."""
    current = facts.find(CURRENT)
    if current is None or not current.value["num_workers"]:
        return
    workers, kept = current.value["num_workers"], bool(current.value.get("persistent_workers"))
    fact, through = facts.find(STARTING, workers=workers, persistent=kept), throughput_at(facts, current.value)
    if fact is None:
        yield from _untimed(facts, workers, kept)
        return
    again = beginning(facts)
    epoch, starts = facts.value(SAMPLES), fact.value
    if again is not None:  # what keeping the workers would not save
        epoch, starts = again[1], max(0.0, starts - again[0].value)
    made, first = facts.value(REMADE, []), facts.find(STARTUP, workers=workers, persistent=kept)
    used = facts.find(FIRST_USE)
    pause = starts
    if made and first is not None and through is not None:
        pause = max(starts, first.value - workers * through.at["batch_size"] / through.value)
    if through is not None and epoch and not kept:
        seconds = epoch / through.value
        made_there, pause = pause > starts, min(pause, seconds)
        if pause >= PAUSE_SHARE * seconds:
            text = f"each epoch of {seconds:.2g} s begins with {pause:.2f} s of worker start-up"
            fix = "set persistent_workers=True to keep them between epochs"
            if made_there:
                text += f", in which each makes `{made[0]}` by reading its first sample"
                fix += f", or make `{made[0]}` in __init__: workers are forked with it"
            elif used is not None:
                text += f", in which each {_first_use(used)}"
                fix += f"; or {_once(used)}"
            _, best = settings(facts)
            if best is not None and not best["settings"]["num_workers"]:
                fix = f"set num_workers=0, as recommended: then nothing is started; if you keep workers, {fix}"
            yield finding("workers-recreated", "warning", text, [fact, through], fix, cost=min(1.0, pause / seconds))
    remade = facts.find(MADE_FIRST)
    forked = (facts.value(PICKLING) or {"start_method": "fork"})["start_method"] == "fork"
    # a fork copies nothing that could be made smaller: where it is slow and no cause is seen, the machine is busy
    if starts > SLOW_START_S and not (forked and used is None and remade is None):
        about = "about " if fact.evidence.how == "derived" else ""
        text = f"starting {number(workers, 'worker')} takes {about}{starts:.1f} s"
        fix, places = f"{UNPICKLED}, or use fork where the platform allows it", list[dict[str, Any]]()
        severity: Severity = "warning"
        if remade is not None:
            why, fix, places = _makes(remade, workers, kept)
            text = f"{text}: {why}"
        elif used is not None:
            text, fix = f"{text}: each {_first_use(used)}", _once(used)
        elif kept:
            severity, text = "info", f"{text}, once for all epochs: each imports torch and unpickles the dataset"
        else:
            text, fix = f"{text} in every epoch: each imports torch and unpickles the dataset", f"{ONCE_STARTED}; {fix}"
        yield finding("slow-worker-start", severity, text, fact, fix, places, cost=_of_an_epoch(facts, fact, kept))


def _of_an_epoch(facts: Facts, starts: Fact, kept: bool) -> float | None:
    """The share of an epoch that starting the workers takes where they were not timed, if they read no faster than the main process."""
    alone, samples = facts.find(THROUGHPUT, workers=0), facts.value(SAMPLES)
    if kept or starts.evidence.how != "derived" or alone is None or not samples:
        return None
    return float(starts.value / (starts.value + samples / alone.value))


def _untimed(facts: Facts, workers: int, kept: bool) -> Iterator[Finding]:
    """What each worker prepares for itself, where there was no time to see workers start."""
    used, made = facts.find(FIRST_USE), facts.find(MADE_FIRST)
    if made is not None:
        text, fix, places = _makes(made, workers, kept)
        yield finding("slow-worker-start", "warning", text, made, fix, places)
    elif used is not None and used.value > SLOW_START_S:
        text = f"each of {workers} workers {_first_use(used)}{'' if kept else ', in every epoch'}"
        fix = _once(used) if kept else f"{_once(used)}; set persistent_workers=True to keep them between epochs"
        yield finding("slow-worker-start", "warning", text, used, fix)


def _makes(made: Fact, workers: int, kept: bool) -> tuple[str, str, list[dict[str, Any]]]:
    """What each worker makes by reading its first sample, what to do, and where it is made."""
    names, place = " and ".join(f"`{escaped(name)}`" for name in made.at["names"]), made.at["place"]
    at = "" if place is None else f" ({posixpath.basename(place['file'])}:{place['line']})"
    text = f"each of {workers} workers makes {names} anew when it reads its first sample{at}, which takes {made.value:.2g} s"
    text += "" if kept else ", in every epoch"
    fix = f"make {names} in __init__, which forked workers share"
    fix += "" if kept else "; or set persistent_workers=True, to make it once in each worker"
    return text, fix, [] if place is None else [place]


def _first_use(used: Fact) -> str:
    """What a worker does before its first sample."""
    imports = used.at["imports"]
    return f"spends {used.value:.1f} s " + (
        f"importing `{escaped(imports)}`" if imports else "preparing its first sample"
    )


def _once(used: Fact) -> str:
    imports = used.at["imports"]
    if imports:
        return f"import {escaped(imports)} at the top of the module: forked workers then have it"
    return (
        "do that in __init__, before workers are forked (such as loading an index), unless it is a connection or a file, which each "
        "worker must open itself"
    )


RULES: tuple[Rule, ...] = (head_of_line, cheap, transport, iterating, main_busy, drawing, epoch_start, startup)

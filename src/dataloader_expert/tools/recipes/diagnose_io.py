"""Diagnoses loading: where the time goes and which settings are best, measured and proved."""

from __future__ import annotations

import math
from typing import Any

from dataloader_expert.advice.avoidable import bounds
from dataloader_expert.advice.base import findings_of
from dataloader_expert.advice.caching import cache_advice, paying
from dataloader_expert.advice.consumer import stall_share, workers_needed
from dataloader_expert.advice.failures import seen_hanging
from dataloader_expert.advice.forecast import forecast
from dataloader_expert.advice.freeing import freeing_advice
from dataloader_expert.advice.loading_summary import loading_summary
from dataloader_expert.advice.pinning import pinning_advice, pinning_pays
from dataloader_expert.advice.stages import loading_ms, taken, waits_for_threads
from dataloader_expert.advice.workers import settings, throughput_at, worker_advice
from dataloader_expert.checks.base import OF_LABELS
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.probes.base import LOADER_FAILED, Probe
from dataloader_expert.probes.data.layout import Layout
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.descriptors import OPEN_FILES
from dataloader_expert.probes.experiments.batched_indexing import BatchedIndexing
from dataloader_expert.probes.experiments.malloc_retention import MallocRetention
from dataloader_expert.probes.experiments.packing import Packing
from dataloader_expert.probes.experiments.projection import COLUMNS, Projection
from dataloader_expert.probes.experiments.sample_cache import CACHED, SampleCache
from dataloader_expert.probes.experiments.view_copies import ViewCopies
from dataloader_expert.probes.first_use import FirstUse
from dataloader_expert.probes.health.batch_storages import BatchStorages
from dataloader_expert.probes.health.cache_thrash import CacheThrash
from dataloader_expert.probes.health.caught_errors import CaughtErrors
from dataloader_expert.probes.health.line_causes import LineCauses
from dataloader_expert.probes.health.own_cache import OwnCache
from dataloader_expert.probes.health.sample_calls import SampleCalls
from dataloader_expert.probes.health.slow_causes import SlowCauses
from dataloader_expert.probes.health.start_up import START, StartUp
from dataloader_expert.probes.health.started_first import StartedFirst
from dataloader_expert.probes.health.static_checks import StaticChecks
from dataloader_expert.probes.health.stream_shares import StreamShares
from dataloader_expert.probes.health.stream_work import StreamWork
from dataloader_expert.probes.health.worker_resources import WorkerResources
from dataloader_expert.probes.health.worker_semantics import WorkerSemantics
from dataloader_expert.probes.hung import HANGS, LONG_SAMPLES
from dataloader_expert.probes.model.batch import BatchLook
from dataloader_expert.probes.model.step_time import STEP, StepTime
from dataloader_expert.probes.profile.hotspots import HOTSPOTS, USER_FUNCTIONS
from dataloader_expert.probes.profile.rereads import NONDETERMINISTIC, SLOW, SLOW_SHARE
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import MEMORY_GROWTH, OVERHEAD, READING, Stages
from dataloader_expert.probes.profile.transfer import TO_DEVICE
from dataloader_expert.probes.rank_sharding import RankSharding
from dataloader_expert.probes.search.loading import CURVE, ENDED, PREDICTED, SEARCHED, SPEEDUP, UNPROVED, Loading
from dataloader_expert.probes.search.stuck import STUCK, hang
from dataloader_expert.probes.search.thresholds import MOST_WORKERS, PROOF_SHARE, most_workers
from dataloader_expert.probes.search.trials import TRIALS
from dataloader_expert.probes.sharding import StreamSharding
from dataloader_expert.probes.system.environment import ENVIRONMENT, Environment
from dataloader_expert.probes.system.malloc_as_started import MallocAsStarted
from dataloader_expert.probes.system.outside import FAILED
from dataloader_expert.probes.system.storage import COLD, OPEN, WARM, Storage
from dataloader_expert.report import Figure, Next
from dataloader_expert.report import figure as figure_of
from dataloader_expert.tools.base import BUDGET_S, NO_CUDA, NO_DEVICE, Conclusion, Measured
from dataloader_expert.tools.diagnose_io import (
    Cacheable,
    Consumer,
    ForecastLine,
    Health,
    Hotspot,
    Predicted,
    Request,
    SettingsLine,
    Stage,
    StartMethod,
    StorageLine,
    Trial,
    WorkersLine,
)
from dataloader_expert.tools.recipes.code import loader_code

IDLE = (
    "other processes made samples wait here; none are expected there, so it is by the samples' own CPU and blocked time"
)
HEALTH = "health:"
"""How what is unknown begins if it is of whether samples are right."""
SAMPLES_NEEDED, LONGEST_S = 64, 600
"""So many samples are about what a diagnosis reads; and the longest budget that is asked for."""
LISTED, USERS_LEAST = 8, 5
"""Functions listed, and how many of these are reserved for the user's own, if there are as many."""


def recipe(request: Request) -> tuple[Probe, ...]:
    step: tuple[Probe, ...] = ()
    if request.model is not None and request.step_ms is None:
        step = (StepTime(request.model, request.model_args, request.batch_size, request.device),)
    return (
        Environment(),
        Layout(),
        OwnCache(),
        Scan(share=0.05, severities=("error", "warning"), near=False, most=512),
        BatchLook(request.batch_size),
        BatchStorages(request.batch_size),
        MallocAsStarted(request.batch_size),
        StaticChecks(request.batch_size, request.num_workers),
        *step,
        FirstUse(),
        StreamSharding(request.batch_size),
        RankSharding(request.local_world_size, share=0.2),
        StreamWork(),
        Projection(),
        CaughtErrors(share=0.08, most_s=1.5),  # what is right comes before what is fast, and takes little of the time
        SampleCalls(request.batch_size, share=0.1, most_s=1.5),
        WorkerSemantics(request.batch_size, share=0.12, first=True),
        WorkerResources(request.batch_size, share=0.12, first=True),
        CacheThrash(request.batch_size, share=0.08),
        Loading(
            batch_size=request.batch_size,
            num_workers=request.num_workers,
            max_workers=request.max_workers,
            local_world_size=request.local_world_size,
            step_ms=request.step_ms,
            also=() if request.what_if is None else (0, 1, 2),
        ),
        SampleCalls(request.batch_size),
        StartedFirst(),
        StreamShares(request.batch_size),
        WorkerSemantics(request.batch_size),
        ViewCopies(request.batch_size),
        Packing(request.batch_size),
        Stages(
            batch_size=request.batch_size,
            num_workers=request.num_workers,
            share=0.7,
            trip=request.what_if is not None,
        ),
        SlowCauses(),
        LineCauses(),
        MallocRetention(),
        WorkerResources(request.batch_size),
        SampleCache(request.batch_size),
        BatchedIndexing(
            request.batch_size
        ),  # after what times samples: what it frees changes what the allocator returns
        Storage(most_s=1.0),
        StartUp(),
    )


def conclude(request: Request, measured: Measured) -> Conclusion:
    facts, around = measured.facts, measured.surroundings
    current, recommended = settings(facts)
    if recommended is not None and pinning_pays(facts):
        recommended["settings"] = {**recommended["settings"], "pin_memory": True}
    unknowns: list[Unknown] = []
    if request.what_if is None:
        unknowns.append(Unknown("forecast", "pass what_if"))
    step_ms = facts.value(STEP)
    if step_ms is None:
        how = (
            "pass model, or"
            if request.model is None
            else "no step of the model was timed, see the other unknowns; pass"
        )
        unknowns.append(Unknown("consumer", f"{how} step_ms, the milliseconds of a training step"))
    if not facts.value(ENVIRONMENT, {"devices": []})["devices"]:
        unknowns.append(Unknown("stages: pin, to_device; storage.to_device_gb_s", NO_DEVICE))
        if request.device == "cuda":
            unknowns.append(Unknown("device", NO_CUDA))
    if recommended is None:
        unknowns.append(Unknown("recommended", "no setting could be timed; see the other unknowns"))
    most = most_workers(around.cpus)
    if recommended is not None and request.max_workers is None and recommended["settings"]["num_workers"] >= most:
        unknowns.append(Unknown("more workers", f"at most {most} are tried, {MOST_WORKERS} a core: pass max_workers"))
    stages = stages_of(facts)
    users = facts.value(USER_FUNCTIONS, [])
    idle = not waits_for_threads(facts)
    rows = ((s.name, s.share.value or 0.0, idle and s.wait_ms > max(s.cpu_ms, s.queue_ms)) for s in stages)
    top = max(rows, key=lambda row: row[1], default=None)
    fields = {
        "stages": stages,
        "bottleneck": None if top is None else top[0],
        "hotspots": hotspots_of(facts),
        "reading": reading_of(facts),
        "overhead": facts.value(OVERHEAD),
        "current": None if current is None else line_of(current, timed_at(facts, current)),
        "recommended": None
        if recommended is None
        else line_of(recommended["settings"], timed_at(facts, recommended["settings"])),
        "found_after_s": facts.value(SEARCHED),
        "search_ended": facts.value(ENDED),
        "speedup": figure_of(facts.find(SPEEDUP)),
        "trials": [Trial.model_validate(t) for t in facts.value(TRIALS, [])],
        "predicted": None if (c := facts.value(CURVE)) is None else [Predicted.model_validate(row) for row in c],
        "consumer": consumer_of(step_ms, facts, current, recommended),
        "storage": StorageLine(
            cold_mb_s=figure_of(facts.find(COLD)),
            warm_mb_s=figure_of(facts.find(WARM)),
            open_ms=figure_of(facts.find(OPEN)),
            to_device_gb_s=figure_of(facts.find(TO_DEVICE)),
        ),
        "cacheable": cacheable_of(facts),
        "start_methods": [StartMethod(method=str(f.at["method"]), first_batch_s=f.value) for f in facts.all(START)],
        "health": health_of(facts),
        "forecast": forecast_of(request, facts, around.cpus, step_ms),
        "code": None if recommended is None else loader_code(request, facts, recommended["settings"]),
    }
    steps = longer(request, facts)
    steps += [
        Next(
            tool="check_quality",
            arguments={"source": request.source},
            why="it checks the samples themselves: which are damaged, mislabelled or copied, and which hang",
        )
    ]
    return Conclusion(
        fields,
        loading_summary(facts, of_loading(measured), top, users, step_ms is not None, unchecked(measured)),
        [
            *worker_advice(facts),
            *freeing_advice(facts),
            *pinning_advice(facts),
            *cache_advice(facts, around.memory_bytes, measured.findings),
        ],
        steps,
        unknowns,
    )


def unchecked(measured: Measured) -> list[str]:
    """What of the correctness of loading there was no time to look at."""
    late = [u.what for u in measured.unknowns if u.what.startswith(HEALTH) and u.why.endswith("raise budget_s")]
    return list(dict.fromkeys(what.removeprefix(HEALTH).strip() for what in late))


def of_loading(measured: Measured) -> list[Finding]:
    """What a summary of loading may begin with: errors of loading, and what the rules about loaders found; what is wrong with labels
    and values is no cause of slow loading."""
    about_loaders = findings_of(measured.facts)
    of_data = OF_LABELS | {"duplicate-samples", "splits-overlap", "nan", "inf"}
    return [f for f in measured.findings if (f.severity == "error" and f.code not in of_data) or f in about_loaders]


def longer(request: Request, facts: Facts) -> list[Next]:
    """The same call with a budget that also allows the trial left out, or the proof that ran out of time."""
    predicted, unproved = facts.find(PREDICTED), facts.find(UNPROVED)
    budget = request.budget_s or BUDGET_S
    if predicted is not None:
        seconds = budget + float(predicted.at["seconds"]) / PROOF_SHARE
        why = f"time to try {predicted.at['settings']}, predicted {predicted.value:.1f} times as fast as the best tried"
    elif unproved is not None and unproved.value["by_time"] and facts.find(SPEEDUP) is not None:
        seconds = 2 * budget  # the interval of a mean shrinks with the square root of the pairs
        ratio = unproved.value["ratio"]
        why = f"time to prove that {unproved.value['settings']}, which looked {ratio:.1f} times as fast, is faster"
    elif (long := facts.find(LONG_SAMPLES)) is not None and not [*facts.all(TRIALS)]:
        seconds = min(LONGEST_S, budget + SAMPLES_NEEDED * long.value["seconds"])
        why = f"time to load batches of samples that take {long.value['seconds']:.2g} s each"
    else:
        return []
    arguments = {**request.model_dump(exclude_defaults=True), "budget_s": 5 * math.ceil(seconds / 5)}
    return [Next(tool="diagnose_io", arguments=arguments, why=why)]


def stages_of(facts: Facts) -> list[Stage]:
    """Shares of CPU plus blocked time, 0 for an absent stage; waiting for a core is charged to the machine, not the
    stage."""
    found, own = list(facts.all(STAGE)), taken(facts)
    total = sum(loading_ms(facts, f) for f in own)
    out = []
    for fact in found:
        v = fact.value
        share = loading_ms(facts, fact) / total if total and fact in own else 0.0
        low, high = fact.evidence.interval or (None, None)
        out.append(
            Stage(
                name=str(fact.at["stage"]),
                ms_per_sample=Figure(value=v["ms"], unit="ms", low=low, high=high, n=fact.evidence.seen, how="timed"),
                share=Figure(value=share, unit="", n=fact.evidence.seen, how="derived"),
                cpu_ms=v["cpu_ms"],
                wait_ms=v["wait_ms"],
                queue_ms=v["queue_ms"],
            )
        )
    return out


def hotspots_of(facts: Facts) -> list[Hotspot] | None:
    """The user's functions by time spent in them and what they call, then library functions by time spent in them
    alone."""
    fact = facts.find(HOTSPOTS)
    if fact is None:
        return None
    users: list[dict[str, Any]] = facts.value(USER_FUNCTIONS, [])
    libraries = [h for h in fact.value if not h["users"]]
    listed = users[: max(USERS_LEAST, LISTED - len(libraries))]
    return [hotspot(h, fact) for h in [*listed, *libraries][:LISTED]]


def hotspot(found: dict[str, Any], fact: Fact) -> Hotspot:
    shares = {}
    for name in ("share", "inclusive"):
        low, high = bounds(found[name], fact)
        shares[name] = Figure(value=found[name], unit="", low=low, high=high, n=fact.evidence.seen, how="sampled")
    return Hotspot(**{k: v for k, v in found.items() if k in Hotspot.model_fields} | shares)


def reading_of(facts: Facts) -> dict[str, Any] | None:
    """Bytes, and fields read and used: for user code the columns of its files, if these were watched."""
    found: dict[str, Any] | None = facts.value(READING)
    columns = facts.value(COLUMNS)
    if found is None or columns is None:
        return found
    return {**found, "fields_read": columns["read"], "fields_used": columns["used"] if columns["complete"] else None}


def timed_at(facts: Facts, settings: dict[str, Any]) -> Fact | None:
    """The throughput at settings if it was timed; what is only predicted is told as that."""
    fact = throughput_at(facts, settings)
    return fact if fact is not None and fact.evidence.how == "timed" else None


def line_of(given: dict[str, Any], fact: Fact | None) -> SettingsLine:
    return SettingsLine(
        batch_size=given["batch_size"],
        num_workers=given["num_workers"],
        prefetch_factor=given.get("prefetch_factor"),
        pin_memory=given["pin_memory"],
        persistent_workers=bool(given.get("persistent_workers")),
        in_order=given.get("in_order", True),
        throughput=figure_of(fact),
        throughput_batch_size=None if fact is None else fact.at["batch_size"],
        made_by=given.get("made_by"),
    )


def consumer_of(
    step_ms: float | None, facts: Facts, current: dict[str, Any] | None, recommended: dict[str, Any] | None
) -> Consumer | None:
    if step_ms is None or current is None or recommended is None:
        return None
    now, best = current["num_workers"], recommended["workers"]
    before, after = throughput_at(facts, current), throughput_at(facts, recommended["settings"])
    return Consumer(
        step_ms=step_ms,
        stall_share_current=None if before is None else stall(step_ms, now, before),
        stall_share_recommended=None if after is None else stall(step_ms, best, after),
        workers_needed=workers_needed(facts, step_ms),
    )


def stall(step_ms: float, workers: int, throughput: Fact) -> Figure:
    share = stall_share(step_ms, workers, throughput)
    return Figure(value=share, unit="", n=throughput.evidence.seen, how="derived")


def forecast_of(request: Request, facts: Facts, cpus: float, step_ms: float | None) -> ForecastLine | None:
    """One loader on the hardware in question, simulated with costs fitted here."""
    asked = request.what_if
    if asked is None:
        return None
    step = asked.step_ms if asked.step_ms is not None else step_ms
    found = forecast(
        facts,
        cpus,
        (step or 0.0) / 1e3,
        asked.cpus,
        asked.devices,
        asked.loaders,
        asked.storage_mb_s,
        asked.storage_latency_ms,
        []
        if asked.num_workers is None
        else [asked.num_workers]
        if isinstance(asked.num_workers, int)
        else asked.num_workers,
    )
    if found is None:
        return None
    rate = Figure(value=found.throughput, unit="samples/s", n=found.runs, how="derived")
    return ForecastLine(
        throughput=rate,
        by_law=rate.model_copy(update={"value": found.by_law}),
        at_workers=found.at_workers,
        limit=found.limit,
        workers_for_limit=found.workers_for_limit,
        by_workers=[
            WorkersLine(num_workers=row.workers, throughput=row.throughput, limit=row.limit, by_law=row.by_law)
            for row in found.table
        ],
        asked=asked.model_dump(exclude_none=True),
        per_process=(asked.devices or 1) > 1 or (asked.loaders or 1) > 1,
        note=IDLE if found.idle else None,
        stall_share=None if step is None else Figure(value=found.waits, unit="", n=found.runs, how="derived"),
    )


def cacheable_of(facts: Facts) -> list[Cacheable] | None:
    """What is worth caching; empty if caching was tried without a proved gain."""
    if facts.find(CACHED) is None:
        return None
    found = paying(facts)
    gain = figure_of(found)
    return (
        []
        if found is None or gain is None
        else [Cacheable(stage=found.at["stage"], bytes=found.at["bytes"], gain=gain)]
    )


def health_of(facts: Facts) -> Health:
    failed, loader, silent = facts.find(FAILED), facts.find(LOADER_FAILED), facts.find(STUCK)
    hung = failed is not None and seen_hanging(failed)
    hung = hung or facts.find(HANGS) is not None or (loader is not None and bool(loader.at["hung"]))
    return Health(
        open_files_per_1000=facts.value(OPEN_FILES),
        memory_mb_per_1000=facts.value(MEMORY_GROWTH),
        hung=hung or (silent is not None and hang(silent.value)),
        crashed=(failed is not None and failed.value["code"] == "worker-crashed")
        or (loader is not None and bool(loader.value["died"])),
        slow_samples=facts.value(SLOW, {"slowest": None})["slowest"],
        slow_share=figure_of(facts.find(SLOW_SHARE)),
        nondeterministic=facts.value(NONDETERMINISTIC),
    )

"""What a loader would deliver on other hardware: costs are fitted to a few runs here, then simulated there.

Next to the simulation stands the bottleneck law: the least of what the workers, the cores, the main process, the step
and the storage would each allow if nothing else limited them. The law uses mean costs only. The simulation also models
what lowers a rate below that bound: workers that queue for a core or for the storage, uneven samples, batches that wait
for a slow one before them, index requests in transit, queues of a few batches. Neither includes the start of workers.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dataloader_expert.advice.surroundings import busy
from dataloader_expert.facts import Facts
from dataloader_expert.plan import MOST_WORKERS
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import COSTS, READING, RECEIVING
from dataloader_expert.probes.profile.transfer import TRIP
from dataloader_expert.probes.search.loading import CURRENT, RECOMMENDED
from dataloader_expert.probes.search.simulation import Costs, Setup, Store, law, simulate, workers_for
from dataloader_expert.probes.search.trials import TRIALS

REACHED = 0.98
"""The share of the best rate at which it is reached: chance moves a simulated rate by about as much as the rest."""
BISECTIONS = 18
MANY, ROUNDS = 32, 6
"""Rows with more workers than MANY are simulated for ROUNDS rounds, two of which are warm-up."""
CHANCE = 4
"""Standard errors of the mean wait within which a run agrees with single samples: both are random draws."""

DRAWN, SEEDS = 120, 5
"""Batches of a simulated run, and the number of such runs with other seeds, whose spread is due to chance."""
BY_CHANCE = 3
"""A rate within this many standard deviations of such runs agrees with them."""
LEAST_SLOWDOWN, MOST_SLOWDOWN = 0.7, 2.5
"""Two threads of a core slow each other down at most twofold; shared caches and memory add to this, a higher clock
frequency takes from it."""


@dataclass(frozen=True)
class AtWorkers:
    """The forecast at a number of workers, in samples/s."""

    workers: int
    throughput: float
    by_law: float
    limit: str
    waits: float


@dataclass(frozen=True)
class Forecast:
    """``throughput`` of one loader in samples/s; ``by_law`` the bottleneck law's; ``runs`` that costs are fitted to."""

    throughput: float
    by_law: float
    at_workers: int
    limit: str
    workers_for_limit: int
    waits: float
    runs: int
    table: tuple[AtWorkers, ...] = ()
    idle: bool = False
    """Whether this machine was busy, and the other is taken to be idle."""


def fit(
    samples: tuple[tuple[float, float], ...],
    batch_size: int,
    rates: Mapping[int, float],
    cpus: float,
    collate_s: float = 0.0,
    receive_s: float = 0.0,
    trip_s: float = 0.0,
) -> Costs:
    """Costs that reproduce the throughputs measured here (samples/s by number of workers).

    The run without workers scales the samples' own costs to the time that a batch took; in the run with one worker the
    remainder is sending; with several workers it is the slowdown of busy cores.
    """
    b, n = batch_size, max(1, len(samples))
    cpu, waits = sum(c for c, _ in samples) / n, sum(w for _, w in samples) / n
    own = 0.0
    if 0 in rates:
        own = b / rates[0] - b * (cpu + waits) - collate_s
        spread = statistics.pstdev(w for _, w in samples) / n**0.5 if n > 1 else 0.0
        if abs(own) < CHANCE * b * spread:  # rare long waits: the run had more or fewer than the samples
            scale = max(0.05, 1 + own / (b * waits))
            samples, own, waits = tuple((c, w * scale) for c, w in samples), 0.0, waits * scale
        elif own < 0 or own > 0.25 * b * cpu:  # the machine was faster or slower when samples were read
            scale = max(0.05, (b / rates[0] - b * waits - collate_s) / (b * cpu)) if cpu else 1.0
            samples, own, cpu = tuple((c * scale, w) for c, w in samples), 0.0, cpu * scale
    costs = Costs(samples, collate_s, 0.0, receive_s, own, trip_s)
    if 1 in rates:
        send = b / rates[1] - b * (cpu + waits) - collate_s
        costs = replace(costs, send_s=max(0.0, send))
        main_bound = b / rates[1]
        costs = replace(costs, receive_s=min(receive_s, main_bound))
    many = max((w for w in rates if w > 1), default=0)
    return replace(costs, slowdown=_slowdown(costs, Setup(b, many, cpus=cpus), rates[many])) if many else costs


def _slowdown(costs: Costs, setup: Setup, rate: float) -> float:
    """How much slower busy cores are, if that is why several workers miss the rate that the costs allow.

    Runs of uneven samples differ by chance; a difference that chance explains is not a slowdown.
    """
    alike = [simulate(costs, setup, DRAWN, seed).throughput for seed in range(SEEDS)]
    if abs(rate - statistics.fmean(alike)) < BY_CHANCE * statistics.stdev(alike):
        return 1.0
    low, high = LEAST_SLOWDOWN, MOST_SLOWDOWN
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        here = simulate(replace(costs, slowdown=middle), setup, DRAWN).throughput
        low, high = (middle, high) if here > rate else (low, middle)
    return (low + high) / 2


def fitted(facts: Facts, cpus: float, idle: bool = False) -> tuple[Costs, Setup, int] | None:
    """Costs and the present setup, from the measurements, and the number of settings that they rest on.

    ``idle``: by the samples' own clocks alone, as rates of a busy machine contain the wait for its other processes.
    """
    pairs, trials, current = facts.find(COSTS), facts.value(TRIALS), facts.find(CURRENT)
    if pairs is None or not pairs.value or not trials or current is None:
        return None
    plain = [t for t in trials if t["in_order"] and (t["prefetch_factor"] or 2) == 2]
    size = plain[0]["batch_size"] if plain else current.value["batch_size"]
    rates = {t["num_workers"]: t["throughput"]["value"] for t in plain}
    allowed = {0, 1, max((n for n in rates if n <= max(1, int(cpus))), default=0)}
    rates = {n: r for n, r in rates.items() if n in allowed or n == current.value["num_workers"]}
    runs = len(rates)
    collate = facts.value(STAGE, {"ms": 0.0, "cpu_ms": 0.0}, stage="collate")
    if idle:
        rates = {}
        collate = {"ms": collate["cpu_ms"]}
    receiving = facts.value(RECEIVING, {"workers": 0, "main_s": 0.0})
    main = [t["main_ms"] / 1e3 for t in plain if t["num_workers"] and not idle]
    receive = min(main) if main else receiving["main_s"] if receiving["workers"] else 0.0
    samples = tuple((float(c), float(w)) for c, w in pairs.value)
    trip_s = facts.value(TRIP, 0.0)
    costs = fit(samples, size, rates, cpus, 1e-3 * collate["ms"] * size, receive, trip_s)
    recommended = facts.value(RECOMMENDED, {"workers": current.value["num_workers"]})
    return costs, Setup(size, recommended["workers"], cpus=cpus), runs


def forecast(
    facts: Facts,
    cpus_here: float,
    step_s: float = 0.0,
    cpus: float | None = None,
    devices: int | None = None,
    loaders: int | None = None,
    storage_mb_s: float | None = None,
    storage_latency_ms: float | None = None,
    also: Iterable[int] = (),
) -> Forecast | None:
    """One loader's throughput on that hardware with the fewest workers that reach the limit, and a table over numbers
    of workers up to these, plus those in ``also``."""
    idle = cpus is not None and any(busy(facts))  # neighbours here are none there
    found = fitted(facts, cpus_here, idle)
    if found is None:
        return None
    costs, setup, runs = found
    each = (cpus if cpus is not None else cpus_here) / max(1, devices or 1)
    store = None
    if storage_mb_s is not None or storage_latency_ms is not None or (loaders or 1) > 1:
        read = facts.value(READING, {"bytes_read_per_sample": 0.0, "bytes_delivered_per_sample": 0.0})
        size = read["bytes_read_per_sample"] or read["bytes_delivered_per_sample"]
        latency = None if storage_latency_ms is None else storage_latency_ms / 1e3
        store = Store(size, latency, None if storage_mb_s is None else storage_mb_s * 1e6)
    asked = replace(setup, cpus=each, step_s=step_s, storage=store, loaders=max(1, loaders or 1))
    workers, _ = workers_for(costs, asked, MOST_WORKERS)
    table = {n: at_workers(costs, replace(asked, workers=n), n == workers) for n in counts(workers, also)}
    rows = tuple(table.values())
    upto = [row for row in rows if row.workers <= workers]
    most = max(row.throughput for row in upto)
    best = next(row for row in upto if row.throughput >= REACHED * most)
    return Forecast(best.throughput, best.by_law, best.workers, best.limit, best.workers, best.waits, runs, rows, idle)


def counts(workers: int, also: Iterable[int]) -> list[int]:
    """Rows of the table: 0, powers of two up to the number that reaches the limit, that number, and ``also``."""
    powers = {1 << k for k in range(workers.bit_length())}
    return sorted({0, workers, *powers, *also})


def at_workers(costs: Costs, setup: Setup, exactly: bool) -> AtWorkers:
    """``exactly``: simulate until chance evens out; else many workers run few rounds, as their events take seconds."""
    batches = ROUNDS * setup.workers if setup.workers > MANY and not exactly else 0
    seen = simulate(costs, setup, batches)
    limit = limit_of(costs, setup, seen.limit)
    return AtWorkers(setup.workers, seen.throughput, law(costs, setup), limit, seen.waits)


def limit_of(costs: Costs, setup: Setup, limit: str) -> str:
    """``storage`` where the given storage's bandwidth is the limit rather than the latency of each request."""
    store = setup.storage
    if store is None or not store.bytes_s or not store.bytes_per_sample:
        return limit
    by_store = store.bytes_s / setup.loaders / store.bytes_per_sample
    return "storage" if by_store <= 1.02 * law(costs, setup) else limit

"""The simulated loader against real ones: fitted on 0, 1 and as many workers as cores, then used to predict other settings.

``python -m benchmarks.forecasting`` (about twenty minutes) runs at least 60 settings with other numbers of workers, prefetch
factors, orders, step times, added latencies and one core, each five times, interleaved. It prints each error next to the
spread of the real runs, and the closed-form bottleneck law next to our forecast. Settings within 5 % of the consumer's own
rate do not count. Clusters are compared with closed forms only, in the tests.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.common import keep
from benchmarks.searching import usage
from dataloader_expert.advice.forecast import fit
from dataloader_expert.probes.profile.transfer import trip
from dataloader_expert.probes.search.simulation import Costs, Setup, law, simulate

NAME = "forecasting"
REPEATS, RUN_S, LONG_RUN_S = 5, 0.8, 3.0
"""Runs of a setting and their seconds; longer where slow samples are rare, for else a run holds a dozen of them."""
SAMPLES, LONG_SAMPLES = 400, 2000
"""Samples read by themselves for the fit; more where slow ones are rare."""
WORK = {
    # CPU and waiting seconds of a sample, batch size, and what one sample in twenty waits beyond
    "computes": (0.002, 0.0, 16, 0.0),
    "waits": (0.0001, 0.006, 8, 0.0),
    "both": (0.001, 0.003, 16, 0.0),
    "uneven": (0.0002, 0.002, 4, 0.02),
}


@dataclass(frozen=True)
class Asked:
    """A setting of a workload, which a real loader is given; the simulator's ``Setup`` is made of it."""

    work: str
    workers: int
    prefetch: int = 2
    in_order: bool = True
    step_s: float = 0.0
    added_s: float = 0.0
    cores: int | None = None


def settings(cores: int) -> list[Asked]:
    found = []
    for work, (cpu, waits, size, long) in WORK.items():
        alone = size * (cpu + waits + long / 20)
        found += [Asked(work, n, p) for n in (1, 2, 3, 4, 6) for p in (1, 2, 4) if (n, p) not in ((1, 2), (cores, 2))]
        found += [Asked(work, n, 2, in_order=False) for n in (2, 4)]
        found += [Asked(work, n, step_s=f * alone) for n in (0, 1, 2) for f in (0.3, 0.8, 2.0)]
        found += [Asked(work, n, added_s=0.004) for n in (0, 2, 4)]
        found += [Asked(work, n, cores=1) for n in (0, 1, 2)]
    return found


def measured(asked: Asked, run: int) -> tuple[float, float]:
    """Samples/s of a real loader, and the CPU seconds of this process per batch. Each run has an order of its own: in one
    order all would have the same luck with the slow samples, and agree on it."""
    import torch

    from benchmarks import workloads

    users: Any = workloads
    cpu, waits, size, long = WORK[asked.work]
    more: dict[str, Any] = {}
    if asked.workers:
        more = {"prefetch_factor": asked.prefetch, "in_order": asked.in_order}
    before = os.sched_getaffinity(0)
    if asked.cores is not None:
        os.sched_setaffinity(0, set(sorted(before)[: asked.cores]))
    try:
        dataset: Any = users.Costs(cpu, waits + asked.added_s, long=long)
        loader: Any = torch.utils.data.DataLoader(
            dataset,
            batch_size=size,
            num_workers=asked.workers,
            shuffle=True,
            generator=torch.Generator().manual_seed(run),
            **more,
        )
        stream = iter(loader)
        n = max(1, asked.workers)
        for _ in range(n * (1 + (asked.prefetch if asked.workers else 0))):
            next(stream)
            time.sleep(asked.step_s)  # the step: a device's, which takes none of these cores
        begun, batches, main = time.perf_counter(), 0, time.thread_time()
        while time.perf_counter() - begun < (LONG_RUN_S if long else RUN_S):
            for _ in range(n):
                next(stream)
                if asked.step_s:
                    time.sleep(asked.step_s)  # as above
            batches += n
        spent = time.perf_counter() - begun
        main = time.thread_time() - main
        shut = getattr(stream, "_shutdown_workers", None)
        if shut is not None:
            shut()
        return batches * size / spent, main / batches
    finally:
        os.sched_setaffinity(0, before)


def fitted(work: str, cores: int) -> Costs:
    """Costs by the samples' own and three runs, each the median of five."""
    cpu, waits, size, long = WORK[work]
    runs = {n: [measured(Asked(work, n), run) for run in range(REPEATS)] for n in (0, 1, cores)}
    rates = {n: statistics.median(r for r, _ in found) for n, found in runs.items()}
    main = min(m for n, found in runs.items() if n for _, m in found)
    from benchmarks import workloads

    users: Any = workloads
    dataset: Any = users.Costs(cpu, waits, long=long)
    pairs = []
    for i in range(LONG_SAMPLES if long else SAMPLES):
        wall, busy = time.perf_counter(), time.thread_time()
        dataset[i]
        wall, busy = time.perf_counter() - wall, time.thread_time() - busy
        pairs.append((busy, max(0.0, wall - busy)))
    trip_s = trip(dataset.x.expand(size, *dataset.x.shape).contiguous()).value
    return fit(tuple(pairs), size, rates, float(cores), 0.0, main, trip_s)


def predicted(costs: Costs, asked: Asked, cores: int) -> tuple[float, float]:
    size = WORK[asked.work][2]
    own = replace(costs, samples=tuple((c, w + asked.added_s) for c, w in costs.samples))
    setup = Setup(size, asked.workers, asked.prefetch, asked.in_order, float(asked.cores or cores), asked.step_s)
    return simulate(own, setup).throughput, law(own, setup)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=list(WORK))
    asked = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    costs = {work: fitted(work, cores) for work in asked.only}
    every = [s for s in settings(cores) if s.work in asked.only]
    seen: dict[Asked, list[float]] = {s: [] for s in every}
    mark = usage()
    for run in range(REPEATS):
        for setting in every:
            seen[setting].append(measured(setting, run)[0])
    rows = []
    for setting, rates in seen.items():
        ours, by_law = predicted(costs[setting.work], setting, cores)
        reference = statistics.median(rates)
        consumer = WORK[setting.work][2] / setting.step_s if setting.step_s else float("inf")
        if abs(reference / consumer - 1) < 0.05:
            continue
        spread = max(rates) / min(rates) - 1
        rows.append((setting, reference, spread, ours / reference - 1, by_law / reference - 1))
    for setting, reference, spread, error, other in rows:
        said = f"{setting.work:9} n={setting.workers} p={setting.prefetch} {'' if setting.in_order else 'any order '}"
        said += f"{f'step {1e3 * setting.step_s:.0f} ms ' if setting.step_s else ''}"
        said += f"{'+4 ms ' if setting.added_s else ''}{'one core ' if setting.cores else ''}"
        print(f"{said:44} {reference:8.1f}/s spread {spread:5.1%} ours {error:+6.1%} law {other:+6.1%}")
    errors, others = sorted(abs(r[3]) for r in rows), sorted(abs(r[4]) for r in rows)
    steady = [abs(r[3]) for r in rows if r[2] <= 0.05]
    result = {
        "settings": len(rows),
        "median": statistics.median(errors),
        "p90": errors[int(0.9 * len(errors))],
        "worst_where_steady": max(steady, default=0.0),
        "steady": len(steady),
        "law_median": statistics.median(others),
        "law_p90": others[int(0.9 * len(others))],
        "seconds": round(usage()[2] - mark[2], 1),
        "rows": [[repr(s), ref, spread, error, other] for s, ref, spread, error, other in rows],
        "complete": set(asked.only) == set(WORK),
    }
    keep(NAME, result)
    print({k: v for k, v in result.items() if k != "rows"})


if __name__ == "__main__":
    main()

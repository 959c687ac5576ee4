"""The training step that consumes batches: how long it waits for them, and how many workers hide the loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dataloader_expert.advice.base import Rule, Weighing
from dataloader_expert.advice.forecast import fitted
from dataloader_expert.advice.workers import settings, throughput_at
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.search.loading import SPEEDUP
from dataloader_expert.probes.search.runner import cycle
from dataloader_expert.probes.search.simulation import simulate
from dataloader_expert.probes.search.thresholds import WORTH
from dataloader_expert.probes.search.trials import TRIALS
from dataloader_expert.probes.system.outside import MACHINE

STARVES = 0.2
"""The share of time that training waits for data from which it is a warning."""
KEEPS_UP = 0.02
"""The share up to which loading is hidden behind the training step."""
NOT_OF_TIME = frozenset({"memory-leak", "dataset-caches-samples"})
"""Codes of what ends a run, however long its samples take."""


def stall_share(step_ms: float, workers: int, throughput: Fact) -> float:
    """The share of time that the step waits for a batch."""
    return 1 - step_ms / (1e3 * cycle(throughput.at["batch_size"] / throughput.value, step_ms / 1e3, workers))


def workers_needed(facts: Facts, step_ms: float) -> int | None:
    """The fewest workers that hide the loading as well as the recommended number does, by what was timed and, between the numbers
    tried, by what is predicted from it; None if no number tried does."""
    current, recommended = settings(facts)
    if current is None or recommended is None:
        return None
    best, trials = recommended["workers"], facts.value(TRIALS, [])
    cycles: dict[int, float] = {}
    for t in trials:
        n = t["num_workers"]
        ms = 1e3 * cycle(t["batch_size"] / t["throughput"]["value"], step_ms / 1e3, n)
        cycles[n] = min(ms, cycles.get(n, ms))
    most = WORTH * step_ms  # a cycle up to this counts as hidden loading; all numbers that reach it are equally good
    enough = [n for n, ms in cycles.items() if ms <= (1.01 * cycles[best] if cycles[best] <= most else most)]
    return predicted_enough(facts, cycles, min(enough), trials[0]["batch_size"], most) if enough else None


def predicted_enough(facts: Facts, cycles: Mapping[int, float], enough: int, batch: int, most_ms: float) -> int:
    """The fewest workers from ``enough`` down, above all numbers that were too few when tried, whose simulated rate yields a batch in
    ``most_ms``."""
    cpus = facts.value(MACHINE, {"cpus": None})["cpus"]
    found = None if cpus is None else fitted(facts, cpus)
    low = max((n for n in cycles if n < enough), default=0) + 1
    if found is None or low >= enough:
        return enough
    costs, setup, _ = found
    while low < enough:
        middle = (low + enough) // 2
        rate = simulate(costs, replace(setup, workers=middle)).throughput
        low, enough = (low, middle) if 1e3 * batch <= most_ms * rate else (middle + 1, enough)
    return enough


def waits_now(facts: Facts) -> float | None:
    """The share of time that the training step waits for data at the present settings; None: not known."""
    step_ms, (current, _) = facts.value(STEP), settings(facts)
    now = None if current is None else throughput_at(facts, current)
    if step_ms is None or current is None or now is None:
        return None
    return stall_share(step_ms, current["num_workers"], now)


def keeps_up(facts: Facts) -> bool:
    """Whether the present settings load while the training step computes, as was timed: nothing that makes them faster makes training faster."""
    waits, current = waits_now(facts), settings(facts)[0]
    now = None if current is None else throughput_at(facts, current)
    return waits is not None and waits <= KEEPS_UP and now is not None and now.evidence.how == "timed"


def hidden(facts: Facts, findings: list[Finding]) -> list[Finding]:
    """What costs loading time and nothing else is no warning where training does not wait for it."""
    if not keeps_up(facts):
        return findings
    return [
        replace(f, severity="info")
        if f.cost is not None and f.severity == "warning" and f.code not in NOT_OF_TIME
        else f
        for f in findings
    ]


def starving(facts: Facts) -> Iterator[Finding]:
    """The training step waits for its batch more than a fifth of the time."""
    step_ms, speedup, waits = facts.value(STEP), facts.find(SPEEDUP), waits_now(facts)
    if step_ms is None or speedup is None or settings(facts)[1] is None or waits is None or waits <= STARVES:
        return
    text = f"with a {step_ms:.4g} ms training step, training waits for data {waits:.0%} of the time"
    enough = workers_needed(facts, step_ms) is not None
    fix = "make samples cheaper to load: no number of workers tried keeps up with the step"
    cited = [f for f in (speedup, throughput_at(facts, {"num_workers": 0})) if f is not None]
    yield finding("accelerator-starves", "warning", text, cited, "use the recommended settings" if enough else fix)


RULES: tuple[Rule, ...] = (starving,)
WEIGHS: tuple[Weighing, ...] = (hidden,)

"""The sampler: from the drawn epochs."""

from __future__ import annotations

from dataloader_expert.conclusions import Advice
from dataloader_expert.facts import Facts
from dataloader_expert.probes.experiments.sampler_simulation import DRAWN, STRATEGY


def sampler_advice(facts: Facts) -> list[Advice]:
    strategy = facts.find(STRATEGY)
    if strategy is None or strategy.value["strategy"] in ("random", "stream"):
        return []
    name = strategy.value["strategy"]
    drawn = facts.find(DRAWN, strategy=name)
    cited = (strategy.cite(), *([drawn.cite()] if drawn is not None else []))
    cost = "none"
    if drawn is not None and drawn.value["unique_fraction"] < 1:
        cost = (
            f"an epoch shows {drawn.value['unique_fraction']:.0%} of the samples, one of them "
            f"{drawn.value['max_repeats']} times"
        )
    return [Advice("sampler", name, "random", strategy.value["why"], None, cost, cited)]

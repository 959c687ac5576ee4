"""The sampler: what its simulated epochs show, and which one to use."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Advice, Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import PRESENT
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
            f"an epoch covers {drawn.value['unique_fraction']:.0%} of the samples and draws one of them "
            f"{drawn.value['max_repeats']} times"
        )
    return [Advice("sampler", name, "random", strategy.value["why"], None, cost, cited)]


def repeating(facts: Facts) -> Iterator[Finding]:
    """The suggested sampler draws one sample ten times or more in an epoch."""
    strategy = facts.find(STRATEGY)
    fact = None if strategy is None else facts.find(DRAWN, strategy=strategy.value["strategy"])
    if fact is not None and fact.value["max_repeats"] >= 10:
        text = f"one sample is drawn {fact.value['max_repeats']} times in an epoch"
        fix = "augment the rare classes, or weight the loss instead"
        yield finding("repeats-of-rare-samples", "warning", text, fact, fix)


def unseen(facts: Facts) -> Iterator[Finding]:
    """The present sampler leaves more than a tenth of the samples out of an epoch."""
    fact = facts.find(DRAWN, strategy="present")
    if fact is not None and fact.value["unique_fraction"] < 0.9 and facts.find(PRESENT) is not None:
        text = f"an epoch of the present sampler covers {fact.value['unique_fraction']:.0%} of the samples"
        fix = "draw more samples per epoch, or draw without replacement"
        yield finding("samples-never-seen", "warning", text, fact, fix)


RULES: tuple[Rule, ...] = (repeating, unseen)

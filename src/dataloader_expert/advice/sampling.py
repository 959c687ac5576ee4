"""The sampler: what its simulated epochs show, and which one to use."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Advice, Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.experiments.sampler_simulation import BEYOND, DRAWN, STRATEGY
from dataloader_expert.probes.health.static_checks import LENGTH


def sampler_advice(facts: Facts) -> list[Advice]:
    strategy = facts.find(STRATEGY)
    if strategy is None or strategy.value["strategy"] in ("random", "stream"):
        return []
    name = strategy.value["strategy"]
    drawn, present = facts.find(DRAWN, strategy=name), facts.find(DRAWN, strategy="present")
    if drawn is not None and present is not None and alike(drawn.value["classes"], present.value["classes"]):
        return []  # the present one draws the classes as the suggested one does
    cited = (strategy.cite(), *([drawn.cite()] if drawn is not None else []))
    cost = "none"
    if drawn is not None and drawn.value["unique_fraction"] < 1:
        cost = f"an epoch covers {drawn.value['unique_fraction']:.0%} of the samples, and draws one {drawn.value['max_repeats']} times"
    return [Advice("sampler", name, "random", strategy.value["why"], None, cost, cited)]


LEAST_DRAWN, IMBALANCED = 0.05, 3
"""The least share of the samples that a sampler with sound weights draws in an epoch, and the ratio of classes that may need one."""
ALIKE = 0.2
"""By how much of the larger the numbers of samples of a class in two epochs may differ."""
UNMIXED = 0.6
"""The share of a plain shuffle's classes per batch below which the order of the samples is not mixed."""
PER_SAMPLE = (
    "give one weight per sample, 1 / the number of samples of its class, and draw with replacement: "
    "WeightedRandomSampler((1 / counts)[labels], len(labels))"
)


def repeating(facts: Facts) -> Iterator[Finding]:
    """The suggested sampler draws one sample ten times or more in an epoch, and more often than the present one."""
    strategy = facts.find(STRATEGY)
    fact = None if strategy is None else facts.find(DRAWN, strategy=strategy.value["strategy"])
    present = facts.value(DRAWN, {"max_repeats": 0}, strategy="present")
    if fact is not None and fact.value["max_repeats"] >= max(10, 1.5 * present["max_repeats"]):
        text = f"the suggested sampler draws one sample {fact.value['max_repeats']} times in an epoch"
        fix = "augment the rare classes, or weight the loss instead"
        yield finding("repeats-of-rare-samples", "warning", text, fact, fix)


def unseen(facts: Facts) -> Iterator[Finding]:
    """The present sampler leaves more than a tenth of the samples out of an epoch, or some while it draws others again."""
    fact, name = facts.find(DRAWN, strategy="present"), sampler_of(facts)
    if fact is None or name is None or "Distributed" in name:
        return  # other ranks draw the rest
    dropped = facts.value(LENGTH, {"samples": 1000, "dropped": 0})
    n = facts.value(SAMPLES) or dropped["samples"]
    missed = round((1 - fact.value["unique_fraction"]) * n) - dropped["dropped"]  # which is told of drop_last
    if missed < 0.1 * n:
        if missed > 0 and fact.value["max_repeats"] > 1 and "Weighted" not in name and not _balances(facts):
            text = (
                f"an epoch of the present sampler leaves out {missed:,} of {number(n, 'sample')} and draws others up to"
            )
            text += f" {fact.value['max_repeats']} times"
            fix = "draw each sample once: compare the sampler's indices with range(len(dataset))"
            yield finding("samples-never-seen", "warning", text, fact, fix, count=missed)
        return
    text = f"an epoch of the present sampler covers {fact.value['unique_fraction']:.0%} of the samples"
    weighted = "Weighted" in name and fact.value["max_repeats"] > 1
    if weighted and fact.value["unique_fraction"] >= LEAST_DRAWN:
        text += ": it draws by weight, and other samples come in other epochs"
        yield finding("samples-never-seen", "info", text, fact, "draw more samples per epoch to cover more of them")
    elif weighted:
        yield finding("samples-never-seen", "warning", text, fact, PER_SAMPLE)
    else:
        fix = "draw more samples per epoch, or draw without replacement"
        yield finding("samples-never-seen", "warning", text, fact, fix)


def _balances(facts: Facts) -> bool:
    """Whether an epoch of the present sampler has its classes more alike in number than a plain shuffle: that takes repeats."""
    found = (facts.value(DRAWN, {"classes": None}, strategy=s)["classes"] or [0] for s in ("present", "random"))
    now, before = (max(counts) / min(counts) if min(counts) else math.inf for counts in found)
    return now < 0.9 * before


def weighting(facts: Facts) -> Iterator[Finding]:
    """The present sampler draws by weight, and the classes are no more balanced than in a plain shuffle."""
    present, plain = facts.find(DRAWN, strategy="present"), facts.find(DRAWN, strategy="random")
    name = sampler_of(facts)
    if present is None or plain is None or name is None or "Weighted" not in name:
        return
    now, before = (f.value["classes"] or [0] for f in (present, plain))
    if (
        not min(before)
        or max(before) < IMBALANCED * min(before)
        or min(now) * max(before) > 1.5 * min(before) * max(now)
    ):
        return
    text = f"an epoch of the present {escaped(name)} has {max(now):,} samples of one class and {min(now):,} of another, a plain"
    worse = 2 * min(now) * max(before) < min(before) * max(now)  # class weights for samples, or their inverse
    text += f" shuffle {max(before):,} and {min(before):,}: it {'makes the imbalance worse' if worse else 'does not balance the classes'}"
    fails = worse or present.value["max_repeats"] == 1  # without replacement all are drawn in the end
    severity: Severity = "warning" if fails else "info"  # weights may be for something else
    yield finding("severe-imbalance", severity, text, [present, plain], f"to balance them, {PER_SAMPLE}")


def alike(one: list[int] | None, two: list[int] | None) -> bool:
    """Whether two epochs have about the same numbers of samples of each class, other than by a plain shuffle."""
    if not one or not two or len(one) != len(two):
        return False
    return all(abs(a - b) <= ALIKE * max(a, b) for a, b in zip(one, two, strict=True))


def beyond(facts: Facts) -> Iterator[Finding]:
    """The present sampler draws indices that the data set does not have."""
    fact = facts.find(BEYOND)
    if fact is not None:
        n, first, held = fact.value["count"], fact.value["first"], fact.value["samples"]
        text = f"the present {escaped(sampler_of(facts) or 'sampler')} draws {n:,} {'index' if n == 1 else 'indices'} beyond the end of the data set, such as"
        text += f" {first:,} of {held:,} samples: reading them raises IndexError"
        yield finding(
            "sample-raises", "error", text, fact, f"give the sampler indices below {held:,}, those of this data set"
        )


def unmixed(facts: Facts) -> Iterator[Finding]:
    """Batches of the present loader hold far fewer classes than a plain shuffle's, because samples are read in their stored order."""
    present, plain = facts.find(DRAWN, strategy="present"), facts.find(DRAWN, strategy="random")
    if present is None or plain is None or sampler_of(facts) != "SequentialSampler":
        return  # batches of one class may be what another sampler is for
    now, mixed = present.value["classes_per_batch"], plain.value["classes_per_batch"]
    if now is None or mixed is None or now > UNMIXED * mixed:
        return
    text = f"a batch holds {now:.1f} classes on average, one of a plain shuffle {mixed:.1f}: samples are read in their stored order, which"
    text += " is by class"
    fix = "pass shuffle=True for training; a loader for evaluation only can stay as it is"
    yield finding("batches-miss-classes", "warning", text, [present, plain], fix)


def sampler_of(facts: Facts) -> str | None:
    """The class of the present loader's sampler; None without a loader."""
    present = facts.find(PRESENT)
    return None if present is None else str(present.value["sampler"])


RULES: tuple[Rule, ...] = (beyond, unmixed, repeating, unseen, weighting)

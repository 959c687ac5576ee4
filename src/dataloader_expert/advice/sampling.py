"""The sampler: what its simulated epochs show, and which one to use."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Advice, Finding, Severity, finding, number
from dataloader_expert.errors import escaped, listed
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.experiments.epochs import DRAWN
from dataloader_expert.probes.experiments.present_epoch import BEYOND, NESTED, RANKS, WEIGHED
from dataloader_expert.probes.experiments.sampler_simulation import STRATEGY
from dataloader_expert.probes.health.static_checks import LENGTH


def sampler_advice(facts: Facts, objective: str = "auto") -> list[Advice]:
    strategy = facts.find(STRATEGY)
    if strategy is None or strategy.value["strategy"] in ("random", "stream"):
        return []
    name = strategy.value["strategy"]
    drawn = facts.find(DRAWN, strategy=name)
    if keeps(facts, objective) is not None:
        return []
    cited = (strategy.cite(), *([drawn.cite()] if drawn is not None else []))
    cost = "none"
    if drawn is not None and drawn.value["unique_fraction"] < 1:
        cost = f"an epoch covers {drawn.value['unique_fraction']:.0%} of the samples"
        if drawn.value["max_repeats"] > 1:
            cost += f", and draws some up to {drawn.value['max_repeats']} times"
    return [Advice("sampler", name, "random", strategy.value["why"], None, cost, cited)]


SHUFFLES = ("RandomSampler", "SubsetRandomSampler", "DistributedSampler")
"""torch's samplers that draw each of their samples once, in random order."""
KEPT_OUT = "nothing to do if the others are held out for validation; else draw them too"
LEAST_DRAWN, IMBALANCED, COVERED = 0.05, 3, 0.1
"""The least share of the samples that a sampler with sound weights draws in an epoch, the ratio of classes that may need one,
and the share of the samples that an epoch may leave out before it counts as drawing only some."""
ALIKE = 0.2
"""By how much of the larger the numbers of samples of a class in two epochs may differ."""
ROOT = 1.3
"""By how much the ratio of drawn classes may lie above the square root of that of all samples, by chance."""
UNMIXED = 0.6
"""The share of a plain shuffle's classes per batch below which the order of the samples is not mixed."""
EVEN = 0.9
"""The share of batches with as many samples of each of their classes, from which on a sampler makes them so."""
LIKE_IT = 0.15
"""By how much more of a shuffle's padding the present sampler may leave than the suggested one, to be as good."""
PER_SAMPLE = (
    "give one weight per sample, 1 / the number of samples of its class, and draw with replacement: "
    "WeightedRandomSampler((1 / counts)[labels], len(labels))"
)


def keeps(facts: Facts, objective: str = "auto") -> str | None:
    """Why the present sampler can stay: its epoch has what the suggested one is for. None: it has not, or has a fault."""
    strategy, present, name = facts.find(STRATEGY), facts.find(DRAWN, strategy="present"), sampler_of(facts)
    drawn = None if strategy is None else facts.find(DRAWN, strategy=strategy.value["strategy"])
    if strategy is None or drawn is None or present is None or name is None:
        return None
    if any(f.severity != "info" for rule in RULES if rule is not repeating for f in rule(facts)):
        return None
    kind, v = strategy.value["strategy"], present.value
    if kind == "random" and name in SHUFFLES and v["max_repeats"] <= 1:
        part = v["unique_fraction"] < 1
        return "it shuffles the samples that it draws, each once per epoch" if part else "it shuffles already"
    if kind == "weighted" and alike(drawn.value["classes"], v["classes"]):
        return "it draws the classes about equally often"
    if kind == "weighted" and objective == "auto" and _balances(facts, much=True):
        return "it balances the classes far better than a plain shuffle does"
    if kind == "class-balanced-batch" and (v.get("even") or 0) >= EVEN:
        return "each batch holds the same number of samples of each of its classes"
    if kind in ("length-bucketed", "token-budget"):
        left, least = (
            d["padding_after"] / d["padding_before"] if d["padding_before"] else None for d in (v, drawn.value)
        )
        if left is not None and least is not None and left <= least + LIKE_IT:
            return "its batches already hold samples of similar length"
    return None


def purpose(facts: Facts) -> str | None:
    """What an epoch of the present sampler repeats samples and leaves others out for, as its batches show; None: they show nothing."""
    present = facts.find(DRAWN, strategy="present")
    if present is not None and (present.value.get("even") or 0) >= EVEN:
        return "each batch holds the same number of samples of each of its classes"
    return "it balances the classes" if _balances(facts, much=True) else None


def never_drawn(facts: Facts) -> list[str]:
    """The classes of which an epoch of the present sampler holds no sample at all."""
    now, before = (facts.value(DRAWN, {}, strategy=s) for s in ("present", "random"))
    if now.get("of_read"):
        return []  # of the samples that were read alone
    names = before.get("class_names") or itertools.count()
    counts = zip(now.get("classes") or (), before.get("classes") or (), names, strict=False)
    return [str(name) for drawn, there, name in counts if there and not drawn]


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
    if fact is None or name is None or "Distributed" in name or facts.find(RANKS) is not None:
        return  # other ranks draw the rest
    dropped = facts.value(LENGTH, {"samples": 1000, "dropped": 0})
    n = facts.value(SAMPLES) or dropped["samples"]
    weighed = facts.find(WEIGHED)
    if weighed is not None and weighed.value["zero"]:
        yield _of_no_weight(weighed)
    missed = round((1 - fact.value["unique_fraction"]) * n) - dropped["dropped"]  # which is told of drop_last
    if missed < COVERED * n:
        if missed > 0 and fact.value["max_repeats"] > 1 and "Weighted" not in name and not _balances(facts):
            text = (
                f"an epoch of the present sampler leaves out {missed:,} of {number(n, 'sample')} and draws others up to"
            )
            text += f" {fact.value['max_repeats']} times"
            fix = "draw each sample once: compare the sampler's indices with range(len(dataset))"
            yield finding("samples-never-seen", "warning", text, fact, fix, count=missed)
        return
    text = f"an epoch of the present sampler covers {fact.value['unique_fraction']:.0%} of the samples"
    drawn, again = fact.value["epoch_samples"], fact.value["max_repeats"] > 1
    few = weighed is not None and weighed.value["weights"] < n
    by_weight = "Weighted" in name
    if by_weight and not few and weighed is not None and weighed.value["zero"]:
        return  # which is told
    # short epochs, or rare classes
    on_purpose = by_weight and not few and (fact.value["unique_fraction"] >= LEAST_DRAWN or _balances(facts, much=True))
    severity: Severity = "info" if on_purpose else "warning"
    if by_weight and weighed is not None and few:
        first = f"{weighed.value['weights']:,}"
        text = f"the present sampler only ever draws the first {first} of {number(n, 'sample')}: it has weights for these only"
        fix = PER_SAMPLE
    elif (meant := purpose(facts)) is not None and (on_purpose or not by_weight):
        severity = "info"
        text += f" and draws some up to {fact.value['max_repeats']} times" if again else ""
        text += f": {meant}; other epochs bring other samples"
        fix = "draw more samples per epoch to cover more of them"
    elif drawn < (1 - COVERED) * n:
        text += f": it draws only {drawn:,} of them"
        fix = f"draw {n:,} samples per epoch (a weighted sampler takes num_samples=len(dataset))"
        if not again:
            fix = "draw the other samples too: check whether the sampler drops the last ones or was made for another dataset"
            lacking = never_drawn(facts)
            text += f", none of class {listed(lacking)}" if lacking else ""
            if name == "SubsetRandomSampler":  # made to draw a part, such as a training split
                severity = "warning" if lacking else "info"
                fix = (
                    "if the others are held out for validation, shuffle the indices before splitting"
                    if lacking
                    else KEPT_OUT
                )
    elif by_weight:
        text += ": it draws by weight; other epochs bring other samples"
        fix = "draw more samples per epoch to cover more of them"
    else:
        text += f" and draws some up to {fact.value['max_repeats']} times" if again else ""
        fix = (
            "draw without replacement" if again else "draw the other samples too: check whether it drops the last ones"
        )
    yield finding("samples-never-seen", severity, text, fact, fix)


def _of_no_weight(weighed: Fact) -> Finding:
    """Samples that a weighted sampler never draws, in any epoch."""
    v = weighed.value
    all_of = f", all of class {', '.join(map(escaped, v['classes'][:3]))}" if v["classes"] else ""
    text = (
        f"the present sampler never draws {v['zero']:,} of {number(v['weights'], 'sample')}{all_of}: their weight is 0"
    )
    fix = "give them a weight, or take them out of the dataset if they are left out on purpose"
    severity: Severity = "warning" if v["classes"] else "info"
    return finding("samples-never-seen", severity, text, weighed, fix, count=v["zero"])


def _balances(facts: Facts, much: bool = False) -> bool:
    """Whether an epoch of the present sampler has its classes more alike in number than a plain shuffle: that takes repeats. ``much``: as
    sampling by the square root of their numbers makes them, at least."""
    found = (facts.value(DRAWN, {"classes": None}, strategy=s)["classes"] or [0] for s in ("present", "random"))
    now, before = (max(counts) / min(counts) if min(counts) else math.inf for counts in found)
    return IMBALANCED <= before < math.inf and now <= ROOT * math.sqrt(before) if much else now < 0.9 * before


def weighting(facts: Facts) -> Iterator[Finding]:
    """The present sampler draws by weight, and the classes are no more balanced than in a plain shuffle."""
    present, plain = facts.find(DRAWN, strategy="present"), facts.find(DRAWN, strategy="random")
    name = sampler_of(facts)
    if present is None or plain is None or name is None or "Weighted" not in name:
        return
    now, before = (f.value["classes"] or [0] for f in (present, plain))
    if (
        not present.value["classes"]
        or not min(before)
        or max(before) < IMBALANCED * min(before)
        or min(now) * max(before) > 1.5 * min(before) * max(now)
    ):
        return
    of = "of the samples that were read, " if present.value.get("of_read") else ""
    text = f"{of}an epoch of the present {escaped(name)} has {max(now):,} samples of the most frequent class and {min(now):,} of the rarest; a plain"
    worse = 2 * min(now) * max(before) < min(before) * max(now)  # class weights for samples, or their inverse
    text += f" shuffle has {max(before):,} and {min(before):,}: the sampler {'makes the imbalance worse' if worse else 'does not balance the classes'}"
    misplaced = facts.value(WEIGHED, {}).get("misplaced", False)
    if misplaced:
        text += "; the weights seem to be in another order than the samples: their counts match the class sizes, but samples of one class have several weights"
    # without replacement all are drawn in the end
    fails = worse or misplaced or present.value["max_repeats"] == 1
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
        text = f"the present {escaped(sampler_of(facts) or 'sampler')} draws {n:,} {'index' if n == 1 else 'indices'} beyond the end of the dataset, such as"
        text += f" {first:,} of {held:,} samples: reading them raises IndexError"
        yield finding(
            "sample-raises", "error", text, fact, f"give the sampler indices below {held:,}, those of this dataset"
        )


def nested(facts: Facts) -> Iterator[Finding]:
    """A sampler that yields batches is passed as one that yields indices."""
    fact = facts.find(NESTED)
    if fact is not None:
        text = f"the present {escaped(sampler_of(facts) or 'sampler')} yields lists of indices ({fact.value:,} in the first), and the loader batches"
        text += " these lists again: the dataset is given a list where it expects one index"
        fix = "pass it as batch_sampler=, without batch_size, shuffle and drop_last"
        yield finding("shape-mismatch", "error", text, fact, fix)


def unmixed(facts: Facts) -> Iterator[Finding]:
    """Batches of the present loader hold far fewer classes than a plain shuffle's, because samples are read in their stored order."""
    present, plain = facts.find(DRAWN, strategy="present"), facts.find(DRAWN, strategy="random")
    if present is None or plain is None or sampler_of(facts) != "SequentialSampler":
        return  # batches of one class may be what another sampler is for
    now, mixed = present.value["classes_per_batch"], plain.value["classes_per_batch"]
    if now is None or mixed is None or now > UNMIXED * mixed:
        return
    text = f"a batch holds {now:.1f} classes on average, but {mixed:.1f} with a plain shuffle: samples are read in their stored order, which"
    text += " is by class"
    fix = "pass shuffle=True for training; a loader for evaluation only can stay as it is"
    yield finding("batches-miss-classes", "warning", text, [present, plain], fix)


def sampler_of(facts: Facts) -> str | None:
    """The class of the present loader's sampler; None without a loader."""
    present = facts.find(PRESENT)
    return None if present is None else str(present.value["sampler"])


RULES: tuple[Rule, ...] = (beyond, nested, unmixed, repeating, unseen, weighting)

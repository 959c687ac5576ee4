"""Classes that one split has more often than another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dataloader_expert.checks.base import CLASS_COUNTS, EFFECTS, recoded
from dataloader_expert.checks.common.sound_only import sound_only
from dataloader_expert.checks.splits.between import APART, compared, pairs_of
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts

TIMES, SURE_LABELS = 2.0, 3.5
"""How many times as frequent in one split a class must be to be reported on its own; and standard errors for one comparison."""


def drift_of_labels(facts: Facts, label: str | None) -> Iterable[Finding]:
    if sound_only(facts) is not None or recoded(facts, label):
        return  # which is told where classes are
    counts = [f for f in facts.all(CLASS_COUNTS) if f.at.get("split") is not None]
    told = [f for f in counts if f.value]
    if len(told) > 1 and sum(len(f.value) for f in told) == len({k for f in told for k in f.value}):
        told = [
            f for f in told if f.evidence.how != "counted"
        ]  # no class is in two splits, which is told where classes are
    for one, two in pairs_of(told):
        effects = _effects(facts, one, two)
        distance, sure = compared(one.value, two.value, SURE_LABELS, effects)
        most = max(sorted(effects), key=lambda k: _apart(one, two, k, effects))
        if not (sure and distance >= APART) and not (
            _apart(one, two, most, effects) >= SURE_LABELS and _ratio(one, two, most) >= TIMES
        ):
            continue
        yield finding(
            "label-drift",
            "warning",
            f"the classes of {one.at['split']} and {two.at['split']} are distributed differently (total variation "
            f"{distance:.2f}): {escaped(most)} is {_share(one, most):.1%} of one and {_share(two, most):.1%} of the other",
            [one, two],
            "split again, stratified by class; if the drift is real, weight the training loss or report per class",
            [{"split": two.at["split"]}],
        )


def _effects(facts: Facts, one: Fact, two: Fact) -> dict[str, float]:
    """By class: the variance of the difference between its shares, over that of samples which come one by one."""
    found = [(1 / sum(f.value.values()), facts.value(EFFECTS, {}, split=f.at["split"])) for f in (one, two)]
    whole = sum(weight for weight, _ in found)
    return {k: sum(w * effects.get(k, 1.0) for w, effects in found) / whole for k in {*one.value, *two.value}}


def _apart(one: Fact, two: Fact, value: str, effects: Mapping[str, float]) -> float:
    """The difference between a class's shares in two splits, in standard errors."""
    n, m = sum(one.value.values()), sum(two.value.values())
    pooled = (one.value.get(value, 0) + two.value.get(value, 0)) / (n + m)
    error = math.sqrt(effects[value] * pooled * (1 - pooled) * (1 / n + 1 / m))
    return abs(_share(one, value) - _share(two, value)) / error if error > 0 else 0.0


def _ratio(one: Fact, two: Fact, value: str) -> float:
    """The ratio of the larger to the smaller of a class's two shares."""
    low, high = sorted((_share(one, value), _share(two, value)))
    return high / low if low > 0 else math.inf


def _share(fact: Fact, value: str) -> float:
    return float(fact.value.get(value, 0) / max(1, sum(fact.value.values())))

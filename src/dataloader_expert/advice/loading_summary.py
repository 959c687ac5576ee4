"""A diagnosis of loading in a few sentences: what to fix first; the settings; where the time goes; what was not checked."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataloader_expert.advice.avoidable import bounds
from dataloader_expert.advice.causes import cause, in_a_sentence
from dataloader_expert.advice.consumer import keeps_up, waits_now
from dataloader_expert.advice.streams import repeats
from dataloader_expert.advice.workers import as_keywords, changed, settings, throughput_at
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.base import LOADER_FAILED
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.search.loading import ENDED, PREDICTED, SPEEDUP, UNPROVED
from dataloader_expert.probes.search.stuck import STUCK
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS, ROUNDS, WORTH
from dataloader_expert.probes.search.trials import TRIALS

COSTLY = "costly-line"
"""The finding that says itself where the time goes."""
SURE = 0.25
"""The least that a share of stacks must be at 95 % confidence if it is told: a stack or two show what one sample did."""
TIMED = ("collate", "worker_transfer", "pin", "to_device")
"""Stages whose time does not depend on stacks."""
MOST_OF = 0.5
"""The least inclusive share at which a user function is named next to the stage."""


def loading_summary(
    facts: Facts,
    findings: Iterable[Finding],
    bottleneck: tuple[str, float, bool] | None,
    functions: Sequence[Mapping[str, Any]],
    stepped: bool,
    unchecked: Sequence[str] = (),
) -> str:
    """``bottleneck``: the stage that takes most, its share, and whether it mostly waits; ``functions``: the user's own,
    with their inclusive shares and costliest lines; ``stepped``: rates are at the pace of a training step;
    ``unchecked``: what of correctness there was no time for."""
    findings = list(findings)
    hidden = keeps_up(facts)
    first = cause(f for f in findings if not hidden or f.cost is None or f.severity != "info")
    line = next((f for f in findings if f.code == COSTLY and f is not first), None)
    said = [] if first is None else [in_a_sentence(first)]
    if hidden:
        waits = f"training waits for data {waits_now(facts) or 0.0:.0%} of the time"
        said.append(f"Loading keeps up with the training step of {facts.value(STEP):.4g} ms: {waits}.")
    said.append(_settings(facts, stepped))
    if line is not None and not hidden:
        said.append(in_a_sentence(line))
    elif bottleneck is not None and (first is None or first.code != COSTLY):
        said.append(_where(bottleneck, functions, facts.find(USER_FUNCTIONS)))
    if unchecked:
        said.append(f"Not checked for lack of time: {', '.join(unchecked)} (raise budget_s).")
    return " ".join(said)


def _settings(facts: Facts, stepped: bool) -> str:
    current, recommended = settings(facts)
    speedup = facts.find(SPEEDUP)
    if current is not None and recommended is None and facts.find(STUCK) is not None:
        return "The present settings delivered nothing in the time allowed (see findings and unknowns)."
    if current is None or recommended is None:
        return "Throughput could not be measured (see unknowns)."
    now = throughput_at(facts, current)
    silent = facts.find(STUCK) is not None or facts.find(LOADER_FAILED) is not None
    said = f"The present settings {'delivered nothing (see findings and unknowns)' if silent else 'could not be timed (see unknowns)'}"
    if now is not None:
        delivers = "delivers" if now.evidence.how == "timed" else "was not timed and is predicted to deliver"
        said = f"num_workers={current['num_workers']} {delivers} {rate(now.value)} samples/s at batch size {now.at['batch_size']}"
    elif speedup is not None:
        said = "The present settings could not be timed"
    return f"{said}; {_better(facts, current, recommended['settings'], stepped)}."


def rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _better(facts: Facts, current: dict[str, Any], chosen: dict[str, Any], stepped: bool) -> str:
    """Which settings are better, by how much, and on what evidence."""
    speedup, unproved, predicted = facts.find(SPEEDUP), facts.find(UNPROVED), facts.find(PREDICTED)
    parts = []
    if speedup is None:
        parts.append(f"{as_keywords(changed(current, chosen)) or 'num_workers=0'} delivers batches")
    elif speedup.evidence.interval is not None:
        low, high = speedup.evidence.interval
        at = " at the pace of the training step" if stepped else ""
        words, probably = as_keywords(changed(current, chosen)), "" if unproved is None else "probably "
        text = f"{words} is {probably}{speedup.value:.2f} times as fast{at} (95 % {low:.2f} to {high:.2f}"
        parts.append(f"{text}{'' if unproved is None else f'; to prove it, {_again(unproved)}'})")
    elif unproved is not None:
        u = unproved.value
        text = f"{u['settings']} looked {u['ratio']:.2f} times as fast"
        parts.append(f"{text}, but {_why_unproved(unproved)} ({_again(unproved)})")
    if predicted is not None and not repeats(facts):
        low, high = predicted.evidence.interval or (predicted.value, predicted.value)
        text = f"{predicted.at['settings']} was not tried for lack of time (predicted {predicted.value:.1f}"
        of = "the best tried" if facts.find(TRIALS) is not None else "the present rate"
        parts.append(f"{text} times {of}, {low:.1f} to {high:.1f}; raise budget_s to try it)")
    if not parts:
        tried, refused = len(facts.value(TRIALS, [])) > 1, facts.find(ENDED, refused=True) is not None
        late = facts.value(ENDED) == "out of time"
        none = "no other setting could be tried (see unknowns)" if refused else ""
        none = none or ("there was no time to try another setting (raise budget_s)" if late else "")
        none = none or "no other setting is predicted to be 5 % faster"
        looked = _looked_faster(facts, current)
        verb = "has proved to be" if looked else "is"
        parts.append(f"no other setting tried {verb} faster{_tried(facts, current)}{looked}" if tried else none)
    return "; ".join(parts)


def _why_unproved(unproved: Fact) -> str:
    n = unproved.evidence.seen or 0
    if n < LEAST_PAIRS:
        return "there was time for a single comparison, which proves no gain"
    low, high = unproved.evidence.spread or (0.0, 0.0)
    return f"in {n} comparisons the ratio varied too much to prove it, from {low:.2f} to {high:.2f}"


def _again(unproved: Fact) -> str:
    if (unproved.evidence.seen or 0) < LEAST_PAIRS:
        return "raise budget_s"
    return f"repeat on an idle machine{' or with a larger budget_s' if unproved.value['by_time'] else ''}"


def _looked_faster(facts: Facts, current: dict[str, Any]) -> str:
    """The fastest trial that too few blocks compare with the present setting, where it was faster."""
    now = throughput_at(facts, current)
    few = [t for t in facts.value(TRIALS, []) if t["throughput"]["n"] < ROUNDS]
    top = max(few, key=lambda t: float(t["throughput"]["value"]), default=None)
    if now is None or top is None or top["throughput"]["value"] < WORTH * now.value:
        return ""
    words, times = as_keywords(changed(current, top)), top["throughput"]["value"] / now.value
    return f"; {words} looked {times:.2f} times as fast, but the rates vary too much to be sure" if words else ""


def _tried(facts: Facts, current: dict[str, Any]) -> str:
    """Which numbers of workers were tried beside the present one: those that are not named were not."""
    others = sorted({t["num_workers"] for t in facts.value(TRIALS, [])} - {current["num_workers"]})
    return f" (num_workers={', '.join(map(str, others))})" if others else ""


def _where(bottleneck: tuple[str, float, bool], functions: Sequence[Mapping[str, Any]], sampled: Fact | None) -> str:
    stage, share, waits = bottleneck
    most = [f for f in functions if f["inclusive"] >= MOST_OF and _sure(f["inclusive"], sampled)]
    own = min(most, key=lambda f: f["inclusive"], default=None)  # the innermost of those that account for most of it
    unseen = stage == "unattributed" and sampled is None and not functions
    if unseen or (functions and not most and stage not in TIMED and not _sure(share, sampled)):
        return "Too few stacks were sampled to say where a sample's time goes (raise budget_s)."
    at = "" if own is None else f"{posixpath.basename(own['file'])}:{own['line']}"
    if stage == "unattributed" and own is not None and own["line_share"] >= MOST_OF:
        return f"Most of a sample's time ({own['line_share']:.0%}) is spent {'waiting ' * waits}at {at} in your `{own['function']}`."
    name = "code that could not be attributed to a stage" if stage == "unattributed" else stage
    text = f"{'Most' if share >= MOST_OF else 'The largest part'} of a sample's time ({share:.0%}) is spent {'waiting ' * waits}in {name}"
    if own is not None:
        text += f"; your `{own['function']}` and what it calls take {own['inclusive']:.0%}"
        text += f", mostly at {at}" if own["line_share"] >= MOST_OF * own["inclusive"] else ""
    return f"{text}."


def _sure(share: float, sampled: Fact | None) -> bool:
    return sampled is None or bounds(share, sampled)[0] >= SURE

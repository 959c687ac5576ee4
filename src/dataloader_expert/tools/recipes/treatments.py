"""What the fix of each defect would change, counted on the data: sizes of splits, values, scores before and after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import GIVEAWAY, SPLITS, STATISTICS
from dataloader_expert.checks.common.treatments import AS_MISSING
from dataloader_expert.checks.duplicates.duplicates import DISTINCT
from dataloader_expert.checks.duplicates.pairs import DUPLICATES
from dataloader_expert.checks.giveaways.giveaway import KNOWN
from dataloader_expert.checks.splits.leakage import GROUPS, TIMES, few_strays
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts, How
from dataloader_expert.tools.check_quality import Treatment

EXPLAINED = {"duplicate-samples", "splits-overlap"}
"""Findings that need no fix where they are only information."""


def treatments(facts: Facts, found: Iterable[Finding]) -> list[Treatment]:
    """The fixes of findings whose effect can be counted without training."""
    codes = {f.code for f in found if f.severity != "info" or f.code not in EXPLAINED}
    made = [*_splits(facts, codes), *_fields(facts, codes)]
    return sorted(made, key=lambda t: (t.code, t.field or ""))


def _splits(facts: Facts, codes: set[str]) -> Iterable[Treatment]:
    sizes = facts.value(SPLITS) or {}
    copies = facts.find(DUPLICATES)
    distinct = facts.find(DISTINCT)
    if copies is not None and distinct is not None:
        how, extra, shared = copies.evidence.how, copies.value["extra"], copies.value["shared"]
        if "duplicate-samples" in codes:
            before = {"samples": float(distinct.value + extra)}
            after = {"samples": float(distinct.value)}
            yield _of("duplicate-samples", None, "keep one of each group", extra, "samples", before, after, how)
        if "splits-overlap" in codes and shared.get("train"):
            n = shared["train"]
            before, after = {"train": float(sizes["train"])}, {"train": float(sizes["train"] - n)}
            do = "drop from train what is also in another split"
            yield _of("splits-overlap", None, do, n, "samples", before, after, how)
    groups = facts.find(GROUPS)
    if groups is not None and "group-leakage" in codes:
        now, whole = groups.value["sizes"], groups.value["whole"]
        moved = groups.value["moved"]
        do = "move each group to the split with most of its samples"
        if groups.value["dealt"]:
            do = "assign whole groups to splits, largest first"
        how = groups.evidence.how
        yield _of("group-leakage", groups.value["field"], do, moved, "samples", _floats(now), _floats(whole), how)
    if "time-leakage" in codes:
        early: dict[str, Any] = {}
        for fact in facts.all(TIMES):  # by the reading that leaves fewest
            split, v = str(fact.at["split"]), fact.value
            if split not in early or v["early"] < early[split].value["early"]:
                early[split] = fact
        for split, fact in early.items():
            v = fact.value
            if v["early"]:
                name, do = split, f"drop from {split} what is earlier than the last training sample"
                n, of = v["early"], v["samples"]
                if few_strays(v):
                    name, do = "train", f"drop from train what is not earlier than the first sample of {split}"
                    n, of = v["strays"], v["of_training"]
                before, after = {name: float(of)}, {name: float(of - n)}
                yield _of("time-leakage", v["field"], do, n, "samples", before, after, fact.evidence.how)


def _fields(facts: Facts, codes: set[str]) -> Iterable[Treatment]:
    for fact in facts.all(STATISTICS):
        t = fact.value.get("treatment")
        if t is None or not (t["before"]["far"] or t["do"] == AS_MISSING):
            continue  # skewness alone is not a finding
        given = ", ".join(f"{k}={v:.6g}" for k, v in t["arguments"].items())
        do = f"{t['do']} ({given})" if given else t["do"]
        yield _of("outliers", fact.at["field"], do, t["changed"], "values", t["before"], t["after"], fact.evidence.how)
    if "label-leaked-by-field" in codes:
        scores = {str(f.at["field"]): f for f in facts.all(GIVEAWAY) if "measure" not in f.at}
        known = {str(p) for p in scores if scores[p].value["score"] >= KNOWN}
        left = max((max(0.0, f.value["score"]) for name, f in scores.items() if name not in known), default=None)
        for name in sorted(known):
            f = scores[name]
            before = {"best single field's score": float(f.value["score"])}
            after = {"best single field's score": left}
            do, n = "drop the field", f.evidence.seen or 0
            yield _of("label-leaked-by-field", name, do, n, "samples", before, after, f.evidence.how)


def _of(
    code: str,
    field: Any,
    do: str,
    changed: int,
    unit: str,
    before: dict[str, Any],
    after: dict[str, Any],
    how: How,
) -> Treatment:
    return Treatment(code=code, field=field, do=do, changed=changed, unit=unit, before=before, after=after, how=how)


def _floats(sizes: dict[str, int]) -> dict[str, float]:
    return {name: float(n) for name, n in sizes.items()}

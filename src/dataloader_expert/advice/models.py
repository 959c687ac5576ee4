"""Models that reject a batch, what in it they reject, and memory that does not suffice."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.model.check import MODEL
from dataloader_expert.probes.model.memory import DEVICE_LIMIT

WARNED = ("value-range-mismatch",)
"""What runs all the same."""


def refusing(facts: Facts) -> Iterator[Finding]:
    """What differs between a real batch and what the model takes, with the change under which it was run."""
    fact = facts.find(MODEL)
    if fact is None:
        return
    value = fact.value
    named = [m for m in value["misfits"] if m["says"]]
    for misfit in named:
        target = misfit["field"] == "the target"
        severity: Severity = "warning" if target or misfit["code"] in WARNED else "error"
        who = "the loss" if target else "the model"
        text = f"{misfit['field']}: {misfit['says']}"
        fix = f"apply model_check.cure: {who} ran with it" if value["cure"] else "match the data to the model"
        if "make its table larger" in misfit["says"]:
            fix += "; or make the embedding larger"
        yield finding(misfit["code"], severity, text, fact, fix, [{"field": misfit["field"]}])
    if not value["accepted"] and not named:
        error = str(value["error"])
        text = f"the model rejects a batch: {error.splitlines()[0][:200]}"
        fix = f"match the batch to the model: it expects {value['expected']}, the batch has {value['got']}"
        yield finding(_code(error), "error", text, fact, fix)


def _code(error: str) -> str:
    if "channels" in error:
        return "channels-mismatch"
    if "index out of range" in error:
        return "out-of-range-ids"
    if error.startswith(("KeyError", "TypeError")) and ("argument" in error or "KeyError" in error):
        return "key-missing"
    return "dtype-mismatch" if "dtype" in error or ("type" in error and "expected" in error) else "shape-mismatch"


def too_large(facts: Facts) -> Iterator[Finding]:
    """Not even one sample fits into the device."""
    fact = facts.find(DEVICE_LIMIT)
    if fact is not None and fact.value["value"] == 0:
        text = f"not even a batch of one fits into {fact.value['room'] / 1e9:.3g} GB of device memory"
        fix = "a smaller model, a lower precision, gradient checkpointing, an optimizer with fewer states, or a larger device"
        yield finding("batch-does-not-fit", "error", text, fact, fix)


RULES: tuple[Rule, ...] = (refusing, too_large)

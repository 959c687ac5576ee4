"""Models that reject a batch, and what in it they reject."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.model.batch import MODEL


def refusing(facts: Facts) -> Iterator[Finding]:
    """The model raised on a real batch."""
    fact = facts.find(MODEL)
    if fact is None or fact.value["accepted"]:
        return
    error = str(fact.value["error"])
    text = f"the model rejects a batch: {error.splitlines()[0][:200]}"
    fix = f"match the batch to the model: it expects {fact.value['expected']}, the batch has {fact.value['got']}"
    yield finding(_code(error), "error", text, fact, fix)


def _code(error: str) -> str:
    if "channels" in error:
        return "channels-mismatch"
    if "index out of range" in error:
        return "out-of-range-ids"
    return "dtype-mismatch" if "dtype" in error or ("type" in error and "expected" in error) else "shape-mismatch"


RULES: tuple[Rule, ...] = (refusing,)

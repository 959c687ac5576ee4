"""Errors that the dataset's own code hides."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.caught_errors import CAUGHT


def hidden(facts: Facts) -> Iterator[Finding]:
    """Samples that are delivered although reading them failed."""
    fact = facts.find(CAUGHT)
    if fact is None:
        return
    v = fact.value
    text = f"{v['count']} of {v['read']:,} samples read met an error that the dataset's own code caught ({v['place']}: {v['message']}): "
    text += "unless a retry succeeded, whatever it returned instead goes into training unnoticed"
    fix = "let the error through or leave those samples out of the dataset, and count them; do not return zeros or another sample"
    yield finding("errors-hidden", "warning", text, fact, fix, [{"sample": i} for i in v["samples"]], v["count"])


RULES: tuple[Rule, ...] = (hidden,)

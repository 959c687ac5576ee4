"""Samples that workers read otherwise than the main process."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.worker_content import CONTENT

FIX = (
    "open files and clients on first use in each worker, not in __init__ or at import; diagnose_io looks for the cause"
)


def differing(facts: Facts) -> Iterator[Finding]:
    """Wrong content, or an error, in workers alone."""
    fact = facts.find(CONTENT)
    if fact is None:
        return
    v, workers = fact.value, fact.at["workers"]
    if v["differ"]:
        text = f"{v['differ']} of {v['compared']} samples read in {workers} workers differ from what the main process reads"
        yield finding("workers-differ", "error", text, fact, FIX, [{"sample": i} for i in v["first"]], v["differ"])
    elif v["error"]:
        text = f"samples that the main process can read raise an error in {workers} workers: {v['error']}"
        yield finding("workers-differ", "error", text, fact, FIX)


RULES: tuple[Rule, ...] = (differing,)

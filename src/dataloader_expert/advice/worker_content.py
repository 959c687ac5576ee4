"""Samples that workers, or another run, read differently from the main process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.other_run import OTHER_RUN
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


def from_run_to_run(facts: Facts) -> Iterator[Finding]:
    """Samples that depend on hashes of texts, which each run of Python draws anew."""
    fact = facts.find(OTHER_RUN)
    if fact is None or not fact.value["differ"]:
        return
    v = fact.value
    lines = ", ".join(f"{Path(at['file']).name}:{at['line']}" for at in v["lines"])
    text = (
        f"{', '.join(map(escaped, v['fields'][:5]))} {'changes' if len(v['fields']) == 1 else 'change'} from run to run"
    )
    text += f" in {len(v['differ'])} of {v['compared']} samples, because of the order"
    text += f" of a set or a hash, which differs in each run of Python (see {lines})"
    fix = "sort the set, as in sorted(set(names)), or store the class numbers with the model"
    where = [{**at, "field": v["fields"][0]} for at in v["lines"]]
    yield finding("not-deterministic", "warning", text, fact, fix, where, len(v["differ"]))


RULES: tuple[Rule, ...] = (differing, from_run_to_run)

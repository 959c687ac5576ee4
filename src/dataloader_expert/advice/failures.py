"""What ended: the loader, samples that raise or crash, and measuring itself."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.base import LOADER_FAILED, OVERFULL
from dataloader_expert.probes.data.scan import CRASHES, RAISES
from dataloader_expert.probes.system.outside import FAILED

FINDING_OF = {
    "timed-out": "sample-hangs",
    "worker-crashed": "sample-crashes",
    "out-of-memory": "memory-limit-reached",
    "dataset-raised": "sample-raises",
}


def loader(facts: Facts) -> Iterator[Finding]:
    """B13, B27, B40: a worker that died, one whose code raised, one that hangs, workers that wait for a lock."""
    fact = facts.find(LOADER_FAILED)
    if fact is None:
        return
    v = fact.value
    code = "worker-died" if v["died"] else "sample-hangs" if fact.at["hung"] else "sample-raises"
    text, fix = v["error"], "run the loader with num_workers=0 to see where"
    if v["locked"]:
        code = "client-used-across-fork" if v["client"] else "deadlock"
        text = f"{fact.at['workers']} workers wait for a lock and use no CPU: when they were forked it was held, or the"
        text += " threads that would release it were not copied"
        fix = "make locks, threads and clients in each worker on first use; start workers before threads"
    yield finding(code, "error", text + (f", in {v['where']}" if v["where"] else ""), fact, fix)


def raising(facts: Facts) -> Iterator[Finding]:
    """Samples whose reading raises in the user's code; B25: an exception that no worker can bring home."""
    fact = facts.find(RAISES)
    if fact is None:
        return
    v = fact.value
    text = f"{v['count']} of {v['tried']} samples raise: {v['error']}"
    fix = "fix or skip these samples: a DataLoader stops at the first"
    places = [{"sample": i} for i in v["samples"]]
    yield finding("sample-raises", "error", text, fact, fix, places, v["count"])
    if v["garbled"]:
        text = f"{v['garbled']} cannot be made from one message: from a worker it arrives as another error"
        fix = "give its __init__ defaults, or a __reduce__; to see it plainly use num_workers=0"
        yield finding("exception-garbled", "info", text, fact, fix)


def crashing(facts: Facts) -> Iterator[Finding]:
    """Files on which the reading process died."""
    for fact in facts.all(CRASHES):
        v = fact.value
        text = f"decoding {v['file']} ended the process with code {v['exit_code']}"
        where = [{"file": v["file"], "sample": v["sample"]}]
        yield finding("sample-crashes", "error", text, fact, "take the file out: it crashes the decoder", where)


def overfull(facts: Facts) -> Iterator[Finding]:
    """Workers that by themselves took the memory allowed."""
    fact = facts.find(OVERFULL)
    if fact is not None:
        text = f"{fact.value}: they were ended before anything else was"
        fix = "fewer workers, or one copy for all: a memory map, or arrays made before workers are forked"
        yield finding("memory-limit-reached", "error", text, fact, fix)


def measuring(facts: Facts) -> Iterator[Finding]:
    """Measuring itself was ended: by the user's code, or by a limit."""
    fact = facts.find(FAILED)
    code = None if fact is None else FINDING_OF.get(fact.value["code"])
    told = code == "memory-limit-reached" and facts.find(OVERFULL) is not None  # the search has said so
    if fact is not None and code is not None and not told:
        yield finding(code, "error", fact.value["message"], fact, "fix what is named and call again")


RULES: tuple[Rule, ...] = (loader, raising, crashing, overfull, measuring)

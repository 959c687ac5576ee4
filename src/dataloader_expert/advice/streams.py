"""Streams in workers: whether they are sharded, as long as len() says, and well shuffled."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.stream_shares import SHARES
from dataloader_expert.probes.health.stream_work import REPEATED
from dataloader_expert.probes.health.worker_semantics import MIXING
from dataloader_expert.probes.rank_sharding import RANK_SHARES
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.trials import IDLE
from dataloader_expert.probes.sharding import SHARDING

BY_RANK = (
    "shard by rank as well as by worker: yield every (ranks * workers)-th sample, starting at rank * workers + worker, with rank and ranks from "
    "torch.distributed.get_rank() and get_world_size()"
)
REPEATED_LEAST = 0.6
"""The least share of the others' work that a worker also does if that is told; reading their records and skipping them costs less."""
SKIP = (
    "drop the records of other workers before decoding them (for i, record in enumerate(records): if i % info.num_workers == info.id: yield "
    "decode(record)), or give each worker its own files"
)


def sharding(facts: Facts) -> Iterator[Finding]:
    """B6, B7, B42: which samples of a stream each of two workers yields."""
    fact = facts.find(SHARDING)
    if fact is None:
        return
    v = fact.value
    if v["once"]:
        text = "the stream can be read only once: __iter__ returns the same iterator each time, so that the second epoch has no samples"
        fix = "make the iterator in __iter__: write it as a generator function (yield), or call what makes the generator there"
        yield finding("stream-exhausted", "error", text, fact, fix)
    elif v["copied"]:
        present = facts.value(CURRENT, {}).get("num_workers", 1)
        place = v.get("place")
        at = "" if place is None else f" ({posixpath.basename(place['file'])}:{place['line']})"
        text = f"two workers yield the same samples: of {v['total']:,} delivered {v['unique']:,} are distinct"
        text += "" if present else "; at present there are no workers"
        fix = f"shard in __iter__{at}, before anything is decoded: with info = torch.utils.data.get_worker_info(), read only the files "
        fix += "files[info.id :: info.num_workers], or keep only every num_workers-th record, starting at info.id"
        severity: Severity = "error" if present else "warning"
        yield finding("iterable-not-sharded", severity, text, fact, fix, [] if place is None else [place])
    if facts.find(IDLE) is None and v["ended"] and v["total"] and min(v["by_worker"]) == 0:
        text = "one of two workers yields nothing: there are fewer shards than workers"
        yield finding("idle-workers", "warning", text, fact, "write more shards, or use fewer workers")
    yielded = v["unique"] if v["copied"] else v["total"]
    known = v["ended"] and (v["copied"] or v["both"] < 0.5)
    if not known and v.get("alone") is not None:
        yielded, known = v["alone"], True
    if known and v["length"] is not None and yielded != v["length"]:
        text = f"the stream yielded {yielded} samples, but len() is {v['length']}"
        yield finding("wrong-length", "error", text, fact, "return the number of samples of one epoch from __len__")


def ranks(facts: Facts) -> Iterator[Finding]:
    """Ranks that read the same part of a stream."""
    fact = facts.find(RANK_SHARES)
    if fact is not None and fact.value["copied"]:
        v = fact.value
        text = f"all {v['ranks']} ranks read the same samples: {v['both']} of the first {min(v['by_rank'])} of rank 0 are also among the first of rank 1, so"
        text += " all ranks train on the same batches"
        yield finding("iterable-not-sharded", "error", text, fact, BY_RANK)


def shares(facts: Facts) -> Iterator[Finding]:
    """Parts of a stream that overlap or leave samples out at some number of workers."""
    fix = "give each worker its own shards: shards[info.id :: info.num_workers], with info = torch.utils.data.get_worker_info()"
    for fact in facts.all(SHARES):
        v, workers = fact.value, fact.at["workers"]
        twice = f"yield {v['twice']:,} samples twice" * bool(v["twice"])
        left_out = f"leave out {v['left_out']:,} samples" * bool(v["left_out"])
        if twice or left_out:
            text = f"{workers} workers {' and '.join(filter(None, (twice, left_out)))}"
            text += f": {v['total']:,} in all, where one worker yields {v['alone']:,}"
            yield finding("iterable-not-sharded", "error", text, fact, fix, count=v["twice"] + v["left_out"])


def repeats(facts: Facts) -> bool:
    """Whether each worker does most of the work of all: then more of them do not help, whatever the cost of a sample foretells."""
    v = facts.value(REPEATED)
    return v is not None and v["ratio"] >= REPEATED_LEAST * v["workers"]


def repeated(facts: Facts) -> Iterator[Finding]:
    """Each worker does the work of all samples, and drops those of the others only then."""
    fact = facts.find(REPEATED)
    if fact is None or not repeats(facts):
        return
    v, present = fact.value, facts.value(CURRENT, {}).get("num_workers", 1)
    text = f"with {v['workers']} workers, each computes {v['ratio']:.1f} times as long per sample that it yields as a single worker does: it "
    text += (
        "also does most of the work for the other workers' samples before it drops them, so more workers hardly help"
    )
    cost = 1 - 1 / present if present > 1 else None
    places = [v["place"]] if v["place"] is not None else []
    yield finding("avoidable-work", "warning" if cost else "info", text, fact, SKIP, places, cost=cost)


def idle(facts: Facts) -> Iterator[Finding]:
    """B7: some of the present workers yielded nothing in an epoch."""
    fact = facts.find(IDLE)
    if fact is not None:
        workers = int(fact.at["workers"])
        text = f"{fact.value} of {workers} workers yield nothing: the stream has fewer shards than workers"
        text += ", or (drop_last=True) less than a batch for each" if facts.value(CURRENT, {}).get("drop_last") else ""
        yield finding(
            "idle-workers", "warning", text, fact, f"write more shards, or use num_workers={workers - fact.value}"
        )


def mixing(facts: Facts) -> Iterator[Finding]:
    """B51: the order of two epochs hardly differs."""
    fact = facts.find(MIXING)
    if fact is None:
        return
    v = fact.value
    if not v["same"] and v["correlation"] > 0.9 and v["samples"] > 0.5 * v["of"]:
        text = f"the order of two epochs differs little (rank correlation {v['correlation']:.2f}): the stream is"
        text += " shuffled in a small buffer"
        yield finding("poor-mixing", "warning", text, fact, "shuffle the shards too, and use a larger buffer")


RULES: tuple[Rule, ...] = (sharding, ranks, shares, repeated, idle, mixing)

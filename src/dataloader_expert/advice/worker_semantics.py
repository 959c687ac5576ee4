"""How the user's code behaves in workers: its random numbers, and whether it sees new epochs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.descriptors import named
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.generators import RESEEDED
from dataloader_expert.probes.health.own_cache import KEPT
from dataloader_expert.probes.health.stored_values import DEPENDS, REWRITTEN
from dataloader_expert.probes.health.worker_semantics import EPOCHS, TWINS


def _told_otherwise(facts: Facts) -> bool:
    """Whether it is known why samples differ from one reading to the next."""
    return any(facts.find(cause) is not None for cause in (REWRITTEN, DEPENDS, RESEEDED))


def twins(facts: Facts) -> Iterator[Finding]:
    """B4, B5, B44: random numbers that are the same in all workers, the same in all epochs, or unseeded."""
    fact = facts.find(TWINS)
    if fact is None or not fact.value["random"] or _told_otherwise(facts):
        return
    v = fact.value
    if v["same_in_both"] and not v["own_init"]:
        at, where = named(v.get("held"))
        text = f"two workers draw the same random numbers: a generator created before the fork{at} is copied into each"
        fix = "seed from (torch.initial_seed(), index), or create the generator on first use in each worker"
        yield finding("rng-duplicated", "error", text, fact, fix, where)
    elif v["same_in_both"] or v["same_next_epoch"]:
        which = "every worker" if v["same_in_both"] else "a worker"
        text = f"{which} draws the same random numbers in each epoch: its seed does not depend on torch.initial_seed()"
        init = v.get("init")
        where = [init] if init is not None else []
        if init is not None:
            text += f", as worker_init_fn `{escaped(init['function'])}` ({posixpath.basename(init['file'])}:{init['line']}) may set it"
        fix = "seed with torch.initial_seed() % 2**32 in worker_init_fn"
        yield finding("rng-constant-seed", "error", text, fact, fix, where)
    if not v["same_again"] and not v["same_in_both"]:
        text = "the same seeds gave different samples: something draws from an unseeded source"
        fix = "draw from torch, numpy or random, which are seeded in each worker"
        yield finding("not-deterministic", "warning", text, fact, fix)


def keeps_drawn(facts: Facts) -> bool:
    """Whether what a worker caches holds what it drew: other seeds change it, and the same bring it back. It is told with the cache."""
    v = facts.value(TWINS)
    drawn = v is not None and v["by_worker"] and not v["same_next_epoch"] and v["same_again"]
    return bool(drawn) and facts.find(KEPT) is not None


def by_worker(facts: Facts) -> Iterator[Finding]:
    """A sample that each worker reads alike each time, and another worker otherwise."""
    fact = facts.find(TWINS)
    if fact is None or not fact.value["by_worker"] or _told_otherwise(facts) or keeps_drawn(facts):
        return
    text = (
        "a sample depends on the worker that reads it: two workers read the same sample differently, each consistently"
    )
    fix = "compute a sample from its index alone; open files on first use in each worker, and use get_worker_info() for streams only"
    yield finding("workers-differ", "error", text, fact, fix)


def rewritten(facts: Facts) -> Iterator[Finding]:
    """Reading a sample changes what the dataset stores, so that it differs each time."""
    fact = facts.find(REWRITTEN)
    if fact is not None:
        names = " and ".join(f"`{escaped(name)}`" for name in fact.value["attributes"])
        text = f"reading a sample changes it: {names} {'is' if len(fact.value['attributes']) == 1 else 'are'} modified in place, so "
        text += f"{fact.value['differ']} of {fact.value['read']} samples were different when read again"
        fix = "work on a copy, such as x = self.x[i].clone(), or without in-place operations (-=, add_): otherwise every epoch sees different samples"
        yield finding("sample-modified", "error", text, fact, fix)


def depends(facts: Facts) -> Iterator[Finding]:
    """Samples that differ when read again, although no generator of random numbers is drawn from."""
    fact = facts.find(DEPENDS)
    if fact is not None:
        text = f"{fact.value['differ']} of {fact.value['read']} samples differ when read again, although no random number is drawn: they depend "
        text += "on what was read before, such as a running mean, or on the time; each worker has its own state"
        fix = "compute what depends on other samples once, beforehand, on the training split; draw random numbers from torch, numpy or random"
        yield finding("not-deterministic", "warning", text, fact, fix)


def reseeded(facts: Facts) -> Iterator[Finding]:
    """B4, B5: reading a sample seeds a global generator, with a constant or with the time."""
    fact = facts.find(RESEEDED)
    if fact is None:
        return
    which = " and ".join(fact.value["generators"])
    if fact.value["by_time"]:
        text = f"reading a sample seeds {which} with the time: samples read within a second, by any worker, draw the same random numbers"
        fix = "do not seed in the dataset: torch seeds random, numpy and torch in each worker"
        yield finding("rng-duplicated", "error", text, fact, fix)
    else:
        text = (
            f"reading a sample seeds {which} with a constant: every sample draws the same random numbers, in each epoch"
        )
        fix = "seed once, before training; for reproducible samples, seed with the sample's index"
        yield finding("rng-constant-seed", "error", text, fact, fix)


def epochs(facts: Facts) -> Iterator[Finding]:
    """B46: persistent workers hold copies of the dataset, which set_epoch does not reach."""
    fact = facts.find(EPOCHS)
    if fact is not None and fact.value["main_changed"] and not fact.value["workers_changed"]:
        text = "set_epoch does not reach persistent workers: each holds its own copy of the dataset with the old epoch"
        fix = "keep the epoch in a multiprocessing.Value or in the sampler's indices, or set persistent_workers=False"
        yield finding("epoch-not-seen-by-workers", "error", text, fact, fix)


RULES: tuple[Rule, ...] = (rewritten, depends, reseeded, twins, by_worker, epochs)

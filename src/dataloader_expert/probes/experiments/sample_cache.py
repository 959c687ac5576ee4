"""The gain of caching samples in memory: a loader over cached samples against one that makes them, both really run."""

from __future__ import annotations

import contextlib
import math
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Json, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import LOADER_FAILED, Bench, Observation, Probe, evidence, in_words
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.health.stored_values import REWRITTEN
from dataloader_expert.probes.profile.rereads import NONDETERMINISTIC
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.search.belief import UNSURE
from dataloader_expert.probes.search.ledger import TRUST
from dataloader_expert.probes.search.loading import RECOMMENDED
from dataloader_expert.probes.search.pairing import Noise, Paired, compare, interval
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.tap import tapped
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS, MOST_PAIRS
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import PATIENCE_S
from dataloader_expert.sources.base import bytes_of

CACHED = Quantity(
    "cached",
    "x",
    "throughput with cached samples over uncached ones, in pairs; bytes of all samples",
)
STAGES = ("read", "decode", "transform", "unattributed")
PAIRS = 6
FILL_SHARE = 0.25
"""The share of this probe's time for reading the samples to cache."""
LEAST_SAMPLES, BATCHES = 8, 8
EPOCH = 50
"""How often the same samples occur in an epoch of these loaders."""
ROUNDS = 16
"""Batches of each worker in three blocks, including those that are dropped."""


@dataclass(frozen=True)
class SampleCache(Probe):
    name: ClassVar[str] = "sample_cache"
    doing: ClassVar[str] = "timing a cache of samples"
    batch_size: int | None = None
    share: float = 0.4
    most_s: float = 2.5
    block_s: float = 0.08

    def measure(self, bench: Bench) -> Iterable[Observation]:
        why = unfit(bench)
        if why:
            yield Unknown("cacheable", why)
            return
        served = serving(bench, self.batch_size, None)
        if served.whole:
            yield Unknown("cacheable", "the sampler asks for whole batches, but a cache holds single samples")
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        plan = chosen(bench, served.current)
        room = FILL_SHARE * (until - time.monotonic())
        each = max(1e-7, sample_s(bench))
        most = min(len(served.dataset), BATCHES * plan.batch_size * max(1, plan.workers), int(room / each))
        if most < LEAST_SAMPLES:
            yield Unknown("cacheable", "samples take too long to cache any within the budget: raise budget_s")
            return
        fits = int((until - time.monotonic() - room) / each / ROUNDS)  # slow samples in smaller batches
        if not own_order(served):
            plan = plan.but(batch_size=max(1, min(plan.batch_size, most // 2, fits)))
        elif fits < plan.batch_size:
            yield Unknown(
                "cacheable", "batches of your sampler take too long to be timed within the budget: raise budget_s"
            )
            return
        try:
            made, kept, size = both(bench, served, most, time.monotonic() + room)
            found, rates = gains(plan, made, kept, until, bench.until(self.share) or until, self.block_s)
        except Exception as e:  # the user's code in this process or in workers
            yield Unknown("cacheable", in_words(e))
            return
        finally:
            bench.at(-1)
        if len(found.ratios) < LEAST_PAIRS:
            yield Unknown("cacheable", "the budget ran out before two pairs of blocks: raise budget_s")
            return
        conditions: dict[str, Json] = {"workers": plan.workers, "batch_size": plan.batch_size, **rates}
        conditions |= {"samples": len(served.dataset), "disk_free_bytes": disk_free(bench)}
        seen = evidence(
            "timed", "sample_cache", seen=len(found.ratios), interval=found.told[1:], spread=found.spread,
            conditions=conditions,
        )  # fmt: skip
        at = {"stage": costliest(bench), "bytes": round(size * len(served.dataset)), "pays": found.shown}
        yield Fact(CACHED, found.mean, seen, at)
        if found.doubtful:
            yield Unknown(
                "cacheable",
                f"cached samples loaded {found.mean:.2f} times as fast, but the blocks vary too much to prove it",
            )


def unfit(bench: Bench) -> str:
    """Why samples cannot be cached, or the gain not be shown; empty if both are possible."""
    if bench.source.iterable:
        return "a stream's samples have no index to cache them by"
    if bench.facts.find(LOADER_FAILED) is not None:
        return "the loader fails"
    dataset = getattr(bench.source, "dataset", None)
    if callable(getattr(type(dataset), "__getitems__", None)):
        return "the dataset reads whole batches itself (__getitems__), but a cache holds single samples"
    if bench.facts.find(REWRITTEN) is not None:
        return "reading a sample changes it, so a cache would keep one of its versions"
    differ = bench.facts.value(NONDETERMINISTIC)
    if differ is None:
        return "whether samples are the same each time is unknown"
    return "the same index gives different content, so a cache would freeze the randomness of samples" if differ else ""


def chosen(bench: Bench, current: LoaderPlan) -> LoaderPlan:
    """The recommended settings, else the present ones; each epoch in a new order."""
    found = bench.facts.value(RECOMMENDED)
    plan = current.but(shuffle=True, drop_last=False)
    if found is None:
        return plan
    told, workers = found["settings"], int(found["workers"])
    prefetch = told["prefetch_factor"] if workers else None
    patience = PATIENCE_S if workers else 0.0
    in_order = told.get("in_order", True)
    return plan.but(workers=workers, prefetch=prefetch, persistent=workers > 0, in_order=in_order, timeout=patience)


class Folded:
    """As many samples as a dataset has, of which only some differ: any sampler of the dataset's can draw them."""

    def __init__(self, dataset: Any, indices: list[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index % len(self.indices)]]


def own_order(served: Serving) -> bool:
    """Whether a sampler of the user's decides the order: what it costs, a cache does not save."""
    from dataloader_expert.loaders.building import is_plain

    return served.user_loader is not None and not is_plain(served.user_loader)


def both(bench: Bench, served: Serving, most: int, until: float) -> tuple[Serving, Serving, float]:
    """The same samples made anew each time, and cached; and the bytes of one."""
    import numpy as np
    from torch.utils.data import Subset

    from dataloader_expert.loaders.building import twin
    from dataloader_expert.loaders.caching import CachedDataset

    indices = np.random.default_rng(bench.seed).permutation(len(served.dataset))[:most].tolist()
    kept, size = CachedDataset(served.dataset), 0.0
    for n, index in enumerate(indices, 1):
        bench.at(index)
        size += sum(held(v) for _, v in flat(kept[index]))
        if time.monotonic() > until and n >= LEAST_SAMPLES:
            indices = indices[:n]
            break
    size /= len(indices)
    if own_order(served):
        folded = [Folded(dataset, indices) for dataset in (served.dataset, kept)]
        loaders = [twin(served.user_loader, dataset=one) for one in folded]
        made, cached = (replace(served, dataset=d, user_loader=own) for d, own in zip(folded, loaders, strict=True))
        return made, cached, size
    indices = EPOCH * indices  # a longer epoch: its end makes workers wait
    plain = replace(served, user_loader=None, patience=0.0)
    return (
        replace(plain, dataset=Subset(served.dataset, indices)),
        replace(plain, dataset=Subset(kept, indices)),
        size,
    )


def gains(
    plan: LoaderPlan, made: Serving, kept: Serving, until: float, longer: float, block_s: float
) -> tuple[Paired, dict[str, float]]:
    """Throughput with cached samples compared with samples made anew, in alternating blocks; both in samples/s, and that of cached
    samples without workers."""
    noise = Noise(math.sqrt(2) * UNSURE, TRUST)
    with contextlib.ExitStack() as ending:
        ending.enter_context(tapped())
        runners = [Runner(plan, served) for served in (made, kept)]
        for runner in runners:
            ending.callback(runner.close)
        made_anew, from_memory = (partial(runner.block, block_s, None) for runner in runners)
        found = compare(from_memory, made_anew, PAIRS, until, MOST_PAIRS, noise=noise, longer=longer)
        rates = [interval(runner.blocks)[0] if runner.blocks else 0.0 for runner in runners]
        if plan.workers:  # which may only slow down what is cached
            alone = Runner(plan.but(workers=0, prefetch=None, persistent=False, timeout=0.0), kept)
            ending.callback(alone.close)
            rates.append(alone.block(block_s, None))
        return found, dict(zip(("made_anew", "cached", "cached_alone"), rates, strict=False))


def disk_free(bench: Bench) -> int | None:
    """Bytes free where the samples lie."""
    listing = getattr(bench.source, "listing", None)
    where = Path(bench.ref.name.rpartition(":")[0] or ".").parent if listing is None else listing.base
    try:
        return shutil.disk_usage(where).free
    except OSError:
        return None


def held(value: Any) -> int:
    """The size of a leaf of a sample, in bytes: of numbers and texts what is stored of them, without Python's objects."""
    if hasattr(value, "element_size"):
        return int(value.element_size() * value.nelement())
    if value is None or isinstance(value, bool | int | float):
        return 8
    return len(value) if isinstance(value, str | bytes) else bytes_of(value)


def costliest(bench: Bench) -> str:
    """The stage whose time caching a sample saves most."""
    found = {s: f.value["ms"] for s in STAGES if (f := bench.facts.find(STAGE, stage=s)) is not None}
    return max(found, key=lambda s: found[s], default="unattributed")


PROBES = (SampleCache,)

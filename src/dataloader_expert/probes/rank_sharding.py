"""Whether a stream yields other samples in each rank of a distributed run, or all of them in every rank.

The user's code runs anew in a process for each of two ranks, as a launcher starts it: with ``RANK`` and ``WORLD_SIZE`` in the environment and a
process group that only says which rank it is (torch's ``fake`` backend, of torch's own tests).
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.profile.rereads import word_of

RANK_SHARES = Quantity(
    "shares_of_ranks", "", "samples of a stream that each of two ranks yielded first, and those yielded by both"
)
LOOKED_AT, LEAST = 64, 4
"""Samples of each rank that are compared, and the fewest that tell."""
COPIED = 0.5


@dataclass(frozen=True)
class RankSharding(Probe):
    name: ClassVar[str] = "rank_sharding"
    doing: ClassVar[str] = "checking whether ranks shard the stream"
    world_size: int = 1
    share: float = 0.2
    most_s: float = 5.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if self.world_size < 2 or bench.source.format != "reference" or not bench.source.iterable:
            return
        what = "sharding of the stream across ranks"
        if not hasattr(os, "fork"):
            yield Unknown(what, "ranks are imitated in forked processes, which this system does not have")
            return
        patience = max(1.0, min(self.most_s, self.share * bench.left()))
        given = [_yielded(bench, rank, self.world_size, patience) for rank in (0, 1)]
        failed = next((words for words in given if isinstance(words, str)), None)
        if failed is not None:
            yield Unknown(what, failed)
            return
        one, two = (set(words) for words in given)
        by_rank, both, fewest = [len(words) for words in given], len(one & two), min(len(one), len(two))
        if min(by_rank) < LEAST:
            yield Unknown(what, f"a rank yielded only {min(by_rank)} samples in {patience:.0f} s: raise budget_s")
            return
        copied = fewest >= LEAST and both >= COPIED * fewest
        value = {"ranks": self.world_size, "by_rank": by_rank, "both": both, "copied": copied}
        yield Fact(RANK_SHARES, value, evidence("counted", "rank_sharding", seen=sum(by_rank)))


def _yielded(bench: Bench, rank: int, ranks: int, seconds: float) -> list[str] | str:
    """Digests of the first samples of a rank; if there are none, why."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_as_rank, args=(bench, rank, ranks, seconds, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        found: list[str] | str = (
            ours.recv() if ours.poll(2 * seconds) else f"rank {rank} yielded nothing in {2 * seconds:.0f} s"
        )
    except EOFError:
        process.join(1)
        found = f"rank {rank} ended with exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()
        ours.close()
    return found


def _as_rank(bench: Bench, rank: int, ranks: int, seconds: float, channel: Any) -> None:
    """Runs in a process of its own."""
    from pathlib import Path

    from dataloader_expert.sources.files import Listing

    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    os.environ.update({name: str(value) for name, value in told.items()})
    with contextlib.suppress(Exception):  # without it the environment alone says which rank it is
        import torch.distributed as distributed
        from torch.testing._internal.distributed.fake_pg import FakeStore

        distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
    try:
        source: Any = type(bench.source).open(Listing(Path(), bench.ref.roots), bench.ref)
        until, words = time.monotonic() + seconds, []
        for sample in itertools.islice(iter(source.dataset), LOOKED_AT):
            words.append(word_of(sample))
            if time.monotonic() > until:
                break
    except Exception as e:  # the user's code may raise anything
        channel.send(f"{type(e).__name__} in rank {rank} of {ranks}: {str(e)[:200]}")
    else:
        channel.send(words)


PROBES = (RankSharding,)

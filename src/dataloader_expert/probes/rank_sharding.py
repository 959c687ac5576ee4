"""Whether a stream yields other samples in each rank of a distributed run, or all of them in every rank.

The user's code runs anew in a fresh interpreter for each of two ranks, as a launcher starts it: with ``RANK`` and ``WORLD_SIZE`` in the
environment, and a process group that only says which rank it is (torch's ``fake`` backend, of torch's own tests).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.fresh import Fresh, asked, several
from dataloader_expert.probes.profile.rereads import word_of

RANK_SHARES = Quantity(
    "shares_of_ranks", "", "samples of a stream that each of two ranks yielded first, and those yielded by both"
)
LOOKED_AT, LEAST = 64, 4
"""Samples of each rank that are compared, and the fewest that tell."""
COPIED = 0.5
RAISED = "raised"


@dataclass(frozen=True)
class RankSharding(Probe):
    name: ClassVar[str] = "rank_sharding"
    doing: ClassVar[str] = "checking whether ranks shard the stream"
    world_size: int = 1
    share: float = 0.4
    most_s: float = 20.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if self.world_size < 2 or bench.source.format != "reference" or not bench.source.iterable:
            return
        seconds = max(1.0, min(self.most_s, self.share * bench.left()))
        environments = [_environment(rank, self.world_size) for rank in (0, 1)]
        runs = several([Fresh(__name__, bench.ref, {}, one) for one in environments], time.monotonic() + seconds)
        given = [[word for kind, word in told if kind != RAISED] for told, _ in runs]
        by_rank = [len(words) for words in given]
        if min(by_rank) < LEAST:
            raised = next((f"a rank raised {text}" for told, _ in runs for kind, text in told if kind == RAISED), "")
            few = f"a rank yielded only {min(by_rank)} sample{'s' * (min(by_rank) != 1)}"
            why = next((why for _, why in runs if why), "")
            yield Unknown("sharding of the stream across ranks", raised or (f"{few}: {why}" if why else few))
            return
        one, two = (set(words) for words in given)
        both, fewest = len(one & two), min(len(one), len(two))
        copied = fewest >= LEAST and both >= COPIED * fewest
        value = {"ranks": self.world_size, "by_rank": by_rank, "both": both, "copied": copied}
        yield Fact(RANK_SHARES, value, evidence("counted", "rank_sharding", seen=sum(by_rank)))


def _environment(rank: int, ranks: int) -> dict[str, str]:
    """What a launcher tells a rank."""
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    return {name: str(value) for name, value in told.items()}


def main() -> None:
    """Runs in the fresh interpreter."""
    with contextlib.suppress(Exception):  # without it the environment alone says which rank it is
        import torch.distributed as distributed
        from torch.testing._internal.distributed.fake_pg import FakeStore

        rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
    source, _, tell = asked()
    try:
        samples: Any = iter(source.dataset)
        for sample in itertools.islice(samples, LOOKED_AT):
            tell(("", word_of(sample)))
    except Exception as e:  # the user's code may raise anything
        tell((RAISED, f"{type(e).__name__}: {escaped(e, 200)}"))


PROBES = (RankSharding,)

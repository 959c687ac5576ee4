"""Whether the ranks of a distributed run read the same part of a stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.advice.streams import ranks
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.rank_sharding import RankSharding
from dataloader_expert.sources.registry import open_source

CODE = """
import os
import torch.distributed as dist
from torch.utils.data import IterableDataset

RANK = int(os.environ.get("RANK", "0"))

class Clicks(IterableDataset):
    def __iter__(self):
        {lines}
        for i in range(rank, 200, world):
            yield i
"""
WAYS = {
    "not at all": "rank, world = 0, 1",
    "as imported": "rank, world = RANK, int(os.environ['WORLD_SIZE'])",
    "by the environment": "rank, world = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])",
    "by the process group": "rank, world = dist.get_rank(), dist.get_world_size()",
}


@pytest.mark.journey
@pytest.mark.parametrize("way", WAYS)
def test_ranks_that_read_the_same_samples_are_told(way: str, tmp_path: Path) -> None:
    """Seen: a number of ranks was accepted, and that all of them read the same samples was not noticed."""
    (tmp_path / "mine.py").write_text(CODE.format(lines=WAYS[way]))
    ref = SourceRef(f"{tmp_path / 'mine.py'}:Clicks", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    said = list(RankSharding(world_size=4, most_s=300).measure(bench))
    facts = Facts(tuple(fact for fact in said if isinstance(fact, Fact)))
    assert len(list(facts)) == 1, said
    assert [f.code for f in ranks(facts)] == (["iterable-not-sharded"] if way == "not at all" else [])
    assert list(RankSharding(world_size=1).measure(bench)) == []

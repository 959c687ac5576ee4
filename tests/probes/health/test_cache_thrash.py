"""Caches that evict what is asked for again, and those that do what they are for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dataloader_expert.advice.reading import thrashing
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.cache_thrash import THRASH, CacheThrash
from dataloader_expert.sources.registry import open_source

CODE = """
import functools
import torch
from torch.utils.data import DataLoader, Dataset

@functools.lru_cache(maxsize={maxsize})
def volume(number):
    return sum(range(30_000)) + number

class Slices(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, index):
        return torch.tensor(volume({of}))

def make():
    return DataLoader(Slices(), 8, shuffle={shuffle})
"""


@pytest.mark.parametrize(
    ("maxsize", "of", "shuffle", "told"),
    [
        (3, "index // 12", True, True),
        (3, "index // 12", False, False),  # one after another
        (64, "index // 12", True, False),  # room for all
        (None, "index // 12", True, False),
        (3, "index", True, False),  # nothing comes again
        (3, "index % 3", True, False),
    ],
    ids=["thrash", "in order", "room", "unbounded", "all differ", "few"],
)
def test_a_cache_that_evicts_what_is_asked_for_again_is_told(
    tmp_path: Path, maxsize: int | None, of: str, shuffle: bool, told: bool
) -> None:
    """Our promise: its name, how often it misses and how often it must, by running it with room for all."""
    name = f"volumes_{abs(hash((maxsize, of, shuffle)))}"
    (tmp_path / f"{name}.py").write_text(CODE.format(maxsize=maxsize, of=of, shuffle=shuffle))
    ref = SourceRef(f"{tmp_path / name}.py:make", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    facts = [fact for fact in CacheThrash().measure(bench) if isinstance(fact, Fact)]
    assert bool(facts) == told
    sys.modules.pop(name, None)
    if told:
        assert facts[0].quantity == THRASH and facts[0].value["must"] == 20 and facts[0].value["misses"] > 100
        [found] = thrashing(Facts(tuple(facts)))
        assert "`volume`" in found.message and "20 different values" in found.message and found.where[0]["line"] == 6

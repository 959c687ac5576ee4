"""The order in which units are read: each once, and each stratum in its share, wherever reading ends."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.probes.data.ordering import FEW, in_turn, stratified
from dataloader_expert.sources.base import Unit

SIZES = st.lists(st.integers(1, 80), min_size=1, max_size=8)


@given(SIZES, st.booleans(), st.integers(0, 1 << 32))
def test_any_beginning_is_like_the_whole(sizes: list[int], labelled: bool, seed: int) -> None:
    """Our promise: of each stratum so much is read first as its share says, to two units; and every unit once."""
    named = [name for name, n in enumerate(sizes) for _ in range(n)]
    units = [Unit(i, f"f{k % 3 if labelled else k}", i, 1, 9, "train" if k % 2 else "val", f"c{k}" if labelled else None) for i, k in enumerate(named)]  # fmt: skip
    order = stratified(units, seed)
    assert sorted(order) == list(range(len(units)))
    assert order == stratified(units, seed)
    total = len(units)
    for read in {1, total // 3, total // 2, total}:
        seen = Counter(named[i] for i in order[:read])
        assert all(abs(seen[k] - n * read / total) <= 2 + len(sizes) for k, n in enumerate(sizes))
    if len(sizes) * FEW <= total:
        assert {named[i] for i in order[: len(sizes)]} == set(range(len(sizes)))


def test_neighbours_come_together_where_there_is_time_for_all() -> None:
    """Our promise: each sample comes once; after a few, runs of neighbours do, or the random order goes on where time is short."""
    order = np.random.default_rng(0).permutation(300).tolist()
    asked: list[int] = []

    def in_time(rest: int) -> bool:
        asked.append(rest)
        return True

    found = list(in_turn(order, 16, 64, 0, in_time))
    assert sorted(found) == list(range(300))
    assert found[:16] == order[:16]
    assert asked == [284]
    assert sum(b > a for a, b in itertools.pairwise(found[16:])) >= 284 - 5
    assert list(in_turn(order, 16, 64, 0, lambda rest: False)) == order

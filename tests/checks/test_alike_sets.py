"""Alike sets are found by their rarest elements as comparing all of them would."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dataloader_expert.checks.duplicates.alike_sets import Sets, pairs

ALIKE, SKETCH, BLOCK = 0.8, 128, 50


def test_all_pairs_of_alike_sets_are_found_and_no_others() -> None:
    """Our promise: no near copy is missed among those that the rule calls alike."""
    rng = np.random.default_rng(3)
    every: list[Any] = []
    for _ in range(200):
        made = rng.integers(0, 1 << 32, rng.integers(1, 60), np.uint32)
        if every and rng.random() < 0.4:
            made = every[rng.integers(len(every))].copy()
            made[: rng.integers(0, 4)] = rng.integers(0, 1 << 32)
        every.append(np.unique(made))
    parts = [every[at : at + BLOCK] for at in range(0, len(every), BLOCK)]
    blocks = [Sets(np.concatenate(part), np.array([len(one) for one in part])) for part in parts]
    found = pairs(blocks, np.ones(len(every), bool), None, ALIKE, SKETCH).tolist()
    alike = [
        [i, j]
        for (i, a), (j, b) in itertools.combinations(enumerate({*one.tolist()} for one in every), 2)
        if len(a & b) >= ALIKE * len(a | b)
    ]
    assert found == alike
    assert len(found) > 20

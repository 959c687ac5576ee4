"""The steering variant of each pair in an epoch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.loaders.jasper.curriculum import VARIANTS

RULES = ("by_pair", "by_access")


def by_pair(seed: int, epoch: int, pairs: NDArray[np.int64], odds: Mapping[str, float]) -> NDArray[np.int8]:
    """The variant of every pair of a split, by seed, epoch and pair alone, in exact quotas.

    Every pair has a hash of seed, epoch and pair; in the order of the hashes the first share of them gets variant 0,
    the next 1, and so on. Quotas are the odds times the pairs, rounded by largest remainder.

    Args:
        pairs: pair rows of the split, [split].
        odds: variant to probability.

    Returns:
        Variant codes 0 to 3, int8 [split].
    """
    shares = np.array([odds[v] for v in VARIANTS])
    wanted = shares / shares.sum() * len(pairs)
    quotas = np.floor(wanted + 1e-9).astype(np.int64)
    missing = len(pairs) - int(quotas.sum())
    quotas[np.argsort(quotas - wanted, kind="stable")[:missing]] += 1
    order = np.argsort(_hash(pairs.astype(np.uint64), seed, epoch), kind="stable")
    variants = np.empty(len(pairs), np.int8)
    variants[order] = np.repeat(np.arange(len(VARIANTS), dtype=np.int8), quotas)
    return variants


class AccessStream:
    """The original's rule: the k-th access draws the k-th number of one stream, whatever the pair.

    Its order depends on who accesses what and when, so that workers repeat each other; for comparison only.
    """

    def __init__(self, seed: int, epoch: int) -> None:
        self.rng = np.random.default_rng(seed + epoch)
        self.accessed = 0

    def draw(self, count: int, odds: Mapping[str, float]) -> NDArray[np.int8]:
        """The next ``count`` variants, as ``rng.choice`` with these odds draws them one by one."""
        cumulated = np.cumsum([odds[v] for v in VARIANTS])
        cumulated /= cumulated[-1]
        self.accessed += count
        return np.searchsorted(cumulated, self.rng.random(count), side="right").astype(np.int8)


def _hash(values: NDArray[np.uint64], seed: int, epoch: int) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea and Flood 2014) of each value, begun at a state of seed and epoch."""
    start = np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        z = (values + start) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed

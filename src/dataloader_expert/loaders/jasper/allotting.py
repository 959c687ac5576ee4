"""The members of each split, as pure functions of sizes, ratios and a seed, without global random state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
EPS = 1e-9
"""By which products of ratios may miss an integer."""


@dataclass(frozen=True)
class Parts:
    """Positions of each split, int64 [split]; ``test`` is None if none was asked for."""

    train: Ints
    val: Ints
    test: Ints | None


def share_left(val_ratio: float, test_ratio: float, train_ratio: float | None) -> float:
    """The share left for training, checked against ``train_ratio``."""
    rest = 1 - val_ratio - test_ratio
    if not (val_ratio >= 0 and test_ratio >= 0 and rest > EPS):
        raise ValueError(
            f"val_ratio {val_ratio} and test_ratio {test_ratio} must be at least 0 and sum to less than 1: "
            "the rest is for training"
        )
    if train_ratio is not None and abs(train_ratio - rest) > 1e-6:
        raise ValueError(
            f"train_ratio {train_ratio}, val_ratio {val_ratio} and test_ratio {test_ratio} must sum to 1, "
            "or pairs would be lost: leave train_ratio out for the rest"
        )
    return rest if train_ratio is None else train_ratio


def split_by_position(size: int, val_ratio: float, test_ratio: float, seed: int, shuffle: bool) -> Parts:
    """Splits positions 0 to ``size`` - 1: val first, then test, then train, of the shuffled order.

    Sizes are rounded down, but a split that was asked for has at least one. An empty val or train is a ``ValueError``.
    """
    order = np.arange(size)
    if shuffle:
        np.random.RandomState(seed).shuffle(order)
    n_val, n_test = (max(int(size * r + EPS), 1) if r > 0 else 0 for r in (val_ratio, test_ratio))
    if not n_val or n_val + n_test >= size:
        raise ValueError(
            f"{size} samples at val_ratio {val_ratio} and test_ratio {test_ratio} leave train or val empty: "
            "take other ratios or more samples"
        )
    val, test, train = np.split(order, [n_val, n_val + n_test])
    return Parts(train, val, test if test_ratio > 0 else None)


def split_by_question(
    questions: Ints, clusters: Ints, val_ratio: float, test_ratio: float, seed: int, shuffle: bool
) -> Parts:
    """Splits pairs so that a question's stay together, each cluster's questions in the asked ratios.

    Args:
        questions, clusters: of each pair, [pairs]; a question's cluster is that of most pairs, on a tie the lowest.
        val_ratio, test_ratio: shares of the questions; the rest is for training.
        seed: of the order within clusters, and of which clusters round up.
        shuffle: False takes the questions of a cluster in ascending order.

    A ``ValueError`` if there are fewer questions than splits, or no share is left for val.
    """
    ids, of_pair = np.unique(questions, return_inverse=True)
    home = majorities(of_pair, clusters, len(ids))
    homes, sizes = np.unique(home, return_counts=True)
    members_of = np.split(np.argsort(home, kind="stable"), np.cumsum(sizes)[:-1])
    counts = allotted(sizes, val_ratio, test_ratio, np.random.RandomState(seed))
    split = np.empty(len(ids), np.int64)  # 0 train, 1 val, 2 test
    for cluster, members, (n_train, n_val, _) in zip(homes.tolist(), members_of, counts.tolist(), strict=True):
        if shuffle:
            np.random.RandomState(seed + cluster).shuffle(members)
        split[members[:n_train]] = 0
        split[members[n_train : n_train + n_val]] = 1
        split[members[n_train + n_val :]] = 2
    train, val, test = (np.flatnonzero(split[of_pair] == code) for code in range(3))
    return Parts(train, val, test if test_ratio > 0 else None)


def allotted(sizes: Ints, val_ratio: float, test_ratio: float, random: np.random.RandomState) -> Ints:
    """Train, val and test members per cluster, int64 [clusters, 3]; ``sizes`` are the members of each, [clusters].

    The totals are the asked ratios, rounded by largest remainder, and at least 1 where a ratio is above 0. Within them
    each cluster's counts are near its own ratios, usually to within one; which clusters round up is random. A
    ``ValueError`` if there are fewer members than splits, or ``val_ratio`` is 0.
    """
    whole = int(sizes.sum())
    ratios = np.array([1 - val_ratio - test_ratio, val_ratio, test_ratio])
    asked = (ratios > 0).astype(np.int64)
    if val_ratio <= 0:
        raise ValueError(f"val_ratio is {val_ratio}: the val split would be empty, and training needs one")
    if whole < asked.sum():
        raise ValueError(f"{whole} questions cannot fill {asked.sum()} splits: add questions, or ask for fewer splits")
    _, n_val, n_test = _apportioned(whole * ratios, whole, asked, np.full(3, whole), random).tolist()
    val_share, test_share = sizes * val_ratio, sizes * test_ratio
    held = _apportioned(val_share + test_share, n_val + n_test, np.zeros_like(sizes), sizes, random)
    low = np.maximum(_floor(val_share), held - _ceil(test_share)).clip(0, held)
    high = np.minimum(_ceil(val_share), held - _floor(test_share)).clip(low, held)
    if not low.sum() <= n_val <= high.sum():  # totals of few questions, which were raised to 1
        low, high = np.zeros_like(held), held
    val = _apportioned(val_share, n_val, low, high, random)
    return np.stack([sizes - held, val, held - val], axis=1)


def _apportioned(exact: Floats, total: int, low: Ints, high: Ints, random: np.random.RandomState) -> Ints:
    """``exact`` rounded to integers between ``low`` and ``high`` that sum to ``total``; ties are broken at random."""
    counts = _floor(exact).clip(low, high)
    tie = random.permutation(len(exact))
    while (missing := total - int(counts.sum())) != 0:
        step = 1 if missing > 0 else -1
        free = counts < high if step > 0 else counts > low
        by_need = np.lexsort((tie, np.round((counts - exact) * step, 6), ~free))
        chosen = by_need[: min(abs(missing), int(free.sum()))]
        counts[chosen] += step
    return counts


def majorities(items: Ints, clusters: Ints, n_items: int) -> Ints:
    """The cluster of most rows of each item, the smallest id on a tie, [n_items]."""
    ids, codes = np.unique(clusters, return_inverse=True)
    pairs, counts = np.unique(items * len(ids) + codes, return_counts=True)
    item, code = pairs // len(ids), pairs % len(ids)
    order = np.lexsort((code, -counts, item))
    _, first = np.unique(item[order], return_index=True)
    return np.asarray(ids[code[order][first]], np.int64)


def _floor(values: Floats) -> Ints:
    return np.asarray(np.floor(values + EPS), np.int64)


def _ceil(values: Floats) -> Ints:
    return np.asarray(np.ceil(values - EPS), np.int64)

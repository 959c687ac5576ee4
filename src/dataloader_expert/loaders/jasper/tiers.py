"""The numbers of negatives per tier."""

from __future__ import annotations

TIERS = 4
"""1 the pair's cluster, 2 those near it, 3 most similar outside it, 4 any outside it."""


def even_tiers(n_neg: int) -> list[int]:
    """``n_neg`` in four parts, the first ones larger by one where it does not divide."""
    whole, rest = divmod(n_neg, TIERS)
    return [whole + (tier < rest) for tier in range(TIERS)]


def checked_tiers(proportions: list[int], n_neg: int) -> list[int]:
    """A copy of four counts that sum to ``n_neg``; else a ``ValueError``, and a ``TypeError`` if they are no list."""
    if not isinstance(proportions, list | tuple):
        raise TypeError(f"tier_proportions must be a list of four counts, got {type(proportions).__name__}")
    if len(proportions) != TIERS:
        raise ValueError(f"tier_proportions must have exactly 4 values, one per tier, got {len(proportions)}")
    if not all(isinstance(count, int) and count >= 0 for count in proportions):
        raise ValueError(f"tier_proportions must be integers of at least 0, got {list(proportions)}")
    if sum(proportions) != n_neg:
        raise ValueError(
            f"tier_proportions must sum to n_neg ({n_neg}), and {list(proportions)} sum to {sum(proportions)}"
        )
    return list(proportions)

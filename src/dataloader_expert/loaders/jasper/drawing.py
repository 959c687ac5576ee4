"""Random choices for many rows at once, each without what its row already has."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

NONE = -1
"""Stands where a row has no choice left."""


def draw_untaken(pool: Tensor, taken: Tensor, count: int, rng: np.random.Generator) -> Tensor:
    """Draws, for every row, ``count`` members of ``pool`` that are not among the row's ``taken``, all different.

    Every free member is as likely as any other. The work grows with rows and ``count``, hardly with the pool: a number
    below the count of free members is drawn, and moved up past the taken ones below it.

    Args:
        pool: different numbers in ascending order, int64 [pool].
        taken: different numbers of each row, or :data:`NONE`, int64 [rows, any]; they need not be in the pool.
        count: draws per row.
        rng: source of the draws.

    Returns:
        int64 [rows, count]; :data:`NONE` from where a row's pool is used up.
    """
    size = len(pool)
    drawn = torch.full((len(taken), count), NONE)
    if not size:
        return drawn
    beyond = size + taken.shape[1] + count  # no place in the pool, even when moved down past all others
    place = torch.searchsorted(pool, taken).clamp(max=size - 1)
    blocked = place.masked_fill(pool[place] != taken, beyond).sort(dim=1).values
    for i in range(count):
        free = size - (blocked < size).sum(dim=1)
        nth = (torch.from_numpy(rng.random(len(taken))) * free).long()
        before = blocked - torch.arange(blocked.shape[1])  # free members before each blocked one
        position = (nth + (before <= nth[:, None]).sum(dim=1)).masked_fill(free == 0, beyond)
        hit = free > 0
        drawn[hit, i] = pool[position[hit]]
        blocked = torch.cat([blocked, position[:, None]], dim=1).sort(dim=1).values
    return drawn


def filled(rows: Tensor, more: Tensor) -> Tensor:
    """Without :data:`NONE`: instead come a row's ``more`` in order, and where these are :data:`NONE`, its own again.

    Of the ``rows``, int64 [rows, columns], each has a number; ``more``, int64 [rows, any], has a column for each gap of
    a row.
    """
    gap = rows == NONE
    nth = (gap.cumsum(dim=1) - 1).clamp(min=0)
    rows = torch.where(gap, more.gather(1, nth), rows) if more.shape[1] else rows
    gap = rows == NONE
    front = rows.gather(1, gap.long().argsort(dim=1, stable=True))
    nth = (gap.cumsum(dim=1) - 1).clamp(min=0) % (~gap).sum(dim=1, keepdim=True)
    return torch.where(gap, front.gather(1, nth), rows)


def shuffled_columns(first: Tensor, second: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Each row's columns in a random order, the same in both, [rows, columns]."""
    order = torch.from_numpy(rng.random(tuple(first.shape))).argsort(dim=1)
    return first.gather(1, order), second.gather(1, order)

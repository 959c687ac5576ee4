"""Padding of rows of different lengths."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
import torch

from dataloader_expert.loaders.collators.base import as_tensors

Side = Literal["left", "right"]


def lengths_of(rows: Sequence[Any]) -> torch.Tensor:
    """Lengths of ``rows``, int64 [B]."""
    return torch.from_numpy(np.fromiter(map(len, rows), np.int64, len(rows)))


def mask_of(lengths: torch.Tensor, longest: int, side: Side = "right") -> torch.Tensor:
    """True where a row has a value, bool [B, longest]."""
    places = np.arange(longest)
    counts = lengths.numpy()[:, None]
    return torch.from_numpy(places < counts if side == "right" else places >= longest - counts)


def pad_tokens(rows: Sequence[Any], value: int, mask: torch.Tensor) -> torch.Tensor:
    """``rows``, B lists, arrays or tensors of integers, padded with ``value`` outside ``mask``: int64 [B, longest]."""
    padded = np.full(tuple(mask.shape), value, np.int64)
    if all(type(row) is list for row in rows):
        held = array("q")
        try:
            for row in rows:
                held.fromlist(row)
            flat: Any = np.frombuffer(held, np.int64)
        except TypeError:  # such as numpy's integers
            flat = np.array(list(chain.from_iterable(rows)), dtype=np.int64)
    else:
        flat = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows], axis=-1)
    if flat.ndim != 1:
        raise ValueError(f"rows of tokens have {flat.ndim} dimensions, not one: tokenise without return_tensors")
    padded[mask.numpy()] = flat
    return torch.from_numpy(padded)


def pad_rows(rows: Sequence[Any], value: float = 0, side: Side = "right") -> torch.Tensor:
    """Rows [n_i, …] padded in their first dimension: [B, longest, …] of their dtype; else a ``ValueError``."""
    tensors = as_tensors(list(rows))
    if len({t.shape[1:] for t in tensors}) > 1 or not tensors[0].ndim:
        raise ValueError(f"rows differ in more than their length: {sorted({tuple(t.shape) for t in tensors})[:4]}")
    kinds = {t.dtype for t in tensors}
    if len(kinds) > 1:  # an empty list alone is float
        common = functools.reduce(torch.promote_types, {t.dtype for t in tensors if t.numel()} or kinds)
        tensors = [t.to(common) for t in tensors]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=value, padding_side=side)

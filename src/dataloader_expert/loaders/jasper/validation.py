"""Rules for single tensors and lists, called ``name`` in messages; those for a whole data set are in ``integrity``."""

from __future__ import annotations

from itertools import chain
from typing import Any

import torch


def validate_tensor_2d(tensor: Any, name: str, expected_cols: int | None = None, min_rows: int = 1) -> None:
    """Accepts a tensor [rows, columns] of any dtype; ``expected_cols`` None: any number of columns.

    Raises:
        TypeError: if it is not a tensor (lists and arrays are not converted).
        ValueError: if it is not 2-D, has too few rows or other columns.
    """
    _require_rank(tensor, name, 2)
    rows, cols = tensor.shape
    if rows < min_rows:
        raise ValueError(f"{name} must have at least {min_rows} rows, got {rows}")
    if expected_cols is not None and cols != expected_cols:
        raise ValueError(f"{name} has {cols} columns; expected {expected_cols} columns")


def validate_tensor_1d(tensor: Any, name: str, expected_length: int | None = None, min_length: int = 1) -> None:
    """Accepts a tensor [length] of any dtype; ``expected_length`` None: any number of elements.

    Raises:
        TypeError: if it is not a tensor.
        ValueError: if it is not 1-D (a scalar is not), too short or of another length.
    """
    _require_rank(tensor, name, 1)
    length = len(tensor)
    if length < min_length:
        raise ValueError(f"{name} must have at least {min_length} elements, got {length}")
    if expected_length is not None and length != expected_length:
        raise ValueError(f"{name} has {length} elements; expected length {expected_length}")


def validate_embedding_dimensions(*tensors_and_names: tuple[torch.Tensor, str]) -> int:
    """The width that all the embeddings share, given as pairs of a tensor [rows, width] and its name.

    Raises:
        TypeError: if one is not a tensor.
        ValueError: if none is given, one is not 2-D or has no rows, or their widths differ.
    """
    if not tensors_and_names:
        raise ValueError("At least one tensor is needed: pass pairs (tensor, name)")
    for tensor, name in tensors_and_names:
        validate_tensor_2d(tensor, name)
    widths = [tensor.shape[1] for tensor, _ in tensors_and_names]
    if len(set(widths)) > 1:
        listed = ", ".join(f"{name}={width}" for (_, name), width in zip(tensors_and_names, widths, strict=True))
        raise ValueError(f"Embedding dimensions must match, and are {listed}: embed all with one model")
    return widths[0]


def validate_pair_indices_bounds(
    pair_indices: torch.Tensor,
    n_questions: int,
    n_sources: int,
    name: str = "pair_indices",
    *,
    allow_negative: bool = True,
) -> None:
    """Accepts pairs whose rows exist: integers [pairs, 2], row of the question and row of the source.

    ``allow_negative`` lets indices below 0 pass, as older callers expect. Indexing would take them from the end, so all
    that builds or opens a data set says False.

    Raises:
        TypeError: if it is not a tensor of integers.
        ValueError: if it is not [pairs, 2], or an index is out of range.
    """
    validate_tensor_2d(pair_indices, name, expected_cols=2)
    for column, (what, count) in enumerate((("question", n_questions), ("source", n_sources))):
        _require_below(pair_indices[:, column], name, f"{what} index", count, allow_negative)


def validate_cluster_ids_bounds(
    cluster_ids: torch.Tensor, n_clusters: int, name: str = "cluster_ids", *, allow_negative: bool = True
) -> None:
    """Accepts ids of clusters that exist, integers [length]; ``allow_negative`` as in
    :func:`validate_pair_indices_bounds`.

    Raises:
        TypeError: if it is not a tensor of integers.
        ValueError: if it is not 1-D or empty, or an id is out of range.
    """
    validate_tensor_1d(cluster_ids, name)
    _require_below(cluster_ids, name, "cluster ID", n_clusters, allow_negative)


def validate_length_consistency(*tensors_and_names: tuple[Any, str, int]) -> None:
    """Accepts triples of a tensor, list or tuple, its name, and its length (of a tensor: its first dimension).

    Raises:
        TypeError: if an item is neither tensor nor list nor tuple.
        ValueError: for the first item of another length.
    """
    for item, name, expected in tensors_and_names:
        if not isinstance(item, torch.Tensor | list | tuple):
            raise TypeError(f"{name} must be torch.Tensor or list, got {type(item).__name__}")
        if len(item) != expected:
            raise ValueError(f"{name} length ({len(item)}) must equal {expected}")


def validate_split_ratios(train_ratio: float, val_ratio: float, test_ratio: float, tolerance: float = 1e-6) -> None:
    """Accepts three shares in (0, 1) whose sum is 1 but for ``tolerance`` and 1e-5; else a ``ValueError``."""
    ratios = {"train_ratio": train_ratio, "val_ratio": val_ratio, "test_ratio": test_ratio}
    for name, ratio in ratios.items():
        if not 0 < ratio < 1:
            raise ValueError(f"{name} must be in (0, 1), got {ratio}")
    total = sum(ratios.values())
    if abs(total - 1) > tolerance + 1e-5:
        raise ValueError(f"train_ratio, val_ratio and test_ratio must sum to 1.0, got {total}")


def validate_keyword_ids_list(
    pair_keyword_ids: Any, n_pairs: int, n_keywords: int, name: str = "pair_keyword_ids"
) -> None:
    """Accepts a list of ``n_pairs`` lists of ``int``, each in [0, n_keywords); a pair may have none.

    Raises:
        TypeError: if it is not a list of lists of ``int``.
        ValueError: if it has another length, or an id is out of range.
    """
    if not isinstance(pair_keyword_ids, list):
        raise TypeError(f"{name} must be list (one list of keyword rows per pair), and is {_kind(pair_keyword_ids)}")
    if len(pair_keyword_ids) != n_pairs:
        raise ValueError(f"{name} length ({len(pair_keyword_ids)}) must equal n_pairs ({n_pairs})")
    if set(map(type, pair_keyword_ids)) <= {list}:  # the common case, without a step of Python per id
        flat = list(chain.from_iterable(pair_keyword_ids))
        if set(map(type, flat)) <= {int} and (not flat or (min(flat) >= 0 and max(flat) < n_keywords)):
            return
    for i, ids in enumerate(pair_keyword_ids):
        if not isinstance(ids, list):
            raise TypeError(f"{name}[{i}] must be list, got {_kind(ids)}")
        for keyword in ids:
            if not isinstance(keyword, int):
                raise TypeError(f"{name}[{i}] contains non-int {keyword!r} ({_kind(keyword)})")
            if not 0 <= keyword < n_keywords:
                raise ValueError(f"{name}[{i}] contains out-of-range keyword ID {keyword}; it is in [0, {n_keywords})")


def validate_no_nan_inf(tensor: torch.Tensor, name: str) -> None:
    """Accepts any tensor without NaN and infinity, else a ``ValueError``; reads it once and copies nothing."""
    if not tensor.numel() or not (tensor.is_floating_point() or tensor.is_complex()):
        return
    low, high = torch.aminmax(torch.view_as_real(tensor) if tensor.is_complex() else tensor)
    if low.isnan() or high.isnan():
        raise ValueError(f"{name} contains NaN values")
    if low.isinf() or high.isinf():
        raise ValueError(f"{name} contains Inf values")


def validate_values_in_range(
    tensor: torch.Tensor, name: str, min_value: float, max_value: float, inclusive: bool = True
) -> None:
    """Accepts real numbers between two bounds, ``inclusive`` or not, else a ``ValueError``; NaN lies between none."""
    if not tensor.numel():
        return
    low, high = (bound.item() for bound in torch.aminmax(tensor))
    inside = min_value <= low and high <= max_value if inclusive else min_value < low and high < max_value
    if not inside:
        bounds = f"[{min_value}, {max_value}]" if inclusive else f"({min_value}, {max_value})"
        raise ValueError(f"{name} values must be in range {bounds}, and are in [{low}, {high}]")


def _require_rank(tensor: Any, name: str, rank: int) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be torch.Tensor, got {_kind(tensor)}")
    if tensor.ndim != rank:
        raise ValueError(f"{name} must be {rank}D, got shape {tuple(tensor.shape)}")


def _require_below(ids: torch.Tensor, name: str, what: str, count: int, allow_negative: bool) -> None:
    if ids.is_floating_point() or ids.is_complex() or ids.dtype is torch.bool:
        raise TypeError(f"{name} must hold integers, and holds {ids.dtype}")
    low, high = (int(bound) for bound in torch.aminmax(ids))
    if high >= count:
        raise ValueError(f"{name} contains {what} {high}, and there are {count}: it is in [0, {count})")
    if low < 0 and not allow_negative:
        raise ValueError(f"{name} contains {what} {low}; it is in [0, {count})")


def _kind(value: object) -> str:
    return type(value).__name__

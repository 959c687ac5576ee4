"""Rows of a table to one matrix, and arrays of one shape to one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from dataloader_expert.loaders.collators.base import Batch, CollatorInfo, Samples, cast, labels_of, not_empty, values_of

LABELS = ("labels", "label", "target", "y")


class TabularCollator:
    """Numbers of each row side by side in one matrix; the label, texts and arrays as fields of their own.

    Args:
        columns: those of the matrix, in its order; None: every field of numbers, but the label.
        label: field of the label; None: the first of ``labels``, ``label``, ``target``, ``y`` that there is.
        dtype: of floating fields.

    Returns:
        ``features`` float32 [B, columns], NaN where a row has no value; ``labels`` [B], int64 of classes; other fields
        stacked, or lists.

    Raises:
        ValueError: for an empty batch, and where a column is no number.
    """

    def __init__(
        self, columns: Sequence[str] | None = None, label: str | None = None, *, dtype: torch.dtype | None = None
    ) -> None:
        self.columns, self.label, self.dtype = None if columns is None else tuple(columns), label, dtype

    def __call__(self, samples: Samples) -> Batch:
        not_empty(samples, "the tabular collator")
        label = self.label or next((n for n in LABELS if n in samples[0]), None)
        columns = self.columns or tuple(n for n in samples[0] if n != label and _is_column(values_of(samples, n)))
        batch: Batch = {}
        if columns:
            matrix = np.empty((len(columns), len(samples)), np.float32)
            for i, name in enumerate(columns):
                try:
                    matrix[i] = [np.nan if v is None else v for v in values_of(samples, name)]
                except (TypeError, ValueError) as e:
                    raise ValueError(f"column {name!r} holds what is no number: {e}") from None
            batch["features"] = torch.from_numpy(np.ascontiguousarray(matrix.T))
        for name in samples[0]:
            if name not in columns:
                batch["labels" if name == label else name] = labels_of(values_of(samples, name))
        return dict(cast(batch, self.dtype))


def _is_column(values: Sequence[object]) -> bool:
    """Whether the first value that there is is a number."""
    first = next((v for v in values if v is not None), None)
    if isinstance(first, torch.Tensor):
        return not first.ndim
    return isinstance(first, bool | int | float | np.generic)


class ArrayCollator:
    """Arrays of one shape stacked, field by field.

    Args:
        dtype: of floating fields.

    Returns:
        Each field [B, …]; ``labels`` as int64 of classes.

    Raises:
        ValueError: for an empty batch.
    """

    def __init__(self, *, dtype: torch.dtype | None = None) -> None:
        self.dtype = dtype

    def __call__(self, samples: Samples) -> Batch:
        not_empty(samples, "the array collator")
        return dict(cast({name: labels_of(values_of(samples, name)) for name in samples[0]}, self.dtype))


COLLATOR = CollatorInfo("tabular", TabularCollator, "tabular", "numbers of a row side by side in one matrix")
ARRAY = CollatorInfo("array", ArrayCollator, "array", "arrays of one shape stacked, field by field")

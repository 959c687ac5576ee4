"""Rows of a feature matrix: short vectors, each component of which checks may look at as a field of its own, ``x[3]``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dataloader_expert.sources.base import Block, Column, Field

MOST = 64
"""Components of a vector beyond which it is an embedding or a signal, not a row of features."""
KINDS = ("array", "embedding")


def features_of(fields: Iterable[Field], label: str | None) -> dict[str, Field]:
    """The components of the fields that are rows of features, as fields, by name."""
    found: dict[str, Field] = {}
    for field in fields:
        width = field.shape[0] if len(field.shape) == 1 and field.kind in KINDS and field.name != label else None
        if width is not None and 2 <= width <= MOST and field.dtype.startswith(("float", "int", "uint")):
            found |= {f"{field.name}[{i}]": Field(f"{field.name}[{i}]", "number", field.dtype) for i in range(width)}
    return found


def with_features(block: Block, features: Mapping[str, Field]) -> Block:
    """The block, with a column for each of these features where their vectors are there as one array."""
    columns = dict(block.columns)
    for name in features:
        of, at = vector_of(name), name[name.rindex("[") + 1 : -1]
        column = block.columns.get(of)
        values = None if column is None else column.values if hasattr(column.values, "dtype") else column.stacked
        if column is not None and values is not None and values.ndim == 2 and values.shape[1] > int(at):
            columns[name] = Column(values[:, int(at)], column.nulls)
    return replace(block, columns=columns) if len(columns) > len(block.columns) else block


def vector_of(feature: str) -> str:
    """The field that a feature is a component of."""
    return feature[: feature.rindex("[")]

"""Components of arrays: the features of a matrix, each of which checks may look at as a field of its own, ``x[3]``, and channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dataloader_expert.errors import escaped
from dataloader_expert.sources.base import Block, Column, Field

MOST = 64
"""Components of a vector beyond which it is an embedding or a signal, not a row of features."""
KINDS = ("array", "embedding")
WIDE, CHANNELS = 4096, 64
"""The most components of a vector, and channels of other arrays, that are looked at."""


def features_of(fields: Iterable[Field], label: str | None) -> dict[str, Field]:
    """The components of the fields that are rows of features, as fields, by name."""
    found: dict[str, Field] = {}
    fields = list(fields)
    names = {field.name for field in fields}
    for field in fields:
        width = field.shape[0] if len(field.shape) == 1 and field.kind in KINDS and field.name != label else None
        if width is not None and 2 <= width <= MOST and field.dtype.startswith(("float", "int", "uint")):
            made = {f"{field.name}[{i}]": Field(f"{field.name}[{i}]", "number", field.dtype) for i in range(width)}
            found |= made if not names & made.keys() else {}
    return found


def with_features(block: Block, features: Mapping[str, Field]) -> Block:
    """The block, with a column for each of these features where their vectors are there as one array."""
    columns = dict(block.columns)
    for name in features:
        of, at = vector_of(name), name[name.rindex("[") + 1 : -1]
        column = block.columns.get(of)
        values = None if column is None else column.values if hasattr(column.values, "dtype") else column.stacked
        if column is None or values is None or values.dtype.kind not in "biuf":
            continue
        if values.ndim == 2 and values.shape[1] > int(at):
            columns[name] = Column(values[:, int(at)], column.nulls)
    return replace(block, columns=columns) if len(columns) > len(block.columns) else block


def vector_of(feature: str) -> str:
    """The field that a feature is a component of."""
    return feature[: feature.rindex("[")]


def channel_axis(field: Field) -> int | None:
    """The axis of the components, the samples' own being 0: that of a vector of floats; of other arrays, the shorter of the first and the
    last. None if there are too many, if whole numbers are ids or marks, and of images of bytes, whose channels have statistics."""
    shape = field.shape
    if (
        not shape
        or not field.dtype.startswith(("float", "int", "uint"))
        or (field.kind == "image" and field.dtype == "uint8")
    ):
        return None
    if len(shape) == 1:
        return 1 if shape[0] is not None and 2 <= shape[0] <= WIDE and field.dtype.startswith("float") else None
    first, last = shape[0], shape[-1]
    axis = 1 if first is not None and (last is None or first < last) else len(shape)
    width = shape[axis - 1]
    return axis if width is not None and 2 <= width <= CHANNELS and first != last else None


def called(name: str, shape: tuple[int | None, ...], axis: int, k: int) -> str:
    """As numpy would select it from a sample: ``x[3]``, ``x[:, 3]``."""
    at = [":"] * len(shape)
    if axis <= len(at):
        at[axis - 1] = str(k)
    while at and at[-1] == ":":
        at.pop()
    return f"{escaped(name)}[{', '.join(at)}]"

"""Components of arrays: the features of a matrix, each of which checks may look at as a field of its own, ``x[3]``, and channels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.sources.base import Block, Column, Field

MOST = 64
"""Components of a vector beyond which it is an embedding or a signal, not a row of features."""
KINDS = ("array", "embedding")
WIDE, CHANNELS = 4096, 64
"""The most components of a vector, and channels of other arrays, that are looked at."""
MEASURED = ("float", "int", "uint")


@dataclass(frozen=True)
class Feature(Field):
    """Component ``at`` of the vectors in the field ``of``."""

    of: str = ""
    at: int = 0


def features_of(fields: Iterable[Field], label: str | None) -> dict[str, Feature]:
    """The components of the fields that are rows of features, by name; none that has the name of a field."""
    found: dict[str, Feature] = {}
    fields = list(fields)
    names = {field.name for field in fields}
    for field in fields:
        width = field.shape[0] if len(field.shape) == 1 and field.kind in KINDS and field.name != label else None
        if width is not None and 2 <= width <= MOST and field.dtype.startswith(MEASURED):
            made = [Feature(f"{field.name}[{i}]", "number", field.dtype, (), field.name, i) for i in range(width)]
            found |= {f.name: f for f in made} if not names & {f.name for f in made} else {}
    return found


def with_features(block: Block, features: Mapping[str, Feature]) -> Block:
    """The block, with a column for each of these features where their vectors are there as one array."""
    arrays = {of: block.columns[of].array for of in {f.of for f in features.values()} if of in block.columns}
    made = {
        name: Column(values[:, f.at], block.columns[f.of].nulls)
        for name, f in features.items()
        if (values := arrays.get(f.of)) is not None
        and values.dtype.kind in "biuf"
        and values.ndim == 2
        and values.shape[1] > f.at
    }
    if not made:
        return block
    found = replace(block, columns=block.columns | made)
    found.once = block.once  # the same rows
    return found


@dataclass(frozen=True)
class Channels:
    """How the channels of an array field lie: along ``axis``, where that of the samples is 0, which stands for a single channel without one."""

    name: str
    shape: tuple[int | None, ...]
    axis: int
    width: int

    @staticmethod
    def of(field: Field) -> Channels | None:
        """Those of a vector of floats are its components; of other arrays, the shorter of the first and the last axis has them. None if
        there are too many, if whole numbers are ids or marks, and of images of bytes, whose channels have statistics."""
        shape = field.shape
        pixels = field.kind == "image" and field.dtype == "uint8"
        if not shape or pixels or not field.dtype.startswith(MEASURED):
            return None
        first, last = shape[0], shape[-1]
        if len(shape) == 1:
            few = first is not None and 2 <= first <= WIDE and field.dtype.startswith("float")
            return Channels(field.name, shape, 1, first) if few and first is not None else None
        axis = 1 if first is not None and (last is None or first < last) else len(shape)
        width = shape[axis - 1]
        few = width is not None and 2 <= width <= CHANNELS and first != last
        return Channels(field.name, shape, axis, width) if few and width is not None else None

    @staticmethod
    def of_window(field: Field) -> Channels | None:
        """Those of windows, of a vector or an array with one channel too; a vector of whole numbers may be ids."""
        shape = field.shape
        if len(shape) == 1 and field.dtype.startswith("float"):
            return Channels(field.name, shape, 0, 1)
        if len(shape) == 2 and 1 in shape and shape != (1, 1) and field.dtype.startswith(MEASURED):
            return Channels(field.name, shape, 1 + shape.index(1), 1)
        return Channels.of(field) if len(shape) == 2 else None

    def in_block(self, block: Block) -> Iterator[tuple[int, Any]]:
        """The field's values, [samples, channels, steps], as one array or sample by sample, each with the position of its first sample;
        without those that are laid out otherwise."""
        column = block.columns.get(self.name)
        if column is None:
            return
        whole = column.array
        parts = (
            [(0, whole)]
            if whole is not None
            else ((i, v[None]) for i, v in enumerate(column.values) if hasattr(v, "dtype"))
        )
        for first, values in parts:
            made = self.apart(values)
            if made is not None:
                yield first, made

    def apart(self, values: Any) -> Any:
        """Arrays of samples as [samples, channels, steps]; None if they are laid out otherwise, are empty or no numbers."""
        import numpy as np

        fits = values.ndim == len(self.shape) + 1 and values.size and values.dtype.kind in "iuf"
        if fits and self.axis == 0:
            return values.reshape(len(values), 1, -1)
        if not fits or values.shape[self.axis] != self.width:
            return None
        return np.moveaxis(values, self.axis, 1).reshape(len(values), self.width, -1)

    def called(self, k: int) -> str:
        """A channel as numpy would select it from a sample: ``x[3]``, ``x[:, 3]``."""
        if self.axis == 0:
            return escaped(self.name)
        at = [":"] * len(self.shape)
        at[self.axis - 1] = str(k)
        while at[-1] == ":":
            at.pop()
        return f"{escaped(self.name)}[{', '.join(at)}]"

"""What a batch is, as data: from real batches or from the ``input`` argument; and batches made from it at any size."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dataloader_expert.facts import Json
from dataloader_expert.probes.batch_parts import by_sample
from dataloader_expert.probes.model.growth import BATCH_DIMENSION, Dimension, Growth
from dataloader_expert.probes.model.unsigned import countable


@dataclass(frozen=True)
class Leaf:
    """One tensor of a batch. ``shape``: ``"B"`` stands for the batch size, a float for so many rows of each sample, None for what is not
    known. ``low`` and ``high`` bound its values; ``places``: so many of each sample, of which the values are some. ``corners``: of rows of four numbers, the last two
    lie beyond the first two, as in boxes, which some models insist on."""

    dtype: str
    shape: tuple[Dimension, ...]
    low: float | None = None
    high: float | None = None
    places: float | None = None
    corners: bool = False

    def to_json(self) -> dict[str, Json]:
        bounds = {"low": self.low, "high": self.high, "places": self.places, "corners": self.corners}
        return {"dtype": self.dtype, "shape": list(self.shape), **bounds}

    def bytes_per_sample(self) -> float:
        import torch

        item = getattr(torch, self.dtype).itemsize
        return float(item * math.prod(d for d in self.shape if isinstance(d, int | float)))

    def tensor(self, size: int) -> Any:
        made = self._tensor(size)
        return ordered(made) if self.corners and made.shape[-1:] == (4,) else made

    def _tensor(self, size: int) -> Any:
        """Values between ``low`` and ``high``; without them floats of a unit normal, bytes of pictures, and integers 0 or 1."""
        import torch

        dtype = getattr(torch, self.dtype)
        shape = [_at(d, size) for d in self.shape]
        if dtype.is_floating_point or dtype.is_complex:
            if self.low is None or self.high is None:
                return torch.randn(shape, dtype=dtype)
            return torch.rand(shape, dtype=dtype) * (self.high - self.low) + self.low
        coloured = self.dtype == "uint8" and len(shape) == 4 and 3 in (shape[1], shape[3])
        low, high = 0, 255 if coloured else 1
        if self.low is not None and self.high is not None:
            low, high = int(self.low), int(self.high)
        if self.places is not None:
            high = max(low, int(self.places * size) - 1)
        return torch.randint(low, high + 1, shape).to(dtype)


def ordered(x: Any) -> Any:
    """Rows of four numbers, of which the last two lie beyond the first two."""
    import torch

    one, other = x[..., :2], x[..., 2:]
    beyond = torch.maximum(one, other)
    return torch.cat([torch.minimum(one, other), beyond if x.is_floating_point() else beyond + 1], -1)


def are_corners(x: Any) -> bool:
    """Whether it is of such rows."""
    real = x.ndim > 1 and x.shape[-1] == 4 and x.numel() and not x.is_complex()
    return bool(real) and bool((x[..., 2:] > x[..., :2]).all())


def _at(dimension: Dimension, size: int) -> int:
    if isinstance(dimension, float):
        return math.ceil(dimension * size)
    return size if dimension == BATCH_DIMENSION else int(dimension or 0)


@dataclass(frozen=True)
class Each:
    """A list or tuple with an entry for each sample, all as large as the largest seen."""

    entry: Tree
    kind: type


@dataclass(frozen=True)
class Record:
    """A named tuple or an object of a dataclass: what has its fields as attributes."""

    name: str
    fields: Mapping[str, Tree]


Tree = Any
"""A ``Leaf``, an ``Each``, a ``Record``, or a dict, list or tuple of trees, or a value that is no tensor."""


def of_batch(batch: Any, size: int, growth: Mapping[str, Growth] | None = None, name: str = "") -> Tree:
    """The batch's spec; ``growth``: by field, its shape at any size, with the largest dimensions seen in place of the batch's own."""
    import torch

    def inner(items: Any) -> dict[str, Tree]:
        return {k: of_batch(v, size, growth, f"{name}.{k}" if name else str(k)) for k, v in items}

    if isinstance(batch, Mapping):
        return inner(batch.items())
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return Record(type(batch).__name__, inner(zip(batch._fields, batch, strict=True)))
    if hasattr(batch, "__dataclass_fields__") and not isinstance(batch, type):
        return Record(type(batch).__name__, inner((k, getattr(batch, k)) for k in batch.__dataclass_fields__))
    if by_sample(batch, size):
        return Each(_largest([of_batch(entry, 0) for entry in batch]), type(batch))
    if isinstance(batch, tuple | list):
        return type(batch)(inner(enumerate(batch)).values())
    if hasattr(batch, "shape") and not isinstance(batch, torch.Tensor):
        batch = torch.as_tensor(batch)
    if not isinstance(batch, torch.Tensor):
        return batch if isinstance(batch, str | int | float | bool | None) else None
    shape: tuple[Dimension, ...] = tuple(batch.shape)
    if size and shape and shape[0] == size:
        shape = (BATCH_DIMENSION, *shape[1:])
    known = (growth or {}).get(name or "data", Growth(shape))
    if len(known.shape) != len(shape):
        known = Growth(shape)
    ends: tuple[float | None, float | None] = (None, None)
    if batch.numel() and not batch.is_complex():
        finite = batch[torch.isfinite(batch)] if batch.is_floating_point() else countable(batch)
        ends = (float(finite.min()), float(finite.max())) if finite.numel() else ends
    return Leaf(str(batch.dtype).removeprefix("torch."), known.shape, *ends, known.places, are_corners(batch))


def _largest(trees: list[Tree]) -> Tree:
    """One tree in place of several of one structure, with the largest of each dimension."""
    first = trees[0]
    if isinstance(first, dict):
        return {k: _largest([t[k] for t in trees if k in t]) for k in first}
    if isinstance(first, Record):
        return replace(first, fields=_largest([dict(t.fields) for t in trees]))
    if isinstance(first, list | tuple):
        return type(first)(map(_largest, map(list, zip(*trees, strict=False))))
    if not isinstance(first, Leaf) or len({len(t.shape) for t in trees}) > 1:
        return first
    lows, highs = ([v for v in ends if v is not None] for ends in zip(*((t.low, t.high) for t in trees), strict=True))
    shape = tuple(map(max, zip(*(t.shape for t in trees), strict=True)))
    filled = [t.corners for t in trees if all(t.shape)]
    corners = bool(filled) and all(filled)
    return replace(first, shape=shape, low=min(lows, default=None), high=max(highs, default=None), corners=corners)


def of_input(given: Any, where: str = "input") -> Tree:
    """The spec that the ``input`` argument describes.

    A leaf is ``{"shape": ["B", 3, 224, 224], "dtype": "float32", "low": 0, "high": 1}`` or a shape alone; a dimension
    that varies is ``[least, most]``, of which the most counts. Anything else nests by name or position.

    Raises:
        ValueError: for what is none of that, saying where.
    """
    import torch

    if isinstance(given, Mapping) and "shape" in given:
        unknown = set(given) - {"shape", "dtype", "low", "high"}
        if unknown:
            raise ValueError(f"{where} has {', '.join(sorted(unknown))}; a tensor has shape, dtype, low and high")
        dtype = str(given.get("dtype", "float32")).removeprefix("torch.")
        if not isinstance(getattr(torch, dtype, None), torch.dtype):
            raise ValueError(
                f"{where}.dtype is {dtype}, which torch does not have; use float32, int64, uint8 or the like"
            )
        return Leaf(dtype, _dimensions(given["shape"], where), given.get("low"), given.get("high"))
    if isinstance(given, Mapping) and given:
        leaf = [v for k, v in given.items() if k in ("dtype", "low", "high") and not isinstance(v, Mapping | list)]
        if leaf:
            raise ValueError(f"{where} has {', '.join(map(str, given))}; a tensor has shape, dtype, low and high")
        return {str(k): of_input(v, f"{where}.{k}") for k, v in given.items()}
    if isinstance(given, list) and given:
        if all(isinstance(d, int | str) for d in given) or given[0] == BATCH_DIMENSION:
            return Leaf("float32", _dimensions(given, where))
        return tuple(of_input(v, f"{where}[{i}]") for i, v in enumerate(given))
    raise ValueError(f'{where} is {given!r}; give {{"shape": ["B", 3, 224, 224], "dtype": "float32"}}, nested by name')


def _dimensions(shape: Any, where: str) -> tuple[int | str, ...]:
    found: list[int | str] = []
    for i, d in enumerate(shape if isinstance(shape, list | tuple) else [None]):
        most = d[1] if isinstance(d, list) and len(d) == 2 else d
        if most == BATCH_DIMENSION or (most in (None, -1) and i == 0):
            found.append(BATCH_DIMENSION)
        elif isinstance(most, int) and not isinstance(most, bool) and most > 0:
            found.append(most)
        else:
            raise ValueError(f'{where}.shape[{i}] is {d!r}; a dimension is "B" (the batch), a number, or [least, most]')
    if BATCH_DIMENSION not in found:
        found.insert(0, BATCH_DIMENSION)
    return tuple(found)


def leaves(tree: Tree, name: str = "") -> list[tuple[str, Leaf]]:
    """The tensors by name."""
    if isinstance(tree, Leaf):
        return [(name or "data", tree)]
    if isinstance(tree, Each):
        return leaves(tree.entry, name)
    if isinstance(tree, Record):
        return leaves(dict(tree.fields), name)
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list | tuple) else ()
    return [leaf for k, v in items for leaf in leaves(v, f"{name}.{k}" if name else str(k))]


def listed(tree: Tree) -> bool:
    """Whether some part of the batch is a list with tensors of each sample."""
    if isinstance(tree, Each):
        return bool(leaves(tree))
    items = tree.fields if isinstance(tree, Record) else tree
    parts = items.values() if isinstance(items, Mapping) else items if isinstance(items, list | tuple) else ()
    return any(map(listed, parts))


def batch_of(tree: Tree, size: int) -> Any:
    """A batch of ``size`` samples."""
    if isinstance(tree, Leaf):
        return tree.tensor(size)
    if isinstance(tree, Each):
        return tree.kind(batch_of(tree.entry, size) for _ in range(size))
    if isinstance(tree, Record):  # torch knows named tuples, and moves them to a device
        return namedtuple(tree.name, tree.fields)(**{k: batch_of(v, size) for k, v in tree.fields.items()})
    if isinstance(tree, dict):
        return {k: batch_of(v, size) for k, v in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(batch_of(v, size) for v in tree)
    return tree


def to_json(tree: Tree) -> Json:
    if isinstance(tree, Leaf):
        return {"leaf": tree.to_json()}
    if isinstance(tree, Each):
        return {f"{tree.kind.__name__} of each": to_json(tree.entry)}
    if isinstance(tree, Record):
        return {"record": [tree.name, to_json(dict(tree.fields))]}
    if isinstance(tree, dict):
        return {"dict": {k: to_json(v) for k, v in tree.items()}}
    if isinstance(tree, list | tuple):
        return {"tuple" if isinstance(tree, tuple) else "list": [to_json(v) for v in tree]}
    return {"value": tree}


EACH = {f"{kind.__name__} of each": kind for kind in (list, tuple)}


def from_json(data: Mapping[str, Json]) -> Tree:
    [(kind, value)] = data.items()
    if kind == "leaf":
        return Leaf(**{**value, "shape": tuple(value["shape"])})
    if kind in EACH:
        return Each(from_json(value), EACH[kind])
    if kind == "record":
        return Record(value[0], from_json(value[1]))
    if kind == "dict":
        return {k: from_json(v) for k, v in value.items()}
    if kind in ("tuple", "list"):
        made = [from_json(v) for v in value]
        return tuple(made) if kind == "tuple" else made
    return value

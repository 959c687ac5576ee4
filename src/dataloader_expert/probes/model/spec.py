"""What a batch is, as data: from real batches or from the ``input`` argument; and batches made from it at any size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataloader_expert.facts import Json

BATCH_DIMENSION = "B"


@dataclass(frozen=True)
class Leaf:
    """One tensor of a batch. ``shape`` holds ``"B"`` where the batch size stands; ``low`` and ``high`` bound its values."""

    dtype: str
    shape: tuple[int | str, ...]
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, Json]:
        return {"dtype": self.dtype, "shape": list(self.shape), "low": self.low, "high": self.high}

    def bytes_per_sample(self) -> float:
        import torch

        item = getattr(torch, self.dtype).itemsize
        return float(item * math.prod(d for d in self.shape if isinstance(d, int)))

    def tensor(self, size: int) -> Any:
        """Values between ``low`` and ``high``; without them floats of a unit normal and integers 0 or 1."""
        import torch

        dtype = getattr(torch, self.dtype)
        shape = [size if d == BATCH_DIMENSION else int(d) for d in self.shape]
        if dtype.is_floating_point or dtype.is_complex:
            if self.low is None or self.high is None:
                return torch.randn(shape, dtype=dtype)
            return torch.rand(shape, dtype=dtype) * (self.high - self.low) + self.low
        low, high = (0, 1) if self.low is None or self.high is None else (int(self.low), int(self.high))
        return torch.randint(low, high + 1, shape).to(dtype)


Tree = Any
"""A ``Leaf``, or a dict, list or tuple of trees, or a value that is no tensor."""


def of_batch(batch: Any, size: int, longest: Mapping[str, tuple[int, ...]] | None = None, name: str = "") -> Tree:
    """The batch's spec; ``longest``: by field, the largest shape seen, which stands in place of the batch's own."""
    import torch

    if isinstance(batch, Mapping):
        return {k: of_batch(v, size, longest, f"{name}.{k}" if name else str(k)) for k, v in batch.items()}
    if isinstance(batch, tuple | list):
        made = [of_batch(v, size, longest, f"{name}.{i}" if name else str(i)) for i, v in enumerate(batch)]
        return made if isinstance(batch, list) else tuple(made)
    if hasattr(batch, "__dataclass_fields__") and not isinstance(batch, type):
        fields = batch.__dataclass_fields__
        return {k: of_batch(getattr(batch, k), size, longest, f"{name}.{k}" if name else k) for k in fields}
    if hasattr(batch, "shape") and not isinstance(batch, torch.Tensor):
        batch = torch.as_tensor(batch)
    if not isinstance(batch, torch.Tensor):
        return batch if isinstance(batch, str | int | float | bool | None) else None
    shape: list[int | str] = list((longest or {}).get(name or "data", batch.shape))
    if shape and batch.shape[0] == size:
        shape[0] = BATCH_DIMENSION
    ends: tuple[float | None, float | None] = (None, None)
    if batch.numel() and not batch.is_complex():
        finite = batch[torch.isfinite(batch)] if batch.is_floating_point() else batch
        ends = (float(finite.min()), float(finite.max())) if finite.numel() else ends
    return Leaf(str(batch.dtype).removeprefix("torch."), tuple(shape), *ends)


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
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list | tuple) else ()
    return [leaf for k, v in items for leaf in leaves(v, f"{name}.{k}" if name else str(k))]


def batch_of(tree: Tree, size: int) -> Any:
    """A batch of ``size`` samples."""
    if isinstance(tree, Leaf):
        return tree.tensor(size)
    if isinstance(tree, dict):
        return {k: batch_of(v, size) for k, v in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(batch_of(v, size) for v in tree)
    return tree


def to_json(tree: Tree) -> Json:
    if isinstance(tree, Leaf):
        return {"leaf": tree.to_json()}
    if isinstance(tree, dict):
        return {"dict": {k: to_json(v) for k, v in tree.items()}}
    if isinstance(tree, list | tuple):
        return {"tuple" if isinstance(tree, tuple) else "list": [to_json(v) for v in tree]}
    return {"value": tree}


def from_json(data: Mapping[str, Json]) -> Tree:
    [(kind, value)] = data.items()
    if kind == "leaf":
        return Leaf(**{**value, "shape": tuple(value["shape"])})
    if kind == "dict":
        return {k: from_json(v) for k, v in value.items()}
    if kind in ("tuple", "list"):
        made = [from_json(v) for v in value]
        return tuple(made) if kind == "tuple" else made
    return value

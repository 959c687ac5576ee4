"""The parts of a batch with their names, and how many samples it holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST_PARTS = 8
"""A longer list may be one of samples, and not of parts of the batch."""


def of_samples(batch: Any) -> bool:
    """Whether a list holds tensors of samples that do not stack: some are missing, or of one rank and several shapes."""
    if not isinstance(batch, list) or not any(hasattr(v, "shape") for v in batch):
        return False
    if any(v is None for v in batch):
        return True
    shapes = {tuple(v.shape) for v in batch if hasattr(v, "shape")}
    return len(batch) > MOST_PARTS and len(shapes) > 1 and len({len(shape) for shape in shapes}) == 1


def one_sample(delivered: Any) -> bool:
    """Whether what a loader without a batch size delivers is a sample, and no batch that the dataset made: numbers stand beside tensors, of
    which no two have a first dimension in common."""
    leaves = [value for _, value in flat(delivered)]
    firsts = [int(v.shape[0]) for v in leaves if getattr(v, "ndim", 0)]
    numbers = [v for v in leaves if isinstance(v, int | float) or getattr(v, "ndim", 1) == 0]
    return bool(numbers) and bool(firsts) and len(set(firsts)) == len(firsts)


def samples_in(batch: Any) -> int:
    shape: Any = getattr(batch, "shape", ())
    if len(shape):
        return int(shape[0])
    if isinstance(batch, dict):
        return next((n for n in map(samples_in, _tensors_first(batch.values())) if n), 0)
    if isinstance(batch, list | tuple):
        if of_samples(batch):
            return len(batch)
        inner = next((n for n in map(samples_in, _tensors_first(batch)) if n), 0)
        return inner or len(batch)
    if hasattr(batch, "__dataclass_fields__") and not isinstance(batch, type):
        return samples_in({name: getattr(batch, name) for name in batch.__dataclass_fields__})
    return 0


def _tensors_first(parts: Iterable[Any]) -> list[Any]:
    """A list may have an entry for each sample, whose shape tells nothing of the batch."""
    return sorted(parts, key=lambda part: not hasattr(part, "shape"))


def listed_in(batch: Any) -> int:
    """Samples of a batch whose parts are all lists with an entry for each, as of ``zip(*samples)``, or look like it; else 0."""
    parts = list(batch.values()) if isinstance(batch, dict) else batch
    if not isinstance(parts, list | tuple) or not all(isinstance(part, list | tuple) for part in parts):
        return 0
    lengths = {len(part) for part in parts}
    return lengths.pop() if len(lengths) == 1 else 0


def stacked(batch: Any, n: int) -> bool:
    """Whether the first dimension of all tensors is ``n``, as torch stacks them."""
    firsts = {int(v.shape[0]) for _, v in flat(batch) if len(getattr(v, "shape", ()))}
    return firsts == {n}


def by_sample(value: Any, n: int) -> bool:
    """Whether a list has an entry for each of ``n`` samples, all alike, and not one for each part of a batch of ``n``."""
    if not isinstance(value, list | tuple) or hasattr(value, "_fields") or not n or len(value) != n:
        return False
    kinds = {
        tuple((name, type(v), getattr(v, "dtype", None), getattr(v, "ndim", 0)) for name, v in flat(e)) for e in value
    }
    return len(kinds) == 1 and not stacked(value, n)


def place(name: str, structure: str) -> str | None:
    """The expression of the field that ``flat`` gives this name in a batch of this ``structure``; None for one within another."""
    if name == "data" and structure in ("Tensor", "list", "tuple"):
        return "batch"
    if structure == "dict":
        return None if "." in name else f"batch[{name!a}]"
    if structure in ("list", "tuple"):
        return f"batch[{name}]" if name.isdigit() else None
    return None


def flat(batch: Any, prefix: str = "", n: int = 0) -> list[tuple[str, Any]]:
    """The batch's leaves with their names; ``n``: its samples, for lists with an entry for each within it, which are leaves then."""
    if isinstance(batch, dict):
        return [leaf for k, v in batch.items() for leaf in flat(v, f"{prefix}.{k}" if prefix else str(k), n)]
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return flat(dict(zip(batch._fields, batch, strict=True)), prefix, n)
    if hasattr(batch, "__dataclass_fields__") and not isinstance(batch, type):
        return flat({name: getattr(batch, name) for name in batch.__dataclass_fields__}, prefix, n)
    if prefix and by_sample(batch, n):
        if not isinstance(batch[0], dict):
            return [(prefix, batch)]
        entries = [dict(flat(entry)) for entry in batch]
        return [(f"{prefix}.{k}", [entry[k] for entry in entries]) for k in entries[0]]
    if isinstance(batch, list | tuple) and batch and not isinstance(batch[0], str | bytes | int | float):
        if not of_samples(batch) and (any(hasattr(v, "shape") for v in batch) or len(batch) <= MOST_PARTS):
            return [leaf for i, v in enumerate(batch) for leaf in flat(v, f"{prefix}.{i}" if prefix else str(i), n)]
    return [(prefix or "data", batch)]

"""The fields of a sample of the user's Dataset, by name."""

from __future__ import annotations

from typing import Any


def items_of(sample: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Keys of mappings, fields of named tuples and dataclasses, else ``0``, ``1`` …; names in nested mappings are joined by dots."""
    if isinstance(sample, dict):
        pairs = [(str(k), v) for k, v in sample.items()]
    elif isinstance(sample, tuple) and hasattr(sample, "_fields"):
        pairs = list(zip(sample._fields, sample, strict=True))
    elif hasattr(sample, "__dataclass_fields__"):
        pairs = [(k, getattr(sample, k)) for k in sample.__dataclass_fields__]
    elif isinstance(sample, tuple | list) and not (
        sample and all(isinstance(v, int | float | str) for v in sample) and len(sample) > 8
    ):
        pairs = [(str(i), v) for i, v in enumerate(sample)]
    else:
        return [(prefix or "data", sample)]
    out: list[tuple[str, Any]] = []
    for key, value in pairs:
        name = f"{prefix}.{key}" if prefix else key
        out += items_of(value, name) if isinstance(value, dict) else [(name, value)]
    return out

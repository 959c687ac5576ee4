"""Unsigned integers of more than 8 bits, with which torch neither computes nor compares."""

from __future__ import annotations

from typing import Any

UNSIGNED = ("torch.uint16", "torch.uint32", "torch.uint64")


def is_unsigned(x: Any) -> bool:
    return str(getattr(x, "dtype", "")) in UNSIGNED


def countable(x: Any) -> Any:
    """The tensor in a dtype whose values torch compares."""
    return x.long() if is_unsigned(x) else x

"""The shape and dtype of a sample as text, ``float32[80, 12]``, and what such a text says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

DEEPEST = 16
"""Levels of a nested object that are looked into."""


def dtype_of(value: Any) -> str:
    """The name of the dtype, whatever its byte order."""
    return str(value.dtype.newbyteorder("="))


def family_of(dtype: str) -> str:
    return "number" if dtype.startswith(("int", "uint", "float", "bool", "complex")) else dtype


def lengths_in(shapes: dict[str, int]) -> Counter[int]:
    """How many samples have each length along the first axis: 80 of ``float32[80, 12]``."""
    found: Counter[int] = Counter()
    for shape, n in shapes.items():
        first = axes_in(shape).partition(",")[0].rstrip("]")
        if first.isdigit():
            found[int(first)] += n
    return found


def dtype_in(shape: str) -> str:
    return shape.split("[")[0]


def axes_in(shape: str) -> str:
    """All axes: ``80, 12]`` of ``float32[80, 12]``."""
    return shape.partition("[")[2]


def differ_in_channels_alone(one: str, other: str) -> bool:
    """Whether pictures differ in their number of channels and in nothing else."""
    a, b = (axes.rstrip("]").split(", ") for axes in (one, other))
    apart = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    return len(a) == len(b) == 3 and apart in ([0], [2]) and {a[apart[0]], b[apart[0]]} <= {"1", "3", "4"}


def size_in(shape: str) -> str:
    """The axes before the last: ``64, 80`` of ``RGB[64, 80, 3]``."""
    return axes_in(shape).rpartition(", ")[0]


def differ_along_one_axis(shapes: Iterable[str]) -> bool:
    """Whether the shapes differ along one axis only, whichever it is: that one has as many elements as a sample has."""
    axes = [axes_in(shape).rstrip("]").split(", ") for shape in shapes]
    return len({*map(len, axes)}) == 1 and sum(len({*along}) > 1 for along in zip(*axes, strict=True)) == 1


def is_empty(shape: str) -> bool:
    return axes_in(shape).startswith(("0,", "0]"))


def tail_in(shape: str) -> str:
    """The axes after the first: ``12`` of ``float32[80, 12]``."""
    return shape.partition("[")[2].partition(", ")[2].rstrip("]")


def shape_of(value: Any) -> tuple[str, int]:
    """A value's dtype and shape as text, and its size in decoded bytes."""
    if hasattr(value, "getbands"):
        bands = len(value.getbands())
        return f"{value.mode}[{value.height}, {value.width}, {bands}]", value.height * value.width * bands
    if hasattr(value, "nbytes"):
        return f"{dtype_of(value)}{list(value.shape)}", int(value.nbytes)
    if isinstance(value, str):
        return "str", len(value.encode("utf-8", "replace"))
    if isinstance(value, bytes):
        return "bytes", len(value)
    return type(value).__name__, _held(value) if isinstance(value, dict | list | tuple) else 8


def _held(value: Any, depth: int = 0) -> int:
    """Bytes of the texts and numbers in a nested object, without its keys."""
    if isinstance(value, str | bytes):
        return len(value) if isinstance(value, bytes) or value.isascii() else len(value.encode("utf-8", "replace"))
    if isinstance(value, dict | list | tuple) and depth < DEEPEST:
        return sum(_held(inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value))
    size = getattr(value, "nbytes", None)
    return size if isinstance(size, int) else 0 if value is None else 8

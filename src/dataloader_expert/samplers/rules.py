"""What arguments must be: each rule raises a ``ValueError`` that gives the name, the value and the rule."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray


def given(**values: Any) -> dict[str, Any]:
    """The values that are not None, where None stands for a default."""
    return {name: value for name, value in values.items() if value is not None}


def at_least(least: float, **values: Any) -> None:
    """Numbers that must not be below ``least``, nor NaN."""
    for name, value in values.items():
        if not value >= least:
            raise ValueError(f"{name} is {value!r}; it must be at least {least}")


def whole(least: int, **values: Any) -> None:
    """Integers, no booleans, that must not be below ``least``."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")


def integers(least: int, **values: Any) -> None:
    """Whole numbers that must not be below ``least``; numpy's too."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{name} is {value!r}; it must be a whole number")
    at_least(least, **values)


def one_of(allowed: Collection[Any], **values: Any) -> None:
    """Values of a closed list."""
    for name, value in values.items():
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")


def position(index: Any, samples: int) -> int:
    """``index``, counted from the end if negative, as a position in a dataset; an ``IndexError`` if there is none."""
    if isinstance(index, slice):
        raise TypeError(f"{index} is no index of one sample; for a part of a dataset use torch.utils.data.Subset")
    try:
        found: int = range(samples)[index]
    except IndexError:
        has = f"{samples:,} sample{'s' * (samples != 1)}"
        raise IndexError(f"index {index} is out of range: the dataset has {has}") from None
    return found


def per_sample(name: str, values: Any, kinds: str | None = None) -> NDArray[Any]:
    """``values``, a sequence, array or tensor, as an array of one value per sample, of one of these ``dtype.kind``."""
    array = np.asarray(values)
    if array.ndim != 1 or (kinds is not None and array.dtype.kind not in kinds):
        one = "value" if kinds is None else "number"
        raise ValueError(f"{name}: dtype {array.dtype}, shape {list(array.shape)}; one {one} per sample is needed")
    return array


def summed_up(values: NDArray[Any]) -> int:
    """A number by which a state tells other values from these."""
    return zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data)


def finite(name: str, values: NDArray[Any]) -> None:
    """Numbers that must not be negative, infinite or NaN."""
    if len(values) and not (float(values.min()) >= 0 and np.isfinite(float(values.max()))):
        first = int(np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[0])
        raise ValueError(f"{name}[{first}] is {values[first]}; {name} must be finite and at least 0")

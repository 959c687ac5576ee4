"""NPY headers, parsed without evaluating anything and checked against the actual bytes."""

from __future__ import annotations

import ast
import math
from functools import lru_cache
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.bombs import cells_of, no_flood

MAX_HEADER = 64 << 10


class ObjectArray(Unreadable):
    """An array of Python objects, which only code within the file could make."""

    def __init__(self, shape: tuple[int, ...], file: str) -> None:
        super().__init__(
            "executable-payload", "object array: reading it would execute pickled code; not loaded", file=file
        )
        self.shape = shape


def parse_npy(head: bytes, size: int, file: str) -> tuple[str, tuple[int, ...], bool, int]:
    """Dtype, shape, Fortran order and offset of the payload.

    Args:
        head: the file's first bytes, at least its header.
        size: bytes of the entire file or member; the payload must fit exactly.

    Raises:
        ObjectArray: of Python objects.
        Unreadable: ``not-the-format``, ``header-mismatch``, ``truncated`` or
            ``trailing-bytes``; ``bomb`` for a shape that claims values without bytes.
    """
    if head[:6] != b"\x93NUMPY":
        raise Unreadable("not-the-format", "no NPY magic", file=file)
    if len(head) < 12:
        raise Unreadable("truncated", f"{len(head)} bytes: ends inside the header", file=file)
    wide = head[6] >= 2
    length = int.from_bytes(head[8:12] if wide else head[8:10], "little")
    at = 12 if wide else 10
    if length > MAX_HEADER or at + length > len(head):
        code = "truncated" if at + length > size else "bomb"
        raise Unreadable(code, f"header of {length} bytes", file=file)
    text = head[at : at + length].decode("latin-1" if head[6] < 3 else "utf-8", "replace")
    if max(text.count(c) for c in "([{") > 64:
        raise Unreadable("bomb", "header nested too deeply", file=file)
    try:
        dtype, shape, fortran = _parsed(text)
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise Unreadable("header-mismatch", "the header is not an NPY header", file=file) from None
    if dtype.hasobject:
        raise ObjectArray(shape, file)
    if any(type(n) is not int or n < 0 for n in shape) or len(shape) > 64:
        raise Unreadable("header-mismatch", f"shape {shape}", file=file)
    count = math.prod(shape)
    no_flood(cells_of(shape), size, f"shape {shape}", file)
    need, there = count * dtype.itemsize, size - at - length
    if need > there:
        raise Unreadable("truncated", f"the header declares {need} bytes, but {there} are present", file=file)
    if need < there:
        raise Unreadable("trailing-bytes", f"{there - need} bytes after the array", file=file)
    return dtype.str, shape, fortran, at + length


@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[Any, tuple[int, ...], bool]:
    """dtype, shape and Fortran order; the files of a folder say the same, thousands of times."""
    import numpy as np

    header: Any = ast.literal_eval(text)
    return np.dtype(header["descr"]), tuple(header["shape"]), bool(header["fortran_order"])

"""IDX, the format of MNIST and its relatives: ``train-images-idx3-ubyte`` beside ``train-labels-idx1-ubyte``, compressed or not.

Four bytes (two zeros, the type, the number of axes), the lengths of the axes as big-endian integers, and the values. Source: LeCun,
Cortes and Burges, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import math

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.array_files import ArrayFiles
from dataloader_expert.sources.bombs import cells_of, no_flood
from dataloader_expert.sources.magic import IDX_TYPES, idx_stem
from dataloader_expert.sources.npy import Npy

MOST_AXES = 32
"""As many as every version of numpy has."""


def parse_idx(head: bytes, size: int, file: str) -> tuple[str, tuple[int, ...], bool, int]:
    """Dtype, shape, Fortran order (never) and offset of the payload; see ``parse_npy``."""
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in IDX_TYPES:
        raise Unreadable("not-the-format", "no IDX header", file=file)
    if head[3] > MOST_AXES:
        raise Unreadable("header-mismatch", f"{head[3]} axes", file=file)
    at = 4 + 4 * head[3]
    if len(head) < at:
        raise Unreadable("truncated", f"{len(head)} bytes: ends inside the header", file=file)
    shape = tuple(int.from_bytes(head[i : i + 4], "big") for i in range(4, at, 4))
    dtype, width = IDX_TYPES[head[2]]
    no_flood(cells_of(shape), size, f"shape {shape}", file)
    need, there = math.prod(shape) * width, size - at
    if need > there:
        raise Unreadable("truncated", f"the header declares {need} bytes, but {there} are present", file=file)
    if need < there:
        raise Unreadable("trailing-bytes", f"{there - need} bytes after the array", file=file)
    return dtype, shape, False, at


class IdxFiles(ArrayFiles):
    format = "idx"
    kinds = frozenset({"idx"})

    @staticmethod
    def parse(head: bytes, size: int, file: str) -> tuple[str, tuple[int, ...], bool, int]:
        return parse_idx(head, size, file)


class Idx(Npy):
    format = "idx"
    kinds = frozenset({"idx"})
    each = IdxFiles

    @staticmethod
    def stem(name: str) -> str:
        return idx_stem(name) or name


SOURCE = Idx

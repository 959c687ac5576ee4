"""Memory that torch's kernels keep or borrow on a CUDA device beyond the tensors of a step.

``python -m benchmarks.kernels --show`` compares these with what was borrowed on an H100 (torch 2.11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LT_WORKSPACE = 1 << 20
"""Bytes that cuBLASLt keeps for each thread besides cuBLAS's workspace (measured: torch 2.11 on an H100)."""
HOPPER, MULTIPROCESSORS = 9, 132
"""The device taken where there is none: an H100, whose libraries keep the most."""
PARTIAL_SUMS = 4 << 20
"""Bytes of the parts in which a convolution's weight gradient is added up, at most shapes."""
THREADS, WARP, VECTOR = 2048, 32, 4
"""Threads that a multiprocessor holds, threads that run as one, and columns that a thread adds."""
FEW, MANY = 16, 256
"""The fewest and the most values that a thread of a reduction adds before others share the work."""


def cublas_workspace(major: int) -> int:
    """Bytes of cuBLAS's workspace, of which each thread that uses it keeps one: torch's ``:4096:2:16:8``, but 32 MiB
    from Hopper on (``at::cuda::getChosenWorkspaceSize``)."""
    return 32 << 20 if major >= HOPPER else 8_519_680


def reduction_buffer(rows: int, columns: int, multiprocessors: int) -> int:
    """Bytes that a sum over the rows of a matrix borrows where several thread blocks share a column.

    Follows ``setReduceConfig`` in ``aten/src/ATen/native/cuda/Reduce.cuh``: the gradient of a bias is such a sum.
    """
    vector = VECTOR if columns % VECTOR == 0 else 1
    threads = 512 // vector
    width = min(_power_of_two(columns // vector), WARP)
    height = min(_power_of_two(rows), threads // width)
    width = min(_power_of_two(columns // vector), threads // height)
    each = -(-rows // height)
    grid = -(-columns // (vector * width))
    target = multiprocessors * (THREADS // (width * height))
    if each < max(MANY, FEW * height) or grid > target:
        return 0
    blocks = max(min(-(-target // grid), -(-each // FEW)), -(-each // MANY))
    return 4 * columns * width * vector * blocks if blocks > 1 else 0


def convolution_workspace(tensors: Sequence[Any], pointwise: bool, backward: bool) -> int:
    """Bytes that cuDNN borrows for a convolution of these tensors: input, weight, output or their gradients.

    Its tensor-core kernels work on copies in channels-last order; the weight's gradient is added up in parts. Kernels of
    one by one need neither. cuDNN takes other kernels for some shapes, which borrow more or less: up to 1,648 MiB where
    196 are allowed for here.
    """
    if pointwise:
        return 0
    parts = PARTIAL_SUMS if backward else 0
    if all(t.ndim >= 4 and (t.shape[1] == 1 or is_channels_last(t)) for t in tensors):
        return parts
    return int(sum(t.numel() * t.element_size() for t in tensors)) + parts


def is_channels_last(t: Any) -> bool:
    import torch

    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return bool(t.ndim in formats and t.is_contiguous(memory_format=formats[t.ndim]))


def recurrent_reserve(gates: int, layers: int, hidden: int, ways: int) -> int:
    """Values of each step of each sequence that cuDNN keeps for the backward pass: gates, cells and states of every
    layer; the states of the last are its output."""
    per_layer = {4: 6, 3: 7, 1: 2}[gates]
    return (per_layer * layers - 1) * hidden * ways


def recurrent_workspace(gates: int, layers: int, hidden: int, ways: int, inputs: int, steps: int, width: int) -> int:
    """Bytes that cuDNN borrows for a recurrent call of ``steps`` steps (of all sequences together), values of ``width``.

    Constants rounded from a fit to 352 shapes: within 9 % for nine tenths of LSTMs and GRUs, and 13 % of plain RNNs. Some
    half-precision LSTMs take another kernel and borrow three times as much.
    """
    per_step = {4: 2500, 3: 2200, 1: 1600}[gates] + 3 * inputs + 8 * hidden * (ways - 1)
    return layers * ways * (8 << 20) + steps * width * per_step


def _power_of_two(n: int) -> int:
    """The largest power of two up to ``n``; 1 below that."""
    return 1 << max(0, n.bit_length() - 1)

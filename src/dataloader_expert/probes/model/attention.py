"""Attention as a CUDA device runs it: in one kernel that keeps no matrix of weights, or in steps with the whole of it."""

from __future__ import annotations

import math
from typing import Any


def is_half(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)


def is_fused(query: Any, key: Any, value: Any, mask: Any, grouped: bool) -> bool:
    """Whether torch runs attention in one kernel that keeps no matrix of weights, on an Ampere GPU or a later one.

    Follows ``can_use_flash_attention`` and ``can_use_mem_efficient_attention`` of ``sdp_utils.cpp``.
    """
    import torch

    given = (query, key, value)
    if any(t.ndim != 4 for t in given) or any(t.stride(-1) != 1 and t.shape[-1] != 1 for t in given):
        return False
    if mask is not None and mask.stride(-1) != 1:
        return False
    heads, width = {t.shape[-3] for t in given}, {t.shape[-1] for t in given}
    if len({t.shape[0] for t in given}) > 1 or (len(heads) > 1 and not grouped):
        return False
    if is_half(query) and mask is None and len(width) == 1 and width <= set(range(257)):
        return True
    by_groups = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) >= (2, 14)
    unit = 8 if is_half(query) else 4
    same = query.shape[-1] == key.shape[-1] and query.shape[-1] % unit == value.shape[-1] % unit == 0
    return same and (len(heads) == 1 or by_groups)


def attention_in_steps(
    query: Any, key: Any, value: Any, mask: Any, dropout: float = 0.0, causal: bool = False, scale: float | None = None
) -> Any:
    """Attention as torch computes it where no kernel takes it whole: in float32, with the matrix of weights.

    Follows ``_scaled_dot_product_attention_math`` of ``attention.cpp``; on the CPU that draws dropout in another way.
    """
    import torch
    import torch.nn.functional as F

    dtype, groups = query.dtype, query.shape[-3] // key.shape[-3] if query.ndim > 3 else 1
    query, key, value = (t.float() for t in (query, key, value))
    if groups > 1:
        key, value = (t.repeat_interleave(groups, -3) for t in (key, value))
    if causal:
        mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    if mask is not None and mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))
    root = math.sqrt(query.shape[-1] ** -0.5 if scale is None else scale)
    weights = (query * root) @ (key * root).transpose(-2, -1)
    if mask is not None:
        weights.add_(mask)
    return (F.dropout(torch._safe_softmax(weights, -1), dropout) @ value).to(dtype)


def fused_attention() -> Any:
    import torch

    class Attention(torch.autograd.Function):
        """Flash or memory-efficient attention: [B, H, T, D], with a float32 [B, H, T] beside its output."""

        @staticmethod
        def forward(ctx: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
            batch, heads, length, _ = query.shape
            out = query.new_empty((batch, length, heads, value.shape[-1])).transpose(1, 2)  # as the kernels lay it
            sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
            bias = None if mask is None else mask.to(query.dtype) if mask.dtype is torch.bool else mask
            ctx.keys = key.shape[-2]
            ctx.save_for_backward(query, key, value, out, sums, bias)
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            query, key, value, _, sums, bias = ctx.saved_tensors
            # the query's gradient is added up in float32, short heads' by two kernels; held while the gradients are made, as the
            # kernel does
            copies = 2 if query.dtype is torch.float32 and query.shape[-1] <= 32 else 1
            borrowed = sums.new_empty(copies * query.numel()), torch.empty_like(sums)
            made = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
            of_bias = query.new_empty((*query.shape[:-1], ctx.keys)) if ctx.needs_input_grad[3] else None
            del borrowed
            return (*made, None if of_bias is None else of_bias.sum_to_size(bias.shape))

    return Attention

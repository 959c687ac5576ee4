"""What differs in memory between a training step on the CPU and one on a CUDA device, put right in a CPU trace.

Dropout keeps a mask of one byte an element; attention keeps its output and the logarithms of its sums, not the matrix
of weights; recurrent layers are one cuDNN call with a reserve; autocast runs other operations in float32. For a process
that is thrown away: names in torch's modules are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

RECURRENT = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""Gates by torch's name of the function."""
FLOAT32 = [
    "layer_norm",
    "group_norm",
    "softmax",
    "log_softmax",
    "cross_entropy",
    "nll_loss",
    "softplus",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "kl_div",
    "pow",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "norm",
    "rsqrt",
    "reciprocal",
    "cumsum",
    "cumprod",
    "prod",
    "sum",
    "cosine_similarity",
    "__pow__",
    "binary_cross_entropy_with_logits",
]
"""Functions that ``torch.autocast("cuda")`` runs in float32, by name (torch's page on automatic mixed precision)."""


def autocast(precision: str) -> Any:
    """Autocast of CPU tensors; float16 is traced as bfloat16, which takes as much."""
    import torch

    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision != "float32")


@contextmanager
def as_on_cuda(precision: str) -> Iterator[None]:
    """Within it operations on CPU tensors allocate what they would on a CUDA device, values apart.

    It holds for the backward pass too, in which checkpointed layers run again.
    """
    import torch
    import torch.nn.functional as F
    from torch.overrides import TorchFunctionMode

    half = {"bfloat16": torch.bfloat16, "float16": torch.bfloat16}.get(precision)
    attention, dropout = F.scaled_dot_product_attention, F.dropout
    known = {getattr(F, n) for n in FLOAT32 if hasattr(F, n)} | {
        getattr(torch, n) for n in FLOAT32 if hasattr(torch, n)
    }
    known |= {getattr(torch.Tensor, n) for n in FLOAT32 if hasattr(torch.Tensor, n)}
    in_float32 = {f for f in known if f is not torch.Tensor.sum and f is not torch.sum}

    class Cuda(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = getattr(func, "__name__", "")
            if func is attention:
                return attend(*args, **kwargs)
            if func in (dropout, torch.dropout):
                return drop(*args, **kwargs)
            if name in RECURRENT and func is getattr(torch, name):
                return recur(RECURRENT[name], *args)
            if half is not None and func in in_float32 and torch.is_autocast_enabled("cpu"):
                with torch.autocast("cpu", enabled=False):
                    return func(*map(wide, args), **{k: wide(v) for k, v in kwargs.items()})
            return func(*args, **kwargs)

    def drop(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False, train: bool | None = None) -> Any:
        train = training if train is None else train
        return torch.native_dropout(x, p, True)[0] if train and 0 < p < 1 else dropout(x, p, train)

    def attend(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, *_: Any, **__: Any
    ) -> Any:
        if half is not None and torch.is_autocast_enabled("cpu"):
            query, key, value = (t.to(half) if t.is_floating_point() else t for t in (query, key, value))
        return _attention().apply(query, key, value, attn_mask)

    before = {name: getattr(F, name) for name in ("scaled_dot_product_attention", "dropout")}
    setattr(F, "scaled_dot_product_attention", attend)  # noqa: B010  # others in torch.nn.functional call it by name
    setattr(F, "dropout", drop)  # noqa: B010  # likewise
    try:
        with Cuda():
            yield
    finally:
        for name, f in before.items():
            setattr(F, name, f)


def wide(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16):
        return value.float()
    return value


def _attention() -> Any:
    import torch

    class Attention(torch.autograd.Function):
        """Flash or memory-efficient attention: [..., T, D], with a float32 [..., T] beside its output."""

        @staticmethod
        def forward(ctx: Any, query: Any, key: Any, value: Any, mask: Any) -> Any:
            out = (
                torch.empty_like(query)
                if query.shape[-1] == value.shape[-1]
                else query.new_empty((*query.shape[:-1], value.shape[-1]))
            )
            sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
            bias = None if mask is None else mask.to(query.dtype) if mask.dtype is torch.bool else mask
            ctx.save_for_backward(query, key, value, out, sums, bias)
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            query, key, value, _, sums, _ = ctx.saved_tensors
            torch.empty_like(sums)
            return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value), None

    return Attention


def recur(gates: int, *args: Any) -> Any:
    """cuDNN's recurrent call, in place of torch's own: output, last states, and what it reserves for the backward pass."""
    import torch

    packed = isinstance(args[1], torch.Tensor) and isinstance(args[3], list | tuple)
    if packed:
        data, _, hx, weights, _, layers, _, training, both = args
        first = False
    else:
        data, hx, weights, _, layers, _, training, both, first = args
    states = hx if isinstance(hx, list | tuple) else (hx,)
    if torch.is_autocast_enabled("cpu"):
        half = torch.get_autocast_dtype("cpu")
        data, *rest = (t.to(half) for t in (data, *states, *weights))
        states, weights = rest[: len(states)], rest[len(states) :]
    return _recurrence().apply(gates, layers, 1 + bool(both), first, training, len(states), data, *states, *weights)


def _recurrence() -> Any:
    import torch

    class Recurrence(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: Any, gates: int, layers: int, ways: int, first: bool, training: bool, n: int, data: Any, *rest: Any
        ) -> Any:
            states, weights = rest[:n], rest[n:]
            hidden = states[0].shape[-1]
            data_ = data.transpose(0, 1).contiguous().transpose(0, 1) if first else data
            steps = data[..., 0].numel()
            out = data.new_empty((*data.shape[:-1], hidden * ways))
            last = tuple(torch.empty_like(s) for s in states)
            torch.empty(steps * hidden * gates * ways, dtype=data.dtype)  # the products of a layer's input
            kept = torch.empty(steps * hidden * (gates + 2) * ways * layers if training else 0, dtype=data.dtype)
            ctx.save_for_backward(data_, out, kept, *states, *weights)
            ctx.n = n
            return (out, *last)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            data, _, kept, *rest = ctx.saved_tensors
            torch.empty_like(kept[: kept.numel() // 2])
            return (None,) * 6 + tuple(torch.empty_like(t) for t in (data, *rest))

    return Recurrence

"""What differs in memory between a training step on the CPU and one on a CUDA device, put right in a CPU trace.

Dropout keeps a mask of one byte an element; attention keeps its output and the logarithms of its sums, not the matrix
of weights; recurrent layers are one cuDNN call with a reserve; autocast runs other operations in float32. For a process
that is thrown away: names in torch's modules are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dataloader_expert.probes.model.attention import attention_in_steps, fused_attention, is_fused, is_half
from dataloader_expert.probes.model.kernels import recurrent_reserve, recurrent_workspace

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
    to_float = {F.softmax, torch.softmax, torch.Tensor.softmax, F.log_softmax, torch.log_softmax}
    to_float |= {torch.Tensor.log_softmax}

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
                first = args[0] if args else kwargs.get("input")
                if func in to_float and is_half(first):
                    return _softmax_in_float32().apply(first)
                if (
                    func is F.cross_entropy
                    and args
                    and is_half(first)
                    and not is_float(args[1] if len(args) > 1 else None)
                ):
                    kwargs = {k: v for k, v in kwargs.items() if k != "label_smoothing"}
                    return F.nll_loss(_softmax_in_float32().apply(first), *args[1:], **kwargs)
                with torch.autocast("cpu", enabled=False):
                    return func(*map(wide, args), **{k: wide(v) for k, v in kwargs.items()})
            return func(*args, **kwargs)

    def drop(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False, train: bool | None = None) -> Any:
        train = training if train is None else train
        return torch.native_dropout(x, p, True)[0] if train and 0 < p < 1 else dropout(x, p, train)

    def attend(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Any:
        if half is not None and torch.is_autocast_enabled("cpu"):
            query, key, value, attn_mask = (t.to(half) if is_float(t) else t for t in (query, key, value, attn_mask))
        if is_fused(query, key, value, attn_mask, enable_gqa):
            return fused_attention().apply(query, key, value, attn_mask)
        with torch.autocast("cpu", enabled=False):
            return attention_in_steps(query, key, value, attn_mask, dropout_p, is_causal, scale)

    before = {name: getattr(F, name) for name in ("scaled_dot_product_attention", "dropout")}
    setattr(F, "scaled_dot_product_attention", attend)  # noqa: B010  # others in torch.nn.functional call it by name
    setattr(F, "dropout", drop)  # noqa: B010  # likewise
    try:
        with Cuda():
            yield
    finally:
        for name, f in before.items():
            setattr(F, name, f)


def is_float(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point()


def wide(value: Any) -> Any:
    return value.float() if is_half(value) else value


def _softmax_in_float32() -> Any:
    import torch

    class Softmax(torch.autograd.Function):
        """Softmax or its logarithm, which reads half precision and writes float32 without a copy between them."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x.new_empty(x.shape, dtype=torch.float32)
            ctx.save_for_backward(out)
            ctx.dtype = x.dtype
            return out

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            [out] = ctx.saved_tensors
            return out.new_empty(out.shape, dtype=ctx.dtype)

    return Softmax


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
            shape = gates, layers, hidden, ways
            size = recurrent_workspace(*shape, data.shape[-1], steps, data.element_size())
            ctx.workspace = size + sum(t.numel() * t.element_size() for t in weights)
            kept = torch.empty(steps * recurrent_reserve(*shape) if training else 0, dtype=data.dtype)
            torch.empty(ctx.workspace, dtype=torch.uint8)
            ctx.save_for_backward(data_, out, kept, *states, *weights)
            return (out, *last)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            data, _, _, *rest = ctx.saved_tensors
            torch.empty(ctx.workspace, dtype=torch.uint8)
            return (None,) * 6 + tuple(torch.empty_like(t) for t in (data, *rest))

    return Recurrence

"""One training step as a usual loop takes it: forward, loss, backward, optimizer; and the loss it is taken with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.ways import TARGETS


def optimizer_of(name: str, parameters: list[Any], foreach: bool = True) -> Any:
    """``foreach`` as on a CUDA device, where torch takes it by itself."""
    import torch

    kinds: dict[str, Any] = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}
    return kinds[name](parameters, lr=1e-3, foreach=foreach)


def warmed(optimizer: Any) -> None:
    """Makes the optimizer's states, by a step with gradients of zero."""
    import torch

    with torch.no_grad():
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad = torch.zeros_like(p)
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def step(
    forward: Callable[[], Any],
    target: Any,
    optimizer: Any,
    cast: AbstractContextManager[Any],
    mark: Callable[[str], None] = lambda phase: None,
) -> str:
    """Takes the step; returns the loss in words. ``mark`` is told when each phase begins."""
    mark("forward")
    with cast:
        out = forward()
        loss, words = loss_of(out, target)
    mark("backward")
    loss.backward()
    mark("optimizer_step")
    optimizer.step()
    mark("end")
    optimizer.zero_grad(set_to_none=True)
    return words


def with_own_loss(out: Any, named: Mapping[str, Any]) -> Any:
    """The output of a model that was given its targets by name, with the loss that it computed from them named as such."""
    import torch

    if isinstance(out, dict) or hasattr(out, "loss") or not set(TARGETS) & set(named):
        return out
    losses = [t for _, t in flat(out) if isinstance(t, torch.Tensor) and t.ndim == 0 and t.requires_grad]
    return {"loss": torch.stack([t.float() for t in losses]).sum(), "output": out} if losses else out


def loss_of(out: Any, target: Any) -> tuple[Any, str]:
    """The model's own loss, else cross-entropy or squared error against the target where they fit it, else a mean."""
    import torch
    import torch.nn.functional as F

    own = out.get("loss") if isinstance(out, dict) else getattr(out, "loss", None)
    if isinstance(own, torch.Tensor):
        return (own, "the model's own loss") if own.ndim == 0 else (own.mean(), "the mean of the model's own losses")
    leaves = [t for _, t in flat(dict(out) if isinstance(out, dict) else out) if isinstance(t, torch.Tensor)]
    leaves = [t for t in leaves if t.is_floating_point()]
    if len(leaves) == 1 and leaves[0].ndim == 0:
        return leaves[0], "the model's output"
    if isinstance(out, dict) and leaves and all(t.ndim == 0 for t in leaves):
        return torch.stack([t.float() for t in leaves]).sum(), "the sum of the model's losses"
    main = leaves[0] if leaves else None
    if main is not None and isinstance(target, torch.Tensor):
        classes = main.shape[1] if main.ndim > 1 else 1
        if not target.is_floating_point() and main.ndim > 1:
            if main.ndim == target.ndim + 1 and main.shape[:1] + main.shape[2:] == target.shape and classes > 1:
                return F.cross_entropy(main, target.long()), f"cross-entropy over {classes} classes"
            if main.ndim == target.ndim + 1 and main.shape[:-1] == target.shape:
                flat_, wanted = main.flatten(0, -2), target.long().flatten()
                return F.cross_entropy(flat_, wanted), f"cross-entropy over {main.shape[-1]} classes"
        if target.numel() == main.numel():
            return F.mse_loss(main, target.to(main.dtype).reshape(main.shape)), "squared error"
    loss: Any = sum(t.float().mean() for t in leaves)
    if not isinstance(loss, torch.Tensor):
        raise TypeError("the model's output contains no float tensor to compute a loss from")
    return loss, "the mean of the output"

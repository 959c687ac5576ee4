"""A model whose tensors take no memory: made on the meta device, or an existing one with its tensors replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def made_empty(make: Callable[[], Any]) -> Any:
    """The model made on torch's meta device where its constructor allows it, else for real."""
    import torch

    try:
        with torch.device("meta"):
            return make()
    except Exception:  # it reads values, or loads weights: made once more for real, which raises what is the user's
        return make()


def faked(model: Any) -> None:
    """Replaces parameters, buffers and plain tensors of the modules by fake ones on the CPU, sharing what was shared.

    Call it under a ``FakeTensorMode``.
    """
    import torch

    known: dict[int, Any] = {}

    def twin(t: Any) -> Any:
        if id(t) not in known:
            made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cpu")
            if isinstance(t, torch.nn.Parameter):
                made = torch.nn.Parameter(made, requires_grad=t.requires_grad)
            known[id(t)] = made
        return known[id(t)]

    for module in model.modules():
        for name, p in list(module._parameters.items()):
            if p is not None:
                setattr(module, name, twin(p))  # recurrent layers keep a list of them, which this renews
        for name, b in list(module._buffers.items()):
            if b is not None:
                module._buffers[name] = twin(b)
        for name, value in list(vars(module).items()):
            if isinstance(value, torch.Tensor):
                vars(module)[name] = twin(value)


def parameter_bytes(model: Any) -> int:
    """Bytes of parameters and buffers, each counted once."""
    tensors = {id(t): t for t in (*model.parameters(), *model.buffers())}
    return sum(t.numel() * t.element_size() for t in tensors.values())


def step_bytes(model: Any) -> list[int]:
    """Bytes that any training step takes at least: of parameters, buffers and gradients, and of one state of the optimizer."""
    trained = {id(p): p for p in model.parameters() if p.requires_grad}
    gradients = sum(p.numel() * p.element_size() for p in trained.values())
    return [parameter_bytes(model) + gradients, gradients]

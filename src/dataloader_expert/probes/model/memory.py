"""Memory of a training step and a forward pass: measured on a CUDA device; without one derived from tensors on the
CPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Observation, evidence
from dataloader_expert.probes.serving import flat

DEVICE_PEAK = Quantity("device_peak_bytes", "bytes", "peak memory of forward, backward and step on a real batch")
HELD = Quantity("device_held_bytes", "bytes", "parameters, gradients and optimizer states, independent of the batch")
FORWARD = Quantity("forward_bytes", "bytes", "peak of a forward pass without gradients, beyond the parameters")
STATES = {"adamw": 2, "adam": 2, "sgd": 0}
"""Tensors of each parameter's size that the optimizer keeps."""


def footprint(
    model: Any, inputs: list[Any], n: int, optimizer: str, precision: str, device: bool
) -> Iterable[Observation]:
    """Memory of the model, of a training step and of a forward pass on a batch of ``n``."""
    trained = _bytes(p for p in model.parameters() if p.requires_grad)
    held = _bytes([*model.parameters(), *model.buffers()]) + trained * (1 + STATES[optimizer])
    yield Fact(HELD, held, evidence("derived", "model", seen=1), {})
    if device:
        peak, forward = _probed(model, inputs, optimizer, precision)
        said = evidence("probed", "model", seen=3)
    else:
        saved, forward = _derived(model, inputs, precision)
        peak = held + saved + forward
        said = evidence("derived", "model", seen=1, derived_from=(HELD.name,), conditions={"device": "cpu"})
    yield Fact(DEVICE_PEAK, peak, said, {"batch_size": n})
    yield Fact(FORWARD, forward, said, {"batch_size": n})


def _probed(model: Any, inputs: list[Any], optimizer: str, precision: str) -> tuple[int, int]:
    """Peaks of a training step, after two warm-up steps, and of a forward pass, from CUDA's own statistics."""
    import torch

    model = model.to("cuda").eval()
    moved = [v.to("cuda") for v in inputs]
    dtype = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}[precision]
    cast = torch.autocast("cuda", dtype=dtype or torch.float16, enabled=dtype is not None)
    with torch.no_grad(), cast:
        model(*moved)  # allocates the libraries' workspaces
        before = torch.cuda.memory_allocated() - _bytes(moved)
        torch.cuda.reset_peak_memory_stats()
        model(*moved)
    forward = torch.cuda.max_memory_allocated() - before
    model.train()
    step = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimizer](model.parameters())
    for i in range(5):
        if i == 2:
            torch.cuda.reset_peak_memory_stats()
        with cast:
            out = model(*moved)
        loss: Any = sum(t.float().mean() for _, t in flat(out) if isinstance(t, torch.Tensor) and t.is_floating_point())
        loss.backward()
        step.step()
        step.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated(), forward


def _derived(model: Any, inputs: list[Any], precision: str) -> tuple[int, int]:
    """Bytes that a step saves for its backward pass, and those of its input and its largest layer's workspace."""
    import torch

    own = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers(), *inputs)}
    saved: dict[int, int] = {}

    def keep(t: Any) -> Any:
        storage = t.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return t

    model.train()
    half = torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision != "float32")
    with _widest(model) as widest, torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t), half:
        out = model(*inputs)
    work = max([_bytes(_tensors(out)), *widest])
    return sum(saved.values()), _bytes(inputs) + work


@contextmanager
def _widest(model: Any) -> Iterator[list[int]]:
    """Input and output bytes of each leaf module, as they run."""
    found: list[int] = []

    def ran(_: Any, given: Any, got: Any) -> None:
        found.append(_bytes(_tensors(given)) + _bytes(_tensors(got)))

    leaves = [m for m in model.modules() if not any(m.children())]
    hooks = [m.register_forward_hook(ran) for m in leaves]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _tensors(value: Any) -> list[Any]:
    import torch

    return [t for _, t in flat(value) if isinstance(t, torch.Tensor)]


def _bytes(tensors: Iterable[Any]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)

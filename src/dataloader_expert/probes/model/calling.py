"""Calls of a model with a batch, or with a few of its samples, and what they give or raise."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from dataloader_expert.probes.batch_parts import by_sample, flat, samples_in
from dataloader_expert.probes.model.mends import is_fake
from dataloader_expert.probes.model.ways import Way, functions

ROWS = (3, 5, 2, 7)
"""How many samples the few are: the first of these that is the size of no other dimension."""


@dataclass(frozen=True)
class Ran:
    """What a call gave or raised, the warnings in it, and its seconds."""

    out: Any
    error: Exception | None
    warned: tuple[str, ...]
    seconds: float


def ran(model: Any, way: Way, batch: Any, training: bool = False) -> Ran:
    out, error, begun = None, None, time.monotonic()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            out = called(model, way, batch, training)
        except Exception as e:  # the user's model may raise anything
            error = e
    return Ran(out, error, tuple(str(one.message) for one in told), time.monotonic() - begun)


def reach(error: Exception) -> tuple[float, ...]:
    """How far a call of a model came before it raised: the lines of the model's own code, outermost first. One that ran to its end, and
    whose output is refused, came furthest."""
    raised, lines, within = error.__traceback__, list[float](), False
    if raised is None:
        return (math.inf,)
    while raised is not None:
        frame = raised.tb_frame
        within = within or frame.f_code.co_name == "forward"
        if within and not str(frame.f_globals.get("__name__")).startswith("torch."):
            lines.append(raised.tb_lineno)
        raised = raised.tb_next
    return tuple(lines)


def given_to(model: Any, way: Way, batch: Any, *kinds: type) -> tuple[list[tuple[Any, list[Any]]], Exception | None]:
    """The layers of these kinds as a call comes to them, with the tensors that each is given, and what the call raises. A model without
    such layers is not called. Encoders give their layers padded tensors here, as in training: the nested ones of evaluation, with a mask
    of padding, have no shape."""
    import torch

    got: list[tuple[Any, list[Any]]] = []

    def note(module: Any, given: Any, named: Any) -> None:
        got.append((module, [v for v in (*given, *named.values()) if isinstance(v, torch.Tensor)]))

    layers: list[Any] = [m for m in model.modules() if isinstance(m, kinds)] if hasattr(model, "modules") else []
    hooks = [m.register_forward_pre_hook(note, with_kwargs=True) for m in layers]
    try:
        with unfused():
            return got, ran(model, way, batch).error if hooks else None
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def unfused() -> Iterator[None]:
    """Encoder layers in evaluation as the operations that they are made of, not as the single one that stands for them."""
    import torch

    fused = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)


def called(model: Any, way: Way, batch: Any, training: bool = False) -> Any:
    import torch

    adapt, _ = functions(way.code())
    with torch.set_grad_enabled(training), unchanged(model):
        given, named = adapt(batch)
        return model(*given, **named)


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Leaves the model's config as it is: models of transformers note there which loss the labels of a call are for, also of one that
    they then refuse, and keep to it."""
    held = _attributes(model)
    before = dict(held)
    try:
        yield
    finally:
        for name in held.keys() - before.keys():
            del held[name]
        held.update({name: was for name, was in before.items() if held.get(name) is not was})


def _attributes(model: Any) -> dict[str, Any]:
    """Those of the model's config; none of a config that no call writes to, such as a class or a module that serves as a namespace."""
    try:
        config = model.config
        held = vars(config)
    except Exception:  # the user's model may have any config, or none
        return {}
    return held if isinstance(held, dict) and not isinstance(config, ModuleType) else {}


def evaluated(expression: str, batch: Any) -> Any:
    import torch

    return eval(
        expression, {"torch": torch, "batch": batch}
    )  # our own templates; names of fields stand in them as literals


def is_finite(x: Any) -> bool:
    return not (x.is_floating_point() or x.is_complex()) or bool(x.isfinite().all())


def keeps(out: Any, n: int, leading: bool = False) -> bool:
    """Whether the output has the batch's dimension, or is one number; ``leading``: as its first, or after that of time."""
    shapes = [tuple(v.shape) for _, v in flat(out) if hasattr(v, "shape")]
    if isinstance(out, list) and len(out) == n:
        return True
    return not shapes or any(n in (s[:2] if leading else s) or not s for s in shapes)


def few_of(batch: Any, n: int = 0) -> tuple[Any, int]:
    """Some samples of the batch, with the largest ids among them, and how many; 0: the batch cannot be cut."""
    import torch

    n = n or samples_in(batch)
    tensors = [v for _, v in flat(batch) if isinstance(v, torch.Tensor) and v.ndim]
    if not n or any(len(t) != n for t in tensors):
        return batch, 0
    apart = [v for _, of in flat(batch, n=n) if by_sample(of, n) for v in of if isinstance(v, torch.Tensor)]
    others = {d for t in tensors for d in t.shape[1:]} | {d for t in apart for d in t.shape}
    k = next((k for k in ROWS if k <= n and k not in others), 0)
    if not k:
        return batch, n if n not in others else 0
    return cut(batch, rows_of(batch, n, k), n), k


def rows_of(batch: Any, n: int, k: int) -> Any:
    """The numbers of ``k`` of a batch's samples, of those with the largest ids first."""
    import torch

    tensors = [v for _, v in flat(batch) if isinstance(v, torch.Tensor) and v.ndim and len(v) == n]
    whole = [t for t in tensors if not t.is_floating_point() and not t.is_complex() and t.numel() and not is_fake(t)]
    largest = [int(t.reshape(n, -1).long().amax(1).argmax()) for t in whole]
    return torch.tensor(sorted(list(dict.fromkeys([*largest, *range(n)]))[:k]))


def cut(value: Any, rows: Any, n: int) -> Any:
    if hasattr(value, "shape"):
        return value[rows] if value.ndim else value
    if isinstance(value, Mapping):
        return {k: cut(v, rows, n) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(cut(v, rows, n) for v in value))
    if by_sample(value, n):
        return type(value)(value[int(i)] for i in rows)
    if isinstance(value, list | tuple):
        return type(value)(cut(v, rows, n) for v in value)
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        made = copy.copy(value)
        for name in value.__dataclass_fields__:
            object.__setattr__(made, name, cut(getattr(value, name), rows, n))  # it may be frozen
        return made
    return value

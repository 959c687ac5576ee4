"""What spoils training and no call complains of: a mask the wrong way round, padding that counts as a token, a loss that is no number."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

from dataloader_expert.probes.model.calling import evaluated, given_to, ran
from dataloader_expert.probes.model.mends import Misfit, is_fake
from dataloader_expert.probes.model.padding import DIFFERS, TRIED, Padded, difference, padded
from dataloader_expert.probes.model.padding_counts import counts_in_loss
from dataloader_expert.probes.model.padding_id import ends
from dataloader_expert.probes.model.ways import TARGETS, Way, hidden, wrapped

SCALE = "value-range-mismatch"
HIDES = ("key_padding_mask", "src_key_padding_mask", "tgt_key_padding_mask")
"""Arguments of torch's attention that are True where nothing is to be attended to."""


def inverted(model: Any, way: Way, batch: Any) -> tuple[Way, Misfit | None]:
    """A mask that hides what is real and shows the padding: what it shows has one value, and what it hides has many."""
    fields = _fields(way, batch)
    for mask, hides in _masks(model, way, batch, fields):
        for x in (x for x, _ in fields.values() if x.ndim > 1 and x.shape[:2] == mask.shape and x is not mask):
            if hidden(x, mask) in (None, hides):
                continue
            says = "True for real tokens, but torch masks out what is True" if hides else "0 where real tokens are"
            says += ": the model sees the padding alone"
            for name, (m, _) in fields.items():
                if m.shape == mask.shape and m is not x and bool(((m == 0) | (m == 1)).all()) and _is(m, mask):
                    other = way.mended(name, "~{x}" if str(m.dtype) == "torch.bool" else "(1 - {x})")
                    if ran(model, other, batch).error is None:
                        return other, Misfit(SCALE, name, says)
            return way, Misfit(SCALE, "the mask", says, cured=False)
    return way, None


def _masks(model: Any, way: Way, batch: Any, fields: dict[str, tuple[Any, str | None]]) -> Iterator[tuple[Any, bool]]:
    """The masks that a call works with, and whether they hide what is True."""
    import torch
    from torch import nn

    got: list[Any] = []

    def note(module: Any, given: Any, named: Any) -> None:
        with contextlib.suppress(TypeError):
            bound = inspect.signature(module.forward).bind(*given, **named).arguments
            got.extend(bound[k] for k in HIDES if isinstance(bound.get(k), torch.Tensor))

    kinds = (nn.TransformerEncoder, nn.Transformer, nn.TransformerEncoderLayer, nn.MultiheadAttention)
    layers = [m for m in model.modules() if isinstance(m, kinds)] if hasattr(model, "modules") else []
    hooks = [m.register_forward_pre_hook(note, with_kwargs=True) for m in layers]
    try:
        if hooks:
            ran(model, way, batch)
    finally:
        for hook in hooks:
            hook.remove()
    yield from ((m, True) for m in got if m.dtype == torch.bool and m.ndim == 2 and not is_fake(m))
    if hasattr(model, "main_input_name"):
        for m, parameter in fields.values():
            if parameter == "attention_mask" and m.ndim == 2 and not is_fake(m):
                yield m, False


def another_padding(model: Any, way: Way, batch: Any) -> tuple[Way, Misfit | None]:
    """Ids padded with another one than the table's ``padding_idx``, if the padding counts in what the model gives."""
    from torch import nn

    tables = [m for m in model.modules() if isinstance(m, nn.Embedding)] if hasattr(model, "modules") else []
    if all(m.padding_idx is None for m in tables):
        return way, None
    got, _ = given_to(model, way, batch, nn.Embedding)
    for name, (x, _) in _fields(way, batch).items():
        table = next((m for m, given in got if m.padding_idx is not None and given and _same(given[0], x)), None)
        if table is None or x.ndim != 2:
            continue
        found = padded(way, batch)
        known = (found.lengths, found.source) if found is not None and found.field == name else (ends(x), None)
        pad = None if known[0] is None else _padding(x, known[0])
        if pad is None or pad == table.padding_idx:
            continue
        lengths, source = known
        mend = f"torch.where({{x}} == {pad}, {table.padding_idx}, {{x}})"
        if source is not None:
            beyond = f"torch.arange({{x}}.shape[1], device={{x}}.device) >= {source}[:, None]"
            mend = f"{{x}}.masked_fill({beyond}, {table.padding_idx})"
        other = way.mended(name, mend)
        rows = lengths.argsort()[:TRIED].tolist()
        of = Padded(name, lengths, "", 0.0, x.shape[1])
        before, after = difference(model, way, batch, of, rows), difference(model, way, batch, of, rows, other)
        if before is None or after is None:  # all that it gives is a loss
            of_loss = (
                counts_in_loss(model, way, batch, name, pad),
                counts_in_loss(model, other, batch, name, table.padding_idx),
            )
            if of_loss != (True, False):
                continue
        elif before <= DIFFERS or after >= before:
            continue
        says = (
            f"padded with {pad}, where the model's table has padding_idx={table.padding_idx}: the padding counts as a token; "
            f"pad with {table.padding_idx}"
        )
        return other, Misfit(SCALE, name, says)
    return way, None


def many_losses(model: Any, way: Way, batch: Any, out: Any, n: int) -> Misfit | None:
    """A loss of several numbers, of which ``backward()`` makes no gradients."""
    import torch

    own = out.get("loss") if isinstance(out, dict) else getattr(out, "loss", None)
    if own is None and isinstance(out, torch.Tensor) and out.shape == (n,) and n > 1:
        own = out if _follows_target(model, way, batch, out) else None
    if not isinstance(own, torch.Tensor) or own.numel() < 2 or not own.is_floating_point():
        return None
    shape = ", ".join(["B" if own.shape[0] == n else str(own.shape[0]), *map(str, own.shape[1:])])
    says = f"a loss of shape [{shape}], as of reduction='none': backward() takes one number"
    return Misfit(
        "shape-mismatch", "the loss", says, cured=False, runs=True, fix="loss.mean().backward(), or reduction='mean'"
    )


def _follows_target(model: Any, way: Way, batch: Any, out: Any) -> bool:
    """Whether one number a sample changes with the labels that the model is given, as a loss does and a prediction does not."""
    for (p, _), name in zip(way.arguments, way.names, strict=True):
        if p in TARGETS or name in TARGETS:
            other = ran(model, way.mended(name, "{x}.roll(1, 0)"), batch).out
            if getattr(other, "shape", None) == out.shape and not is_fake(out):
                return not bool(other.allclose(out))
    return False


def _fields(way: Way, batch: Any) -> dict[str, tuple[Any, str | None]]:
    """The tensors with values that a way feeds, by field, each with the parameter that it is given as."""
    found = {}
    for (parameter, expression), name in zip(way.arguments, way.names, strict=True):
        x = evaluated(wrapped(expression, way.mends.get(name, ())), batch)
        if hasattr(x, "ndim") and not is_fake(x):
            found[name] = (x, parameter)
    return found


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and not b.is_floating_point() and bool((a == b).all())


def _is(field: Any, mask: Any) -> bool:
    """Whether a field is the mask, or what it was made from by turning it round."""
    return bool((field.bool() == mask.bool()).all()) or bool((field.bool() != mask.bool()).all())


def _padding(x: Any, lengths: Any) -> int | None:
    """The one value beyond the samples' lengths."""
    import torch

    beyond = x[torch.arange(x.shape[1]) >= lengths[:, None]].unique()
    return int(beyond[0]) if len(beyond) == 1 else None

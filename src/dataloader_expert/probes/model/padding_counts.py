"""Padding that counts, shown by calls: a model that sees the padding alone, a token that is taken for padding, padded labels in the loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.calling import evaluated, given_to, ran
from dataloader_expert.probes.model.mends import IGNORE, Misfit, is_fake
from dataloader_expert.probes.model.padding import DIFFERS
from dataloader_expert.probes.model.padding_id import ends
from dataloader_expert.probes.model.verdict import SCALE
from dataloader_expert.probes.model.ways import Way, accessors, hidden, wrapped

NOTHING = 1e-5
"""The share of an output's largest value below which it has not changed."""
LEAST_RUN = 3
"""Equal values at an end of a sample that are padding at least."""
OFTEN = 0.5
"""The share of samples that hold a real token at least."""


def sees_padding_alone(model: Any, way: Way, batch: Any) -> tuple[Way, Misfit | None]:
    """A mask the wrong way round in a model that masks by itself: other real values change nothing, and do with the mask turned."""
    fields = _fed(way, batch)
    for name, mask in fields.items():
        if not _is_mask(mask):
            continue
        for field, x in fields.items():
            hides = None if field == name or x.ndim < 2 or x.shape[:2] != mask.shape else hidden(x, mask)
            if hides is None:
                continue
            real = ~mask.bool() if hides else mask.bool()
            rows = real.any(1) & ~real.all(1)
            if not bool(rows.any()):
                continue
            other = way.mended(name, "~{x}" if str(mask.dtype) == "torch.bool" else "(1 - {x})")
            as_it_is = _moves(model, way, batch, field, x, real, rows)
            turned = _moves(model, other, batch, field, x, real, rows)
            if as_it_is is None or turned is None or as_it_is > NOTHING or turned <= DIFFERS:
                continue
            says = f"{'True' if hides else '1'} for padding, but the model keeps what is {'True' if hides else '1'}"
            if not hides:
                says = "1 for real tokens, but the model masks out what is 1"
            return other, Misfit(
                SCALE, name, f"{says}: it sees only the padding, and changing the real values changes nothing"
            )
    return way, None


def _moves(model: Any, way: Way, batch: Any, field: str, x: Any, real: Any, rows: Any) -> float | None:
    """How much the output for these rows changes, as a share of its largest value, if all that is real is one real value."""
    import torch

    one = x[real][:1]
    changed = torch.where(
        real.view(*real.shape, *(1,) * (x.ndim - 2)), one.expand_as(x[:, :1]) if x.ndim > 2 else one, x
    )
    other = _with(batch, way, field, changed)
    if other is None:
        return None
    before, after = (ran(model, way, b) for b in (batch, other))
    if before.error is not None or after.error is not None:
        return None
    most = None
    for (_, a), (_, b) in zip(flat(before.out), flat(after.out), strict=False):
        if not hasattr(a, "ndim") or not a.ndim or len(a) != len(x) or a.shape != b.shape or not a.is_floating_point():
            continue
        a, b = a[rows], b[rows]
        if not bool(a.isfinite().all() & b.isfinite().all()):
            return None
        most = max(most or 0.0, float((a - b).abs().max()) / max(float(a.abs().max()), 1e-6))
    return most


def token_as_padding(model: Any, way: Way, batch: Any) -> Misfit | None:
    """A real token under the number with which samples are padded, and which the model's table leaves out (``padding_idx``)."""
    from torch import nn

    tables = [m for m in model.modules() if isinstance(m, nn.Embedding)] if hasattr(model, "modules") else []
    got = given_to(model, way, batch, nn.Embedding)[0] if any(m.padding_idx is not None for m in tables) else []
    for name, x in _fed(way, batch).items():
        if x.is_floating_point() or x.ndim != 2:
            continue
        looked = (m for m, given in got if given and given[0].shape == x.shape and bool((given[0] == x).all()))
        pad = next((m.padding_idx for m in looked if m.padding_idx is not None), None)
        share = None if pad is None else within(x, pad)
        if share is None or share < OFTEN:
            continue
        says = (
            f"{pad} is the padding id, which the model's table ignores (padding_idx={pad}), but it also occurs between other "
            f"ids in {share:.0%} of the samples"
        )
        fix = f"if {pad} is a real token, add 1 to all ids and a row to the table, so that {pad} is only padding"
        return Misfit(SCALE, name, says, cured=False, runs=True, fix=fix)
    return None


def within(x: Any, pad: int) -> float | None:
    """The share of samples that hold ``pad`` between other values; None where samples are not padded with it, in runs of unlike
    lengths at one end."""
    import torch

    at = torch.arange(x.shape[1])
    real = x != pad
    some = real.any(1)
    last = (at * real).amax(1)
    first = torch.where(real, at, x.shape[1]).amin(1)
    runs = max((x.shape[1] - 1 - last, first), key=lambda r: int(r[some].max()) if bool(some.any()) else 0)
    if int(some.sum()) < 2 or int(runs[some].max()) < LEAST_RUN or len(runs[some].unique()) < 2:
        return None
    inside = (at > first[:, None]) & (at < last[:, None]) & ~real
    return float(inside[some].any(1).float().mean())


def padded_labels(model: Any, way: Way, batch: Any) -> tuple[Way, Misfit | None]:
    """Labels that are padded with a class, where the loss within the model takes the padding for samples: it changes with them."""
    loss = _loss(ran(model, way, batch).out)
    if loss is None:
        return way, None
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        y = evaluated(wrapped(expression, way.mends.get(name, ())), batch)
        if name not in way.labels or not _of_classes(y):
            continue
        for real, made in _real_places(batch, way, y):
            pads = y[~real].unique()
            if len(pads) != 1 or int(pads[0]) < 0 or not bool((y[real] == pads[0]).any()):
                continue
            other_class = y[real][y[real] != pads[0]]
            if not len(other_class):
                continue
            at = f"torch.where({made}, {{x}}, {{to}})"
            moved = way.mended(name, at.replace("{to}", str(int(other_class[0]))))
            mended = way.mended(name, at.replace("{to}", str(IGNORE)))
            other, without = (_loss(ran(model, w, batch).out) for w in (moved, mended))
            if other is None or without is None or not abs(other - loss) > NOTHING * abs(loss):  # NaN is no difference
                continue
            says = f"padded with {int(pads[0])}, which is also a class: the loss counts the padding as labels"
            fix = f"pad labels with {IGNORE}, which cross-entropy ignores; model_check.cure does so, and the model ran with it"
            return mended, Misfit(SCALE, name, says, fix=fix)
    return way, None


def _real_places(batch: Any, way: Way, y: Any) -> Iterator[tuple[Any, str]]:
    """Where the batch's own mask or lengths say that a label [B, L] is real, and the expression of it."""
    import torch

    for name, expression in accessors(batch).items():
        m = evaluated(expression, batch)
        if not hasattr(m, "is_floating_point") or is_fake(m) or expression == way.target or m is y:
            continue
        last = name.rpartition(".")[2]
        if m.shape == y.shape and name in way.names and not _is_mask(m) and not m.is_floating_point():
            if m.is_complex() or ends(m) is None:
                continue
            pad = int(m[:, -1].mode().values)  # ids that end in it, and have it nowhere else
            real, made = m != pad, f"({expression} != {pad})"
        elif m.shape == y.shape and _is_mask(m) and last.endswith(("attention_mask", "mask", "masks")):
            real, made = m.bool(), f"{expression}.bool()"
            real, made = (~real, f"~{made}") if bool(real[:, -1].sum() > real[:, 0].sum()) else (real, made)
        elif m.shape == y.shape[:1] and "len" in last and not m.is_floating_point():
            real = torch.arange(y.shape[1]) < m[:, None]
            made = f"(torch.arange({{x}}.shape[1], device={{x}}.device) < {expression}[:, None])"
        else:
            continue
        if bool(real.any()) and not bool(real.all()):
            yield real, made


def _is_mask(m: Any) -> bool:
    return bool(m.ndim == 2 and not m.is_complex() and ((m == 0) | (m == 1)).all())


def _of_classes(y: Any) -> bool:
    return bool(getattr(y, "ndim", 0) == 2 and not y.is_floating_point() and not y.is_complex() and not is_fake(y))


def counts_in_loss(model: Any, way: Way, batch: Any, name: str, pad: int) -> bool | None:
    """Whether one more place of padding in each sample changes the loss that the model gives; None: it gives none."""
    losses = (
        _loss(ran(model, w, batch).out)
        for w in (way, way.mended(name, f"torch.nn.functional.pad({{x}}, (0, 1), value={pad})"))
    )
    before, after = losses
    return None if before is None or after is None else abs(after - before) > NOTHING * max(abs(before), NOTHING)


def _loss(out: Any) -> float | None:
    """The loss that a model gives: its only single number, or what it calls so."""
    found = {n: v for n, v in flat(out) if hasattr(v, "ndim") and v.ndim == 0 and v.is_floating_point()}
    value = found.get("loss", next(iter(found.values()), None) if len(found) == 1 else None)
    return None if value is None or is_fake(value) else float(value)


def _fed(way: Way, batch: Any) -> dict[str, Any]:
    found = {}
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x = evaluated(wrapped(expression, way.mends.get(name, ())), batch)
        if hasattr(x, "is_floating_point") and not is_fake(x):
            found[name] = x
    return found


def _with(batch: Any, way: Way, field: str, value: Any) -> Any:
    """A batch in which a field that the way reads by its key or place is another tensor; None of one that is nested deeper."""
    expression = next(e for (_, e), n in zip(way.arguments, way.names, strict=True) if n == field)
    made = dict(batch) if isinstance(batch, dict) else list(batch)
    keys: Any = made if isinstance(made, dict) else range(len(made))
    key = next((k for k in keys if expression == f"batch[{k!r}]"), None)
    if key is None:
        return None
    made[key] = value
    return made

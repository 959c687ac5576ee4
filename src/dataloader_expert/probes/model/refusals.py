"""What a model refuses in a batch where no mend is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataloader_expert.errors import listed
from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated, given_to
from dataloader_expert.probes.model.mends import OF_TARGET, Misfit, is_fake
from dataloader_expert.probes.model.texts import untokenised
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import BY_KEYWORD, COLUMNS, TARGETS, Way, accessors, parameters, wrapped

FEATURES = ("in_features", "input_size", "normalized_shape", "num_features")
"""Attributes by which layers say how many features they take."""


def unsaid(attempt: Attempt, error: Exception | None) -> tuple[Misfit, ...]:
    """Inputs that the model cannot do without, though its ``forward`` gives them a default."""
    text = str(error)
    if OF_TARGET.search(text):
        return beyond_classes(attempt, text)
    if away := elsewhere(attempt):
        return (away,)
    if texts := untokenised(attempt.model, attempt.few):
        return (texts,)
    if columns := other_columns(attempt):
        return (columns,)
    if layer := refusing_layer(attempt):
        return (layer,)
    if not isinstance(attempt.few, Mapping) or ("NoneType" not in text and "specify" not in text):
        return ()
    lacks = sorted(p for p in parameters(attempt.model)[1] if p in BY_KEYWORD and p not in attempt.few)
    lacks = [p for p in lacks if p != "inputs_embeds"]
    has = ", ".join(map(str, attempt.few))
    says = f"the model takes {' and '.join(lacks)}; the batch has {has}"
    return (Misfit("key-missing", lacks[0], says, cured=False),) if lacks else ()


def beyond_classes(attempt: Attempt, text: str) -> tuple[Misfit, ...]:
    """Labels that a loss within the model refuses, of which no other numbering is known."""
    for way in attempt.ways:
        for (_, expression), name in zip(way.arguments, way.names, strict=True):
            y: Any = evaluated(expression, attempt.batch) if name in way.labels else None
            if hasattr(y, "is_floating_point") and not is_fake(y) and y.numel():
                says = f"labels from {int(y.min())} to {int(y.max())}, some of which the loss inside the model rejects: {text[:200].rstrip('.')}"
                return (Misfit("label-out-of-range", name, says, cured=False),)
    return ()


def elsewhere(attempt: Attempt) -> Misfit | None:
    """Parameters and buffers that no batch here can meet: without values, or on another device."""
    held = (
        [*attempt.model.named_parameters(), *attempt.model.named_buffers()] if hasattr(attempt.model, "buffers") else []
    )
    away = [(name, str(t.device)) for name, t in held if t.device.type != "cpu"]
    if not away:
        return None
    name, device = away[0]
    what = "has no values: it is on the meta device" if device == "meta" else f"is on {device}, and the batch is not"
    return Misfit("model-raises", "the model", f"its {name} {what}", cured=False)


def other_columns(attempt: Attempt) -> Misfit | None:
    """For a table whose columns, as one tensor, are more or fewer than the first layer takes."""
    from torch import nn

    way = next((way for way in attempt.ways if way.columns), None)
    if way is None:
        return None
    kinds = (nn.Linear, nn.RNNBase, nn.LayerNorm, nn.BatchNorm1d)
    got, error = given_to(attempt.model, way, attempt.few, *kinds)
    fed = evaluated(way.arguments[0][1], attempt.few)
    if error is None or len(got) != 1 or not got[0][1] or got[0][1][0].shape != fed.shape:
        return None
    layer = got[0][0]
    takes = next(getattr(layer, a) for a in FEATURES if hasattr(layer, a))
    takes = takes[-1] if isinstance(takes, tuple) else takes
    if takes == fed.shape[1]:
        return None
    where = {n: e for n, e in accessors(attempt.few).items() if e != way.target and not n.endswith("_lengths")}
    also = [n for n, e in where.items() if n not in way.columns and hasattr(evaluated(e, attempt.few), "ndim")]
    text = f"the batch has {fed.shape[1]} numeric columns besides the label ({listed(way.columns)})"
    text += f", and {listed(also)}, named like a target" if also else ""
    text += f"; the model takes {takes}"
    if takes <= len(way.columns) + len(also):
        text += f": choose the {takes} that it is made for"
    return Misfit("shape-mismatch", COLUMNS, text, cured=False)


def refusing_layer(attempt: Attempt) -> Misfit | None:
    """The layer that gets another number of features than it was made for."""
    from torch import nn

    way = attempt.ways[0]
    got, _ = given_to(attempt.model, way, attempt.few, nn.Linear, nn.RNNBase, nn.LayerNorm)
    layer, given = got[-1] if got else (None, [])
    if layer is None or not given or not given[0].ndim:
        return None
    x, name = given[0], next(n for n, m in attempt.model.named_modules() if m is layer)
    takes = (
        layer.in_features
        if isinstance(layer, nn.Linear)
        else getattr(layer, "input_size", None) or layer.normalized_shape[-1]
    )
    if x.shape[-1] == takes:
        return None
    before = next((m for m, _ in got[-2:-1] if features_of(m) == x.shape[-1]), None)
    if before is not None:
        source = next(n for n, m in attempt.model.named_modules() if m is before)
        text = (
            f"two of its layers do not fit each other: {name} takes {takes} features, and {source} gives {x.shape[-1]}"
        )
        return Misfit("shape-mismatch", "the model", text, cured=False)
    field, fed = reached(attempt, way, layer, x)
    text = f"{x.shape[-1]} features where the model takes {takes}: its layer"
    if fed is not None and fed.shape != x.shape:
        text = f"shape {in_words(fed)}, from which the model makes {x.shape[-1]} features, where it takes {takes}: its layer"
    text += f" {name} is {type(layer).__name__} of {takes} and gets {in_words(x)}"
    longer = None if fed is None else runs_at(attempt, way, field, fed, x.shape[-1], takes)
    text += f"; it runs with {longer} instead of {fed.shape[-1]}" if longer else ""
    return Misfit("shape-mismatch", field, text, cured=False)


def in_words(x: Any) -> str:
    return f"[B{''.join(f', {d}' for d in x.shape[1:])}]"


def reached(attempt: Attempt, way: Way, layer: Any, x: Any) -> tuple[str, Any]:
    """The field that ``x``, which a layer is given, was made from, and its tensor (None: unknown): the field itself, else the one whose
    samples in another order change ``x``."""
    fed = [
        (name, evaluated(wrapped(expression, way.mends.get(name, ())), attempt.few))
        for (_, expression), name in zip(way.arguments, way.names, strict=True)
    ]
    tensors = [(name, t) for name, t in fed if hasattr(t, "shape") and t.ndim and not is_fake(t)]
    for name, t in tensors:
        if t.shape == x.shape and bool((t == x).all()):
            return name, t
    for name, t in tensors if not is_fake(x) else ():
        got, _ = given_to(attempt.model, way.mended(name, "{x}.roll(1, 0)"), attempt.few, type(layer))
        other = next((given[0] for m, given in got[::-1] if m is layer and given), None)
        if other is not None and other.shape == x.shape and not bool(other.isclose(x, equal_nan=True).all()):
            return name, t
    return way.names[0], None


def runs_at(attempt: Attempt, way: Way, field: str, x: Any, made: int, takes: int) -> int | None:
    """The last dimension, in the ratio of what a layer takes to what it gets, with which the model runs; None: it does not."""
    n, rest = divmod(x.shape[-1] * takes, made)
    if rest or n == x.shape[-1] or made == x.shape[-1] or not n:
        return None
    places = f"torch.arange({n}, device={{x}}.device) * {x.shape[-1]} // {n}"
    return n if attempt.fails(way.mended(field, f"{{x}}[..., {places}]")) is None else None


def lacking(attempt: Attempt) -> Verdict:
    """Of a model that needs what the batch has under no name."""
    if texts := untokenised(attempt.model, attempt.few):
        return Verdict(None, (texts,), texts.says)
    there = list(attempt.few) if isinstance(attempt.few, Mapping) else []
    missing = [p for p in parameters(attempt.model)[0] if p not in there]
    text = f"the model needs {' and '.join(missing) or 'other fields'}; the batch has {', '.join(map(str, there)) or 'no names'}"
    return Verdict(None, (Misfit("key-missing", missing[0] if missing else "batch", text, cured=False),), text)


def refused(attempt: Attempt, way: Way, others: list[Way]) -> tuple[tuple[str, str, str], ...]:
    """Labels under the model's own name for them that it refuses, and runs without."""
    for other in others:
        for (p, _), name in zip(other.arguments, other.names, strict=True):
            if p in TARGETS and (p == name or name.isdigit()) and name not in way.names:
                said = attempt.said_to.get(other.code(), "")[:200]
                code = "label-out-of-range" if OF_TARGET.search(said) else "key-missing"
                return ((code, name, f"the model computes its loss from {p}, and rejects these: {said}"),)
    return ()


def features_of(layer: Any) -> int:
    """The features that a layer gives, whatever it is given."""
    if hasattr(layer, "out_features"):
        return int(layer.out_features)
    if hasattr(layer, "normalized_shape"):
        return int(layer.normalized_shape[-1])
    return int((layer.proj_size or layer.hidden_size) * (2 if layer.bidirectional else 1))

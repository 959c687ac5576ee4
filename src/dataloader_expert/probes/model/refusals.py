"""What a model refuses in a batch where no mend is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import escaped, listed
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated, given_to
from dataloader_expert.probes.model.mended_ways import places_of, refused_ids
from dataloader_expert.probes.model.mends import OF_TARGET, Misfit, is_fake
from dataloader_expert.probes.model.texts import untokenised
from dataloader_expert.probes.model.unsigned import countable
from dataloader_expert.probes.model.unstacked import CLASSES
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import (
    BY_KEYWORD,
    COLUMNS,
    TARGETS,
    Way,
    accessors,
    of_texts,
    parameters,
    wrapped,
)

FEATURES = ("in_features", "input_size", "normalized_shape", "num_features")
"""Attributes by which layers say how many features they take."""


def unsaid(attempt: Attempt, way: Way, error: Exception | None) -> tuple[Misfit, ...]:
    """What an error leaves unsaid: which field the model refuses, or lacks. ``way``: the one with which it came furthest."""
    text = str(error)
    if OF_TARGET.search(text):
        return beyond_classes(attempt, text)
    for found in (
        elsewhere(attempt),
        of_a_list(attempt, way, text),
        untokenised(attempt.model, attempt.few),
        named_classes(attempt),
        other_columns(attempt),
        missing_key(attempt, way, error),
        fractions(attempt, way, text),
        refusing_layer(attempt, way),
    ):
        if found is not None:
            return (found,)
    if not isinstance(attempt.few, Mapping) or ("NoneType" not in text and "specify" not in text):
        return ()
    lacks = sorted(p for p in parameters(attempt.model)[1] if p in BY_KEYWORD and p not in attempt.few)
    lacks = [p for p in lacks if p != "inputs_embeds"]
    has = ", ".join(map(str, attempt.few))
    says = f"the model takes {' and '.join(lacks)}; the batch has {has}"
    return (Misfit("key-missing", lacks[0], says, cured=False),) if lacks else ()


def beyond_classes(attempt: Attempt, text: str) -> tuple[Misfit, ...]:
    """Labels that a loss within the model refuses, of which no other numbering is known: a field of them, or a list with those of each
    sample."""
    for name, value in flat(attempt.batch, n=attempt.samples):
        if name.rpartition(".")[2] not in (*TARGETS, *CLASSES) and all(name not in way.labels for way in attempt.ways):
            continue
        parts = [v for v in (value if isinstance(value, list | tuple) else [value]) if hasattr(v, "is_floating_point")]
        ends = [(int(v.min()), int(v.max())) for v in map(countable, parts) if v.numel() and not is_fake(v)]
        if ends:
            least, most = min(low for low, _ in ends), max(high for _, high in ends)
            says = f"labels from {least} to {most}, some of which the loss inside the model rejects: {text[:200].rstrip('.')}"
            return (Misfit("label-out-of-range", name, says, cured=False),)
    return ()


def of_a_list(attempt: Attempt, way: Way, text: str) -> Misfit | None:
    """Samples that do not stack, for a model that takes one tensor of all."""
    if not re.search(r"not (?:list|tuple)\b|got \((?:list|tuple)\b|'(?:list|tuple)' object", text):
        return None
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        given: Any = evaluated(expression, attempt.batch)
        if isinstance(given, list | tuple) and given and all(hasattr(x, "shape") for x in given):
            shapes = [*dict.fromkeys(str(list(x.shape)) for x in given)]
            of = f"of shapes such as {listed(shapes[:2])}" if len(shapes) > 1 else f"of shape {shapes[0]}"
            says = f"a list with one tensor per sample, {of}, but the model takes a single tensor"
            fix = "resize, crop or pad samples to one shape in the dataset or in a collate_fn"
            return Misfit("shape-mismatch", name, says, cured=False, fix=fix)
    return None


def named_classes(attempt: Attempt) -> Misfit | None:
    """Labels that are names, for a model that takes numbers: it runs once they are numbered."""
    texts = {name: where for name, where in accessors(attempt.few).items() if of_texts(evaluated(where, attempt.few))}
    needed = parameters(attempt.model)[0]
    for name, where in texts.items():
        numbered = f"torch.tensor([sorted(set({where})).index(v) for v in {where}])"
        for way in attempt.ways:
            given = tuple((p, numbered if e == where else e) for p, e in way.arguments)
            names = way.names
            if given == way.arguments and len(given) < len(needed):
                given, names = (*given, (name if name in needed else None, numbered)), (*names, name)
            if given != way.arguments and attempt.fails(replace(way, arguments=given, names=names)) is None:
                says = "names of classes, as text, where the model takes class numbers"
                fix = "number them in the dataset: classes = sorted(all its names), and return classes.index(name)"
                return Misfit("dtype-mismatch", name, says, cured=False, fix=fix)
    return None


def missing_key(attempt: Attempt, way: Way, error: Exception | None) -> Misfit | None:
    """A key that the model looks up in the batch, which has no field to stand for it."""
    if not isinstance(error, KeyError) or way.names != ("batch",) or not isinstance(attempt.few, Mapping):
        return None
    key = str(error.args[0]) if error.args else ""
    if not key or key in attempt.few:
        return None
    says = f"the model looks it up; the batch has {listed([escaped(name) for name in attempt.few])}"
    fix = f"return {escaped(key)} from the dataset, or leave out of the model what needs it"
    return Misfit("key-missing", escaped(key), says, cured=False, fix=fix)


def fractions(attempt: Attempt, way: Way, text: str) -> Misfit | None:
    """Floats that a table is to look up, and that are no whole numbers, or of which only the dtype is known."""
    refused = refused_ids(attempt, way) if "'indices'" in text and "scalar types" in text else None
    name = next(iter(places_of(attempt, way, refused[1])), None) if refused is not None else None
    if refused is None or name is None:
        return None
    given = str(refused[1].dtype).removeprefix("torch.")
    says = f"dtype {given} where the model looks up int64 ids below {refused[0].num_embeddings}"
    fix = "give ids as int64: with .long() if they are whole numbers stored as floats"
    return Misfit("dtype-mismatch", name, says, cured=False, fix=fix)


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


def refusing_layer(attempt: Attempt, way: Way) -> Misfit | None:
    """The layer that gets another number of features than it was made for."""
    from torch import nn

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


def refused(attempt: Attempt, way: Way, others: list[Way]) -> tuple[Misfit, ...]:
    """What a call with fewer arguments would hide: the fields that have the names of the model's own arguments, or are its labels, and that
    it rejects. Training gives them. Of what is no loss's target, a warning: the field may be meant for something else."""
    for other in others:
        said = attempt.said_to.get(other.code(), "")[:200]
        pairs = list(zip((p for p, _ in other.arguments), other.names, strict=True))
        by_names = bool(said) and all(p == name for p, name in pairs)  # the keys of the batch are those of the model
        for p, name in pairs:
            of_loss = p in TARGETS and (p == name or name.isdigit())
            if name in way.names or not (of_loss or by_names):
                continue
            code = "label-out-of-range" if OF_TARGET.search(said) else "key-missing" if of_loss else "model-raises"
            if of_loss or "target" in said.lower():
                return (Misfit(code, name, f"the model computes its loss from {p}, and rejects these: {said}"),)
            says = f"the model takes {p}, but rejects the one in the batch, and runs without it: {said}"
            fix = f"pass {p} in the form that the model takes, or rename it if it is not meant for the model"
            return (Misfit(code, name, says, cured=False, runs=True, fix=fix),)
    return ()


def features_of(layer: Any) -> int:
    """The features that a layer gives, whatever it is given."""
    if hasattr(layer, "out_features"):
        return int(layer.out_features)
    if hasattr(layer, "normalized_shape"):
        return int(layer.normalized_shape[-1])
    return int((layer.proj_size or layer.hidden_size) * (2 if layer.bidirectional else 1))

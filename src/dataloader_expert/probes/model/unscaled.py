"""Which of the numbers that a model is fed are no measures for its layers: its targets, and what it scales by itself."""

from __future__ import annotations

from typing import Any

from dataloader_expert.probes.model.calling import evaluated, few_of, given_to
from dataloader_expert.probes.model.mends import is_fake
from dataloader_expert.probes.model.ways import Way, wrapped

MOST_FIELDS = 16
"""Each is tried by a call."""
Given = list[Any]


def unscaled(model: Any, way: Way, batch: Any) -> list[str]:
    """The fields of floats whose scale does not matter to a layer: such as a target, which reaches the loss alone, and a number a sample,
    such as a time step, of which the model makes something else before any layer gets it."""
    few, _ = few_of(batch)
    fed = {n: x for n, x in _floats(way, few).items() if not bool((x.roll(1, 0) == x).all())}
    before = _given(model, way, few) if 0 < len(fed) <= MOST_FIELDS and not way.columns else []
    if not before:
        return []
    reached = {n: not _same(before, _given(model, way.mended(n, "{x}.roll(1, 0)"), few)) for n in fed}
    if not any(reached.values()) and len(fed) == len(way.names):
        return []  # its layers are not seen
    return [n for n, x in fed.items() if not reached[n] or (x.numel() == len(x) and not _as_it_is(x, before))]


def scales_pictures(model: Any, way: Way, batch: Any) -> bool:
    """Whether the model brings pictures to another scale before its first layer: what it declares is then no matter of the batch."""
    return scaled_pictures(model, way, batch) is not None


def scaled_pictures(model: Any, way: Way, batch: Any) -> Any:
    """The pictures as the first layer gets them, where the model brings them to another scale before; else None."""
    few, _ = few_of(batch)
    pictures = [x for x in _floats(way, few).values() if x.ndim > 2]
    first = next((t for t in _given(model, way, few) if any(t.shape == x.shape for x in pictures)), None)
    unlike = first is not None and not any(x.shape == first.shape and bool((x == first).all()) for x in pictures)
    return first if unlike else None


def _floats(way: Way, few: Any) -> dict[str, Any]:
    found = {}
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x = evaluated(wrapped(expression, way.mends.get(name, ())), few)
        raw = evaluated(expression, few)  # a cure may have made whole numbers of it
        of_floats = any(getattr(v, "is_floating_point", lambda: False)() for v in (x, raw))
        if of_floats and x.ndim and not is_fake(x):
            found[name] = x
    return found


def _given(model: Any, way: Way, few: Any) -> Given:
    """What the layers that have parameters are given, with the same random numbers each time."""
    import torch

    kinds = {type(m) for m in model.modules() if m is not model and any(True for _ in m.parameters(recurse=False))}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        got, _ = given_to(model, way, few, *kinds) if kinds else ([], None)
    return [x for _, given in got for x in given]


def _same(before: Given, after: Given) -> bool:
    return len(before) == len(after) and all(
        a.shape == b.shape and bool(a.isclose(b, equal_nan=True).all()) for a, b in zip(before, after, strict=True)
    )


def _as_it_is(x: Any, given: Given) -> bool:
    """Whether a layer gets the number of each sample, alone or among others."""
    each = x.reshape(len(x), 1)
    rows = (t.reshape(len(t), -1) for t in given if t.ndim and len(t) == len(x) and t.numel())
    return any(bool((t == each).all(0).any()) for t in rows)

"""Models that make the same of each of their inputs, as of two images their embeddings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated
from dataloader_expert.probes.model.ways import Way, wrapped


def of_each_input(attempt: Attempt, way: Way, out: Any) -> bool:
    """Whether outputs change places as inputs do: the loss compares them with each other, and none with the target. Two heads, such as
    one of auxiliary logits, stay as they are, or become others."""
    n = len(way.arguments)
    if n < 2 or not isinstance(out, list | tuple) or len(out) != n or not all(hasattr(v, "shape") for v in out):
        return False
    fed: Any = [
        evaluated(wrapped(expression, way.mends.get(name, ())), attempt.few)
        for (_, expression), name in zip(way.arguments, way.names, strict=True)
    ]
    if len({(tuple(getattr(x, "shape", ())), getattr(x, "dtype", None)) for x in fed}) > 1:
        return False
    moved = [*way.arguments[1:], way.arguments[0]]
    pairs = tuple((p, expression) for (p, _), (_, expression) in zip(way.arguments, moved, strict=True))
    turned = attempt.run(replace(way, arguments=pairs, names=(*way.names[1:], way.names[0])), whole=True)
    return turned.error is None and all(
        a.shape == b.shape and bool(a.isclose(b, rtol=1e-3, atol=1e-5, equal_nan=True).all())
        for a, b in zip((*out[1:], out[0]), turned.out, strict=True)
    )

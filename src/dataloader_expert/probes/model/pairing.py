"""Differences of an output and a target of unlike shapes, which torch broadcasts without a word where the loss is written by hand."""

from __future__ import annotations

import contextlib
from typing import Any

from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import called
from dataloader_expert.probes.model.expected import fed, same
from dataloader_expert.probes.model.mends import is_fake
from dataloader_expert.probes.model.ways import Way

DIFFERENCES = ("sub", "rsub", "__sub__", "__rsub__", "subtract")
OF_LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def over_all_pairs(attempt: Attempt, way: Way) -> list[str]:
    """The fields, [B, …], of which the model takes the difference from something that it learns, [B, 1, …], or the other way round: that
    of each sample from every other."""
    from torch.overrides import TorchFunctionMode

    batch = attempt.few
    fields = {name: x for name, x in fed(way, batch).items() if x.ndim and len(x) == attempt.n and not is_fake(x)}
    if attempt.n < 2 or len(fields) < 2:
        return []
    found: list[str] = []

    class Differences(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = kwargs or {}
            if getattr(func, "__name__", "") in (*DIFFERENCES, *OF_LOSSES):
                pair = [v for v in (*args, *named.values()) if hasattr(v, "requires_grad")][:2]
                for learnt, given in (pair, pair[::-1]) if len(pair) == 2 else ():
                    if crossed(learnt, given):
                        found.extend(name for name, x in fields.items() if same(x, given))
            return func(*args, **named)

    with contextlib.suppress(Exception), Differences():  # that it runs is known
        called(attempt.model, way, attempt.few, training=True)
    return found


def crossed(learnt: Any, given: Any) -> bool:
    """Whether the one follows from parameters, the other does not, and one of them has a dimension of 1 after the samples'."""
    if not learnt.requires_grad or given.requires_grad or not given.ndim or len(given) == 1:
        return False
    a, b = tuple(learnt.shape), tuple(given.shape)
    return (a[:1] + a[2:] == b and a[1:2] == (1,)) or (b[:1] + b[2:] == a and b[1:2] == (1,))

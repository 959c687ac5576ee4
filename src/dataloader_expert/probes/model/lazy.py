"""Models with lazy layers, which take their sizes from the first batch that they are given."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from dataloader_expert.errors import RequestError


def is_lazy(model: Any) -> bool:
    """Whether some of its parameters have no shape yet."""
    from torch.nn.parameter import is_lazy as unshaped

    return any(unshaped(t) for t in (*model.parameters(), *model.buffers()))


def settled(model: Any, calls: Iterable[Callable[[Any], Any]]) -> Any:
    """The model, called in one of these ways after another until its lazy layers have their sizes.

    Raises:
        RequestError: if they have none after all of them.
    """
    import torch

    if not is_lazy(model):
        return model
    for call in calls:
        with contextlib.suppress(Exception), torch.no_grad():  # it may refuse this way of calling it
            call(model)
        if not is_lazy(model):
            return model
    raise RequestError("dataset-raised", "its lazy layers have no sizes: it took no batch of this loader")

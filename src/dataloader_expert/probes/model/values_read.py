"""Values that a model reads in Python, as a guard on the largest label does: fake tensors have none, so a small real step
tells them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from dataloader_expert.facts import Json

T = TypeVar("T")
SIZE = 2
"""Samples of the real step."""
Values = Mapping[str, Sequence[Json]]
"""By line of code, what was read there, in order."""
OTHERS = ("torch", "dataloader_expert")
"""Packages whose frames lie between the model's code and the read."""


class Answers:
    """Gives what was read at the same line before, from the beginning again where it is read more often."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.times: dict[str, int] = {}

    def next(self) -> Json:
        """Raises:
        LookupError: if nothing was read at this line.
        """
        here = line()
        known = self.values.get(here)
        if not known:
            raise LookupError(here)
        at = self.times.get(here, 0)
        self.times[here] = at + 1
        return known[at % len(known)]


def line() -> str:
    """The innermost line of code that is neither torch's nor ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OTHERS:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def answered(
    trace: Callable[[Values | None], T], read: Callable[[], Values], known: Values | None
) -> tuple[T, Values | None]:
    """What a trace gives, and what it was told: ``known``, else, if the model reads values, what ``read`` finds.

    Raises:
        DataDependentOutputException: if it reads others still.
    """
    from torch._subclasses.fake_tensor import DataDependentOutputException

    try:
        return trace(known), known
    except DataDependentOutputException:
        if known is not None:
            raise
    values = read()
    return trace(values), values


@contextmanager
def reading() -> Iterator[dict[str, list[Json]]]:
    """Within it the dict is filled with what operations on real tensors read."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: dict[str, list[Json]] = {}

    class Reading(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if func is torch.ops.aten._local_scalar_dense.default and not isinstance(out, complex):
                seen.setdefault(line(), []).append(out)
            return out

    class Lists(TorchFunctionMode):
        """``tolist`` passes by the operation that reads one value."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.Tensor.tolist and not args[0].is_complex():
                seen.setdefault(line(), []).extend(args[0].flatten().numpy(force=True).tolist())
            return func(*args, **(kwargs or {}))

    with Lists(), Reading():  # type: ignore[no-untyped-call]  # torch's
        yield seen

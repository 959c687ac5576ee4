"""With which arguments the user's DataLoaders were made: a class of theirs may have changed its attributes since."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_GIVEN: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def given(loader: Any) -> dict[str, Any] | None:
    """The arguments by name that torch's own constructor received; None if that was not seen."""
    return _GIVEN.get(loader)


@contextmanager
def noted() -> Iterator[None]:
    """Notes them for loaders that are made meanwhile."""
    import torch.utils.data as td

    plain = td.DataLoader.__init__
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def made(self: Any, *args: Any, **keywords: Any) -> None:
        plain(self, *args, **keywords)
        arguments = signature.bind(self, *args, **keywords).arguments
        arguments.pop("self")
        with suppress(TypeError):  # a class that compares itself may not be hashable
            _GIVEN[self] = arguments

    td.DataLoader.__init__ = made  # type: ignore[method-assign]  # as long as the user's code makes its loader
    try:
        yield
    finally:
        td.DataLoader.__init__ = plain  # type: ignore[method-assign]

"""What a weakness is, and how it is planted: by making our own code have it for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

Plant = Callable[[], AbstractContextManager[None]]
Change = tuple[object, str, object]


@dataclass(frozen=True)
class Weakness:
    """One thing that a system did badly.

    Args:
        system: whose it was.
        says: what was wrong, in a few words.
        test: pytest's id of the test that guards against it.
        plant: a context in which our code has the weakness.
    """

    system: str
    says: str
    test: str
    plant: Plant


def planted(*changes: Change) -> Plant:
    """A plant that sets attributes, each as (owner, name, value), and puts them back."""

    @contextmanager
    def plant() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for owner, name, value in changes:
                patch.setattr(owner, name, value)
            yield

    return plant


class Instead:
    """A module with some of its names replaced, for one of its users alone."""

    def __init__(self, module: object, **names: object) -> None:
        self._module = module
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

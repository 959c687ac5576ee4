"""One asker for all tests of a process: the measuring hosts start once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.making.asking import Asker


@pytest.fixture(scope="session")
def asker() -> Iterator[Asker]:
    asker = Asker()
    yield asker
    asker.close()


@pytest.fixture(scope="session")
def quickly(asker: Asker) -> Asker:
    """The asker with the tools' own recipes in shorter blocks, without the experiments on a user's loader."""
    return asker.quick()


@pytest.fixture(scope="session")
def thoroughly(asker: Asker) -> Asker:
    """The same, with the experiments."""
    return asker.quick(experiments=True)

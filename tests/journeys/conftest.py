"""One asker for all tests of a process: the measuring hosts start once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making.asking import Asker

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests in this folder are journeys."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.journey)


@pytest.fixture(scope="session")
def quickly(asker: Asker) -> Asker:
    """The asker with the tools' own recipes in shorter blocks, without the experiments on a user's loader."""
    return asker.quick()


@pytest.fixture(scope="session")
def thoroughly(asker: Asker) -> Asker:
    """The same, with the experiments."""
    return asker.quick(experiments=True)

"""One asker for a module's tests: the measuring host starts once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.making.asking import Asker


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    asker = Asker()
    yield asker
    asker.close()

"""Log lines as clients keep them: plain, one a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import cast

RICH = "rich.console"


@contextmanager
def plain_logs() -> Iterator[None]:
    """Within it the SDK finds no rich, through which it would log otherwise.

    Rich folds lines to the width of a terminal, which a client's log is not, and importing it takes 19 ms CPU of each
    start. The SDK has no setting for that; it falls back to plain lines where rich cannot be imported.
    """
    before = sys.modules.get(RICH)
    sys.modules[RICH] = cast("ModuleType", None)  # the import system's own sign for what must not be imported
    try:
        yield
    finally:
        if before is None:
            del sys.modules[RICH]
        else:
            sys.modules[RICH] = before

"""Log messages as clients store them: plain, one per line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import cast

RICH = "rich.console"


@contextmanager
def plain_logs() -> Iterator[None]:
    """Inside this context the SDK cannot import rich, which it would otherwise log through.

    Rich wraps lines to the width of a terminal, which a client's log is not, and importing it takes 19 ms of CPU at each
    start. The SDK has no setting for it; it falls back to plain lines if rich cannot be imported.
    """
    before = sys.modules.get(RICH)
    sys.modules[RICH] = cast("ModuleType", None)  # the import system's own marker: must not be imported
    try:
        yield
    finally:
        if before is None:
            del sys.modules[RICH]
        else:
            sys.modules[RICH] = before

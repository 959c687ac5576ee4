"""Arguments of tools in advice, as the options of the command line that a person types."""

from __future__ import annotations

import re
from collections.abc import Iterable


def as_options(text: str, arguments: Iterable[str]) -> str:
    """``raise budget_s`` becomes ``raise --budget-s``, and ``pass label=`` ``pass --label``; other mentions stay."""
    names = "|".join(sorted(map(re.escape, arguments), key=len, reverse=True))
    told = re.compile(rf"\b(raise|larger|pass|give) ({names})(?:=(\S)?|\b)")

    def option(found: re.Match[str]) -> str:
        value = found[3] or ""
        between = " " if value.isalnum() or value in ("'", '"') else ""
        return f"{found[1]} --{found[2].replace('_', '-')}{between}{value}"

    return told.sub(option, text)

"""Arguments of tools in advice, as the options of the command line that a person types."""

from __future__ import annotations

import re
from collections.abc import Iterable


def as_options(text: str, arguments: Iterable[str]) -> str:
    """``raise budget_s`` becomes ``raise --budget-s``, and ``label=`` ``--label``; words that are no arguments stay."""
    names = [re.escape(name) for name in arguments if name != "source"]
    long = "|".join(name for name in names if "_" in name)
    every = "|".join(sorted(names, key=len, reverse=True))
    told = re.compile(
        rf"(?P<before>\b(?:raise|larger|pass|give|or|and|with) )(?P<long>{long})\b=?"
        rf"|(?P<verb>\b(?:pass|give) )(?P<named>{every})\b(?:=(?=(?P<value>[\w'\"]))|=)?"
        rf"|(?<![\w.])(?P<bare>{every})=(?=[\s,.;:)]|$)"
    )

    def option(found: re.Match[str]) -> str:
        name = found["long"] or found["named"] or found["bare"]
        before = found["before"] or found["verb"] or ""
        return f"{before}--{name.replace('_', '-')}{' ' if found['value'] else ''}"

    return told.sub(option, text)

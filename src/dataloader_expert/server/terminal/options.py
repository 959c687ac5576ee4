"""Arguments of tools in advice, as the options of the command line that a person types."""

from __future__ import annotations

import re
from collections.abc import Iterable


def as_options(text: str, arguments: Iterable[str]) -> str:
    """``raise budget_s`` becomes ``raise --budget-s``, and ``label=`` ``--label``; settings of a DataLoader, such as
    ``num_workers=2``, and words that are no arguments stay."""
    listed = sorted((name for name in arguments if name != "source"), key=len, reverse=True)
    name, long = ("|".join(map(re.escape, names)) for names in (listed, [n for n in listed if "_" in n]))
    told = re.compile(
        rf"\b(?P<larger>raise|larger) (?P<long>{long})\b(?!=)"
        rf"|\b(?P<verb>pass|give) (?P<named>{name})\b(?:=(?=(?P<value>[\w'\"]))|=)?(?:, or (?P<other>{name})\b(?!=))?"
        rf"|(?<![\w.])(?P<bare>{name})=(?=[\s,.;:)]|$)"
    )

    def option(found: re.Match[str]) -> str:
        words = [word for word in (found["larger"], found["verb"]) if word]
        words.append(_dashed(found["long"] or found["named"] or found["bare"]))
        other = f", or {_dashed(found['other'])}" if found["other"] else ""
        return " ".join(words) + (" " if found["value"] else "") + other

    return told.sub(option, text)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"

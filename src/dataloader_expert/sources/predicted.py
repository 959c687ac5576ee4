"""What the files of a table say of the columns that are predicted: those that only the training split has, those that files of answers
hold, those that a form for predictions asks for, and those that are numbered as targets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dataloader_expert.errors import listed

_NUMBERED = re.compile(r"(y|targets?|outputs?|x)_?\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Predicted:
    """``asked``: in the order of ``form``, the file that asks for them."""

    withheld: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    asked: tuple[str, ...] = ()
    form: str = ""

    def several(self, names: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """Those of a table's columns that are predicted together, and how this is known; none where it is one, or nothing tells.

        Columns that a form asks for are all of them: what else training alone has is known as late as they are.
        """
        for told, how in (
            (self.asked, f"{{}} are what {self.form} asks for"),
            (() if self.asked else self.withheld, "{} are in the training split only"),
            (() if self.asked else self.answered, "{} are the columns of a file of labels"),
            (_numbered(names), "{} are numbered as targets are"),
        ):
            found = tuple(name for name in names if name in told)
            if len(found) > 1:
                return found, how.format(listed(found, 3))
        return (), ""


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    """The last columns where they are numbered as targets, such as ``Y1`` and ``Y2`` after ``X1`` to ``X8``; none of coordinates, of which
    each ``x`` has its ``y``."""
    stems = [match[1].lower().removesuffix("s") if (match := _NUMBERED.fullmatch(name)) else None for name in names]
    last = stems[-1] if stems else None
    if last in (None, "x"):
        return ()
    n = stems.count(last)
    if stems[-n:] != [last] * n or (last == "y" and stems.count("x") <= n):
        return ()
    return tuple(names[-n:])

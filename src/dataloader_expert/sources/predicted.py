"""What the files of a table say of the columns that are predicted: those that only the training split has, those that files of answers
hold, those that a form for predictions asks for, and those that are numbered as targets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dataloader_expert.errors import listed
from dataloader_expert.sources.roles import DISTINCT_KEY, is_epoch

_NUMBERED = re.compile(r"(y|targets?|outputs?|x)_?\d+", re.IGNORECASE)
RATED = ("f0", "f1", "f2", "f3")
"""The columns, without names, of users, what they rate, how, and when, which some files do not say."""
MOST_STARS, FEWEST, RECUR = 10, 20, 0.9
"""The most stars, the fewest ratings that show what they are, and the most different users or things for each of them."""
PAIRS = 0.85
"""The least share of different pairs where times say that these are ratings: people rate again."""


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


def is_rating(values: Sequence[Any]) -> bool:
    """Whether numbers are stars, in whole or half ones: few, and none that is large."""
    return bool(values) and all(isinstance(v, int | float) and 0 <= v <= MOST_STARS and 2 * v % 1 == 0 for v in values)


def rating_of_pairs(columns: Mapping[str, Sequence[Any]]) -> str | None:
    """Of columns without names the third, where it holds ratings: the first two are numbers that recur, and hardly any pair of them does; the
    last, if there is one, is when they were given."""
    if tuple(columns) not in (RATED, RATED[:3]):
        return None
    users, things, stars, *times = columns.values()
    whole = all(type(v) is int for of in (users, things, *times) for v in of)
    if not whole or len(users) < FEWEST or {*map(len, columns.values())} != {len(users)} or not is_rating(stars):
        return None
    recur = all(MOST_STARS < len({*of}) <= RECUR * len(of) for of in (users, things))
    dated = bool(times) and all(map(is_epoch, times[0]))
    apart = len({*zip(users, things, strict=True)}) >= (PAIRS if dated else DISTINCT_KEY) * len(users)
    return RATED[2] if recur and apart and (dated or not times) else None

"""Groups that are written differently in two splits: P-01798 in one, pat1798 in the other."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

NUMBER = re.compile(r"\d+")
USUAL = 0.95
"""The least share of a split's groups that are written in one way."""
LEAST, DEVIATIONS = 5, 6.0
"""The fewest numbers in common, and by how many standard deviations they must exceed what is expected by chance."""


class Respelled(NamedTuple):
    """``pairs``: names of the same number in two splits; ``expected``: how many there would be by chance."""

    splits: tuple[str, str]
    pairs: list[tuple[str, str]]
    expected: float


def respelled(groups: Mapping[str, Mapping[str, int]]) -> Respelled | None:
    """The splits whose groups are written in two ways and have more numbers in common than numbers dealt at random would have.

    Two splits that each count from 1 have all numbers in common by chance.
    """
    by_split: dict[str, dict[int, str]] = {}
    forms: dict[str, Counter[str]] = {}
    for name, splits in groups.items():
        found = NUMBER.findall(name)
        for split in splits if len(splits) == 1 and len(found) == 1 and len(found[0]) < 19 else ():
            by_split.setdefault(split, {})[int(found[0])] = name
            # zeros in front are a way of writing numbers
            forms.setdefault(split, Counter())[NUMBER.sub("0" * (found[0][0] == "0") + "1", name)] += 1
    for one, two in combinations(sorted(by_split), 2):
        a, b = by_split[one], by_split[two]
        ways = [{form for form, n in forms[s].items() if n > (1 - USUAL) * forms[s].total()} for s in (one, two)]
        common = sorted(a.keys() & b.keys())
        span = max(*a, *b) - min(*a, *b) + 1
        expected = len(a) * len(b) / span
        surprising = len(common) > expected + DEVIATIONS * math.sqrt(max(1.0, expected))
        if len(common) >= LEAST and surprising and not ways[0] & ways[1]:
            return Respelled((one, two), [(a[k], b[k]) for k in common], expected)
    return None

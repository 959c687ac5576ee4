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
ASIDE = 0.02
"""The share of a split's numbers at either end that is set aside."""


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
        if len(common) < LEAST or ways[0] & ways[1]:
            continue
        expected = by_chance(sorted(a), sorted(b))
        if len(common) > expected + DEVIATIONS * math.sqrt(max(1.0, expected)):
            return Respelled((one, two), [(a[k], b[k]) for k in common], expected)
    return None


def by_chance(one: list[int], two: list[int]) -> float:
    """How many numbers two splits would have in common if each had drawn its own from those that both may have.

    These lie where both have numbers, some far ones aside, and may go in steps.
    """

    def middle(numbers: list[int]) -> list[int]:
        aside = math.ceil(ASIDE * len(numbers))
        return numbers[aside : len(numbers) - aside] or numbers

    low, high = (f(g(middle(x)) for x in (one, two)) for f, g in ((max, min), (min, max)))
    near = [[n for n in x if low <= n <= high] for x in (one, two)]
    step = math.gcd(*(n - low for x in near for n in x)) or 1
    return len(near[0]) * len(near[1]) / max(1, (high - low) // step + 1)

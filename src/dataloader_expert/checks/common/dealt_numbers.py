"""Whole numbers that name things, such as swimmers, dealt out to splits: how large they are says nothing, nor that they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from itertools import combinations, pairwise

FEWEST, RECURS = 6, 5
"""The fewest different numbers, and how often each comes on average at least."""
SPARSE = 10
"""How many times as wide as their number the range of numbers is that are codes, at least."""
MANY, MOSTLY = 20, 0.95
"""The fewest different numbers whose equal shares of the rows are no chance; the share of them that must come equally often and follow
another one."""


def name_things(by_split: Mapping[str, Set[int]], rows: int) -> bool:
    """Whether numbers, by split, each come again and again, none in two splits, and are running numbers from 0 or 1 on or scattered
    codes. A quantity of which each split has a range of its own, such as an age, is neither."""
    known = set().union(*by_split.values())
    if len(by_split) < 2 or len(known) < FEWEST or rows < RECURS * len(known):
        return False
    if any(one & other for one, other in combinations(by_split.values(), 2)):
        return False
    low, high = min(known), max(known)
    return (low in (0, 1) and 2 * len(known) >= high - low + 1) or high - low >= SPARSE * len(known)


def dealt_equally(numbers: Iterable[float]) -> bool:
    """Whether numbers count things of each of which there are as many samples, such as four pictures of each wheel of cheese: they
    follow each other, in a few series at most. What is measured does not come equally often."""
    sizes = Counter(numbers)
    if len(sizes) < MANY or not all(float(v).is_integer() for v in sizes):
        return False
    [(usual, equal)] = Counter(sizes.values()).most_common(1)
    follow = sum(later - earlier == 1 for earlier, later in pairwise(sorted(sizes)))
    return usual > 1 and equal >= MOSTLY * len(sizes) and follow >= MOSTLY * (len(sizes) - 1)

"""How many pairs of equal rows chance explains: where rows hold few distinct values, equal rows need be no copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.fingerprint import digests, mix
from dataloader_expert.sources.base import Block

KINDS = {"number", "category", "boolean", "time"}
LOOKED_AT = 1 << 14
"""About so many rows, spread evenly over the data, tell how frequent values are."""
ALIKE = 1.25
"""The factor by which as many pairs as expected may differ from those found; fields that depend on one another differ by
more, and then nothing is explained."""
DEVIATIONS = 2.0
"""Standard deviations of a number of pairs that are luck."""
LEVELS = 32
"""Distinct numbers from which neighbouring ones tell how often each is expected."""
HEAVY = 0.05
"""The share of rows from which on a number comes again by nature, as the 0 of days without rain: no copies make it that frequent."""
TOGETHER = 100
"""The fewest rows that tell by themselves how frequent values are."""
ITERATIONS = 100
FIELDS, CLOSEST, NEAR, RECURS = 64, 6, 20, 5
"""The most fields that may depend on one another; how many of them are tried, and the fewest pairs that differ in one of them alone; in how
many different rows, on average, each value of each field must be: rows that are equal in a rarer one, such as a name, are edited copies."""
LEAST = 3.0
"""Pairs expected from which on chance explains any: that there were none would be odd."""


class Chance:
    """The frequencies of values in rows that hold single values only; of other samples nothing is kept."""

    def __init__(self, context: Context, names: Sequence[str], rounded: bool = False) -> None:
        """``rounded``: numbers come to a few digits, so that neighbouring ones need not be one step apart."""
        fields = {f.name: f for f in context.fields}
        names = [n for n in names if n not in fields or fields[n].dtype != "null"]  # of no values
        repeat = context.roles.repeats  # then lists are like other values
        plain = all(n in fields and (repeat or (fields[n].kind in KINDS and not fields[n].shape)) for n in names)
        # of a stream of unknown length it is not known which rows to keep
        self.names = list(names) if plain and context.samples is not None else []
        self.numbers = [bool(not rounded and fields[n].kind == "number" and not fields[n].shape) for n in self.names]
        self.stride = max(1, (context.samples or 0) // LOOKED_AT)
        self.parts: list[Any] = []
        """Of some rows, uint64 [rows, fields]: numbers as the bits of a float, other values as digests."""

    def see(self, block: Block) -> None:
        import numpy as np

        if not self.names:
            return
        at = np.flatnonzero(block.indices() % self.stride == 0)
        if len(at):
            some = block.take(at)
            self.parts.append(np.stack([self._codes(some, i) for i in range(len(self.names))], axis=1))

    def _codes(self, block: Block, i: int) -> Any:
        import numpy as np

        column = block.columns.get(self.names[i])
        if not self.numbers[i] or (column is not None and not isinstance(column.values, np.ndarray)):
            self.numbers[i] = False
            return digests(block, [self.names[i]])
        made = np.full(block.samples, np.nan) if column is None else column.values.astype(np.float64) + 0.0
        if column is not None and column.nulls is not None:
            made = np.where(column.nulls, np.nan, made)
        return np.where(np.isnan(made), np.nan, made).view(np.uint64)  # every NaN has the same bits

    def merge(self, other: Chance) -> None:
        self.parts += other.parts
        self.numbers = [a and b for a, b in zip(self.numbers, other.numbers, strict=True)]

    def equal(self, found: float) -> float:
        """The probability that two rows are equal by chance: if fields are independent, or if two of them are among rows that are equal in
        all others, whichever is nearer to the share of pairs ``found`` equal; 0 where that cannot be told."""
        import numpy as np

        if sum(map(len, self.parts)) < 2:
            return 0.0
        seen = np.concatenate(self.parts)
        independent = self._independent(seen)
        given = given_others(seen) if found > 0 else 0.0
        return (
            min(independent, given, key=lambda p: abs(math.log(p / found)))
            if independent and given
            else max(independent, given)
        )

    def _independent(self, seen: Any) -> float:
        """What is 0 in one field is often 0 in others, too: rows with the same numbers at such values are taken by themselves."""
        rows, total = len(seen), 0.0
        for own in self._alike(seen):
            part = seen[own]
            total += self._equal(part) * len(part) * (len(part) - 1)
        return total / (rows * (rows - 1))

    def _alike(self, seen: Any) -> list[Any]:
        """Positions of rows, grouped by which fields have a frequent value and which one; rare combinations are one group."""
        import numpy as np

        at_heavy = np.zeros(len(seen), np.uint64)
        for i in range(seen.shape[1]):
            values, which, counts = np.unique(seen[:, i], return_inverse=True, return_counts=True)
            heavy = counts > HEAVY * len(seen)
            if self.numbers[i] and heavy.any() and len(values) >= LEVELS:
                at_heavy = mix(at_heavy ^ np.where(heavy[which], which + 1, 0).astype(np.uint64))
        _, which, counts = np.unique(at_heavy, return_inverse=True, return_counts=True)
        which = np.where((counts >= TOGETHER)[which], which, len(counts))
        order = np.argsort(which, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(which[order])) + 1)

    def _equal(self, seen: Any) -> float:
        """The probability within one such group.

        Copies raise the frequencies too, so each field is compared in pairs that differ somewhere. Of independent fields
        that are equal with probabilities p, such pairs are equal in one with q = (p - P) / (1 - P), where P is the product
        of all p: the least P that agrees with the q is found by iteration from 0.
        """
        import numpy as np

        pairs = len(seen) * (len(seen) - 1) / 2
        equal = pairs_of(np.unique(seen, axis=0, return_counts=True)[1])
        if equal >= pairs:
            return 0.0
        each = [pairs_of(np.unique(column, return_counts=True)[1]) for column in seen.T]
        q = (np.array(each) - equal) / (pairs - equal)
        # copies and values that come again look the same, but rounded values also have neighbours
        near = np.array(
            [beside(seen[:, i].view(np.float64)) if number else 0.0 for i, number in enumerate(self.numbers)]
        )
        known = float(np.prod(near[near > 0] / pairs))
        others = q[near == 0]
        every = 0.0
        for _ in range(ITERATIONS if len(others) else 0):
            every = known * float(np.prod(others * (1 - every) + every))
        return every if len(others) else known


def given_others(seen: Any) -> float:
    """The probability that two rows are equal, from pairs that differ in one or two fields: of two fields that are independent where all others
    are equal, as many pairs are equal in both, to those in one, as in the other to those in neither; the median of several such fields.
    Copies do not count, and the other fields may depend on one another. 0 if hardly any rows differ so little, or a field
    has many values. ``seen``: uint64 [rows, fields].
    """
    import numpy as np

    if not 2 <= seen.shape[1] <= FIELDS:
        return 0.0
    columns = [mix(column + np.uint64(i)) for i, column in enumerate(seen.T)]
    whole = sum(columns[1:], columns[0])
    if RECURS * max(len(np.unique(column)) for column in columns) > len(np.unique(whole)):
        return 0.0

    def pairs(rows: Any) -> int:
        return pairs_of(np.unique(rows, return_counts=True)[1])

    equal = pairs(whole)
    but = {i: pairs(whole - column) - equal for i, column in enumerate(columns)}
    closest = sorted((i for i in but if but[i] >= NEAR), key=lambda i: -but[i])[:CLOSEST]
    expected = []
    for one, other in combinations(closest, 2):
        neither = pairs(whole - columns[one] - columns[other]) - equal - but[one] - but[other]
        if neither >= NEAR:
            expected.append(but[one] * but[other] / neither)
    return float(np.median(expected)) / (len(seen) * (len(seen) - 1) / 2) if expected else 0.0


def beside(values: Any) -> float:
    """The pairs of equal values that are expected of rounded measurements: as many as of values one step of rounding apart, half
    of them on each side. Values of many rows are equal as often as they are. 0 where there are few levels, or hardly any
    next to one another: such values are not rounded."""
    import numpy as np

    levels, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    heavy = counts > HEAVY * len(values)
    own = pairs_of(counts[heavy])
    levels, counts = levels[~heavy], counts[~heavy]
    if len(levels) < LEVELS:
        return 0.0
    step = float(np.diff(levels).min())
    gaps = np.diff(levels) < 1.5 * step
    return own + float((counts[:-1] * counts[1:])[gaps].sum()) / 2


def explains(expected: float, found: int, least: float = LEAST) -> bool:
    """Whether chance explains so many pairs of equal rows: about as many are expected, and ``least`` at least or more than there
    are."""
    luck = DEVIATIONS * math.sqrt(expected)
    enough = expected >= least or 0 < found <= expected
    return enough and expected / ALIKE - luck <= found <= ALIKE * expected + luck


def pairs_of(sizes: Any) -> int:
    """Pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())

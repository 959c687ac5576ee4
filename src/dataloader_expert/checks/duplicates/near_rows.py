"""Rows whose floats are equal to three significant digits, after the leading ones that the values of a field have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import ROWS, digests
from dataloader_expert.checks.duplicates.chance import LEAST, Chance, explains
from dataloader_expert.checks.duplicates.pairs import (
    DUPLICATES,
    NEAR,
    Seen,
    content_digests,
    judge_near,
    near_fact,
    near_groups,
)
from dataloader_expert.checks.duplicates.spilling import HELD
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block, Column

RULE, BEYOND = "equal to three significant digits", ", not counting leading digits that all values of a field share"
LEAST_FIELDS, MOST_FIELDS = 3, 8
"""Rows with fewer numbers may agree by chance, those with more fields hardly do."""


class NearRows(Check):
    ids = ("near-duplicates", "splits-near-overlap")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context, HELD)
        few = self.kept.names if len(self.kept.names) <= MOST_FIELDS else []
        self.chance = Chance(context, few, rounded=True)

    def applies(self) -> bool:
        kinds = {f.name: f.kind for f in self.context.fields}
        rich = any(kinds[n] in ("image", "text", "tokens") for n in self.kept.names)
        return self.context.near and bool(self.kept.measured) and not rich

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if block.samples and self.applies():
            rounded = Block(block.unit, block.columns | self._rounded(block))
            self.chance.see(rounded)
            exact = content_digests(block, self.kept.exact) if self.kept.exact else None
            self.kept.see(block, digests(rounded, self.kept.measured, exact))

    def _rounded(self, block: Block) -> dict[str, Column]:
        import numpy as np

        columns: dict[str, Column] = {}
        for name in self.kept.measured:
            column = block.columns.get(name)
            if column is None:
                continue
            values, more = column.values, 10.0 ** self.context.offsets.get(name, 0)
            if isinstance(values, np.ndarray):
                values = _round(values, more)
            elif column.stacked is not None:
                values = list(_round(column.stacked, more))
            else:
                values = [_round(v, more) if isinstance(v, np.ndarray) else v for v in values]
            columns[name] = Column(values, column.nulls)
        return columns

    def merge(self, other: Check) -> None:
        assert isinstance(other, NearRows)
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.chance.merge(other.chance)

    def facts(self) -> Iterable[Fact]:
        if not self.kept.held and not self.kept.spills:
            return
        rows, groups = near_groups(self.kept)
        rule = f"{RULE}{BEYOND}" if self.context.offsets.keys() & {*self.kept.measured} else RULE
        missed = "near duplicates of rows that differ by more than rounding"
        fact = near_fact(self.kept, rows, "rows", groups, rule, self.evidence(), missed)
        extra, pairs = fact.value["extra"], self.seen * (self.seen - 1) / 2
        expected = self.chance.equal(extra / pairs) * pairs if extra else 0.0
        yield replace(fact, value=fact.value | {"expected_pairs": round(expected, 3)})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        numbers = sum(max(1, _size(f.shape)) for f in self.context.fields if f.name in self.kept.measured)
        equal, near = facts.find(DUPLICATES), facts.find(NEAR, of="rows")
        by_chance = equal is not None and equal.value["expected_pairs"] >= LEAST  # then more are equal after rounding
        by_chance |= near is not None and explains(near.value["expected_pairs"], near.value["extra"], 0)
        return judge_near(facts, "rows", sure=numbers >= LEAST_FIELDS and not by_chance)


def _size(shape: tuple[int | None, ...]) -> int:
    size = 1
    for x in shape:
        size *= x or LEAST_FIELDS
    return size


def _round(values: Any, more: float = 1.0) -> Any:
    """Rounded to three significant digits; to ``more``, a power of ten, times that."""
    import numpy as np

    if values.size > ROWS:  # temporaries of this size stay in the CPU cache
        flat, out = values.reshape(-1), np.empty(values.size)
        for at in range(0, flat.size, ROWS):
            out[at : at + ROWS] = _round(flat[at : at + ROWS], more)
        return out.reshape(values.shape)
    values = np.ascontiguousarray(values, np.float64)
    binary = (values.view(np.int64) >> 52) & 2047
    tens, factors, divisors = _powers()
    which = 2 * binary + (np.abs(values) >= tens.take(binary))
    factor, divisor = factors.take(which) * more, divisors.take(which)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.rint(values * factor / divisor) * divisor / factor + 0.0


@cache
def _powers() -> tuple[Any, Any, Any]:
    """For each binary exponent as a float64 stores it, the power of ten above the least number that has it, float64 [2048]; and
    what a number must be multiplied and divided by for three digits, below and from this power on, float64 [4096] each.

    One of the two is 1, since a negative power of ten is none exactly; both are for zero, for what is not finite and for what is
    too small: they stay, or become 0. A look into these tables takes a third of the time of a logarithm.
    """
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        exponent = np.floor(np.log10(2.0 ** (np.arange(2048) - 1023.0)))
        above = 10.0 ** (exponent + 1)
        places = np.stack([2 - exponent, 1 - exponent], 1).reshape(-1)
        factors, divisors = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    odd = ~np.isfinite(factors)
    odd[:2] = odd[-2:] = True
    factors[odd] = divisors[odd] = 1
    return above, factors, divisors


CHECK = NearRows

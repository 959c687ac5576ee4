"""Numbers that went round the end of their integers: what exceeds 32,767 in 16 bits becomes negative, and what falls below zero becomes
65,535 without a sign.

Such numbers lie at the far end of what the integers hold, and go on where the others stop once they are put back: values come up to the one
end and again from the other, and fade out from there. Numbers that swing around zero are as frequent below it as above.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_numbers import DrawnNumbers
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity

WRAPPED = Quantity(
    "wrapped_numbers",
    "samples",
    "rows whose numbers fit the others' after adding or subtracting the integer range",
)
KEPT, CELLS = 20_000, 1_000_000
BITS = (8, 16, 32)
LEAST, DISTINCT, VARIED, MOST = 10, 5, 0.3, 0.4
"""The fewest rows that went round, and distinct numbers among them, also as a part of those of the others, and the largest share of rows."""
NEAR, FADES, RARE = 0.05, 2, 10
"""How near the ends of the integers numbers come, as a share of the range; how many times as many of those that went round lie in the quarter of
the range that is at the end as in the next, and how many times as many of the others in the quarter from zero on."""


@dataclass(frozen=True)
class Wrap:
    """Numbers of so many ``bits`` beyond ``border`` went round; ``signed``: they are negative, and should be large."""

    bits: int
    signed: bool
    border: float


class Wrapped(DrawnNumbers):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None} | {context.label}
        self.fields = [f.name for f in context.fields if f.kind == "number" and not f.shape and f.name not in aside]
        self.kinds = {}
        self.drawn = Drawn(max(1_000, min(KEPT, CELLS // max(1, len(self.fields)))))

    def applies(self) -> bool:
        return bool(self.fields)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        for name in self.fields:
            numbers = kept[f"number {name}"]
            there = np.isfinite(numbers)
            found = wrap_of(numbers[there])
            if found is None:
                continue
            odd = there & ((numbers < found.border) if found.signed else (numbers >= found.border))
            value = asdict(found) | {"share": float(odd.sum() / there.sum()), "least": float(numbers[odd].min())}
            value |= {"most": float(numbers[odd].max()), "where": places(kept, odd, name)}
            value["rows"] = round(float(odd.mean()) * self.seen)
            yield Fact(WRAPPED, value, self.evidence("sampled", len(numbers)), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(WRAPPED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} seems to have overflowed {v['bits']}-bit integers in {v['rows']:,} rows ({v['share']:.1%}): these hold "
            text += f"{v['least']:,.0f} to {v['most']:,.0f}, and continue the range of the others when {1 << v['bits']:,} is "
            text += "added" if v["signed"] else "subtracted"
            fix = f"reload {name} from its source into wider{'' if v['signed'] else ' signed'} integers; until then "
            fix += f"{'add' if v['signed'] else 'subtract'} {1 << v['bits']:,} in these rows"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["rows"])


def wrap_of(numbers: Any) -> Wrap | None:
    """Where integers went round; None if they did not."""
    import numpy as np

    if len(numbers) < 10 * LEAST or (numbers != np.rint(numbers)).any():
        return None
    low, high = float(numbers.min()), float(numbers.max())
    for bits in BITS:
        size = float(1 << bits)
        half, edge = size / 2, NEAR * size
        if -half <= low < -half + edge and half - edge < high < half:
            odd, signed, back = numbers < 0, True, size
        elif bits > BITS[0] and low >= 0 and size - edge < high < size:
            odd, signed, back = numbers >= half, False, -size
        else:
            continue
        quarters = np.bincount((numbers % size * 4 // size).astype(np.int64), minlength=4)
        thin, full = (quarters[3], quarters[2]) if signed else (quarters[2], quarters[3])
        apart = FADES * thin <= full and RARE * thin <= quarters[0] and (signed or RARE * quarters[1] <= quarters[0])
        if apart and _goes_on(numbers[odd] + back, numbers[~odd], half if signed else 0.0):
            return Wrap(bits, signed, 0.0 if signed else half)
    return None


def _goes_on(back: Any, rest: Any, end: float) -> bool:
    """Whether numbers that are put back, beyond ``end``, are few and follow on those on the other side without a gap."""
    import numpy as np

    n = len(back)
    if n < LEAST or len(np.unique(back)) < DISTINCT or n > MOST * (n + len(rest)):
        return False
    if len(np.unique(back)) / n < VARIED * len(np.unique(rest)) / len(rest):
        return False  # codes
    reach = float(np.quantile(np.abs(back - end), 0.9))  # where nearly all of them lie, seen from the end
    beside = np.abs(rest - end) <= reach
    first = float(np.abs(back - end).min())
    return bool(beside.sum() >= n / 4 and first <= reach / 2 and float(np.abs(rest - end).min()) <= reach / 2)


CHECK = Wrapped

"""Two numbers that are swapped in a stretch of rows, such as height and weight, though their ranges overlap; or of which one holds the
other one's values there.

Method: how often pairs of values come in the data tells of each row by how much likelier it is with both numbers swapped. A stretch is the
run of rows with the largest sum of the logarithms (the maximum subarray), which chance makes with a probability of at most n exp(-S). Rows
that resemble those around them, such as those of a series or sorted ones, tell nothing: two prices may cross.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_numbers import DrawnNumbers
from dataloader_expert.checks.common.ranges import many_values, swapped, turned
from dataloader_expert.checks.common.rows_kept import Named, in_order
from dataloader_expert.checks.common.stretches import decay, highest
from dataloader_expert.checks.common.units import tells
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity

SWAPPED = Quantity("numbers_swapped", "samples", "stretches of rows in which two numbers are probably swapped")
COPIED = Quantity("numbers_copied", "samples", "stretches of rows in which a number holds the values of another one")
KEPT, CELLS, FIELDS, GROUPS = 20_000, 2_000_000, 12, 50
"""The most rows, and values, that are kept; the most fields, and values of one that tells kinds of rows."""
BINS, FEWEST, LEAST, VALUES = 16, 300, 20, 10
"""Parts into which values are divided; the fewest rows, those of a stretch, and the fewest distinct values of a number."""
AS_MUCH, CHANCE = 0.6, 1e-9
"""By how much rows of a stretch are likelier swapped, on average, as a share of how much others are as they are; and how unlikely so large
a sum must be by chance, in all pairs together."""
STEADY = 0.5
"""By how much the rows of each part of the others are likelier as they are, at least, as a share of how much all of these are."""
DEVIATIONS = 4.0
"""Standard errors of a correlation with rows that lie a part of the stretch away, beyond which rows resemble those around them."""
EQUAL, SELDOM, UNLIKE, LIKE = 0.95, 0.02, 0.3, 0.15
"""The least share of a stretch's rows with two equal numbers, and the most of the others; how far the probability that a number of the stretch
is larger than another lies from a half, at least for the one that is a copy, and at most for the other."""


@dataclass(frozen=True)
class Stretch:
    first: int
    last: int
    luck: float


class SwappedNumbers(DrawnNumbers):
    ids = ("fields-swapped", "equal-fields")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        self.fields = [f.name for f in plain if f.kind == "number"][:FIELDS]
        self.pairs = [pair for pair in combinations(self.fields, 2) if not turned(*pair)]
        split = None if roles.split is None else roles.split.field
        named = [f for f in context.fields if not f.shape and f.name not in self.fields]
        kinds = [f.name for f in named if f.kind in ("category", "boolean") or f.name in (context.label, split)]
        self.kinds = {name: Named(GROUPS) for name in kinds}
        self.drawn = Drawn(max(1, min(KEPT, CELLS // (len(self.fields) + len(self.kinds) + 1))))
        self.beside = [*self.kinds.values()]

    def applies(self) -> bool:
        return bool(self.pairs)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        for a, b in self.pairs:
            x, y = rows[f"number {a}"], rows[f"number {b}"]
            at = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
            if len(at) < FEWEST or not all(many_values(v[at], VALUES) for v in (x, y)):
                continue
            copied = copied_stretch(x[at], y[at], len(self.pairs))
            found = copied[0] if copied is not None else swapped_stretch(x[at], y[at], len(self.pairs))
            if found is None or (copied is None and ranges_tell(x[at], y[at])):
                continue
            kinds = [rows[f"kind {name}"][at] for name, named in self.kinds.items() if not named.many]
            if any(tells(kind, found.first, found.last) for kind in kinds):
                continue
            first, last = at[found.first], at[found.last]
            of = max(1.0, self.seen / len(x))  # rows that were looked at stand for others
            value = {
                "first": int(rows["sample"][first]),
                "last": int(rows["sample"][last]),
                "file": str(rows["file"][first]) or None,
                "rows": round(of * (found.last - found.first + 1)),
            }
            seen, names = self.evidence("sampled", len(at)), [a, b]
            if copied is not None:
                yield Fact(COPIED, value, seen, {"fields": names[:: copied[1]]})
            else:
                yield Fact(SWAPPED, value, seen, {"fields": names})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            v, (a, b) = fact.value, map(escaped, fact.at["fields"])
            text = f"{a} and {b} seem to be swapped in samples {v['first']:,} to about {v['last']:,}: there each looks like the other does "
            text += "elsewhere"
            fix = "check these samples; if so, swap the two back, and find out where the columns were mixed up"
            where: list[dict[str, Json]] = [{"sample": v["first"], "file": v["file"], "field": fact.at["fields"][0]}]
            yield finding("fields-swapped", "warning", text, fact, fix, where, v["rows"])
        for fact in facts.all(COPIED):
            v, (a, b) = fact.value, map(escaped, fact.at["fields"])
            text = f"{b} holds the values of {a} in samples {v['first']:,} to about {v['last']:,}: the two are equal there and almost nowhere "
            text += f"else, and {b} has other values elsewhere"
            fix = f"restore {b} of these samples from its source: it was overwritten there"
            where = [{"sample": v["first"], "file": v["file"], "field": fact.at["fields"][1]}]
            yield finding("equal-fields", "warning", text, fact, fix, where, v["rows"])


def ranges_tell(x: Any, y: Any) -> bool:
    """Whether the two have ranges of their own, and rows in which they are swapped are told by these."""
    less = x < y
    odd = ~less if 2 * less.sum() >= len(x) else less
    return swapped(x, y, odd, ~odd)


def swapped_stretch(x: Any, y: Any, pairs: int) -> Stretch | None:
    """The stretch of rows in which two numbers, float64 [n] each, are likelier swapped; None if chance, or a row's neighbours, may make it."""
    import numpy as np

    edges = np.unique(np.quantile(np.concatenate([x, y]), np.arange(1, BINS) / BINS))
    a, b = (np.searchsorted(edges, v, side="right") for v in (x, y))
    k = len(edges) + 1
    gain = _gain(a, b, np.ones(len(a), bool), k)
    first, end = highest(gain)
    inside = np.zeros(len(gain), bool)
    inside[first:end] = True
    if not LEAST <= end - first <= len(gain) // 2:
        return None
    luck = math.log(len(gain)) + math.log(pairs) - decay(gain[~inside]) * float(gain[inside].sum())
    by_others = _gain(a, b, ~inside, k)
    usual = -float(by_others[~inside].mean())
    if usual <= 0 or float(by_others[inside].mean()) < AS_MUCH * usual or luck >= math.log(CHANCE):
        return None
    # what changes from one part of the rows to the next may change back
    parts = np.array_split(by_others[~inside], max(2, (~inside).sum() // max(LEAST, (end - first) // 2)))
    drifts = max(float(part.mean()) for part in parts) > -STEADY * usual
    lag = max(2, (end - first) // 4)
    alike = any(_correlated(v[~inside], lag) for v in (a, b))
    return None if alike or drifts else Stretch(first, end - 1, luck)


def _gain(a: Any, b: Any, rows: Any, k: int) -> Any:
    """By how much each row is likelier with its two codes, of ``k``, swapped: logarithms, as these rows tell."""
    import numpy as np

    logs = np.log(np.bincount(a[rows] * k + b[rows], minlength=k * k) + 0.5)
    return logs[b * k + a] - logs[a * k + b]


def copied_stretch(x: Any, y: Any, pairs: int) -> tuple[Stretch, int] | None:
    """The stretch of rows in which two numbers, float64 [n] each, are equal, one of them being as it is elsewhere and the other one not; with 1
    if that is ``y``, else -1. None if there is none."""
    import numpy as np

    same = x == y
    first, end = highest(np.where(same, 1, -1))
    inside = np.zeros(len(same), bool)
    inside[first:end] = True
    if not LEAST <= end - first <= len(same) // 2 or same[inside].mean() < EQUAL or same[~inside].mean() > SELDOM:
        return None
    share = (same[~inside].sum() + 1) / ((~inside).sum() + 1)
    luck = math.log(len(same)) + math.log(pairs) + int(same[inside].sum()) * math.log(share)
    moved = [abs(_larger(v[inside], v[~inside]) - 0.5) for v in (x, y)]
    lag = max(2, (end - first) // 4)
    if luck >= math.log(CHANCE) or any(_correlated(np.argsort(np.argsort(v[~inside])), lag) for v in (x, y)):
        return None
    for of, other, way in ((1, 0, 1), (0, 1, -1)):
        if moved[of] >= UNLIKE and moved[other] <= LIKE:
            return Stretch(first, end - 1, luck), way
    return None


def _larger(some: Any, others: Any) -> float:
    """The probability that one of some numbers is larger than one of the others; of equal ones a half."""
    import numpy as np

    ordered = np.sort(others)
    below = np.searchsorted(ordered, some, side="left") + np.searchsorted(ordered, some, side="right")
    return float(below.mean()) / (2 * len(others))


def _correlated(values: Any, lag: int) -> bool:
    """Whether values resemble those so many rows before by more than chance."""
    import numpy as np

    one, other = (part - part.mean() for part in (values[lag:].astype(np.float64), values[:-lag].astype(np.float64)))
    size = math.sqrt(float(one @ one) * float(other @ other))
    return size == 0 or abs(float(one @ other)) / size > DEVIATIONS / math.sqrt(len(one))


CHECK = SwappedNumbers

"""Numbers that belong to other rows, in the rows of one group or in a stretch: they were joined by place after one side was sorted, or by the
day before.

Where two numbers go together everywhere else, and in one group or stretch not at all though both are there as they are elsewhere, rows
were swapped. Where in one group of series a number goes with the other one of the row before or after, and in all other groups with its
own, it is shifted there. A group of its own kind would have numbers of its own; what changes slowly counts as few rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.scores import by_group, correlation, normal_scores, worth
from dataloader_expert.checks.common.series_rows import FIELDS, Order, SeriesRows
from dataloader_expert.checks.common.stretches import decay, highest
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity

MISJOINED = Quantity(
    "numbers_misjoined",
    "samples",
    "a group or stretch of rows in which two numbers that correlate elsewhere do not, or only with the row before or after",
)
PAIRS, OTHERS, LEAST = 12, 3, 100
"""The most pairs of numbers; the fewest other groups, and rows of a group or stretch."""
TRIED = 10_000
"""Rows that show which numbers may go together at all."""
STRONG, WEAK = 0.7, 0.15
"""The least rank correlation elsewhere of numbers that were swapped, and of ones that are shifted."""
NONE, KEEPS = 0.15, 0.6
"""The most of it that is left in the odd rows, and the least that each other group has, as shares of what is usual."""
ALIKE, AS_MUCH = 0.3, 0.7
"""The most that a number goes with the neighbour's elsewhere, and the least in the shifted group, as shares."""
SURE = 8.0
"""The standard errors by which the odd rows differ."""
MIDDLE, SPREAD = 0.35, 0.75
"""By how much the mean of a number's scores may differ in the odd rows, and the least ratio of their spreads, either way."""
TENTHS, USUAL = 10, 0.2
"""Parts of the rows of which one may tell how closely numbers go together, and the least share of rows in which they do."""
MOST_SURE, CHANCE = 0.95, 1e-9


class Misjoined(SeriesRows):
    ids = ("rows-shifted",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, *roles.keys) if r is not None} | {*self.times}
        plain = [f for f in context.fields if not f.shape and f.name not in aside and f.dtype not in ("str", "bool")]
        self.numbers = [f.name for f in plain if f.kind == "number" or f.name == context.label][:FIELDS]

    def applies(self) -> bool:
        return len(self.numbers) > 1

    def facts(self) -> Iterable[Fact]:
        if not self.parts:
            return
        kept = self.rows()
        scores = {name: normal_scores(kept[f"number {name}"]) for name in self.numbers}
        few = {name: of[:: 1 + len(of) // TRIED] for name, of in scores.items()}
        close = [(abs(correlation(few[a], few[b])), a, b) for a, b in combinations(self.numbers, 2)]
        told = [*self._swapped(kept, scores, close), *self._shifted(kept)]
        if told:
            yield max(told, key=lambda fact: abs(float(fact.value["elsewhere"])))  # one event, one word

    def _swapped(self, kept: dict[str, Any], scores: dict[str, Any], close: Any) -> Iterator[Fact]:
        groups = self._groups(kept)
        for _, a, b in sorted(close, reverse=True)[:PAIRS]:
            x, y = scores[a], scores[b]
            odd: Any = None
            of: dict[str, Any] = {"by": None}
            for name, which, texts in groups:
                k = swapped_group(x, y, which)
                if k is not None and name not in (a, b):
                    odd, of = which == k, {"by": name, "is": texts[k]}
                    break
            else:
                run = swapped_run(x, y)
                if run is None or any(_sorted_by(which, *run) for _, which, _ in groups):
                    continue
                odd = _between(len(x), *run)
            yield self._fact(
                kept, a, b, odd, of, own=correlation(x[odd], y[odd]), elsewhere=correlation(x[~odd], y[~odd])
            )

    def _shifted(self, kept: dict[str, Any]) -> Iterator[Fact]:
        """Pairs of numbers of which one is that of the neighbour in one group of series."""
        groups = self._groups(kept)
        for order in self.orders(kept):
            if not order.names or not groups:
                continue
            few = order.spread(TRIED)
            tried = {name: within(kept[f"number {name}"][few.rows], few) for name in self.numbers}
            able = [
                (a, b)
                for a, b in combinations(self.numbers, 2)
                if not {a, b} & set(order.names) and abs(correlation(tried[a], tried[b])) >= WEAK / 3
            ]
            told = {name for pair in able for name in pair}
            scores = {name: within(kept[f"number {name}"][order.rows], order) for name in sorted(told)}
            for a, b in able:
                x, y = scores[a], scores[b]
                if abs(correlation(x, y)) < WEAK / 2:
                    continue
                for name, which, texts in groups:
                    found = shifted_group(x, y, which[order.rows], order)
                    if found is not None and name not in (a, b):
                        k, by, there, own, elsewhere = found
                        of = {"by": name, "is": texts[k], "row": by, "there": round(there, 4)}
                        yield self._fact(kept, a, b, which == k, of, own, elsewhere)

    def _groups(self, kept: dict[str, Any]) -> list[tuple[str, Any, list[str]]]:
        """Fields that may name groups, which one each row is in, and what they are called."""
        import numpy as np

        found = []
        for name, named in [*self.kinds.items(), ("", self.splits)]:
            if not named.many:
                values, which = np.unique(kept[f"kind {name}" if name else "split"], return_inverse=True)
                found.append((name, which, [named.texts.get(int(v), "") for v in values]))
        return [one for one in found if len(one[2]) > OTHERS or not one[0]]

    def _fact(
        self, kept: dict[str, Any], a: str, b: str, odd: Any, of: dict[str, Any], own: float, elsewhere: float
    ) -> Fact:
        samples = kept["sample"][odd]
        value = {"first": int(samples.min()), "last": int(samples.max()), "count": len(samples)}
        value |= {"own": round(own, 4), "elsewhere": round(elsewhere, 4)} | of
        return Fact(MISJOINED, value, self.evidence(n=len(odd)), {"fields": [a, b]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MISJOINED):
            v, (a, b) = fact.value, (escaped(name) for name in fact.at["fields"])
            inside = self.files.stretch(v["first"], v["last"])
            if v["by"] is not None:
                inside = f"the {v['count']:,} samples where {escaped(v['by'])} is {escaped(v['is'])}"
                inside = inside if v["by"] else f"the {v['count']:,} samples of {escaped(v['is'])}"
            if "row" in v:
                text = f"in {inside}, {b} correlates with {a} of the {'next' if v['row'] > 0 else 'previous'} row in its series (rank correlation "
                text += f"{v['there']:.2f}, but {v['own']:.2f} in the same row); elsewhere it does so in the same row ({v['elsewhere']:.2f})"
                fix = f"check how {a} and {b} were joined there, for example across time zones, and shift one of them back"
            else:
                text = f"{a} and {b} seem mismatched in {inside}: their rank correlation is {v['own']:.2f} there and {v['elsewhere']:.2f} "
                text += "elsewhere, although each has the same distribution as elsewhere"
                fix = "check a few: one of the two was probably joined by position after sorting, or shuffled; join it again by key"
            where = [
                {"sample": at, "file": self.files.of(at), "field": fact.at["fields"][1]}
                for at in (v["first"], v["last"])
            ]
            yield finding("rows-shifted", "warning", text, fact, fix, where, v["count"])


def swapped_group(x: Any, y: Any, which: Any) -> int | None:
    """The one group in which scores do not go together, where they do in all others, and are distributed as in these."""
    import numpy as np

    sizes = np.bincount(which)
    large = [k for k in range(len(sizes)) if sizes[k] >= LEAST]
    if len(large) <= OTHERS:
        return None
    of = by_group(x, y, which)
    k = min(large, key=lambda one: abs(of[one]))
    usual = float(np.median([of[one] for one in large if one != k]))
    if any(of[one] * math.copysign(1, usual) < KEEPS * abs(usual) for one in large if one != k):
        return None
    return k if _swapped(x, y, which == k) else None


def swapped_run(x: Any, y: Any) -> tuple[int, int] | None:
    """The stretch in which scores do not go together, its first row and the one behind its last; None if chance may make it."""
    import numpy as np

    tenths = np.array_split(np.arange(len(x)), TENTHS) if len(x) >= TENTHS * LEAST else [np.arange(len(x))]
    r = max((correlation(x[part], y[part]) for part in tenths), key=abs)  # most rows may be odd
    r = float(np.clip(r, -MOST_SURE, MOST_SURE))
    if abs(r) < STRONG / 2:
        return None
    for _ in range(2):  # of some rows at first, then of those elsewhere
        gain = 0.5 * math.log(1 - r * r) + (r * r * (x * x + y * y) - 2 * r * x * y) / (2 * (1 - r * r))
        gain = np.where(np.isfinite(gain), gain, 0.0)
        begin, end = highest(gain)
        odd = _between(len(x), begin, end)
        r = float(np.clip(correlation(x[~odd], y[~odd]), -MOST_SURE, MOST_SURE))
        if end - begin < LEAST or (~odd).sum() < max(LEAST, USUAL * len(x)) or abs(r) < STRONG:
            return None
    for by in (-1, 1):
        lo, hi = max(begin, 1), min(end, len(x) - 1)
        if abs(correlation(x[lo + by : hi + by], y[lo:hi])) > ALIKE * abs(r):
            return None  # shifted by a row, which another check tells
    luck = math.log(len(gain)) + math.log(PAIRS) - decay(gain[~odd]) * float(gain[begin:end].sum())
    return (begin, end) if luck < math.log(CHANCE) and _swapped(x, y, odd) else None


def _swapped(x: Any, y: Any, odd: Any) -> bool:
    """Whether scores go together closely in all rows but the odd ones, and there not at all, though each is distributed alike."""
    import numpy as np

    elsewhere, own = correlation(x[~odd], y[~odd]), correlation(x[odd], y[odd])
    if abs(elsewhere) < STRONG or abs(own) > NONE * abs(elsewhere):
        return False
    for of in (x, y):
        here, there = of[odd & np.isfinite(of)], of[~odd & np.isfinite(of)]
        if len(here) < LEAST or abs(here.mean() - there.mean()) > MIDDLE * there.std():
            return False
        if not SPREAD <= here.std() / max(there.std(), 1e-9) <= 1 / SPREAD:
            return False
    apart = math.atanh(min(abs(elsewhere), MOST_SURE)) - math.atanh(abs(own))
    return apart * math.sqrt(max(worth(x[odd], y[odd]) - 3, 0.0)) >= SURE


def within(values: Any, order: Order) -> Any:
    """Normal scores of numbers among those of their series, float64 [n]."""
    import numpy as np

    made = np.full(len(values), np.nan)
    known = np.isfinite(values)
    whose, v = order.begin[known], values[known]
    by = np.lexsort((v, whose))
    whose, v = whose[by], v[by]
    new = np.concatenate([[True], (v[1:] != v[:-1]) | (whose[1:] != whose[:-1])])
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(v))
    first = np.concatenate([[True], whose[1:] != whose[:-1]])
    begins = np.flatnonzero(first)
    of = np.cumsum(first) - 1
    sizes = np.diff(np.append(begins, len(v)))[of]
    middle = ((starts + ends) / 2)[np.cumsum(new) - 1] - begins[of]
    share = middle / np.maximum(sizes, 1)
    found = np.full(len(v), np.nan)
    found[by] = (np.power(share, 0.135) - np.power(1 - share, 0.135)) / 0.1975
    made[known] = found
    return made


def shifted_group(x: Any, y: Any, which: Any, order: Order) -> tuple[int, int, float, float, float] | None:
    """The one group in which ``y`` goes with the ``x`` of the row before (-1) or after (1) in its series, the correlations there with that one
    and with the own one, and with the own one elsewhere."""
    import numpy as np

    at = np.arange(len(x))
    sizes = np.bincount(which)
    large = [k for k in range(len(sizes)) if sizes[k] >= LEAST]
    if len(large) <= OTHERS:
        return None
    own = by_group(x, y, which)
    k = min(large, key=lambda one: abs(own[one]))
    rest = which != k
    usual = correlation(x[rest], y[rest])
    sign = math.copysign(1.0, usual)
    if abs(usual) < WEAK or any(sign * own[one] < KEEPS * abs(usual) for one in large if one != k):
        return None
    for by in (-1, 1):
        inside = (at + by >= order.begin) & (at + by < order.end)
        near = np.where(inside, x[np.clip(at + by, 0, len(x) - 1)], np.nan)
        there, alike = correlation(near[~rest], y[~rest]), correlation(near[rest], y[rest])
        error = 1 / math.sqrt(max(worth(x[~rest], y[~rest]), 1.0))
        if (
            abs(alike) <= ALIKE * abs(usual)
            and sign * there >= AS_MUCH * abs(usual)
            and sign * own[k] <= ALIKE * abs(usual)
            and sign * (there - own[k]) >= SURE * error
        ):
            return k, by, there, own[k], usual
    return None


def _between(n: int, begin: int, end: int) -> Any:
    import numpy as np

    made = np.zeros(n, bool)
    made[begin:end] = True
    return made


def _sorted_by(which: Any, begin: int, end: int) -> bool:
    """Whether a stretch is that of one group, nearly: its numbers may have a relation of their own."""
    import numpy as np

    k = int(np.bincount(which[begin:end]).argmax())
    return bool(
        (which[begin:end] == k).mean() > 0.9 and (which == k).sum() < 1.1 * (end - begin) and len(np.unique(which)) > 1
    )


CHECK = Misjoined

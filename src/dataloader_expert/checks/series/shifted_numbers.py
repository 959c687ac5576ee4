"""Numbers that belong to the row before or after, in a stretch of rows: prices of a wrong join, measurements that lost a line.

Method: two numbers that go together do so with a rank correlation; each row says by how much a bivariate normal density of that
correlation, of the normal scores, prefers the neighbour's number to the row's own. A stretch is the run of rows with the largest sum of
these (the maximum subarray). So large a sum is by chance no likelier than n exp(-t S), where exp(t x) of the rows elsewhere has mean 1
(Karlin and Altschul, "Methods for assessing the statistical significance of molecular sequence features", PNAS 87(6), 1990). Numbers whose
neighbours resemble each other, as in a series or in sorted rows, fit a neighbour everywhere, and tell nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import numbers_of
from dataloader_expert.checks.common.scores import correlation, normal_scores
from dataloader_expert.checks.common.stretches import decay, highest
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SHIFTED = Quantity(
    "numbers_shifted",
    "samples",
    "stretches of rows in which a number correlates with another one in the row before or after",
)
MOST, FIELDS, PAIRS, TOLD = 100_000, 16, 24, 3
"""The most rows and fields whose numbers are kept, pairs of fields that are compared, and stretches that are told."""
FEWEST, LEAST = 200, 20
"""The fewest rows with both numbers, and of a stretch."""
TOGETHER, MOST_SURE = 0.35, 0.95
"""The least rank correlation of two numbers that go together, and the largest that is believed of a single row."""
ALIKE = 0.3
"""The largest correlation with the neighbour's number elsewhere, as a share of that with the own one."""
AS_MUCH, SELDOM = 0.75, 0.4
"""Within a stretch: the least correlation with the neighbour's number, and the largest with the own one, as shares of that elsewhere."""
CHANCE = 1e-9
"""How unlikely so large a sum must be by chance, in all pairs together."""


@dataclass(frozen=True)
class Shift:
    """Rows ``first`` to ``last`` in which ``y`` goes with the ``x`` of the row ``by`` before (-1) or after (1), and the correlations there
    with that one and the own one, and with the own one elsewhere."""

    luck: float
    """The logarithm of how likely that is by chance."""
    first: int
    last: int
    by: int
    there: float
    own: float
    elsewhere: float


class ShiftedNumbers(Check):
    ids = ("rows-shifted",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None}
        fields = [f for f in context.fields if not f.shape and f.name not in aside and f.dtype not in ("str", "bool")]
        self.fields = [f.name for f in fields if f.kind == "number" or f.name == context.label][:FIELDS]
        self.parts: list[tuple[int, Any]] = []
        """Of each block: its first sample, and its numbers, float32 [fields, n]."""
        self.files = Files()

    def applies(self) -> bool:
        return len(self.fields) > 1

    def looked(self) -> bool:
        return bool(self.parts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        if (
            not self.applies()
            or not 0 < (self.context.samples or 0) <= MOST
            or block.rows is not None
            or not block.samples
        ):
            return
        rows = np.arange(block.samples)
        with np.errstate(over="ignore"):
            numbers = np.stack([numbers_of(block.columns.get(n), rows) for n in self.fields]).astype(np.float32)
        self.files.note(block)
        self.parts.append((block.unit.start, numbers))

    def merge(self, other: Check) -> None:
        assert isinstance(other, ShiftedNumbers)
        self.seen += other.seen
        self.parts += other.parts
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        parts = sorted(self.parts, key=lambda part: part[0])
        if sum(x.shape[1] for _, x in parts) < FEWEST:
            return
        index = np.concatenate([start + np.arange(x.shape[1]) for start, x in parts])
        scores = np.stack([normal_scores(row) for row in np.concatenate([x for _, x in parts], axis=1)])
        varied = np.flatnonzero(np.nanstd(np.where(np.isfinite(scores), scores, 0), axis=1) > 0)
        pairs = _together(scores, varied.tolist())
        found: dict[tuple[int, int], Shift] = {}
        for a, b in pairs:
            shift = shifted(scores[a], scores[b], math.log(2 * len(pairs)))
            if shift is not None:
                found[a, b] = shift
        for _ in range(TOLD):
            if not found:
                return
            (a, b), shift = min(found.items(), key=lambda item: (item[1].luck, item[0]))
            inside = {pair for pair, s in found.items() if s.first <= shift.last and shift.first <= s.last}
            often = Counter(of for pair in inside for of in pair)
            moved, other = (a, b) if often[a] > often[b] else (b, a)
            value = {
                "first": int(index[shift.first]),
                "last": int(index[shift.last]),
                "by": shift.by if moved == b else -shift.by,
                "there": shift.there,
                "own": shift.own,
                "elsewhere": shift.elsewhere,
                "sure": often[a] != often[b],
            }
            at = {"field": self.fields[moved], "with": self.fields[other], "first": int(index[shift.first])}
            yield Fact(SHIFTED, value, self.evidence(), at)
            found = {pair: s for pair, s in found.items() if pair not in inside or moved not in pair}

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHIFTED):
            v, moved, other = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["with"]))
            text = f"{moved} seems to be shifted by a row {'' if v['sure'] else f'against {other} '}in "
            text += self.files.stretch(v["first"], v["last"])
            text += f": there it correlates with {other} of the {'next' if v['by'] > 0 else 'previous'} sample (rank correlation {v['there']:.2f}, "
            text += f"but {v['own']:.2f} in the same row); elsewhere it does so in the same row ({v['elsewhere']:.2f})"
            fix = "check where these rows begin: a value was probably lost or added there, or rows were joined by position; shift them back"
            where = [
                {"sample": at, "file": self.files.of(at), "field": fact.at["field"]} for at in (v["first"], v["last"])
            ]
            yield finding("rows-shifted", "warning", text, fact, fix, where, v["last"] - v["first"] + 1)


def _together(scores: Any, fields: list[int]) -> list[tuple[int, int]]:
    """The pairs of fields that go together, the closest first."""
    found = []
    for i, a in enumerate(fields):
        for b in fields[i + 1 :]:
            r = abs(correlation(scores[a], scores[b]))
            if r >= TOGETHER:
                found.append((-r, a, b))
    return [(a, b) for _, a, b in sorted(found)[:PAIRS]]


def shifted(x: Any, y: Any, tried: float = 0.0) -> Shift | None:
    """The stretch in which scores ``y`` go with a neighbour's ``x``, float64 [n] each; None if chance may make it. ``tried``: the logarithm
    of how many such pairs and directions are looked at."""
    import numpy as np

    if (np.isfinite(x) & np.isfinite(y)).sum() < FEWEST:
        return None
    best: Shift | None = None
    for by in (-1, 1):
        u, near, v = x[1:-1], x[1 + by : len(x) - 1 + by], y[1:-1]
        r = float(np.clip(correlation(u, v), -MOST_SURE, MOST_SURE))
        gain = (r * r * (u * u - near * near) + 2 * r * v * (near - u)) / (2 * (1 - r * r))
        gain = np.where(np.isfinite(gain), gain, 0.0)
        begin, end = highest(gain)
        rest = np.ones(len(gain), bool)
        rest[begin:end] = False
        if end - begin < LEAST or rest.sum() < FEWEST / 2:
            continue
        elsewhere = correlation(u[rest], v[rest])
        there, own, alike = (
            correlation(*pair) for pair in ((near[~rest], v[~rest]), (u[~rest], v[~rest]), (near[rest], v[rest]))
        )
        sign = math.copysign(1.0, elsewhere)
        usual = abs(elsewhere)
        if (
            usual < TOGETHER
            or abs(alike) > ALIKE * usual
            or sign * there < AS_MUCH * usual
            or sign * own > SELDOM * usual
        ):
            continue
        luck = math.log(len(gain)) + tried - decay(gain[rest]) * float(gain[begin:end].sum())
        if luck < math.log(CHANCE) and (best is None or luck < best.luck):
            best = Shift(luck, begin + 1, end, by, there, own, elsewhere)
    return best


CHECK = ShiftedNumbers

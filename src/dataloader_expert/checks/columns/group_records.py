"""Numbers that a few sites, devices or files record unlike all others: rounded to far coarser steps, two of them swapped, or one value in all of
their rows, as where a sensor was dead.

Sites differ by nature as well. Here all others agree, row by row, on what hardly a row of these keeps to: that last digits are those of a
measurement, or which of two numbers is the smaller; and otherwise the numbers are distributed like the others'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import ORDER, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_numbers import DrawnNumbers
from dataloader_expert.checks.common.ranges import many_values, turned
from dataloader_expert.checks.common.recorded import FILE, distance, few, is_place, quantiles
from dataloader_expert.checks.common.rows_kept import Named, in_order, places
from dataloader_expert.checks.common.steps import BITS, on_grid, step_of
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity

COARSER = Quantity(
    "coarser_steps", "samples", "rows of groups whose numbers are all multiples of a step far above the others'"
)
CROSSED = Quantity("numbers_crossed", "samples", "rows of groups in which two numbers have each other's usual range")
DEAD = Quantity(
    "dead_in_groups",
    "samples",
    "rows of groups in which a number has one value throughout, while it varies in all other groups",
)
KEPT, CELLS, FIELDS, MOST_GROUPS, MOST_FILES = 20_000, 2_000_000, 12, 50, 1_000
"""The most rows, and values, that are kept; the most fields that are compared, values of one that tells groups, and files."""
VARIES = 0.1
"""The largest share of a group's rows that one value of a measured number may have; what is mostly absent has more zeros."""
LEAST, VALUES, DIFFERENT = 30, 20, 5
"""The fewest rows of a group, the fewest distinct numbers of the others, and of a group with other steps: of a person's age, repeated in each of
their rows, a single last digit is known."""
AS_BY_CHANCE, DIGIT = 3.0, 0.25
"""How many times as many of the others' lie on it as last digits would by chance, at most, and
the largest share of one last digit, of numbers that are measured: prices and habits prefer some."""
FINER = 10
"""How many times as fine the others' steps are, at least."""
WIDE = 0.1
"""The least step that matters, in interquartile ranges of the others: below, hardly anything was lost."""
NEAR, APART = 0.5, 1.5
"""Interquartile ranges by which the quantiles of numbers differ at most that are distributed alike, and at least if they are not."""
SHOWN = 3
"""The most groups that are named."""
NEVER, ALWAYS = 0.05, 0.95
"""The most and the least share of a group's rows that have an order, if all rows but strays have it or none."""


@dataclass(frozen=True)
class Coarse:
    """Groups ``odd`` that are rounded to ``step``, where the others have steps of ``usual``; ``matters``: the step is wide."""

    odd: list[int]
    step: float
    usual: float
    matters: bool


class GroupRecords(DrawnNumbers):
    ids = ("scale-drift", "fields-swapped", "stuck-values")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        group = None if context.grouped is None else context.grouped.field
        placed = [f.name for f in plain if f.name != context.label and (f.name == group or is_place(f.name))]
        self.kinds = {name: Named(MOST_GROUPS) for name in placed}
        self.fields = [f.name for f in plain if f.kind == "number" and f.name not in placed][:FIELDS]
        self.drawn = Drawn(max(1, min(KEPT, CELLS // (len(self.fields) + len(self.kinds) + 1))))
        self.beside = [*self.kinds.values()]

    def applies(self) -> bool:
        return bool(self.fields)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        told: set[str] = set()
        for group, texts, whose in self._groups(rows):
            for name in self.fields:
                flat = None if f"{name} flat" in told else dead(rows[f"number {name}"], whose, len(texts))
                if flat is not None:
                    told.add(f"{name} flat")
                    there = np.isin(whose, flat) & np.isfinite(rows[f"number {name}"])
                    at: dict[str, Any] = {"value": float(rows[f"number {name}"][there][0]), "looked": int(there.sum())}
                    at["where"] = places(rows, there, name)
                    yield self._fact(DEAD, group, texts, whose, flat, at, {"field": name})
                if len(texts) > MOST_GROUPS:
                    continue
                found = None if name in told else coarser(rows[f"number {name}"], whose, len(texts))
                if found is not None:
                    told.add(name)
                    value = {"step": found.step, "usual": found.usual, "matters": found.matters}
                    yield self._fact(COARSER, group, texts, whose, found.odd, value, {"field": name})
            for a, b in combinations(self.fields if len(texts) <= MOST_GROUPS else (), 2):
                if turned(a, b) or f"{a}/{b}" in told:
                    continue
                crossed = swapped_in(rows[f"number {a}"], rows[f"number {b}"], whose, len(texts))
                if crossed:
                    told.add(f"{a}/{b}")
                    yield self._fact(CROSSED, group, texts, whose, crossed, {}, {"fields": [a, b]})

    def _groups(self, rows: dict[str, Any]) -> Iterator[tuple[str, list[str], Any]]:
        """Each field that tells groups: its values, and which one each row has."""
        import numpy as np

        for name, named in self.kinds.items():
            if not named.many:
                values, whose = np.unique(rows[f"kind {name}"], return_inverse=True)
                yield name, [named.texts.get(int(v), "") for v in values], whose
        files, whose = np.unique(rows["file"].astype(str), return_inverse=True)
        if len(files) <= MOST_FILES:
            yield FILE, files.tolist(), whose

    def _fact(
        self,
        quantity: Quantity,
        group: str,
        texts: list[str],
        whose: Any,
        odd: list[int],
        value: dict[str, Json],
        at: dict[str, Json],
    ) -> Fact:
        import numpy as np

        of = max(1.0, self.seen / len(whose))  # rows that were looked at stand for others
        found = {"of": [texts[k] for k in odd], "rows": round(of * int(np.isin(whose, odd).sum()))}
        return Fact(quantity, value | found, self.evidence("sampled", len(whose)), at | {"group": group})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(COARSER):
            v, name = fact.value, escaped(str(fact.at["field"]))
            usual = f"to {v['usual']:g}" if v["usual"] else "not"
            text = f"{name} is rounded to multiples of {v['step']:g} in the samples {_where(fact)}, and {usual} in the others"
            fix = "restore the unrounded numbers from their source, or round all rows to the same step"
            severity: Severity = "warning" if v["matters"] else "info"
            yield finding("scale-drift", severity, text, fact, fix, [{"field": fact.at["field"]}], v["rows"])
        for fact in facts.all(DEAD):
            v, name = fact.value, escaped(str(fact.at["field"]))
            more = f" and {len(v['of']) - SHOWN} more" if len(v["of"]) > SHOWN else ""
            looked = "" if v["looked"] == v["rows"] else " looked at"
            text = f"{name} is {v['value']:g} in all {v['looked']:,} samples{looked} {_where(fact)}{more}, while it hardly repeats a value in the others"
            fix = "find out whether it was measured there; if not, mark it as missing in these samples"
            zero: Severity = "warning" if v["value"] else "info"  # what is idle, or level, measures nothing but 0
            yield finding("stuck-values", zero, text, fact, fix, v["where"], v["rows"])
        for fact in facts.all(CROSSED):
            if facts.find(ORDER, fields=fact.at["fields"]) is not None:
                continue  # told by the order
            v, (a, b) = fact.value, map(escaped, fact.at["fields"])
            text = f"{a} and {b} seem to be swapped in the samples {_where(fact)}: there each is distributed like the other elsewhere"
            fix = "check these samples; if so, swap the two back, and find out where the columns were mixed up"
            yield finding("fields-swapped", "warning", text, fact, fix, [{"field": fact.at["fields"][0]}], v["rows"])


def _where(fact: Fact) -> str:
    of, group = ", ".join(map(escaped, fact.value["of"][:SHOWN])), str(fact.at["group"])
    return f"in {of}" if group == FILE else f"where {escaped(group)} is {of}"


def coarser(numbers: Any, whose: Any, n: int) -> Coarse | None:
    """The groups, of ``n``, whose numbers, float64 [rows], have steps ten times as coarse as all others' or more; None if there are none, or
    the others are no measurements."""
    import numpy as np

    there = np.isfinite(numbers) & (numbers != 0)
    groups = _apart(numbers[there], whose[there], n)
    if len(groups) < 3:
        return None
    steps = {k: step_of(values) for k, values in groups.items()}
    finest = sorted(steps.values())[len(steps) // 2]
    odd = [k for k, step in steps.items() if step > 0 and step >= 0.99 * FINER * finest]
    odd = [k for k in odd if many_values(groups[k], DIFFERENT)]
    if not few(len(odd), len(groups)):
        return None
    step = min(steps[k] for k in odd)
    rest = {k: values for k, values in groups.items() if k not in odd}
    by_chance = AS_BY_CHANCE * max(finest / step, BITS)
    if any(on_grid(v, step) > by_chance + AS_BY_CHANCE * (by_chance / len(v)) ** 0.5 for v in rest.values()):
        return None
    others = np.concatenate(list(rest.values()))
    if len(np.unique(others)) < VALUES or (finest and _prefers(others, finest)):
        return None
    usual = quantiles(others)
    low, high = (usual[0] - step, usual[-1] + step)
    if any(not low <= np.median(groups[k]) <= high for k in odd):
        return None  # on another level: another kind of number
    return Coarse(odd, step, finest, step >= WIDE * float(usual[3] - usual[1]))


def dead(numbers: Any, whose: Any, n: int) -> list[int] | None:
    """The groups, of ``n``, in which a number, float64 [rows], has one value in all rows, though it is a measurement in each of the others;
    None if there are none."""
    import numpy as np

    there = np.isfinite(numbers)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, whose[there], numbers[there])
    np.maximum.at(high, whose[there], numbers[there])
    large = np.bincount(whose[there], minlength=n) >= LEAST
    odd = np.flatnonzero(large & (low == high))
    if not few(len(odd), int(large.sum())):
        return None
    rest = there & large[whose] & ~np.isin(whose, odd)
    pairs, counts = np.unique(np.stack([whose[rest], numbers[rest]]), axis=1, return_counts=True)
    most = np.zeros(n)
    np.maximum.at(most, pairs[0].astype(np.int64), counts)
    shares = most / np.maximum(1, np.bincount(whose[rest], minlength=n))
    return odd.tolist() if shares.max() <= VARIES else None


def _prefers(numbers: Any, step: float) -> bool:
    """Whether one last digit is far more frequent than others."""
    import numpy as np

    digits = np.bincount((np.rint(np.abs(numbers) / step) % FINER).astype(np.int64))
    return bool(digits.max() > DIGIT * len(numbers))


def swapped_in(x: Any, y: Any, whose: Any, n: int) -> list[int]:
    """The groups, of ``n``, in which two numbers, float64 [rows] each, have the order that they have in none of the others, and lie where the
    other one lies there."""
    import numpy as np

    differ = np.isfinite(x) & np.isfinite(y) & (x != y)
    counts = np.bincount(whose[differ], minlength=n)
    large = np.flatnonzero(counts >= LEAST)
    share = np.bincount(whose[differ & (x < y)], minlength=n)[large] / np.maximum(1, counts[large])
    usual = float(np.median(share)) if len(large) else 0.5
    turn = share if usual <= 0.5 else 1 - share
    odd = large[turn >= ALWAYS]
    if not few(len(odd), len(large)) or ((turn > NEVER) & (turn < ALWAYS)).any():
        return []
    there = np.isfinite(x) & np.isfinite(y)
    of_x, of_y = (_apart(v[there], whose[there], n) for v in (x, y))
    rest = there & ~np.isin(whose, odd)
    all_x, all_y = quantiles(x[rest]), quantiles(y[rest])
    if min(distance(all_x, all_y), *(distance(quantiles(of_x[k]), all_x) for k in odd.tolist())) < APART:
        return []
    alike = [distance(quantiles(v[k]), all_) for v, all_ in ((of_x, all_x), (of_y, all_y)) for k in v if k not in odd]
    back = [distance(quantiles(v[k]), all_) for v, all_ in ((of_x, all_y), (of_y, all_x)) for k in odd.tolist()]
    return odd.tolist() if max(back) <= NEAR and max(alike) < APART else []


def _apart(numbers: Any, whose: Any, n: int) -> dict[int, Any]:
    """The numbers of each group that has enough."""
    import numpy as np

    order = np.argsort(whose, kind="stable")
    sizes = np.bincount(whose, minlength=n)
    parts = np.split(numbers[order], np.cumsum(sizes)[:-1])
    return {k: part for k, part in enumerate(parts) if len(part) >= LEAST}


CHECK = GroupRecords

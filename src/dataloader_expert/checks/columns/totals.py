"""Columns that add up to one total in nearly all rows, such as shares to 100, marks of one class to 1 or items to their sum, and the rows
in which they do not.

Which columns belong together is told by where they stand or by a word of their names, and by exact arithmetic: sums that are the same
to within the rounding of their parts, though these vary far more, are no coincidence. A few rows that break such a rule are wrong
wherever they are; more of them only where they are one part of the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.in_parts import InParts
from dataloader_expert.checks.common.parts import Part, part_of, part_said
from dataloader_expert.checks.common.rows_kept import in_order, numbers_of, places
from dataloader_expert.checks.common.scores import nearness
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

TOTALS = Quantity(
    "total_broken", "samples", "rows in which columns do not add up to the total that they have in nearly all others"
)
KEPT, CELLS, FIELDS = 20_000, 1_500_000, 40
"""The most rows, values of all fields, and fields that are kept."""
MEMBERS, TRIED, LEAST = 3, 256, 100
"""The fewest columns that add up, the rows on which sums are tried first, and the fewest rows that tell a rule."""
USUAL, SURELY = 0.6, 0.95
"""The least share of rows that keep to a rule, and that where single rows break it."""
EXACTLY, HALF, COUNTED = 0.9, 0.5, 0.05
"""The least share of exact sums of counts; what whole numbers may be off by at least if they are rounded; and so little if they are not."""
VARIED = 8.0
"""How many times as far as by rounding the sum would vary if columns had nothing to do with each other."""
FAR = 3.0
"""How many times as far off as by rounding the sum of a row is that breaks the rule."""
EMPTY, SELDOM = 0.9, 0.02
"""The least share of broken rows in which a column is 0, and the most of the others, if it is what they lack."""
SHOWN = 3


@dataclass(frozen=True)
class Total:
    """Columns, by their places, that add up to the column ``to``, or to ``usual`` if this is None."""

    of: tuple[int, ...]
    to: int | None
    usual: float
    near: float
    """How far off the sum may be by rounding."""


class Totals(InParts):
    ids = ("columns-contradict",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, context.timed, *roles.keys) if r is not None} | {*context.label_names}
        numbers = [
            f.name
            for f in context.fields
            if not f.shape
            and f.name not in aside
            and f.name not in context.identifiers
            and f.kind in ("number", "boolean", "category")
            and f.dtype != "str"
        ]
        cut = {word for name in numbers[FIELDS:] for word in words(name)[:1]}  # sums of a part of a family mean nothing
        self.fields = [name for name in numbers[:FIELDS] if not cut & {*words(name)[:1]}]
        self.draw(KEPT, CELLS, len(self.fields) + 3)

    def applies(self) -> bool:
        return len(self.fields) >= MEMBERS

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.fields}
        return kept | self.parts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        numbers = np.stack([rows[f"number {name}"] for name in self.fields], 1)
        numbers[np.isinf(numbers)] = np.nan
        called = [words(name) for name in self.fields]
        for total in totals_of(numbers, called):
            apart = numbers[:, total.of].sum(1) - (total.usual if total.to is None else numbers[:, total.to])
            known = np.isfinite(apart)
            kept, broken = (np.zeros(len(apart), bool) for _ in range(2))
            kept[known] = np.abs(apart[known]) <= total.near
            broken[known] = np.abs(apart[known]) > FAR * total.near
            if not broken.any() or kept.sum() < max(LEAST, USUAL * known.sum()):
                continue
            firsts = [called[k][:1] for k in total.of]
            akin = [k for k in range(len(called)) if k not in total.of and called[k][:1] in firsts]
            if akin and (np.abs(apart[broken] + numbers[broken][:, akin].sum(1)) <= total.near).all():
                continue  # what is lacking stands in columns of the same name
            marks = bool(np.isin(numbers[known][:, total.of], (0, 1)).all())
            if marks and apart[broken].min() < 0 < apart[broken].max():
                continue  # several classes a row, or none
            ways = {"sample": np.arange(len(apart))}
            aside = {self.fields[k] for k in total.of}
            part = part_of(broken, known, [*self.parts.groupings(rows)], ways, aside)
            if part is None and kept.sum() < SURELY * known.sum():
                continue
            part = part or Part(None, (), False, int(broken.sum()), int(known.sum()))
            value = part.value() | {
                "of": [self.fields[k] for k in total.of],
                "to": None if total.to is None else self.fields[total.to],
                "usual": total.usual,
                "least": float(apart[broken].min()),
                "most": float(apart[broken].max()),
                "empty": [self.fields[k] for k in total.of if _lacks(numbers[:, k], broken, kept)],
                "known": int(known.sum()),
                "where": places(rows, broken, self.fields[total.of[0]]),
            }
            yield Fact(
                TOTALS, value, self.evidence("sampled", int(known.sum())), {"fields": value["of"], "to": value["to"]}
            )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(TOTALS):
            v = fact.value
            names = [escaped(name) for name in v["of"]]
            called = ", ".join(names) if len(names) <= 2 * SHOWN else f"{', '.join(names[:SHOWN])}, … {names[-1]}"
            total = f"{v['usual']:g}" if v["to"] is None else escaped(v["to"])
            alone = v["by"] is None and v["along"] is None
            first, last = v["first"], v["last"]
            place = (
                "" if alone else " " + part_said(v, "" if first is None else f"in {self.files.stretch(first, last)}")
            )
            text = f"{called} ({len(names)} columns) add up to {total}, but not in {v['count']:,} of {number(v['rows'], 'sample')}{place}"
            if v["to"] is None:
                low, high = (f"{v['usual'] + v[end]:.4g}" for end in ("least", "most"))
                text += f": to {low} there" if low == high else f": to {low} … {high} there"
            text += f"; {escaped(v['empty'][0])} is 0 in nearly all of these" if len(v["empty"]) == 1 else ""
            fix = "check these rows: one of the columns is wrong or missing there; restore it, or leave the rows out"
            yield finding("columns-contradict", "warning", text, fact, fix, v["where"], v["count"])


def totals_of(numbers: Any, called: list[list[str]]) -> Iterator[Total]:
    """Columns of ``numbers``, float64 [rows, fields], that add up to a total in most rows: the surest rules, of other columns each."""
    import numpy as np

    some = numbers[np.linspace(0, len(numbers) - 1, min(TRIED, len(numbers))).astype(np.int64)]
    near = np.array([nearness(column) for column in numbers.T])
    spread = np.array([float(np.nanstd(column)) if np.isfinite(column).any() else 0.0 for column in some.T])
    varies = np.array([len(own) and own.min() < own.max() for own in (c[np.isfinite(c)] for c in numbers.T)], bool)
    found: list[tuple[float, int, Total]] = []
    for of in _families(varies, called):
        sums, apart = some[:, of].sum(1), float(np.hypot.reduce(spread[list(of)]))
        there = np.isfinite(sums)
        if there.sum() < LEAST:
            continue
        sums, usual = sums[there], float(np.median(sums[there]))
        others = [k for k in np.flatnonzero(varies).tolist() if k not in of]
        off = np.abs(sums[:, None] - np.column_stack([np.full(len(sums), usual), some[there][:, others]]))
        likely = (off <= near[list(of)].sum() + np.append(0.0, near[others])).mean(0) >= USUAL
        for at in np.flatnonzero(likely).tolist():
            k, far = None if at == 0 else others[at - 1], off[:, at]
            room = _room(far, near[[*of, *([] if k is None else [k])]])
            share = float((far <= room).mean())
            if share >= USUAL and VARIED * room <= apart and (usual or k is not None):
                found.append((share, -len(of), Total(of, k, _rounded(usual, room) if k is None else 0.0, room)))
    told: set[int] = set()
    for _, _, total in sorted(found, key=lambda one: one[:2], reverse=True):
        if not told & {*total.of}:
            told |= {*total.of}
            yield total


def _families(varies: Any, called: list[list[str]]) -> Iterator[tuple[int, ...]]:
    """Columns that may belong together: neighbours, and those that share the first or the last word of their names. One that never varies is
    none of them."""
    n = len(called)
    for i in range(n):
        for j in range(i + MEMBERS, n + 1):
            if varies[i:j].all():
                yield tuple(range(i, j))
    for end in (0, -1):
        for word in {of[end] for of in called if of}:
            family = tuple(k for k, of in enumerate(called) if of and of[end] == word and varies[k])
            if len(family) >= MEMBERS and family[-1] - family[0] >= len(family):
                yield family


def _room(far: Any, near: Any) -> float:
    """How far off a sum may be, of which some are ``far`` off and the parts are rounded to ``near``: whole numbers that nearly always add up
    exactly are counts, and no rounded shares."""
    exact = (near >= HALF).all() and (far < HALF).mean() >= EXACTLY
    return COUNTED if exact else float(near.sum())


def _rounded(usual: float, room: float) -> float:
    """The whole number that a sum usually is, if it is one."""
    whole = float(round(usual))
    return whole if abs(whole - usual) <= room else usual


def _lacks(column: Any, broken: Any, kept: Any) -> bool:
    """Whether a column is 0 in the rows that break a rule, and hardly in those that keep to it."""
    return bool((column[broken] == 0).mean() >= EMPTY and (column[kept] == 0).mean() <= SELDOM)


CHECK = Totals

"""Parts of the data that may have been made apart from the rest: splits, files, the rows of one site, and stretches of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.recorded import FILE, few, is_place
from dataloader_expert.checks.common.rows_kept import Named, files_of, split_of
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Json
from dataloader_expert.sources.base import Block

SPLIT = ""
"""Stands for the field whose values are the splits."""
FIELDS, VALUES = 12, 60
"""The most fields whose values are parts, and values of one."""
LEAST, OTHERS = 30, 100
"""The fewest rows of a part, and of all others."""
NEARLY, HALF, HARDLY, SPARED = 0.9, 0.5, 0.005, 0.05
"""The least share of a part's rows that are odd, that of a stretch where any share counts, the most of all others, and the most of those of another single part."""
SHOWN = 5


@dataclass(frozen=True)
class Grouping:
    """A way to group rows: by the split, the file or a field."""

    name: str
    texts: list[str]
    which: Any
    """The group of each row, int64 [n]."""
    place: bool
    """Whether groups say where or how rows were recorded, and not what they are."""


@dataclass(frozen=True)
class Part:
    """Rows in which something differs: groups of ``by``, or a stretch of samples, in a group or in all (``by`` is None)."""

    by: str | None
    values: tuple[str, ...]
    place: bool
    count: int
    rows: int
    """Odd rows, and all rows of the part."""
    along: str | None = None
    first: int | None = None
    last: int | None = None
    """In which order of rows it is a stretch, and its first and last row; None if it is none."""

    @property
    def whole(self) -> bool:
        """Whether nearly all of its rows are odd."""
        return self.count >= NEARLY * self.rows

    def value(self) -> dict[str, Json]:
        return {**asdict(self), "values": [*self.values]}


class Parts:
    def __init__(self, context: Context) -> None:
        self.context = context
        roles = context.roles
        aside = {r.field for r in (roles.split, context.timed, *roles.keys) if r is not None} | {context.aside}
        grouped = None if context.grouped is None else context.grouped.field
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        kinds = [f for f in plain if f.kind in ("category", "boolean") or f.name == grouped]
        numbered = [f for f in plain if f.kind == "number" and "int" in f.dtype and is_place(f.name)]
        names = [f.name for f in (*kinds, *numbered)]
        self.places = {SPLIT, FILE, grouped, *filter(is_place, names)}
        by_place = sorted(dict.fromkeys(names), key=lambda name: name not in self.places)
        self.called = {name: Named(VALUES) for name in (SPLIT, FILE, *by_place[:FIELDS])}

    def of(self, block: Block, rows: Any) -> dict[str, Any]:
        """The groups of each of these rows, to be kept with them."""
        found = {SPLIT: self.called[SPLIT].coded(split_of(self.context, block, rows))}
        found[FILE] = self.called[FILE].coded(files_of(block, rows))
        found |= {
            name: named.of(block.columns.get(name), rows) for name, named in self.called.items() if name not in found
        }
        return {f"part {name}": values for name, values in found.items()}

    def merge(self, other: Parts) -> None:
        for name, named in other.called.items():
            self.called[name].merge(named)

    def groupings(self, rows: dict[str, Any]) -> Iterator[Grouping]:
        """Those of the kept rows that have two groups or more."""
        import numpy as np

        for name, named in self.called.items():
            if named.many:
                continue
            values, which = np.unique(rows[f"part {name}"], return_inverse=True)
            if len(values) > 1:
                yield Grouping(name, [named.texts.get(int(v), "") for v in values], which, name in self.places)


def part_of(
    odd: Any,
    known: Any,
    groupings: Collection[Grouping],
    orders: Mapping[str, Any],
    aside: Collection[str] = (),
    any_share: bool = False,
) -> Part | None:
    """The part that has nearly all odd rows, which hardly any others are; None if there is none.

    Args:
        odd, known: which rows are, and in which this can be told, bool [n].
        orders: the rows in each order in which stretches are looked for, by its name.
        aside: fields that do not count as groups.
        any_share: whether a part counts in which fewer rows than nearly all are odd.
    """
    if odd.sum() < LEAST or known.sum() - odd.sum() < OTHERS:
        return None
    usable = [g for g in groupings if g.name not in aside]
    found = [part for g in usable if (part := _groups(odd, known, g)) is not None]
    whole = next((part for part in found if part.whole), None)
    if whole is not None:
        return whole
    purity = HALF if any_share else NEARLY
    for g in usable:
        held = [part for part in found if part.by == g.name and len(part.values) == 1]
        for part in held:
            inside = known & (g.which == g.texts.index(part.values[0]))
            stretch = _stretches(odd, inside, orders, purity)
            if stretch is not None:
                return Part(g.name, part.values, g.place, *stretch)
    stretch = _stretches(odd, known, orders, purity)
    if stretch is not None:
        return Part(None, (), False, *stretch)
    return found[0] if found and any_share else None


def _groups(odd: Any, known: Any, grouping: Grouping) -> Part | None:
    """The few groups with all odd rows, or the splits."""
    import numpy as np

    n = len(grouping.texts)
    sizes, counts = (np.bincount(grouping.which[mask], minlength=n) for mask in (known, odd))
    of = (counts > SPARED * sizes) & (sizes >= LEAST)
    rows, rest = int(sizes[of].sum()), int(sizes[~of].sum())
    large = int((sizes >= LEAST).sum())
    # of two groups either may be the odd one, and of two that are no splits each may be of its own kind
    if (
        not of.any()
        or rest < OTHERS
        or not (few(int(of.sum()), large) or (grouping.name == SPLIT and large > int(of.sum())))
    ):
        return None
    if counts[~of].sum() > HARDLY * rest:
        return None
    return Part(
        grouping.name, tuple(grouping.texts[k] for k in np.flatnonzero(of)), grouping.place, int(counts[of].sum()), rows
    )


def _stretches(odd: Any, known: Any, orders: Mapping[str, Any], purity: float) -> tuple[int, int, str, int, int] | None:
    """The odd rows of a stretch, all its rows, in which order it is one, and its first and last row."""
    for along, order in orders.items():
        found = _stretch(odd, known, order, purity)
        if found is not None:
            return (*found[:2], along, *found[2:])
    return None


def _stretch(odd: Any, known: Any, order: Any, purity: float) -> tuple[int, int, int, int] | None:
    """The odd rows of the stretch that nearly all of them make up, all its rows, and the first and the last of them."""
    import numpy as np

    at = order[known[order]]
    marks = odd[at]
    begin, end = highest(np.where(marks, 1, -1))
    count = int(marks[begin:end].sum())
    rest, outside = len(at) - (end - begin), int(marks.sum()) - count
    if end - begin < LEAST or count < purity * (end - begin) or rest < LEAST or outside > HARDLY * rest:
        return None
    return count, end - begin, int(at[begin]), int(at[end - 1])


def part_said(v: dict[str, Any], stretch: str) -> str:
    """Words for the samples of a part; ``stretch``: words for those from its first to its last, empty if it is none."""
    values = [escaped(str(value)) or "missing" for value in v["values"]]
    shown = ", ".join(values[:SHOWN]) + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
    inside = {None: "", SPLIT: f"in {shown}", FILE: f"in {shown}"}.get(v["by"])
    if inside is None:
        inside = f"where {escaped(v['by'])} is {shown}"
    return ", ".join(filter(None, (inside, stretch)))

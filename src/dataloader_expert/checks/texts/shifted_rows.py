"""Two fields of which one belongs to the row before or after, in a stretch of rows: transcripts of the next recording, a translation that
lost a line; and those of which one was cut off.

Long texts belong to long recordings, to long translations, and to wide images of a line. Where the lengths of two fields agree in the data as a whole, and in a
stretch of rows only once one of them is moved by a row, more closely than by chance, that one is shifted there. Words that recur, and so pass for categories, are
compared with recordings and images only: names have lengths of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import ROWS_SHIFTED, Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.texts.cut_short import cut_short
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Field

SHORT = Quantity(
    "cut_short",
    "samples",
    "texts less than half as long as the other field of their sample has it, where no others are too long",
)
MOST, MOST_FIELDS = 200_000, 4
"""The most samples and fields whose lengths are kept."""
WINDOW, STEP = 24, 6
OFTEN, AGREE, THERE, NOT = 0.4, 0.6, 0.6, 0.25
"""The least share of windows in which lengths agree, with at least so much rank correlation; the least in one of shifted rows once moved, and the most as they are."""
RUNS = 2
"""The fewest overlapping windows of a stretch."""
CHANCE = 1e-3
"""The most stretches of unrelated lengths that may agree as well by chance, in all rows together."""


class ShiftedRows(Check):
    ids = ("rows-shifted", "suspicious-text")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        others = [f for f in context.fields if f.name != context.label]
        words = {f.name for f in others if f.kind == "category" and f.dtype == "str" and not f.shape}
        fields = [*(f.name for f in others if has_length(f)), *(f.name for f in others if f.name in words)][
            :MOST_FIELDS
        ]
        measured = {f.name for f in others if has_length(f) and f.kind != "text"}
        self.pairs = [(a, b) for a, b in combinations(fields, 2) if b not in words or a in measured]
        self.texts = {f.name for f in context.fields if f.kind == "text"}
        self.names = sorted({name for pair in self.pairs for name in pair})
        self.files = Files()
        self.parts: list[tuple[int, dict[str, Any]]] = []

    def applies(self) -> bool:
        return bool(self.pairs)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        if (
            max(self.seen, self.context.samples or 0) > MOST
            or block.rows is not None
            or any(n not in block.columns for n in self.names)
        ):
            return
        lengths = {
            name: np.array([_length(v) for v in block.columns[name].values[: block.samples]], np.float64)
            for name in self.names
        }
        self.files.note(block)
        self.parts.append((block.unit.start, lengths))

    def merge(self, other: Check) -> None:
        assert isinstance(other, ShiftedRows)
        self.seen += other.seen
        self.parts += other.parts
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        parts = sorted(self.parts, key=lambda part: part[0])
        if not parts or sum(len(next(iter(p.values()))) for _, p in parts) < 3 * WINDOW:
            return
        index = np.concatenate([start + np.arange(len(next(iter(p.values())))) for start, p in parts])
        for a, b in self.pairs:
            x, y = (np.concatenate([p[name] for _, p in parts]) for name in (a, b))
            in_place = np.ones(len(index), bool)
            for first, last, by in stretches(x, y):
                value = {"first": int(index[first]), "last": int(index[last]), "by": by}
                yield Fact(ROWS_SHIFTED, value, self.evidence(), {"fields": [a, b], "first": int(index[first])})
                in_place[max(0, first - WINDOW) : last + WINDOW] = False
            for of, other, one, two in ((b, a, x, y), (a, b, y, x)):
                short = index[in_place][cut_short(one[in_place], two[in_place])] if of in self.texts else ()
                if len(short):
                    told = {"count": len(short), "of": len(index), "samples": [int(i) for i in short[:MAX_PLACES]]}
                    yield Fact(SHORT, told, self.evidence(), {"field": of, "by": other})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ROWS_SHIFTED):
            v, (a, b) = fact.value, (escaped(name) for name in fact.at["fields"])
            text = f"{b} seems to be shifted by a row against {a} in {self.files.stretch(v['first'], v['last'])}: "
            text += f"its lengths fit those of the {'next' if v['by'] > 0 else 'previous'} {a}"
            fix = "check where these rows begin: a line was probably lost or added there; shift them back"
            where = [{"sample": at, "file": self.files.of(at)} for at in (v["first"], v["last"])]
            yield finding("rows-shifted", "warning", text, fact, fix, where, v["last"] - v["first"] + 1)
        for fact in facts.all(SHORT):
            v, name, other = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["by"]))
            text = f"{name}: {v['count']:,} of {number(v['of'], 'text')} {verb(v['count'], 'are')} less than half as long as {other} suggests, "
            text += "far shorter than all others; hardly any is too long"
            both = str(fact.at["by"]) in self.texts
            fix = "they were probably cut off: fetch them in full from their source, or drop these samples"
            fix += "" if both else "; keep those whose recordings have long silences"
            where = [{"sample": at, "file": self.files.of(at), "field": str(fact.at["field"])} for at in v["samples"]]
            yield finding("suspicious-text", "warning" if both else "info", text, fact, fix, where, v["count"])


def has_length(field: Field) -> bool:
    """Whether samples are long or short: recordings, texts, and images of varying width, such as lines of writing."""
    return field.kind in ("audio", "text") or (field.kind == "image" and field.shape[1:2] == (None,))


def stretches(x: Any, y: Any) -> list[tuple[int, int, int]]:
    """The first and last row of each stretch, and by how many rows ``y`` is shifted there: 1 if it fits the next ``x``."""

    ranks = [ranked(v) for v in (x, y)]
    starts = range(1, len(x) - WINDOW - 1, STEP)
    as_they_are = [correlated(*(r[start : start + WINDOW] for r in ranks)) for start in starts]
    if sum(r >= AGREE for r in as_they_are) < OFTEN * len(as_they_are):
        return []
    found: list[tuple[int, int, int]] = []
    runs = 0
    for start, here in zip(starts, as_they_are, strict=True):
        if math.isnan(here) or here > NOT:
            runs = 0
            continue
        own = slice(start, start + WINDOW)
        moved = {by: correlated(ranks[0][start + by : start + by + WINDOW], ranks[1][own]) for by in (1, -1)}
        by = max(moved, key=lambda one: (moved[one] >= THERE, moved[one]))
        if math.isnan(moved[by]) or moved[by] < THERE:
            runs = 0
            continue
        runs += 1
        if runs >= RUNS and found and found[-1][2] == by and found[-1][1] >= start:
            found[-1] = (found[-1][0], start + WINDOW - 1, by)
        elif runs >= RUNS:
            found.append((start - STEP, start + WINDOW - 1, by))
    return [one for one in found if luck(ranks[0], ranks[1], *one) * 2 * len(starts) <= CHANCE]


def luck(x: Any, y: Any, first: int, last: int, by: int) -> float:
    """How probable it is that unrelated ranks agree so well in these rows once ``y`` is moved, by Fisher's transformation."""
    r = correlated(x[first + by : last + 1 + by], y[first : last + 1])
    return 0.5 * math.erfc(math.atanh(min(r, 1 - 1e-9)) * math.sqrt((last - first - 2) / 2)) if r > 0 else 1.0


def ranked(values: Any) -> Any:
    """Ranks, float64 [n]; equal values have the mean of theirs."""
    import numpy as np

    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    means: Any = np.cumsum(counts) - (counts - 1) / 2
    return means[which]


def correlated(x: Any, y: Any) -> float:
    """The correlation; NaN where one of both does not vary, which says nothing."""
    import numpy as np

    if x.std() == 0 or y.std() == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def _length(value: Any) -> float:
    """Of an image its width."""
    if hasattr(value, "getbands"):
        return float(value.size[0])
    if getattr(value, "ndim", 0) > 1 and value.shape[1] > 8:  # of a recording the channels
        return float(value.shape[1])
    return float(len(value)) if hasattr(value, "__len__") else 0.0


CHECK = ShiftedRows

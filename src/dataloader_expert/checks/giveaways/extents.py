"""A start and an end whose distance is the length of a text, such as a sequence, or one constant, in nearly all rows, and by one more or
less in the others: rows of a source that counts from one, or to the last element rather than behind it.

Where a text's length is met, an end by one off is wrong. A constant may be met by nature, as of intervals that a timer ends, so that rows
by one off are told only if they are those of one group, or one stretch of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.name_pairs import pairs_of_names
from dataloader_expert.checks.common.rows_kept import Named, files_of, in_order, numbers_of, places
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column

OFF = Quantity(
    "extents_off_by_one",
    "samples",
    "rows whose end is off by one from that of nearly all others, relative to their start",
)
KEPT, CELLS, MOST, GROUPS = 20_000, 2_000_000, 4, 50
"""The most rows, and values, that are kept; the most pairs, and texts; and the most values of a field that explains."""
VARIED, LONG = 5, 10
"""The fewest distinct lengths of texts that extents meet by no chance, and the least length that all texts have."""
LEAST, USUAL, ODD = 30, 0.8, 3
"""The fewest rows, the least share of these that is as usual, and the fewest that are not."""
ALMOST = 0.98
"""The least share of rows that are as usual or by one off, all the same way."""
WITHIN, OUTSIDE, CHANCE = 0.9, 0.01, 1e-9
"""The least share of a group's, or of a stretch's rows, that are by one off, the most of the others; and how unlikely a stretch is."""
PAIRED = (
    ("start", "end"), ("begin", "end"), ("start", "stop"), ("first", "last"), ("from", "to"), ("left", "right"), ("onset", "offset"),
)  # fmt: skip


class Extents(DrawnRows):
    ids = ("length-mismatch",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        plain = [f for f in context.fields if not f.shape]
        self.pairs = pairs_of_names([f.name for f in plain if f.kind == "number"], PAIRED)[:MOST]
        self.texts = (
            [f.name for f in plain if f.dtype == "str" and f.name != context.label][: 2 * MOST] if self.pairs else []
        )
        grouping = [f.name for f in plain if f.dtype == "str"][: 2 * MOST] if self.pairs else []
        self.groups = {name: Named(GROUPS) for name in grouping}
        self.files = Named(GROUPS)
        width = 2 * len(self.pairs) + 2 * len(self.texts) + len(self.groups) + 2
        self.drawn = Drawn(min(KEPT, CELLS // width))
        self.beside = [self.files, *self.groups.values()]

    def applies(self) -> bool:
        return bool(self.pairs)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        names = dict.fromkeys(name for pair in self.pairs for name in pair)
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in names}
        for name in self.texts:
            kept[f"length {name}"], kept[f"bytes {name}"] = lengths_of(block.columns.get(name), rows)
        for name, named in self.groups.items():
            kept[f"group {name}"] = named.of(block.columns.get(name), rows)
        kept["group of file"] = self.files.coded(files_of(block, rows))
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        for start, end in self.pairs:
            extent = rows[f"number {end}"] - rows[f"number {start}"]
            for text in [*self.texts, None]:
                beyond = extent - (rows[f"length {text}"] if text is not None else 0.0)
                found = by_one_off(beyond, constant=text is None)
                if found is None:
                    continue
                usual, by, odd = found
                if text is not None and not told_by(
                    rows[f"length {text}"], rows[f"bytes {text}"], beyond == usual, odd
                ):
                    continue
                group = self._group_of(rows, odd, np.isfinite(beyond))
                if text is None and group is None and not in_one_stretch(odd):
                    continue
                value: dict[str, Any] = {"text": text, "usual": usual, "by": by, "count": int(odd.sum())}
                value |= {"of": int(np.isfinite(beyond).sum()), "where": places(rows, odd, end)}
                value |= {"group": None, "value": None} if group is None else {"group": group[0], "value": group[1]}
                yield Fact(OFF, value, self.evidence("sampled", len(extent)), {"fields": [start, end]})
                break

    def _group_of(self, rows: dict[str, Any], odd: Any, there: Any) -> tuple[str | None, str] | None:
        """The one value of a field, or the file (None), whose rows are by one off, and hardly any others."""
        import numpy as np

        for name, named in [*self.groups.items(), (None, self.files)]:
            if named.many:
                continue
            values, whose = np.unique(rows["group of file" if name is None else f"group {name}"], return_inverse=True)
            n, of = (np.bincount(whose[mask], minlength=len(values)) for mask in (odd, there))
            k = int(n.argmax())
            outside = int(of.sum() - of[k])
            if n[k] >= WITHIN * of[k] and outside >= LEAST and n.sum() - n[k] <= OUTSIDE * outside:
                return name, named.texts.get(int(values[k]), "")
        return None

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(OFF):
            v, (start, end) = fact.value, map(escaped, fact.at["fields"])
            usual = f"{v['usual']:g}" if v["text"] is None else f"the length of {escaped(v['text'])}"
            if v["text"] is not None and v["usual"]:
                usual += f" {'+' if v['usual'] > 0 else '-'} {abs(v['usual']):g}"
            text = f"{end} - {start} is {usual} in most of {number(v['of'], 'sample')}, but one {'more' if v['by'] > 0 else 'less'} in "
            text += f"{v['count']:,}"
            if v["value"] is not None:
                where = (
                    f"those in {escaped(v['value'])}"
                    if v["group"] is None
                    else f"those where {escaped(v['group'])} is "
                )
                text += f": {where}{'' if v['group'] is None else escaped(v['value'])}"
            fix = (
                "find out whether their source counts from 1, or includes the end, and convert them to match the others"
            )
            yield finding("length-mismatch", "warning", text, fact, fix, v["where"], v["count"])


def lengths_of(column: Column | None, rows: Any) -> tuple[Any, Any]:
    """The characters and the bytes of texts, float64 [rows] each; NaN where there is none."""
    import numpy as np

    if column is None or isinstance(column.values, np.ndarray):
        return np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    absent = column.nulls
    made = np.full((2, len(rows)), np.nan)
    for i, row in enumerate(rows.tolist()):
        value = column.values[row]
        if isinstance(value, str) and (absent is None or not absent[row]):
            made[:, i] = len(value), len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    return made[0], made[1]


def by_one_off(beyond: Any, constant: bool) -> tuple[float, int, Any] | None:
    """What whole numbers mostly are, by how much some differ, 1 or -1, and which; None if they are not mostly one, or differ otherwise. By
    how much an extent is longer than a text is at most one by custom."""
    import numpy as np

    there = np.isfinite(beyond)
    n = int(there.sum())
    if n < LEAST:
        return None
    levels, counts = np.unique(beyond[there], return_counts=True)
    usual = float(levels[counts.argmax()])
    if counts.max() < USUAL * n or usual != round(usual) or (abs(usual) > 1) != constant:
        return None
    by = max((1, -1), key=lambda step: int((beyond == usual + step).sum()))
    odd = beyond == usual + by
    if odd.sum() < ODD or odd.sum() + counts.max() < ALMOST * n:
        return None
    return usual, by, odd


def told_by(lengths: Any, in_bytes: Any, usual: Any, odd: Any) -> bool:
    """Whether extents are the lengths of texts: of several lengths, or of one that all have; and those that are not count no bytes."""
    import numpy as np

    either = usual | odd
    same = len(np.unique(lengths[either])) == 1 and float(lengths[either][0]) >= LONG
    return (same or len(np.unique(lengths[usual])) >= VARIED) and not (odd & (in_bytes != lengths)).any()


def in_one_stretch(odd: Any) -> bool:
    """Whether rows are those of one stretch, and too many next to each other by chance."""
    import numpy as np

    first, end = highest(np.where(odd, 1, -1))
    inside = int(odd[first:end].sum())
    rest = int(odd.sum()) - inside
    share = (rest + 1) / (len(odd) - (end - first) + 1)
    rare = inside * math.log(share) + math.log(len(odd)) < math.log(CHANCE)
    return inside >= WITHIN * (end - first) and rest <= OUTSIDE * len(odd) and rare


CHECK = Extents

"""Dates of one part that cannot be those of its rows: all on the first of January, where only the year was known, or a day or more apart from
the days on which all other groups have rows, such as the trading days of a market."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.in_parts import InParts
from dataloader_expert.checks.common.parts import Grouping, Part, part_of, part_said
from dataloader_expert.checks.common.recorded import FEWEST
from dataloader_expert.checks.common.rows_kept import moments_of, places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

FIRST_DAYS = Quantity(
    "first_days_of_part", "samples", "dates of one part that nearly all are 1 January, unlike the others"
)
SHIFTED_DAYS = Quantity(
    "days_of_part_shifted", "days", "by how many days the dates of one group lie apart from those of all others"
)
KEPT, CELLS, DATES = 20_000, 1_500_000, 4
"""The most rows, and values of all fields, that are kept; and the most fields of dates."""
DAY = 86_400.0
SHIFTS, LEAST = (1, -1, 2, -2, 3, -3), 30
"""The days by which dates may be shifted, and the fewest distinct days of a group."""
OFF, ON = 0.9, 0.99
"""The most of a group's days that are days of the others, and the least of them once shifted back, and of each other group."""


class DatesOfPart(InParts):
    ids = ("missing-values", "scale-drift")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        timed = None if context.timed is None else context.timed.field
        self.dates = [f.name for f in context.fields if not f.shape and (f.kind == "time" or f.name == timed)][:DATES]
        self.draw(KEPT, CELLS, len(self.dates) + 2)

    def applies(self) -> bool:
        return bool(self.dates)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"date {name}": moments_of(block.columns.get(name), rows) for name in self.dates}
        return kept | self.parts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = self.drawn.all()[1]
        groupings = [*self.parts.groupings(rows)]
        for name in self.dates:
            known = np.abs(rows[f"date {name}"]) < 1e11  # NaN is not
            days = np.floor(np.where(known, rows[f"date {name}"], 0.0) / DAY).astype(np.int64)
            dates = days.astype("M8[D]")
            first = known & (dates == dates.astype("M8[Y]").astype("M8[D]"))
            others = [g for g in groupings if g.place and not _a_day_each(days, known, first, g)]
            part = part_of(first, known, others, {}, [name])
            if part is not None:
                yield self._fact(FIRST_DAYS, name, part, first, rows, 0)
            for odd, moved, by in self._shifted(days, known, [g for g in groupings if g.name != name]):
                yield self._fact(SHIFTED_DAYS, name, odd, moved, rows, by)
                break

    def _shifted(self, days: Any, known: Any, groupings: list[Grouping]) -> Iterator[tuple[Part, Any, int]]:
        """The group whose days are those of all others but for a few days."""
        import numpy as np

        for g in groupings:
            own = [np.unique(days[known & (g.which == k)]) for k in range(len(g.texts))]
            large = [k for k in range(len(own)) if len(own[k]) >= LEAST]
            if len(large) < FEWEST + 1:
                continue
            every, counts = np.unique(np.concatenate([own[k] for k in large]), return_counts=True)
            usual = every[2 * counts >= len(large)]
            off = [k for k in large if np.isin(own[k], usual).mean() < ON]
            if len(off) != 1 or np.isin(own[off[0]], usual).mean() > OFF:
                continue
            k = off[0]
            by = next((s for s in SHIFTS if np.isin(own[k] - s, usual).mean() >= ON), None)
            if by is not None:
                odd = known & (g.which == k)
                yield Part(g.name, (g.texts[k],), g.place, int(odd.sum()), int(odd.sum())), odd, by

    def _fact(self, quantity: Quantity, name: str, part: Part, odd: Any, rows: dict[str, Any], by: int) -> Fact:
        value = part.value() | {"days": by, "where": places(rows, odd, name)}
        return Fact(quantity, value, self.evidence("sampled", len(odd)), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(FIRST_DAYS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} is 1 January in {v['count']:,} of {number(v['rows'], 'sample')} {part_said(v, '')}, and hardly ever elsewhere: "
            text += "the day was probably unknown there"
            fix = f"read only the year of {name} there, or take these dates as missing; seasons and intervals computed from them are wrong"
            yield finding("missing-values", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(SHIFTED_DAYS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            way = "late" if v["days"] > 0 else "early"
            text = f"{name} seems to be {number(abs(v['days']), 'day')} {way} {part_said(v, '')}: its days are those of all other groups "
            text += "only once they are shifted back"
            fix = "check a few dates against their source (a time zone, a cut-off hour); if they are wrong, shift them back"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["count"])


def _a_day_each(days: Any, known: Any, first: Any, g: Grouping) -> bool:
    """Whether most groups hold a single day each, as one file a day does, and one of them alone that of a first of January."""
    import numpy as np

    if not first.any():
        return False
    own = [known & (g.which == k) for k in range(len(g.texts))]
    single = [bool(of.any()) and len(np.unique(days[of])) == 1 for of in own]
    there = sum(bool(of.any()) for of in own)
    on = sum(one and bool(first[of].any()) for one, of in zip(single, own, strict=True))
    return 2 * sum(single) > there and on <= 1


CHECK = DatesOfPart

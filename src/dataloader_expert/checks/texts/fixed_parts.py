"""Structured strings of a fixed number of parts, such as the eight ranks of a chess position, of which some have too few or too many.

That strings have a grammar, and are not paths of any depth, is told by two separators: the one has the same number in every string, the
other in nearly all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import distinct, in_order, places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

PARTS = Quantity(
    "fixed_parts", "samples", "strings with another number of a separator than nearly all others of their field"
)
ROWS, FIELDS, READ = 1 << 14, 8, 500
"""The most rows, and fields of strings, that are drawn; and characters of a string."""
SEPARATORS = "/|;:,_- "
LEAST, OFTEN, TWICE = 100, 4, 2
"""The fewest strings of a field; and the fewest times that the separators come, which nearly all have as often, and all."""
NEARLY, ALL, FEWEST = 0.85, 0.995, 3
"""The least share of strings that have the usual number, and of those that have one of the other separator; and the fewest odd ones."""


class FixedParts(DrawnRows):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        named = [f for f in context.fields if f.kind in ("category", "text") and f.dtype == "str" and not f.shape]
        self.fields = [f.name for f in named if f.name != context.label][:FIELDS]
        self.drawn = Drawn(ROWS)

    def applies(self) -> bool:
        return bool(self.fields)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept: dict[str, Any] = {}
        for name in self.fields:
            texts, at = distinct(block.columns.get(name), rows, READ)
            counts = np.array([[text.count(s) if text.strip() else -1 for s in SEPARATORS] for text in texts], np.int16)
            kept |= {f"{s} {name}": counts[at, k] for k, s in enumerate(SEPARATORS)}
        return kept

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        for name in self.fields:
            known = kept[f"{SEPARATORS[0]} {name}"] >= 0
            if known.sum() < LEAST:
                continue
            usual = {s: _usual(kept[f"{s} {name}"][known]) for s in SEPARATORS}
            fixed = [s for s, (count, share) in usual.items() if count >= TWICE and share >= ALL]
            for s, (count, share) in usual.items():
                odd = known & (kept[f"{s} {name}"] != count)
                if count >= OFTEN and NEARLY <= share < ALL and odd.sum() >= FEWEST and fixed:
                    other, _ = _usual(kept[f"{s} {name}"][odd])
                    value: dict[str, Json] = {
                        "count": int(odd.sum()),
                        "of": int(known.sum()),
                        "usual": count,
                        "odd": other,
                    }
                    value["where"] = places(kept, odd, name)
                    at = {"field": name, "separator": s}
                    yield Fact(PARTS, value, self.evidence("sampled", int(known.sum())), at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PARTS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name}: {v['count']:,} of {number(v['of'], 'value')} have another number of {str(fact.at['separator'])!r} than the usual "
            text += f"{v['usual']} (mostly {v['odd']}), although they are built alike otherwise: a part seems to be missing or doubled"
            fix = "restore them from their source, or drop them: a parser fails on them, or shifts what comes after"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], v["count"])


def _usual(counts: Any) -> tuple[int, float]:
    """The most frequent number, and its share."""
    import numpy as np

    values, times = np.unique(counts, return_counts=True)
    at = int(times.argmax())
    return int(values[at]), float(times[at] / len(counts))


CHECK = FixedParts

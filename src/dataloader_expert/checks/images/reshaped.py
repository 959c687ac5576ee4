"""Images as arrays that were reshaped where their axes should have been moved: [channels, height, width] read as [height, width, channels], or the
other way round, so that neighbouring pixels have nothing to do with each other.

Read as they were, such arrays are far smoother than as they are; a picture in its own layout is far rougher once it is reshaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn_rows import DrawnField
from dataloader_expert.checks.common.rows_kept import in_order, places, split_of
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

RESHAPED = Quantity("reshaped_arrays", "samples", "arrays whose neighbouring pixels only match after reshaping")
KEPT, CHANNELS, SMALLEST = 2_000, 16, 8
"""The most samples that are looked at, the most channels, and the fewest pixels of a side."""
BESIDE, ALONE, FEWEST, CLEAR = 1.2, 1.6, 10, 0.95
"""How many times as rough as the other way arrays are in the wrong one, beside a split where they are as much smoother, and where there is none;
the fewest of a split; and the least share of them that are rougher at all."""


class Reshaped(DrawnField):
    ids = ("layout-mismatch",)
    most = KEPT

    def chosen(self, context: Context) -> str:
        found = [
            f for f in context.fields if f.kind in ("image", "array") and len(f.shape) == 3 and f.name != context.label
        ]
        found = [f for f in found if None not in f.shape and min(n or 0 for n in (f.shape[0], f.shape[2])) <= CHANNELS]
        return found[0].name if len(found) == 1 else ""

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        values = block.columns[self.field].values
        names, codes = split_of(self.context, block, rows)
        made = np.array([rougher(values[i]) for i in rows.tolist()], np.float64)
        return {"rougher": made, "split": np.array(names, object)[codes]}

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        names, of = np.unique(kept["split"].astype(str), return_inverse=True)
        parts = {k: kept["rougher"][(of == k) & np.isfinite(kept["rougher"])] for k in range(len(names))}
        parts = {k: part for k, part in parts.items() if len(part) >= FEWEST}
        middles = {k: float(np.median(part)) for k, part in parts.items()}
        surely = min(middles.values(), default=1.0) > 1 / BESIDE
        odd = [
            k for k, part in parts.items() if middles[k] >= (ALONE if surely else BESIDE) and (part > 1).mean() >= CLEAR
        ]
        if not odd:
            return
        marked = np.isin(of, odd)
        value: dict[str, Any] = {"count": round(float(marked.mean()) * self.seen), "of": self.seen}
        value |= {"splits": [str(names[k]) for k in odd if names[k]], "where": places(kept, marked, self.field)}
        yield Fact(RESHAPED, value, self.evidence("sampled", len(of)))

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(RESHAPED):
            v, name = fact.value, escaped(self.field)
            n, inside = v["count"], f" (in {', '.join(map(escaped, v['splits']))})" if v["splits"] else ""
            text = f"{n:,} of {number(v['of'], 'array')} of {name} {verb(n, 'are')} scrambled{inside}: neighbouring pixels only match after "
            text += (
                "reshaping to the other axis order, so the axes were reshaped where they should have been transposed"
            )
            fix = "undo it: x.reshape(channels, height, width).transpose(1, 2, 0), or the reverse; and use transpose or moveaxis, not reshape"
            yield finding("layout-mismatch", "error", text, fact, fix, v["where"], n)


def rougher(value: Any) -> float:
    """How many times as rough an array, [height, width, channels] or [channels, height, width], is as reshaped to the other; NaN of others."""
    import numpy as np

    if not isinstance(value, np.ndarray) or value.ndim != 3 or value.dtype.kind not in "uif":
        return float("nan")
    first, last = value.shape[0], value.shape[2]
    if not 2 <= min(first, last) <= CHANNELS or first == last or sorted(value.shape)[1] < SMALLEST:
        return float("nan")
    own = value if first < last else np.moveaxis(value, 2, 0)
    other = (
        np.moveaxis(value.reshape(*value.shape[1:], first), 2, 0)
        if first < last
        else value.reshape(last, *value.shape[:2])
    )
    sizes = [_rough(x.astype(np.float32)) for x in (own, other)]
    return sizes[0] / sizes[1] if sizes[1] > 0 else float("nan")


def _rough(x: Any) -> float:
    """How much neighbours differ in each channel, [channels, height, width]."""
    import numpy as np

    return float(np.abs(np.diff(x, axis=1)).mean() + np.abs(np.diff(x, axis=2)).mean())


CHECK = Reshaped

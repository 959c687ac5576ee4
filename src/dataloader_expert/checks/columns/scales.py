"""Files or samples whose numbers have another scale than the others.

For tables and arrays in several units: the median magnitude of a field's values per unit. For images as arrays and for
two-dimensional arrays: samples between 0 and 1 among samples that exceed 16, and vice versa. For images of more than 8 bits: the
median magnitude of each image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.pictures import is_deep

SCALES = Quantity(
    "unit_scales",
    "",
    "units whose values of a field are on another scale, and how far they are from those of the others",
)
RANGES = Quantity("sample_ranges", "samples", "samples between 0 and 1, and those that exceed 16")
APART = 10.0
"""The ratio of medians that means another scale: a factor of 1000 and a division by 255 exceed it."""
LEAST, UNITS = 32, 4
"""The fewest values of a unit, and the fewest units, for a finding."""
LOOKED_AT = 2_048
"""The most values of a unit, or of an image, that are looked at."""
FEW = 0.2
"""The largest share of units that can be odd: if more differ, the field varies."""
STEADY = 2.0
"""How far apart the middle half of the units may be: a field that varies more between units has no scale."""


Magnitudes = tuple[int, float, str, float, float]
"""Of a unit: its first sample, the median of its values' magnitudes, its file, and their 5 % and 95 % quantiles."""


class Scales(Check):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = ("number", "embedding", "array", "sequence")
        self.fields = [f for f in context.fields if f.kind in kinds and f.name != context.label and "float" in f.dtype]
        self.wide = {f.name for f in context.fields if len(f.shape) >= 2 and f.kind in ("image", "array")}
        self.images = {f.name for f in context.fields if f.kind == "image" and f.dtype != "uint8"}
        self.units: dict[str, list[Magnitudes]] = {}
        self.ranges: dict[str, Counter[str]] = {}
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields or self.wide or self.images)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        for f in self.fields:
            values = block.columns[f.name].values if f.name in block.columns else None
            # a single sample may just be quiet or small
            several = block.unit.samples > 1 and not block.unit.members
            if several and isinstance(values, np.ndarray) and values.dtype.kind == "f" and f.name not in self.wide:
                self._unit(f.name, block, 0, values)
        for name in self.wide & block.columns.keys():
            for i, value in enumerate(block.columns[name].values):
                if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
                    self._range(name, block, i, float(value.min()), float(value.max()))
        for name in self.images & block.columns.keys():
            for i, value in enumerate(block.columns[name].values):
                if hasattr(value, "getbands"):
                    self._unit(name, block, i, np.asarray(value if is_deep(value) else value.convert("L")))

    def _unit(self, name: str, block: Block, i: int, values: Any) -> None:
        """Notes the quantiles of the magnitudes of values that begin at the block's sample ``i``; zeros are background."""
        import numpy as np

        flat = values.reshape(-1)
        flat = np.abs(flat[:: max(1, len(flat) // LOOKED_AT)].astype(np.float64))
        flat = flat[np.isfinite(flat) & (flat > 0)]
        if len(flat) >= LEAST:
            low, middle, high = np.quantile(flat, [0.05, 0.5, 0.95]).tolist()
            self.units.setdefault(name, []).append((block.index(i), middle, block.file(i), low, high))

    def _range(self, name: str, block: Block, i: int, low: float, high: float) -> None:
        kind = "unit" if 0 <= low < high <= 1.0 else "wide" if low >= 0 and high > 16 else "other"
        self.ranges.setdefault(name, Counter())[kind] += 1
        self.where.add((name, kind), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Scales)
        self.seen += other.seen
        for name, units in other.units.items():
            self.units.setdefault(name, []).extend(units)
        for name, counts in other.ranges.items():
            self.ranges.setdefault(name, Counter()).update(counts)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name, units in sorted(self.units.items()):
            odd, ratio = _odd(sorted(units))
            where = [{"sample": start, "file": file or None, "field": name} for start, _, file, *_ in odd[:MAX_PLACES]]
            if odd:
                value = {"units": len(units), "odd": len(odd), "ratio": ratio, "where": where}
                yield Fact(SCALES, value, self.evidence(), {"field": name})
        for name, counts in sorted(self.ranges.items()):
            rare = min(("unit", "wide"), key=lambda k: counts[k])
            value = {"unit": counts["unit"], "wide": counts["wide"], "where": self.where.of((name, rare))}
            yield Fact(RANGES, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fix = "find out how they were written, and convert all to one scale"
        for fact in facts.all(SCALES):
            v, name = fact.value, escaped(fact.at["field"])
            what = "images" if fact.at["field"] in self.images else "blocks of samples"
            text = f"{name} is on another scale in {v['odd']} of {v['units']} {what}: {v['ratio']:.3g} times the median of the others"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["odd"])
        for fact in facts.all(RANGES):
            v, name = fact.value, escaped(fact.at["field"])
            if v["unit"] and v["wide"] and min(v["unit"], v["wide"]) <= FEW * (v["unit"] + v["wide"]):
                text = f"{name} is between 0 and 1 in {v['unit']} samples and exceeds 16 in {v['wide']}"
                yield finding("scale-drift", "warning", text, fact, fix, v["where"], min(v["unit"], v["wide"]))


def _odd(units: list[Magnitudes]) -> tuple[list[Magnitudes], float]:
    """The few units whose median has another scale than the others', and the largest ratio.

    Where the others often have such values too, the unit has only more of them: a subject who mostly sat.
    """
    import numpy as np

    medians = np.array([middle for _, middle, *_ in units])
    if len(units) < UNITS:
        return [], 1.0
    low, middle, high = np.quantile(medians, [0.25, 0.5, 0.75])
    ratios = medians / middle
    ends = [float(np.median([unit[k] for unit in units])) for k in (3, 4)]
    odd = np.flatnonzero((ratios >= APART) & (medians > ends[1]) | (ratios <= 1 / APART) & (medians < ends[0]))
    if not len(odd) or len(odd) > FEW * len(units) or high > STEADY * low:
        return [], 1.0
    farthest = odd[np.abs(np.log(ratios[odd])).argmax()]
    return [units[i] for i in odd.tolist()], float(ratios[farthest])


CHECK = Scales

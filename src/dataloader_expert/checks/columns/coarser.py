"""Samples of one split, device or speaker that were stored in coarser steps: quantised to few levels, padded with zeros where no other is;
and samples whose values are each held for several steps, as of a recording at a lower rate.

The step of a sample is what its distinct values are apart at least (their 10th percentile): of quiet recordings and dark images it is that
of all others, though they have fewer levels. Of held values nearly all runs have the same length; those of rounded ones vary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.cohorts import SPLIT, Cohorts, told_of
from dataloader_expert.checks.common.drawn import SCARCELY, Drawn
from dataloader_expert.checks.common.per_sample import apart
from dataloader_expert.checks.common.rows_kept import at_of, places
from dataloader_expert.checks.features import Channels
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

COARSE = Quantity("coarser_samples", "samples", "samples of cohorts that are quantised more coarsely than all others")
HELD = Quantity("held_samples", "samples", "samples that repeat each value for the same number of steps")
FIELDS, KEPT, LEAST = 3, 1_000, 20
"""The most fields, the most samples of each that are measured, and the fewest of a cohort."""
LOOKED, WINDOW = 4_096, 48
"""Values of a sample that are looked at, in a row, and pixels of the middle of an image in each direction."""
TIMES, SURE, COARSEST = 4.0, 0.98, 256
"""By how much steps must be larger, and levels fewer, in the median; how often one of the cohort's samples is the coarser one of two; and
the most levels of a coarse sample."""
RUNS, MOSTLY, OTHERS = 16, 0.95, 0.5
"""The fewest runs of a sample, the share of them that have one length where values are held, and the least share of samples without."""
FEWEST = 5
STEP, LEVELS, HOLD = range(3)


class Coarser(Check):
    ids = ("preprocessing-differs", "scale-drift")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        shown = [f for f in context.fields if f.kind in ("image", "audio") and f.name != context.label]
        windows = [f for f in context.fields if f.kind in ("array", "sequence") and f.name != context.label]
        self.windows = {f.name: found for f in windows if len(f.shape) > 1 and (found := Channels.of(f)) is not None}
        self.kinds = {f.name: f.kind for f in shown} | dict.fromkeys(self.windows, "array")
        self.kinds = dict(list(self.kinds.items())[:FIELDS])
        self.cohorts = Cohorts(context)
        self.drawn = {name: Drawn(KEPT, spare=SCARCELY) for name in self.kinds}

    def applies(self) -> bool:
        return bool(self.kinds)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        for name, drawn in self.drawn.items():
            if not block.samples or name not in block.columns:
                continue
            values = block.columns[name].values
            found = {i: made for i in drawn.rows(block).tolist() if (made := self._measures(name, values[i]))}
            if found:
                rows = np.array(list(found))
                kept = {"measures": np.array(list(found.values()), np.float64)}
                drawn.keep(block, rows, kept | self.cohorts.of(block, rows) | at_of(block, rows))

    def _measures(self, name: str, value: Any) -> tuple[float, float, float] | None:
        import numpy as np

        if hasattr(value, "getbands"):
            if value.mode not in ("L", "RGB"):
                return None
            left, top = ((n - WINDOW) // 2 if n > WINDOW else 0 for n in value.size)
            return (
                *steps_of(
                    np.asarray(
                        value.crop((left, top, left + min(WINDOW, value.width), top + min(WINDOW, value.height)))
                    )
                ),
                1,
            )
        if getattr(value, "dtype", None) is None or value.dtype.kind not in "iuf" or value.ndim < 1 or not value.size:
            return None
        channels = self.windows.get(name)
        series = channels.apart(value[None]) if channels is not None else value.reshape(len(value), -1).T[None]
        hold = 1 if self.kinds[name] == "image" or series is None else held_for(series[0][:, :LOOKED])
        return (*steps_of(value.reshape(-1)[:LOOKED]), hold)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Coarser)
        self.seen += other.seen
        self.cohorts.merge(other.cohorts)
        for name, drawn in other.drawn.items():
            self.drawn[name].merge(drawn)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, drawn in self.drawn.items():
            if not drawn.parts:
                continue
            _, rows = drawn.all()
            measures = rows["measures"]
            for length in sorted({*measures[measures[:, HOLD] > 1, HOLD].tolist()}):
                odd, free = measures[:, HOLD] == length, measures[:, HOLD] == 1
                if odd.sum() >= FEWEST and free.sum() >= max(FEWEST, OTHERS * len(odd)):
                    value = {
                        "count": int(odd.sum()),
                        "of": len(odd),
                        "for": int(length),
                        "where": places(rows, odd, name),
                    }
                    value |= self._cohort_of(rows, odd)
                    yield Fact(HELD, value, self.evidence("sampled", len(odd)), {"field": name, "for": int(length)})
            for kind, names, whose in self.cohorts.kinds(rows, LEAST):
                odd = [
                    k for k in range(len(names)) if coarser(measures[whose == k], measures[(whose != k) & (whose >= 0)])
                ]
                if kind != SPLIT or self.kinds[name] != "image":  # drawings in black and white, rectangular waves
                    odd = [k for k in odd if np.median(measures[whose == k, LEVELS]) > 1]
                if odd and 2 * len(odd) <= len(names):
                    marked = np.isin(whose, odd)
                    levels = [float(np.median(measures[part & (whose >= 0), LEVELS])) + 1 for part in (marked, ~marked)]
                    value = {
                        "of": [names[k] for k in odd],
                        "count": int(marked.sum()),
                        "levels": levels[0],
                        "others": levels[1],
                    }
                    value["where"] = places(rows, marked, name)
                    yield Fact(COARSE, value, self.evidence("sampled", len(measures)), {"field": name, "kind": kind})
                    break

    def _cohort_of(self, rows: dict[str, Any], odd: Any) -> dict[str, Any]:
        """The cohort that these samples are, if nearly all are of one, and nearly all of that one are among them."""
        for kind, names, whose in self.cohorts.kinds(rows, FEWEST):
            for k, name in enumerate(names):
                both = (odd & (whose == k)).sum()
                if both >= MOSTLY * max(odd.sum(), (whose == k).sum()):
                    return {"kind": kind, "cohort": name}
        return {}

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(COARSE):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} is quantised more coarsely {told_of(str(fact.at['kind']), v['of'])}: the range of a sample has about "
            text += f"{v['levels']:,.0f} levels there, and {v['others']:,.0f} elsewhere"
            fix = "regenerate all samples from the originals with the same code and bit depth"
            yield finding("preprocessing-differs", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(HELD):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} repeats each value for {v['for']} steps in {v['count']:,} of {number(v['of'], 'sample')}, "
            text += "but changes at every step in the others"
            text += f"; these are the samples {told_of(v['kind'], [v['cohort']])}" if "kind" in v else ""
            fix = "resample all samples to one rate, by interpolation or averaging: these were recorded at a lower one"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["count"])


def steps_of(values: Any) -> tuple[float, float]:
    """What distinct values are apart at least, and how many such steps lie between the smallest and the largest; NaN of fewer than three."""
    import numpy as np

    if values.dtype == np.uint8:
        levels = np.flatnonzero(np.bincount(values.reshape(-1), minlength=256)).astype(np.float64)
    else:
        levels = np.sort(values[np.isfinite(values)] if values.dtype.kind == "f" else values).astype(np.float64)
    gaps = np.diff(levels)
    gaps = gaps[gaps > 0]
    if len(gaps) < 2:
        return (float(gaps[0]), 1.0) if len(gaps) else (np.nan, np.nan)
    low = len(gaps) // 10
    step = float(np.partition(gaps, low)[low])
    return step, float(levels[-1] - levels[0]) / max(step, 1e-300)


def coarser(own: Any, others: Any) -> bool:
    """Whether a cohort's samples have larger steps and fewer levels than those of all others."""
    import numpy as np

    one, two = (part[np.isfinite(part).all(1)] for part in (own, others))
    if min(len(one), len(two)) < LEAST:
        return False
    middle = [np.median(part, 0) for part in (one, two)]
    larger = middle[0][STEP] >= TIMES * middle[1][STEP] and TIMES * middle[0][LEVELS] <= middle[1][LEVELS]
    if not larger or middle[0][LEVELS] > COARSEST:
        return False
    return all(apart(one[:, of].tolist(), two[:, of].tolist()) >= SURE for of in (STEP, LEVELS))


def held_for(series: Any) -> int:
    """For how many steps each value is held, series [channels, steps]; 1 if they are not held, or are too few."""
    import numpy as np

    changes = np.flatnonzero((series[:, 1:] != series[:, :-1]).any(0))
    if len(changes) < RUNS:
        return 1
    runs = np.diff(changes)
    length = int(np.partition(runs, len(runs) // 2)[len(runs) // 2])
    if length == 1 or np.count_nonzero(runs == length) < MOSTLY * len(runs):
        return 1
    few = max(len(np.unique(channel)) for channel in series) < RUNS // 2
    return 1 if few else length  # a rectangular wave has few values


CHECK = Coarser

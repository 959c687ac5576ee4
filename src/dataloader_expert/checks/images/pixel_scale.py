"""Float pictures that were divided by 255 twice, or that were normalized for values up to 1 without being divided by 255.

Read as bytes, pixels have 256 levels. Divided by 255 twice they end at 0.004, and are
multiples of 1 / 255². Where each channel still has its levels, evenly spaced, but more
than one apart and the lowest below 0, it was divided by a deviation that is meant for values up to 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn_rows import DrawnField
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.checks.images.float_pictures import sides_of
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SCALE = Quantity("pixel_scale", "", "how the pixels of float images were scaled wrongly, and the range of their values")
KEPT, FEWEST, LOOKED = 128, 8, 1024
"""The most images that are looked at, the fewest that tell, and the most pixels of a channel."""
WHITE, BRIGHT, NEARLY = 255, 0.3, 0.9
"""The largest level; the share of it that the brightest pixels of images reach, in the median; and the least share of images that are so."""
STEPS, LEVELS, SPAN, EXACT = (1.4, 10.0), 16, 40, 0.02
"""How far levels are apart once they were divided by a deviation between 0.1 and 0.7; the fewest levels of a channel and the fewest from its lowest to
its highest; and by which part of a step they may be off."""
TWICE, HALF_OFF = 1 / WHITE**2, 0.2
"""How far levels are apart that were divided twice, and by which part of it numbers of two bytes may be off."""


class PixelScale(DrawnField):
    ids = ("value-range-mismatch",)
    most = KEPT

    def chosen(self, context: Context) -> str:
        return next((f.name for f in context.fields if sides_of(f) is not None and f.name != context.label), "")

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        values = block.columns[self.field].values
        found = np.array([measures(values[i]) for i in rows.tolist()], np.float64)
        return {name: found[:, k] for k, name in enumerate(("low", "high", "step"))}

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        low, high, step = (rows[name] for name in ("low", "high", "step"))
        if len(low) < FEWEST or not np.isfinite(high).all():
            return
        top, bottom = float(high.max()), float(low.min())
        even = np.isfinite(step).mean() >= NEARLY
        twice = even and bottom >= 0 and top <= (1 + 1e-3) / WHITE and float(np.median(high)) >= BRIGHT / WHITE
        if twice or (even and -STEPS[1] <= bottom < 0):
            marked = np.ones(len(low), bool) if twice else np.isfinite(step)
            value = {"twice": twice, "low": bottom, "high": top, "where": places(rows, marked, self.field)}
            yield Fact(SCALE, value, self.evidence("sampled", len(low)), {"field": self.field})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SCALE):
            v, name = fact.value, f"{'field ' * self.field.isdigit()}{escaped(self.field)}"
            text = f"values of {name} are between {v['low']:.3g} and {v['high']:.3g}: "
            if v["twice"]:
                text += "they seem to have been divided by 255 twice"
                fix = "divide once: ToTensor and to_image with scaling do so themselves; with values this small, a network hardly sees the images"
            else:
                text += "they seem to have been normalized with a mean and a standard deviation that are meant for values up to 1, without being divided by 255"
                fix = "divide by 255 before normalizing, as ToTensor does, or multiply the mean and the standard deviation by 255"
            yield finding("value-range-mismatch", "warning", text, fact, fix, v["where"])


def measures(value: Any) -> tuple[float, float, float]:
    """A picture's lowest and highest value and the distance between its levels; NaN if the levels are not even or their distance is outside ``STEPS``."""
    import numpy as np

    nothing = float("nan")
    if not isinstance(value, np.ndarray) or value.ndim != 3 or value.dtype.kind != "f" or not value.size:
        return nothing, nothing, nothing
    channels = value if value.shape[0] in (1, 3) else np.moveaxis(value, 2, 0)
    flat = channels.reshape(len(channels), -1)[:, :: max(1, channels[0].size // LOOKED)].astype(np.float64)
    low, high = float(value.min()), float(value.max())
    if 0 <= low <= high <= (1 + 1e-3) / WHITE:
        off = np.abs(flat / TWICE - np.rint(flat / TWICE))
        return low, high, TWICE if (off <= (EXACT if value.dtype.itemsize > 2 else HALF_OFF)).all() else nothing
    steps = [_step(channel) for channel in flat] if high > SPAN else [nothing]
    return low, high, float(np.mean(steps))


def _step(channel: Any) -> float:
    """By how much the levels of a channel differ, if these are as of bytes that were divided by a deviation below 1."""
    import numpy as np

    levels = np.unique(channel)
    if len(levels) < LEVELS or not np.isfinite(levels).all():
        return float("nan")
    steps = np.diff(levels)
    step = float(steps.min())
    whole = (
        abs(step - round(step)) < 1e-4 and (levels % 2 != 1).any()
    )  # whole steps are measurements; only (x - 0.5) / 0.5 of bytes also has them, all odd
    if not STEPS[0] <= step <= STEPS[1] or whole:
        return float("nan")
    even = (np.abs(steps / step - np.rint(steps / step)) <= EXACT).all()
    return step if even and SPAN <= (levels[-1] - levels[0]) / step <= WHITE + 0.5 else float("nan")


CHECK = PixelScale

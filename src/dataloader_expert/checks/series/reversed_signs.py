"""Recordings whose sign or order is turned in those of a few subjects, devices or files: electrodes that were swapped, an axis that points the
other way, spectra written from the largest wavenumber down.

Only where windows of all show the same on average, such as heart beats or spectra of one kind of sample, does it tell anything: the mean of each of
the others goes with that of all, and the mean of these does so once its sign is changed, or once it is read backwards. Classes have shapes of their
own, so only windows of the most frequent one are compared, unless the label is a quantity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.cohorts import SPLIT, Cohorts, told_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.recorded import few
from dataloader_expert.checks.common.rows_kept import digests_by_name, in_order, places
from dataloader_expert.checks.features import Channels
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column, Field

REVERSED = Quantity("reversed_signs", "samples", "windows of a few cohorts whose mean is minus that of the others")
BACKWARDS = Quantity(
    "reversed_order", "samples", "windows of a few cohorts whose mean is that of the others read backwards"
)
KINDS = ("array", "sequence", "embedding")
KEPT, STEPS, CHANNELS = 6_000, 96, 8
"""The most windows, and of each the most steps and channels that are looked at."""
LEAST, COHORTS, SHORTEST = 10, 5, 16
"""The fewest windows of a cohort, and the fewest cohorts; the fewest steps of a window."""
SHAPED, LIKE = 0.7, 0.8
"""The least correlation of the mean of each other cohort with that of all, and of an odd one once its sign is changed."""


MIRRORED, BEFORE, MANY = 0.9, 0.5, 20
"""The least correlation of the mean of a cohort, read backwards, with that of the others, and of halves of both with each other; the most of it as
it is; and how many values of a label make it a quantity."""


class ReversedSigns(DrawnRows):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        found = [f for f in context.fields if f.kind in KINDS and f.name != context.label and _is_window(f)]
        self.field = found[0] if len(found) == 1 and context.objects is None else None
        self.channels = Channels.of(self.field) if self.field is not None and len(self.field.shape) > 1 else None
        self.name = "" if self.field is None else self.field.name
        self.cohorts = Cohorts(context)
        self.drawn = Drawn(KEPT)
        self.beside, self.needs = [self.cohorts], [self.name]

    def applies(self) -> bool:
        return self.field is not None and (len(self.field.shape) == 1 or self.channels is not None)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {"window": self._windows(block.columns[self.name], rows)}
        kept["label"] = digests_by_name(block.columns.get(self.context.label or ""), rows)
        return kept | self.cohorts.of(block, rows)

    def _windows(self, column: Column, rows: Any) -> Any:
        """Of each row its channels, one after another, each of as many steps; NaN where it has others."""
        import numpy as np

        width = min(self.channels.width, CHANNELS) if self.channels is not None else 1
        made = np.full((len(rows), width * STEPS), np.nan, np.float32)
        for i, row in enumerate(rows.tolist()):
            value = column.values[row]
            if not hasattr(value, "dtype") or value.dtype.kind not in "iuf":
                continue
            parts = value[None] if value.ndim == 1 and self.channels is None else None
            if self.channels is not None and (apart := self.channels.apart(value[None])) is not None:
                parts = apart[0]
            if parts is not None and parts.shape[1] >= SHORTEST:
                at = np.rint(np.linspace(0, parts.shape[1] - 1, STEPS)).astype(
                    np.int64
                )  # the same ones from either end
                made[i] = parts[:width, at].reshape(-1)
        return made

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        known = np.isfinite(rows["window"]).all(1) & (np.abs(rows["window"]) < 1e15).all(1)
        labels, counts = np.unique(rows["label"][known], return_counts=True)
        if not len(labels):
            return
        same = known & ((rows["label"] == labels[counts.argmax()]) if len(labels) <= MANY else known)
        turned = self._backwards(rows, same)
        if turned is not None:
            yield turned
            return
        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            compared = np.where(same, whose, -1)
            if kind == SPLIT or len(names) < COHORTS:
                continue
            for channel in range(rows["window"].shape[1] // STEPS):
                windows = rows["window"][:, channel * STEPS : (channel + 1) * STEPS]
                odd = reversed_cohorts(windows, compared, len(names))
                if not odd:
                    continue
                marked = np.isin(whose, odd)
                name = self.channels.called(channel) if self.channels is not None else self.name
                value = {"of": [names[k] for k in odd], "count": round(float(marked.mean()) * self.seen)}
                value |= {"name": name, "where": places(rows, marked, self.name)}
                yield Fact(REVERSED, value, self.evidence("sampled", len(known)), {"field": name, "kind": kind})
                return

    def _backwards(self, rows: dict[str, Any], same: Any) -> Fact | None:
        """The cohorts of the first kind that has any whose windows run the other way."""
        import numpy as np

        every = rows["window"].reshape(len(same), -1, STEPS)
        for kind, names, whose in self.cohorts.kinds(rows, 2 * LEAST):
            odd = backwards(every, np.where(same, whose, -1), len(names))
            if odd:
                marked = np.isin(whose, odd)
                value = {"of": [names[k] for k in odd], "count": round(float(marked.mean()) * self.seen)}
                value["where"] = places(rows, marked, self.name)
                evidence = self.evidence("sampled", len(same))
                return Fact(BACKWARDS, value, evidence, {"field": self.name, "kind": kind})
        return None

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BACKWARDS):
            v = fact.value
            text = f"{escaped(str(fact.at['field']))} seems to be reversed {told_of(str(fact.at['kind']), v['of'])}: its mean there is that of the "
            text += "others read backwards"
            fix = "find out whether the axis runs the other way there, such as from the largest wavelength down; if so, reverse these samples"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(REVERSED):
            v = fact.value
            text = f"{escaped(v['name'])} seems to have the opposite sign {told_of(str(fact.at['kind']), v['of'])}: its mean there is minus that "
            text += "of the others"
            fix = "find out whether electrodes or an axis were reversed there; if so, flip the sign of these samples"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["count"])


def _is_window(field: Field) -> bool:
    return 1 <= len(field.shape) <= 2 and field.dtype.startswith(("float", "int")) and field.shape[-1] != 1


def reversed_cohorts(windows: Any, whose: Any, n: int) -> list[int]:
    """The few cohorts, of ``n``, the mean of whose windows, float [rows, steps], is that of all others with the other sign."""
    import numpy as np

    sizes = np.bincount(whose[whose >= 0], minlength=n)
    large = np.flatnonzero(sizes >= LEAST)
    if len(large) < COHORTS:
        return []
    means = np.array([windows[whose == k].mean(0, dtype=np.float64) for k in large])
    means -= means.mean(1, keepdims=True)
    norms = np.sqrt(np.square(means).sum(1, keepdims=True))
    if (norms <= 0).any():
        return []
    unit = means / norms
    usual = np.median(unit, axis=0)
    usual /= max(float(np.sqrt(usual @ usual)), 1e-12)
    with_it = unit @ usual
    odd = with_it < 0
    if not few(int(odd.sum()), len(large)) or with_it[~odd].min() < SHAPED or with_it[odd].max() > -LIKE:
        return []
    return [int(k) for k in large[odd]]


def backwards(windows: Any, whose: Any, n: int) -> list[int]:
    """The few cohorts, of ``n``, whose mean is that of all others read backwards, and not as it is; of two, the smaller one.

    Args:
        windows: float [rows, channels, steps].
    """
    import numpy as np

    sizes = np.bincount(whose[whose >= 0], minlength=n)
    large = [k for k in np.argsort(sizes, kind="stable").tolist() if sizes[k] >= 2 * LEAST]
    shapes = {k: shape for k in large if (shape := _shape(windows[whose == k])) is not None}
    if len(shapes) < 2 or len(shapes) < len(large):
        return []
    odd = []
    for k, own in shapes.items():
        rest = np.median([shape for j, shape in shapes.items() if j != k], axis=0)
        if _like(own, rest) <= BEFORE and _like(own[:, ::-1], rest) >= MIRRORED:
            odd.append(k)
    if len(shapes) == 2:
        return odd[:1] if len(odd) == 2 else []
    return sorted(odd) if few(len(odd), len(shapes)) else []


def _shape(windows: Any) -> Any:
    """The mean of windows, centred in each channel, [channels, steps]; None if halves of them have other ones."""
    means = [half.mean(0, dtype=float) for half in (windows, windows[::2], windows[1::2])]
    means = [mean - mean.mean(1, keepdims=True) for mean in means]
    return means[0] if _like(means[1], means[2]) >= MIRRORED else None


def _like(one: Any, other: Any) -> float:
    """The correlation of two shapes."""
    import numpy as np

    return float((one * other).sum() / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-300))


CHECK = ReversedSigns

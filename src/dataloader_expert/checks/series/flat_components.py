"""Components of arrays that never change: a feature of a matrix, a channel of windows or images; those that change nowhere in one split, file
or site, as of a sensor that was not connected there; and channels that stay at one value throughout some samples, such as those of an
electrode that came off."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.checks.base import LABELS_EACH, Check, Context
from dataloader_expert.checks.common.cohorts import told_of
from dataloader_expert.checks.common.places import Files, Places, dealt
from dataloader_expert.checks.features import Channels
from dataloader_expert.checks.series.flat_parts import FlatParts
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

ALWAYS = Quantity(
    "flat_components", "components", "components of an array that hold one value in every sample, and which"
)
IN_PART = Quantity(
    "flat_in_part",
    "samples",
    "samples of a split, file or site in which components hold one value throughout, though they vary elsewhere, and which",
)
AT_TIMES = Quantity("flat_channels", "samples", "samples in which a channel holds one value throughout, with places")
KINDS = ("array", "embedding", "sequence", "image")
LEAST = 8
"""The fewest steps of a channel, and the fewest samples, from which it is judged."""
VARIES, OFTEN, LOOKED = 0.9, 0.9, 16
"""The least share of a channel's steps that change it: a measurement; the least share of samples in which it varies; and the samples of
each block whose steps are counted."""
AT_LEAST_IN = 0.5
"""The least share of samples in which it varies if all others follow one another: a sensor that failed for a while."""
USUAL = 0.05
"""The share of zeros, or of the least value, in the other components from which a component of these is no surprise: counts of rare words,
the margin of an image."""
MARKS = {"keypoints", "landmarks", "mask", "masks"}
"""Words in the names of points with a mark each of whether they are seen, and of marks of what is padding: all may be."""
TOLD = 8


@dataclass
class _Seen:
    low: Any = None
    high: Any = None
    """The least and largest value of each component."""
    samples: int = 0
    zeros: Any = 0
    values: int = 0
    """Zeros, and values at the least of all, of each component, among so many values of each that were counted."""
    steps: Any = 0
    changes: Any = 0
    """Of each channel: pairs of neighbours, where it is not flat, and how many of them differ."""
    flat: dict[int, int] = field(default_factory=dict)
    """Samples in which a channel holds one value."""
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The first and the last of these."""

    def stretch(self, k: int) -> tuple[int, int] | None:
        """The first and the last of the samples in which a channel holds one value, if these are ``LEAST`` or more that follow one another, between
        or beside others."""
        first, last = self.ends[k]
        n = self.flat[k]
        return (first, last) if LEAST <= n == last - first + 1 <= AT_LEAST_IN * self.samples else None

    def note(self, k: int, n: int, first: int, last: int) -> None:
        """``n`` further samples in which a channel holds one value, and the first and the last of them."""
        low, high = self.ends.get(k, (first, last))
        self.flat[k], self.ends[k] = self.flat.get(k, 0) + n, (min(low, first), max(high, last))


class FlatComponents(Check):
    ids = ("constant-field", "constant-samples")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.channels = {
            f.name: channels
            for f in context.fields
            if f.kind in KINDS and f.name != context.label and not (context.objects is not None and f.shape[:1] == (None,))
            and not has_boxes(f) and not set(words(f.name)) & MARKS and (channels := Channels.of(f)) is not None
        }  # fmt: skip
        self.found = {name: _Seen() for name in self.channels}
        self.where = Places()
        self.files = Files()
        self.parts = FlatParts(context)

    def applies(self) -> bool:
        return bool(self.channels)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        cohorts = self.parts.of(block) if block.samples else {}
        for name, channels in self.channels.items():
            made = [(first, *self._look(block, name, first, values)) for first, values in channels.in_block(block)]
            if made:
                rows = np.concatenate([first + np.arange(len(lows)) for first, lows, *_ in made])
                self.parts.note(
                    block, cohorts, name, rows, *(np.concatenate(of) for of in list(zip(*made, strict=True))[1:])
                )

    def _look(self, block: Block, name: str, first: int, values: Any) -> tuple[Any, Any, Any]:
        """``values``: samples, components, steps; of a vector one. Returns the least and largest value of each, and whether that of a vector
        is no measurement by its look: 0, or the least or largest of all, [samples, components]."""
        import numpy as np

        seen = self.found[name]
        lows, highs = np.fmin.reduce(values, 2), np.fmax.reduce(values, 2)
        low, high = np.fmin.reduce(lows, 0), np.fmax.reduce(highs, 0)
        seen.low = low if seen.low is None else np.fmin(seen.low, low)
        seen.high = high if seen.high is None else np.fmax(seen.high, high)
        seen.samples += len(values)
        some = values[:LOOKED]
        seen.zeros += ((some == 0) | (some == low.min())).sum((0, 2))
        seen.values += len(some) * values.shape[2]
        ends = np.zeros(lows.shape, bool)
        if values.shape[2] < LEAST:
            return lows, highs, (lows == 0) | (lows == low) | (lows == high)
        flat = lows == highs
        seen.steps += (~flat[:LOOKED]).sum(0) * (values.shape[2] - 1)
        seen.changes += (some[:, :, 1:] != some[:, :, :-1]).sum((0, 2))
        flat[flat.all(1) & (lows.min(1) == highs.max(1))] = False  # one value throughout the sample: told as such
        flat[_padded(flat, lows)] = False
        for i, k in np.argwhere(flat).tolist():
            seen.note(k, 1, block.index(first + i), block.index(first + i))
            self.where.add((name, k), block, first + i, name)
        return lows, highs, ends

    def merge(self, other: Check) -> None:
        import numpy as np

        assert isinstance(other, FlatComponents)
        self.seen += other.seen
        for name, theirs in other.found.items():
            mine = self.found[name]
            if mine.low is None:
                self.found[name] = theirs
                continue
            if theirs.low is None:
                continue
            mine.low, mine.high = np.fmin(mine.low, theirs.low), np.fmax(mine.high, theirs.high)
            for count in ("samples", "zeros", "values", "steps", "changes"):
                setattr(mine, count, getattr(mine, count) + getattr(theirs, count))
            for k, n in theirs.flat.items():
                mine.note(k, n, *theirs.ends[k])
        self.where.merge(other.where)
        self.files.merge(other.files)
        self.parts.merge(other.parts)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, seen in self.found.items():
            if seen.samples < LEAST or seen.low is None:
                continue
            always = np.flatnonzero((seen.low == seen.high) & np.isfinite(seen.low)).tolist()
            if always and len(always) < len(seen.low):
                value = {
                    "components": [{"component": k, "value": float(seen.low[k])} for k in always[:TOLD]],
                    "count": len(always),
                    "of": len(seen.low),
                    "floor": float(np.nanmin(seen.low)),
                    "zeros": round(float(np.delete(seen.zeros, always).mean() / seen.values), 4),
                }
                yield Fact(ALWAYS, value, self.evidence(n=seen.samples), {"field": name})
            stepped = np.broadcast_to(seen.changes >= VARIES * np.asarray(seen.steps), seen.low.shape)
            measures = stepped.copy()  # vectors have no steps
            measures[always] = False
            in_parts: set[int] = set()
            for kind, part in self.parts.flat(name, measures):
                shown = part.components[:TOLD]
                value = {
                    "components": [{"component": k, "value": v} for k, v in shown],
                    "more": len(part.components) - len(shown),
                    "of": part.names,
                    "count": part.samples,
                    "where": [place | {"field": name} for place in part.where],
                }
                in_parts |= {k for k, _ in part.components}
                at = {"field": name, "kind": kind, "first": part.components[0][0], "of": part.names[0]}
                yield Fact(IN_PART, value, self.evidence(n=seen.samples), at)
            for k, n in sorted(seen.flat.items()):
                if k in in_parts:
                    continue
                measured = seen.changes[k] >= VARIES * max(1, seen.steps[k])
                stretch = seen.stretch(k)
                if k not in always and measured and (n <= (1 - OFTEN) * seen.samples or stretch is not None):
                    value = {"count": n, "of": seen.samples, "where": self.where.of((name, k))}
                    value["stretch"] = None if stretch is None else [*stretch]
                    yield Fact(AT_TIMES, value, self.evidence(n=seen.samples), {"field": name, "component": k})

    def _from(self, stretch: list[int] | None) -> str:
        return "" if stretch is None else f" in a row, {self.files.stretch(*stretch)}"

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ALWAYS):
            v, name = fact.value, str(fact.at["field"])
            told = [f"{self.channels[name].called(c['component'])} is {c['value']:g}" for c in v["components"]]
            more = "" if v["count"] <= len(told) else f", and {v['count'] - len(told)} more"
            sampled, labels = fact.evidence.how == "sampled", facts.find(LABELS_EACH, field=name) is not None
            if labels and sampled:
                continue  # others may have these labels
            natural = v["zeros"] >= USUAL and all(c["value"] in (0, v["floor"]) for c in v["components"])
            yield finding(
                "constant-field",
                "info" if natural else "warning",
                f"{number(v['count'], 'component')} of {v['of']} of field {escaped(name)} {verb(v['count'], 'have')} the same value in every "
                f"sample{' read' * sampled}: {', '.join(told)}{more}",
                fact,
                "find samples with these labels, or leave them out of what is predicted"
                if labels
                else "leave them out of the model's inputs, or find out why they were not measured",
                [{"field": name}],
                v["count"],
            )
        for fact in facts.all(IN_PART):
            v, name = fact.value, str(fact.at["field"])
            told = [f"{self.channels[name].called(c['component'])} is {c['value']:g}" for c in v["components"]]
            more = f", and so on for {v['more']} more" if v["more"] else ""
            text = f"{', '.join(told)}{more} in all {number(v['count'], 'sample')} {told_of(str(fact.at['kind']), v['of'])}, while "
            text += f"{'it varies' if len(told) == 1 else 'they vary'} elsewhere"
            fix = "find out whether it was recorded there; if not, mark it as missing in these samples, or leave it out of all"
            yield finding("constant-samples", "warning", text, fact, fix, v["where"], v["count"])
        for name in dict.fromkeys(str(fact.at["field"]) for fact in facts.all(AT_TIMES)):
            of = sorted(facts.all(AT_TIMES, field=name), key=lambda fact: -fact.value["count"])
            told = [
                f"{self.channels[name].called(int(str(f.at['component'])))} throughout {f.value['count']:,} of {f.value['of']:,} samples{self._from(f.value['stretch'])}"
                for f in of
            ]
            more = f", and {len(told) - TOLD} more" if len(told) > TOLD else ""
            yield finding(
                "constant-samples",
                "warning",
                f"{number(len(of), 'channel')} of {escaped(name)} {verb(len(of), 'are')} constant in some samples, while "
                f"{'it varies' if len(of) == 1 else 'they vary'} in the others: {', '.join(told[:TOLD])}{more}",
                of,
                "find out whether the channel was recorded there; if not, mark it as missing in these samples, or drop them",
                dealt([f.value["where"] for f in of]),
                max(f.value["count"] for f in of),
            )


def _padded(flat: Any, lows: Any) -> Any:
    """The samples whose flat components are the last ones, at one value: steps of a sequence that is shorter than the others; bool [n]."""
    import numpy as np

    width, count = flat.shape[1], flat.sum(1)
    suffix = flat == (np.arange(width)[None] >= width - count[:, None])
    last = lows[:, -1:]
    return (count > 1) & suffix.all(1) & ((lows == last) | ~flat).all(1)


CHECK = FlatComponents

"""Channels of windows that stay at the end of their range for steps on end: a sensor or an amplifier that was saturated.

A measurement hardly ever has its largest value twice in a row. Where several windows have several such steps, and at the same value, this
was the most that could be recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digest64
from dataloader_expert.checks.common.places import Places, dealt
from dataloader_expert.checks.common.windows import windows_of
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SATURATED = Quantity(
    "saturated",
    "steps",
    "steps in a row at a value that is the least or largest of a sample's channel, and in how many samples",
)
LEAST, EACH, SAMPLES, OF_STEPS = 20, 3, 5, 16
"""The fewest steps that stay there, those of a sample, and the samples with one value; and the steps from which a sample is a window."""
TOLD = 3
MOST = 1_000
"""The most values that are counted."""
VARIES = 0.9
"""The least share of all steps that change a channel: a measurement, which rests nowhere."""
CODES = 20
"""Values up to which a channel's numbers are codes, such as the elements of atoms: a measurement has more."""
LEVELS, OF_REST = 10, 4
"""Values up to which a sample's steps were rounded to so few levels that its ends recur, and one in so many of the steps that are not at
the end: a short window has few."""
END = {1: "largest", -1: "least"}


At = tuple[str, int, int, float]
"""A field, a channel, an end of its range (1: the largest, -1: the least) and the value there."""


class Saturated(Check):
    ids = ("stuck-values",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.channels = windows_of(context)
        self.ends: dict[At, list[int]] = {}
        """The steps that stay there, and the samples."""
        self.steps: dict[tuple[str, int], list[int]] = {}
        """Of each channel: pairs of neighbours, how many of them differ, and how many rest at an end."""
        self.values: dict[tuple[str, int], set[float]] = {}
        """Some distinct values of each channel, just more than ``CODES``."""
        self.padding: dict[str, set[float]] = {}
        """Values with which all channels of a sample begin or end together."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.channels)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name, channels in self.channels.items():
            for first, values in channels.in_block(block):
                self._look(block, name, first, values)

    def _look(self, block: Block, name: str, first: int, values: Any) -> None:
        """``values``: samples, channels, steps."""
        import numpy as np

        if values.shape[2] < OF_STEPS:
            return
        same = values[:, :, 1:] == values[:, :, :-1]
        if same.shape[1] > 1:
            together = same.all(1, keepdims=True)
            same &= ~together  # it is padding
            for at in (0, -1):
                edge = values[together[:, 0, at], :, at]
                self.padding.setdefault(name, set()).update(np.unique(edge[(edge == edge[:, :1]).all(1)]).tolist())
        else:  # and where one does from the first step on, or to the last
            some = same.any((1, 2))
            ends = same[some], same[some][:, :, ::-1]
            padded = [np.logical_and.accumulate(rests, 2) for rests in ends]
            same[some] &= ~(padded[0] | padded[1][:, :, ::-1])
        for k in range(values.shape[1]):
            pairs = self.steps.setdefault((name, k), [0, 0, 0])
            self._distinct((name, k), values[:, k])
            pairs[0] += same[:, k].size
            pairs[1] += int(same[:, k].size - same[:, k].sum())
            for end, reached in ((1, values[:, k].max(1)), (-1, values[:, k].min(1))):
                held = (same[:, k] & (values[:, k, 1:] == reached[:, None])).sum(1)
                at_end = (held >= EACH) & (reached != 0) & np.isfinite(reached) & (held < same.shape[2])
                at_end[[i for i in np.flatnonzero(at_end).tolist() if coarse(values[i, k], held[i])]] = False
                pairs[2] += int(held[at_end].sum())
                for i in np.flatnonzero(at_end).tolist():
                    at = (name, k, end, float(reached[i]))  # of no signal there is nothing to say
                    self._count(at, int(held[i]), 1)
                    self.where.add(at, block, first + i, name)

    def _distinct(self, of: tuple[str, int], values: Any) -> None:
        import numpy as np

        known = self.values.setdefault(of, set())
        for one in values:
            if len(known) > CODES:
                return
            known.update(np.unique(one)[: CODES + 1].tolist())

    def _count(self, at: At, steps: int, samples: int) -> None:
        own = self.ends.setdefault(at, [0, 0])
        own[:] = own[0] + steps, own[1] + samples
        if len(self.ends) > 2 * MOST:
            self._prune()

    def _prune(self) -> None:
        """Keeps the values with the smallest digests: these were kept wherever they were met, so that their counts are whole."""
        kept = sorted(self.ends, key=lambda at: digest64(repr(at).encode()))[:MOST]
        self.ends = {at: self.ends[at] for at in kept}
        self.where.found = {kind: found for kind, found in self.where.found.items() if kind in self.ends}

    def merge(self, other: Check) -> None:
        assert isinstance(other, Saturated)
        self.seen += other.seen
        for at, (steps, samples) in other.ends.items():
            self._count(at, steps, samples)
        for of, pairs in other.steps.items():
            own = self.steps.setdefault(of, [0, 0, 0])
            own[:] = (a + b for a, b in zip(own, pairs, strict=True))
        for name, padding in other.padding.items():
            self.padding.setdefault(name, set()).update(padding)
        for of, known in other.values.items():
            self.values.setdefault(of, set()).update(known)
        self.where.merge(other.where)

    def facts(self) -> Iterator[Fact]:
        self._prune()
        limits = Counter((name, end, value) for name, _, end, value in self.ends)
        """Channels that have this end."""
        for at, (steps, samples) in sorted(self.ends.items()):
            name, k, end, value = at
            pairs, changes, rests = self.steps[name, k]
            width = self.channels[name].width
            usual = (2 * limits[name, end, value] > width > 2 or width == 1) and 2 * samples >= self.seen
            if usual or value in self.padding.get(name, ()) or (abs(value) == 1 and "action" in name.lower()):
                continue  # the end of a scale, such as -80 dB, what stands for nothing, or the end of what an action may be
            if len(self.values[name, k]) <= CODES:
                continue
            if steps >= LEAST and samples >= SAMPLES and changes >= VARIES * (pairs - rests):
                told = {"value": value, "steps": steps, "count": samples, "where": self.where.of(at)}
                yield Fact(
                    SATURATED, told, self.evidence(), {"field": name, "component": k, "end": END[end], "at": value}
                )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for name in dict.fromkeys(str(fact.at["field"]) for fact in facts.all(SATURATED)):
            of = sorted(facts.all(SATURATED, field=name), key=lambda fact: -fact.value["steps"])
            told = [
                f"{self.channels[name].called(int(str(f.at['component'])))} stays at {f.value['value']:g}, its {f.at['end']} value, for "
                f"{f.value['steps']:,} steps in {f.value['count']:,} samples"
                for f in of
            ]
            more = f" and {len(told) - TOLD} more" if len(told) > TOLD else ""
            yield finding(
                "stuck-values",
                "warning",
                f"{escaped(name)} is saturated in some samples: {', '.join(told[:TOLD])}{more}; elsewhere it changes from step to step",
                of,
                "drop these samples, or record them again with a wider range: values beyond it are lost",
                dealt([[place] for place in _distinct(place for f in of for place in f.value["where"])]),
                max(f.value["count"] for f in of),
            )


def _distinct(places: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({place["sample"]: place for place in places}.values())


def coarse(steps: Any, held: int) -> bool:
    """Whether a sample's channel, of which so many steps stay at an end, was rounded to few levels."""
    import numpy as np

    return len(np.unique(steps)) <= min(LEVELS, (len(steps) - held) // OF_REST)


CHECK = Saturated

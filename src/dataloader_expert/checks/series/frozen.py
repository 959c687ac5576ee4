"""Windows in which channels keep one value for many steps, such as those of a sensor that hung, where others change from step to step.

A rest has the same value again and again: 0, the floor of a spectrogram, the end of a range. A sensor that hangs keeps the value that it
had, which is another one in each window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digest64
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.windows import windows_of
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

FROZEN = Quantity("frozen_windows", "samples", "samples in which channels keep one value for many steps, with places")
STEPS, LEAST, PART = 24, 10, 8
"""The fewest steps of a window, and the fewest that keep one value: so many, and one part of so many of the window."""
SEVERAL, FEW, MOST = 3, 0.2, 100_000
"""The fewest frozen windows, the largest share of them, and how many are kept."""
VARIES, SAME = 0.9, 0.34
"""The least share of steps elsewhere that change a channel: a measurement; and that of frozen windows with one and the same value from which this
is a rest."""
RESTING = {
    "action", "actions", "control", "controls", "command", "commands", "state", "states", "pos", "position", "positions", "traj", "trajectory",
    "trajectories", "track", "tracks", "pose", "poses", "xy", "xyz", "coords", "coordinates", "location", "locations", "gps",
}  # fmt: skip
"""Words in the names of what may well stand still."""
ALL = -1
"""Stands for all channels at once."""
Hung = tuple[int, int, float]
"""Of a frozen window, its sample, for how many steps it is, and the value, or a digest of all channels' values."""


@dataclass
class _Windows:
    pairs: dict[int, int] = field(default_factory=dict)
    changes: dict[int, int] = field(default_factory=dict)
    """By channel, neighbouring steps of windows that are not frozen, and those that differ."""
    frozen: dict[int, list[Hung]] = field(default_factory=dict)
    """By channel."""
    samples: int = 0
    steps: int = 0

    def add(self, other: _Windows) -> None:
        self.samples, self.steps = self.samples + other.samples, max(self.steps, other.steps)
        for mine, theirs in ((self.pairs, other.pairs), (self.changes, other.changes)):
            for k, n in theirs.items():
                mine[k] = mine.get(k, 0) + n
        for k, found in other.frozen.items():
            mine_of = self.frozen.setdefault(k, [])
            mine_of += found[: MOST - len(mine_of)]


class Frozen(Check):
    ids = ("stuck-values",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        resting = {f.name for f in context.fields if set(words(f.name)) & RESTING}
        self.channels = windows_of(context, context.identifiers | resting)
        self.found = {name: _Windows() for name in self.channels}
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.channels)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.files.note(block)
        for name, channels in self.channels.items():
            for first, values in channels.in_block(block):
                if values.shape[2] >= STEPS:
                    self.found[name].add(_look(block, first, values))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Frozen)
        self.seen += other.seen
        self.files.merge(other.files)
        for name, theirs in other.found.items():
            self.found[name].add(theirs)

    def facts(self) -> Iterable[Fact]:
        for name, windows in self.found.items():
            for k, found in sorted(windows.frozen.items()):
                own = _hung(found)
                measured = all(
                    windows.changes.get(c, 0) >= VARIES * max(1, windows.pairs.get(c, 0))
                    for c in (windows.pairs if k == ALL else (k,))
                )
                if not measured or not SEVERAL <= len(own) <= FEW * windows.samples:
                    continue
                lengths = sorted(length for _, length, _ in own)
                where = self.files.places(sorted(sample for sample, *_ in own), name)
                value: dict[str, Json] = {"count": len(own), "of": windows.samples, "steps": lengths[len(lengths) // 2]}
                value |= {"from": windows.steps, "where": where}
                yield Fact(FROZEN, value, self.evidence(), {"field": name, "component": None if k == ALL else k})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(FROZEN):
            v, name, k = fact.value, str(fact.at["field"]), fact.at["component"]
            channels = self.channels[name]
            what = escaped(name) if k is None or channels.width == 1 else channels.called(int(str(k)))
            several = ", in all channels at once" if k is None and channels.width > 1 else ""
            text = f"{what} keeps one value for {v['steps']:,} of up to {v['from']:,} steps (median) in {v['count']:,} of {v['of']:,} samples"
            text += f"{several}; elsewhere it changes from step to step"
            fix = "check a few: the sensor hung, or a short series was padded with its last value; drop these samples or mask these steps"
            yield finding("stuck-values", "warning", text, fact, fix, v["where"], v["count"])


def _look(block: Block, first: int, values: Any) -> _Windows:
    """``values``: samples, channels, steps."""
    import numpy as np

    n, width, steps = values.shape
    found = _Windows(samples=n, steps=steps)
    same = values[:, :, 1:] == values[:, :, :-1]
    counts = same.sum(2)
    least = max(LEAST, steps // PART) - 1
    frozen = np.zeros(n, bool)
    for i in np.flatnonzero((counts >= least).any(1)).tolist():
        runs = [_longest(same[i, k]) if counts[i, k] >= least else (0, 0) for k in range(width)]
        together = _longest(same[i].all(0)) if width > 1 else (0, 0)
        index = block.index(first + i)
        if together[0] >= least:
            frozen[i] = True
            at = values[i, :, together[1]].astype(np.float64)
            filled = len(np.unique(at)) == 1  # with one value in all channels
            if not filled and np.isfinite(at).all() and together[0] < steps - 1:
                known = digest64(at.tobytes())
                found.frozen.setdefault(ALL, []).append((index, together[0] + 1, known))
            continue
        for k, (length, start) in enumerate(runs):
            value = float(values[i, k, start])
            if length >= least and length < steps - 1:  # a window of one value is told as such
                frozen[i] = True
                if value != 0 and np.isfinite(value):
                    found.frozen.setdefault(k, []).append((index, length + 1, value))
    rest = ~frozen
    for k in range(width):
        found.pairs[k] = int(rest.sum()) * (steps - 1)
        found.changes[k] = found.pairs[k] - int(counts[rest, k].sum())
    return found


def _longest(same: Any) -> tuple[int, int]:
    """The longest run of marks, bool [n], and where it begins."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(np.int8), [0]])))
    lengths = edges[1::2] - edges[::2]
    at = int(lengths.argmax()) if len(lengths) else 0
    return (int(lengths[at]), int(edges[2 * at])) if len(lengths) else (0, 0)


def _hung(found: list[Hung]) -> list[Hung]:
    """The frozen windows without those at a value that many of them have: a rest."""
    counts: dict[float, int] = {}
    for *_, value in found:
        counts[value] = counts.get(value, 0) + 1
    return [one for one in found if counts[one[2]] == 1 or counts[one[2]] < SAME * len(found)]


CHECK = Frozen

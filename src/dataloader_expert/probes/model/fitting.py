"""The memory of a step at any batch size, from trials at a few; and the largest batch that fits, in few trials. Pure.

The peak is the largest of many pieces, each a straight line in the batch size: what is live at one moment of a step. At
small batches it is the optimizer's step, which hardly depends on the batch, or the gradients of all parameters; at large
ones the activations. So the lines of all moments are kept, not one through the peaks of small batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dataloader_expert.facts import Json

COLLINEAR = 0.002
"""The share by which the middle of three sizes may lie off the line through the others."""
SIZES = (8, 64, 512)
MORE = 2
"""Further triples of sizes that are tried."""
ENOUGH = 0.04
"""The search ends when the largest that fits is within this share of what bounds it from above."""
FIRST = (0.96, 0.9, 0.8, 0.6, 0.3)
"""Shares of the bound that are tried until a first size fits."""
MOST_TRIALS = 6


class Measured(Protocol):
    """What a trial tells: see ``trials.Trial``."""

    @property
    def batch_size(self) -> int: ...
    @property
    def fits(self) -> bool: ...
    @property
    def allocated(self) -> int: ...
    @property
    def reserved(self) -> int: ...
    @property
    def phases(self) -> Mapping[str, int]: ...


@dataclass(frozen=True)
class Line:
    base: float
    per_sample: float

    def at(self, size: int) -> float:
        return self.base + self.per_sample * size


@dataclass(frozen=True)
class Fit:
    """``phases``: the lines whose maximum is the peak of each; ``straight``: whether a further size agreed."""

    phases: Mapping[str, tuple[Line, ...]]
    sizes: tuple[int, ...]
    straight: bool

    def peak(self, size: int) -> float:
        """Bytes of the highest phase at this size."""
        return max(line.at(size) for lines in self.phases.values() for line in lines)

    def largest(self, room: float, most: int = 1 << 31) -> int:
        """The largest size whose peak is within ``room`` bytes; 0: none."""
        found = float(most)
        for line in (line for lines in self.phases.values() for line in lines):
            if line.at(1) > room:
                return 0
            if line.per_sample > 0:
                found = min(found, (room - line.base) / line.per_sample)
        return int(found)

    def but(self, made: Measured) -> Fit:
        """The fit with the lines of each phase moved to what a trial found, their slopes kept."""
        n, moved = made.batch_size, {}
        for phase, lines in self.phases.items():
            off = made.phases.get(phase, 0) - max(line.at(n) for line in lines) if phase in made.phases else 0.0
            moved[phase] = tuple(Line(line.base + off, line.per_sample) for line in lines)
        return Fit(moved, self.sizes, self.straight)

    def moved(self, by: float) -> Fit:
        """The fit with every line moved by so many bytes."""
        lines = {p: tuple(Line(line.base + by, line.per_sample) for line in found) for p, found in self.phases.items()}
        return Fit(lines, self.sizes, self.straight)

    def to_json(self) -> dict[str, Json]:
        lines = {p: [[line.base, line.per_sample] for line in lines] for p, lines in self.phases.items()}
        return {"phases": lines, "sizes": list(self.sizes), "straight": self.straight}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Fit:
        phases = {p: tuple(Line(*pair) for pair in lines) for p, lines in data["phases"].items()}
        return Fit(phases, tuple(data["sizes"]), data["straight"])


def fitted(low: Measured, high: Measured) -> Fit:
    """One line for each phase, through two trials."""
    phases = {p: (_line(low.batch_size, low.phases[p], high.batch_size, high.phases[p]),) for p in high.phases}
    return Fit(phases, (low.batch_size, high.batch_size), False)


def _line(x1: int, y1: float, x2: int, y2: float) -> Line:
    slope = (y2 - y1) / (x2 - x1)
    return Line(y2 - slope * x2, slope)


T = TypeVar("T", bound=Measured)
Twice = Callable[[tuple[int, int]], tuple[Sequence[T], Mapping[str, Sequence[Sequence[float]]] | None]]


def straightened(
    trial: Callable[[int], T], twice: Twice[T], sizes: tuple[int, int, int] = SIZES
) -> tuple[Fit, list[T]]:
    """The fit from the outer two of three sizes, and whether the trial at the middle one agrees with it.

    Where it does not, larger sizes are tried, as often as ``MORE``. They are far apart, as a trace takes as long at any.
    """
    done: list[T] = []
    fit = Fit({}, (), False)
    for _ in range(MORE + 1):
        ends, lines = twice((sizes[0], sizes[2]))
        middle = trial(sizes[1])
        done += [*ends, middle]
        fit = fitted(*ends)
        if lines is not None:
            fit = Fit({p: tuple(Line(*pair) for pair in found) for p, found in lines.items()}, sizes, False)
        top = max(middle.phases.values())
        fit = Fit(fit.phases, sizes, abs(fit.peak(sizes[1]) - top) <= COLLINEAR * top)
        if fit.straight:
            break
        sizes = (sizes[1], sizes[2], sizes[2] * 8)
    return fit, sorted(done, key=lambda t: t.batch_size)


@dataclass(frozen=True)
class Search:
    """``size``: the largest that was run and fitted, 0 if none; ``failed``: the smallest that did not fit, if any did."""

    size: int
    failed: int | None
    trials: int


def largest_fitting(
    trial: Callable[[int], Measured], fit: Fit, room: float, most: int, trials: int = MOST_TRIALS
) -> Search:
    """The largest batch size up to ``most`` whose trial fits, in at most so many trials; ``room``: bytes that may be
    reserved, at which the trials themselves are capped.

    What is allocated is a line, and no more can be allocated than is reserved: where it meets the room bounds the answer
    from above, and it lies a little below, by what fragmentation takes. Each trial halves what is left between the
    largest that fitted and that bound. Never returns a size that was not run.
    """
    low, high, done = 0, most + 1, 0
    while done < trials:
        bound = min(high, fit.largest(room, most) + 1)
        if low and (bound - low <= max(1, ENOUGH * low) or low >= most):
            break
        if low:
            asked = low + (bound - low) // 2
        elif bound > most:
            asked = most  # it is all that is asked for, and is expected to fit
        else:
            asked = max(1, min(int(FIRST[min(done, len(FIRST) - 1)] * min(bound, most + 1)), high - 1))
        if low == 0 and high <= 1:
            break
        made = trial(asked)
        done += 1
        if made.fits:
            low = asked
            fit = fit.but(made)
        else:
            high = asked
    return Search(low, high if high <= most else None, done)


def largest_near(
    trial: Callable[[int], Measured], start: int, most: int, trials: int = MOST_TRIALS, low: int = 0
) -> Search:
    """The same from a size that was predicted to be the largest: steps away from it grow until one size fits and one does
    not, then what is between them is halved; ``low``: a size that is known to fit.

    What was allocated bounds nothing here: on a device, cuDNN borrows more than it needs where there is room.
    """
    known, high, step = low, most + 1, ENOUGH
    asked = max(1, min(start, most))
    for done in range(1, trials + 1):
        if trial(asked).fits:
            low = max(low, asked)
        else:
            high = min(high, asked)
        if high - low <= max(1, ENOUGH * low) or low >= most or high <= 1 or done == trials:
            break
        if high > most:
            asked = min(most, math.floor(low * (1 + step)) + 1)
        elif low > known or int(high / (1 + step)) <= low:
            asked = low + (high - low) // 2
        else:
            asked = max(1, min(high - 1, int(high / (1 + step))))
        step *= 2
    return Search(low, high if high <= most else None, done)

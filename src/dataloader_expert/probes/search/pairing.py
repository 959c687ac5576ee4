"""The paired test that compares any two ways of loading, used everywhere.

Method: adjacent blocks of both, in alternating order, give a ratio, so that a slow phase of the machine affects both
equally. Student's t on the logarithms of the ratios bounds the gain, moderated by what is known of their scatter. The test is evaluated after each pair from the
second on; its 99 % level allows for these repeated looks, so that the conclusion holds at 95 %.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dataloader_expert.probes.search.thresholds import LEAST_PAIRS, WORTH

T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 11: 2.20, 12: 2.18}
T80 = {1: 3.08, 2: 1.89, 3: 1.64, 4: 1.53, 5: 1.48, 6: 1.44, 7: 1.41, 8: 1.40, 9: 1.38, 10: 1.37, 11: 1.36, 12: 1.36}
T99 = {1: 63.66, 2: 9.92, 3: 5.84, 4: 4.60, 5: 4.03, 6: 3.71, 7: 3.50, 8: 3.36, 9: 3.25, 10: 3.17, 11: 3.11, 12: 3.05}
"""Quantiles of Student's t by degrees of freedom, both sides: one value in ten lies below an interval of 80 %."""


def t99(df: int) -> float:
    """The 99 % quantile of Student's t, both sides."""
    return T99.get(df, T99[12])


@dataclass(frozen=True)
class Noise:
    """What is known beforehand of how ratios scatter: the standard deviation of their logarithms, and with how many degrees
    of freedom it is known."""

    sd: float = 0.0
    df: int = 0


UNKNOWN = Noise()


def interval(
    values: list[float], table: dict[int, float] = T95, further: bool = False, noise: Noise = UNKNOWN
) -> tuple[float, float, float]:
    """Geometric mean and t interval, computed on logarithms: value, low, high.

    Args:
        further: the prediction interval of one more value instead of the confidence interval of the mean.
        noise: what is known of the scatter beforehand, pooled with that of ``values``: the moderated t of Smyth, "Linear models
            and empirical Bayes methods for assessing differential expression in microarray experiments", Stat. Appl. Genet.
            Mol. Biol. 3(1), 2004. Two values by themselves say next to nothing of their scatter.
    """
    logs = [math.log(v) for v in values]
    n = len(logs)
    mean = sum(logs) / n
    df = n - 1 + noise.df
    if not df:
        return math.exp(mean), 0.0, math.inf
    sd = math.sqrt((sum((x - mean) ** 2 for x in logs) + noise.df * noise.sd**2) / df)
    half = table.get(df, table[12]) * sd * math.sqrt((1 + 1 / n) if further else 1 / n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


@dataclass
class Paired:
    """Ratios of the two rates, pair by pair; ``worth``: the least gain that counts; ``noise``: known beforehand."""

    ratios: list[float] = field(default_factory=list)
    worth: float = WORTH
    noise: Noise = UNKNOWN

    @property
    def mean(self) -> float:
        return interval(self.ratios)[0]

    @property
    def bounds(self) -> tuple[float, float]:
        """The 99 % interval of the gain."""
        return interval(self.ratios, T99, noise=self.noise)[1:]

    @property
    def told(self) -> tuple[float, float, float]:
        """The gain with its 95 % interval."""
        return interval(self.ratios, noise=self.noise)

    @property
    def spread(self) -> tuple[float, float]:
        return min(self.ratios), max(self.ratios)

    @property
    def shown(self) -> bool:
        """Whether the gain is proved: enough pairs, and the interval's lower end exceeds ``worth``."""
        return len(self.ratios) >= LEAST_PAIRS and self.bounds[0] > self.worth

    @property
    def doubtful(self) -> bool:
        """Whether a gain is seen but not proved."""
        return not self.shown and bool(self.ratios) and self.mean > self.worth

    def probable(self, expected: float) -> bool:
        """Whether a gain that is not proved is the better bet: one worth a change by the pairs, of which nine in ten such are gains, and as
        ``expected`` from all else that is known. A single pair must exceed what scatter is known to do to nearly all: one disturbed block
        decides it."""
        if not self.ratios or min(self.mean, expected) < self.worth:
            return False
        return interval(self.ratios, T80 if len(self.ratios) >= LEAST_PAIRS else T99, noise=self.noise)[1] >= 1

    def settled(self, pairs: int, room: bool) -> bool:
        """Whether no further pair is needed: the gain is proved, or the planned pairs are done and no gain is seen but
        unproved, or no room is left."""
        return self.shown or (len(self.ratios) >= pairs and (not room or not self.doubtful))


def compare(
    changed: Callable[[], float],
    plain: Callable[[], float],
    pairs: int,
    until: float,
    most: int = 0,
    worth: float = WORTH,
    noise: Noise = UNKNOWN,
    longer: float = 0.0,
) -> Paired:
    """Times both, taking turns to go first, until the test is settled or the time ``until`` (monotonic) is reached.

    Args:
        pairs: the planned number; up to ``most`` if a gain is seen but not proved by then.
        longer: until when (monotonic) to go on where a gain is seen that is not proved at ``until``.
        changed, plain: each times one block. TimeoutError from either ends the test; the pairs so far count.
    """
    found = Paired(worth=worth, noise=noise)
    with contextlib.suppress(TimeoutError):
        while time.monotonic() < (max(until, longer) if found.doubtful else until):
            if found.settled(pairs, len(found.ratios) < most):
                break
            ways = (plain, changed) if len(found.ratios) % 2 == 0 else (changed, plain)
            rates = {way: way() for way in ways}
            found.ratios.append(rates[changed] / rates[plain])
    return found

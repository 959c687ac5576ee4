"""Recordings that are nearly the same: made louder or quieter, re-encoded, with another header.

Method: the logarithms of the energy in bands of frequency over time, without the mean of each band and of each time, as audio
fingerprints compare neighbouring bands and frames (Haitsma and Kalker, "A highly robust audio fingerprinting system", 2002): loudness and
the colour of a microphone fall out. Recordings whose patterns correlate are candidates, unless many others are as much like them. Strokes of
a bell or a drum have such patterns too, so the waveforms must agree as well; those that agree well may begin at another point.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.spectra import fast, mixed_down, power, stacks, window
from dataloader_expert.checks.duplicates.pairs import Seen, judge_near, near_fact
from dataloader_expert.checks.duplicates.waveforms import RATE, Likeness, compared, fine_spectra, length_for, stretches
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.sources.base import Block

TIMES, BANDS = 48, 16
"""Frames over the whole length of a recording, and bands of each."""
LOWEST, HIGHEST = 80.0, 7000.0
"""The frequencies of the bands, in Hz: hum below is the room's, and codecs drop what is above."""
LOUDEST = 1e10
"""No recording's samples are larger."""
FLOOR = 1e-4
"""The least energy that counts, of the largest: 40 dB below, where noise and codecs decide."""
ALIKE, LENGTHS, ROUNDED = 0.95, 0.02, 1e-3
"""The least correlation of copies, the most by which their lengths differ, and the most that a correlation may be off by rounding."""
RANK, UNLIKE, FAR_LESS = 10, 0.25, 0.2
"""What is not explained of a recording by its ``RANK``-th nearest beyond which it resembles few others, and the share of it that a copy
may have if it does not."""
MOST, AT_ONCE, LEAST = 20_000, 256, 1024
"""The most recordings that are compared, how many at a time, and the fewest frames of one."""
SAME, SURELY = (Likeness(0.9, 0.05), Likeness(0.5, 0.6)), (Likeness(0.8, 0.5),)
"""What the waveforms of candidates must reach, one of the two, and those of recordings that only their fine spectra make candidates."""
SPECTRA, CUT, LOOKED_AT, FEW = 0.3, 0.1, 500, 2_000
"""The least correlation of fine spectra of these, the most by which their lengths differ, how many pairs are looked at, and the most
recordings among which they are searched for."""
RULE = f"waveforms that agree, of recordings whose fine spectra are alike or whose energy in {BANDS} bands over {TIMES} frames correlates by {ALIKE}"
MISSED = "near copies of recordings that are faster or slower, have half the sample rate, lack a tenth or more, or recur ten times or more"


class NearSounds(Check):
    ids = ("near-duplicates", "splits-near-overlap", "label-conflict")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context)
        fields = [f.name for f in context.fields if f.kind == "audio" and f.name in self.kept.names]
        self.field = fields[0] if len(fields) == 1 else None
        self.rate = next((f.name for f in context.fields if f.name == "sample_rate"), None)
        self.patterns: list[Any] = []
        """Of each recording, float16 [n, TIMES * BANDS]; zeros for one without a pattern."""
        self.lengths: list[Any] = []
        """Of each, its frames."""
        self.length = length_for(context.samples)
        self.waves: list[Any] = []
        """As of ``stretches``."""
        self.rates: list[Any] = []

    def applies(self) -> bool:
        return self.context.near and self.field is not None

    def see(self, block: Block) -> None:
        import numpy as np

        n = block.samples
        self.seen += n
        if (
            not n
            or self.field is None
            or self.field not in block.columns
            or max(self.seen, self.context.samples or 0) > MOST
        ):
            return
        self.kept.see(block)
        said = block.columns[self.rate].values if self.rate is not None and self.rate in block.columns else [16_000] * n
        rates = np.array([float(r or 0) for r in list(said)[:n]], np.float64)
        values = list(block.columns[self.field].values[:n])
        patterns, waves = looks(values, rates, self.length)
        self.patterns.append(patterns)
        self.waves.append(waves)
        self.lengths.append(np.array([len(v) if hasattr(v, "shape") else 0 for v in values], np.float64))
        self.rates.append(rates)

    def merge(self, other: Check) -> None:
        assert isinstance(other, NearSounds)
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.patterns += other.patterns
        self.lengths += other.lengths
        self.waves += other.waves
        self.rates += other.rates

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.patterns or self.seen > MOST:
            return
        rows = self.kept.all()
        patterns, lengths = np.concatenate(self.patterns), np.concatenate(self.lengths)
        order = np.argsort(rows.index, kind="stable")
        _, first = np.unique(rows.digest[order], return_index=True)
        first = order[first]
        kept = np.sort(first[patterns[first].any(1)])  # the first of each content
        patterns, lengths = patterns[kept].astype(np.float32), lengths[kept]
        waves, seconds = np.concatenate(self.waves)[kept], lengths / np.maximum(np.concatenate(self.rates)[kept], 1)
        close = alike(patterns, lengths)
        found = [pair for pair in close if self._agree(waves, seconds, pair)]
        for a, b in alike_in_spectra(waves, seconds, {*close}):
            likeness = compared(waves[a], waves[b])
            if likeness is not None and likeness.reaches(SURELY):
                found.append((a, b))
        pairs = sorted((int(kept[a]), int(kept[b])) for a, b in found)
        yield near_fact(self.kept, rows, "recordings", pairs, RULE, self.evidence(), MISSED)

    def _agree(self, waves: Any, seconds: Any, pair: tuple[int, int]) -> bool:
        """Whether the waveforms do not speak against a copy: of long recordings whose ends were cut, other stretches may have been kept."""
        a, b = pair
        apart = abs(seconds[a] - seconds[b]) > self.length / RATE / 4
        likeness = None if apart else compared(waves[a], waves[b])
        return likeness is None or likeness.reaches(SAME)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        return judge_near(facts, "recordings", sure=True)

    def unknowns(self) -> Iterable[Unknown]:
        if self.applies() and self.seen > MOST:
            yield Unknown("near-duplicates", f"near duplicates of recordings are searched for among at most {MOST:,}")


def looks(values: Any, rates: Any, length: int) -> tuple[Any, Any]:
    """The patterns of recordings, [frames] or [frames, channels], at these rates, and stretches of their waveforms, [n, length]; zeros where there
    is none."""
    import numpy as np

    n = len(values)
    patterns, waves = np.zeros((n, TIMES * BANDS), np.float16), np.zeros((n, length), np.float16)
    for here, recordings in stacks(values):
        if recordings.shape[1] >= LEAST:
            sounds = mixed_down(recordings)
            patterns[here] = patterns_of(sounds, rates[here])
            some = patterns[here].any(1)
            waves[here[some]] = stretches(sounds if some.all() else sounds[some], rates[here[some]], length)
    return patterns, waves


def patterns_of(sounds: Any, rates: Any) -> Any:
    """The patterns of recordings, float32 [n, frames], at these rates, as vectors of unit length, float16 [n, TIMES * BANDS]; zeros where
    there is none."""
    import numpy as np

    made = np.zeros((len(sounds), TIMES * BANDS), np.float16)
    largest = np.abs(sounds).max(1)  # NaN if a sample is
    fit = (largest <= LOUDEST) & (rates > 2 * LOWEST)
    for rate in np.unique(rates[fit]).tolist():
        rows = np.flatnonzero(fit & (rates == rate))
        made[rows] = _patterns(sounds if len(rows) == len(sounds) else sounds[rows], rate)  # long ones are not copied
    return made


def _patterns(sounds: Any, rate: float) -> Any:
    import numpy as np

    n, length = sounds.shape
    size = length // TIMES
    frames = sounds[:, : TIMES * size].reshape(n, TIMES, size)
    spectra = power((frames - frames.mean((1, 2), keepdims=True)) * window(size), fast(size))
    hertz = np.fft.rfftfreq(fast(size), 1 / rate)
    places = np.searchsorted(hertz, np.geomspace(LOWEST, min(HIGHEST, rate / 2), BANDS + 1))
    # a band that is narrower than the frame resolves has the value of its neighbour
    first = np.minimum(places[:-1], len(hertz) - 1)
    end = np.minimum(np.maximum(places[1:], places[:-1] + 1), len(hertz))
    at = np.arange(len(hertz))[:, None]
    energy = (spectra @ ((at >= first) & (at < end)).astype(np.float32)).astype(np.float64)
    largest = energy.max((1, 2), keepdims=True)
    sounding = np.isfinite(largest) & (largest > 0)
    level = np.log(np.where(sounding, energy + FLOOR * largest, 1))
    level += level.mean((1, 2), keepdims=True) - level.mean(1, keepdims=True) - level.mean(2, keepdims=True)
    norm = np.sqrt((level * level).sum((1, 2), keepdims=True))
    return np.where(norm > 1e-6, level / np.maximum(norm, 1e-6), 0).reshape(n, -1)


def alike(patterns: Any, lengths: Any) -> list[tuple[int, int]]:
    """The pairs of near copies."""
    import numpy as np

    n = len(patterns)
    if n < 2:
        return []
    found: list[tuple[int, int, float]] = []
    crowd = np.ones(n, np.float32)
    coarse, long = _coarse(patterns), np.log(lengths)
    for at in range(0, n, AT_ONCE):
        near = np.abs(long[at : at + AT_ONCE, None] - long) <= LENGTHS
        near[np.arange(len(near)), at + np.arange(len(near))] = False
        rows = np.flatnonzero((near & (coarse[at : at + AT_ONCE] @ coarse.T >= ALIKE - ROUNDED)).any(1))
        likeness = patterns[at + rows] @ patterns.T
        likeness[np.arange(len(rows)), at + rows] = -1
        if n > 2 * RANK:
            crowd[at + rows] = 1 - np.partition(likeness, -RANK, 1)[:, -RANK]
        likeness[crowd[at + rows] <= 1 - ALIKE] = -1  # so many others are as much like it that none is a copy
        pairs = np.argwhere((likeness >= ALIKE) & near[rows])
        found += [(i, j, 1 - float(likeness[k, j])) for k, j in pairs.tolist() if (i := at + int(rows[k])) < j]
    return [(a, b) for a, b, apart in found if _stands_out(apart, float(min(crowd[a], crowd[b])))]


def _coarse(patterns: Any) -> Any:
    """Shorter vectors whose products are no smaller than those of the patterns: the means of neighbouring bands and frames, and the length of
    what is left of each pattern."""
    import numpy as np

    times, bands = 4, 2
    means = patterns.reshape(-1, TIMES // times, times, BANDS // bands, bands).mean((2, 4)).reshape(len(patterns), -1)
    means *= np.sqrt(
        times * bands
    )  # products of these are those of the patterns' parts that are constant where a mean is taken
    left = np.maximum((patterns * patterns).sum(1) - (means * means).sum(1), 0)
    return np.concatenate([means, np.sqrt(left)[:, None]], 1)


def alike_in_spectra(waves: Any, seconds: Any, known: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs whose fine spectra are the most alike, wherever in a recording a sound is, without those that are ``known``."""
    import numpy as np

    n = len(waves)
    if n < 2 or n > FEW:
        return []
    spectra = np.concatenate([fine_spectra(waves[at : at + AT_ONCE]) for at in range(0, n, AT_ONCE)])
    likeness = spectra @ spectra.T
    long = np.log(np.maximum(seconds, 1e-6))
    likeness[np.abs(long[:, None] - long[None]) > CUT] = -1
    likeness[np.tril_indices(n)] = -1
    for a, b in known:
        likeness[a, b] = -1
    flat = likeness.reshape(-1)
    some = np.argpartition(-flat, min(LOOKED_AT, len(flat) - 1))[:LOOKED_AT]
    return [(int(i) // n, int(i) % n) for i in np.sort(some[flat[some] >= SPECTRA])]


def _stands_out(apart: float, nearest: float) -> bool:
    """Whether a pair that differs by ``apart`` is alike beyond what others are, of which the ``RANK``-th nearest differs by ``nearest``:
    where that one would pass as a copy too, none is."""
    return nearest > UNLIKE or (nearest > 1 - ALIKE and apart <= FAR_LESS * nearest)


CHECK = NearSounds

"""Whether two recordings have the same waveform, wherever it begins: what tells a copy from another stroke of the same bell.

Method: cross-correlation at the best lag, of the spectra as they are and of their phases alone, as delays are estimated (Knapp and Carter, "The
generalized correlation method for estimation of time delay", 1976). Envelopes and bands of one-shot sounds are alike; their phases are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

RATE, LONGEST, HELD = 8_000, 1 << 14, 1 << 25
"""Samples a second of what is kept, the most of them of a recording, and of all recordings together."""
SHORTEST = 1 << 10
SMOOTH = 32
"""The width of the mean, in points of a spectrum, above and below which a fine spectrum goes: the colour of a microphone is smoother."""


@dataclass(frozen=True)
class Likeness:
    """The correlation of two waveforms at the lag where it is largest, and that of their phases."""

    whole: float
    phases: float

    def reaches(self, bounds: Iterable[Likeness]) -> bool:
        """Whether it is within one of these bounds."""
        return any(self.whole >= least.whole and self.phases >= least.phases for least in bounds)


def length_for(recordings: int | None) -> int:
    """How many samples are kept of each of so many recordings; of an unknown number, few."""
    return min(LONGEST, max(SHORTEST, HELD // recordings)) if recordings else SHORTEST


def stretches(sounds: Any, rates: Any, length: int) -> Any:
    """The stretch around the middle of the energy of each of these recordings, float32 [n, frames], at these rates, as float16 [n, length] of largest
    value 1; zeros of silence. A copy of another loudness, or with its ends cut, has it at the same place or close to it."""
    import numpy as np

    frames = sounds.shape[1]
    sounds = sounds - sounds.mean(1, keepdims=True)
    energy = sounds * sounds
    total = energy.sum(1)
    # the mean of the times, weighted with the energy: where half of it has passed may jump from one stroke to the next
    middles = energy @ np.arange(frames, dtype=np.float32) / np.where(total > 0, total, 1)
    kept = np.zeros((len(sounds), length), np.float16)
    for rate in np.unique(rates[total > 0]).tolist():
        rows = np.flatnonzero((rates == rate) & (total > 0))
        span = min(frames, int(length * rate / RATE))
        first = np.clip(middles[rows] - span / 2, 0, frames - span).astype(np.int64)
        parts = (
            sounds[rows]
            if span == frames
            else np.stack([sounds[i, at : at + span] for i, at in zip(rows, first, strict=True)])
        )
        n = min(length, int(span * RATE / rate))
        made = np.fft.irfft(np.fft.rfft(parts)[:, : n // 2 + 1], n)
        kept[rows, :n] = made / np.maximum(np.abs(made).max(1, keepdims=True), 1e-12)
    return kept


def compared(one: Any, other: Any) -> Likeness | None:
    """How alike two stretches are; None if one is silent, of which nothing can be said."""
    import numpy as np

    n = 2 * len(one)
    a, b = (np.fft.rfft(part.astype(np.float32), n) for part in (one, other))
    cross = a * np.conj(b)
    size = np.abs(cross)
    both = float(np.linalg.norm(one.astype(np.float32)) * np.linalg.norm(other.astype(np.float32)))
    if not both > 0:
        return None
    phases = np.fft.irfft(cross / (size + 1e-9 * size.max()), n)
    return Likeness(float(np.fft.irfft(cross, n).max()) / both, float(phases.max()))


def fine_spectra(waves: Any) -> Any:
    """How far the energy of stretches, [n, length], is above or below that of neighbouring frequencies, as vectors of unit length: it does not
    depend on where in a stretch a sound is, and is another for each noise."""
    import numpy as np

    level = np.log(np.abs(np.fft.rfft(waves.astype(np.float32), axis=1)) + 1e-3).astype(np.float32)
    sums = np.cumsum(np.pad(level, ((0, 0), (SMOOTH // 2 + 1, SMOOTH // 2)), "edge"), 1, dtype=np.float64)
    level = level - ((sums[:, SMOOTH:] - sums[:, :-SMOOTH]) / SMOOTH)[:, : level.shape[1]].astype(np.float32)
    return level / np.maximum(np.linalg.norm(level, axis=1, keepdims=True), 1e-6)

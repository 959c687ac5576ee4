"""Recordings with nothing but the noise that the others have in their pauses; and ones that are shorter or longer than all others by the ratio of
two sample rates, and as much higher or lower: their header names another rate than that of the sound.

Rain is as even as noise, but as loud as other sounds are. A class that stands for silence holds noise on purpose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn_rows import DrawnField
from dataloader_expert.checks.common.rows_kept import digests_by_name, in_order, places
from dataloader_expert.checks.common.spectra import fast, power, stacks
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

NOISE = Quantity("noise_alone", "files", "recordings that are as even and as quiet as the pauses of the others")
RATE = Quantity(
    "rates_mistaken", "files", "recordings whose length and pitch differ from the others' by the ratio of two rates"
)
KEPT, FRAMES, LOOKED_AT = 20_000, 40, 1 << 14
"""The most recordings that are looked at, pieces of one whose loudness is compared, and samples whose spectrum is taken."""
LEAST, FEWEST, MOST = 40, 3, 0.3
"""The fewest recordings; the fewest odd ones, and the largest share of them."""
EVEN, UNEVEN = 1.5, 5.0
"""How many times as loud the louder pieces are as the quieter ones, at most in noise alone, and at least in most of the others."""
AS_QUIET, BELOW = 2.5, 4.0
"""How many times as loud as the pauses of most others noise may be, and how many times as loud their louder pieces are at least."""
OF_CLASS = 0.5
"""The share of a class that is noise from which on it means to be."""
ONE_LENGTH, NEAR = 0.5, 0.2
"""The least share of recordings of one length; and how far the ratio of pitches may lie off that of lengths, as a part of it."""
RATES = (8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)


class Recordings(DrawnField):
    ids = ("silent-audio", "header-mismatch")
    most = KEPT

    def chosen(self, context: Context) -> str:
        return next((f.name for f in context.fields if f.kind == "audio"), "")

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        values = block.columns[self.field].values
        found = measured([values[i] for i in rows.tolist()])
        kept = {name: found[:, k] for k, name in enumerate(("pauses", "loud", "pitch", "length"))}
        rates = block.columns.get("sample_rate")
        kept["rate"] = (
            np.zeros(len(rows)) if rates is None else np.array([rates.values[i] for i in rows.tolist()], np.float64)
        )
        kept["label"] = digests_by_name(block.columns.get(self.context.label or ""), rows)
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        kept = {name: values[np.isfinite(kept["loud"])] for name, values in kept.items()}
        if len(kept["loud"]) < LEAST:
            return
        evidence = self.evidence("sampled", len(kept["loud"]))
        odd = noise_alone(kept["pauses"], kept["loud"], kept["label"])
        if odd is not None:
            value = {"count": round(float(odd.mean()) * self.seen), "where": places(kept, odd, self.field)}
            yield Fact(NOISE, value, evidence)
        yield from self._rates(kept, evidence)

    def _rates(self, kept: dict[str, Any], evidence: Any) -> Iterator[Fact]:
        import numpy as np

        heard = np.isfinite(kept["rate"]) & np.isfinite(kept["pitch"])  # silence has no pitch
        kept = {name: values[heard] for name, values in kept.items()}
        known, each = np.unique(kept["rate"], return_counts=True)
        if not len(known):
            return
        kept = {name: values[kept["rate"] == known[each.argmax()]] for name, values in kept.items()}
        # at another rate, as many seconds are another number of samples
        lengths = Counter(kept["length"].tolist())
        usual, n = lengths.most_common(1)[0]
        if n < ONE_LENGTH * len(kept["length"]) or usual <= 0:
            return
        others = float(np.median(kept["pitch"][kept["length"] == usual]))
        for length, n in lengths.items():
            if length == usual or not FEWEST <= n <= MOST * len(kept["length"]):
                continue
            told = next((pair for pair in _pairs() if abs(usual * pair[0] / pair[1] - length) <= 1), None)
            at = kept["length"] == length
            pitch = float(np.median(kept["pitch"][at])) / max(others, 1e-12)
            if told is not None and abs(pitch * length / usual - 1) <= NEAR and abs(pitch - 1) > NEAR:
                value = {"count": round(n / sum(each) * self.seen), "share": length / usual, "pitch": pitch}
                value |= {"rates": list(told), "where": places(kept, at, self.field)}
                yield Fact(RATE, value, evidence, {"length": int(length)})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NOISE):
            n = fact.value["count"]
            text = f"{number(n, 'recording')} {verb(n, 'hold')} nothing but noise, as even and as quiet as the pauses in the others"
            fix = "listen to them; drop them or record them again: what their labels name cannot be heard"
            yield finding("silent-audio", "warning", text, fact, fix, fact.value["where"], n)
        for fact in facts.all(RATE):
            v = fact.value
            n, (one, two) = v["count"], v["rates"]
            text = f"{number(n, 'recording')} {verb(n, 'are')} {v['share']:.3g} times as long as most others and sound {v['pitch']:.2g} times as high: "
            text += f"their rate is probably {one / two:.3g} times what their header says, for example {one:,} instead of {two:,} Hz"
            fix = "correct the rate in the header, and resample them to that of the others"
            yield finding("header-mismatch", "warning", text, fact, fix, v["where"], n)


def _pairs() -> Iterator[tuple[int, int]]:
    return ((one, two) for one in RATES for two in RATES if one != two)


def noise_alone(pauses: Any, loud: Any, label: Any) -> Any:
    """Which recordings are as even and as quiet as the pauses of most others, bool [n]; None if few others have pauses, or such ones are a class
    of their own. ``pauses`` and ``loud``: how loud the quieter and the louder pieces of each are."""
    import numpy as np

    even = loud <= EVEN * pauses
    others = ~even
    if others.sum() < LEAST / 2 or not even.any():
        return None
    floor, level = float(np.median(pauses[others])), float(np.median(loud[others]))
    if floor <= 0 or np.median(loud[others] / np.maximum(pauses[others], 1e-12)) < UNEVEN:
        return None
    odd = even & (loud <= AS_QUIET * floor) & (loud * BELOW <= level) & (loud > 0)
    _, codes = np.unique(label, return_inverse=True)
    sizes, own = np.bincount(codes), np.bincount(codes[odd], minlength=int(codes.max()) + 1)
    if len(sizes) > 1:
        odd &= (own < OF_CLASS * sizes)[codes]
    return odd if FEWEST <= odd.sum() <= MOST * len(odd) else None


def measured(values: Sequence[Any]) -> Any:
    """Of recordings, how loud the quieter and the louder pieces are, as shares of full scale, the middle of the spectrum as a share of the
    rate, and the length, float64 [n, 4]; NaN but for the length of what is no sound."""
    import numpy as np

    found = np.full((len(values), 4), np.nan)
    found[:, 3] = [len(value) for value in values]
    for at, recordings in stacks(values):
        if recordings.dtype.kind in "if" and recordings.shape[1] >= 4 * FRAMES:
            found[at, :3] = _measured(recordings)
    return found


def _measured(recordings: Any) -> Any:
    import numpy as np

    kind, (n, length, _) = recordings.dtype, recordings.shape
    sound = recordings[:, :, 0].astype(np.float32)
    if kind.kind == "i":
        sound /= float(2.0 ** (8 * kind.itemsize - 1))
    each = length // FRAMES
    with np.errstate(invalid="ignore", over="ignore"):  # an infinity makes these NaN
        levels = sound[:, : each * FRAMES].reshape(n, FRAMES, each).std(2)
        low, high = np.quantile(levels, [0.1, 0.95], axis=1)
        begin = max(0, (length - LOOKED_AT) // 2)
        part = sound[:, begin : begin + LOOKED_AT]
        total = np.cumsum(power(part - part.mean(1, keepdims=True), fast(part.shape[1])), 1)
    middle = [np.searchsorted(t, t[-1] / 2) / fast(part.shape[1]) if t[-1] > 0 else np.nan for t in total]
    found = np.stack([low, high, np.array(middle)], 1)
    if kind.kind == "f":
        found[~np.isfinite(sound).all(1)] = np.nan
    return found


CHECK = Recordings

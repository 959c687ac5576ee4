"""Bands and pauses that give a class of recordings away: mains hum in all of one class and in no others, no sound above an edge, or nothing but
one value for some time at the beginning or the end, which no microphone records.

Hum is a line at 50 or 60 Hz that stands far out of what is next to it. An edge is what a filter or a lower rate leaves: beneath it there is
sound in every band, above it hardly any, within one sixteenth of the spectrum. A tone or a low voice has no such edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import SCARCELY, Drawn
from dataloader_expert.checks.common.rows_kept import places
from dataloader_expert.checks.common.spectra import fast, power, stacks, window
from dataloader_expert.checks.giveaways.by_class import DrawnByClass
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

BAND = Quantity(
    "class_by_band",
    "samples",
    "recordings of a class that nearly all have mains hum, no sound above a frequency in Hz, or digital silence",
)
RATE = "sample_rate"
KEPT, CLASSES, LEAST = 1_500, 60, 20
"""The most recordings that are measured, the most classes, and the fewest recordings of a class and of all others."""
LONGEST, SHORTEST = 1 << 16, 0.5
"""Samples of a recording that are looked at, and the seconds that they must last for hum to be told from what is next to it."""
MAINS, WITHIN, BESIDE = (50.0, 60.0), 2.5, (6.0, 24.0)
"""Hz of mains hum, how far it may be off, and how far what it stands out of is away."""
STANDS_OUT, EDGE = 20.0, 25.0
"""Decibels by which hum stands out, and by which every band beneath an edge lies above all that are above it."""
BANDS, WIDTH, BENEATH, HIGHEST = 64, 2, 8, 58
"""Bands of the spectrum, those within which an edge lies, the fewest beneath it, and the highest one that it may be: converters have
their own edge."""
STILL = 0.05
"""Seconds of one value at the beginning or the end that are digital silence."""
ALL, ELSEWHERE = 0.95, 0.01
"""The least share of a class, and the largest one of all others."""


class Bands(DrawnByClass):
    ids = ("label-leaked-by-field",)
    kind, most, classes = "audio", KEPT, CLASSES

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.drawn = Drawn(self.most, spare=SCARCELY)  # what is measured of one costs much

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        rates = block.columns.get(RATE)
        each = np.array([0.0 if rates is None else float(rates.values[i]) for i in rows.tolist()])
        values = block.columns[self.name].values
        heard = measured([values[i] for i in rows.tolist()], each)
        return {"heard": heard, "class": self.called.of(block.columns[self.label], rows)}

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.called.many:
            return
        _, rows = self.drawn.all()
        *hums, edges, begins, ends = rows["heard"].T
        for digest, text in sorted(self.called.texts.items(), key=lambda item: item[1]):
            own = rows["class"] == np.uint64(digest)
            if not text or min(own.sum(), (~own).sum()) < LEAST:
                continue
            middle = np.median(edges[own])  # NaN if one has none
            marks = {f"hum at {hz:.0f} Hz": hum >= STANDS_OUT for hz, hum in zip(MAINS, hums, strict=True)}
            marks[f"no sound above {middle:,.0f} Hz" if np.isfinite(middle) else ""] = np.abs(edges / middle - 1) <= 0.1
            marks |= {"digital silence at the beginning": begins >= STILL, "digital silence at the end": ends >= STILL}
            for what, has in marks.items():
                if what and has[own].mean() >= ALL and has[~own].mean() <= ELSEWHERE:
                    value = {
                        "class": text,
                        "what": what,
                        "count": int(own.sum()),
                        "where": places(rows, own & has, self.name),
                    }
                    yield Fact(
                        BAND,
                        value,
                        self.evidence("sampled", len(own)),
                        {"field": self.name, "class": text, "what": what},
                    )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BAND):
            v = fact.value
            text = f"{v['what']} in {escaped(self.name)} gives class {escaped(v['class'])} away: nearly all "
            text += f"the {number(v['count'], 'recording')} of it that were checked show this, and hardly any others do"
            fix = "apply the same filter to all recordings, and find out what else differs between the classes' sources"
            if "silence" in v["what"]:
                fix = "cut it off, or fill it with noise as in the other recordings, and find out what else differs between the classes' sources"
            severity: Severity = "info" if self.context.guessed else "warning"
            yield finding("label-leaked-by-field", severity, text, fact, fix, v["where"], v["count"])


def measured(values: Sequence[Any], rates: Any) -> Any:
    """Of recordings, by how many decibels hum at 50 and at 60 Hz stands out of what is next to it, the frequency above which there is no
    sound, and the seconds of one value at the beginning and at the end, float64 [n, 5]; NaN where there is none, or a recording says
    nothing."""
    import numpy as np

    found = np.full((len(values), 5), np.nan)
    for at, recordings in stacks(values):
        waves = recordings[:, : fast(min(recordings.shape[1], LONGEST), -1), 0].astype(np.float64)
        says = np.isfinite(waves).all(1) & (waves.min(1) < waves.max(1)) & (rates[at] > 0)
        for rate in {*rates[at[says]].tolist()} if recordings.shape[1] >= 4 * BANDS else ():
            own = np.flatnonzero(says & (rates[at] == rate))
            found[at[own]] = _measured(waves[own], recordings[own], rate)
    return found


def _measured(waves: Any, recordings: Any, rate: float) -> Any:
    import numpy as np

    energy = power((waves - waves.mean(1, keepdims=True)) * window(waves.shape[1]))
    moves = recordings[:, 1:] != recordings[:, :-1]
    moves = moves.any(2) if moves.shape[2] > 1 else moves[:, :, 0]
    still = [moves.argmax(1) / rate, (moves[:, ::-1].argmax(1) + 1) / rate]
    if waves.shape[1] >= SHORTEST * rate:
        hums = [hum(energy, rate / waves.shape[1], hz) for hz in MAINS]
    else:
        hums = [np.full(len(waves), np.nan)] * len(MAINS)
    return np.stack([*hums, edge(energy) * rate / 2, *still], 1)


def hum(energy: Any, step: float, hz: float) -> Any:
    """Decibels by which a line near a frequency stands out, by ``energy`` [n, frequencies]; ``step``: Hz from one to the next."""
    import numpy as np

    first = max(0, int((hz - BESIDE[1]) / step))
    near = energy[:, first : int((hz + BESIDE[1]) / step) + 2]
    away = np.abs(np.arange(first, first + near.shape[1]) * step - hz)
    here, beside = near[:, away <= WITHIN], near[:, (away >= BESIDE[0]) & (away <= BESIDE[1])]
    if not here.size or not beside.size:
        return np.full(len(energy), np.nan)
    return 10 * np.log10((here.max(1) + 1e-12) / (np.median(beside, 1) + 1e-12))


def edge(energy: Any) -> Any:
    """The share of the spectrum above which there is no sound, by ``energy`` [n, frequencies]; NaN if there is no edge."""
    import numpy as np

    bounds = np.linspace(0, energy.shape[1], BANDS + 1).astype(int)[:-1]
    level = 10 * np.log10(np.add.reduceat(energy, bounds, 1) + 1e-12)
    beneath = np.lib.stride_tricks.sliding_window_view(level, BENEATH, 1).min(2)[:, : HIGHEST - BENEATH]
    above = np.maximum.accumulate(level[:, ::-1], 1)[:, ::-1][:, BENEATH + WIDTH :]
    falls = beneath - above[:, : beneath.shape[1]] >= EDGE
    return np.where(falls.any(1), (BENEATH + falls.argmax(1) + WIDTH / 2) / BANDS, np.nan)


CHECK = Bands

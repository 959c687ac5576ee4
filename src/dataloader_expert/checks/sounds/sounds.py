"""Audio: rates, channels, silence, clipping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places, sample_of
from dataloader_expert.checks.sounds.wraps import wraps_around
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

RATES = Quantity("sample_rates", "files", "files of each sample rate in Hz and of each number of channels")
ODD_CLIPS = Quantity(
    "odd_clips",
    "files",
    "files with a rare sample rate or number of channels",
)
AS_MANY_FRAMES = Quantity(
    "as_many_frames",
    "times",
    "how many times as long as the others the files of a rare rate last, with as many samples as they have",
)
ODD_LENGTHS = Quantity("odd_lengths", "files", "clips far longer or shorter than the others")
QUIET = Quantity("audio_looks", "files", "files that are silent or clipped, with samples")
MIXTURE = Quantity(
    "channels_mixed", "", "whether recordings of each number of channels are common in all splits and classes"
)
PHASES = Quantity(
    "channel_phases",
    "files",
    "files whose two channels are in phase, in opposite phase and neither, with places of the rarer",
)

CUT, ENDED, CHANNEL = "cut off", "ends early", "silent channel"
LEVELLED, SWAPPED, WRAPPED = "clipped below full scale", "bytes swapped", "wrapped around"
IN, OPPOSITE, NEITHER = "in phase", "in opposite phase", "neither"
STILL = 2.5e-4
"""The share of full scale within which nothing can be heard: eight steps of 16 bits, less than the noise of any microphone."""
BETWEEN, LEVELS = 0.2, 50
"""The least share of samples between a tenth and nine tenths of the peak, and the fewest levels that they have."""
LOUD, OF_PEAK, RUN_INTO = 0.03, 0.4, 0.005
"""The least peak, as a share of full scale, that may be that of clipping; the largest share of samples at it, since a rectangular wave
has more; and how far below it the sample before is in the median."""
NAMED, LARGE, COMMON = ("category", "boolean"), 10, 0.1
"""Kinds of labels that name classes; the fewest clips of a split or a class in which each number of channels must be, and its least share of them."""
QUIET_AT = 0.02
"""The peak, as a share of full scale, up to which a recording of silence is just that."""
PLACED = 1_000
"""The most lengths of which several clips are placed."""
FEW = 20
"""At most one clip in this many ends in zeros by accident; if more do, it is intended."""
RARE = 0.1
"""The largest share of clips whose length is exceptional: if more are so long, it is one of several usual lengths."""
SEVERAL, PART, LAST = 3, 0.2, 0.95
"""The fewest clips of a usual length that end early, and the largest share of them; and the share of the others that must last to their end:
where clips were padded to one length, many end somewhere before it."""
TAIL = 100
"""One in so many of the last samples of a clip that lasts to its end is not zero."""
PHASE, IN_PHASE, FEWEST = 0.9, 0.8, 3
"""The correlation of two channels that are one signal, the share of files in which they are so, and the fewest in opposite phase."""
NOISE, ROUGH, LESS, SAMPLES, SIGNS = 0.2, 1.0, 3.0, 500, 0.02
"""The least deviation of samples whose bytes are swapped, as a share of full scale; how much neighbours differ at least, in deviations
(in white noise 1.41); how many times as large both are as with the bytes as they should be; the fewest samples that tell it; and the least share of small
numbers of either sign."""
AS_LONG, OTHER_RATE, CLIPS = 0.02, 1.2, 5
"""By how much the median numbers of frames at two rates may differ if they are the same, how many times the other one a rate must be, and the fewest
clips of a rate that tell it."""
AGAIN, STAYS = 10, 3
"""Pairs of samples at full scale that are no chance, as the peak of a loud tone is one sample; and how many stay at a level below it."""


class Sounds(Check):
    ids = ("silent-audio", "clipped-audio", "dc-offset", "rate-drift", "channel-drift", "outliers", "header-mismatch")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.rates: Counter[str] = Counter()
        self.frames: dict[str, Counter[int]] = {}
        """Clips of each number of frames, by rate."""
        self.channels: Counter[str] = Counter()
        self.odd: dict[str, list[dict[str, Json]]] = {}
        self.counts: Counter[str] = Counter()
        self.lengths: Counter[int] = Counter()
        """Clips of each length, in microseconds, or in frames if no rate is known."""
        self.where = Places()
        self.first: dict[int, tuple[int, str, str]] = {}
        """The first clip of each length."""
        self.phases: Counter[str] = Counter()
        self.tails: list[tuple[int, dict[str, Json]]] = []
        """Length and place of each clip that ends in zeros."""
        self.lasting = 0
        """Clips that last to their end."""
        self.label = next((f.name for f in context.fields if f.name == context.label and f.kind in NAMED), "")
        self.classes: dict[str, Counter[str]] = {}
        """Of each class: clips in all, those that are silent, and those that are hardly louder."""
        self.mixed: dict[tuple[str, str], Counter[str]] = {}
        """Of each class and each split: clips of each number of channels."""

    def applies(self) -> bool:
        return any(f.kind == "audio" for f in self.context.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        fields = [f for f in self.context.fields if f.kind == "audio"]
        for field in fields:
            if field.name not in block.columns:
                continue
            rates = block.columns.get("sample_rate")
            labels = block.columns.get(self.label)
            splits, codes = self.context.splits_of(block)
            of = "" if field == fields[0] else field.name
            for i, value in enumerate(block.columns[field.name].values):
                here = block.index(i), block.file(i, of), of
                if labels is not None:
                    still, quiet = silent(value), faint(value)
                    of_class = self.classes.setdefault(str(labels.values[i]), Counter())
                    of_class.update(["all", *["still"] * still, *["quiet"] * quiet])
                length = len(value)
                if rates is not None:
                    rate = int(rates.values[i])
                    self.rates[str(rate)] += 1
                    self.frames.setdefault(str(rate), Counter())[length] += 1
                    self.where.at(("rate", str(rate)), *here)
                    length = length * 1_000_000 // max(1, rate)
                channels = str(value.shape[1] if value.ndim > 1 else 1)
                self.channels[channels] += 1
                self.mixed.setdefault(("split", str(splits[codes[i]])), Counter())[channels] += 1
                if labels is not None:
                    self.mixed.setdefault(("class", str(labels.values[i])), Counter())[channels] += 1
                self.where.at(("channels", channels), *here)
                place = _place(here)
                self.lengths[length] += 1
                self.first[length] = min(self.first.get(length, here), here)
                if len(self.lengths) <= PLACED:
                    self.where.at(("length", length), *here)
                if ends_in_zeros(value):
                    self.tails.append((length, place))
                self.lasting += bool(value[-max(1, len(value) // TAIL) :].any())
                phase = phase_of(value)
                if phase is not None:
                    self.phases[phase] += 1
                    self.where.at(("phase", phase), *here)
                for name, is_so in _LOOKS.items():
                    if is_so(value):
                        self.counts[name] += 1
                        self.odd.setdefault(name, []).append(place)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Sounds)
        self.seen += other.seen
        self.rates += other.rates
        self.channels += other.channels
        for rate, frames in other.frames.items():
            self.frames.setdefault(rate, Counter()).update(frames)
        self.phases += other.phases
        self.counts += other.counts
        self.where.merge(other.where)
        for length, first in other.first.items():
            self.first[length] = min(self.first.get(length, first), first)
        self.lengths += other.lengths
        self.tails += other.tails
        self.lasting += other.lasting
        for label, counts in other.classes.items():
            self.classes.setdefault(label, Counter()).update(counts)
        for part, counts in other.mixed.items():
            self.mixed.setdefault(part, Counter()).update(counts)
        for name, places in other.odd.items():
            self.odd.setdefault(name, []).extend(places)

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        yield Fact(RATES, dict(self.rates.most_common()), evidence, {"of": "rate"})
        yield Fact(RATES, dict(self.channels.most_common()), evidence, {"of": "channels"})
        if self._is_mixture():
            yield Fact(MIXTURE, True, evidence)
        for rate, times in self._as_long():
            yield Fact(AS_MANY_FRAMES, times, evidence, {"rate": rate})
        for of, counts in (("rate", self.rates), ("channels", self.channels)):
            rare = [value for value, _ in counts.most_common()[:0:-1]]
            places = [place for value in rare for place in self.where.of((of, value))]
            yield Fact(ODD_CLIPS, places[:MAX_PLACES], evidence, {"of": of})
        if self.phases[OPPOSITE]:
            fewer = IN if 0 < self.phases[IN] < self.phases[OPPOSITE] else OPPOSITE
            phases = {of: self.phases[of] for of in (IN, OPPOSITE, NEITHER)}
            phases["mono"] = self.channels["1"]
            yield Fact(PHASES, {**phases, "rare": fewer, "where": self.where.of(("phase", fewer))}, evidence)
        far = self._far()
        places = [p for n in far for p in (self.where.of(("length", n)) or [_place(self.first[n])])]
        value = {"count": sum(self.lengths[n] for n in far), "where": sorted(places, key=sample_of)[:MAX_PLACES]}
        yield Fact(ODD_LENGTHS, value, evidence)
        found = {name: (self.counts[name], self.odd.get(name, [])) for name in _LOOKS}
        cut = self._cut()
        ended = [] if cut else self._ended()
        for name, (n, places) in {**found, CUT: (len(cut), cut), ENDED: (len(ended), ended)}.items():
            if n and not (name == "silent-audio" and self._silence_is_a_class()):
                where = sorted(places, key=sample_of)[:MAX_PLACES]
                yield Fact(QUIET, {"count": n, "where": where}, evidence, {"look": name})

    def _is_mixture(self) -> bool:
        """Whether clips of each number of channels are common everywhere, so that whoever loads them meets both at once."""
        large = [of for of in self.mixed.values() if of.total() >= LARGE]
        return bool(large) and all(of[n] >= COMMON * of.total() for of in large for n in self.channels)

    def _silence_is_a_class(self) -> bool:
        """Whether all silent clips are of one class, most of whose others are as good as silent: it stands for silence."""
        of = [counts for counts in self.classes.values() if counts["still"]]
        return len(of) == 1 < len(self.classes) and of[0]["still"] < of[0]["quiet"] >= of[0]["all"] / 2

    def _as_long(self) -> Iterator[tuple[str, float]]:
        """The rarer rates at which clips have as many frames as at the commonest, and how many times as long they therefore last."""
        import numpy as np

        usual = self.rates.most_common(1)[0][0] if self.rates else ""
        median = {
            rate: _weighted_median(np.array(list(of)), np.array(list(of.values())))
            for rate, of in self.frames.items()
            if of.total() >= CLIPS
        }
        for rate, n in sorted(median.items()):
            times = int(usual) / max(1, int(rate))
            same = usual in median and abs(n - median[usual]) <= AS_LONG * median[usual]
            if rate != usual and same and max(times, 1 / max(times, 1e-9)) >= OTHER_RATE:
                yield rate, times

    def _cut(self) -> list[dict[str, Json]]:
        """The few clips that end in zeros and whose length is their own: padding makes lengths equal."""
        tails = Counter(length for length, _ in self.tails)
        alone = [place for length, place in self.tails if tails[length] == 1 and 2 * self.lengths[length] <= self.seen]
        return alone if len(alone) * FEW <= self.seen else []

    def _ended(self) -> list[dict[str, Json]]:
        """The few clips that end in zeros, whatever their length, where nearly all others last to their end."""
        n = len(self.tails)
        few = SEVERAL <= n <= PART * self.seen and self.lasting >= LAST * (self.seen - n)
        return [place for _, place in self.tails] if few else []

    def _far(self) -> list[int]:
        """Exceptional lengths: more than eight robust deviations from the median, on a log scale. If more than ``RARE`` lie so far, none is."""
        import numpy as np

        lengths = np.array([n for n in self.lengths if n > 0], np.float64)
        counts = np.array([self.lengths[int(n)] for n in lengths])
        if counts.sum() < 20:
            return []
        logs = np.log(lengths)
        middle = _weighted_median(logs, counts)
        spread = max(1.4826 * _weighted_median(np.abs(logs - middle), counts), 0.05)
        far = np.abs(logs - middle) > 8 * spread
        return sorted(lengths[far].astype(int).tolist()) if counts[far].sum() <= RARE * counts.sum() else []

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for of, code, what in (("rate", "rate-drift", "sample rates"), ("channels", "channel-drift", "channel counts")):
            fact = facts.find(RATES, of=of)
            if fact is not None and len(fact.value) > 1:
                listed = ", ".join(f"{n} with {v}" for v, n in fact.value.items())
                fix = _FIXES[code]
                for wrong in facts.all(AS_MANY_FRAMES) if of == "rate" else ():
                    times, rate = wrong.value, wrong.at["rate"]
                    listed += f"; those with {rate} have as many samples as the others, so they last {times:.3g} times as long: their headers "
                    listed += "probably give the wrong rate"
                    fix = "listen to one: if its speed and pitch are wrong, correct the rate in these headers; otherwise resample to one rate"
                common = of == "channels" and facts.find(MIXTURE) is not None
                yield finding(
                    code,
                    "info" if common else "warning",
                    f"several {what}: {listed}",
                    fact,
                    fix,
                    facts.value(ODD_CLIPS, [], of=of),
                    sum(list(fact.value.values())[1:]),
                )
        phases = facts.find(PHASES)
        if phases is not None and phases.value[OPPOSITE] >= FEWEST:
            v = phases.value
            alike, rest = v[IN] + v[OPPOSITE], v[NEITHER]
            if alike >= IN_PHASE * (alike + rest) and (v[IN] >= FEWEST or (not v[IN] and v["mono"] >= alike)):
                text = f"the two channels are in opposite phase in {v[OPPOSITE]:,} of {number(alike + rest, 'recording')} (each is the other "
                text += f"with its sign changed){f', and in phase in {v[IN]:,}' if v[IN] else ''}: mixed down, those in opposite phase are silent"
                fix = "change the sign of one channel there: a cable or a converter inverted it"
                yield finding("channel-drift", "warning", text, phases, fix, v["where"], v[v["rare"]])
        far = facts.find(ODD_LENGTHS)
        if far is not None and far.value["count"]:
            n = far.value["count"]
            yield finding(
                "outliers",
                "info",
                f"{number(n, 'clip')} {verb(n, 'are')} far longer or shorter than the others",
                far,
                "listen to them; trim or drop those that do not belong",
                far.value["where"],
                n,
            )
        for fact in facts.all(QUIET):
            n, look = fact.value["count"], str(fact.at["look"])
            code = _CODES.get(look, look)
            yield finding(
                code,
                "warning",
                f"{number(n, 'file')} {verb(n, _TEXTS[look])}",
                fact,
                _FIXES.get(look, "listen to them; drop them or record them again"),
                fact.value["where"],
                n,
            )


def _weighted_median(values: Any, counts: Any) -> float:
    import numpy as np

    order = np.argsort(values)
    at = int(np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2))
    return float(values[order][at])


def silent(value: Any) -> bool:
    """All samples lie within ``STILL`` of full scale."""
    if not value.size:
        return True
    return (float(value.max()) - float(value.min())) / _full(value) < STILL


def faint(value: Any) -> bool:
    """No sample is louder than what is heard in silence."""
    middle = _full(value) if value.dtype.kind == "u" else 0.0
    return not value.size or max(float(value.max()) - middle, middle - float(value.min())) <= QUIET_AT * _full(value)


def silent_channel(value: Any) -> bool:
    """A channel is silent, but not all are."""
    if value.ndim < 2 or value.shape[1] < 2 or not value.size:
        return False
    still = (value.max(axis=0).astype(float) - value.min(axis=0)) / _full(value) < STILL
    return bool(still.any() and not still.all())


def ends_in_zeros(value: Any) -> bool:
    """The last two fifths are zeros, but not everything."""
    return bool(value.any()) and not value[len(value) * 3 // 5 :].any()


def offset(value: Any) -> bool:
    """The mean is off centre by more than a twentieth of full scale."""
    if not value.size or value.dtype.kind == "u":
        return False
    return abs(float(value.mean())) > 0.05 * _full(value)


def _full(value: Any) -> float:
    return 1.0 if value.dtype.kind == "f" else float(2.0 ** (8 * value.dtype.itemsize - 1))


def clipped(value: Any) -> bool:
    """In a channel, three consecutive samples at full scale, or again and again two, as of a high tone."""
    if not value.size or value.dtype.kind not in "if":
        return False
    # the largest value, of 24 bits in 32 too
    top = (
        1 if value.dtype.kind == "f" else 2 ** (8 * value.dtype.itemsize - 1) - (1 if value.dtype.itemsize < 4 else 256)
    )
    if value.max() < top and value.min() > -top:
        return False
    at = (value >= top) | (value <= -top)
    twice = at[:-1] & at[1:]
    return bool((twice[:-1] & at[2:]).any() or twice.sum(axis=0).max() >= AGAIN)


def levelled(value: Any) -> bool:
    """Below full scale, a channel runs again and again into its own peak and stays there for three samples: it was clipped before it was
    made quieter. The crest of a low tone is as flat, but is not run into."""
    if value.ndim < 2 or not value.size or value.dtype.kind not in "if":
        return False
    return any(map(_runs_into_peak, value.T)) and not clipped(value)


def _runs_into_peak(channel: Any) -> bool:
    import numpy as np

    peak = max(channel.max().item(), -channel.min().item())
    if not peak >= LOUD * _full(channel):
        return False
    at = (channel == peak) | (channel == -peak)
    if not STAYS * AGAIN <= np.count_nonzero(at) <= OF_PEAK * len(at):
        return False
    size = np.abs(channel.astype(np.float64))
    before = size[:-3][at[1:-2] & at[2:-1] & at[3:] & ~at[:-3]]
    between = size[(size > 0.1 * peak) & (size < 0.9 * peak)]
    if len(before) < AGAIN or len(between) < BETWEEN * len(size) or len(np.unique(between)) < LEVELS:
        return False  # the last two: a wave of a few levels
    return bool(np.median(before) < (1 - RUN_INTO) * peak)


def swapped(value: Any) -> bool:
    """Samples of 16 bits are loud noise as they are, and with their two bytes swapped far quieter, or neighbours are far more alike."""
    import numpy as np

    if (
        value.dtype != np.int16
        or len(value) < SAMPLES
        or int(value.max()) - int(value.min()) < 2 * NOISE * _full(value)
    ):
        return False
    as_is = value.astype(np.float64)
    if as_is.std() < NOISE * _full(value) or _rough(as_is) < ROUGH:
        return False
    low = value & 255  # which would be the sign of small numbers: noise of eight bits, shifted, has nothing there
    if min(float((low == end).mean()) for end in (0, 255)) < SIGNS:
        return False
    back = value.byteswap().astype(np.float64)
    quieter, smoother = as_is.std() / max(back.std(), 1e-9), _rough(as_is) / max(_rough(back), 1e-9)
    return bool(max(quieter, smoother) >= LESS and min(quieter, smoother) >= 1 / LESS**0.5)


def _rough(value: Any) -> float:
    """By how much neighbours differ, in standard deviations of samples."""
    import numpy as np

    return float(np.diff(value, axis=0).std() / max(float(value.std()), 1e-9))


def phase_of(value: Any) -> str | None:
    """Whether two channels are one signal, with the same sign or with opposite ones; None of recordings that say nothing."""
    import numpy as np

    if value.ndim != 2 or value.shape[1] != 2 or len(value) < SAMPLES or silent(value) or silent_channel(value):
        return None
    both = value.astype(np.float64)
    both -= both.mean(0)
    sizes = np.sqrt((both**2).sum(0))
    alike = float(both[:, 0] @ both[:, 1] / max(float(sizes[0] * sizes[1]), 1e-9))
    return IN if alike >= PHASE else OPPOSITE if alike <= -PHASE else NEITHER


_LOOKS = {
    "silent-audio": silent,
    CHANNEL: silent_channel,
    "clipped-audio": clipped,
    LEVELLED: levelled,
    SWAPPED: swapped,
    WRAPPED: wraps_around,
    "dc-offset": offset,
}
_TEXTS = {
    "silent-audio": "are silent throughout",
    CUT: "are silent for their last two fifths or more: the recording or the copy was cut off",
    ENDED: "end in zeros for their last two fifths or more, while nearly all others have sound to the end: the rest was lost, or short recordings were padded",
    CHANNEL: "have a silent channel next to one that is not",
    "clipped-audio": "are clipped: runs of samples at full scale",
    SWAPPED: "sound like noise until the two bytes of each sample are swapped: they were stored in the other byte order",
    WRAPPED: "wrap around: where the sound is louder than full scale, it jumps to the other end of the range",
    LEVELLED: "are clipped below full scale: they repeatedly hit one level and stay there",
    "dc-offset": "have a DC offset of more than 5 % of full scale",
}
_CODES = {
    CUT: "silent-audio",
    ENDED: "silent-audio",
    CHANNEL: "silent-audio",
    LEVELLED: "clipped-audio",
    WRAPPED: "clipped-audio",
    SWAPPED: "header-mismatch",
}
"""Codes of looks that are not codes themselves."""
_FIXES = {
    "rate-drift": "resample to one rate before batching",
    "channel-drift": "mix down, or select channels, before batching",
    ENDED: "listen to a few; fetch truncated recordings again, and trim the padding of short ones",
    CHANNEL: "leave that channel out, or record them again",
    SWAPPED: "swap the bytes (array.byteswap()) and write the files again",
    WRAPPED: "make them again from their source, with a lower gain or clipped before they are converted to integers",
    "dc-offset": "subtract the mean of each recording",
}


def _place(here: tuple[int, str, str]) -> dict[str, Json]:
    sample, file, field = here
    place: dict[str, Json] = {"sample": sample, "file": file}
    return place | ({"field": field} if field else {})


CHECK = Sounds

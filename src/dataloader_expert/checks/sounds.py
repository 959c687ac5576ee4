"""Audio: rates, channels, silence, clipping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

RATES = Quantity("sample_rates", "files", "files of each sample rate in Hz and of each number of channels")
ODD_CLIPS = Quantity(
    "odd_clips",
    "files",
    "files with a rare sample rate or number of channels, or far longer or shorter than the others",
)
QUIET = Quantity("audio_looks", "files", "files that are silent or clipped, with samples")

CUT = "cut off"
FEW = 20
"""At most one clip in this many ends in zeros by accident; if more do, it is intended."""
AGAIN = 10
"""Pairs of samples at full scale that are no chance: the peak of a loud tone is one sample."""


class Sounds(Check):
    ids = ("silent-audio", "clipped-audio", "dc-offset", "rate-drift", "channel-drift", "outliers")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.rates: Counter[str] = Counter()
        self.channels: Counter[str] = Counter()
        self.odd: dict[str, list[dict[str, Json]]] = {}
        self.counts: Counter[str] = Counter()
        self.frames: Counter[int] = Counter()
        self.where = Places()
        self.first: dict[int, tuple[int, str]] = {}
        """The first clip of each length."""
        self.tails: list[tuple[int, dict[str, Json]]] = []
        """Frames and place of each clip that ends in zeros."""

    def applies(self) -> bool:
        return any(f.kind == "audio" for f in self.context.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for field in self.context.fields:
            if field.kind != "audio" or field.name not in block.columns:
                continue
            rates = block.columns.get("sample_rate")
            for i, value in enumerate(block.columns[field.name].values):
                if rates is not None:
                    rate = str(int(rates.values[i]))
                    self.rates[rate] += 1
                    self.where.add(("rate", rate), block, i)
                channels = str(value.shape[1] if value.ndim > 1 else 1)
                self.channels[channels] += 1
                self.where.add(("channels", channels), block, i)
                place: dict[str, Json] = {"sample": block.index(i), "file": block.file(i)}
                self.frames[len(value)] += 1
                first = block.index(i), block.file(i)
                self.first[len(value)] = min(self.first.get(len(value), first), first)
                if ends_in_zeros(value):
                    self.tails.append((len(value), place))
                for name, is_so in _LOOKS.items():
                    if is_so(value):
                        self.counts[name] += 1
                        self.odd.setdefault(name, []).append(place)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Sounds)
        self.seen += other.seen
        self.rates += other.rates
        self.channels += other.channels
        self.counts += other.counts
        self.where.merge(other.where)
        for frames, first in other.first.items():
            self.first[frames] = min(self.first.get(frames, first), first)
        self.frames += other.frames
        self.tails += other.tails
        for name, places in other.odd.items():
            self.odd.setdefault(name, []).extend(places)

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        yield Fact(RATES, dict(self.rates.most_common()), evidence, {"of": "rate"})
        yield Fact(RATES, dict(self.channels.most_common()), evidence, {"of": "channels"})
        for of, counts in (("rate", self.rates), ("channels", self.channels)):
            rare = [value for value, _ in counts.most_common()[:0:-1]]
            places = [place for value in rare for place in self.where.of((of, value))]
            yield Fact(ODD_CLIPS, places[:MAX_PLACES], evidence, {"of": of})
        yield Fact(ODD_CLIPS, self._far(), evidence, {"of": "length"})
        found = {name: (self.counts[name], self.odd.get(name, [])) for name in _LOOKS}
        cut = self._cut()
        for name, (n, places) in {**found, CUT: (len(cut), cut)}.items():
            if n:
                where = sorted(places, key=lambda p: int(str(p["sample"])))[:20]
                yield Fact(QUIET, {"count": n, "where": where}, evidence, {"look": name})

    def _cut(self) -> list[dict[str, Json]]:
        """The few clips that end in zeros and whose length is their own: padding makes lengths equal."""
        lengths = Counter(frames for frames, _ in self.tails)
        alone = [place for frames, place in self.tails if lengths[frames] == 1 and 2 * self.frames[frames] <= self.seen]
        return alone if len(alone) * FEW <= self.seen else []

    def _far(self) -> list[dict[str, Json]]:
        """Clips of exceptional length: more than eight robust deviations from the median, on a log scale."""
        import numpy as np

        lengths = np.array([n for n in self.frames if n > 0], np.float64)
        counts = np.array([self.frames[int(n)] for n in lengths])
        if counts.sum() < 20:
            return []
        logs = np.log(lengths)
        middle = _weighted_median(logs, counts)
        spread = max(1.4826 * _weighted_median(np.abs(logs - middle), counts), 0.05)
        far = lengths[np.abs(logs - middle) > 8 * spread]
        places = sorted(self.first[int(n)] for n in far)
        return [{"sample": sample, "file": file} for sample, file in places[:MAX_PLACES]]

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for of, code, what in (("rate", "rate-drift", "sample rates"), ("channels", "channel-drift", "channel counts")):
            fact = facts.find(RATES, of=of)
            if fact is not None and len(fact.value) > 1:
                listed = ", ".join(f"{n} with {v}" for v, n in fact.value.items())
                yield finding(
                    code,
                    "warning",
                    f"several {what}: {listed}",
                    fact,
                    "resample or mix down to one before batching",
                    facts.value(ODD_CLIPS, [], of=of),
                    sum(list(fact.value.values())[1:]),
                )
        far = facts.find(ODD_CLIPS, of="length")
        if far is not None and far.value:
            yield finding(
                "outliers",
                "info",
                f"{len(far.value)} clips are far longer or shorter than the others",
                far,
                "listen to them; trim or drop those that do not belong",
                far.value,
                len(far.value),
            )
        for fact in facts.all(QUIET):
            n, look = fact.value["count"], str(fact.at["look"])
            code = "silent-audio" if look == CUT else look
            yield finding(
                code,
                "warning",
                f"{number(n, 'file')} {verb(n, _TEXTS[look])}",
                fact,
                "listen to them; drop them or record them again",
                fact.value["where"],
                n,
            )


def _weighted_median(values: Any, counts: Any) -> float:
    import numpy as np

    order = np.argsort(values)
    at = int(np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2))
    return float(values[order][at])


def silent(value: Any) -> bool:
    """No sample differs from the first by 1e-4 of full scale."""
    if not value.size:
        return True
    return (float(value.max()) - float(value.min())) / _full(value) < 1e-4


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
    import numpy as np

    if not value.size or value.dtype.kind not in "if":
        return False
    top = 1.0 if value.dtype.kind == "f" else 2.0 ** (8 * value.dtype.itemsize - 1) - 1
    at = np.abs(value.astype(np.float64)) >= top
    if not at.any():
        return False
    twice = at[:-1] & at[1:]
    return bool((twice[:-1] & at[2:]).any() or twice.sum(axis=0).max() >= AGAIN)


_LOOKS = {"silent-audio": silent, "clipped-audio": clipped, "dc-offset": offset}
_TEXTS = {
    "silent-audio": "are silent throughout",
    CUT: "are silent for their last two fifths or more: the recording or the copy was cut off",
    "clipped-audio": "are clipped: runs of samples at full scale",
    "dc-offset": "have a DC offset of more than 5 % of full scale",
}

CHECK = Sounds

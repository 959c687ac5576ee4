"""Audio: rates, channels, silence, clipping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

RATES = Quantity("sample_rates", "files", "files of each sample rate in Hz and of each number of channels")
QUIET = Quantity("audio_looks", "files", "files that are silent or clipped, with samples")

CUT = "cut off"
FEW = 20
"""One clip in so many may end in zeros by an accident; where more do, it was meant."""


class Sounds(Check):
    ids = ("silent-audio", "clipped-audio", "dc-offset", "rate-drift", "channel-drift")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.rates: Counter[str] = Counter()
        self.channels: Counter[str] = Counter()
        self.odd: dict[str, list[dict[str, Json]]] = {}
        self.counts: Counter[str] = Counter()
        self.frames: Counter[int] = Counter()
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
                    self.rates[str(int(rates.values[i]))] += 1
                self.channels[str(value.shape[1] if value.ndim > 1 else 1)] += 1
                place: dict[str, Json] = {"sample": block.index(i), "file": block.unit.file}
                self.frames[len(value)] += 1
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
        self.frames += other.frames
        self.tails += other.tails
        for name, places in other.odd.items():
            self.odd.setdefault(name, []).extend(places)

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        yield Fact(RATES, dict(self.rates.most_common()), evidence, {"of": "rate"})
        yield Fact(RATES, dict(self.channels.most_common()), evidence, {"of": "channels"})
        found = {name: (self.counts[name], self.odd.get(name, [])) for name in _LOOKS}
        cut = self._cut()
        for name, (n, places) in {**found, CUT: (len(cut), cut)}.items():
            if n:
                where = sorted(places, key=lambda p: int(str(p["sample"])))[:20]
                yield Fact(QUIET, {"count": n, "where": where}, evidence, {"look": name})

    def _cut(self) -> list[dict[str, Json]]:
        """The few clips that end in zeros and are as long as no other: padding is done to a common length."""
        alone = [place for frames, place in self.tails if self.frames[frames] == 1]
        return alone if len(alone) * FEW <= self.seen else []

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
                    count=sum(list(fact.value.values())[1:]),
                )
        for fact in facts.all(QUIET):
            n, look = fact.value["count"], str(fact.at["look"])
            code = "silent-audio" if look == CUT else look
            yield finding(
                code,
                "warning",
                f"{n} files {_TEXTS[look]}",
                fact,
                "listen to them; drop or record again",
                fact.value["where"],
                n,
            )


def silent(value: Any) -> bool:
    """No sample differs from the first by 1e-4 of full scale."""
    if not value.size:
        return True
    return (float(value.max()) - float(value.min())) / _full(value) < 1e-4


def ends_in_zeros(value: Any) -> bool:
    """The last two fifths, and not all, are zeros."""
    return bool(value.any()) and not value[len(value) * 3 // 5 :].any()


def offset(value: Any) -> bool:
    """The mean lies off the middle by more than a twentieth of full scale."""
    if not value.size or value.dtype.kind == "u":
        return False
    return abs(float(value.mean())) > 0.05 * _full(value)


def _full(value: Any) -> float:
    return 1.0 if value.dtype.kind == "f" else float(2.0 ** (8 * value.dtype.itemsize - 1))


def clipped(value: Any) -> bool:
    """At least three neighbouring samples at full scale."""
    import numpy as np

    if not value.size or value.dtype.kind not in "if":
        return False
    top = 1.0 if value.dtype.kind == "f" else 2.0 ** (8 * value.dtype.itemsize - 1) - 1
    at = np.abs(value[:, 0].astype(np.float64) if value.ndim > 1 else value.astype(np.float64)) >= top
    return bool(at.any() and (at[:-2] & at[1:-1] & at[2:]).any())


_LOOKS = {"silent-audio": silent, "clipped-audio": clipped, "dc-offset": offset}
_TEXTS = {
    "silent-audio": "hold no sound",
    CUT: "hold no sound in their last two fifths or more: the recording or the copy was cut off",
    "clipped-audio": "touch full scale in runs: the recording clipped",
    "dc-offset": "lie off zero by more than a twentieth of full scale",
}

CHECK = Sounds

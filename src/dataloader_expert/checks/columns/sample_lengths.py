"""How long samples are: recordings in seconds, and sequences in what they hold, such as tokens, boxes or steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.facts import Fact, Json, Quantity
from dataloader_expert.sources.base import Block

LENGTHS = Quantity(
    "sample_lengths", "", "min, median, mean, p95, p99, max and total length of a field's samples, in its unit"
)
VARYING = {"audio", "sequence", "tokens", "array", "video"}
QUANTILES = (0, 50, 95, 99, 100)


class SampleLengths(Check):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        varying = [f for f in context.fields if f.kind == "audio" or (f.kind in VARYING and f.shape[:1] == (None,))]
        self.units = {f.name: "seconds" if f.kind == "audio" else "items" for f in varying}
        self.parts: dict[str, list[Any]] = {name: [] for name in self.units}
        """Of each field, lengths of the samples that have it, float32."""

    def applies(self) -> bool:
        return bool(self.units)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        rates = block.columns.get("sample_rate")
        for name, unit in self.units.items():
            column = block.columns.get(name)
            if column is None:
                continue
            lengths = np.array([np.nan if v is None or not hasattr(v, "__len__") else len(v) for v in column.values])
            if unit == "seconds":
                if rates is None:
                    continue
                each = np.asarray(rates.values[: len(lengths)], np.float64)
                lengths = np.divide(lengths, each, out=np.full(len(lengths), np.nan), where=each > 0)
            self.parts[name].append(lengths[np.isfinite(lengths)].astype(np.float32))

    def merge(self, other: Check) -> None:
        assert isinstance(other, SampleLengths)
        self.seen += other.seen
        for name, parts in other.parts.items():
            self.parts[name] += parts

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, parts in self.parts.items():
            lengths = np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)
            if not len(lengths):
                continue
            low, median, p95, p99, high = (round(float(q), 4) for q in np.percentile(lengths, QUANTILES))
            value: dict[str, Json] = {
                "min": low,
                "median": median,
                "mean": round(float(lengths.mean()), 4),
                "p95": p95,
                "p99": p99,
            }
            value |= {"max": high, "total": round(float(lengths.sum()), 3), "unit": self.units[name]}
            yield Fact(LENGTHS, value, self.evidence(n=len(lengths)), {"field": name})


CHECK = SampleLengths

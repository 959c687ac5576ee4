"""Recordings that are longer or shorter than the data set says: most often the header names another sample rate than that of the sound.
Where most rows say the length of another recording, their columns have been shifted against each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.scores import nearness
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

ODD_DURATIONS = Quantity(
    "odd_durations", "recordings", "recordings whose length is not the one that a field gives, with places"
)
SHIFTED_LENGTHS = Quantity(
    "shifted_durations",
    "recordings",
    "recordings whose rows give the length of another one, so many rows on, or anywhere",
)
NAMED = {"duration", "dur", "length", "seconds", "secs", "sec", "ms"}
LEAST, CLOSE, MOST = 10, 0.1, 0.5
"""The fewest recordings that show the field's unit; by how much a length may differ from it; and the largest share that can be odd."""
RATIO = 0.02
"""How far the ratios of the odd ones may lie apart to be one."""
UNITS = (1.0, 1e3, 1 / 60)
"""Of a second, in the field: seconds, milliseconds or minutes."""
SAME, NEARLY, OFTEN, FARTHEST, DISTINCT = 0.002, 0.9, 0.5, 5, 8
"""By how much lengths may differ that are one, but for rounding; the least share of lengths that are those of other rows, and the largest of rows that give
their own; by how many rows they may be shifted; and the fewest different lengths."""


class Durations(Check):
    ids = ("length-mismatch", "rows-shifted")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.audio = next((f.name for f in context.fields if f.kind == "audio"), None)
        plain = [f.name for f in context.fields if f.kind == "number" and not f.shape]
        self.field = next((name for name in plain if set(words(name)) & NAMED), None)
        self.rows: list[tuple[int, str, float, float]] = []
        """Index, file, the length that the field gives, and that of the recording in seconds."""

    def applies(self) -> bool:
        return (
            self.audio is not None
            and self.field is not None
            and any(f.name == "sample_rate" for f in self.context.fields)
        )

    def looked(self) -> bool:
        return bool(self.rows)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        found = [block.columns.get(name or "") for name in (self.audio, self.field, "sample_rate")]
        sounds, lengths, rates = found
        if sounds is None or lengths is None or rates is None:
            return
        for i, (sound, length, rate) in enumerate(zip(sounds.values, lengths.values, rates.values, strict=False)):
            if sound is None or (lengths.nulls is not None and lengths.nulls[i]) or not len(sound) or not rate:
                continue
            if float(length) > 0:
                self.rows.append((block.index(i), block.file(i), float(length), len(sound) / float(rate)))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Durations)
        self.seen += other.seen
        self.rows += other.rows

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if len(self.rows) < LEAST:
            return
        rows = sorted(self.rows)
        said, actual = (np.array([row[k] for row in rows]) for k in (2, 3))
        ratios = said / actual
        usual = float(np.median(ratios))
        odd = np.abs(np.log(ratios / usual)) > CLOSE
        shift = next((s for unit in UNITS if (s := _shift(said / unit, actual)) is not None), None)
        if shift is not None:
            places = Places()
            for index, file, *_ in rows:
                places.at("shifted", index, file, self.field)
            value = {"count": len(rows), "by": shift, "where": places.of("shifted")}
            yield Fact(SHIFTED_LENGTHS, value, self.evidence(), {"field": self.field})
            return
        if usual <= 0 or not odd.any() or odd.mean() > MOST or not _is_unit(usual):
            return  # a field that gives no length of the recording
        places = Places()
        for at in np.flatnonzero(odd).tolist():
            places.at("odd", rows[at][0], rows[at][1], self.field)
        apart: Any = ratios[odd] / usual
        one = float(np.median(apart))
        alike = bool((np.abs(np.log(apart / one)) <= RATIO).mean() >= 1 - MOST)
        value = {"count": int(odd.sum()), "of": len(ratios), "ratio": one if alike else None, "where": places.of("odd")}
        yield Fact(ODD_DURATIONS, value, self.evidence(), {"field": self.field})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHIFTED_LENGTHS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            by = f"{number(abs(v['by']), 'row')} {'on' if v['by'] > 0 else 'before'}" if v["by"] else "in another row"
            text = (
                f"{name} gives the length of the recording {by}, not of its own, in {number(v['count'], 'recording')}"
            )
            fix = "find out which columns were shifted or sorted on their own against the others, labels too, and restore the table"
            yield finding("rows-shifted", "error", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(ODD_DURATIONS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            n, ratio = v["count"], v["ratio"]
            text = f"{n:,} of {number(v['of'], 'recording')} {verb(n, 'are')} not as long as {name} says"
            fix = "find out whether they were cut, or the field describes another version of the recording"
            if ratio is not None:
                text += f": it gives {ratio:.3g} times their actual length"
                fix = f"find out whether their sample rate is {1 / ratio:.3g} times what the headers say; if so, correct the headers or resample"
            yield finding("length-mismatch", "error", text, fact, fix, v["where"], n)


def _is_unit(ratio: float) -> bool:
    """Whether a field that is so many times the length in seconds gives it in seconds, milliseconds or minutes."""
    return any(abs(ratio / unit - 1) <= CLOSE for unit in UNITS)


def _shift(said: Any, actual: Any) -> int | None:
    """By how many rows the lengths of other recordings are said, 0 if in no order; None if these are no others' lengths."""
    import numpy as np

    room = nearness(said)

    def same(one: Any, other: Any) -> float:
        return float((np.abs(one - other) <= SAME * other + room).mean())

    if len(np.unique(np.round(np.log(actual) / RATIO))) < DISTINCT or same(said, actual) > OFTEN:
        return None
    for by in (sign * k for k in range(1, FARTHEST + 1) for sign in (1, -1)):
        one, other = (said[:-by], actual[by:]) if by > 0 else (said[-by:], actual[:by])
        if same(one, other) >= NEARLY:
            return by
    return 0 if same(np.sort(said), np.sort(actual)) >= NEARLY else None


CHECK = Durations

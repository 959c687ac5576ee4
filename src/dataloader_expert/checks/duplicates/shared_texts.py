"""Texts of one field that are in two splits though their samples differ: prompts of the training split that are answered anew in the test,
in the same words or with other capitals, spaces and punctuation; and long strings without being texts, such as sequences and molecules,
measured anew.

Some texts recur by nature, such as the general questions of a reading test. How often, the training split itself tells: as often as one of
its texts is in another of its samples. What recurs in another split far more often was split apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import content_fields, digest64, digests, mix
from dataloader_expert.checks.duplicates.pairs import content_digests
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.times import is_time

SHARED = Quantity(
    "shared_texts",
    "samples",
    "samples of a split with a text that training has in another sample, as it is or but for capitals, spaces and punctuation, and how often "
    "it recurs there",
)
MOST, FIELDS = 2_000_000, 4
"""The most samples and fields that are compared, at 16 bytes each and 16 for the sample."""
CHARACTERS = 20
"""Shorter texts recur by nature."""
EXACT, PLAIN = "the same", "other capitals, spaces or punctuation"
_QUOTES, _DIGIT, _STOPS, _AROUND = b"?\"'`", re.compile(rb"\d"), (b". ", b", ", b"; ", b": "), b".,;: "
_SPACES = bytes.maketrans(b"\t\n\r\x0b\x0c", b"     ")
_TYPESET = [("\u201c", '"'), ("\u201d", '"'), ("\u2018", "'"), ("\u2019", "'"), ("\u2026", "..."), ("\u00a0", " ")]
OFTEN, FEW = 0.8, 0.2
"""The share of training's samples from which on its texts come again by design, as where several annotators see each, and the most of
another split's samples with such a text that show that it was split by them."""
LEAST, TIMES, SURE = 5, 3.0, 4.0
"""The fewest such samples, how many times as many as expected they are at least, and by how many standard deviations."""


class SharedTexts(Check):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.content = content_fields(context)
        group = None if context.grouped is None else context.grouped.field
        texts = [f.name for f in context.fields if f.kind == "text" and not f.shape and f.name != context.label]
        told = all(name in texts or name in context.conversations for name in self.content)
        texts = [name for name in texts if name in self.content and name != group]
        self.alone = set() if told else set(texts)
        """Texts beside fields of other kinds: what is in two splits may be a boilerplate."""
        aside = {group, context.label, None if context.timed is None else context.timed.field}
        self.codes = {f.name for f in context.fields if f.kind == "category" and f.dtype == "str" and not f.shape}
        self.codes &= {*self.content} - aside
        self.texts = [*texts, *sorted(self.codes)][:FIELDS] if len(self.content) > 1 else []
        self.others = [name for name in self.content if name not in self.texts or name in self.codes]
        self.kept: dict[str, list[Any]] = {}
        """By split, digests, uint64 [n, 2 + 2 fields]: of each sample's content, as it is and in plain words; of each text likewise, zero
        for a short one."""

    def applies(self) -> bool:
        return self.context.several_splits and bool(self.texts)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if max(self.seen, self.context.samples or 0) > MOST:
            self.kept.clear()
            return
        for split, part in self.context.by_split(block) if self.texts else ():
            if split is not None and part.samples:
                self.kept.setdefault(str(split), []).append(self._digests(part))

    def _digests(self, part: Block) -> Any:
        import numpy as np

        n = part.samples
        whole = content_digests(part, self.others) if self.others else np.zeros(n, np.uint64)
        texts = []
        for name in self.texts:
            values = part.columns[name].values[:n] if name in part.columns else [None] * n
            long = np.array([_tells(v) for v in values], bool)
            own = digests(part, [name]) if name not in self.codes or long.any() else np.zeros(n, np.uint64)
            plain = own
            if name in self.codes:
                long &= not (isinstance(values[0], str) and is_time(values[0]))
            else:
                words = map(_plain, values)
                plain = np.array([digest64(said) if said else 0 for said in words], np.uint64)
                plain = np.where(plain == 0, own, plain)
                whole = mix(whole ^ plain)
            texts += [np.where(long, own, np.uint64(0)), np.where(long, plain, np.uint64(0))]
        return np.stack([content_digests(part, self.content), whole, *texts], 1)

    def merge(self, other: Check) -> None:
        assert isinstance(other, SharedTexts)
        self.seen += other.seen
        for key, parts in other.kept.items():
            self.kept.setdefault(key, []).extend(parts)
        if self.seen > MOST:
            self.kept.clear()

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        by_split = {split: np.concatenate(parts) for split, parts in sorted(self.kept.items())}
        first = "train" if "train" in by_split else next(iter(by_split), "")
        for k, name in enumerate(self.texts):
            columns = [0, 1, 2 + 2 * k, 3 + 2 * k]
            train = by_split[first][:, columns] if by_split else None
            for split, other in by_split.items():
                for how, recurring in ((EXACT, _recurring), (PLAIN, _recurring_otherwise)) if split != first else ():
                    value = {"of": first, "other": split, **recurring(train, other[:, columns])}
                    yield Fact(SHARED, value, self.evidence(), {"field": name, "split": split, "how": how})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHARED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            expected = v["within"] * v["samples"]
            over = v["count"] - expected
            by_text = v["within"] >= OFTEN and v["count"] <= FEW * v["samples"]  # else as many would be in both
            rare = v["count"] < TIMES * expected or over < SURE * math.sqrt(expected + 1)
            if v["count"] < LEAST or not (by_text or not (rare or fact.at["field"] in self.alone)):
                continue
            how = "" if fact.at["how"] == EXACT else ", but for capitals, spaces and punctuation,"
            yield finding(
                "splits-near-overlap",
                "warning",
                f"{v['count']:,} of {v['samples']:,} samples of {escaped(v['other'])} share their {name}{how} with samples of {escaped(v['of'])} "
                f"that are otherwise different; "
                + (
                    "texts recur often there, but nearly all others stay in one split"
                    if by_text
                    else f"within {escaped(v['of'])}, {v['within']:.1%} recur"
                ),
                fact,
                f"split by {name}{' in plain lower case' if how else ''}, so that each is in one split only",
                [{"field": fact.at["field"], "split": v["other"]}],
                v["count"],
            )


def _recurring(train: Any, other: Any) -> dict[str, Any]:
    """How many of a split's samples have a text of the training split, but not its whole sample; and the share of training's samples
    whose text another one of them has."""
    train, other = _with_text(train)[:, [2, 0]], _with_text(other)[:, [2, 0]]
    shared = _among(other[:, 0], train[:, 0]) & ~_among(other[:, 1], train[:, 1])
    return {"count": int(shared.sum()), "samples": len(other), "within": round(_within(train[:, 0], train[:, 1]), 6)}


def _recurring_otherwise(train: Any, other: Any) -> dict[str, Any]:
    """The same for texts that differ in capitals, spaces or punctuation from those of training, in samples that differ otherwise too."""
    train, other = _with_text(train), _with_text(other)
    shared = _among(other[:, 3], train[:, 3]) & ~_among(other[:, 2], train[:, 2]) & ~_among(other[:, 1], train[:, 1])
    return {"count": int(shared.sum()), "samples": len(other), "within": round(_within(train[:, 3], train[:, 0]), 6)}


def _within(texts: Any, samples: Any) -> float:
    """The share of different samples whose text another one has; copies of a sample are told as such."""
    import numpy as np

    _, first = np.unique(mix(texts) ^ samples, return_index=True)
    _, counts = np.unique(texts[first], return_counts=True)
    return float(counts[counts > 1].sum() / max(1, counts.sum()))


def _among(values: Any, known: Any) -> Any:
    """Which values are among those known, bool [n]; numpy's ``isin`` takes ten times as long for so many."""
    import numpy as np

    if not len(known):
        return np.zeros(len(values), bool)
    ordered = np.sort(known)
    return ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values


def _with_text(rows: Any) -> Any:
    return rows[rows[:, 2] != 0]


def _tells(value: Any) -> bool:
    """Whether a text is long enough to make a sample what it is, and no character repeated, which stands for nothing known."""
    return isinstance(value, str) and len(value.strip()) >= CHARACTERS and value.count(value[-1]) < len(value)


def _plain(text: Any) -> bytes:
    """A text in lower case without quotes and punctuation, with single spaces, as bytes; nothing of a text with few letters. Signs that
    may belong to a number or a formula stay."""
    if not isinstance(text, str):
        return b""
    if not text.isascii():
        for sign, plain in _TYPESET:
            text = text.replace(sign, plain)
    made = text.casefold().encode("utf-8", "surrogatepass")
    words = made.translate(_SPACES, _QUOTES if _DIGIT.search(made) else _QUOTES + b"!")
    for stop in _STOPS:  # within a number they stay
        words = words.replace(stop, b" ")
    while b"  " in words:
        words = words.replace(b"  ", b" ")
    words = words.strip(_AROUND)
    return words if len(words) >= CHARACTERS // 2 else b""


CHECK = SharedTexts

"""Passages of training that another split repeats, in sequences of token ids and within texts: wherever they begin, and however sequences were
cut; a reply that quotes the mail before it, a passage that was put into a longer prompt.

Method: hashes of all runs of ``RUN`` tokens, which a polynomial in them gives at once, and of these the ones that end in so many zero
bits: a sample that is the same in every file (Manber, "Finding similar files in a large file system", USENIX 1994). Fifty tokens in
a row are what Lee and others take for a copy ("Deduplicating training data makes language models better", ACL 2022). Runs that
training has more often than twice are phrases. Of texts, runs of words are compared, and those told are the ones that are no copies as a
whole, which are told elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digest64, mix
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.token_runs import AT_ONCE, RUN, runs
from dataloader_expert.checks.common.wording import said
from dataloader_expert.checks.duplicates.pairs import NEAR
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.sources.arrays import array_of
from dataloader_expert.sources.base import Block

PASSAGES = Quantity(
    "repeated_passages", "samples", "sequences of a split that share a passage with training, with places"
)
BITS, FEW_BITS, KEPT = 4, 2, 2_000_000
"""Zero bits of the hashes that are kept at first, and of those of words, of which texts have fewer; and the most hashes that are kept: beyond, one
bit more must be zero."""
PHRASE, LEAST, PART = 2, 4, 0.2
"""How often training has what is no phrase; and the fewest of a sequence's hashes that training has too, and the least share of them."""
WORDS, TEXTS, OF_TEXTS = 20, 3, 15
"""Words of a run, the most fields of texts, and how many runs a text must have to be looked at."""
SHORT = 2 * (WORDS + OF_TEXTS)
"""Characters of texts with fewer words than these runs have."""
WHOLE, MANY, SHARE = 0.8, 3, 0.01
"""The share of a text's runs from which on it is a copy; and the fewest texts with a passage of training that are a warning, and of all."""
MOST_WORDS = 200_000
"""Words whose numbers are kept."""
_WORD = re.compile(r"\w+")
MOST_BITS = 6
"""The zero bits beyond which passages of a few hundred tokens are missed."""


class Passages(Check):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        tokens = [f.name for f in context.fields if f.kind == "tokens" and len(f.shape) == 1][:1]
        texts = [f.name for f in context.fields if f.kind == "text" and f.name != context.label]
        self.of_words = not tokens
        self.fields = tokens or [*texts, *sorted(context.conversations)][:TEXTS]
        self.run = WORDS if self.of_words else RUN
        self.numbers = _Ids()
        self.splits: list[str] = []
        self.bits = FEW_BITS if self.of_words else BITS
        self.parts: list[Any] = []
        """uint64 [hashes, 3]: hash, number of the sequence and the place of its split in ``splits``. The number is that of the sample,
        times the number of fields, and that of the field."""
        self.many = 0
        self.counts: Counter[str] = Counter()
        """Sequences by split that are long enough."""
        self.files = Files()

    def applies(self) -> bool:
        return self.context.near and self.context.several_splits and bool(self.fields)

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        names, codes = self.context.splits_of(block)
        at = [self._split(name) for name in names]
        several: list[Any] = []
        for k, field in enumerate(self.fields):
            values = block.columns[field].values[: block.samples] if field in block.columns else ()
            for i, value in enumerate(values):
                if self.of_words and isinstance(value, str) and len(value) < SHORT:
                    continue
                ids = self.numbers.of(value) if self.of_words else array_of(value)
                if names[codes[i]] is None or ids.ndim != 1 or ids.dtype.kind not in "iu" or len(ids) < self.run:
                    continue
                self.counts[self.splits[at[codes[i]]]] += 1
                hashes = np.concatenate(
                    [
                        runs(ids[first : first + AT_ONCE + self.run - 1], self.run)
                        for first in range(0, len(ids) - self.run + 1, AT_ONCE)
                    ]
                )
                hashes = hashes[self._chosen(hashes)]
                found = np.empty((len(hashes), 3), np.uint64)
                found[:, 0], found[:, 1], found[:, 2] = hashes, block.index(i) * len(self.fields) + k, at[codes[i]]
                several.append(found)
        if sum(map(len, several)):
            self._add(np.concatenate(several))
        self.numbers.forget()

    def _split(self, name: str | None) -> int:
        if name is None:
            return 0
        if name not in self.splits:
            self.splits.append(name)
        return self.splits.index(name)

    def _chosen(self, hashes: Any) -> Any:
        """Which hashes are kept; bool."""
        import numpy as np

        return hashes & np.uint64((1 << self.bits) - 1) == 0

    def _add(self, found: Any) -> None:
        import numpy as np

        self.parts.append(found)
        self.many += len(found)
        while self.many > KEPT:
            self.bits += 1
            whole = np.concatenate(self.parts)
            self.parts = [whole[self._chosen(whole[:, 0])]]
            self.many = len(self.parts[0])

    def merge(self, other: Check) -> None:
        import numpy as np

        assert isinstance(other, Passages)
        self.seen += other.seen
        self.files.merge(other.files)
        self.counts += other.counts
        place = np.array([self._split(name) for name in other.splits] or [0], np.uint64)
        bits, self.bits = self.bits, max(self.bits, other.bits)
        theirs = [np.column_stack([part[:, :2], place[part[:, 2].astype(int)]]) for part in other.parts]
        if self.bits > bits:
            self.parts = [part[self._chosen(part[:, 0])] for part in self.parts]
            self.many = sum(map(len, self.parts))
        for part in theirs:
            self._add(part[self._chosen(part[:, 0])])

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if "train" not in self.splits or not self.parts:
            return
        rows = np.concatenate(self.parts)
        rows = rows[
            np.unique(mix(rows[:, 0] ^ mix(rows[:, 1])), return_index=True)[1]
        ]  # a run that a sequence repeats counts once
        train = rows[rows[:, 2] == self.splits.index("train")]
        known, first, times = np.unique(train[:, 0], return_index=True, return_counts=True)
        known, first = known[times <= PHRASE], first[times <= PHRASE]
        for split in sorted(set(self.splits) - {"train"}):
            own = rows[rows[:, 2] == self.splits.index(split)]
            samples, of, every = np.unique(own[:, 1], return_inverse=True, return_counts=True)
            if not len(known) or not len(samples):
                continue
            at = np.minimum(np.searchsorted(known, own[:, 0]), len(known) - 1)
            hit = known[at] == own[:, 0]
            hits = np.bincount(of[hit], minlength=len(samples))
            repeats = (hits >= LEAST) & (hits >= PART * every)
            if self.of_words:
                repeats &= hits < WHOLE * every
            told = np.flatnonzero(repeats)
            if not len(told):
                continue
            pairs = []
            for k in told[:MAX_PLACES].tolist():
                sources, n = np.unique(train[first[at[hit & (of == k)]], 1], return_counts=True)
                pairs.append([int(samples[k]), int(sources[n.argmax()])])
            value = {"count": len(told), "of": self.counts[split], "pairs": pairs}
            yield Fact(PASSAGES, value, self.evidence(), {"fields": [*self.fields], "split": split})

    def unknowns(self) -> Iterable[Unknown]:
        if self.bits > MOST_BITS and "train" in self.splits:
            unit = "words" if self.of_words else "tokens"
            text = f"with this many {unit}, only one run in {1 << self.bits:,} was compared: passages shorter than about {LEAST << self.bits:,} {unit} are missed"
            yield Unknown("repeated passages", text)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PASSAGES):
            v, split = fact.value, str(fact.at["split"])
            if 2 * _near_copies(facts, split) >= v["count"]:
                continue  # what is told of these says more
            fields, n = fact.at["fields"], len(fact.at["fields"])
            where = [
                {"sample": at // n, "split": name, "file": self.files.of(at // n), "field": fields[at % n]}
                for pair in v["pairs"]
                for at, name in zip(pair, (split, "train"), strict=True)
            ]
            noun, unit = ("text", "words") if self.of_words else ("sequence", "tokens")
            text = f"{v['count']:,} of {number(v['of'], noun)} of {escaped(split)} {verb(v['count'], 'repeat')} passages of train: a fifth or more of"
            text += f" their runs of {self.run} {unit} also occur there"
            fix = "remove these passages from one of the two splits, and split by document before concatenating tokens"
            severity: Severity = "warning"
            if self.of_words:
                fix = "remove these passages, such as quoted mails, from one of the two splits; or split by thread or document"
                severity = "warning" if v["count"] >= max(MANY, SHARE * v["of"]) else "info"
            yield finding("splits-near-overlap", severity, text, fact, fix, where[:MAX_PLACES], v["count"])


def _near_copies(facts: Facts, split: str) -> int:
    """Near copies of whole texts of training in a split."""
    near = facts.find(NEAR, of="texts")
    pairs = [] if near is None else near.value["by_pair"]
    return sum(pair["count"] for pair in pairs if {*pair["splits"]} == {"train", split})


class _Ids:
    """Numbers for the words of texts, whatever their case; each is made once, until it is forgotten."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def of(self, value: Any) -> Any:
        import numpy as np

        found = [word for text in said(value) for word in _WORD.findall(text.casefold())]
        for word in found:
            if word not in self.known:
                self.known[word] = digest64(word.encode("utf-8", "surrogatepass")) >> 1
        return np.fromiter(map(self.known.__getitem__, found), np.int64, len(found))

    def forget(self) -> None:
        if len(self.known) > MOST_WORDS:
            self.known.clear()


CHECK = Passages

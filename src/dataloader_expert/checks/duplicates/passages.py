"""Passages of training that another split repeats, in sequences of token ids: wherever they begin, and however sequences were cut.

Method: hashes of all runs of ``RUN`` tokens, which a polynomial in them gives at once, and of these the ones that end in so many zero
bits: a sample that is the same in every file (Manber, "Finding similar files in a large file system", USENIX 1994). Fifty tokens in
a row are what Lee and others take for a copy ("Deduplicating training data makes language models better", ACL 2022). Runs that
training has more often than twice are phrases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.token_runs import AT_ONCE, RUN, runs
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.sources.arrays import array_of
from dataloader_expert.sources.base import Block

PASSAGES = Quantity(
    "repeated_passages", "samples", "sequences of a split that share a passage with training, with places"
)
BITS, KEPT = 4, 2_000_000
"""Zero bits of the hashes that are kept at first, and the most hashes that are kept: beyond, one bit more must be zero."""
PHRASE, LEAST, PART = 2, 4, 0.2
"""How often training has what is no phrase; and the fewest of a sequence's hashes that training has too, and the least share of them."""
MOST_BITS = 6
"""The zero bits beyond which passages of a few hundred tokens are missed."""


class Passages(Check):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        fields = [f.name for f in context.fields if f.kind == "tokens" and len(f.shape) == 1]
        self.field = fields[0] if fields else None
        self.splits: list[str] = []
        self.bits = BITS
        self.parts: list[Any] = []
        """uint64 [hashes, 3]: hash, sample and the place of its split in ``splits``."""
        self.many = 0
        self.counts: Counter[str] = Counter()
        """Sequences by split that are long enough."""
        self.files = Files()

    def applies(self) -> bool:
        return self.context.near and self.context.several_splits and self.field is not None

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if self.field not in block.columns:
            return
        names, codes = self.context.splits_of(block)
        at = [self._split(name) for name in names]
        several: list[Any] = []
        for i, value in enumerate(block.columns[self.field].values[: block.samples]):
            ids = array_of(value)
            if names[codes[i]] is None or ids.ndim != 1 or ids.dtype.kind not in "iu" or len(ids) < RUN:
                continue
            self.counts[self.splits[at[codes[i]]]] += 1
            hashes = np.concatenate(
                [runs(ids[k : k + AT_ONCE + RUN - 1]) for k in range(0, len(ids) - RUN + 1, AT_ONCE)]
            )
            hashes = hashes[self._chosen(hashes)]
            found = np.empty((len(hashes), 3), np.uint64)
            found[:, 0], found[:, 1], found[:, 2] = hashes, block.index(i), at[codes[i]]
            several.append(found)
        if sum(map(len, several)):
            self._add(np.concatenate(several))

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
        self.bits = max(self.bits, other.bits)
        theirs = [np.column_stack([part[:, :2], place[part[:, 2].astype(int)]]) for part in other.parts]
        mine, self.parts, self.many = self.parts, [], 0
        for part in (*mine, *theirs):
            self._add(part[self._chosen(part[:, 0])])

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if "train" not in self.splits or not self.parts:
            return
        rows = np.unique(np.concatenate(self.parts), axis=0)  # a run that a sequence repeats counts once
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
            told = np.flatnonzero((hits >= LEAST) & (hits >= PART * every))
            if not len(told):
                continue
            pairs = []
            for k in told[:MAX_PLACES].tolist():
                sources, n = np.unique(train[first[at[hit & (of == k)]], 1], return_counts=True)
                pairs.append([int(samples[k]), int(sources[n.argmax()])])
            value = {"count": len(told), "of": self.counts[split], "pairs": pairs}
            yield Fact(PASSAGES, value, self.evidence(), {"field": self.field, "split": split})

    def unknowns(self) -> Iterable[Unknown]:
        if self.bits > MOST_BITS and "train" in self.splits:
            text = f"with this many tokens, only one run in {1 << self.bits:,} was compared: passages shorter than about {LEAST << self.bits:,} tokens are missed"
            yield Unknown("repeated passages", text)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PASSAGES):
            v, split = fact.value, str(fact.at["split"])
            where = [
                {"sample": at, "split": name, "file": self.files.of(at), "field": self.field}
                for pair in v["pairs"]
                for at, name in zip(pair, (split, "train"), strict=True)
            ]
            text = f"{number(v['count'], 'sequence')} of {v['of']:,} of {escaped(split)} {verb(v['count'], 'repeat')} passages of train: a fifth or more of"
            text += f" their runs of {RUN} tokens"
            fix = "remove these passages from one of the two splits, and split by document before concatenating tokens"
            yield finding("splits-near-overlap", "warning", text, fact, fix, where[:MAX_PLACES], v["count"])


CHECK = Passages

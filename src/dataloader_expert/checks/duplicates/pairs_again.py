"""Pairs of two ids that stand once in each split and again in another one: what a user thinks of an item, which training tells already.

That a pair stands once by design shows within training: there are far fewer repeats than users and items that met by chance would make.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digests, mix
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.duplicates.pairs import DUPLICATES
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import is_identifier

PAIRS = Quantity(
    "pairs_again", "samples", "samples of a split whose pair of two ids also occurs in training, with places"
)
FIELDS, MOST = 3, 2_000_000
"""The most fields of ids, and the most rows that are kept, at 40 bytes each."""
EACH, EXPECTED, SELDOM, LEAST = 3, 10, 0.1, 3
"""The fewest rows of an id on average, the fewest repeats that chance makes, the most of these that there are, and the fewest pairs of
training in another split."""


class PairsAgain(Check):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        keys = {role.field for role in context.roles.keys}
        group = None if context.grouped is None else context.grouped.field
        plain = [f.name for f in context.fields if not f.shape and "float" not in f.dtype and f.name not in keys]
        named = [name for name in plain if name == group or is_identifier(name)]
        self.fields = sorted(named, key=lambda name: name != group)[:FIELDS]
        self.parts: list[tuple[Any, str, Any]] = []
        """Digests of the ids, uint64 [n, fields], the split, and the samples."""
        self.files = Files()

    def applies(self) -> bool:
        return self.context.several_splits and len(self.fields) > 1

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if not self.applies() or self.seen > MOST or any(name not in block.columns for name in self.fields):
            return
        for split, part in self.context.by_split(block):
            if split is not None and part.samples:
                made = np.stack([digests(part, [name]) for name in self.fields], 1)
                self.parts.append((made, str(split), part.indices()))

    def merge(self, other: Check) -> None:
        assert isinstance(other, PairsAgain)
        self.seen += other.seen
        self.parts += other.parts
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        splits = {split for _, split, _ in self.parts}
        if "train" not in splits or len(splits) < 2 or self.seen > MOST:
            return
        rows = {split: [(ids, at) for ids, of, at in self.parts if of == split] for split in splits}
        ids = {split: np.concatenate([one for one, _ in parts]) for split, parts in rows.items()}
        for a, b in combinations(range(len(self.fields)), 2):
            if not once_by_design(ids["train"][:, a], ids["train"][:, b]):
                continue
            known = np.unique(_paired(ids["train"], a, b))
            for split in sorted(splits - {"train"}):
                own = _paired(ids[split], a, b)
                again = np.isin(own, known)
                if again.sum() >= LEAST and len(np.unique(own)) == len(own):
                    at = np.sort(np.concatenate([at for _, at in rows[split]])[again])
                    where = [{"sample": s, "split": split, "file": self.files.of(s)} for s in at[:MAX_PLACES].tolist()]
                    value = {"count": int(again.sum()), "of": len(own), "where": where}
                    at_ = {"fields": [self.fields[a], self.fields[b]], "split": split}
                    yield Fact(PAIRS, value, self.evidence(), at_)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PAIRS):
            v, split = fact.value, escaped(str(fact.at["split"]))
            if 2 * _copies(facts, str(fact.at["split"])) >= v["count"]:
                continue  # whole rows, which is told of these
            one, two = map(escaped, fact.at["fields"])
            text = f"{v['count']:,} of {v['of']:,} pairs of {one} and {two} of {split} also {verb(v['count'], 'occur')} in train, although hardly any "
            text += "pair occurs twice within a split"
            fix = f"remove them from train or from {split}: otherwise the model is tested on pairs it was trained on"
            yield finding("splits-near-overlap", "warning", text, fact, fix, v["where"], v["count"])


def _copies(facts: Facts, split: str) -> int:
    """Equal samples of training and a split."""
    equal = facts.find(DUPLICATES)
    pairs = [] if equal is None else equal.value["by_pair"]
    return sum(pair["count"] for pair in pairs if {*pair["splits"]} == {"train", split})


def once_by_design(one: Any, two: Any) -> bool:
    """Whether hardly any pair of two ids stands twice, where these recur so often that chance would repeat pairs; digests, uint64 [n]."""
    import numpy as np

    n, shared = len(one), 1.0
    for values in (one, two):
        counts = np.unique(values, return_counts=True)[1]
        if len(counts) < 2 or n < EACH * len(counts):
            return False
        shared *= float(((counts / n) ** 2).sum())
    expected = n * (n - 1) / 2 * shared
    repeats = n - len(np.unique(_paired(np.stack([one, two], 1), 0, 1)))
    return bool(expected >= EXPECTED and repeats <= SELDOM * expected)


def _paired(ids: Any, a: int, b: int) -> Any:
    return mix(mix(ids[:, a]) ^ ids[:, b])


CHECK = PairsAgain

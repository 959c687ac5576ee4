"""Texts of one field that are in two splits though their samples differ: prompts of the training split that are answered anew in the test.

Some texts recur by nature, such as the general questions of a reading test. How often, the training split itself tells: as often as one of
its texts is in another of its samples. What recurs in another split far more often was split apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.fingerprint import content_fields, digests
from dataloader_expert.checks.pairs import content_digests
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SHARED = Quantity(
    "shared_texts",
    "samples",
    "samples of a split with a text that training has in another sample, and how often it recurs there",
)
MOST, FIELDS = 2_000_000, 4
"""The most samples and fields that are compared, at 16 bytes each."""
CHARACTERS = 20
"""Shorter texts recur by nature."""
LEAST, TIMES, SURE = 5, 3.0, 4.0
"""The fewest such samples, how many times as many as expected they are at least, and by how many standard deviations."""


class SharedTexts(Check):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.content = content_fields(context)
        group = None if context.grouped is None else context.grouped.field
        texts = [f.name for f in context.fields if f.kind == "text" and not f.shape and f.name != context.label]
        whole = len(self.content) > 1 and all(name in texts or name in context.conversations for name in self.content)
        self.texts = [name for name in texts if name in self.content and name != group][:FIELDS] if whole else []
        self.kept: dict[tuple[str, str], list[Any]] = {}
        """By split and field: the digests of each sample's text, zero for a short one, and of its content, [n, 2]."""

    def applies(self) -> bool:
        return self.context.several_splits and bool(self.texts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        if max(self.seen, self.context.samples or 0) > MOST:
            self.kept.clear()
            return
        for split, part in self.context.by_split(block):
            whole = content_digests(part, self.content)
            for name in self.texts if split is not None else ():
                if name not in part.columns:
                    continue
                values = part.columns[name].values[: part.samples]
                long = np.array([isinstance(v, str) and len(v.strip()) >= CHARACTERS for v in values], bool)
                own = np.where(long, digests(part, [name]), np.uint64(0))
                self.kept.setdefault((str(split), name), []).append(np.stack([own, whole], 1))

    def merge(self, other: Check) -> None:
        assert isinstance(other, SharedTexts)
        self.seen += other.seen
        for key, parts in other.kept.items():
            self.kept.setdefault(key, []).extend(parts)
        if self.seen > MOST:
            self.kept.clear()

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name in self.texts:
            by_split = {
                split: np.concatenate(parts) for (split, field), parts in sorted(self.kept.items()) if field == name
            }
            first = "train" if "train" in by_split else next(iter(by_split), "")
            for split in by_split:
                if split != first:
                    train, other = by_split[first], by_split[split]
                    value = {"of": first, "other": split, **_recurring(train, other)}
                    yield Fact(SHARED, value, self.evidence(), {"field": name, "split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHARED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            expected = v["within"] * v["samples"]
            over = v["count"] - expected
            if v["count"] < LEAST or v["count"] < TIMES * expected or over < SURE * math.sqrt(expected + 1):
                continue
            yield finding(
                "splits-near-overlap",
                "warning",
                f"{v['count']:,} of {v['samples']:,} samples of {escaped(v['other'])} share their {name} with samples of {escaped(v['of'])} "
                f"that are otherwise different; within {escaped(v['of'])}, {v['within']:.1%} recur",
                fact,
                f"split by {name}, so that each is in one split only",
                [{"field": fact.at["field"], "split": v["other"]}],
                v["count"],
            )


def _recurring(train: Any, other: Any) -> dict[str, Any]:
    """How many of a split's samples have a text of the training split, but not its whole sample; and the share of training's samples
    whose text another one of them has."""
    import numpy as np

    train, other = train[train[:, 0] != 0], other[other[:, 0] != 0]
    samples = np.unique(train, axis=0)  # copies of a sample are told as such
    _, counts = np.unique(samples[:, 0], return_counts=True)
    within = float(counts[counts > 1].sum() / max(1, len(samples)))
    shared = np.isin(other[:, 0], samples[:, 0]) & ~np.isin(other[:, 1], samples[:, 1])
    return {"count": int(shared.sum()), "samples": len(other), "within": round(within, 6)}


CHECK = SharedTexts

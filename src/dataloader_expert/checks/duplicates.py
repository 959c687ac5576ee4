"""Samples that occur more than once: within the data, across splits, with different labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.fingerprint import DIGEST, digest64
from dataloader_expert.checks.pairs import MOST_SHOWN, Seen
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

DISTINCT = Quantity("distinct_samples", "samples", "distinct contents, label aside")
DUPLICATES = Quantity(
    "duplicates", "samples", "groups of equal samples: how many, in how many splits, with how many labels"
)


class Duplicates(Check):
    ids = ("duplicate-samples", "duplicate-files", "label-conflict", "splits-overlap")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context)
        self.raw: list[int] = []

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.kept.see(block)
        self.raw += [digest64(r) for r in block.raw]

    def merge(self, other: Check) -> None:
        assert isinstance(other, Duplicates)
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.raw += other.raw

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.seen:
            return
        digest, label, split, index = self.kept.all()
        order = np.lexsort((index, digest))
        digest, label, split, index = digest[order], label[order], split[order], index[order]
        starts = np.flatnonzero(np.concatenate([[True], digest[1:] != digest[:-1]]))
        evidence = self.evidence()
        yield Fact(DISTINCT, len(starts), evidence)
        groups = self._groups(starts, label, split, index)
        groups["files"] = len(self.raw) - len(set(self.raw))
        groups["digest"] = DIGEST
        yield Fact(DUPLICATES, groups, evidence)

    def _groups(self, starts: Any, label: Any, split: Any, index: Any) -> dict[str, Json]:
        import numpy as np

        ends = np.concatenate([starts[1:], [len(index)]])
        many = np.flatnonzero(ends - starts > 1)
        out: dict[str, Json] = {
            "extra": 0,
            "groups": len(many),
            "cross_split": 0,
            "conflicts": 0,
            "pairs": [],
            "crossing": [],
            "where": [],
            "cross_where": [],
            "conflict_where": [],
        }
        crossing: Counter[tuple[str, str]] = Counter()
        shared: Counter[int] = Counter()
        copies, of = self.context.copies, self.kept.files.of

        def order(g: int) -> tuple[bool, int]:
            """What a copied file explains comes last: it is told as that file."""
            members = index[int(starts[g]) : int(ends[g])].tolist() if copies else []
            explained = sum(of(i) in copies for i in members) + 1 >= len(members) > 0
            return explained, int(index[starts[g]])

        for g in sorted(many.tolist(), key=order):
            lo, hi = int(starts[g]), int(ends[g])
            out["extra"] += hi - lo - 1
            splits = self.kept.named(split[lo:hi].tolist())
            labels = set(label[lo:hi].tolist()) - {0}
            keys = ["where"]
            if len(splits) > 1:
                out["cross_split"] += 1
                shared.update(split[lo:hi].tolist())
                keys.append("cross_where")
                crossing.update(self.kept.pair_of(a, b) for k, a in enumerate(splits) for b in splits[k + 1 :])
            if len(labels) > 1:
                out["conflicts"] += 1
                keys.append("conflict_where")
            if any(len(out[key]) < MOST_SHOWN for key in keys):
                places = [self.kept.place(int(index[i]), int(split[i])) for i in range(lo, min(hi, lo + 4))]
                out["pairs"] = [*out["pairs"], places[:2]][:MOST_SHOWN]
                for key in keys:
                    out[key] = (out[key] + places)[:MOST_SHOWN]
            if len(splits) > 1 and len(out["crossing"]) < MOST_SHOWN:
                firsts = [next(i for i in range(lo, hi) if split[i] == s) for s in splits[:2]]
                out["crossing"].append([self.kept.place(int(index[i]), int(split[i])) for i in firsts])
        out["shared"] = {str(self.kept.splits[c]): shared[c] for c in self.kept.named(shared)}
        """Of each split the samples whose content another split holds too."""
        out["by_pair"] = [{"splits": list(k), "count": n} for k, n in sorted(crossing.items())]
        return out

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(DUPLICATES)
        if fact is None:
            return
        g = fact.value
        rich = self.kept.names and any(
            f.kind in ("image", "audio", "text") for f in self.context.fields if f.name in self.kept.names
        )
        aside = [r.field for r in self.context.roles.keys if r.field not in self.kept.names]
        but = f", leaving out {self._aside(aside)}" if self._aside(aside) else ""
        if g["extra"]:
            yield finding(
                "duplicate-samples",
                "warning",
                f"{g['extra']} of {self.seen} samples repeat another ({g['groups']} groups){but}",
                fact,
                "drop all but one of each group, or keep them knowingly as weights",
                g["where"],
                g["extra"],
            )
        if g["files"]:
            yield finding(
                "duplicate-files",
                "warning",
                f"{g['files']} files equal another byte for byte",
                fact,
                "drop the copies",
                g["where"],
                g["files"],
            )
        if g["cross_split"]:
            told = ", ".join(f"{p['count']} in {' and '.join(p['splits'])}" for p in g["by_pair"])
            yield finding(
                "splits-overlap",
                "error",
                f"{g['cross_split']} distinct samples occur in more than one split: {told}{but}",
                fact,
                "take them out of the training split: scores on them measure memory",
                g["cross_where"],
                g["cross_split"],
            )
        if g["conflicts"]:
            severity: Severity = "error" if rich else "warning"
            yield finding(
                "label-conflict",
                severity,
                f"{g['conflicts']} distinct samples occur with more than one label ({self.context.label})",
                fact,
                "look at them and keep one label; no model can be right on both",
                g["conflict_where"],
                g["conflicts"],
            )

    def _aside(self, keys: list[str]) -> str:
        """What is left out where samples are compared, in words."""
        names = [n for n in (self.context.label, *keys) if n is not None]
        return " and ".join(["the label" if n == self.context.label else f"the key {n}" for n in names])


CHECK = Duplicates

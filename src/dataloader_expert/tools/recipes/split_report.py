"""Comparisons of splits as fields: roles of columns, sizes, groups, overlaps, and copies as pairs."""

from __future__ import annotations

from typing import Literal

from dataloader_expert.checks.base import SPLITS
from dataloader_expert.checks.duplicates.pairs import DUPLICATES, NEAR
from dataloader_expert.checks.splits.leakage import GROUPS, TIMES
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.tools.check_quality import Groups, Overlap, Pair, Place, SplitLine

MOST_PAIRS = 40


def split_lines(facts: Facts) -> list[SplitLine]:
    early: dict[str, int] = {}
    for fact in facts.all(TIMES):
        split, n = str(fact.at["split"]), int(fact.value["early"])
        if split != "train":
            early[split] = min(early.get(split, n), n)
    return [SplitLine(name=s, samples=n, early=early.get(s)) for s, n in (facts.value(SPLITS) or {}).items()]


def groups_of(facts: Facts) -> Groups | None:
    g = facts.value(GROUPS)
    return None if g is None else Groups(field=g["field"], total=g["groups"], in_several_splits=g["astride"])


def overlaps(facts: Facts) -> list[Overlap]:
    exact = {tuple(p["splits"]): int(p["count"]) for p in facts.value(DUPLICATES, {"by_pair": []})["by_pair"]}
    near: dict[tuple[str, ...], int] = {}
    for fact in facts.all(NEAR):
        for p in fact.value["by_pair"]:
            near[tuple(p["splits"])] = near.get(tuple(p["splits"]), 0) + int(p["count"])
    return [Overlap(splits=list(k), exact=exact.get(k, 0), near=near.get(k, 0)) for k in sorted({*exact, *near})]


def pairs_of(facts: Facts) -> list[Pair]:
    """Pairs in different splits first, exact ones before near ones."""
    made: list[Pair] = []
    told: list[tuple[Literal["exact", "near"], Fact]] = [("exact", f) for f in facts.all(DUPLICATES)]
    told += [("near", f) for f in facts.all(NEAR)]
    for kind, fact in told:
        for one, other in (*fact.value["crossing"], *fact.value["pairs"]):
            made.append(Pair(kind=kind, one=Place(**one), other=Place(**other)))
    distinct = {(p.kind, p.one.sample, p.other.sample): p for p in made}
    return sorted(distinct.values(), key=lambda p: (p.one.split == p.other.split, p.kind))[:MOST_PAIRS]

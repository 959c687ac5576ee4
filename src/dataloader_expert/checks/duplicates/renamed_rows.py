"""Rows of a table that come again in another split under other names: equal in most columns that tell rows apart, as birth date and time of
admission do, but for an id, a name written differently or a number with noise.

Rows of one person or article have many values in common as well, wherever they are. So only what comes across splits far more often than
within them is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import mix
from dataloader_expert.checks.common.rows_kept import (
    Named,
    digest_of,
    digests_by_name,
    in_order,
    places,
    split_of,
)
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped, listed
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

RENAMED = Quantity(
    "renamed_rows",
    "samples",
    "rows that equal one of another split in most columns that tell rows apart, but for others",
)
KEPT, CELLS, FIELDS = 100_000, 2_000_000, 20
"""The most rows, values of all fields, and fields, that are kept."""
TELLS, BITS, JOINED = 3.0, 6.0, 6
"""How much a column must tell, in bits, to count; and to find rows by it and another one; and the most columns of these."""
EQUAL, SHARE, SURE = 4, 0.6, 10.0
"""The fewest columns that are equal, their least share of those that count, and the bits beyond those of all pairs of rows."""
LEAST, TIMES, TOGETHER = 10, 3.0, 4
"""The fewest rows; how many times as many come across splits as within them; and the most rows that are alike."""
PLAIN = ("number", "category", "boolean", "time", "text")


class RenamedRows(DrawnRows):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        aside = {r.field for r in (context.roles.split, *context.roles.keys) if r is not None} | {context.aside}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        tabular = all(f.kind in PLAIN for f in context.fields)
        self.names = [f.name for f in plain][:FIELDS] if tabular and context.several_splits and context.near else []
        self.floats = {f.name for f in plain if "float" in f.dtype and f.kind != "time"}
        self.splits = Named(FIELDS)
        self.drawn = Drawn(min(KEPT, CELLS // (len(self.names) + 3)))
        self.beside = [self.splits]

    def applies(self) -> bool:
        return len(self.names) > EQUAL

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"value {name}": digests_by_name(block.columns.get(name), rows) for name in self.names}
        kept["split"] = self.splits.coded(split_of(self.context, block, rows))
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        splits, which = np.unique(rows["split"], return_inverse=True)
        values = np.stack([rows[f"value {name}"] for name in self.names])
        known = values != np.uint64(digest_of(""))
        told = np.array([bits(values[k][known[k]]) for k in range(len(values))])
        counts = told >= TELLS
        if len(splits) < 2 or counts.sum() < EQUAL:
            return
        one, two = alike(values, known, told)
        equal = (values[:, one] == values[:, two]) & known[:, one] & known[:, two]
        there = counts[:, None] & known[:, one] & known[:, two]
        differ = there & ~equal
        exact = np.array([name not in self.floats for name in self.names])
        enough = (equal & there).sum(0) >= np.maximum(EQUAL, SHARE * there.sum(0))
        enough &= (told[:, None] * equal).sum(0) >= SURE + 2 * np.log2(max(2, values.shape[1]))
        enough &= differ[exact].any(0)  # others are told as equal, or equal after rounding
        one, two, equal, differ = one[enough], two[enough], (equal & there)[:, enough], differ[:, enough]
        apart = which[one] != which[two]
        sizes = np.bincount(which).astype(float)
        within = float((sizes * (sizes - 1)).sum() / 2)
        across = float((sizes.sum() ** 2 - (sizes**2).sum()) / 2)
        if apart.sum() < max(LEAST, TIMES * (~apart).sum() * across / max(1.0, within)):
            return
        ends = [self.splits.texts.get(int(v), "") for v in splits]
        rarer = np.where(sizes[which[one]] <= sizes[which[two]], one, two)[apart]
        odd = np.zeros(values.shape[1], bool)
        odd[rarer] = True
        pairs = sorted(
            {tuple(sorted((ends[which[i]], ends[which[j]]))) for i, j in zip(one[apart], two[apart], strict=True)}
        )
        value = {
            "count": int(odd.sum()),
            "splits": sorted({name for pair in pairs for name in pair}),
            "equal": [self.names[k] for k in np.flatnonzero(equal[:, apart].mean(1) > SHARE)],
            "differ": [self.names[k] for k in np.flatnonzero(differ[:, apart].mean(1) > SHARE)],
            "where": places(rows, odd, self.names[0]),
        }
        yield Fact(RENAMED, value, self.evidence("sampled", len(which)))

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(RENAMED):
            v = fact.value
            n, same, others = number(v["count"], "row"), listed(v["equal"], 5), listed(v["differ"], 3)
            text = f"{n} {'equals' if v['count'] == 1 else 'equal'} a row of another split ({', '.join(map(escaped, v['splits']))}) in "
            text += f"{same}" + (f", but not in {others}" if v["differ"] else ", but not in all other columns")
            text += ": the same things seem to be in both under other names"
            fix = "keep each of them in one split: join the splits on the equal columns, and remove the rows from one"
            where = [{k: place[k] for k in ("sample", "file") if k in place} for place in v["where"]]
            yield finding("splits-near-overlap", "warning", text, fact, fix, where, v["count"])


def bits(values: Any) -> float:
    """How much it tells that two rows have one value, in bits: the logarithm of how seldom they do by chance."""
    import numpy as np

    n = len(values)
    if n < 2:
        return 0.0
    counts = np.unique(values, return_counts=True)[1].astype(float)
    same = float((counts * (counts - 1)).sum()) / (n * (n - 1))
    return float(-np.log2(max(same, 1.0 / (n * n))))


def alike(values: Any, known: Any, told: Any) -> tuple[Any, Any]:
    """Pairs of rows that are equal in two columns which tell much, int64 [pairs] each, the first before the second."""
    import numpy as np

    best = [k for k in np.argsort(-told).tolist() if told[k] >= BITS][:JOINED]
    found = [np.empty((0, 2), np.int64)]
    for a, b in combinations(best, 2):
        at = np.flatnonzero(known[a] & known[b])
        key = mix(values[a][at]) ^ values[b][at]
        order = np.argsort(key, kind="stable")
        _, first, sizes = np.unique(key[order], return_index=True, return_counts=True)
        for size in range(2, TOGETHER + 1):
            starts = first[sizes == size]
            found += [
                np.stack([at[order[starts + i]], at[order[starts + j]]], 1) for i, j in combinations(range(size), 2)
            ]
    pairs = np.unique(np.concatenate(found), axis=0)
    return pairs[:, 0], pairs[:, 1]


CHECK = RenamedRows

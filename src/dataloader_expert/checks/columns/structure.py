"""How the features hang together: correlations and the effective rank (exp of the eigenvalues' entropy).

Effective rank: Roy and Vetterli, "The effective rank", EUSIPCO 2007, on the correlation matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import RICH, content_fields, plain_fields
from dataloader_expert.checks.common.vectors import vectors
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block, Column, runs
from dataloader_expert.sources.roles import TIME_WORDS, words

CORRELATION = Quantity("correlation", "", "Pearson correlations of the strongest pairs, and the effective rank")
DIVERSITY_RANK = Quantity(
    "effective_rank", "", "effective rank of the correlation matrix of the samples' short vectors"
)
ROWS = 1 << 13
"""Samples of a large table that are worked on at a time: what is made of them stays in the cache."""
TEXTS = 1 << 10
"""Samples of a block of texts whose words are counted for the effective rank: it changes little from there on."""
COLLINEAR = 0.999
MOST = 256
MAPPED = 16
"""Features of the correlation map: those of the strongest pairs."""


class Products:
    """Sums of products of features, from which their correlations follow; those of blocks add up."""

    def __init__(self) -> None:
        self.n = 0
        self.pivot: Any = None
        self.sum: Any = None
        self.cross: Any = None

    def add(self, x: Any, pivot: Any = None) -> None:
        """Rows [N, F] of numbers; those that are not all finite are left out. ``pivot``: a value near each mean."""
        import numpy as np

        x = x[np.isfinite(x).all(1)]
        if not len(x):
            return
        if self.pivot is None:
            self.pivot = np.zeros(x.shape[1]) if pivot is None else pivot
            self.sum, self.cross = np.zeros(x.shape[1]), np.zeros((x.shape[1],) * 2)
        if x.shape[1] != len(self.pivot):
            return
        off = x - self.pivot
        self.n += len(x)
        self.sum += off.sum(0)
        self.cross += off.T @ off

    def merge(self, other: Products) -> None:
        if other.pivot is None:
            return
        if self.pivot is None:
            self.pivot, self.sum, self.cross, self.n = other.pivot, other.sum, other.cross, other.n
        elif len(other.pivot) == len(self.pivot):
            self.n += other.n
            self.sum = self.sum + other.sum
            self.cross = self.cross + other.cross

    def matrix(self) -> tuple[Any, Any]:
        """The correlation matrix of the features that vary, and which those are; both empty without two rows."""
        import numpy as np

        if self.n < 2:
            return np.zeros((0, 0)), np.zeros(0, np.int64)
        mean = self.sum / self.n
        cov = self.cross / self.n - np.outer(mean, mean)
        std = np.sqrt(np.maximum(np.diag(cov), 0))
        scale = np.abs(mean + self.pivot) + std
        varies = np.flatnonzero(std > 1e-7 * np.maximum(scale, 1e-30))
        part = cov[np.ix_(varies, varies)] / np.outer(std[varies], std[varies])
        return np.clip(part, -1, 1), varies


def effective_rank(matrix: Any) -> float:
    """Of a correlation matrix [F, F] that is not empty."""
    import numpy as np

    eigen = np.maximum(np.linalg.eigvalsh(matrix), 0)
    share = eigen / eigen.sum()
    share = share[share > 1e-12]
    return float(np.exp(-(share * np.log(share)).sum()))


class Structure(Check):
    """``whole``: of short vectors of the samples' content; ``columns``: of the fields that are single numbers."""

    ids = ("collinear-fields",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f for f in context.fields}
        content, plain = content_fields(context), plain_fields(context)
        self.scalars = [n for n in plain if kinds[n].kind in ("number", "boolean", "time") and not kinds[n].shape][
            :MOST
        ]
        rich = [kinds[n] for n in content if kinds[n].kind in RICH]
        self.times = {n for n in self.scalars if kinds[n].kind == "time" or set(words(n)) & TIME_WORDS}
        """What lies between two of them is a duration, however much they are correlated."""
        self.content = [] if self.scalars and not rich else content  # the columns are all that there is
        self.components = (
            len(rich) == 1
            and rich[0].kind in ("embedding", "array")
            and len(rich[0].shape) == 1
            and 0 < (rich[0].shape[0] or 0) <= MOST
        )
        self.dear = any(f.kind == "text" for f in rich)
        self.whole, self.columns = Products(), Products()

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        if self.content:
            some = block.take(runs(block.samples, TEXTS)) if self.dear and block.samples > TEXTS else block
            self.whole.add(vectors(some, self.content, whole=self.components)[:, :MOST])
        held = [block.columns[name] for name in self.scalars if name in block.columns]
        if not held or len(held) < len(self.scalars) or not all(map(_numeric, held)):
            return  # a damaged unit: what is a number elsewhere is a text here
        pivot = np.array([self.context.pivots.get(n, 0.0) for n in self.scalars])
        for at in range(0, block.samples, ROWS):
            x = np.stack([c.values[at : at + ROWS] for c in held], 1).astype(np.float64, copy=False)
            for i, column in enumerate(held):
                if column.nulls is not None:
                    x[column.nulls[at : at + ROWS], i] = np.nan
            self.columns.add(x, pivot)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Structure)
        self.seen += other.seen
        self.whole.merge(other.whole)
        self.columns.merge(other.columns)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        whole = self.whole if self.content else self.columns
        features = whole.matrix()[0]
        if whole.n:  # of no sample nothing is known
            yield Fact(DIVERSITY_RANK, effective_rank(features), self.evidence(n=whole.n))
        products, names = self.columns, self.scalars
        if len(names) < 2 and self.components:
            products, names = whole, self._components(whole)
        matrix, varies = products.matrix()
        if len(varies) < 2 or not names:
            return
        rows, columns = np.triu_indices(len(varies), 1)
        values = matrix[rows, columns]
        order = np.argsort(-np.abs(values), kind="stable")[:200]
        pairs: list[dict[str, Json]] = [
            {"a": names[varies[rows[i]]], "b": names[varies[columns[i]]], "r": float(values[i])} for i in order
        ]
        some = sorted(list(dict.fromkeys(int(k) for i in order for k in (rows[i], columns[i])))[:MAPPED])
        mapped = [[round(float(matrix[a, b]), 4) for b in some] for a in some]
        value = {
            "pairs": pairs,
            "effective_rank": effective_rank(matrix),
            "matrix": {"names": [names[varies[a]] for a in some], "r": mapped},
        }
        yield Fact(CORRELATION, value, self.evidence(n=products.n))

    def _components(self, whole: Products) -> list[str]:
        return [] if whole.pivot is None else [f"{self.content[0]}[{i}]" for i in range(len(whole.pivot))]

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(CORRELATION)
        if fact is None or (fact.evidence.seen or 0) < 30:
            return
        same = [p for p in fact.value["pairs"] if abs(p["r"]) >= COLLINEAR and not {p["a"], p["b"]} <= self.times]
        if same:
            listed = ", ".join(f"{p['a']} and {p['b']} (r = {p['r']:.4f})" for p in same[:3])
            fields = len(self.scalars) > 1
            of = "fields" if fields else f"components of {self.content[0]}"
            yield finding(
                "collinear-fields",
                "info",
                f"{number(len(same), 'pair')} of {of} {verb(len(same), 'carry')} the same information: {listed}",
                fact,
                "drop one of each pair",
                [{"field": p["b"]} for p in same] if fields else [{"field": self.content[0]}],
                len(same),
            )


def _numeric(column: Column) -> bool:
    return getattr(column.values, "ndim", 0) == 1 and column.values.dtype.kind in "biuf"


CHECK = Structure

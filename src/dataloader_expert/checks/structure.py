"""How the features hang together: correlations and the effective rank (exp of the eigenvalues' entropy).

Effective rank: Roy and Vetterli, "The effective rank", EUSIPCO 2007, on the correlation matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.fingerprint import RICH, content_fields, vectors
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block, Column

CORRELATION = Quantity("correlation", "", "Pearson correlations of the strongest pairs, and the effective rank")
DIVERSITY_RANK = Quantity(
    "effective_rank", "", "effective rank of the correlation matrix of the samples' short vectors"
)
ROWS = 1 << 13
"""Samples of a large table that are worked on at a time: what is made of them stays in the cache."""
COLLINEAR = 0.999
MOST = 256
MAPPED = 16
"""Features of the correlation map: those of the strongest pairs."""


class Structure(Check):
    ids = ("collinear-fields",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = content_fields(context)
        kinds = {f.name: f for f in context.fields}
        self.scalars = [n for n in self.names if kinds[n].kind in ("number", "boolean", "time") and not kinds[n].shape][
            :MOST
        ]
        vector = [n for n in self.names if kinds[n].kind in RICH]
        self.fields = vector or self.scalars
        if not self.fields:
            self.fields = self.names
        self.named = not vector
        fixed = [kinds[n] for n in vector if kinds[n].kind in ("embedding", "array") and None not in kinds[n].shape]
        self.components = (
            len(vector) == 1 and len(fixed) == 1 and len(fixed[0].shape) == 1 and (fixed[0].shape[0] or 0) <= MOST
        )
        self.n = 0
        self.pivot: Any = None
        self.sum: Any = None
        self.cross: Any = None

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        columns = self._numbers(block)
        if columns is None:
            self._add(vectors(block, self.fields, whole=self.components))
            return
        for at in range(0, block.samples, ROWS):
            x = np.stack([c.values[at : at + ROWS] for c in columns], 1).astype(np.float64, copy=False)
            for i, column in enumerate(columns):
                if column.nulls is not None:
                    x[column.nulls[at : at + ROWS], i] = np.nan
            self._add(x)

    def _numbers(self, block: Block) -> list[Column] | None:
        """The fields' numbers, where each sample has one of each; large tables are worked on piece by piece."""
        held = [block.columns[name] for name in self.fields if name in block.columns] if self.named else []
        plain = [c for c in held if getattr(c.values, "ndim", 0) == 1 and c.values.dtype.kind in "biuf"]
        return plain if 0 < len(plain) == len(self.fields) <= MOST and block.samples > ROWS else None

    def _add(self, x: Any) -> None:
        import numpy as np

        if not x.size:
            return
        if x.shape[1] > MOST:
            x = x[:, :MOST]
        if self.named and x.shape[1] != min(MOST, len(self.fields)):
            return  # a damaged unit: what is a number elsewhere is a text here
        x = x[np.isfinite(x).all(1)]
        if not len(x):
            return
        if self.pivot is None:
            self.pivot = np.zeros(x.shape[1])
            self.sum, self.cross = np.zeros(x.shape[1]), np.zeros((x.shape[1],) * 2)
            first = self.context.pivots
            if self.named:
                self.pivot = np.array([first.get(n, 0.0) for n in self.fields[: x.shape[1]]])
        if x.shape[1] != len(self.pivot):
            return
        off = x - self.pivot
        self.n += len(x)
        self.sum += off.sum(0)
        self.cross += off.T @ off

    def merge(self, other: Check) -> None:
        assert isinstance(other, Structure)
        self.seen += other.seen
        if other.pivot is None:
            return
        if self.pivot is None:
            self.pivot, self.sum, self.cross, self.n = other.pivot, other.sum, other.cross, other.n
        elif len(other.pivot) == len(self.pivot):
            self.n += other.n
            self.sum = self.sum + other.sum
            self.cross = self.cross + other.cross

    def matrix(self) -> tuple[Any, Any]:
        """The correlation matrix of the features that vary, and which those are."""
        import numpy as np

        mean = self.sum / self.n
        cov = self.cross / self.n - np.outer(mean, mean)
        std = np.sqrt(np.maximum(np.diag(cov), 0))
        scale = np.abs(mean + self.pivot) + std
        varies = np.flatnonzero(std > 1e-7 * np.maximum(scale, 1e-30))
        part = cov[np.ix_(varies, varies)] / np.outer(std[varies], std[varies])
        return np.clip(part, -1, 1), varies

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        evidence = self.evidence(n=self.n)
        if self.pivot is None or self.n < 2:
            yield Fact(DIVERSITY_RANK, 1.0, self.evidence("derived", self.n))
            return
        matrix, varies = self.matrix()
        if not len(varies):
            yield Fact(DIVERSITY_RANK, 1.0, evidence)
            return
        eigen = np.maximum(np.linalg.eigvalsh(matrix), 0)
        share = eigen / eigen.sum()
        share = share[share > 1e-12]
        rank = float(np.exp(-(share * np.log(share)).sum()))
        yield Fact(DIVERSITY_RANK, rank, evidence)
        if not self.named and not self.components:
            return
        if len(varies) < 2:
            return
        names = self.fields if self.named else [f"{self.fields[0]}[{i}]" for i in range(len(self.pivot))]
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
            "effective_rank": rank,
            "matrix": {"names": [names[varies[a]] for a in some], "r": mapped},
        }
        yield Fact(CORRELATION, value, evidence)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(CORRELATION)
        if fact is None or self.n < 30:
            return
        same = [p for p in fact.value["pairs"] if abs(p["r"]) >= COLLINEAR]
        if same:
            listed = ", ".join(f"{p['a']} and {p['b']} (r = {p['r']:.4f})" for p in same[:3])
            many = "pairs of fields" if self.named else f"pairs of components of {self.fields[0]}"
            yield finding(
                "collinear-fields",
                "info",
                f"{len(same)} {many} carry the same information: {listed}",
                fact,
                "drop one of each pair",
                [{"field": p["b"]} for p in same] if self.named else [{"field": self.fields[0]}],
                len(same),
            )


CHECK = Structure

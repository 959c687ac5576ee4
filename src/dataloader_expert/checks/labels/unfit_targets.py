"""Targets of one split, file, batch or stretch of rows that do not fit their content, as those of all others do: they were joined in another order,
or moved by a row; and targets of all rows that fit the content of the row before or after.

Method: ridge regression on the first principal components of images, arrays, embeddings or recordings, learnt on all other rows. Only where it
tells most of the target elsewhere, and content and target vary in the part as they do elsewhere, does it say anything. Without a label, the first
measurements beside the content are targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.class_tellers import numbers_of_content
from dataloader_expert.checks.common.cohorts import SPLIT, Cohorts, told_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import content_fields
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.recorded import few
from dataloader_expert.checks.common.rows_kept import in_order, numbers_of, places
from dataloader_expert.checks.common.scores import correlation, normal_scores
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

UNFIT = Quantity(
    "targets_unfit",
    "samples",
    "samples of a part whose targets do not fit their content, and how those of the others do",
)
TARGETS = 3
"""The most fields that are taken for targets where there is no label."""
RICH = ("image", "embedding", "array", "audio")
KEPT, COMPONENTS, RIDGE = 3_000, 16, 1.0
"""The most samples, the most components of their content, and how far their weights are shrunken, in rows."""
LEAST, OTHERS, VALUES = 25, 60, 10
"""The fewest samples of a part, and of all others; and the fewest values of a target that is a quantity."""
STRETCH, BLOCK, MOST_BLOCKS = "the rows", 40, 60
"""Stands for a stretch of rows; rows of a block by which one is found, at least, and the most blocks."""
TELLING, LEFT, SURE = 0.65, 0.35, 6.0
"""The least correlation of what is told with the targets elsewhere, the most of it that is left in a part, and by how many standard errors."""
SPREAD = 0.5
"""The least spread of a part's targets, and of what its content tells, in parts of the usual one."""
FITS, ALL, NONE = 0.6, 0.5, 0.2
"""The least part of the usual correlation with the targets of rows beside; the least of all rows, and the most of it that may fit their own."""


class UnfitTargets(DrawnRows):
    ids = ("label-odd-one-out", "rows-shifted")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f.kind for f in context.fields if f.name != context.label}
        self.names = [name for name in content_fields(context) if kinds.get(name) in RICH][:1]
        self.cohorts, self.files = Cohorts(context), Files()
        self.targets = self._targets()
        self.drawn = Drawn(KEPT)
        self.beside = [self.cohorts, self.files]
        self.needs = self.names

    def _targets(self) -> list[str]:
        context = self.context
        plain = [f for f in context.fields if not f.shape and f.name not in context.identifiers]
        if context.label is not None:
            return [f.name for f in plain if f.name == context.label and f.kind in ("number", "category")]
        return [f.name for f in plain if f.kind == "number"][:TARGETS]

    def applies(self) -> bool:
        return bool(self.names and self.targets)

    def looked(self) -> bool:
        return bool(self.drawn.parts)

    def see(self, block: Block) -> None:
        self.files.note(block)
        super().see(block)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {"x": numbers_of_content(self.context, block, self.names, rows)}
        kept |= {f"target {name}": numbers_of(block.columns.get(name), rows) for name in self.targets}
        return kept | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        every = in_order(self.drawn.all()[1])
        for name in self.targets:
            known = np.isfinite(every["x"]).all(1) & np.isfinite(every[f"target {name}"])
            rows = {key: values[known] for key, values in every.items()}
            target = rows[f"target {name}"]
            if len(target) >= LEAST + OTHERS and len(np.unique(target)) >= VALUES:
                yield from self._of(name, rows, normal_scores(target))

    def _of(self, name: str, rows: dict[str, Any], y: Any) -> Iterator[Fact]:
        import numpy as np

        evidence = self.evidence("sampled", len(y))
        teller, beside = by_ridge(rows["x"], y), {by: _beside(rows["sample"], y, by) for by in (1, -1)}
        told = _by_folds(teller, len(y))
        usual = correlation(told, y)
        for kind, of, own in self._parts(rows, y, told):
            found = unfit(teller, y, own, beside)
            if found is not None:
                value: dict[str, Json] = {"count": int(own.sum()), "where": places(rows, own, name), **found}
                value |= {"first": int(rows["sample"][own].min()), "last": int(rows["sample"][own].max())}
                yield Fact(UNFIT, value, evidence, {"field": name, "by": kind, "of": of})
                return
        for by, other in beside.items() if usual < NONE else ():
            read = np.isfinite(other)  # rows read here and there have few neighbours
            if read.sum() < LEAST + OTHERS:
                continue
            there = correlation(_by_folds(by_ridge(rows["x"][read], other[read]), int(read.sum())), other[read])
            if there >= ALL and abs(usual) <= NONE * there and surely(there, usual, int(read.sum())):
                value = {"here": usual, "usual": there, "by": by, "count": self.seen, "where": []}
                yield Fact(UNFIT, value, evidence, {"field": name, "by": "", "of": ""})
                return

    def _parts(self, rows: dict[str, Any], y: Any, told: Any) -> Iterator[tuple[str, str, Any]]:
        """Parts in which hardly anything fits while it does in most others of their kind; last a stretch of rows."""
        import numpy as np

        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            fits = [correlation(told[whose == k], y[whose == k]) for k in range(len(names))]
            odd = [k for k, fit in enumerate(fits) if fit <= LEFT * max(fits)]
            if few(len(odd), len(names)) or (kind == SPLIT and len(odd) == 1):
                yield from ((kind, names[k], whose == k) for k in odd)
        size = max(BLOCK, -(-len(y) // MOST_BLOCKS))
        blocks = np.arange(len(y)) // size
        fits = [correlation(told[blocks == k], y[blocks == k]) for k in range(int(blocks.max()) + 1)]
        odd = [k for k, fit in enumerate(fits) if fit <= LEFT * float(np.median(fits))]
        if odd and odd[-1] - odd[0] + 1 == len(odd) and few(len(odd), len(fits)):
            yield STRETCH, "", (blocks >= odd[0]) & (blocks <= odd[-1])

    def judge(self, facts: Facts) -> Iterable[Finding]:
        severity: Severity = "info" if self.context.guessed else "warning"
        content = escaped((self.names or [""])[0])
        for fact in facts.all(UNFIT):
            v, by, label = fact.value, str(fact.at["by"]), escaped(str(fact.at["field"]))
            beside = f"the {label} of the {'next' if v['by'] > 0 else 'previous'} sample" if v["by"] else ""
            if not by:
                text = f"{label} does not fit {content} (correlation {v['here']:.2f} of what it predicts, by rows left out), but {content} fits "
                text += f"{beside} ({v['usual']:.2f})"
            else:
                where = (
                    self.files.stretch(v["first"], v["last"]) if by == STRETCH else told_of(by, [str(fact.at["of"])])
                )
                where = f"in {where}" if by == STRETCH else where
                text = f"{label} does not fit {content} {where} ({number(v['count'], 'sample')} looked at): what {content} predicts correlates with "
                text += f"it by {v['here']:.2f} there, and by {v['usual']:.2f} elsewhere"
                text += f", but it fits {beside}" if beside else ""
            code = "rows-shifted" if v["by"] else "label-odd-one-out"
            fix = "find out how the targets were joined to the samples there, and join them again by a key"
            yield finding(code, severity, text, fact, fix, v["where"], v["count"])


def by_ridge(x: Any, y: Any) -> Callable[[Any], Any]:
    """Gives what content tells of the targets of some rows, bool [n], learnt from all others.

    Args:
        x: float [n, d], without NaN.
        y: float [n].
    """
    import numpy as np

    z = np.clip(x, *np.percentile(x, (1, 99), axis=0)).astype(np.float64)
    z -= z.mean(0)
    size = float(z.std())
    z /= size if size > 0 else 1.0
    _, _, axes = np.linalg.svd(z, full_matrices=False)
    z = z @ axes[: min(COMPONENTS, len(z) // 5)].T
    scale = z.std(0)
    z = z[:, scale > 1e-9] / scale[scale > 1e-9]

    def told(own: Any) -> Any:
        others, mean = z[~own], float(y[~own].mean())
        weights = np.linalg.solve(others.T @ others + RIDGE * np.eye(z.shape[1]), others.T @ (y[~own] - mean))
        return z[own] @ weights + mean

    return told


def unfit(teller: Callable[[Any], Any], y: Any, own: Any, beside: dict[int, Any]) -> dict[str, Any] | None:
    """How badly the targets of ``own`` rows fit; None if they fit, or vary less than those of others, or do not fit elsewhere."""
    import numpy as np

    n, rest = int(own.sum()), ~own
    if n < LEAST or rest.sum() < OTHERS:
        return None
    # what others tell of each other, by halves of them
    halves = np.arange(len(y)) % 2 == 0
    there = np.concatenate([teller(own | (rest & half))[~own[own | (rest & half)]] for half in (halves, ~halves)])
    usual = correlation(there, np.concatenate([y[rest & halves], y[rest & ~halves]]))
    told = teller(own)
    here = correlation(told, y[own])
    if usual < TELLING or here > LEFT * usual:
        return None
    if not surely(usual, here, n):
        return None
    if y[own].std() < SPREAD * y[rest].std() or told.std() < SPREAD * there.std():
        return None
    for by, other in beside.items():
        if np.isfinite(other[own]).sum() >= LEAST and correlation(told, other[own]) >= FITS * usual:
            return {"usual": usual, "here": here, "by": by}
    return {"usual": usual, "here": here, "by": 0}


def surely(usual: float, here: float, n: int) -> bool:
    """Whether a correlation of ``n`` rows is smaller than another by more than chance makes it."""
    return (math.atanh(min(usual, 0.999)) - math.atanh(max(here, -0.9))) * math.sqrt(n - 3) >= SURE


def _by_folds(teller: Callable[[Any], Any], n: int) -> Any:
    """What content tells of each row, by all rows but those of its fifth."""
    import numpy as np

    folds, told = np.arange(n) * 5 // n, np.zeros(n)
    for k in range(5):
        told[folds == k] = teller(folds == k)
    return told


def _beside(samples: Any, y: Any, by: int) -> Any:
    """The target of the row after each row, or before it; NaN where that was not looked at."""
    import numpy as np

    made = np.full(len(y), np.nan)
    near = samples[1:] == samples[:-1] + 1
    if by > 0:
        made[:-1][near] = y[1:][near]
    else:
        made[1:][near] = y[:-1][near]
    return made


CHECK = UnfitTargets

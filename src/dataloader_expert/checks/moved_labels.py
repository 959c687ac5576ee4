"""Labels of the next or the previous sample, in a stretch of rows: a line was lost or added where they were written.

Method: classes are told by the nearest mean of their standardised vectors (Tibshirani and others, "Diagnosis of multiple cancer types
by shrunken centroids of gene expression", PNAS 99(10), 2002, without shrinking). A stretch is the run of rows in which the class so
told fits a neighbour's label more often than the row's own by the most (the maximum subarray). It is reported where chance would hardly
make as long a one, and where the neighbour's label is told in it nearly as often as the own label is elsewhere: in a stretch of wrong
labels, or of vectors that tell nothing, neither is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.fingerprint import content_fields, digest64, vectors
from dataloader_expert.checks.places import Files
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

MOVED = Quantity("labels_moved", "samples", "stretches of rows whose labels fit the samples before or after them")
MOST, WIDEST, LEAST, CLASSES = 20_000, 128, 60, 50
"""The most samples and numbers of each that are kept, the fewest samples, and the most classes."""
TELLING = 0.5
"""The least share of the rows, beyond guessing the largest class, whose class their vectors tell."""
CHANCE = 1e-6
"""How unlikely so long a stretch must be by chance."""
AS_OFTEN, SELDOM = 0.8, 0.5
"""Within a stretch: the least share of labels that fit a neighbour, and the most that fit their own sample, on the way from chance to
the share that does elsewhere."""


class MovedLabels(Check):
    ids = ("rows-shifted",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f for f in context.fields}
        names = content_fields(context)
        rich = [n for n in names if kinds[n].kind in ("embedding", "array", "image")]
        self.names = (rich[:1] or [n for n in names if kinds[n].kind == "number" and not kinds[n].shape])[:WIDEST]
        self.whole = bool(rich) and kinds[rich[0]].kind != "image" and None not in kinds[rich[0]].shape
        self.parts: list[tuple[int, Any, Any]] = []
        """Of each block: its first sample, vectors [n, d] and digests of labels [n], 0 for a missing one."""
        self.files = Files()

    def applies(self) -> bool:
        return self.context.label is not None and bool(self.names) and not self.context.guessed

    def looked(self) -> bool:
        return bool(self.parts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        label = block.columns.get(self.context.label or "")
        if label is None or block.rows is not None or self.context.samples is None or self.context.samples > MOST:
            return
        x = vectors(block, self.names, self.whole)[:, :WIDEST].astype(np.float32)
        values = label.values.tolist() if hasattr(label.values, "tolist") else label.values
        known: dict[str, int] = {}
        codes = np.zeros(len(x), np.uint64)
        for i, value in enumerate(values[: len(x)]):
            if value is not None and (label.nulls is None or not label.nulls[i]):
                text = str(value)
                codes[i] = known[text] = known.get(text) or digest64(text.encode("utf-8", "surrogatepass"))
        self.parts.append((block.unit.start, x, codes))

    def merge(self, other: Check) -> None:
        assert isinstance(other, MovedLabels)
        self.seen += other.seen
        self.parts += other.parts
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        parts = sorted(self.parts, key=lambda part: part[0])
        if sum(len(x) for _, x, _ in parts) < LEAST or len({x.shape[1] for _, x, _ in parts}) != 1:
            return
        index = np.concatenate([start + np.arange(len(x)) for start, x, _ in parts])
        x, codes = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        kept = np.isfinite(x).all(1) & (codes != 0)
        x, codes, index = x[kept], codes[kept], index[kept]
        names, label = np.unique(codes, return_inverse=True)
        if len(x) < LEAST or not 2 <= len(names) <= CLASSES:
            return
        x = x.astype(np.float64)
        if self.whole:  # of a vector the direction tells, and its length may be that of another scale
            x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
        found = moved(told_classes(x, label, len(names)), label)
        if found is not None:
            first, last, by = found
            value = {"first": int(index[first]), "last": int(index[last]), "by": by}
            yield Fact(MOVED, value, self.evidence(), {"field": self.context.label})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MOVED):
            v = fact.value
            text = f"the label ({escaped(self.context.label)}) seems to be shifted by a row in "
            text += self.files.stretch(v["first"], v["last"])
            text += f": there it fits the {'next' if v['by'] > 0 else 'previous'} sample"
            where = [{"sample": at, "file": self.files.of(at)} for at in (v["first"], v["last"])]
            fix = "look at these rows and at where the stretch begins: a label was lost or added there; shift them back"
            yield finding("rows-shifted", "warning", text, fact, fix, where, v["last"] - v["first"] + 1)


def told_classes(x: Any, label: Any, classes: int) -> Any:
    """The class whose mean is nearest to each row of ``x``, float64 [n, d], in standard deviations within classes."""
    import numpy as np

    counts = np.bincount(label, minlength=classes)[:, None]
    means = np.stack([np.bincount(label, column, classes) for column in x.T], 1) / counts
    within = np.sqrt(((x - means[label]) ** 2).mean(0))
    scale = np.where(within > 0, within, np.inf)
    x, means = x / scale, means / scale
    return np.argmin((means * means).sum(1) - 2 * x @ means.T, 1)


def moved(told: Any, label: Any) -> tuple[int, int, int] | None:
    """The first and the last row of the stretch whose labels fit a neighbour, and by how many rows they are shifted: 1 if they are those
    of the sample before, so that each fits the next; None where there is none."""
    import numpy as np

    own = told[1:-1] == label[1:-1]
    usual = float(np.bincount(label).max()) / len(label)
    if own.mean() < usual + TELLING * (1 - usual):
        return None
    chance = float((np.bincount(label) / len(label)) @ (np.bincount(label) / len(label)))
    best: tuple[float, tuple[int, int, int]] | None = None
    for by in (1, -1):
        other = told[1 + by : len(told) - 1 + by] == label[1:-1]
        gain = other.astype(int) - own.astype(int)
        sums = np.concatenate([[0], np.cumsum(gain)])
        lowest = np.minimum.accumulate(sums)
        end = int(np.argmax(sums - lowest))
        begin = int(np.argmin(sums[: end + 1]))
        most = int(sums[end] - sums[begin])
        rest = np.concatenate([gain[:begin], gain[end:]])
        up, down = ((rest == step).sum() + 1 for step in (1, -1))
        if most <= 0 or up >= down:
            continue
        elsewhere = float(np.concatenate([own[:begin], own[end:]]).mean()) if len(rest) else 0.0
        beyond = max(0.0, elsewhere - chance)
        fits, stays = (float(part[begin:end].mean()) for part in (other, own))
        if fits < chance + AS_OFTEN * beyond or stays > chance + SELDOM * beyond:
            continue
        luck = math.log(len(gain)) + most * math.log(up / down)
        if luck < math.log(CHANCE) and (best is None or luck < best[0]):
            best = luck, (begin + 1, end, by)
    return None if best is None else best[1]


CHECK = MovedLabels

"""Batches of one class with the label of another: files that were moved to the wrong folder, or rows that were exported under the wrong name.

Where content tells the classes, it tells several samples of one class to be of another one, hardly any the other way round, and such
samples lie right among those of the other class, no closer to each other than to these: a kind of their own would. They lie as deep there
as the samples of that class do: those of a class that resembles it lie at its edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.class_tellers import by_means, numbers_of_content
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import content_fields
from dataloader_expert.checks.common.rows_kept import Named, digest_of, in_order, places
from dataloader_expert.checks.common.swapped_classes import SWAPPED_IN
from dataloader_expert.checks.common.vectors import distances
from dataloader_expert.checks.labels.fits import kappa
from dataloader_expert.checks.labels.label_facts import MOVED, RENAMED, STOPPED, SWAPPED, UNFIT
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

MISFILED = Quantity(
    "misfiled",
    "samples",
    "samples of one class that lie right among those of another one, several together, with places",
)
RICH = ("image", "embedding", "array", "audio")
KEPT, CLASSES = 4_000, 50
LEAST, OF_CLASS, SEVERAL = 80, 15, 5
"""The fewest samples, those of each of the two classes that fit it, and the fewest that do not."""
TELLING = 0.85
"""The least agreement of what content tells with labels, beyond chance (Cohen's kappa), such samples aside."""
PART, TIMES = 0.5, 5
"""How many such samples there may be, of those of the class that fit, and how many times as many as the other way round."""
NEAR, OF_OTHER, OF_OWN = 10, 0.4, 0.1
"""Neighbours, the least share of them that are of the other class, and the most that are of their own."""


CLOSEST, EDGE = 3, 0.3
"""The samples of a class that tell how far it is, and the share of a class's own samples that are its edge."""
COPIES = 0.05
"""How near, of the distance of neighbours in a class, copies of one sample or blank ones are: they belong to neither class."""


class Misfiled(DrawnRows):
    ids = ("label-odd-one-out",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f.kind for f in context.fields if f.name != context.label}
        self.names = [name for name in content_fields(context) if kinds.get(name) in RICH][:1]
        self.labels = Named(CLASSES)
        self.drawn = Drawn(KEPT)
        self.beside = [self.labels]
        self.needs = [context.label or "", *self.names]

    def applies(self) -> bool:
        label = next((f for f in self.context.fields if f.name == self.context.label), None)
        return bool(self.names) and label is not None and not label.shape and label.kind in ("category", "boolean")

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        label = block.columns[self.context.label or ""]
        x = numbers_of_content(self.context, block, self.names, rows)
        return {"x": x, "label": self.labels.of(label, rows)}

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.labels.many:
            return
        rows = in_order(self.drawn.all()[1])
        blank = np.array([digest_of(text) for text in ("", "None", "nan")], np.uint64)
        known = np.isfinite(rows["x"]).all(1) & ~np.isin(rows["label"], blank)
        rows = {name: values[known] for name, values in rows.items()}
        classes, label = np.unique(rows["label"], return_inverse=True)
        if len(label) < LEAST or len(classes) < 2:
            return
        for own, other, which in misfiled(rows["x"], label):
            marked = np.zeros(len(label), bool)
            marked[which] = True
            value: dict[str, Any] = {"class": self._called(classes[own]), "other": self._called(classes[other])}
            value |= {"count": len(which), "of": int((label == own).sum())}
            value |= {"where": places(rows, marked, self.context.label or "")}
            at = {"field": self.names[0], "class": value["class"], "other": value["other"]}
            yield Fact(MISFILED, value, self.evidence("sampled", len(label)), at)

    def _called(self, digest: Any) -> str:
        text = self.labels.texts.get(int(digest), "")
        return self.context.class_name(int(text) if text.isdecimal() else text)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        if any(any(facts.all(quantity)) for quantity in (MOVED, SWAPPED, STOPPED, SWAPPED_IN, UNFIT, RENAMED)):
            return  # these say more exactly what it is
        severity: Severity = "info" if self.context.guessed else "warning"
        for fact in facts.all(MISFILED):
            v = fact.value
            text = f"{v['count']:,} of {number(v['of'], 'sample')} labelled {escaped(v['class'])} {verb(v['count'], 'look')} like {escaped(v['other'])} "
            text += f"(nearest neighbours by {escaped(str(fact.at['field']))}), and hardly any the other way round: they were probably filed under "
            text += "the wrong class"
            fix = f"check a few; if they are {escaped(v['other'])}, label them so"
            yield finding("label-odd-one-out", severity, text, fact, fix, v["where"], v["count"])


def misfiled(x: Any, label: Any) -> Iterator[tuple[int, int, list[int]]]:
    """Classes whose label samples of another class have, that class, and these samples.

    Args:
        x: float [n, d].
        label: int64 [n].
    """
    import numpy as np

    classes, every = int(label.max()) + 1, np.ones(len(label), bool)
    told = by_means(x, label, classes)(every, every)
    pairs = np.bincount(label * classes + told, minlength=classes * classes).reshape(classes, -1)
    z = np.clip(x, *np.percentile(x, (1, 99), axis=0)).astype(np.float64)
    spread = z.std(0)
    z = (z - z.mean(0))[:, spread > 0] / spread[spread > 0]
    for own, other in np.argwhere(pairs >= SEVERAL).tolist():
        n, fits = int(pairs[own, other]), int(pairs[own, own])
        if own == other or min(fits, pairs[other, other]) < OF_CLASS or n > PART * fits:
            continue
        if n < TIMES * pairs[other, own]:
            continue
        which = np.flatnonzero((label == own) & (told == other))
        others = np.setdiff1d(np.arange(len(label)), which)
        if kappa(told[others], label[others]) < TELLING:
            continue
        far = distances(z[which], z[others])
        near = np.argpartition(far, NEAR, 1)[:, :NEAR]
        shares = [(label[others][near] == c).mean(1) for c in (other, own)]
        among = (shares[0] >= OF_OTHER) & (shares[1] <= OF_OWN)
        which = which[among]
        if len(which) < max(SEVERAL, n / 2):
            continue
        to_other = distances(z[which], z[others][label[others] == other]).min(1)
        each = distances(z[which], z[which])
        np.fill_diagonal(each, np.inf)
        if np.median(each.min(1)) >= np.median(to_other) and _deep(z, label, which, own, other):
            yield own, other, which.tolist()


def _deep(z: Any, label: Any, which: Any, own: int, other: int) -> bool:
    """Whether most of these samples are as much closer to the other class than to their own as those of that class are, its edge aside."""
    import numpy as np

    rest = np.ones(len(label), bool)
    rest[which] = False
    here, there = (z[rest & (label == c)] for c in (own, other))

    def depth(rows: Any, to_there: Any) -> Any:
        far, near = (np.sort(d, 1)[:, :CLOSEST].mean(1) for d in (distances(rows, here), to_there))
        return (far - near) / np.maximum(far + near, 1e-9)

    each = distances(there, there)
    np.fill_diagonal(each, np.inf)
    to_there = distances(z[which], there)
    if np.median(to_there.min(1)) < COPIES * np.median(each.min(1)):
        return False
    deep = depth(z[which], to_there)
    return bool(np.median(deep) >= np.quantile(depth(there, each), EDGE))


CHECK = Misfiled

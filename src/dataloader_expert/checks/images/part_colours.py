"""Images within one split that lost their colour, or whose red and blue are swapped, beside others of it that are as elsewhere.

They are told one by one: elsewhere no image is gray; elsewhere all images, or all of a class, are redder than blue or the other way round, and
those are as they are once swapped back. What is so of all of a split is told where splits are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.cohorts import SPLIT, DrawnImages, only_there, told_of
from dataloader_expert.checks.common.picture_hashes import looks
from dataloader_expert.checks.common.rows_kept import Named, in_order, places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

COLOURS = Quantity(
    "colours_of_part", "images", "images of a split that are gray, or have red and blue swapped, unlike all others"
)
SEVERAL, OUTSIDE, CLASSES = 8, 15, 200
"""The fewest such images, the fewest outside the split, and the most classes that are told apart."""
GRAY = 1.0
"""Levels by which the channels of gray images differ at most, on average: what JPEG leaves."""
BLANK = 4
"""Levels by which the pixels of an image without content differ at most: it has no colour to lose."""
LEVELS, WIDER, TAIL, CLEAR = 6.0, 0.25, 0.02, 0.9
"""By how much red and blue differ at least, usually; by which part the range of the others is widened, the share at either end that is left out of
it, and the share of a split's images that lie in it as they are or swapped back."""
WHOLE = 0.8
"""The share of a split's images, or of a class's, from which on it is how all of these look."""


class PartColours(DrawnImages):
    ids = ("preprocessing-differs",)
    most = 4_000

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.label = context.label or ""
        self.classes = Named(CLASSES)
        self.beside = [self.cohorts, self.classes]

    def applies(self) -> bool:
        return bool(self.name) and self.context.several_splits

    def rows(self, block: Block) -> Any:
        import numpy as np

        rows = super().rows(block)
        if not len(rows):
            return rows
        seen = looks(block, self.name)
        rows = rows[seen.coloured[rows]]
        return rows[np.ptp(seen.some[rows].astype(np.int16), axis=(1, 2, 3)) > BLANK]

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        pixels = looks(block, self.name).some[rows].reshape(len(rows), -1, 3).astype(np.float32)
        steps = np.stack([pixels[..., 0] - pixels[..., 1], pixels[..., 1] - pixels[..., 2]], 2)
        kept = {"steps": steps.mean(1), "gray": np.abs(steps).mean((1, 2)) <= GRAY}
        return kept | {"class": self.classes.of(block.columns.get(self.label), rows)} | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        for kind, names, whose in self.cohorts.kinds(rows, SEVERAL):
            for k, name in enumerate(names) if kind == SPLIT else ():
                own = whose == k
                for odd, what in ((lost(rows["gray"], own), "gray"), (self._swapped(rows, own), "swapped")):
                    odd &= ~self._whole(rows["class"], odd)
                    n = int(odd.sum())
                    if SEVERAL <= n < WHOLE * own.sum():
                        of = np.unique(rows["class"][odd])
                        told = self.classes.texts.get(int(of[0])) if len(of) == 1 else None
                        value = {"count": n, "of": int(own.sum()), "class": told, "where": places(rows, odd, self.name)}
                        at = {"field": self.name, "split": name, "odd": what}
                        yield Fact(COLOURS, value, self.evidence("sampled", len(own)), at)

    def _whole(self, classes: Any, odd: Any) -> Any:
        """The images of classes nearly all of whose images are odd: they look so."""
        import numpy as np

        _, which = np.unique(classes, return_inverse=True)
        return (np.bincount(which, odd) >= WHOLE * np.bincount(which))[which]

    def _swapped(self, rows: dict[str, Any], own: Any) -> Any:
        import numpy as np

        found = np.zeros(len(own), bool)
        steps = rows["steps"]
        for some in _subsets(rows["class"]):
            here = own & some & ~rows["gray"]
            found[here] |= swapped(steps[here], steps[some & ~own & ~rows["gray"]])
        return found

    def judge(self, facts: Facts) -> Iterable[Finding]:
        found = sorted(facts.all(COLOURS), key=lambda fact: int(fact.value["count"]))
        told = set[str | None]()
        for fact in found:
            v, name, n = fact.value, escaped(self.name), fact.value["count"]
            if fact.at["odd"] == "swapped":
                if v["class"] in told:
                    continue  # of two splits that are each other's reverse, the smaller part is told
                told.add(v["class"])
            label = f", all labelled {escaped(v['class'])}," if v["class"] else ""
            text = f"{n:,} of {number(v['of'], 'image')} {told_of(SPLIT, [str(fact.at['split'])])}{label} {verb(n, 'have')} "
            if fact.at["odd"] == "gray":
                text += f"no colour ({name} has three equal channels), while all other splits are in colour"
                fix = "fetch these images again from their source, or make all images gray: otherwise a model learns the split or the class from the missing colour"
            else:
                text += f"red and blue swapped in {name}: swapped back, they are like those of the other splits"
                fix = "compare a few with the others; if so, read all images in one channel order (OpenCV reads BGR, most others RGB)"
            yield finding("preprocessing-differs", "warning", text, fact, fix, v["where"], n)


def _subsets(classes: Any) -> Iterator[Any]:
    """All images, and those of each class."""
    import numpy as np

    known, which = np.unique(classes, return_inverse=True)
    yield np.ones(len(classes), bool)
    if len(known) > 1:
        yield from (which == k for k in range(len(known)))


def lost(gray: Any, own: Any) -> Any:
    """Which images of a split are gray, where none is elsewhere; bool [n]."""
    sure = (
        not gray[~own].any()
        and (~own).sum() >= OUTSIDE
        and only_there(int(gray[own].sum()), int(own.sum()), int((~own).sum()))
    )
    return gray & own & sure


def swapped(steps: Any, others: Any) -> Any:
    """Which images of a split are like those of the others once red and blue are swapped; bool [n].

    Args:
        steps, others: by how much red exceeds green and green exceeds blue, [n, 2].
    """
    import numpy as np

    none = np.zeros(len(steps), bool)
    if len(others) < OUTSIDE or not len(steps):
        return none
    low, high = np.quantile(others, [TAIL, 1 - TAIL], axis=0)
    width = WIDER * (high - low) + 1

    def inside(some: Any) -> Any:
        return ((some >= low - width) & (some <= high + width)).all(1)

    side = np.sign(np.median(others.sum(1)))
    usual = side * others.sum(1)
    if np.median(usual) < LEVELS or (usual <= 0).mean() > TAIL or inside(-others[:, ::-1]).mean() > TAIL:
        return none
    back = inside(-steps[:, ::-1]) & (side * steps.sum(1) < 0)
    clear = (back | inside(steps)).mean() >= CLEAR
    return back if clear and only_there(int(back.sum()), len(back), len(others)) else none


CHECK = PartColours

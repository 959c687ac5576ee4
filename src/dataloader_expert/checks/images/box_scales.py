"""Boxes of a smaller copy of their images: those of one kind of file all lie near the top left corner, where those of others do not.

Files are of one kind if they are in one split and their names begin with the same letters, such as those of one camera, or if the images
are of one size, to which some may have been resized without their boxes. Told is a
kind whose boxes all end before a part of the width and the height that so many images of the others hardly all end before by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.images.placed_boxes import NARROW
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block

LEAST, KINDS, MOST = 12, 50, 500_000
"""The fewest images of a kind, the most kinds that are compared, and the most images that are kept."""
PART, CHANCE = 0.75, 1e-9
"""The largest part of the image that boxes of a smaller copy reach, and how unlikely that must be by chance."""
CORNER = 0.05
"""How much further from the left and the top than in a smaller copy the nearest box may be: else the objects are where they are."""
_LETTERS = re.compile(r"[^\d]*?(?=[\W_]*\d|\.[^.]*$|$)")


class BoxScales(Check):
    ids = ("box-scale",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.boxes = next((f.name for f in context.fields if has_boxes(f)), None)
        self.picture = next((f.name for f in context.fields if f.kind == "image"), None)
        self.rows: list[tuple[int, str, str, str, float, float, float, float]] = []
        """Of each image with boxes: its index and file, its kind by name and by size, where its boxes end to the right and below and begin, as
        shares."""

    def applies(self) -> bool:
        return self.boxes is not None and self.picture is not None and self.context.corners

    def looked(self) -> bool:
        return bool(self.rows)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        boxes, pictures = (block.columns.get(name or "") for name in (self.boxes, self.picture))
        if boxes is None or pictures is None:
            return
        splits, codes = self.context.splits_of(block)
        for i, (around, picture) in enumerate(zip(boxes.values, pictures.values, strict=False)):
            if around is None or not len(around) or not hasattr(picture, "getbands") or len(self.rows) >= MOST:
                continue
            shares = np.asarray(around, np.float64) / np.array([picture.width, picture.height] * 2)
            shares = shares[np.isfinite(shares).all(1)]
            if len(shares):
                kind = f"{splits[int(codes[i])] or ''}/{kind_of(block.file(i))}"
                low, high = shares.min(0), shares.max(0)
                size = f"{picture.width} x {picture.height}"
                self.rows.append((block.index(i), block.file(i), kind, size, high[2], high[3], low[0], low[1]))

    def merge(self, other: Check) -> None:
        assert isinstance(other, BoxScales)
        self.seen += other.seen
        self.rows += other.rows

    def facts(self) -> Iterable[Fact]:
        by_name = [*self._near_the_corner([row[2] for row in self.rows], "named")]
        yield from by_name or self._near_the_corner([row[3] for row in self.rows], "sized")

    def _near_the_corner(self, of: list[str], by: str) -> Iterable[Fact]:
        """The kinds whose boxes lie near the corner; ``of``: each image's kind."""
        import numpy as np

        kinds = sorted({*of})
        if not 2 <= len(kinds) <= KINDS:
            return
        number_of = {kind: k for k, kind in enumerate(kinds)}
        whose = np.array([number_of[kind] for kind in of])
        ends, begins = (np.array([row[k : k + 2] for row in self.rows]) for k in (4, 6))
        for k, kind in enumerate(kinds):
            own, others = whose == k, whose != k
            if own.sum() < LEAST or others.sum() < own.sum():
                continue
            part = float(ends[own].max())
            beyond = float((ends[others] > part).any(1).mean())
            near = bool((begins[own].min(0) <= part * begins[others].min(0) + CORNER).all())
            if part <= PART and near and beyond < 1 and own.sum() * np.log1p(-beyond) <= np.log(CHANCE):
                places = Places()
                for at in np.flatnonzero(own).tolist():
                    places.at("own", self.rows[at][0], self.rows[at][1], self.boxes)
                split, _, letters = kind.partition("/") if by == "named" else ("", "", kind)
                value = {"images": int(own.sum()), "part": part, "beyond": beyond, "where": places.of("own")}
                yield Fact(NARROW, value, self.evidence(), {"field": self.boxes, "split": split, by: letters})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NARROW):
            v, split = fact.value, escaped(str(fact.at["split"]))
            of = f" of {split}" if split else ""
            of += (
                f" named {escaped(str(fact.at['named']))}…" if "named" in fact.at else f" of {fact.at['sized']} pixels"
            )
            text = f"all boxes of the {number(v['images'], 'image')}{of} lie within the first {v['part']:.0%} of the width and the "
            text += f"height, while {v['beyond']:.0%} of the other images have boxes beyond that: they seem to be drawn on smaller copies of the images"
            fix = "check a few; if so, scale the boxes by the ratio of the image sizes"
            yield finding("box-scale", "warning", text, fact, fix, v["where"], v["images"])


def kind_of(path: str) -> str:
    """The letters with which a file's name begins, up to its first number."""
    found: Any = _LETTERS.match(path.rsplit("/", 1)[-1])
    return found[0] if found else ""


CHECK = BoxScales

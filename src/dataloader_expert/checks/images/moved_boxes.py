"""Boxes that fit the images before or after theirs in one stretch, where a label file was lost or added, or their own once mirrored; and those
of images here and there that fit once mirrored or enlarged (``scattered_boxes``), or of one split that fit once moved or narrowed
(``refitted_boxes``).

How well boxes fit an image is told by their sides (``edge_fits``). A box is no outline, so a single image says little; over a stretch
the differences add up.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, split_of
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.checks.images.edge_fits import ONE_SCENE, evened, fits
from dataloader_expert.checks.images.float_pictures import small_greys
from dataloader_expert.checks.images.placed_boxes import NARROW, Placed
from dataloader_expert.checks.images.refitted_boxes import CHANGES, Sides, refitted
from dataloader_expert.checks.images.scattered_boxes import MIRRORED as FLIPS
from dataloader_expert.checks.images.scattered_boxes import MOST as SOME
from dataloader_expert.checks.images.scattered_boxes import scattered
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

MOVED = Quantity(
    "moved_boxes", "samples", "the stretch in which boxes fit the previous or next image instead of their own"
)
SCATTERED = Quantity(
    "scattered_boxes", "samples", "samples whose boxes only fit after mirroring or scaling, with places"
)
REFITTED = Quantity(
    "refitted_boxes", "samples", "samples of a split whose boxes all fit better once changed in one way"
)
LEAST, MOST, PIECE = 60, 20_000, 1_024
"""The fewest images that tell what is usual, how many are looked at, and how many at a time."""
WAYS = (((), 1), ((), -1), ((2,), 0), ((1,), 0))
"""Over the image after, over that before, and mirrored left to right and top to bottom."""
MIRRORED = {2: "left to right", 3: "top to bottom"}
SHORTEST, SURE, TELLS = 5, 6.0, 0.5
"""The shortest stretch; by how many standard deviations its boxes must fit better than usual; and how many of these an image of its own
usually fits better by."""


class MovedBoxes(Check):
    ids = ("rows-shifted", "box-mirrored", "box-scale", "preprocessing-differs")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.placed = Placed(context)
        self.files = Files()
        self.parts: list[tuple[Any, Any, Any]] = []
        """Of each block: the indices of its samples, small copies of their images in gray, uint8 [n, 32, 32], and digests of their splits."""
        self.splits = Named(20)

    def applies(self) -> bool:
        return bool(self.placed.fields) and self.placed.picture is not None

    def see(self, block: Block) -> None:
        import numpy as np

        picture = self.placed.picture
        self.seen += block.samples
        self.files.note(block)
        if picture not in block.columns or block.index(0) >= MOST:
            return
        self.placed.see(block)
        gray = evened(small_greys(block, picture))
        rows = np.arange(len(gray))
        self.parts.append((block.indices(rows), gray, self.splits.coded(split_of(self.context, block, rows))))

    def merge(self, other: Check) -> None:
        assert isinstance(other, MovedBoxes)
        self.seen += other.seen
        self.placed.merge(other.placed)
        self.files.merge(other.files)
        self.splits.merge(other.splits)
        self.parts += other.parts

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if sum(len(index) for index, *_ in self.parts) < LEAST:
            return
        index, gray, splits = (np.concatenate([part[k] for part in self.parts]) for k in (0, 1, 2))
        order = np.argsort(index)
        index, gray, splits = index[order], gray[order], splits[order]
        for name in self.placed.parts:
            drawn = self._drawn(name, index, gray.shape[1])
            at = np.flatnonzero(drawn.reshape(len(drawn), -1).max(1) > 0)
            pieces = [at[i : i + PIECE] for i in range(0, len(at), PIECE)]
            if len(at) < LEAST:
                continue
            fit = np.concatenate([fits(gray[p].astype(np.float64), drawn[p], index[p], WAYS) for p in pieces], 1)
            found = moved(fit)
            if found is not None:
                first, last, way = found
                value = {"first": int(index[at[first]]), "last": int(index[at[last]]), "way": way}
                yield Fact(MOVED, value, self.evidence(n=len(at)), {"field": name})
                continue
            some = index[:SOME], gray[:SOME].astype(np.float64)
            odd = scattered(some[1], partial(self._drawn, name, some[0], gray.shape[1]), some[0])
            if odd is None and len(self.splits.texts) > 1:
                yield from self._refitted(name, index[:SOME], gray[:SOME].astype(np.float64), splits[:SOME])
            if odd is not None:
                where = self.files.places(some[0][odd.rows].tolist(), name)
                told = {"count": len(odd.rows), "flips": FLIPS.get(odd.flips), "scale": odd.scale, "where": where}
                yield Fact(SCATTERED, told, self.evidence("sampled", len(some[0])), {"field": name})

    def _refitted(self, name: str, index: Any, gray: Any, splits: Any) -> Iterable[Fact]:
        import numpy as np

        known, which = np.unique(splits, return_inverse=True)
        side = gray.shape[1]
        found = refitted(gray, lambda at, change: self._drawn(name, at, side, change=change), index, which)
        if found is not None:
            own = which == found[0]
            value = {"change": found[1], "count": int(own.sum()), "where": self.files.places(index[own].tolist(), name)}
            at = {"field": name, "split": self.splits.texts.get(int(known[found[0]]), "")}
            yield Fact(REFITTED, value, self.evidence("sampled", len(index)), at)

    def _drawn(self, name: str, index: Any, side: int, scale: float = 1.0, change: Sides | None = None) -> Any:
        """Each sample's boxes, enlarged or changed so, as areas of their own number, the largest first, int [n, side, side]; nothing where there are none,
        or one would lie beyond the image."""
        import numpy as np

        areas = np.zeros((len(index), side, side), np.int16)
        sides, samples = self.placed.shares(name)
        at = np.searchsorted(index, samples)
        known = np.isfinite(sides).all(1) & (at < len(index))
        known[known] = index[at[known]] == samples[known]
        if scale > 1:
            sides = sides * scale
            known &= ~np.isin(samples, samples[(sides > 1 + 1 / side).any(1)])
        sides = sides if change is None else change(sides)
        cells = np.rint(sides.clip(0, 1) * side)[known].astype(int)
        sizes = (cells[:, 2] - cells[:, 0]) * (cells[:, 3] - cells[:, 1])
        for k, i in enumerate(np.argsort(-sizes, kind="stable").tolist(), 1):
            left, top, right, low = cells[i].tolist()
            areas[at[known][i], top:low, left:right] = k % 30_000 + 1
        return areas

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SCATTERED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} of {number(v['count'], 'image')} only fit after mirroring {v['flips']}"
            fix, code = "check a few; if so, mirror their boxes as the images were", "box-mirrored"
            if v["flips"] is None and any(facts.all(NARROW)):
                continue  # told with what these images have in common
            if v["flips"] is None:
                text = f"{name} of {number(v['count'], 'image')} only fit when scaled by {v['scale']:g}: "
                text += "they seem to be drawn on smaller copies"
                fix, code = "check a few; if so, scale the boxes by the ratio of the image sizes", "box-scale"
            yield finding(code, "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(REFITTED):
            v, name, split = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["split"]))
            text = (
                f"{name} of {split} do not fit their images as those of the other splits do: they fit them better once "
            )
            text += f"{CHANGES[v['change']].words}"
            fix = f"draw a few of {split} over their images; if so, convert them again from their source"
            yield finding("preprocessing-differs", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(MOVED):
            v = fact.value
            name, there = escaped(str(fact.at["field"])), self.files.stretch(v["first"], v["last"])
            by = WAYS[v["way"]][1]
            text = f"{name} seem to belong to other images in {there}: there they fit the {'next' if by > 0 else 'previous'} image"
            fix = "check where the stretch begins: an image or its labels were probably lost or added there; pair them again"
            if not by:
                text = f"{name} seem to be mirrored in {there}: there they fit their images after mirroring {MIRRORED[v['way']]}"
                fix = "apply the same flip to these boxes as to their images"
            where = [
                {"sample": at, "file": self.files.of(at), "field": fact.at["field"]} for at in (v["first"], v["last"])
            ]
            code = "rows-shifted" if by else "box-mirrored"
            yield finding(code, "warning", text, fact, fix, where, v["last"] - v["first"] + 1)


def moved(fit: Any) -> tuple[int, int, int] | None:
    """The first and the last row of the stretch that fits in another way, and which of ``WAYS``, from what ``fits`` gives; None if none."""
    import numpy as np

    best: tuple[float, tuple[int, int, int]] | None = None
    for k in range(1, len(WAYS) + 1):
        gain = fit[0, :, k] - fit[0, :, 0]
        known = np.flatnonzero(np.isfinite(gain))
        if len(known) < LEAST or np.median(fit[1, 1:, 0]) >= ONE_SCENE:
            continue
        usual = float(np.median(gain[known]))
        spread = 1.4826 * float(np.median(np.abs(gain[known] - usual)))
        if spread <= 0 or -usual < TELLS * spread:
            continue
        kept = np.clip(gain[known], usual - 3 * spread, 3 * spread - usual)
        start, end = highest(kept)
        rows, total = end - start, float(kept[start:end].sum())
        if rows < SHORTEST or rows > len(known) / 2:
            continue
        sure = (total - rows * usual) / (spread * rows**0.5)
        if sure >= SURE and total >= -usual * rows / 2 and (best is None or sure > best[0]):
            best = sure, (int(known[start]), int(known[end - 1]), k - 1)
    return None if best is None else best[1]


CHECK = MovedBoxes

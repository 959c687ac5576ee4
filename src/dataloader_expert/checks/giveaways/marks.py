"""Marks at a fixed place that give a class away: a stamp, a caliper mark or a logo in all images of one class, or of one class in one split, and
in no others; and blur that one class has, as of images that were enlarged.

A mark is small and the same in all of them, to within what JPEG leaves of it, and stands out from a picture that varies around it. What
belongs to a class's content varies, or is most of the picture, as an even ground is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.fixed_marks import ELSEWHERE, NEARLY, SAME, mark
from dataloader_expert.checks.common.picture_hashes import sharpness_of, small_of, visible
from dataloader_expert.checks.common.rows_kept import Named, places, split_of
from dataloader_expert.checks.common.sharpness import BLURRED, LESS_SHARP
from dataloader_expert.checks.giveaways.by_class import DrawnByClass
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

MARKED = Quantity(
    "class_marked", "samples", "samples of a class whose images all have the same small mark at one place"
)
BORDERED = Quantity(
    "class_bordered", "samples", "samples of a class whose images all have an even border, and no others"
)
BLURRY = Quantity("class_blurred", "samples", "samples of a class whose images are all blurred, and no others")
EVEN, VARIED, STEP, ALONG, WIDEST = 2.0, 4.0, 10.0, 0.6, 8
"""The largest spread of a line of pixels of a border; the least one of the picture behind it, by how many steps of gray it differs, and on which share
of the line; and the most lines of 32 of a border."""
KEPT, CLASSES, SPLITS, LEAST = 3_000, 60, 20, 25
"""The most images whose small copies are kept, the most classes and splits, and the fewest images of a class and of all others."""
BLURS = 0.95
"""The least share of a class that is blurred."""


class Marks(DrawnByClass):
    ids = ("label-leaked-by-field",)
    kind, most, classes = "image", KEPT, CLASSES

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.splits = Named(SPLITS)
        self.beside = [self.called, self.splits]

    def rows(self, block: Block) -> Any:
        return visible(block, self.name, super().rows(block))

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept = {"small": small_of(block, self.name, rows)}
        kept["split"] = self.splits.coded(split_of(self.context, block, rows))
        kept["sharp"] = np.array(sharpness_of(block, self.name), np.float64)[rows]
        kept["class"] = self.called.of(block.columns[self.label], rows)
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.called.many:
            return
        _, rows = self.drawn.all()
        small = rows["small"].reshape(-1, 32, 32).astype(np.float32)
        bars = bordered(small)
        for digest, text in sorted(self.called.texts.items(), key=lambda item: item[1]):
            own = rows["class"] == np.uint64(digest)
            if not text or min(own.sum(), (~own).sum()) < LEAST:
                continue
            if blurred(rows["sharp"][own], rows["sharp"][~own]):
                value = {"class": text, "count": int(own.sum()), "where": places(rows, own, self.name)}
                yield Fact(BLURRY, value, self.evidence("sampled", len(own)), {"field": self.name, "class": text})
            if bars[own].mean() >= NEARLY and bars[~own].mean() <= ELSEWHERE:
                value = {"class": text, "count": int(own.sum()), "where": places(rows, own, self.name)}
                yield Fact(BORDERED, value, self.evidence("sampled", len(own)), {"field": self.name, "class": text})
                continue
            parts = {"": own} | {
                name: own & (rows["split"] == np.uint64(k)) for k, name in self.splits.texts.items() if name
            }
            for split, part in parts.items():
                box = mark(small[part], small[~part]) if part.sum() >= LEAST else None
                if box is None:
                    continue
                value = {
                    "class": text,
                    "split": split,
                    "count": int(part.sum()),
                    "box": [round(100 * n / 32) for n in box],
                }
                value["where"] = places(rows, part, self.name)
                at = {"field": self.name, "class": text, "split": split}
                yield Fact(MARKED, value, self.evidence("sampled", len(own)), at)
                if not split:
                    break  # all of the class have it

    def judge(self, facts: Facts) -> Iterable[Finding]:
        severity: Severity = "info" if self.context.guessed else "warning"
        for fact in facts.all(BORDERED):
            v = fact.value
            named = self.context.class_name(int(v["class"]) if v["class"].isdecimal() else v["class"])
            text = f"a plain border in {escaped(self.name)} gives class {escaped(named)} away: {number(v['count'], 'sample')} of that class that were "
            text += "checked have one, and hardly any others do"
            fix = "crop the borders off before resizing, and find out what else differs between the classes' sources"
            yield finding("label-leaked-by-field", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(BLURRY):
            v = fact.value
            named = self.context.class_name(int(v["class"]) if v["class"].isdecimal() else v["class"])
            text = f"blur in {escaped(self.name)} gives class {escaped(named)} away: {number(v['count'], 'sample')} of that class that were checked "
            text += "are blurred, and hardly any others are"
            fix = "fetch them at the resolution of the others, or bring all images down to theirs, unless the class itself is smooth, as fog is"
            yield finding("label-leaked-by-field", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(MARKED):
            v = fact.value
            top, left, bottom, right = v["box"]
            named = self.context.class_name(int(v["class"]) if v["class"].isdecimal() else v["class"])
            text = f"a mark at a fixed place in {escaped(self.name)} gives class {escaped(named)} away"
            text += f" in {escaped(v['split'])}" if v["split"] else ""
            text += f": {number(v['count'], 'sample')} of it that were checked have the same small patch from {top} to {bottom} % of the height and from {left} to {right} % of "
            text += "the width, and hardly any others do"
            fix = "cover or crop that place in all images: a model learns the mark instead of the class"
            yield finding("label-leaked-by-field", severity, text, fact, fix, v["where"], v["count"])


def blurred(own: Any, others: Any) -> bool:
    """Whether nearly all images of a class are blurred and hardly any others, by how sharp each is; NaN where that is unknown."""
    import numpy as np

    own, others = own[np.isfinite(own)], others[np.isfinite(others)]
    if min(len(own), len(others)) < LEAST:
        return False
    least = min(BLURRED, float(np.median(others)) / LESS_SHARP)
    return bool((own < least).mean() >= BLURS and (others < least).mean() <= ELSEWHERE)


def bordered(small: Any) -> Any:
    """Which images, [n, 32, 32], have on some side lines of one gray with the picture right behind them, bool [n]. An even ground goes on."""
    import numpy as np

    found = np.zeros(len(small), bool)
    for turned in (small, small[:, ::-1], small.transpose(0, 2, 1), small.transpose(0, 2, 1)[:, ::-1]):
        lines = turned[:, : WIDEST + 2]
        spread, level, each = lines.std(2), lines.mean(2), np.arange(len(small))
        even = spread <= EVEN
        width = np.where(even.all(1), 0, even.argmin(1))  # lines before the first that is not even
        behind = each, np.minimum(width + 1, WIDEST + 1)  # the next line may lie across the edge
        step = np.abs(level[behind] - level[:, 0])
        unlike = (np.abs(lines[behind] - level[:, :1]) > SAME).mean(1) >= ALONG
        found |= (width >= 1) & (width <= WIDEST) & (spread[behind] >= VARIED) & (step >= STEP) & unlike
    return found


CHECK = Marks

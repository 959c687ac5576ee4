"""Object detection boxes: without area, not numbers, or outside their image."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.images.placed_boxes import Placed
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

BOXES = Quantity(
    "boxes", "boxes", "number of boxes, their format, and those degenerate or outside the image, with places"
)
MISREAD = Quantity(
    "boxes_misread",
    "images",
    "images whose boxes only fit if their numbers are read differently from the others'",
)

NEARLY_ALL = 0.8
"""The share of boxes outside their images from which not these boxes are wrong, but the scale of all."""


class Boxes(Check):
    ids = ("box-degenerate", "box-outside")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.placed = Placed(context)

    def applies(self) -> bool:
        return bool(self.placed.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.placed.see(block)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Boxes)
        self.seen += other.seen
        self.placed.merge(other.placed)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, parts in self.placed.parts.items():
            boxes, _, samples = self.placed.of(name)
            files = [p[3] for p in parts for _ in range(len(p[0]))]
            form, unit, flat, out, others = self.placed.judged(name)
            value: dict[str, Json] = {"boxes": len(boxes), "format": form, "unit": unit}
            for key, wrong in (("degenerate", flat), ("outside", out)):
                at = sorted(np.flatnonzero(wrong).tolist(), key=lambda i: int(samples[i]))
                places = [{"sample": int(samples[i]), "file": files[i] or None, "field": name} for i in at[:MAX_PLACES]]
                value |= {key: int(wrong.sum()), f"{key}_where": places}
            yield Fact(BOXES, value, self.evidence(), {"field": name})
            for reading, images in others:
                own, kept = np.flatnonzero(np.isin(samples, images)).tolist(), Places()
                for i in {int(samples[i]): i for i in own}.values():
                    kept.at(name, int(samples[i]), files[i], name)
                told = {
                    "images": len(images),
                    "boxes": len(own),
                    "format": form,
                    "unit": unit,
                    "every": len(own) == len(boxes),
                    "where": kept.of(name),
                }
                yield Fact(MISREAD, {**told, "fix": reading.fix}, self.evidence(), {"field": name, "if": reading.words})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BOXES):
            v, name = fact.value, escaped(fact.at["field"])
            read = f"read as {v['format']} in {v['unit']}"
            if v["degenerate"]:
                yield finding(
                    "box-degenerate",
                    "error",
                    f"{v['degenerate']} of {v['boxes']} boxes in {name} {verb(v['degenerate'], 'have no area')}, corners in the wrong order or a NaN ({read})",
                    fact,
                    "drop or redraw them: many losses become NaN on such boxes",
                    v["degenerate_where"],
                    v["degenerate"],
                )
            if v["outside"]:
                text = f"{v['outside']} of {v['boxes']} boxes in {name} {verb(v['outside'], 'extend beyond')} the image ({read})"
                fix = "clip them to the image; if there are many, check the box format and unit"
                if v["boxes"] > 1 and v["outside"] >= NEARLY_ALL * v["boxes"]:
                    text += ": they seem to be on another scale than the images"
                    fix = "scale the boxes to the image as the model gets it, and draw a few on their images to check"
                yield finding(
                    "box-outside",
                    "warning",
                    text,
                    fact,
                    fix,
                    v["outside_where"],
                    v["outside"],
                )
        for fact in facts.all(MISREAD):
            v, name = fact.value, escaped(fact.at["field"])
            if v["every"]:
                text = f"more than a fifth of the {v['boxes']} boxes in {name} extend beyond their images, but nearly all fit if {fact.at['if']}: "
                text += "all seem to be written differently from what their format asks for"
                fix = f"draw a few on their images; if so, {v['fix']}"
            else:
                text = f"in {number(v['images'], 'image')}, boxes in {name} extend beyond the image, but all fit if {fact.at['if']}: "
                text += "they are written differently from the others"
                fix = f"{v['fix']}; also check other images from the same source: their boxes may fit by chance"
            yield finding(
                "box-outside",
                "error",
                text,
                fact,
                fix,
                v["where"],
                v["boxes"],
            )


CHECK = Boxes

"""Classes of objects or of masks that have in a split or a group the looks of each other: it was labelled by another list of classes.

Method: of each box, and of each class in a mask, the mean colour of its pixels, its spread, its area and its shape; the class that these
tell (the nearest mean), learnt on all other splits or groups, is a permutation of what they tell elsewhere (``swapped_classes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.class_tellers import by_means
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.origins import SPLIT, Origins, called
from dataloader_expert.checks.common.renumbered import RENUMBERED
from dataloader_expert.checks.common.rows_kept import at_of, places
from dataloader_expert.checks.common.swapped_classes import swaps
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import array_of, has_boxes
from dataloader_expert.sources.base import Block, Column

LOOKS_SWAPPED = Quantity(
    "class_looks_swapped",
    "objects",
    "objects, or mask classes, of a group or split in which classes look like other classes elsewhere, and which, with places",
)
KEPT, IMAGES, EACH, MOST_CLASSES = 10_000, 4_000, 8, 50
"""The most objects, images that they are of, objects of an image, and classes."""
LEAST, SHOWN = 60, 12
"""The fewest objects, and pixels of a class in a small mask."""
CORE = 0.5
"""The share of a box's sides, around its middle, whose pixels are looked at: there, they are most likely the object's."""
PIXELS = 8
"""Pixels on each side of what is looked at of a box."""
MEASURES = 8
TOLD = 5
"""The most swapped classes that are told."""


class ClassLooks(Check):
    ids = ("label-odd-one-out", "label-drift")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        images = [f.name for f in context.fields if f.kind == "image"]
        self.image = images[0] if len(images) == 1 else ""
        self.boxes = next((f.name for f in context.fields if has_boxes(f)), "") if context.corners else ""
        self.classes = context.classes_of_objects or ""
        self.names = [self.classes] if self.boxes and self.classes else context.masks
        self.origins = Origins(context)
        self.drawn = {name: Drawn(IMAGES) for name in self.names}

    def applies(self) -> bool:
        return bool(self.image and self.names and self.origins.named)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        images = block.columns.get(self.image)
        for name, drawn in self.drawn.items() if images is not None else ():
            rows = drawn.rows(block) if block.samples and name in block.columns else np.zeros(0, np.int64)
            if not len(rows):
                continue
            made = [self._looks(name, block, i, _at(images, i)) for i in rows.tolist()]
            x = np.full((len(rows), EACH, MEASURES), np.nan, np.float32)
            classes = np.full((len(rows), EACH), -1, np.int64)
            for k, (own, looks) in enumerate(made):
                x[k, : len(own)], classes[k, : len(own)] = looks, own
            kept = {"looks": x.reshape(len(rows), -1), "classes": classes} | self.origins.of(block, rows)
            drawn.keep(block, rows, kept | at_of(block, rows))

    def _looks(self, name: str, block: Block, i: int, image: Any) -> tuple[Any, Any]:
        """The classes of some objects of a sample, int64 [n], and how they look, [n, MEASURES]."""
        import numpy as np

        value = _at(block.columns.get(name), i)
        found: tuple[tuple[int, Any], ...] = ()
        if value is not None and self.boxes:
            boxes = _at(block.columns.get(self.boxes), i)
            boxes = None if boxes is None else array_of(boxes)
            found = tuple(_of_boxes(image, boxes, array_of(value)))
        elif value is not None:
            found = tuple(_of_mask(image, value))
        if not found:
            return np.zeros(0, np.int64), np.zeros((0, MEASURES))
        return np.array([c for c, _ in found]), np.stack([looks for _, looks in found])

    def merge(self, other: Check) -> None:
        assert isinstance(other, ClassLooks)
        self.seen += other.seen
        self.origins.merge(other.origins)
        for name, drawn in self.drawn.items():
            drawn.merge(other.drawn[name])

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, drawn in self.drawn.items():
            if not drawn.parts:
                continue
            _, rows = drawn.all()
            at, k = np.nonzero(rows["classes"] >= 0)
            at, k = at[:KEPT], k[:KEPT]
            x = rows["looks"].reshape(len(rows["classes"]), EACH, MEASURES)[at, k]
            own = rows["classes"][at, k]
            rows = {key: values[at] for key, values in rows.items() if key not in ("looks", "classes")}
            classes, label = np.unique(own, return_inverse=True)
            if len(own) >= LEAST and 2 <= len(classes) <= MOST_CLASSES:
                yield from self._swapped(name, rows, x, classes, label)

    def _swapped(self, field: str, rows: dict[str, Any], x: Any, classes: Any, label: Any) -> Iterable[Fact]:
        import numpy as np

        teller, swapped = by_means(x, label, len(classes)), np.zeros(len(label), bool)
        for name in self.origins.named:
            of, whose = self.origins.groups(name, rows)
            if len(of) < 2 or not self.origins.tells_where(name, of, clear=True):
                continue
            for k, found in swaps(teller, label, whose, len(of), self.origins.reference(name, of)).items():
                known = 2 * (found.rows & swapped).sum() >= found.rows.sum()  # those of a split that is told
                swapped |= found.rows
                if known:
                    continue
                pairs = [[self._name(classes[c]), self._name(classes[to])] for c, to in sorted(found.of.items())]
                value = {
                    "of": of[k],
                    "count": int(found.rows.sum()),
                    "seen": found.seen,
                    "usual": found.usual,
                    "pairs": pairs,
                    "where": places(rows, found.rows, field),
                }
                yield Fact(
                    LOOKS_SWAPPED,
                    value,
                    self.evidence("sampled", len(label)),
                    {"field": field, "by": name, "group": k},
                )

    def _name(self, one: Any) -> str:
        names = {} if self.context.objects is None else self.context.objects.names
        return names.get(int(one)) or str(int(one))

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(LOOKS_SWAPPED):
            v, split = fact.value, fact.at["by"] == SPLIT
            if split and any(other.at["split"] == v["of"] for other in facts.all(RENUMBERED)):
                continue  # the shapes of boxes tell it
            pairs = ", ".join(
                f"{escaped(there)} looks like {escaped(elsewhere)} elsewhere" for elsewhere, there in v["pairs"][:TOLD]
            )
            text = f"classes ({escaped(str(fact.at['field']))}) seem to be numbered differently in {called(fact.at['by'], v['of'])}: "
            text += (
                f"{pairs}{', …' if len(v['pairs']) > TOLD else ''}, in {v['count']:,} of {number(v['seen'], 'object')}"
            )
            fix = "compare the class lists used to label the two, and renumber one"
            code = "label-drift" if split else "label-odd-one-out"
            yield finding(code, "warning", text, fact, fix, v["where"], v["count"])


def _at(column: Column | None, i: int) -> Any:
    """A sample's value; None where there is none."""
    return column.values[i] if column is not None and i < len(column.values) else None


def _of_boxes(image: Any, boxes: Any, classes: Any) -> Iterator[tuple[int, Any]]:
    """The class and the looks of some objects, from left, top, right and bottom, in pixels or as shares, evenly among them."""
    import numpy as np

    if boxes is None or classes.ndim != 1 or classes.dtype.kind not in "iu" or boxes.shape != (len(classes), 4):
        return
    size = _size(image)
    if size is None or not len(boxes):
        return
    boxes = boxes.astype(np.float64) * (np.array([*size, *size]) if boxes.max() <= 1 else 1)
    for k in np.unique(np.linspace(0, len(boxes) - 1, min(EACH, len(boxes))).astype(int)).tolist():
        left, top, right, bottom = boxes[k]
        wide, high = right - left, bottom - top
        if not (
            wide >= 2 and high >= 2 and left >= -1 and top >= -1 and right <= size[0] + 1 and bottom <= size[1] + 1
        ):
            continue
        pad = (1 - CORE) / 2
        part = left + pad * wide, top + pad * high, right - pad * wide, bottom - pad * high
        pixels = _cut(image, part)
        if pixels is not None:
            shape = [np.log(wide * high / (size[0] * size[1])), np.log(wide / high)]
            yield int(classes[k]), _measures(pixels.reshape(-1, 3), shape)


def _of_mask(image: Any, mask: Any) -> Iterator[tuple[int, Any]]:
    """Each class of a mask, of the commonest, and the looks of its pixels."""
    import numpy as np

    pixels = _cut(image, None)
    small = np.asarray(mask.resize((32, 32), 0)) if hasattr(mask, "getbands") else _nearest(array_of(mask))
    if pixels is None or small is None or small.ndim != 2 or small.dtype.kind not in "biu":
        return
    values, counts = np.unique(small, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:EACH]
    for c in values[order[counts[order] >= SHOWN]].tolist():
        if c >= 0:
            yield int(c), _measures(pixels[small == c], [np.log((small == c).mean()), 0.0])


def _measures(pixels: Any, shape: list[float]) -> Any:
    """Means of the colours, [n, 3], their spreads, and what is known of the shape."""
    import numpy as np

    return np.concatenate([pixels.mean(0), pixels.std(0), shape])


def _nearest(array: Any) -> Any:
    """A small copy of a mask, [32, 32]; None of what is no mask."""
    import numpy as np

    if array.ndim == 3 and 1 in (array.shape[0], array.shape[2]):
        array = array.reshape([n for n in array.shape if n > 1] if array.size > 1 else (1, 1))
    if array.ndim != 2 or not array.size:
        return None
    down, across = ((np.arange(32) * 2 + 1) * n // 64 for n in array.shape)
    return array[down[:, None], across]


def _size(image: Any) -> tuple[int, int] | None:
    """Width and height of a picture."""
    if hasattr(image, "getbands"):
        return image.width, image.height
    if not hasattr(image, "ndim") or image.ndim not in (2, 3):
        return None
    high, wide = image.shape[1:] if image.ndim == 3 and image.shape[0] in (1, 3) else image.shape[:2]
    return int(wide), int(high)


def _cut(image: Any, box: tuple[float, float, float, float] | None) -> Any:
    """Some pixels of a picture, or of a box in it, evenly spread, float32 [h, w, 3]; three times the same of a gray one."""
    import numpy as np

    side = 32 if box is None else PIXELS
    if hasattr(image, "getbands"):
        if image.mode not in ("RGB", "L", "RGBA"):
            return None
        edges = (
            (0, 0, *image.size)
            if box is None
            else (max(0, box[0]), max(0, box[1]), min(box[2], image.width), min(box[3], image.height))
        )
        if edges[2] - edges[0] <= 0 or edges[3] - edges[1] <= 0:
            return None
        made = np.asarray(image.resize((side, side), 0, edges), np.float32)
    else:
        whole = image[0] if hasattr(image, "ndim") and image.ndim == 3 and image.shape[0] == 1 else image
        if not hasattr(whole, "ndim") or whole.ndim not in (2, 3) or not whole.size or whole.dtype.kind not in "uif":
            return None
        whole = whole.transpose(1, 2, 0) if whole.ndim == 3 and whole.shape[0] == 3 else whole
        left, top, right, bottom = box or (0, 0, whole.shape[1], whole.shape[0])
        steps = (np.arange(side) + 0.5) / side
        down = np.clip(top + steps * (bottom - top), 0, whole.shape[0] - 1).astype(int)
        across = np.clip(left + steps * (right - left), 0, whole.shape[1] - 1).astype(int)
        made = whole[down[:, None], across].astype(np.float32)
    made = made[..., None] if made.ndim == 2 else made
    return (
        np.broadcast_to(made, (side, side, 3)) if made.shape[2] == 1 else made[..., :3] if made.shape[2] >= 3 else None
    )


CHECK = ClassLooks

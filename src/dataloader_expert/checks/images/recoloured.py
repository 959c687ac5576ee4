"""Images of one camera, site, device or shard in which red and blue are swapped, as of a reader that takes BGR for RGB.

Pixels are sampled from images that are drawn. Once swapped, the colours of such a cohort are those of the others as nearly as theirs
are to one another, and as they are hardly any is. Another light or white balance tints a cohort too, sometimes just the other way round:
it multiplies channels, by less, and then explains as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.common.cohorts import SPLIT, DrawnImages, told_of
from dataloader_expert.checks.common.picture_hashes import looks
from dataloader_expert.checks.common.rows_kept import places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SWAPPED = Quantity(
    "red_and_blue_swapped",
    "images",
    "images of cohorts whose colours match the others only with red and blue swapped",
)
KEPT, LEAST = 4_000, 30
"""The most images whose pixels are kept, and the fewest of a cohort."""
EVERY, LEVELS = 4, 6
"""Which of the pixels that were sampled of an image are kept in each direction, and levels of each channel, by which colours are counted."""
UNLIKE, LESS = 0.4, 1 / 3
"""The least distance (total variation) of a cohort's colours from those of the others, and the share of it that remains at most."""
TIMES = 2.0
"""How far a cohort's colours may be from the others' once swapped, over what halves of the same cohorts are apart."""
TINT = 2.0
"""By how much another light, of lamps for that of the sky, may multiply red over blue once cameras balanced it as well as they do."""


class Recoloured(DrawnImages):
    ids = ("preprocessing-differs",)
    most = KEPT

    def rows(self, block: Block) -> Any:
        rows = super().rows(block)
        return rows[looks(block, self.name).coloured[rows]] if len(rows) else rows

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        pixels = looks(block, self.name).some[rows, EVERY // 2 :: EVERY, EVERY // 2 :: EVERY]
        return {"pixels": pixels.reshape(len(rows), -1)} | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        pixels = rows["pixels"].reshape(len(rows["pixels"]), -1, 3)
        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            odd = [] if kind == SPLIT else swapped(pixels, whose, len(names))  # splits are compared in drift
            marked = np.isin(whose, odd)
            splits = rows[f"cohort {SPLIT}"]
            if odd and np.isin(splits[marked], splits[~marked]).any():  # else it is a split, which is told there
                value = {"of": [names[k] for k in odd], "count": int(marked.sum())}
                value["where"] = places(rows, marked, self.name)
                yield Fact(SWAPPED, value, self.evidence("sampled", len(pixels)), {"field": self.name, "kind": kind})
                return

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            v, where = fact.value, told_of(str(fact.at["kind"]), fact.value["of"])
            text = f"red and blue seem to be swapped in {escaped(self.name)} {where}: the colours match those of the others only after "
            text += "swapping them back"
            fix = "compare a few with the others; if so, read all images in one channel order (OpenCV reads BGR, most others RGB)"
            yield finding("preprocessing-differs", "warning", text, fact, fix, v["where"], v["count"])


def swapped(pixels: Any, whose: Any, cohorts: int) -> list[int]:
    """The cohorts, fewer images than the others, whose colours are those of the others once red and blue are swapped.

    Args:
        pixels: uint8 [images, pixels, 3].
        whose: the cohort of each image, -1 for none.
    """
    import numpy as np

    sizes = np.bincount(whose[whose >= 0], minlength=cohorts)
    model = pixels[whose == int(sizes.argmax())]
    colours, turned = colours_of(model), colours_of(model[..., ::-1])
    odd = [
        k
        for k in range(cohorts)
        if (own := apart(colours_of(pixels[whose == k]), colours)) >= UNLIKE
        and apart(colours_of(pixels[whose == k]), turned) <= own / 2
    ]
    if 2 * sizes[odd].sum() > sizes.sum():
        odd = [k for k in range(cohorts) if k not in odd]
    there = whose >= 0
    others = pixels[there & ~np.isin(whose, odd)]
    return (
        odd if odd and are_swapped(pixels[np.isin(whose, odd)], others, _variety(pixels, whose, odd, cohorts)) else []
    )


def _variety(pixels: Any, whose: Any, odd: list[int], cohorts: int) -> float:
    """How far the colours of sound cohorts are from those of all, at most; 0 of a single one."""
    import numpy as np

    sound = [k for k in range(cohorts) if k not in odd]
    whole = colours_of(pixels[np.isin(whose, sound)])
    return max(apart(colours_of(pixels[whose == k]), whole) for k in sound) if len(sound) > 1 else 0.0


def are_swapped(own: Any, others: Any, variety: float) -> bool:
    """Whether images have the colours of the others, pixels uint8 [n, pixels, 3], with red and blue swapped, and no other light."""
    import numpy as np

    theirs = colours_of(others)
    as_is, back = apart(colours_of(own), theirs), apart(colours_of(own[..., ::-1]), theirs)
    halves = [apart(colours_of(part[::2]), colours_of(part[1::2])) for part in (own, others)]
    noise = math.hypot(*halves) / 2
    if as_is < max(UNLIKE, 2 * variety) or back > as_is * LESS or back > max(TIMES * noise, 1.5 * variety):
        return False
    means = [part.reshape(-1, 3).mean(0) + 1 for part in (own, others)]
    gains = means[1] / means[0]
    lit = apart(colours_of(np.clip(own * gains, 0, 255).astype(np.uint8)), theirs)
    tint = max(gains[0] / gains[2], gains[2] / gains[0])
    return bool(tint >= TINT or back <= lit / 2)


def colours_of(pixels: Any) -> Any:
    """The share of pixels in each cell of the cube of colours."""
    import numpy as np

    level = pixels.reshape(-1, 3).astype(np.int64) * LEVELS // 256
    counts = np.bincount(level @ np.array([LEVELS * LEVELS, LEVELS, 1]), minlength=LEVELS**3)
    return counts / max(1, len(level))


def apart(one: Any, two: Any) -> float:
    """Total variation distance."""
    import numpy as np

    return float(np.abs(one - two).sum()) / 2


CHECK = Recoloured

"""What a few small copies of images tell: whether two of them show the same scene, and whether one is a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Entry, Listing

COMPARED, FEWEST = 8, 4
"""The most and the fewest pairs of images that are compared."""
ALIKE = 0.75
"""The least share of images that resemble their own partner most: of eight, chance gives one."""
SAME = 0.98
"""The correlation from which small copies show the same scene."""
FEW, NEARLY_ALL = 32, 0.9
"""The most values in a mask, and the least share of its pixels that so many make up where edges are soft or were compressed."""
SMALL = 16
"""Height and width of the copies that are compared."""


def alike(some: Sequence[tuple[Look, Look]]) -> bool:
    """Whether enough pairs are looked at, and nearly each image resembles its own partner most."""
    return len(some) >= FEWEST and sum(_own_is_nearest(some)) >= ALIKE * len(some) and _as_wide(some)


def _as_wide(some: Sequence[tuple[Look, Look]]) -> bool:
    """Whether both of each pair have one size, or all partners are as many times larger."""
    return len({(round(two.width / one.width, 2), round(two.height / one.height, 2)) for one, two in some}) == 1


def _own_is_nearest(some: Sequence[tuple[Look, Look]]) -> list[bool]:
    """Of each image whether its own partner resembles it more than those of the others do, of which most must show something else."""
    import numpy as np

    one, two = (np.stack([look.small for look in side]) for side in zip(*some, strict=True))
    likeness = np.abs(one @ two.T)
    rivals = one @ one.T < SAME
    best = np.where(rivals, likeness, 0).max(1)
    enough = 2 * rivals.sum(1) >= len(some) - 1
    return [bool(own > most and many) for own, most, many in zip(likeness.diagonal(), best, enough, strict=True)]


@dataclass(frozen=True)
class Look:
    """What an image looks like: the values of a small copy around their mean, with norm 1, and whether few values make up nearly all
    pixels."""

    small: Any
    few: bool
    colour: bool
    width: int
    height: int


class Looks:
    """Looks at files, each at most once."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.known: dict[str, Look | None] = {}

    def of(self, pairs: Sequence[tuple[Entry, Entry]]) -> list[tuple[Look, Look]]:
        """Those of a few of the pairs, evenly spread, that can be read."""
        step = max(1, len(pairs) // COMPARED)
        both = [(self._at(one.path), self._at(two.path)) for one, two in pairs[::step][:COMPARED]]
        return [(one, two) for one, two in both if one is not None and two is not None]

    def _at(self, path: str) -> Look | None:
        if path not in self.known:
            self.known[path] = look_of(self.listing, path)
        return self.known[path]


def look_of(listing: Listing, path: str) -> Look | None:
    """What the image looks like; None if it cannot be read."""
    import numpy as np

    from dataloader_expert.sources.pictures import as_grey, as_rgb, decode_image, in_colour

    try:
        image = decode_image(listing.read(path), path)
    except Unreadable:
        return None
    grey = as_grey(image)
    small = np.asarray(grey.resize((SMALL, SMALL)), float).ravel()
    small -= small.mean()
    pixels = np.asarray(image if image.mode in ("P", "L", "1") or image.mode.startswith("I") else as_rgb(image))
    flat = pixels.reshape(-1, 3) @ np.array([1, 256, 65536]) if pixels.ndim == 3 else pixels.ravel()
    counts = np.sort(np.unique(flat, return_counts=True)[1])[::-1]
    colour = in_colour(image)
    few = len(counts) <= FEW or (not colour and bool(counts[:FEW].sum() >= NEARLY_ALL * flat.size))
    return Look(small / (np.linalg.norm(small) + 1e-9), few, colour, image.width, image.height)

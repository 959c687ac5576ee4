"""Near copies among so many images that only some of them can be aligned: near hashes, as far as alignment confirms those of a sample."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataloader_expert.checks.common.fingerprint import mix
from dataloader_expert.checks.duplicates.image_copies import SAME_FRAME, Images, copies, same_colours, same_frame
from dataloader_expert.checks.duplicates.near_hashes import CONFIRMED, close

CLOSE = 8
"""The most bits in which hashes of copies differ, where nothing else is compared."""
MOST, SOME = 40_000, 16_384
"""The most images of which all are aligned, and about how many at most are chosen of more."""
CONFIRMING = 0.5
"""The share of a sample's near hashes that must be of copies, so that near hashes are told without alignment."""


class Hashed(NamedTuple):
    """What is compared of n images: a hash each; tints, frames and digests of the other fields, as of ``Images``."""

    hashes: Any
    tints: Any
    frames: Any
    rest: Any


class Told(NamedTuple):
    """Pairs of near copies; by which rule they were found, and what further ones were not."""

    pairs: list[tuple[int, int]]
    rule: str
    missed: str = ""


def chosen(index: Any, halvings: int) -> Any:
    """Which of the images of these indices are in a random half, quarter and so on; bool [n]."""
    import numpy as np

    return mix(index.astype(np.uint64)) >> np.uint64(64 - halvings) == 0 if halvings else np.ones(len(index), bool)


def halvings(images: int) -> int:
    """How often so many images must be halved for alignment."""
    return 0 if images <= MOST else (images // SOME).bit_length()


def told_by_hashes(every: Hashed, some: Images, at: Any) -> Told:
    """Of all images; ``at``: where those of which there is ``some`` more are among them."""
    import numpy as np

    rule = f"DCT hashes within {CLOSE} of 64 bits, without alignment because there are over {MOST:,} images"
    near = alike(every)
    tried = np.arange(len(at))
    while len(few := alike(Hashed(*(part[at[tried]] for part in every)))) > CONFIRMED:
        tried = tried[::2]
    if not few:
        return Told(near, rule)
    kept = copies(Images(*(part[tried] for part in some))).pairs
    confirmed = len({*few} & {*kept})
    share = f"{confirmed:,} of {len(few):,} such pairs"
    if confirmed >= CONFIRMING * len(few):
        return Told(near, f"{rule}; in a sample of {len(tried):,}, alignment confirmed {share}")
    sample = f"a sample of {len(tried):,} of {len(every.hashes):,} images"
    rule = f"found by alignment in {sample}; hashes alone do not tell copies here, since alignment confirmed {share}"
    places = at[tried].tolist()
    return Told([(places[a], places[b]) for a, b in kept], rule, "near duplicates of images outside the sample")


def alike(images: Hashed) -> list[tuple[int, int]]:
    """The pairs with near hashes that may be copies by colours, margins and other fields."""
    hashes, tints, frames, rest = images
    return [
        (a, b)
        for a, b in close(hashes, CLOSE)
        if rest[a] == rest[b] and same_colours(tints[a], tints[b]) and same_frame(frames[a], frames[b], SAME_FRAME)
    ]

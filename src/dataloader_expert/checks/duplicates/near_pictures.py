"""Images that are nearly the same: re-encoded, resized, brightened, mirrored, turned by quarters, cropped,
bordered.

Method: the signs of the low 8 x 8 DCT coefficients of a 32 x 32 grey image (Zauner, "Implementation and benchmarking
of perceptual image hash functions", 2010) give candidates, as do those of the image
mirrored or turned. The margin, which may be
most of an image and the same in many, is removed first. Each candidate is confirmed by aligning the grey images, and in a crowd by
what chance brings (``crowded``). Pairs are not chained.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.picture_hashes import HASHED_FROM, insides, looks, low_frequencies, picture_hashes
from dataloader_expert.checks.duplicates.alignment import STRICT, USUAL
from dataloader_expert.checks.duplicates.image_copies import CLOSE, Images, copies, copies_by_hash
from dataloader_expert.checks.duplicates.near_hashes import CANDIDATE, FAR
from dataloader_expert.checks.duplicates.pairs import Seen, content_digests, judge_near, near_fact
from dataloader_expert.conclusions import Finding, number
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

AT_ONCE = 256
"""Images that are hashed together."""
MOST = 40_000
"""The most images that are all compared with each other and whose grey versions are kept."""
RULE = (
    f"found by perceptual hashes at most {CANDIDATE} of 64 bits apart, confirmed by a correlation of at least {USUAL.alike} after alignment, "
    f"or {STRICT.alike} for turned images and for hashes up to {FAR} bits apart"
)
MISSED = "near duplicates of images that are rotated by other angles than quarter turns, covered, or cropped by more than a tenth"


class NearPictures(Check):
    ids = ("near-duplicates", "splits-near-overlap", "label-conflict")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context)
        self.fields = [
            f.name
            for f in context.fields
            if f.kind == "image"
            and f.name in self.kept.names
            and min(x or HASHED_FROM for x in f.shape[-3:-1] or f.shape or (99,)) >= HASHED_FROM
        ]
        self.others = [n for n in self.kept.names if n not in self.fields[:1]]
        self.rest: list[Any] = []
        """Digests of the other fields, which must be equal: an image may have several captions."""
        self.waiting: list[Any] = []
        self.n_waiting = 0
        self.hashes: list[Any] = []
        """Hashes of each sample's image in each of ``WAYS``; uint64 [n, WAYS], 0 if there is none."""
        self.sketches: list[Any] = []
        """As of ``low_frequencies``: what tells many images from each other."""
        self.grey: list[Any] = []
        """A 32 x 32 grey image of each sample, uint8; none beyond ``MOST``."""
        self.tints: list[Any] = []
        """As of ``looks``."""
        self.colours: list[Any] = []
        """As of ``looks``; none beyond ``MOST``."""
        self.frames: list[Any] = []
        """As of ``insides``."""

    def applies(self) -> bool:
        return self.context.near and bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        n = block.samples
        self.seen += n
        if not n or not self.applies():
            return
        self.kept.see(block)
        if self.others:
            self.rest.append(content_digests(block, self.others))
        name = self.fields[0]
        if name in block.columns:
            seen = looks(block, name)
            inside, frames = insides(seen.small[:n])
            self.waiting.append(inside)
            self.frames.append(frames)
            self.tints.append(seen.tints[:n])
            self._colour(seen.colours[:n])
        else:
            self.waiting.append(np.zeros((n, 32, 32), np.uint8))  # which has no hash
            self.frames.append(np.zeros((n, 4), np.uint8))
            self.tints.append(np.full((n, 2), np.nan, np.float32))
            self._colour(np.zeros((n, 2, 16, 16), np.int8))
        self.n_waiting += n
        if self.n_waiting >= AT_ONCE:
            self._hash()

    def _colour(self, colours: Any) -> None:
        if self.seen <= MOST:
            self.colours.append(colours)
        else:
            self.colours.clear()

    def _hash(self) -> None:
        """Hashes the waiting images, since many at once is faster, and keeps them while there are few."""
        import numpy as np

        if not self.waiting:
            return
        grey, self.waiting, self.n_waiting = np.concatenate(self.waiting), [], 0
        self.hashes.append(picture_hashes(grey))
        self.sketches.append(low_frequencies(grey))
        self.grey = [*self.grey, grey] if self.seen <= MOST else []

    def merge(self, other: Check) -> None:
        assert isinstance(other, NearPictures)
        self._hash()
        other._hash()
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.hashes += other.hashes
        self.sketches += other.sketches
        self.tints += other.tints
        self.frames += other.frames
        self.rest += other.rest
        self.grey = self.grey + other.grey if self.seen <= MOST else []
        self.colours = self.colours + other.colours if self.seen <= MOST else []

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        self._hash()
        if not self.hashes:
            return
        rows = self.kept.all()
        hashes, digest = np.concatenate(self.hashes), rows.digest
        order = np.argsort(rows.index, kind="stable")  # whatever was seen first
        _, first = np.unique(digest[order], return_index=True)
        first = order[np.sort(first)]
        kept = first[hashes[first, 0] != 0]  # one of each content; flat images have no hash
        tints, frames = np.concatenate(self.tints)[kept], np.concatenate(self.frames)[kept]
        rest = (np.concatenate(self.rest) if self.rest else np.zeros(len(digest), np.uint64))[kept]
        if self.grey:
            grey = np.concatenate(self.grey)[kept]
            colours = np.concatenate(self.colours)[kept]
            found = copies(Images(hashes[kept], grey, tints, colours, frames, rest, rows.label[kept]))
            rule, missed = RULE, MISSED
            if found.left_out:
                missed += f"; alignment of {found.left_out:,} further pairs of similar images"
        else:
            sketches = np.concatenate(self.sketches)[kept]
            found = copies_by_hash(hashes[kept, 0], sketches, tints, frames, rest)
            rule = f"DCT hashes within {CLOSE} of 64 bits, without alignment because there are over {MOST:,} images"
            missed = f"mirrored or turned copies of images; {MISSED}"
        if found.by_chance:
            missed += f"; {number(found.by_chance, 'pair')} of similar images that may be alike by chance"
        pairs = sorted({(int(kept[a]), int(kept[b])) for a, b in found.pairs})
        yield near_fact(self.kept, rows, "pictures", pairs, rule, self.evidence(), missed)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        return judge_near(facts, "pictures", sure=True)


CHECK = NearPictures

"""Images that are nearly the same: re-encoded, resized, brightened, mirrored, turned by quarters, cropped,
bordered.

Method: the signs of the low 8 x 8 DCT coefficients of a 32 x 32 grey image (Zauner, "Implementation and benchmarking
of perceptual image hash functions", 2010) give candidates, as do those of the image
mirrored or turned. The margin, which may be
most of an image and the same in many, is removed first. Each candidate is confirmed by aligning the grey images.
Pairs are not chained.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.picture_hashes import HASHED_FROM, insides, looks, picture_hashes
from dataloader_expert.checks.duplicates.alignment import STRICT, USUAL
from dataloader_expert.checks.duplicates.hashed_copies import Hashed, Told, chosen, halvings, told_by_hashes
from dataloader_expert.checks.duplicates.image_copies import Images, copies
from dataloader_expert.checks.duplicates.near_hashes import CANDIDATE, FAR
from dataloader_expert.checks.duplicates.pairs import Seen, content_digests, judge_near, near_fact
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

AT_ONCE = 256
"""Images that are hashed together."""
RULE = (
    f"found by perceptual hashes at most {CANDIDATE} of 64 bits apart, confirmed by a correlation of at least {USUAL.alike} after alignment, "
    f"or {STRICT.alike} for turned images and for hashes up to {FAR} bits apart"
)
MISSED = "near duplicates of images that are rotated by other angles than quarter turns, covered, or cropped by more than a tenth"


def told_by_alignment(images: Images) -> Told:
    found, missed = copies(images), []
    if found.left_out:
        missed.append(f"alignment of {found.left_out:,} further pairs of similar images")
    if found.by_chance:
        missed.append(
            f"{found.by_chance:,} further pairs of images that are no more alike than unlike images of this set are by chance"
        )
    return Told(found.pairs, RULE, "; ".join(missed))


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
        """What is to be hashed: the index of each sample, its 32 x 32 grey image, uint8, and its colours, as of ``looks``."""
        self.n_waiting = 0
        self.hashes: list[Any] = []
        """Hashes of each sample's image in each of ``WAYS``; uint64 [n, WAYS], 0 if there is none."""
        self.grey: list[tuple[Any, Any, Any]] = []
        """What was waiting, of samples that are ``chosen``."""
        self.halved = 0
        """How often these were halved, since there are many."""
        self.tints: list[Any] = []
        """As of ``looks``."""
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
            tints, colours = seen.tints[:n], seen.colours[:n]
        else:
            inside, frames = np.zeros((n, 32, 32), np.uint8), np.zeros((n, 4), np.uint8)  # which has no hash
            tints, colours = np.full((n, 2), np.nan, np.float32), np.zeros((n, 2, 16, 16), np.int8)
        self.frames.append(frames)
        self.tints.append(tints)
        self.waiting.append((block.indices(), inside, colours))
        self.n_waiting += n
        if self.n_waiting >= AT_ONCE:
            self._hash()

    def _hash(self) -> None:
        """Hashes the waiting images, since many at once is faster."""
        import numpy as np

        if not self.waiting:
            return
        index, grey, colours = (np.concatenate(part) for part in zip(*self.waiting, strict=True))
        self.waiting, self.n_waiting = [], 0
        self.hashes.append(picture_hashes(grey))
        self.grey += self._chosen([(index, grey, colours)])
        self._thin()

    def _thin(self) -> None:
        """Keeps what is aligned of all images while they are few, of a random half, quarter and so on once they are many."""
        if (times := halvings(self.seen)) != self.halved:
            self.halved = times
            self.grey = self._chosen(self.grey)

    def _chosen(self, looked: list[tuple[Any, Any, Any]]) -> list[tuple[Any, Any, Any]]:
        if not self.halved:
            return looked
        own = [chosen(index, self.halved) for index, *_ in looked]
        return [(index[of], grey[of], colours[of]) for of, (index, grey, colours) in zip(own, looked, strict=True)]

    def merge(self, other: Check) -> None:
        assert isinstance(other, NearPictures)
        self._hash()
        other._hash()
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.hashes += other.hashes
        self.tints += other.tints
        self.frames += other.frames
        self.rest += other.rest
        self._thin()
        self.grey += self._chosen(other.grey)

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
        place = np.full(int(rows.index.max()) + 1, -1)
        place[rows.index[kept]] = np.arange(len(kept))
        index, grey, colours = (np.concatenate(part) for part in zip(*self.grey, strict=True))
        known = place[index]
        order = np.argsort(known, kind="stable")[(known < 0).sum() :]
        at = known[order]
        some = Images(
            hashes[kept][at], grey[order], tints[at], colours[order], frames[at], rest[at], rows.label[kept][at]
        )
        every = Hashed(hashes[kept, 0], tints, frames, rest)
        found = told_by_hashes(every, some, at) if self.halved else told_by_alignment(some)
        pairs = sorted({(int(kept[a]), int(kept[b])) for a, b in found.pairs})
        missed = "; ".join(part for part in (MISSED, found.missed) if part)
        yield near_fact(self.kept, rows, "pictures", pairs, found.rule, self.evidence(), missed)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        return judge_near(facts, "pictures", sure=True)


CHECK = NearPictures

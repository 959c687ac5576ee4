"""Negatives: images that are dark where nearly all others are bright, and the reverse, as radiographs that were stored inverted.

Only images of one scene tell it, such as chests or pages: nearly all look strongly like their median. A negative looks as strongly
unlike it, there is nothing between both, and inverted it would be as bright as the others: a street at night would not. More than a few are
told only if they are all of one site, device or split.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.cohorts import Cohorts, confined, told_of
from dataloader_expert.checks.common.picture_hashes import looks
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import in_order
from dataloader_expert.checks.common.vectors import pooled
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

NEGATIVES = Quantity(
    "negatives", "images", "images that look like the negative of nearly all others, and how strongly these look alike"
)
MOST, LEAST = 100_000, 40
"""Of how many images small copies are kept at most, and the fewest that tell what they have in common."""
ALIKE, NEARLY = 0.5, 0.95
"""The correlation with the median that is strong, and the share of images that look strongly like it or unlike it."""
SEVERAL, FEW, HALF, OF_PART = 3, 0.2, 0.5, 8
"""The fewest negatives, the largest share of them, that where they are all of one part, and the fewest images of that."""
WHITE = 255.0


class Negatives(Check):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind == "image"]
        self.files = Files()
        self.cohorts = Cohorts(context)
        self.parts: dict[str, list[dict[str, Any]]] = {name: [] for name in self.fields}
        """By field, of each block: the indices of images of eight bits, small copies of these in gray, [n, 64], and their cohorts."""

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        for name in self.fields:
            values = block.columns[name].values if name in block.columns else ()
            at = [i for i, value in enumerate(values) if block.index(i) < MOST and _of_bytes(value)]
            if at:
                small = pooled(looks(block, name))[at].astype(np.float16)
                kept = {"sample": block.indices(np.array(at)), "small": small}
                self.parts[name].append(kept | self.cohorts.of(block, np.array(at)))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Negatives)
        self.seen += other.seen
        self.files.merge(other.files)
        self.cohorts.merge(other.cohorts)
        for name, parts in other.parts.items():
            self.parts[name] += parts

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, parts in self.parts.items():
            if sum(len(part["sample"]) for part in parts) < LEAST:
                continue
            rows = in_order({key: np.concatenate([part[key] for part in parts]) for key in parts[0]})
            found = negatives(rows["small"].astype(np.float32))
            part = confined(self.cohorts, rows, found, OF_PART) if found.any() else None
            if found.sum() > FEW * len(found) and part is None:
                found[:] = False
            where = self.files.places(rows["sample"][found].tolist(), name)
            value: dict[str, Any] = {"count": int(found.sum()), "of": len(found), "where": where}
            value["part"] = None if part is None else [part[0], part[1]]
            yield Fact(NEGATIVES, value, self.evidence(n=len(found)), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NEGATIVES):
            n = fact.value["count"]
            if n:
                text = f"{escaped(fact.at['field'])}: {number(n, 'image')} of {fact.value['of']:,} {verb(n, 'look')} like negatives of the "
                text += "others, bright where these are dark"
                text += f": all {told_of(*fact.value['part'])}" if fact.value["part"] else ""
                fix = "invert them, or read how each file says that it stores black (DICOM: MONOCHROME1)"
                yield finding("scale-drift", "warning", text, fact, fix, fact.value["where"], n)


def negatives(small: Any) -> Any:
    """Which of the images are, gray values [n, pixels]; bool [n]."""
    import numpy as np

    bright = small.mean(1)
    plain = small - bright[:, None]
    spread = np.linalg.norm(plain, axis=1)
    shown = spread > 0
    plain[shown] /= spread[shown, None]
    usual = np.median(plain[shown], axis=0) if shown.any() else np.zeros(small.shape[1])
    usual = usual - usual.mean()
    alike = plain @ (usual / max(float(np.linalg.norm(usual)), 1e-9))
    same = alike >= ALIKE
    none = np.zeros(len(small), bool)
    if not same.any():
        return none
    like = WHITE - bright
    found = (alike <= -ALIKE) & (like >= bright[same].min()) & (like <= bright[same].max())
    rare = SEVERAL <= found.sum() < HALF * len(small)
    if not rare or (same | found).sum() < NEARLY * shown.sum():
        return none
    return found if np.median(-alike[found]) >= np.quantile(alike[same], 1 - NEARLY) else none


def _of_bytes(value: Any) -> bool:
    """Whether white is 255."""
    if hasattr(value, "getbands"):
        return value.mode in ("L", "RGB")
    return getattr(value, "dtype", None) == "uint8" and (value.ndim == 2 or (value.ndim == 3 and 3 in value.shape))


CHECK = Negatives

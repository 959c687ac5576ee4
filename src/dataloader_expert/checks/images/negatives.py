"""Negatives: images that are dark where nearly all others are bright, and the reverse, as radiographs that were stored inverted.

Images of one scene tell it, such as chests or pages: nearly all look strongly like their median. A negative looks as strongly
unlike it, there is nothing between both, and inverted it would be as bright as the others: a street at night would not. More than a few are
told only if they are all of one site, device or split.

Images of one kind, such as cells, tell it in one split: everywhere else the darker half of their pixels spreads further than the brighter one,
or the other way round (skewness), and some of that split lean as far to the other side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.cohorts import SPLIT, Cohorts, confined, only_there, told_of
from dataloader_expert.checks.common.picture_hashes import looks
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, in_order
from dataloader_expert.checks.common.vectors import pooled
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
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
CLASSES, WHOLE = 1_000, 0.8
"""The most classes that are told apart, and the share of a class's images from which on it is how the class looks."""
OUTSIDE, LEANS, TAIL, OTHERWISE = 30, 0.3, 0.02, 0.05
"""The fewest images outside a split; the least skewness of images that lean to one side, as a share of the median; the share at either end that is
left out of their range; and that of images of the split which are neither as the others nor their negatives."""


class Negatives(Check):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind == "image"]
        self.files = Files()
        self.cohorts = Cohorts(context)
        self.label = context.label or ""
        self.classes = Named(CLASSES)
        self.parts: dict[str, list[dict[str, Any]]] = {name: [] for name in self.fields}
        """By field, of each block: the indices of images of eight bits, small copies of these in gray, [n, 64], how they are lit, as of ``lit``,
        their classes and cohorts."""

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
                seen, rows = looks(block, name), np.array(at)
                kept = {
                    "sample": block.indices(rows),
                    "small": pooled(seen)[at].astype(np.float16),
                    "lit": lit(seen.small[at]),
                }
                kept["class"] = self.classes.of(block.columns.get(self.label), rows)
                self.parts[name].append(kept | self.cohorts.of(block, rows))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Negatives)
        self.seen += other.seen
        self.files.merge(other.files)
        self.cohorts.merge(other.cohorts)
        self.classes.merge(other.classes)
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
            by_light = not found.any()
            if by_light:
                found, part = self._by_light(rows)
            where = self.files.places(rows["sample"][found].tolist(), name)
            value: dict[str, Any] = {"count": int(found.sum()), "of": len(found), "where": where}
            value["part"] = None if part is None else [part[0], part[1]]
            value["sure"] = part is not None or not by_light
            yield Fact(NEGATIVES, value, self.evidence(n=len(found)), {"field": name})

    def _by_light(self, rows: dict[str, Any]) -> tuple[Any, tuple[str, list[str]] | None]:
        """The images of one split that lean to the other side than all others do, or a few images here and there, unless they are all that there
        are of their classes; and the split."""
        import numpy as np

        def some(found: Any) -> Any:
            _, which = np.unique(rows["class"], return_inverse=True)
            shares = np.bincount(which, found) / np.bincount(which)
            return found & (shares < WHOLE)[which]

        for kind, names, whose in self.cohorts.kinds(rows, OF_PART):
            for k, name in enumerate(names) if kind == SPLIT else ():
                found = some(turned_over(rows["lit"], whose == k))
                if OF_PART <= found.sum() < HALF * len(found):
                    return found, (kind, [name])
        skewness = rows["lit"][:, 2]
        found = some(turned_over(rows["lit"], skewness * np.median(skewness) <= 0))
        few = OF_PART <= found.sum() <= FEW * len(found)
        return (found if few else np.zeros(len(found), bool)), None

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NEGATIVES):
            n = fact.value["count"]
            if n:
                text = f"{escaped(fact.at['field'])}: {number(n, 'image')} of {fact.value['of']:,} {verb(n, 'look')} like negatives of the "
                text += "others, bright where these are dark"
                text += f": all {told_of(*fact.value['part'])}" if fact.value["part"] else ""
                fix = "invert them, or read how each file says that it stores black (DICOM: MONOCHROME1)"
                severity: Severity = "warning" if fact.value["sure"] else "info"
                yield finding("scale-drift", severity, text, fact, fix, fact.value["where"], n)


def lit(small: Any) -> Any:
    """Mean, standard deviation and skewness of gray images, [n, side, side]; float32 [n, 3]."""
    import numpy as np

    flat = small.reshape(len(small), -1).astype(np.float32)
    mean = flat.mean(1)
    off = flat - mean[:, None]
    spread = np.sqrt((off * off).mean(1))
    return np.stack([mean, spread, (off * off * off).mean(1) / np.maximum(spread, 1) ** 3], 1)


def turned_over(lit: Any, own: Any) -> Any:
    """Which images of a part, ``own``, are negatives of all others by how they are lit; bool [n]."""
    import numpy as np

    none, others = np.zeros(len(lit), bool), lit[~own]
    if len(others) < OUTSIDE or not own.any():
        return none
    side = np.sign(np.median(others[:, 2]))
    usual, leaning = others * (1, 1, side), lit * (1, 1, side)
    low, high = np.quantile(usual, [TAIL, 1 - TAIL], axis=0)
    if low[2] < LEANS * np.median(usual[:, 2]):
        return none
    width = (high - low) / 2
    inverted = np.stack([WHITE - leaning[:, 0], leaning[:, 1], -leaning[:, 2]], 1)
    as_others, negative = (((part >= low - width) & (part <= high + width)).all(1) for part in (leaning, inverted))
    negative &= leaning[:, 2] <= -low[2] / 2
    clear = (as_others | negative)[own].mean() >= 1 - OTHERWISE
    sure = only_there(int(negative[own].sum()), int(own.sum()), len(others))
    return negative & own if clear and sure and not negative[~own].any() else none


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

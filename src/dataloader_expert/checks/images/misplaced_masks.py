"""Masks that fit their image once they are mirrored, turned or moved, or fit the image before or after.

Only where masks usually fit (``edge_fits``) does it say anything. A mask is misplaced if it fits as by chance where it is, and clearly in one other way; several must do so in the same way,
ten times as many as in another, which is chance, no more than fit where they are, and as well as these do. Of the image beside, it must fit better than that image's own mask.
Images of one kind may all look alike, as those of heads do: only with the mask before as well is one the same scene. A move is the best
of many, so it must fit better than any move of a mask that is in its place does, and better than all other ways. Where most masks of one split
fit as by chance and those of another in their places, they are compared with all images of their split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.cohorts import Cohorts, mostly_in
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.images.edge_fits import ONE_SCENE, crossed, evened, fits, moves, nudges
from dataloader_expert.checks.images.float_pictures import marked_picture, small_greys
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

MISPLACED = Quantity(
    "misplaced_masks",
    "masks",
    "masks that only fit after mirroring, turning or moving, or that fit the previous or next image",
)
LEAST, MOST = 40, 100_000
"""The fewest masks that tell what is usual, and how many are looked at."""
CHANCE, TELLS, USUAL = 2.0, 4.0, 3.0
"""The fit up to which a mask may lie anywhere, the one from which it is in its place, and the least median fit."""
WEAKEST = 0.1
"""The share of masks in their places that may fit less well than half of the misplaced ones do: what fits worse meets other edges."""
IN_PART, STEADILY, SELDOM = 15, 0.6, 0.05
"""The fewest masks of a part that lies a little beside, the share of them that fits best there and of the others that fit best as they are, and that
of the others that fit best there."""
OVERLAP = 0.6
"""How well masks that are all moved alike fit at least, as a share of that."""
MOST_CLASSES = 64
"""The most values of a mask that are looked at."""
SIDE, REACH = 32, 10
"""The side of the small copies, and by how many of their pixels masks are moved at most."""
TOGETHER, MOST_STEPS = 0.7, 1_000
"""The share of moved masks from which on a move is said to be theirs: those that are moved by it, within one pixel; and how many are
compared."""
IN_SPLIT, PAIRED, TRIED = 10, 400, 60
"""The fewest masks of a split, how many of a split are laid over each other's images, and how many masks of them."""
STEADY, ITS_OWN = 0.5, 0.8
"""The least share of masks that fit another image, of how well the others fit theirs, and of masks that do so at one distance; and the least
number of images, for each such mask, that they fit."""
SEVERAL, RARER = 3, 10
"""The fewest masks misplaced in one way, and how many times as many as in another."""


@dataclass(frozen=True)
class Way:
    """Another way to lay a mask over an image: ``turned`` gives the masks so, [n, side, side]; ``by``: of which sample after."""

    code: str
    words: str
    fix: str
    flips: tuple[int, ...] = ()
    by: int = 0


_AGAIN = "apply the same change to these masks as to their images, unless the images were changed on purpose"
_SHIFTED = "check where the stretch begins: an image or a mask was probably lost or added there; pair them again"
WAYS = (
    Way("mask-mirrored", "after mirroring left to right", _AGAIN, (2,)),
    Way("mask-mirrored", "after mirroring top to bottom", _AGAIN, (1,)),
    Way("mask-mirrored", "after turning by 180°", _AGAIN, (1, 2)),
    Way("rows-shifted", "of the next sample", _SHIFTED, by=1),
    Way("rows-shifted", "of the previous sample", _SHIFTED, by=-1),
)


SWAPPED = Quantity(
    "swapped_masks",
    "masks",
    "splits in which most masks fit their own images no better than chance, but fit other images of the split",
)
MOVED = len(WAYS)
"""What stands for a way in facts about masks that fit once they are moved."""


class MisplacedMasks(Check):
    ids = ("mask-mirrored", "mask-shifted", "rows-shifted")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        images = [f.name for f in context.fields if f.kind == "image"]
        self.image = images[0] if len(images) == 1 else ""
        self.names = context.masks
        marked = marked_picture(context) if not (self.names and self.image) else None
        if marked is not None:
            self.image, self.names = marked[0], [marked[1]]
        self.files = Files()
        self.cohorts = Cohorts(context)
        self.parts: dict[str, list[tuple[Any, Any, Any, dict[str, Any]]]] = {name: [] for name in self.names}
        """By field, of each block: the indices of samples, how well their masks fit, as ``fits`` and ``moves`` give it, and their cohorts."""
        self.splits: dict[tuple[str, str], list[tuple[Any, Any, Any, Any]]] = {}
        """By field and split, of each block: the indices of samples and how well their masks fit; and of the first of them small copies."""

    def applies(self) -> bool:
        return bool(self.names and self.image)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if self.image not in block.columns or block.index(0) >= MOST:
            return
        gray: Any = None
        for name in self.names:
            values = block.columns[name].values if name in block.columns else ()
            small = [_small(value, SIDE) for value in values]
            at = [i for i, mask in enumerate(small) if mask is not None]
            if not at:
                continue
            gray = evened(small_greys(block, self.image)) if gray is None else gray
            masks, index = np.stack([small[i] for i in at]), block.indices(at)
            fit = fits(gray[at].astype(np.float64), masks, index, [(way.flips, way.by) for way in WAYS])
            fit[1, 1:, 0] = np.minimum(fit[1, 1:, 0], alike(masks))
            away = moves(gray[at].astype(np.float64), masks, REACH)
            near = nudges(gray[at].astype(np.float64), masks)
            self.parts[name].append((index, fit, away, self.cohorts.of(block, np.array(at)) | {"nudge": near}))
            splits, codes = self.context.splits_of(block)
            for code, split in enumerate(splits):
                own = np.flatnonzero(codes[at] == code)
                if split is not None and len(own):
                    parts = self.splits.setdefault((name, split), [])
                    held = sum(len(part[2]) for part in parts)
                    few = own[: max(0, PAIRED - held)]
                    kept = gray[at][few], masks[few].astype(np.uint8)
                    parts.append((index[own], fit[0, own, 0], *kept))

    def merge(self, other: Check) -> None:
        assert isinstance(other, MisplacedMasks)
        self.seen += other.seen
        self.files.merge(other.files)
        self.cohorts.merge(other.cohorts)
        for name, parts in other.parts.items():
            self.parts[name] += parts
        for key, of in other.splits.items():
            self.splits.setdefault(key, []).extend(of)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, parts in self.parts.items():
            if sum(len(part[0]) for part in parts) < LEAST:
                continue
            index = np.concatenate([index for index, *_ in parts])
            fit = np.concatenate([fit for _, fit, *_ in parts], 1)
            cohorts = {key: np.concatenate([of[key] for *_, of in parts]) for key in parts[0][3]}
            found = dict(misplaced(fit))
            away = np.concatenate([of for _, _, of, _ in parts])
            shifted = moved(fit, away) & ~np.any([*found.values(), np.zeros(len(index), bool)], 0)
            if shifted.sum() >= SEVERAL:
                found[MOVED] = shifted
            for way, at in found.items():
                where = self.files.places(np.sort(index[at]).tolist(), name)
                value = {"way": way, "count": int(at.sum()), "of": len(index), "where": where}
                value["by"] = together(away[at, 1:]) if way == MOVED else None
                value["part"] = mostly_in(self.cohorts, cohorts, at)
                yield Fact(MISPLACED, value, self.evidence(n=len(index)), {"field": name, "way": way})
            if MOVED not in found:
                yield from self._nudged(name, index, cohorts)
            yield from self._swapped(name)

    def _nudged(self, name: str, index: Any, rows: dict[str, Any]) -> Iterator[Fact]:
        """The split, site or device whose masks mostly fit best a little beside, where those of the others fit as they are."""
        import numpy as np

        for _, names, whose in self.cohorts.kinds(rows, IN_PART):
            for k in range(len(names)):
                own = whose == k
                if 2 * own.sum() > len(own):
                    continue
                steps, counts = np.unique(rows["nudge"][own], axis=0, return_counts=True)
                by = steps[counts.argmax()]
                there = (rows["nudge"] == by).all(1)
                at_home = (rows["nudge"][~own] == 0).all(1).mean()
                if by.any() and min(counts.max() / own.sum(), at_home) >= STEADILY and there[~own].mean() <= SELDOM:
                    at = there & own
                    where = self.files.places(np.sort(index[at]).tolist(), name)
                    value = {
                        "way": MOVED,
                        "count": int(at.sum()),
                        "of": len(index),
                        "where": where,
                        "by": (by / SIDE).tolist(),
                    }
                    value["part"] = mostly_in(self.cohorts, rows, at)
                    yield Fact(MISPLACED, value, self.evidence(n=len(index)), {"field": name, "way": MOVED})
                    return

    def _swapped(self, name: str) -> Iterator[Fact]:
        """The splits most of whose masks lie as by chance, where those of another one are in their places."""
        import numpy as np

        of = {split: parts for (field, split), parts in self.splits.items() if field == name}
        fit = {split: np.concatenate([part[1] for part in parts]) for split, parts in of.items()}
        fit = {split: own for split, own in fit.items() if len(own) >= IN_SPLIT}
        usual = [float(np.median(own)) for own in fit.values()]
        if not usual or max(usual) < TELLS:
            return
        for split, own in sorted(fit.items()):
            if np.median(own) > CHANCE:
                continue
            known = [part for part in of[split] if len(part[2])]
            order = np.argsort(np.concatenate([part[0][: len(part[2])] for part in known]))
            gray, masks = (np.concatenate([part[k] for part in known])[order] for k in (2, 3))
            elsewhere = fitting(gray[:PAIRED].astype(np.float64), masks[:PAIRED].astype(np.int64), max(usual))
            index = np.sort(np.concatenate([part[0] for part in of[split]]))
            if elsewhere is not None:
                value = {"count": int((own <= CHANCE).sum()), "of": len(own), "usual": max(usual), **elsewhere}
                value["where"] = self.files.places(index[:MAX_PLACES].tolist(), name)
                yield Fact(SWAPPED, value, self.evidence(n=len(own)), {"field": name, "split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            v, split = fact.value, escaped(str(fact.at["split"]))
            text = f"{escaped(str(fact.at['field']))}: the masks of {split} fit the {escaped(self.image)} of other samples of {split}, not their own"
            if v["by"]:
                text += f": {v['steady']:.0%} of those checked fit the one {number(abs(v['by']), 'place')} {'later' if v['by'] > 0 else 'earlier'}, wrapping around at the end"
            fix = "pair images and masks again: the files were listed in different orders, or renamed (names without leading zeros sort as text)"
            yield finding("rows-shifted", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(MISPLACED):
            v, image = fact.value, f"{'field' if self.image.isdigit() else 'the'} {escaped(self.image)}"
            way = _move(v["by"]) if v["way"] == MOVED else WAYS[v["way"]]
            field = str(fact.at["field"])
            text = f"{'field ' * field.isdigit()}{escaped(field)}: {number(v['count'], 'mask')} of {v['of']:,} {verb(v['count'], 'fit')} "
            text += f"{image} {way.words}" if way.by else f"{image} only {way.words}"
            text += f"; {v['part']}: check the others there too" if v["part"] else ""
            yield finding(way.code, "warning", text, fact, way.fix, v["where"], v["count"])


def _move(by: list[float] | None) -> Way:
    """The way of masks that fit once they are moved; ``by``: the share of the height downwards, and of the width to the right."""
    if by is None:
        return Way("mask-shifted", "after moving each by an offset of its own", _AGAIN)
    sides = ((by[0], "height", "down", "up"), (by[1], "width", "right", "left"))
    steps = [f"{abs(part):.0%} of the {side} {on if part > 0 else back}" for part, side, on, back in sides if part]
    return Way("mask-shifted", f"after moving by {' and '.join(steps)}", _AGAIN)


def _small(mask: Any, side: int) -> Any:
    """A mask of few classes at ``side`` x ``side`` of its pixels; None for what is no mask of several classes."""
    import numpy as np

    if isinstance(mask, np.ndarray) and mask.ndim == 3 and len(mask) == 1:
        mask = mask[0]
    if not isinstance(mask, np.ndarray) or mask.ndim != 2 or mask.dtype.kind not in "bui" or min(mask.shape) < 2:
        return None
    rows, columns = (
        (np.arange(side) * 2 + 1) * mask.shape[0] // (2 * side),
        (np.arange(side) * 2 + 1) * mask.shape[1] // (2 * side),
    )
    small = mask[np.ix_(rows, columns)]
    found, codes = np.unique(small, return_inverse=True)
    return codes.reshape(side, side) if 2 <= len(found) <= MOST_CLASSES else None


def fitting(gray: Any, masks: Any, usual: float) -> dict[str, Any] | None:
    """By how many images most masks must be moved on, round the end, to fit about as well as is ``usual``; 0 if each by another number, None
    if they fit none."""
    import numpy as np

    some = np.unique(np.linspace(0, len(masks) - 1, min(TRIED, len(masks))).astype(np.int64))
    cross = crossed(gray, masks[some])
    best = cross.argmax(1)
    elsewhere = (cross.max(1) >= max(TELLS, STEADY * usual)) & (best != some)
    if elsewhere.mean() < STEADY or len(np.unique(best[elsewhere])) < ITS_OWN * elsewhere.sum():
        return None
    steps, counts = np.unique((best - some)[elsewhere] % len(gray), return_counts=True)
    share = float(counts.max() / len(some))
    by = int(steps[counts.argmax()])
    by = by if 2 * by <= len(gray) else by - len(gray)
    return {"by": by if share >= STEADY else 0, "steady": share}


def moved(fit: Any, away: Any) -> Any:
    """Which masks fit once they are moved, bool [n]; ``fit`` as ``fits`` gives it, ``away`` as ``moves`` does."""
    import numpy as np

    own, best = fit[0, :, 0], away[:, 0]
    placed = own >= TELLS
    if not placed.any() or np.median(own) < USUAL:
        return np.zeros(len(own), bool)
    elsewhere = best[placed].max()  # by chance, or where the image repeats what the mask outlines
    others = np.nan_to_num(fit[0, :, 1:], nan=-np.inf).max(1)
    able = (own <= CHANCE) & (best >= TELLS) & (best > others) & (fit[1, :, 0] < ONE_SCENE)
    usual = np.quantile(own[placed], WEAKEST)
    clear = able & (best > elsewhere)
    likely = clear & (best >= OVERLAP * usual)  # what is moved overlaps less
    by = together(away[likely, 1:]) if likely.sum() >= SEVERAL else None
    found = clear & (best >= usual)
    if by is None and found.sum() >= SEVERAL:
        by = together(away[found, 1:])
    if by is not None:  # what fits less well by the same move is moved as well
        found |= able & (np.abs(away[:, 1:] - np.array(by) * SIDE).max(1) <= 1)
    return found if found.sum() <= placed.sum() else np.zeros(len(own), bool)


def together(steps: Any) -> list[float] | None:
    """The move that most of these share, as shares of the height and the width; ``steps``: rows and columns of each, [n, 2]."""
    import numpy as np

    steps = steps[:MOST_STEPS]
    near = (np.abs(steps[:, None] - steps[None, :]).max(2) <= 1).mean(1)
    return (steps[near.argmax()] / SIDE).tolist() if near.max() >= TOGETHER else None


def alike(masks: Any) -> Any:
    """How alike each mask is to the one before, [n - 1]: the correlation of where they have another code than most of their pixels."""
    import numpy as np

    flat = masks.reshape(len(masks), -1)
    usual = np.array([np.bincount(codes).argmax() for codes in flat])
    things = (flat != usual[:, None]).astype(np.float64)
    things -= things.mean(1, keepdims=True)
    things /= np.maximum(np.linalg.norm(things, axis=1, keepdims=True), 1e-9)
    return (things[1:] * things[:-1]).sum(1)


def misplaced(fit: Any) -> Iterator[tuple[int, Any]]:
    """The ways in which several masks fit, each with these masks, bool [n]; ``fit``, [2, n, 1 + ways], as ``fits`` gives it."""
    import numpy as np

    own, ways = fit[0, :, 0], np.where(np.isnan(fit[0, :, 1:]), -np.inf, fit[0, :, 1:])
    found = (own <= CHANCE)[:, None] & (ways >= TELLS) & (ways == ways.max(1, keepdims=True)) & (ways > fit[1, :, 1:])
    scenes = (fit[1, :, 0] < ONE_SCENE)[:, None]
    counts = (found & scenes).sum(0)
    for k in range(len(WAYS)):
        turned = sorted(counts[j] for j, other in enumerate(WAYS) if j != k and not other.by)
        by_chance = turned[len(turned) // 2]  # one of them may be a fault as well
        many = int(found[:, k].sum())
        if counts[k] < max(SEVERAL, RARER * by_chance) or many > (own >= TELLS).sum():
            continue
        placed = np.quantile(own[own >= TELLS], WEAKEST)
        if np.median(own[~found[:, k]]) >= USUAL and np.median(ways[found[:, k], k]) >= placed:
            yield k, found[:, k]


CHECK = MisplacedMasks

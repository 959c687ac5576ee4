"""Masks beside images: values that are no class, few masks on another scale than the others, and few with other channels.

A mask's values are names of classes, so they are compared as sets. A few masks of 0 and 255 among masks of 0 and 1 were scaled
to be seen; a class that few masks have lies among the others' values. 255 is no class: by custom it marks pixels to be ignored.
Classes are numbered one after another: a value that few masks hold, beyond numbers that none has, is none. Splits are compared
in how their masks are written, and in which classes they hold at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

MASK_FORMS = Quantity("mask_forms", "masks", "masks with each number of channels, and where the rarer ones are")
BEYOND = Quantity("mask_values_beyond", "masks", "masks with values beyond the declared classes, and these values")
SCALED = Quantity("mask_scales", "masks", "masks whose values are on another scale than those of the others")
STRAY = Quantity(
    "mask_values_stray", "masks", "masks with a rare value beyond the classes, which are numbered without a gap"
)
BLENDED = Quantity("masks_blended", "masks", "masks in which most values cover few pixels each, unlike most masks")
REPLACED = Quantity(
    "mask_class_replaced",
    "masks",
    "masks that hold the ignore value but all lack a class that others have",
)
BLENDED_SPLIT = Quantity(
    "masks_blended_in_split",
    "masks",
    "masks of a split in which most values cover few pixels each, unlike those of another split",
)
LOST = Quantity(
    "mask_classes_lost", "classes", "classes that no mask of a split holds, and the share of the others that hold each"
)
FROM_ONE = Quantity(
    "masks_from_one",
    "masks",
    "masks of a split whose values are those of the others, each larger by one, and the share of the others that hold 0",
)
BY_SPLIT = Quantity("mask_values_by_split", "masks", "the values that masks of a split usually hold")
IGNORED = 255
CLASSES = 64
"""The most values of a mask that are looked at: more are not classes of one image."""
SETS = 2_000
"""The most sets of values of a field that are kept: with more, no set is usual."""
APART = 10.0
"""The ratio of values that means another scale: of indices to 255, unless there are very many classes."""
FEWEST = 10
"""The fewest masks of a split, with more than what is to be ignored, that are compared with those of another."""
FEW = 0.2
"""The largest share of masks that can hold an odd class."""
MOST = 0.5
"""The largest share of masks that can be on another scale: values that are a multiple of the others are no class of their own."""
RARER = 10
"""How many times as many masks must hold each class as a value that is none: the classes of a long list thin out towards its end."""
SOME, CHANCE, AS_OFTEN = 5, 1e-6, 0.5
"""The fewest masks with what is to be ignored; how unlikely it must be by chance that all of them lack a class; and how many times as often as in
the others each other class must be in them, at least."""
THIN, SEAMS = 0.01, 8
"""The share of a mask's pixels below which a value is a seam, and the fewest seams that no classes make."""
NEARLY_ALL = 0.8
"""The share of a split's masks with more than two values that are blended, at least, and that are not in another, at least."""
CHANNELS = 4
"""The most channels of a mask: what has more along its last axis is a volume."""
Levels = tuple[int, ...]


class Masks(Check):
    ids = ("shape-drift", "scale-drift", "label-out-of-range", "preprocessing-differs", "class-missing-in-split")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = context.masks
        self.forms: dict[str, Counter[str]] = {}
        self.sets: dict[str, Counter[Levels]] = {}
        self.seams: dict[str, Counter[bool]] = {}
        """Masks whose values are mostly those of thin seams, and others."""
        self.splits: dict[tuple[str, str], Counter[Levels]] = {}
        """Sets of values by field and split."""
        self.blended: dict[tuple[str, str], Counter[bool]] = {}
        """By field and split: masks of more than two values, whose values are mostly those of thin seams, and others."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.names)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        splits, codes = self.context.splits_of(block)
        for name in self.names:
            for i, mask in enumerate(block.columns[name].values if name in block.columns else ()):
                if not isinstance(mask, np.ndarray) or mask.ndim not in (2, 3) or mask.dtype.kind not in "bui":
                    continue
                volume = mask.ndim == 3 and mask.shape[2] > CHANNELS
                form = "[height, width]" if mask.ndim == 2 else f"[height, width, {mask.shape[2]}]"
                self._note(self.forms, name, "[depth, height, width]" if volume else form, block, i)
                if (mask.ndim == 2 or volume) and mask.size:
                    if mask.dtype == np.uint8:
                        found = np.flatnonzero(every := np.bincount(mask.reshape(-1)))
                        counts = every[found]
                    else:
                        found, counts = np.unique(mask, return_counts=True)
                    thin = int((counts < THIN * mask.size).sum())
                    blended = thin >= max(SEAMS, 2 * (len(found) - thin))
                    self._note(self.seams, name, blended, block, i)
                    split = splits[codes[i]]
                    if split is not None and len(found) > 2:
                        self.blended.setdefault((name, split), Counter())[blended] += 1
                    if len(found) <= CLASSES:
                        levels = tuple(found.tolist())
                        self._note(self.sets, name, levels, block, i)
                        if split is not None and levels in self.sets[name]:
                            self.splits.setdefault((name, split), Counter())[levels] += 1

    def _note(self, counts: dict[str, Counter[Any]], name: str, what: Any, block: Block, i: int) -> None:
        known = counts.setdefault(name, Counter())
        if what in known or len(known) < SETS:
            known[what] += 1
            self.where.add((name, what), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Masks)
        self.seen += other.seen
        for name, forms in other.forms.items():
            self.forms.setdefault(name, Counter()).update(forms)
        for name, sets in other.sets.items():
            self.sets.setdefault(name, Counter()).update(sets)
        for name, seams in other.seams.items():
            self.seams.setdefault(name, Counter()).update(seams)
        for key, blended in other.blended.items():
            self.blended.setdefault(key, Counter()).update(blended)
        for key, sets in other.splits.items():
            self.splits.setdefault(key, Counter()).update(sets)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name, forms in sorted(self.forms.items()):
            rare = [form for form, _ in _by_count(forms)[1:]]
            value = {"forms": dict(_by_count(forms)), "where": self._places(name, rare)}
            yield Fact(MASK_FORMS, value, self.evidence(), {"field": name})
        for name, sets in sorted(self.sets.items()):
            named = self.context.classes if self.context.label is None else None  # else they are those of the label
            declared = None if named is None else len(named)
            beyond = [] if declared is None else [s for s in sets if _beyond(s, declared)]
            values = sorted({v for s in beyond for v in _beyond(s, declared or 0)})[:20]
            found = {**self._counted(name, beyond), "values": values, "classes": declared}
            yield Fact(BEYOND, found, self.evidence(), {"field": name})
            odd, usual = _scaled(sets) if len(sets) < SETS else ([], [])
            values = sorted({v for s in odd for v in s})[:20]
            found = {**self._counted(name, odd), "values": values, "usual": usual[:20]}
            yield Fact(SCALED, found, self.evidence(), {"field": name})
            if declared is None and len(sets) < SETS:
                stray, classes = _stray(Counter({s: n for s, n in sets.items() if s not in odd}))
                found = {
                    **self._counted(name, [s for s in sets if stray & set(s)]),
                    "values": sorted(stray),
                    "classes": classes,
                }
                yield Fact(STRAY, found, self.evidence(), {"field": name})
            lost = _replaced(sets) if len(sets) < SETS else None
            if lost is not None:
                found = {**self._counted(name, [s for s in sets if IGNORED in s]), "class": lost}
                yield Fact(REPLACED, found, self.evidence(), {"field": name})
        for name, seams in sorted(self.seams.items()):
            if 0 < 2 * seams[True] < seams.total():
                found = {"masks": seams[True], "of": seams.total(), "where": self._places(name, [True])}
                yield Fact(BLENDED, found, self.evidence(), {"field": name})
        for (name, split), sets in sorted(self.splits.items()):
            full = sum(n for levels, n in sets.items() if set(levels) - {0, IGNORED} or len(levels) > 1)
            if full >= FEWEST and len(self.sets[name]) < SETS:  # with more, which are counted is chance
                yield Fact(BY_SPLIT, _usual(sets), self.evidence(n=sets.total()), {"field": name, "split": split})
        for (name, split), seams in sorted(self.blended.items()):
            others = [s for (field, of), s in self.blended.items() if field == name and of != split]
            plain = [s for s in others if s.total() >= FEWEST and s[False] >= NEARLY_ALL * s.total()]
            if plain and seams.total() >= FEWEST and seams[True] >= NEARLY_ALL * seams.total():
                blended: dict[str, Json] = {"masks": seams[True], "of": seams.total()}
                yield Fact(BLENDED_SPLIT, blended, self.evidence(), {"field": name, "split": split})
        for name, split in sorted(self.splits):
            share = self._share_of_none(name, split) if len(self.sets[name]) < SETS else None
            if share is not None:
                n = self.splits[name, split].total()
                yield Fact(FROM_ONE, {"masks": n, "share": share}, self.evidence(n=n), {"field": name, "split": split})
        for name, split in sorted(self.splits):
            missing = self._lost(name, split) if len(self.sets[name]) < SETS else []
            if missing:
                yield Fact(LOST, missing, self.evidence(), {"field": name, "split": split})

    def _share_of_none(self, name: str, split: str) -> float | None:
        """The share of the other splits' masks that hold 0, if those of a split have just their values, each larger by one; else None."""
        own, others = self.splits[name, split], self._others(name, split)
        held, theirs = ({v for levels in sets for v in levels} - {IGNORED} for sets in (own, others))
        if len(theirs) < 3 or held != {v + 1 for v in theirs} or 0 not in theirs:
            return None
        share = sum(n for levels, n in others.items() if 0 in levels) / others.total()
        return round(share, 3) if (1 - share) ** own.total() <= CHANCE else None

    def _others(self, name: str, split: str) -> Counter[Levels]:
        """Sets of values in the other splits."""
        others = Counter[Levels]()
        for (field, of), sets in self.splits.items():
            others.update(sets if field == name and of != split else {})
        return others

    def _lost(self, name: str, split: str) -> list[Json]:
        """The classes that no mask of a split holds, though it cannot be by chance: each with the share of the other splits' masks that hold
        it. Masks that share no class with the others are written otherwise."""
        own, others = self.splits[name, split], self._others(name, split)
        held = {v for levels in own for v in levels}
        seen: Counter[int] = Counter()
        for levels, n in others.items():
            seen.update(dict.fromkeys(levels, n))
        shares = {v: count / others.total() for v, count in seen.items()}
        n = sum(n for levels, n in own.items() if any(levels))
        if n < FEWEST or not held & shares.keys() - {0, IGNORED}:
            return []
        lost = {v: p for v, p in shares.items() if v not in held | {0, IGNORED} and (1 - p) ** n <= CHANCE}
        return [{"class": v, "share": round(p, 3)} for v, p in sorted(lost.items())]

    def _counted(self, name: str, odd: list[Levels]) -> dict[str, Any]:
        """How many masks have these sets of values, of how many, and where they are."""
        sets = self.sets[name]
        return {"masks": sum(sets[s] for s in odd), "of": sum(sets.values()), "where": self._places(name, odd)}

    def _places(self, name: str, kinds: list[Any]) -> list[dict[str, Json]]:
        """Where masks of these forms or sets are, in sample order."""
        places = [place for kind in kinds for place in self.where.of((name, kind))]
        return sorted(places, key=lambda place: int(str(place["sample"])))[:MAX_PLACES]

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MASK_FORMS):
            forms, name = fact.value["forms"], escaped(fact.at["field"])
            if len(forms) > 1:
                n, usual = sum(forms.values()), next(iter(forms))
                text = f"{name}: {n - forms[usual]} of {n} masks are not {usual} but {', '.join(list(forms)[1:4])}"
                fix = "store every mask as one channel with one class index per pixel"
                yield finding("shape-drift", "error", text, fact, fix, fact.value["where"], n - forms[usual])
        for fact in facts.all(BEYOND):
            v, name = fact.value, escaped(fact.at["field"])
            if v["masks"]:
                text = f"{name}: {v['masks']} of {v['of']} masks hold {_listed(v['values'])}, beyond the {v['classes']} declared classes"
                fix = "correct these pixels, or declare the classes; cross entropy raises on an index beyond the last class"
                few = v["masks"] <= FEW * v["of"]  # of most masks: the list may be of something else
                yield finding(
                    "label-out-of-range", "error" if few else "warning", text, fact, fix, v["where"], v["masks"]
                )
        for fact in facts.all(SCALED):
            v, name = fact.value, escaped(fact.at["field"])
            if v["masks"]:
                text = f"{name}: {v['masks']} of {v['of']} masks hold {_listed(v['values'])}, the others {_listed(v['usual'])}"
                fix = "find out how these masks were written, and store the same index for a class in each mask"
                yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["masks"])
        for fact in facts.all(STRAY):
            v, name = fact.value, escaped(fact.at["field"])
            if v["masks"]:
                first, last = v["classes"][0], v["classes"][-1]
                text = f"{name}: {v['masks']} of {v['of']} masks hold {_listed(v['values'])}, which is none of the classes {first} to {last}"
                fix = "correct these pixels, or number the classes without a gap; cross entropy raises on an index beyond the last class"
                yield finding("label-out-of-range", "warning", text, fact, fix, v["where"], v["masks"])
        for fact in facts.all(REPLACED):
            v, name = fact.value, escaped(fact.at["field"])
            text = f"{name}: {v['masks']} of {v['of']} masks hold {IGNORED}, and none of these holds class {v['class']}, which the others often do: "
            text += f"{IGNORED} seems to stand for class {v['class']} there"
            fix = f"check a few; if so, replace {IGNORED} with {v['class']} in these masks: a loss that ignores {IGNORED} skips the class there"
            yield finding("label-out-of-range", "warning", text, fact, fix, v["where"], v["masks"])
        for fact in facts.all(BLENDED):
            v, name = fact.value, escaped(fact.at["field"])
            text = f"{name}: {v['masks']} of {v['of']} masks hold many values in few pixels each, unlike the others: the masks were "
            text += "probably resized with interpolation, which blends the classes along their borders"
            fix = (
                "regenerate these masks with nearest-neighbour interpolation, and store them without lossy compression"
            )
            yield finding("label-out-of-range", "warning", text, fact, fix, v["where"], v["masks"])
        for fact in facts.all(BLENDED_SPLIT):
            v, name, split = fact.value, escaped(fact.at["field"]), str(fact.at["split"])
            text = f"{name} is stored differently: {v['masks']} of {v['of']} masks of {escaped(split)} hold many values that cover few pixels each, unlike "
            text += "those of the other splits, because resizing with interpolation or lossy compression blended the classes along their borders"
            fix = (
                "regenerate these masks with nearest-neighbour interpolation, and store them without lossy compression"
            )
            yield finding(
                "preprocessing-differs", "error", text, fact, fix, [{"field": fact.at["field"], "split": split}]
            )
        for fact in facts.all(FROM_ONE):
            v, name, split = fact.value, escaped(fact.at["field"]), str(fact.at["split"])
            text = f"{name} is stored differently: the masks of {escaped(split)} seem to number the classes from 1, the others from 0: they hold the "
            text += f"values of the others, each larger by one, and never 0, which {v['share']:.0%} of the others hold"
            fix = f"subtract 1 from these masks, except where they hold {IGNORED}"
            yield finding(
                "preprocessing-differs", "error", text, fact, fix, [{"field": fact.at["field"], "split": split}]
            )
        for fact in facts.all(LOST):
            if any(any(facts.all(of, field=fact.at["field"])) for of in (BLENDED_SPLIT, FROM_ONE)):
                continue  # whose values are no classes, or others'
            name, split = escaped(fact.at["field"]), str(fact.at["split"])
            told = " or ".join(f"class {v['class']} ({v['share']:.0%} of the others have it)" for v in fact.value[:3])
            text = f"{name}: no mask of {escaped(split)} has {told}"
            fix = "find out whether the class was merged, renumbered or left out there; otherwise the class is neither learned nor evaluated"
            where = [{"field": fact.at["field"], "split": split}]
            yield finding("class-missing-in-split", "warning", text, fact, fix, where, len(fact.value))
        for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(BY_SPLIT)):
            first, *others = sorted(facts.all(BY_SPLIT, field=name), key=lambda f: f.at["split"] != "train")
            for other in others:
                a, b = _top(tuple(first.value)), _top(tuple(other.value))
                apart = not set(first.value) & set(other.value) - {0}
                if apart and 0 < min(a, b) <= max(a, b) / APART:
                    text = f"{escaped(name)} is stored differently: masks of {first.at['split']} hold {_listed(first.value)}, those of"
                    text += f" {other.at['split']} {_listed(other.value)}"
                    fix = "store the same index for a class in the masks of every split"
                    where = [{"field": name, "split": other.at["split"]}]
                    yield finding("preprocessing-differs", "error", text, [first, other], fix, where)


def _beyond(levels: Levels, classes: int) -> list[int]:
    """Values beyond so many declared classes, which may leave out the background."""
    return [v for v in levels if v != IGNORED and not 0 <= v <= classes]


def _scaled(sets: Counter[Levels]) -> tuple[list[Levels], list[int]]:
    """The few sets whose values are on another scale than the usual ones, and these."""
    total = sum(n for levels, n in sets.items() if any(levels))
    # of masks that hold nothing but 255, up to half may be written otherwise; where there are other values, it may mark what to ignore
    plain = sum(n for levels, n in sets.items() if any(levels) and set(levels) <= {0, IGNORED}) > MOST * total
    few = MOST if plain else FEW
    usual = _usual(sets, few)
    top = _top(tuple(usual))
    if top <= 0:
        return [], []
    odd = [s for s in sets if any(s) and not set(s) & set(usual) - {0, IGNORED if top != IGNORED else 0}]
    odd = [s for s in odd if _top(s) >= APART * top or 0 < _top(s) <= top / APART]
    odd = [s for s in odd if IGNORED not in (top, _top(s)) or not _ignored(sets)]
    return (odd, usual) if sum(sets[s] for s in odd) <= few * total else ([], [])


def _ignored(sets: Counter[Levels]) -> bool:
    """Whether 255 marks what to ignore: it stands beside a class in as many masks as without one, or in several."""
    beside = {s: n for s, n in sets.items() if IGNORED in s and set(s) - {0, IGNORED}}
    alone = sum(n for s, n in sets.items() if IGNORED in s and s not in beside)
    return 0 < min(SOME, alone) <= sum(beside.values())


def _stray(sets: Counter[Levels]) -> tuple[set[int], list[int]]:
    """The few values beyond the classes, and these: numbers from 0 or 1 on without a gap, each of them in far more masks."""
    seen: Counter[int] = Counter()
    for levels, n in sets.items():
        seen.update(dict.fromkeys((v for v in levels if 0 <= v != IGNORED), n))
    values = sorted(seen)
    classes = [v for at, v in enumerate(values) if v == values[0] + at]
    stray = set(values) - set(classes)
    if not stray or values[0] > 1 or len(classes) < 2 or len(stray) > max(stray) - classes[-1] - len(stray):
        return set(), classes
    masks = sum(n for levels, n in sets.items() if stray & set(levels))
    return (stray if RARER * masks <= min(seen[v] for v in classes) else set()), classes


def _replaced(sets: Counter[Levels]) -> int | None:
    """The one class that all masks with what is to be ignored lack, though the others often hold it and these hold the others' other classes."""
    total, ignoring = sum(sets.values()), sum(n for levels, n in sets.items() if IGNORED in levels)
    rest = total - ignoring
    if not SOME <= ignoring <= MOST * total:
        return None
    shares: dict[int, list[float]] = {}
    for levels, n in sets.items():
        for v in levels:
            if v != IGNORED:
                mine = IGNORED in levels
                shares.setdefault(v, [0.0, 0.0])[mine] += n / (ignoring if mine else rest)
    lost = [v for v, (usual, there) in shares.items() if not there and (1 - usual) ** ignoring <= CHANCE]
    others = [there >= AS_OFTEN * usual for v, (usual, there) in shares.items() if v not in lost and usual >= FEW]
    return lost[0] if len(lost) == 1 and len(others) > 1 and all(others) else None


def _usual(sets: Counter[Levels], share: float = FEW) -> list[int]:
    """The values that more than this share of the masks hold in which there is anything."""
    total = sum(n for levels, n in sets.items() if any(levels))
    seen: Counter[int] = Counter()
    for levels, n in sets.items():
        seen.update(dict.fromkeys(levels, n))
    return sorted(v for v, n in seen.items() if n > share * total)


def _top(levels: Levels) -> int:
    """The largest class, or 255 if there is no other."""
    return max((v for v in levels if v not in (0, IGNORED)), default=IGNORED if IGNORED in levels else 0)


def _by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values[:6])) + ("…" if len(values) > 6 else "")


CHECK = Masks

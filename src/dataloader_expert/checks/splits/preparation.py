"""Fields that one split holds in another form than another split: dtype, layout, channel order, scale, or another field's values.

Numbers are compared by their quantiles: ``scale`` is the smallest of three ratios: of the ranges between the 5th and the 95th
percentile, of the interquartile ranges and of the standard deviations; ``shape`` is the distance of the quantiles once both splits are
shifted and scaled to the same range. The same shape at another scale means different preprocessing, if the values' size changes with
their range or one split is normalised; another shape, or another range of the same scale, means drift.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import MIXED_UNITS, SPLIT_STATISTICS
from dataloader_expert.checks.common.per_sample import telling, written
from dataloader_expert.checks.splits.between import APART, LEAST, SURE, pairs_of, running
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity

FORMS = Quantity("split_forms", "samples", "dtypes, image modes, image sizes and layouts of a field in one split")
CONTRAST = Quantity("red_over_blue", "", "images of one split, and by how much red exceeds blue in them: mean and std")
OWN = Quantity("per_sample", "", "mean, spread and the like of each sample of one split, of some samples")
OTHER_SCALE, ANY_SHAPE = 2.0, 8.0
"""The ratio of ranges that means another scale if the shapes agree, and if they do not."""
SAME_SHAPE = 0.12
"""The largest distance between the quantiles of distributions with the same shape, as a share of the range."""
ALIKE = 1.5
"""The most by which medians of values at two scales differ, once each is divided by its range: less than the least ratio of ranges."""
TAIL, FEW_BEYOND = 0.05, 10
"""The share of rows beyond the last percentile that is compared, and how many these are at least where most values are the same."""
LEVELS = 4.0
"""Grey levels by which the means of channels must differ to determine their order."""
CHANNELS = (1, 3, 4)
"""How many channels images have."""
LOOKED = 64
"""Pixels of an image by which its channels are compared."""


def prepared(
    facts: Facts, arrays: set[str], scaled: set[str], identifiers: frozenset[str]
) -> Iterable[tuple[tuple[str, str], Finding]]:
    """Findings on preprocessing, by field and split; of ``identifiers``, on how they are numbered. Scalars that are integers in one split only do not count as another dtype."""
    converted = {f.at["field"] for f in facts.all(MIXED_UNITS) if f.value["in_one_split"] and not f.value["by_nature"]}
    for what, told in (("dtype", "dtype"), ("mode", "image mode"), ("size", "image size"), ("layout", "layout")):
        for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(FORMS, what=what)):
            if name not in arrays:
                continue
            for one, two in pairs_of(facts.all(FORMS, field=name, what=what)):
                if set(one.value) & set(two.value) or (what == "size" and max(len(one.value), len(two.value)) > 1):
                    continue  # sizes that vary within a split are the images' own
                a, b = (", ".join(list(f.value)[:3]) for f in (one, two))
                text = f"{told} {a} in {one.at['split']}, {b} in {two.at['split']}"
                yield (name, str(two.at["split"])), _differs(name, text, [one, two], two)
    for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(SPLIT_STATISTICS)):
        if name not in scaled:
            continue
        channels = dict.fromkeys(f.at.get("channel") for f in facts.all(SPLIT_STATISTICS, field=name))
        if {"red", "green", "blue"} <= set(channels):
            yield from _swapped(name, facts)
        channel = next(iter(channels))
        for one, two in pairs_of(
            [f for f in facts.all(SPLIT_STATISTICS, field=name) if f.at.get("channel") == channel]
        ):
            if _scaled(one.value, two.value):
                a, b = one.value["quantiles"], two.value["quantiles"]
                text = (
                    f"values are {_span(a['p5'], a['p95'])} in {one.at['split']}, "
                    f"{_span(b['p5'], b['p95'])} in {two.at['split']} (5th to 95th percentile)"
                )
                found = _renumbered if name in identifiers else _converted if name in converted else _differs
                yield (name, str(two.at["split"])), found(name, text, [one, two], two)


def swapped_fields(facts: Facts, names: set[str]) -> Iterable[Finding]:
    """Findings on pairs of fields of which each has the distribution that the other has in another split."""
    found: dict[str, list[Fact]] = {}
    for fact in facts.all(SPLIT_STATISTICS):
        if fact.at["field"] in names and fact.value["n"] >= LEAST and fact.value["quantiles"] is not None:
            found.setdefault(str(fact.at["field"]), []).append(fact)
    moved = [
        (name, one, two)
        for name, of in found.items()
        for one, two in pairs_of(of)
        if _unlikeness(one, two) >= APART and _means_apart(one, two) >= SURE
    ]
    for (a, a_one, a_two), (b, b_one, b_two) in itertools.combinations(moved, 2):
        splits = a_one.at["split"], a_two.at["split"]
        if a == b or splits != (b_one.at["split"], b_two.at["split"]):
            continue
        crossed = max(_unlikeness(a_one, b_two), _unlikeness(b_one, a_two))
        if 4 * crossed <= min(_unlikeness(a_one, a_two), _unlikeness(b_one, b_two)):
            means = ", ".join(f"{f.value['mean']:.4g}" for f in (a_one, a_two, b_one, b_two))
            yield finding(
                "preprocessing-differs",
                "error",
                f"{escaped(a)} and {escaped(b)} are swapped in {splits[1]}: each has the values there that the other has in {splits[0]} "
                f"(means of {escaped(a)} and {escaped(b)} in both: {means})",
                [a_one, a_two, b_one, b_two],
                "write the columns of every split in the same order",
                [{"field": name, "split": splits[1]} for name in (a, b)],
            )


def _span(low: float, high: float) -> str:
    """A range in words; one number if both ends are the same."""
    same = f"{low:.4g}" == f"{high:.4g}"
    return f"about {low:.4g}" if same else f"between {low:.4g} and {high:.4g}"


def _means_apart(one: Fact, two: Fact) -> float:
    """The difference between two means, in standard errors: the quantiles of sparse numbers jump by chance."""
    error = math.sqrt(sum(f.value["std"] ** 2 / f.value["n"] for f in (one, two)))
    return abs(one.value["mean"] - two.value["mean"]) / error if error > 0 else math.inf


def _unlikeness(one: Fact, two: Fact) -> float:
    """How far apart the quantiles of two distributions are on average, as a share of the wider one's range between the 5th and the
    95th percentile."""
    a, b = (list(f.value["quantiles"].values()) for f in (one, two))
    width = max(a[5] - a[1], b[5] - b[1])
    return sum(abs(x - y) for x, y in zip(a[1:6], b[1:6], strict=True)) / (5 * width) if width > 0 else 0.0


def unlike_samples(facts: Facts, done: set[str]) -> Iterable[tuple[str, Finding]]:
    """Findings on fields whose samples are apart in one of their own measures, the most telling one."""
    for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(OWN)):
        for one, two in pairs_of(facts.all(OWN, field=name)) if name not in done else ():
            of = telling(one.value, two.value)
            ways = written(one.value), written(two.value)
            if of is None and None not in ways and ways[0] != ways[1]:
                text = f"nearly all texts of {escaped(name)} are written {ways[0]} in {one.at['split']}, {ways[1]} in {two.at['split']}"
                fix = "write every split with the same code: a model trained on one form does not know the other"
                where = [{"field": name, "split": two.at["split"]}]
                yield name, finding("preprocessing-differs", "warning", text, [one, two], fix, where)
                break
            if of is None:
                continue
            a, b = ([f.value[of][int(q * (len(f.value[of]) - 1))] for q in (0.05, 0.95)] for f in (one, two))
            yield (
                name,
                finding(
                    "preprocessing-differs",
                    "warning",
                    f"the splits barely overlap in {escaped(name)}: a sample's {of} is {_span(*a)} in "
                    f"{one.at['split']}, {_span(*b)} in {two.at['split']} (5th to 95th percentile)",
                    [one, two],
                    "preprocess every split with the same code; if the splits were recorded differently, a model will not transfer",
                    [{"field": name, "split": two.at["split"]}],
                ),
            )
            break


def _renumbered(name: str, text: str, facts: list[Fact], other: Fact) -> Finding:
    """Numbers that name something have no scale: one split counts them differently."""
    says = f"is numbered differently: {text}, so the same number means different things"
    fix = "build one numbering for all splits, or go back to the original ids: otherwise an embedding layer looks up the wrong rows"
    return _found(name, says, facts, fix, other)


def _converted(name: str, text: str, facts: list[Fact], other: Fact) -> Finding:
    """One site of one split has another unit, which is told of that site."""
    fix = "convert the values of the site that scale-drift names"
    return _found(name, f"has another unit in a part of one split: {text}", facts, fix, other)


def _differs(name: str, text: str, facts: list[Fact], other: Fact) -> Finding:
    fix = "preprocess every split with the same code, using statistics of the training split"
    return _found(name, f"is preprocessed differently: {text}", facts, fix, other)


def _found(name: str, says: str, facts: list[Fact], fix: str, other: Fact) -> Finding:
    where = [{"field": name, "split": other.at["split"]}]
    return finding("preprocessing-differs", "error", f"{escaped(name)} {says}", facts, fix, where)


def _scaled(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two splits have the same kind of values at another scale, not from another range of the same scale."""
    if min(one["n"], two["n"]) < LEAST or one["quantiles"] is None or two["quantiles"] is None:
        return False
    if running(one) and running(two):
        return False  # numbers of rows, which begin anew in each split
    if TAIL * min(one["n"], two["n"]) < FEW_BEYOND and max(_mostly(one), _mostly(two)) > 0.5:
        return False  # of values that are mostly one, such as 0, a few rows make the range and the deviation
    a, b = list(one["quantiles"].values()), list(two["quantiles"].values())
    ranges = a[5] - a[1], b[5] - b[1]
    if min(ranges) <= 0:
        return False
    spreads = one["std"] or 0.0, two["std"] or 0.0
    # all must agree: percentiles jump with few distinct values, the deviation with heavy tails, and a placeholder
    # such as -999 moves both but not the interquartile range
    middles = a[4] - a[2], b[4] - b[2]
    measures = [ranges, spreads, *([middles] if min(middles) > 0 else [])]
    ratio = min(max(m) / min(m) for m in measures) if min(spreads) > 0 else 1.0
    normalized = _normalized(one) != _normalized(two)
    sizes = _size(a), _size(b)
    if ratio >= ANY_SHAPE and (normalized or max(sizes) >= ANY_SHAPE * min(sizes)):
        return True
    apart = max(abs((x - a[1]) / ranges[0] - (y - b[1]) / ranges[1]) for x, y in zip(a, b, strict=True))
    moved = normalized or _proportional(a[3] / ranges[0], b[3] / ranges[1])
    chance = min(SAME_SHAPE, 1 / math.sqrt(min(one["n"], two["n"])))  # the tails of few values scatter
    return bool(ratio >= OTHER_SCALE and apart <= SAME_SHAPE + chance and moved)


def _mostly(split: dict[str, Any]) -> float:
    """The share of the most frequent value."""
    return float((split["commonest"] or {"share": 0.0})["share"])


def _normalized(split: dict[str, Any]) -> bool:
    """Whether the values have zero mean and unit deviation, or fill the range 0 to 1 or -1 to 1."""
    standard = abs(split["mean"]) <= 0.1 and abs(split["std"] - 1) <= 0.1
    return bool(standard or ((split["min"], split["max"]) in ((0, 1), (-1, 1))))


def _size(quantiles: list[float]) -> float:
    """How large values are: the mean absolute quantile."""
    return sum(map(abs, quantiles)) / len(quantiles)


def _proportional(one: float, two: float) -> bool:
    """Whether medians, each in units of its split's range, agree: another unit multiplies both; a later season, another place
    or a window of a trend has a smaller range at the same size."""
    if max(abs(one), abs(two)) <= 1:
        return abs(one - two) <= 2 * SAME_SHAPE
    return one * two > 0 and 1 / ALIKE <= one / two <= ALIKE


def _swapped(name: str, facts: Facts) -> Iterable[tuple[tuple[str, str], Finding]]:
    """Findings on splits whose channels are in reverse order."""
    by_split: dict[str, dict[str, Fact]] = {}
    for fact in facts.all(SPLIT_STATISTICS, field=name):
        by_split.setdefault(str(fact.at["split"]), {})[str(fact.at.get("channel"))] = fact
    reds = [f["red"] for f in by_split.values() if {"red", "green", "blue"} <= f.keys()]
    for one, two in pairs_of(reds):
        a, b = by_split[str(one.at["split"])], by_split[str(two.at["split"])]
        means = [[float(f[c].value["mean"]) for c in ("red", "green", "blue")] for f in (a, b)]
        tints = [[x - sum(of) / 3 for x in of] for of in means]  # one split may be brighter than the other, too
        straight = max(abs(x - y) for x, y in zip(*tints, strict=True))
        reverse = max(abs(x - y) for x, y in zip(tints[0], tints[1][::-1], strict=True))
        error = math.hypot(*(_error(facts.find(CONTRAST, field=name, split=f.at["split"])) for f in (one, two)))
        differ = abs((means[0][0] - means[0][2]) - (means[1][0] - means[1][2]))
        brighter = abs(sum(means[0]) - sum(means[1])) / 3  # of another light, such as that of dusk, everything is
        if straight >= LEVELS and brighter <= straight and reverse <= straight / 3 and differ >= SURE * error:
            text = (
                f"red and blue are swapped: channel means {', '.join(f'{x:.0f}' for x in means[0])} in {one.at['split']}, "
                f"{', '.join(f'{x:.0f}' for x in means[1])} in {two.at['split']}"
            )
            yield (name, str(two.at["split"])), _differs(name, text, [one, two], two)


def layout_of(shape: tuple[int, ...]) -> str | None:
    """How an image of this shape is laid out; None if it is none, or could be either."""
    first, last = len(shape) == 3 and shape[0] in CHANNELS, len(shape) == 3 and shape[-1] in CHANNELS
    return None if first == last else "[channels, height, width]" if first else "[height, width, channels]"


def _error(contrast: Fact | None) -> float:
    """The standard error of a split's mean contrast: images were sampled, not pixels."""
    return math.inf if contrast is None else float(contrast.value["std"]) / math.sqrt(contrast.value["n"])


def contrasts(values: Any) -> Iterator[int]:
    """Red minus blue of each three-channel image, summed over ``LOOKED`` evenly spread pixels."""
    import numpy as np

    side = math.isqrt(LOOKED)
    for value in values:
        if getattr(value, "mode", None) == "RGB":
            pixels = np.asarray(value.resize((side, side), 0), np.int64)  # 0: the nearest pixel
        elif getattr(value, "ndim", 0) == 3 and value.shape[2] == 3 and value.dtype == np.uint8 and value.size:
            rows, columns = (np.arange(side) * n // side for n in value.shape[:2])
            pixels = value[np.ix_(rows, columns)].astype(np.int64)
        else:
            continue
        yield int((pixels[..., 0] - pixels[..., 2]).sum())

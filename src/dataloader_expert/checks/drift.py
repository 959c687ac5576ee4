"""How splits differ: in their labels, their fields, and their preprocessing.

Two splits with the same preprocessing have the same dtype, layout, channel order and scale. Numbers are compared by their quantiles:
``scale`` is the smallest of three ratios: of the ranges between the 5th and the 95th percentile, of the interquartile ranges and
of the standard deviations; ``shape`` is the distance of the quantiles once both splits are shifted and scaled to the same range.
The same shape at another scale means different preprocessing, if the values' size changes with their range or one split is
normalised; another shape, or another range of the same scale, means drift. Labels and categories are compared by
total variation distance with a chi-squared test.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dataloader_expert.checks.base import CLASS_COUNTS, EFFECTS, SPLIT_STATISTICS, Check, Context
from dataloader_expert.checks.drawn import Drawn
from dataloader_expert.checks.per_sample import KEPT, keep, kept, telling, written
from dataloader_expert.checks.sound_only import sound_only
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.layout import split_in_name

FORMS = Quantity("split_forms", "samples", "dtypes, image modes, image sizes and layouts of a field in one split")
CATEGORIES = Quantity("split_categories", "samples", "samples of each value of a field in one split")
CONTRAST = Quantity("red_over_blue", "", "images of one split, and by how much red exceeds blue in them: mean and std")
OWN_MEASURES = ("image", "array", "embedding", "sequence", "audio", "text")
OF_FIELDS = 8
"""Kinds of fields of which each sample's own measures are kept, and the most such fields."""
OWN = Quantity("per_sample", "", "mean, spread and the like of each sample of one split, of some samples")
MOST = 1_000
"""The most distinct values with which a field's categories are counted."""
APART = 0.1
"""The least total variation distance that is reported."""
SHIFTED = 0.25
"""The least shift of a mean that is reported, in standard deviations."""
SURE = 5.0
"""Standard errors by which splits must differ: many fields are compared, and samples of a split may be correlated."""
OTHER_SCALE, ANY_SHAPE = 2.0, 8.0
"""The ratio of ranges that means another scale if the shapes agree, and if they do not."""
SAME_SHAPE = 0.12
"""The largest distance between the quantiles of distributions with the same shape, as a share of the range."""
ALIKE = 1.5
"""The most by which medians of values at two scales differ, once each is divided by its range: less than the least ratio of ranges."""
FEW = 20
"""The most forms of a field that are reported: more are natural variety."""
TIMES, SURE_LABELS = 2.0, 3.5
"""How many times as frequent in one split a class must be to be reported on its own; and standard errors for one comparison."""
TAIL, FEW_BEYOND = 0.05, 10
"""The share of rows beyond the last percentile that is compared, and how many these are at least where most values are the same."""
LEAST = 20
"""The fewest values of each split."""
LEVELS = 4.0
"""Grey levels by which the means of channels must differ to determine their order."""
CHANNELS = (1, 3, 4)
"""How many channels images have."""
LOOKED = 64
"""Pixels of an image by which its channels are compared."""


class Drift(Check):
    ids = ("label-drift", "feature-drift", "preprocessing-differs")
    of_features = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.forms: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        """By split and field: dtypes, modes, sizes and layouts."""
        self.contrast: dict[tuple[str, str], list[int]] = {}
        """By split and field: number of images, the sum of red minus blue over the pixels looked at, and the sum of its squares."""
        self.values: dict[tuple[str, str], Counter[Any]] = {}
        self.own: dict[tuple[str, str], Drawn] = {}
        """By split and field: what is measured of each sample of its own."""
        roles = context.roles
        self.known: set[str | None] = {
            context.label,
            *(r.field for r in (roles.split, context.grouped, context.timed, *roles.keys) if r is not None),
        }
        """Fields that differ between splits by nature."""
        self.aside = self.known | context.identifiers
        """These, and numbers that name things, which may only be counted otherwise."""
        kinds = {
            f.name: f.kind
            for f in context.fields
            if f.kind in OWN_MEASURES and f.name not in self.aside and f.name not in context.features
        }
        self.shaped = dict(itertools.islice(kinds.items(), OF_FIELDS))
        self.images = {f.name for f in context.fields if f.kind == "image"}
        self.counted = [
            f.name
            for f in context.fields
            if f.kind in ("category", "boolean") and not f.shape and f.name not in self.aside
        ]

    def applies(self) -> bool:
        return self.context.several_splits

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if not self.applies():
            return
        for split, part in self.context.by_split(block):
            if split is None:
                continue
            for name in self.shaped:
                if name in part.columns:
                    keep(self.own.setdefault((split, name), Drawn(KEPT, of_all=False)), part, part.columns[name].values)
            for name, column in part.columns.items():
                if name in self.context.features:
                    continue  # whose dtype is that of the vector
                self._form(split, name, column.values)
                counts = self.values.setdefault((split, name), Counter())
                if name in self.counted and len(counts) <= MOST:
                    plain = column.values.tolist() if hasattr(column.values, "tolist") else column.values
                    absent = column.nulls
                    there = (v for i, v in enumerate(plain) if v is not None and (absent is None or not absent[i]))
                    counts.update(v if isinstance(v, str | int | float) else str(v) for v in there)

    def _form(self, split: str, name: str, values: Any) -> None:
        counts = self.forms.setdefault((split, name), Counter())
        if name in self.images:  # looking at each value of a long column would take seconds
            for contrast in _contrasts(values):
                sums = self.contrast.setdefault((split, name), [0, 0, 0])
                sums[:] = sums[0] + 1, sums[1] + contrast, sums[2] + contrast**2
        if hasattr(values, "dtype"):
            if values.dtype.kind in "biufc":
                counts["dtype", str(values.dtype)] += len(values)
                if values.ndim == 4 and (layout := layout_of(values.shape[1:])) is not None:
                    counts["layout", layout] += len(values)
            return
        for value in values:
            if hasattr(value, "getbands"):
                counts["mode", value.mode] += 1
                counts["size", f"{value.width} x {value.height}"] += 1
            elif hasattr(value, "dtype") and value.dtype.kind in "biufc":
                counts["dtype", str(value.dtype)] += 1
                if (layout := layout_of(value.shape)) is not None:
                    counts["layout", layout] += 1

    def merge(self, other: Check) -> None:
        assert isinstance(other, Drift)
        self.seen += other.seen
        for key, counts in other.forms.items():
            self.forms.setdefault(key, Counter()).update(counts)
        for key, drawn in other.own.items():
            self.own.setdefault(key, Drawn(KEPT, of_all=False)).merge(drawn)
        for key, sums in other.contrast.items():
            self.contrast[key] = [a + b for a, b in zip(self.contrast.get(key, [0, 0, 0]), sums, strict=True)]
        for key, found in other.values.items():
            self.values.setdefault(key, Counter()).update(found)

    def facts(self) -> Iterable[Fact]:
        for (split, name), counts in sorted(self.forms.items()):
            for what in ("dtype", "mode", "size", "layout"):
                found = {k: n for (kind, k), n in counts.most_common() if kind == what}
                if 0 < len(found) <= FEW:
                    yield Fact(FORMS, found, self.evidence(), {"field": name, "split": split, "what": what})
        for (split, name), (n, total, squares) in sorted(self.contrast.items()):
            mean = total / n
            value = {"n": n, "mean": mean / LOOKED, "std": math.sqrt(max(squares / n - mean**2, 0.0)) / LOOKED}
            yield Fact(CONTRAST, value, self.evidence(n=n), {"field": name, "split": split})
        for (split, name), drawn in sorted(self.own.items()):
            if drawn.held:
                measured = kept(drawn, self.shaped[name])
                n = len(next(iter(measured.values())))
                yield Fact(OWN, measured, self.evidence("sampled", n), {"field": name, "split": split})
        for (split, name), values in sorted(self.values.items()):
            if values and all(len(self.values[s, f]) <= MOST for s, f in self.values if f == name):
                named = {str(k): n for k, n in sorted(values.items(), key=lambda kv: str(kv[0]))}
                yield Fact(CATEGORIES, named, self.evidence(), {"field": name, "split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        yield from _labels(facts)
        arrays = {f.name for f in self.context.fields if f.shape or f.kind == "image"}
        numbers = {
            f.name for f in self.context.fields if f.kind in ("image", "array", "embedding", "sequence", "number")
        }
        swapped = list(_exchanged(facts, numbers - arrays - self.aside))
        yield from swapped
        exchanged = {str(place["field"]) for found in swapped for place in found.where}
        prepared = dict(_prepared(facts, arrays, numbers - self.known - exchanged, self.context.identifiers))
        whole = {name for name, _ in prepared}
        exchanged |= {name for name, f in self.context.features.items() if f.of in whole}  # told of the vector
        yield from (found for (name, _), found in prepared.items() if name not in exchanged)
        done = {name for name, _ in prepared} | exchanged
        unlike = dict(_unlike(facts, done))
        yield from unlike.values()
        done |= set(unlike)
        yield from (f for name, f in _features(facts, self.context, self.aside) if name not in done)


def _pairs(found: Iterable[Fact]) -> list[tuple[Fact, Fact]]:
    """Training against each other split; all pairs if none is called train."""
    facts = list(found)
    train = [f for f in facts if f.at["split"] == "train"]
    if train:
        return [(train[0], f) for f in facts if f is not train[0]]
    return list(itertools.combinations(facts, 2))


def _labels(facts: Facts) -> Iterable[Finding]:
    if sound_only(facts) is not None:
        return  # which is told where classes are
    counts = [f for f in facts.all(CLASS_COUNTS) if f.at.get("split") is not None]
    told = [f for f in counts if f.value]
    if len(told) > 1 and sum(len(f.value) for f in told) == len({k for f in told for k in f.value}):
        told = [
            f for f in told if f.evidence.how != "counted"
        ]  # no class is in two splits, which is told where classes are
    for one, two in _pairs(told):
        effects = _effects(facts, one, two)
        distance, sure = compared(one.value, two.value, SURE_LABELS, effects)
        most = max(sorted(effects), key=lambda k: _apart(one, two, k, effects))
        if not (sure and distance >= APART) and not (
            _apart(one, two, most, effects) >= SURE_LABELS and _ratio(one, two, most) >= TIMES
        ):
            continue
        yield finding(
            "label-drift",
            "warning",
            f"the classes of {one.at['split']} and {two.at['split']} are distributed differently (total variation "
            f"{distance:.2f}): {escaped(most)} is {_share(one, most):.1%} of one and {_share(two, most):.1%} of the other",
            [one, two],
            "split again, stratified by class; if the drift is real, weight the training loss or report per class",
            [{"split": two.at["split"]}],
        )


def _effects(facts: Facts, one: Fact, two: Fact) -> dict[str, float]:
    """By class: the variance of the difference between its shares, over that of samples which come one by one."""
    found = [(1 / sum(f.value.values()), facts.value(EFFECTS, {}, split=f.at["split"])) for f in (one, two)]
    whole = sum(weight for weight, _ in found)
    return {k: sum(w * effects.get(k, 1.0) for w, effects in found) / whole for k in {*one.value, *two.value}}


def _apart(one: Fact, two: Fact, value: str, effects: Mapping[str, float]) -> float:
    """The difference between a class's shares in two splits, in standard errors."""
    n, m = sum(one.value.values()), sum(two.value.values())
    pooled = (one.value.get(value, 0) + two.value.get(value, 0)) / (n + m)
    error = math.sqrt(effects[value] * pooled * (1 - pooled) * (1 / n + 1 / m))
    return abs(_share(one, value) - _share(two, value)) / error if error > 0 else 0.0


def _ratio(one: Fact, two: Fact, value: str) -> float:
    """The ratio of the larger to the smaller of a class's two shares."""
    low, high = sorted((_share(one, value), _share(two, value)))
    return high / low if low > 0 else math.inf


def _share(fact: Fact, value: str) -> float:
    return float(fact.value.get(value, 0) / max(1, sum(fact.value.values())))


def compared(
    one: Mapping[str, int], two: Mapping[str, int], sure: float = SURE, effects: Mapping[str, float] | None = None
) -> tuple[float, bool]:
    """Total variation distance of two sets of counts, and whether a chi-squared test tells them apart.

    The statistic's normal approximation: Wilson and Hilferty, "The distribution of chi-square", 1931. Samples that come in groups,
    with these design ``effects`` by value: Rao and Scott, "The analysis of categorical data from complex sample surveys", 1981,
    their first-order correction.
    """
    n, m = sum(one.values()), sum(two.values())
    if not n or not m:
        return 0.0, False
    keys = sorted({*one, *two})
    distance = 0.5 * sum(abs(one.get(k, 0) / n - two.get(k, 0) / m) for k in keys)
    statistic = 0.0
    for k in keys:
        total = one.get(k, 0) + two.get(k, 0)
        for seen, size in ((one.get(k, 0), n), (two.get(k, 0), m)):
            expected = total * size / (n + m)
            statistic += (seen - expected) ** 2 / expected
    free = max(1, len(keys) - 1)
    if effects is not None:
        shares = {k: (one.get(k, 0) + two.get(k, 0)) / (n + m) for k in keys}
        statistic /= max(1.0, sum((1 - shares[k]) * effects[k] for k in keys) / free)
    z = ((statistic / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))
    return distance, z > sure


def _prepared(
    facts: Facts, arrays: set[str], scaled: set[str], identifiers: frozenset[str]
) -> Iterable[tuple[tuple[str, str], Finding]]:
    """Findings on preprocessing, by field and split; of ``identifiers``, on how they are numbered. Scalars that are integers in one split only do not count as another dtype."""
    for what, told in (("dtype", "dtype"), ("mode", "image mode"), ("size", "image size"), ("layout", "layout")):
        for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(FORMS, what=what)):
            if name not in arrays:
                continue
            for one, two in _pairs(facts.all(FORMS, field=name, what=what)):
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
        for one, two in _pairs([f for f in facts.all(SPLIT_STATISTICS, field=name) if f.at.get("channel") == channel]):
            if _scaled(one.value, two.value):
                a, b = one.value["quantiles"], two.value["quantiles"]
                text = (
                    f"values are between {a['p5']:.4g} and {a['p95']:.4g} in {one.at['split']}, between "
                    f"{b['p5']:.4g} and {b['p95']:.4g} in {two.at['split']} (5th to 95th percentile)"
                )
                found = _renumbered if name in identifiers else _differs
                yield (name, str(two.at["split"])), found(name, text, [one, two], two)


def _exchanged(facts: Facts, names: set[str]) -> Iterable[Finding]:
    """Findings on pairs of fields of which each has the distribution that the other has in another split."""
    found: dict[str, list[Fact]] = {}
    for fact in facts.all(SPLIT_STATISTICS):
        if fact.at["field"] in names and fact.value["n"] >= LEAST and fact.value["quantiles"] is not None:
            found.setdefault(str(fact.at["field"]), []).append(fact)
    moved = [
        (name, one, two)
        for name, of in found.items()
        for one, two in _pairs(of)
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
                f"{escaped(a)} and {escaped(b)} are exchanged in {splits[1]}: each has there the values that the other has in {splits[0]} "
                f"(means of {escaped(a)} and {escaped(b)} in both: {means})",
                [a_one, a_two, b_one, b_two],
                "write the columns of every split in one order",
                [{"field": name, "split": splits[1]} for name in (a, b)],
            )


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


def _unlike(facts: Facts, done: set[str]) -> Iterable[tuple[str, Finding]]:
    """Findings on fields whose samples are apart in one of their own measures, the most telling one."""
    for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(OWN)):
        for one, two in _pairs(facts.all(OWN, field=name)) if name not in done else ():
            of = telling(one.value, two.value)
            ways = written(one.value), written(two.value)
            if of is None and None not in ways and ways[0] != ways[1]:
                text = f"nearly all texts of {escaped(name)} are written {ways[0]} in {one.at['split']}, {ways[1]} in {two.at['split']}"
                fix = "write every split with the same code: a model that is trained on the one does not know the other"
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
                    f"the splits have hardly a value of {escaped(name)} in common: the {of} of a sample is between {a[0]:.4g} and {a[1]:.4g} in "
                    f"{one.at['split']}, between {b[0]:.4g} and {b[1]:.4g} in {two.at['split']} (5th to 95th percentile)",
                    [one, two],
                    "preprocess every split with the same code; if the splits were recorded differently, a model cannot carry over",
                    [{"field": name, "split": two.at["split"]}],
                ),
            )
            break


def _renumbered(name: str, text: str, facts: list[Fact], other: Fact) -> Finding:
    """Numbers that name something have no scale: one split counts them otherwise."""
    return finding(
        "preprocessing-differs",
        "error",
        f"{escaped(name)} is numbered otherwise: {text}, so that one number names different things",
        facts,
        "number what is named once, for all splits, or go back to the original ids: an embedding looks up others than it was trained for",
        [{"field": name, "split": other.at["split"]}],
    )


def _differs(name: str, text: str, facts: list[Fact], other: Fact) -> Finding:
    return finding(
        "preprocessing-differs",
        "error",
        f"{escaped(name)} is preprocessed differently: {text}",
        facts,
        "preprocess every split with the same code, using statistics of the training split",
        [{"field": name, "split": other.at["split"]}],
    )


def _scaled(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two splits have the same kind of values at another scale, not from another range of the same scale."""
    if min(one["n"], two["n"]) < LEAST or one["quantiles"] is None or two["quantiles"] is None:
        return False
    if _running(one) and _running(two):
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


def _running(split: dict[str, Any]) -> bool:
    """Whether the values have the range and the deviation of whole numbers that each occur once."""
    n = split["n"]
    uniform = math.sqrt((n * n - 1) / 12)
    return bool(split["max"] - split["min"] == n - 1 and abs(split["std"] - uniform) <= 1e-6 * uniform)


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
    for one, two in _pairs(reds):
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


def _contrasts(values: Any) -> Iterator[int]:
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


def _names_split(fact: Fact) -> bool:
    """Whether a field says in every sample of a split which one it is, as a table beside folders of that name does."""
    split = fact.at["split"]
    return len(fact.value) == 1 and all(split in (value, split_in_name(value)) for value in fact.value)


def _features(facts: Facts, context: Context, aside: set[str | None]) -> Iterable[tuple[str, Finding]]:
    for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(SPLIT_STATISTICS)):
        kind = next((f.kind for f in context.fields if f.name == name), "")
        whole = [f for f in facts.all(SPLIT_STATISTICS, field=name) if f.at.get("channel") is None]
        if name in aside or kind != "number":
            continue
        for one, two in _pairs(whole):
            a, b = one.value, two.value
            if min(a["n"], b["n"]) < LEAST or not (a["std"] or b["std"]) or (_running(a) and _running(b)):
                continue
            if not (a["std"] and b["std"]):
                still, moving = (one, two) if not a["std"] else (two, one)
                if not _surely_still(still.value, moving.value):
                    continue
                text = f"it is {still.value['min']:.4g} in every sample of {still.at['split']} and varies in {moving.at['split']}"
                yield name, _drifts(name, text, one, two)
                continue
            pooled = math.sqrt((a["std"] ** 2 + b["std"] ** 2) / 2)
            shift = (b["mean"] - a["mean"]) / pooled
            error = math.sqrt(a["std"] ** 2 / a["n"] + b["std"] ** 2 / b["n"]) / pooled
            if abs(shift) >= SHIFTED and abs(shift) >= SURE * error:
                text = f"its mean is {a['mean']:.4g} in {one.at['split']} and {b['mean']:.4g} in {two.at['split']}, {abs(shift):.2f} standard deviations apart"
                yield name, _drifts(name, text, one, two)
    for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(CATEGORIES)):
        if name in aside or all(_names_split(fact) for fact in facts.all(CATEGORIES, field=name)):
            continue
        for one, two in _pairs(facts.all(CATEGORIES, field=name)):
            distance, sure = compared(one.value, two.value)
            if distance >= 1 and sure:
                text = f"no value in {two.at['split']} occurs in {one.at['split']}"
                yield name, _drifts(name, text, one, two)
            elif distance >= APART and sure:
                text = f"its values are distributed differently in {one.at['split']} and {two.at['split']} (total variation {distance:.2f})"
                yield name, _drifts(name, text, one, two)


def _surely_still(still: dict[str, Any], moving: dict[str, Any]) -> bool:
    """Whether a split of one value would not be so by chance, if it were drawn from the other: a rare value is easily missed."""
    usual = moving["commonest"]
    share = usual["share"] if usual["value"] == still["min"] else min(usual["share"], 1 - usual["share"])
    return bool(still["n"] * math.log(max(share, 1e-300)) <= -0.5 * SURE**2)


def _drifts(name: str, text: str, one: Fact, two: Fact) -> Finding:
    return finding(
        "feature-drift",
        "info",
        f"{escaped(name)} drifts: {text}",
        [one, two],
        "find out why the splits differ; if they should not, split again at random or by group",
        [{"field": name, "split": two.at["split"]}],
    )


CHECK = Drift

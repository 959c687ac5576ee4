"""How splits differ: in their labels, their fields, and their preprocessing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import DEPTH, SPLIT_STATISTICS, Check, Context
from dataloader_expert.checks.common.dealt_numbers import name_things
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.per_sample import KEPT, keep, kept
from dataloader_expert.checks.splits.between import APART, LEAST, SURE, compared, pairs_of, running
from dataloader_expert.checks.splits.label_drift import drift_of_labels
from dataloader_expert.checks.splits.preparation import (
    CONTRAST,
    FORMS,
    LOOKED,
    OWN,
    contrasts,
    layout_of,
    prepared,
    swapped_fields,
    unlike_samples,
)
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.roles import TIME_WORDS, is_identifier, words

CATEGORIES = Quantity("split_categories", "samples", "samples of each value of a field in one split")
DEALT = Quantity("numbers_dealt", "values", "numbers that name things, each of which is in one split only")
OWN_MEASURES = ("image", "array", "embedding", "sequence", "audio", "text")
OF_FIELDS = 8
"""Kinds of fields of which each sample's own measures are kept, and the most such fields."""
MOST = 1_000
"""The most distinct values with which a field's categories are counted."""
SHIFTED = 0.25
"""The least shift of a mean that is reported, in standard deviations."""
FEW = 20
"""The most forms of a field that are reported: more are natural variety."""


OF_TARGETS = 4.0
"""The least ratio of the ranges of targets that growth does not explain."""


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
            context.classes_of_objects,
            *(r.field for r in (roles.split, context.grouped, context.timed, *roles.keys) if r is not None),
        }
        """Fields that differ between splits by nature."""
        self.aside = self.known | context.identifiers
        """These, and numbers that name things, which may only be counted otherwise."""
        self.numbered = {f.name for f in context.fields if f.kind in ("array", "embedding") and is_identifier(f.name)}
        """Fields that hold several running numbers each, which measure nothing."""
        able = [f.name for f in context.fields if f.kind in OWN_MEASURES]
        self.shaped = [name for name in able if name not in self.aside and name not in context.features][:OF_FIELDS]
        whole = [f for f in context.fields if f.kind == "number" and not f.shape and "int" in f.dtype]
        self.whole = {f.name for f in whole if f.name not in self.aside and not set(words(f.name)) & TIME_WORDS}
        self.numbers: dict[tuple[str, str], set[int]] = {}
        """By split and field: the different whole numbers, up to ``MOST`` and some."""
        self.rows: Counter[str] = Counter()
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
                if name in self.whole:
                    self._whole(split, name, column)
                counts = self.values.setdefault((split, name), Counter())
                if name in self.counted and len(counts) <= MOST:
                    plain = column.values.tolist() if hasattr(column.values, "tolist") else column.values
                    absent = column.nulls
                    there = (v for i, v in enumerate(plain) if v is not None and (absent is None or not absent[i]))
                    counts.update(v if isinstance(v, str | int | float) else str(v) for v in there)

    def _whole(self, split: str, name: str, column: Column) -> None:
        import numpy as np

        known, values = self.numbers.setdefault((split, name), set()), column.values
        self.rows[name] += len(values)
        if len(known) <= MOST and getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u"):
            known.update(np.unique(values if column.nulls is None else values[~column.nulls]).tolist()[: MOST + 1])

    def _form(self, split: str, name: str, values: Any) -> None:
        counts = self.forms.setdefault((split, name), Counter())
        if name in self.images:  # looking at each value of a long column would take seconds
            for contrast in contrasts(values):
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
        for key, numbers in other.numbers.items():
            self.numbers.setdefault(key, set()).update(numbers)
        self.rows += other.rows

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
                measured = kept(drawn)
                n = len(next(iter(measured.values())))
                yield Fact(OWN, measured, self.evidence("sampled", n), {"field": name, "split": split})
        for name in sorted(self.whole):
            known = {split: numbers for (split, field), numbers in self.numbers.items() if field == name and numbers}
            if all(len(numbers) <= MOST for numbers in known.values()) and name_things(known, self.rows[name]):
                different = {split: len(numbers) for split, numbers in sorted(known.items())}
                yield Fact(DEALT, different, self.evidence(), {"field": name})
        for (split, name), values in sorted(self.values.items()):
            if values and all(len(self.values[s, f]) <= MOST for s, f in self.values if f == name):
                named = {str(k): n for k, n in sorted(values.items(), key=lambda kv: str(kv[0]))}
                yield Fact(CATEGORIES, named, self.evidence(), {"field": name, "split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        yield from drift_of_labels(facts, self.context.label)
        fields = [f for f in self.context.fields if not (f.shape and f.name in self.context.identifiers)]
        arrays = {f.name for f in fields if f.shape or f.kind == "image"}
        kinds = ("image", "array", "embedding", "sequence", "number")
        numbers = {f.name for f in fields if f.kind in kinds or f.name == DEPTH}
        told = list(swapped_fields(facts, numbers - arrays - self.aside))
        yield from told
        swapped = {str(place["field"]) for found in told for place in found.where}
        scaled = (numbers - self.known - swapped) | _targets_apart(facts, self.context)
        differing = dict(prepared(facts, arrays, scaled, self.context.identifiers))
        whole = {name for name, _ in differing}
        swapped |= {name for name, f in self.context.features.items() if f.of in whole}  # told of the vector
        yield from (found for (name, _), found in differing.items() if name not in swapped)
        done = {name for name, _ in differing} | swapped
        unlike = dict(unlike_samples(facts, done | self.numbered))
        yield from unlike.values()
        done |= set(unlike) | {name for name, f in self.context.features.items() if f.of in self.numbered}
        yield from (f for name, f in _features(facts, self.context, self.aside) if name not in done)


def _names_split(fact: Fact) -> bool:
    """Whether a field says in every sample of a split which one it is, as a table beside folders of that name does."""
    split = fact.at["split"]
    return len(fact.value) == 1 and all(split in (value, split_in_name(value)) for value in fact.value)


def _targets_apart(facts: Facts, context: Context) -> set[str]:
    """The label, if it is measured and reaches several times as far in one split as in another: less may be growth."""
    label = next((f for f in context.fields if f.name == context.label), None)
    if label is None or label.shape or not label.dtype.startswith("float"):
        return set()
    known = [f.value["quantiles"] for f in facts.all(SPLIT_STATISTICS, field=label.name)]
    ranges = [of["p95"] - of["p5"] for of in known if of is not None]
    return {label.name} if ranges and max(ranges) >= OF_TARGETS * min(ranges) > 0 else set()


def _features(facts: Facts, context: Context, aside: set[str | None]) -> Iterable[tuple[str, Finding]]:
    for name in dict.fromkeys(str(f.at["field"]) for f in facts.all(SPLIT_STATISTICS)):
        kind = next((f.kind for f in context.fields if f.name == name), "")
        whole = [f for f in facts.all(SPLIT_STATISTICS, field=name) if f.at.get("channel") is None]
        if name in aside or kind != "number" or facts.find(DEALT, field=name) is not None:
            continue
        for one, two in pairs_of(whole):
            a, b = one.value, two.value
            if min(a["n"], b["n"]) < LEAST or not (a["std"] or b["std"]) or (running(a) and running(b)):
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
        for one, two in pairs_of(facts.all(CATEGORIES, field=name)):
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

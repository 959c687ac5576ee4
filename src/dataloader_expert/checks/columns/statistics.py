"""Statistics per field, and per channel for images; findings on what the numbers show."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from dataloader_expert.checks.base import (
    BY_KIND,
    CALENDAR,
    CUT_AT,
    HISTOGRAM,
    LABELS_BLANK,
    MISSING,
    SPLIT_STATISTICS,
    STATISTICS,
    VALUES,
    Check,
    Context,
    lacks_partner,
)
from dataloader_expert.checks.common.class_maps import CLASS_MAP, is_class_map
from dataloader_expert.checks.common.frequent import as_stored, common_texts
from dataloader_expert.checks.common.numbers import CAP, Numbers
from dataloader_expert.checks.common.places import Files, Places
from dataloader_expert.checks.common.split_said import in_split
from dataloader_expert.checks.common.treatments import MINUS_ONE, SHAPED, marks_of
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block, Column, Unit
from dataloader_expert.sources.pictures import as_rgb, is_deep
from dataloader_expert.sources.roles import GROUP_WORDS, ROW_WORDS, words
from dataloader_expert.sources.tagged_words import SENTENCES

NAN_PLACES = Quantity("nan_places", "samples", "samples whose field is NaN, infinite, missing or a placeholder")
MISSING_IN = Quantity("missing_in_split", "", "the split that has all samples without a value, in words")
PILED = Quantity(
    "piled", "values", "the largest value of a field and how often it occurs, if far more often than those near it"
)
ALONE = Quantity("value_alone", "values", "a value that several samples share, alone outside the range of all others")
TRAIN_MOMENTS = Quantity("train_moments", "stored units", "mean and std over the training split alone")
FEATURE_MOMENTS = Quantity(
    "feature_moments",
    "stored units",
    "mean, std, least and largest value of each feature of a matrix, over the training split if there is one",
)
MEASURED = ("number", "array", "embedding", "sequence")
NEARLY_ALL = 0.99
"""Share of samples without a value beyond which the others are odd, and not these."""
UNSCALED = ("category", "audio", "tokens")
"""Kinds of fields in which a far value means nothing, as do pixels of eight bits: codes, and single samples of a signal."""
NEVER_ZERO = {
    "height", "bmi", "pressure", "bp", "glucose", "insulin", "thickness", "pulse", "hr", "heart", "spo", "saturation", "hemoglobin",
    "cholesterol", "creatinine", "platelets", "density", "ph",
}  # fmt: skip
"""Words of measurements that can hardly be 0."""
AMOUNTS = {
    "price", "cost", "fee", "fare", "amount", "income", "salary", "wage", "revenue", "sales", "sold", "turnover", "balance", "budget", "tax",
    "discount", "loss", "gain", "usage", "consumption", "production", "output", "yield", "power", "energy", "kw", "kwh", "w", "watt", "watts",
    "load", "current", "voltage", "flow", "speed", "velocity", "rpm", "torque", "throttle", "thrust", "wind", "rain", "snow", "irradiance",
    "radiation", "distance", "duration", "time", "count", "counts", "num", "number", "n", "total", "sum", "votes", "views", "visitors", "users",
    "trips", "passengers", "traffic", "calls", "clicks", "likes", "orders", "quantity", "qty", "stock", "score", "points", "rate", "dose",
    "area", "size", "since", "delay", "credit", "debt", "capital", "bonus",
}  # fmt: skip
"""Words of what may well be nothing, or is at rest now and then."""
SELDOM = 0.1
"""The largest share of zeros that are hardly a state of their own."""
RGB = ("red", "green", "blue")
MOST_TEXTS, LONGEST_TEXT = 10_000, 256
"""Distinct texts of a field that are counted, and the characters of one beyond which none is."""
FAMILY = 16
"""So many fields that differ in a number alone are parts of one thing, such as an image."""
BINNED = 24
"""Fields, or channels, whose histogram is told: of a table with more, the first."""
PEAKS = 0.03
"""The share of the values of arrays from which on far ones are their shape, and no outliers."""


class Statistics(Check):
    ids = ("nan", "inf", "missing-values", "constant-field", "outliers", "already-normalized", "suspicious-text")
    of_features = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.numbers: dict[tuple[str, str | None, str | None], Numbers] = {}
        """By field, channel and split."""
        self.split: str | None = None
        stored = [f.name for f in context.fields if f.name not in context.features]
        self.missing: dict[str, int] = dict.fromkeys(stored, 0)
        self.present: dict[str, int] = dict.fromkeys(stored, 0)
        self.missing_in: dict[str, Counter[str | None]] = {}
        self.in_split = Counter[str | None]()
        """Samples without a field by split, and all samples."""
        self.withheld = Counter[str]()
        """Samples of splits that are without a field on purpose: there it is not missing."""
        self.words: dict[str, Counter[str]] = {}
        """How often each text of a field occurs; of one with many or long texts, two of them."""
        self.many: set[str] = set()
        """These fields."""
        self.deep = {f.name for f in context.fields if f.kind == "image" and f.dtype != "uint8"}
        """Fields of images whose pixels are not bytes: in stored units, in one channel."""
        self.numeric = {f.name for f in context.fields if f.kind in ("number", "boolean")}
        """Fields of which a list of values has numbers, whatever else is among them."""
        self.where = Places()
        self.files = Files()
        cap = min(CAP, (1 << 25) // max(1, len(context.fields)))
        self.cap = cap if (context.samples or 0) <= cap else 0  # what will not be kept to the end is not kept at all

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        splits, codes = self.context.splits_of(block)
        self.in_split.update(dict(zip(splits, np.bincount(codes, minlength=len(splits)).tolist(), strict=True)))
        self.withheld.update(dict.fromkeys(self.context.lacking.get(block.unit.split or "", ()), block.samples))
        for name, column in block.columns.items():
            if name not in self.present:
                continue  # a few rows' own field: the others do not lack it
            missing = 0 if column.nulls is None else int(column.nulls.sum())
            self.missing[name] += missing
            if missing and column.nulls is not None and self.context.several_splits:
                counts = np.bincount(codes[column.nulls[: block.samples]], minlength=len(splits)).tolist()
                self.missing_in.setdefault(name, Counter()).update(dict(zip(splits, counts, strict=True)))
            self.present[name] += len(column) - missing
            absent = np.flatnonzero(column.nulls)[:MAX_PLACES].tolist() if column.nulls is not None and missing else []
            if absent and self.where.room(("missing", name), block.file(absent[0])) > 0:
                for i in absent:
                    self.where.add(("missing", name), block, i, name)
        for split, part in self.context.by_split(block):
            self.split = split
            for name, column in part.columns.items():
                if name in self.context.features:
                    there = np.arange(len(column)) if column.nulls is None else np.flatnonzero(~column.nulls)
                    self._at(name).see(column.values[there])
                elif column.nulls is None or not column.nulls.all():
                    self._look(name, column, part)

    def _at(self, field: str, channel: str | None = None) -> Numbers:
        key = (field, channel, self.split)
        if key not in self.numbers:
            self.numbers[key] = Numbers(self.context.pivots.get(field, 0.0), self.cap)
        return self.numbers[key]

    def _look(self, name: str, column: Column, block: Block) -> None:
        import numpy as np

        values, first = column.values, block.unit.start
        rows = np.arange(len(column)) if block.rows is None else block.rows
        texts = name not in self.numeric
        """Whether texts count, by their lengths: a word among numbers is reported as one."""
        if isinstance(values, np.ndarray):
            if values.dtype.kind in "US":
                if not texts:
                    return
                per = values[0].size if len(values) else 1
                self._at(name).see(np.char.str_len(values), first, max(1, per), rows)
                self._distinct(name, values.reshape(-1).tolist())
                return
            if self._pictures(name, values):
                return
            if column.nulls is not None:
                there = np.flatnonzero(~column.nulls)
                values, rows = values[there], rows[there]
            self._one(name, values, block.unit, rows)
            return
        if column.coded is not None:
            if not texts:
                return
            codes, shared = column.coded
            lengths = np.array([len(text or "") for text in shared], np.int64)[codes]
            known: Any = slice(None) if column.nulls is None else ~column.nulls
            self._at(name).see(lengths[known], first, rows=rows[known])
            self._distinct(name, column.counts())
            return
        if column.stacked is not None and column.stacked.size:
            if not self._pictures(name, column.stacked):
                self._one(name, column.stacked, block.unit, rows)
            return
        kinds = set(map(type, values))
        if kinds == {str}:  # by far the commonest list, and a long one
            if not texts:
                return
            self._at(name).see(np.fromiter(map(len, values), np.int64, len(values)), first, rows=rows)
            self._distinct(name, values)
            return
        plain = [] if texts else [(i, v) for i, v in enumerate(values) if _is_number(v)]
        if plain:
            self._one(name, np.array([float(v) for _, v in plain]), block.unit, rows[[i for i, _ in plain]])
        lengths = [(i, len(v)) for i, v in enumerate(values) if isinstance(v, str)] if texts else []
        if lengths:
            self._at(name).see(np.array([length for _, length in lengths]), first, rows=rows[[i for i, _ in lengths]])
            self._distinct(name, values)
        arrays = [(i, v) for i, v in enumerate(values) if isinstance(v, np.ndarray)]
        for i, value in arrays:
            if not (value.size and self._pictures(name, value[None])):
                self._one(name, value[None], block.unit, rows[i : i + 1])
        levels: dict[int, Any] = {}
        """How often each level comes in each channel, by the number of levels."""
        for i, value in enumerate(values):
            if hasattr(value, "getbands"):
                image = value if value.mode in ("RGB", "L") else self._bytes(name, value, block.unit, rows[i : i + 1])
                if image is None:
                    continue
                if name in self.deep:
                    image = image.convert("L")
                counts = np.fromiter(image.histogram(), np.int64)
                levels[len(counts)] = levels.get(len(counts), 0) + counts
        for counts in levels.values():
            channels = RGB if len(counts) == 3 * 256 else ("gray",)
            for channel, part in zip(channels, counts.reshape(-1, 256), strict=True):
                self._at(name, channel).see_counts(part)

    def _bytes(self, name: str, image: Any, unit: Unit, rows: Any) -> Any:
        """The image with bytes as pixels; None if its own pixels were counted, since the field's are not bytes."""
        import numpy as np

        if is_deep(image):
            pixels = np.asarray(image)
            if name in self.deep:
                self._one(name, pixels[None], unit, rows, "gray")
                return None
            wrong = pixels[~np.isfinite(pixels)]
            if wrong.size:  # one among images of bytes: what is no number has no byte
                self._one(name, wrong[None], unit, rows, "gray")
        return as_rgb(image)

    def _distinct(self, name: str, values: Mapping[Any, int] | list[Any]) -> None:
        """Counts the texts among values, or adds up their counts, unless there are too many."""
        kept = self.words.setdefault(name, Counter())
        if name in self.many and len(kept) > 1:
            return
        found = Counter(value for value in values if isinstance(value, str)) if isinstance(values, list) else values
        kept.update({text: n for text, n in found.items() if text is not None})
        if len(kept) > MOST_TEXTS or any(len(text) > LONGEST_TEXT for text in found if text is not None):
            self.many.add(name)
        if name in self.many:
            self.words[name] = Counter(dict.fromkeys(sorted(kept)[:2], 1))

    def _pictures(self, name: str, values: Any) -> bool:
        """Counts an image array's channels, shape [n, h, w], [n, h, w, c] or [n, c, h, w], uint8; False if it is none."""
        import numpy as np

        field = next((f for f in self.context.fields if f.name == name), None)
        if field is None or field.kind != "image" or values.dtype != np.uint8 or values.ndim not in (3, 4):
            return False
        if values.ndim == 3:
            self._at(name, "gray").see_counts(np.bincount(values.reshape(-1), minlength=256))
            return True
        last = values.shape[3] in (1, 3, 4)
        n = values.shape[3 if last else 1]
        for i, channel in enumerate(RGB if n == 3 else ("gray",) if n == 1 else (*RGB, "alpha")[:n]):
            plane = values[..., i] if last else values[:, i]
            self._at(name, channel).see_counts(np.bincount(plane.reshape(-1), minlength=256))
        return True

    def _one(self, name: str, values: Any, unit: Unit, rows: Any, channel: str | None = None) -> None:
        """Looks at values of the unit's samples ``rows``."""
        import numpy as np

        if values.dtype.kind not in "biufc":
            return
        numbers = self._at(name, channel)
        before = numbers.nan, numbers.inf_up + numbers.inf_down
        per = values[0].size if len(values) else 1
        numbers.see(values, unit.start, max(per, 1), rows)
        for code, was, now in (
            ("nan", before[0], numbers.nan),
            ("inf", before[1], numbers.inf_up + numbers.inf_down),
        ):
            if now > was:
                wrong = np.isnan(values) if code == "nan" else np.isinf(values)
                bad = rows[wrong.reshape(len(values), -1).any(1)]
                if not unit.members:  # one file
                    bad = bad[: self.where.room((code, name), unit.file)]
                for row in bad.tolist():
                    self.where.at((code, name), unit.start + row, unit.at_row(row).file, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Statistics)
        self.seen += other.seen
        for key, numbers in other.numbers.items():
            if key in self.numbers:
                self.numbers[key].merge(numbers)
            else:
                self.numbers[key] = numbers
        for mine, theirs in ((self.missing, other.missing), (self.present, other.present)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        self.withheld += other.withheld
        self.in_split += other.in_split
        for name, counts in other.missing_in.items():
            self.missing_in.setdefault(name, Counter()).update(counts)
        self.many |= other.many
        for name, found in other.words.items():
            self._distinct(name, found)
        self.where.merge(other.where)
        self.files.merge(other.files)

    def _gray_as_rgb(self) -> None:
        """Gray pictures among coloured ones count as their conversion to RGB would: alike in each channel."""
        colored = {field for field, channel, _ in self.numbers if channel == "red"}
        for field, channel, split in list(self.numbers):
            if channel == "gray" and field in colored:
                gray = self.numbers.pop((field, channel, split))
                for color in RGB:
                    key = (field, color, split)
                    self.numbers.setdefault(key, Numbers(gray.pivot, gray.cap)).merge(gray)
                    gray.nan = gray.inf_up = gray.inf_down = 0  # told once

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        self._gray_as_rgb()
        treated = {f.name for f in self.context.fields if f.kind in MEASURED and f.name != self.context.label}
        dtypes = {f.name: f.dtype for f in self.context.fields}
        stored = {f.name: f for f in self.context.fields}
        scalars = {f.name for f in self.context.fields if not f.shape and f.kind not in ("image", "audio", "mask")}
        lonely = {
            f.name
            for f in self.context.fields
            if not f.shape and (f.kind == "number" or (f.name == self.context.label and f.dtype.startswith("float")))
        }
        """Fields of which one value may lie alone: targets too."""
        yield from self._of_features()
        names = [
            at
            for at in dict.fromkeys((field, channel) for field, channel, _ in self.numbers)
            if at[0] not in self.context.features
        ]
        categories = {
            f.name for f in self.context.fields if f.kind == "category"
        }  # how long their names are says nothing
        for i, (field, channel) in enumerate(names):
            at = {"field": field, **({"channel": channel} if channel else {})}
            numbers = Numbers(self.context.pivots.get(field, 0.0), self.cap)
            parts = {s: part for (f, c, s), part in self.numbers.items() if (f, c) == (field, channel)}
            for split in sorted(parts, key=lambda s: (s != "train", str(s))):
                part = parts[split]
                numbers.merge(part)
                if split == "train":
                    yield Fact(TRAIN_MOMENTS, _moments(part), self.evidence(n=part.total), at)
                if len(parts) > 1 and split is not None:
                    yield Fact(SPLIT_STATISTICS, _of_split(part), self.evidence(n=part.total), {**at, "split": split})
            classes = channel is None and is_class_map(stored.get(field), numbers.distinct)
            if classes:
                yield Fact(CLASS_MAP, True, evidence, at)
            measured = field in treated and channel is None and not classes
            summary = numbers.summary(bins=i < BINNED, treated=measured)
            histogram = summary.pop("histogram", None)
            del summary["commonest"]
            cut, marked, apart = (summary.pop(name) for name in ("piled", "marked", "alone"))
            if apart is not None and field in lonely and channel is None and not classes:
                withheld = any(part.n and part.low == part.high == apart["value"] for part in parts.values())
                apart["where"] = [self._placed({"field": field, "sample": i}) for i in apart["where"][:MAX_PLACES]]
                if not withheld:
                    yield Fact(ALONE, {**apart, "n": summary["n"]}, evidence, at)
            if marked:
                places = [self._placed({"field": field, "sample": i}) for i in marked[:MAX_PLACES]]
                yield Fact(NAN_PLACES, places, evidence, {**at, "code": "placeholder"})
            if cut is not None:
                yield Fact(PILED, {**cut, "n": summary["n"]}, evidence, at)
            measure = "characters" if field in self.words else "value"
            if histogram is not None and (measure == "value" or field not in categories):
                yield Fact(HISTOGRAM, histogram, evidence, {**at, "measure": measure})
            if field in self.words and len(self.words[field]) > 1 and summary["distribution"] == "constant":
                summary["distribution"] = "categorical"  # one length, several texts
            values = summary.pop("values")
            if field in self.words:
                values = None if field in self.many else common_texts(self.words[field])
            if values is not None and field in scalars and channel is None:
                yield Fact(VALUES, as_stored(values, dtypes[field], numbers.whole), evidence, at)
            if summary["outliers"]:
                summary["outliers"]["where"] = [self._placed(w) for w in summary["outliers"]["where"]]
            yield Fact(STATISTICS, summary, evidence, at)
        for name, count in self.missing.items():
            # units that lack the field altogether
            due = self.seen - self.withheld[name]
            absent = due - self.present.get(name, 0) - count
            yield Fact(MISSING, count + max(absent, 0), self.evidence(n=due), {"field": name})
            if said := in_split(self.missing_in.get(name, {}), self.in_split) if absent <= 0 else "":
                yield Fact(MISSING_IN, said, evidence, {"field": name})
        for kind in self.where.found:
            code, field = cast(tuple[str, str], kind)
            yield Fact(NAN_PLACES, self.where.of(kind), evidence, {"field": field, "code": code})

    def _of_features(self) -> Iterable[Fact]:
        """The moments of each feature of a matrix, over the training split if there is one, and its statistics in each split."""
        by_field: dict[str, list[dict[str, float | None]]] = {}
        by_name: dict[str, dict[str | None, Numbers]] = {}
        for (field, _, split), part in self.numbers.items():
            by_name.setdefault(field, {})[split] = part
        for name, feature in self.context.features.items():
            parts = by_name.get(name, {})
            if len(parts) > 1:
                for split, part in sorted((s, p) for s, p in parts.items() if s is not None):
                    yield Fact(
                        SPLIT_STATISTICS, _of_split(part), self.evidence(n=part.total), {"field": name, "split": split}
                    )
            whole = Numbers(self.context.pivots.get(name, 0.0), self.cap)
            for of in ["train"] if "train" in parts else sorted(parts, key=str):
                whole.merge(parts[of])
            by_field.setdefault(feature.of, []).append(_moments(whole))
        for field, moments in by_field.items():
            value = {k: [m[k] for m in moments] for k in ("mean", "std", "min", "max")}
            yield Fact(FEATURE_MOMENTS, value, self.evidence(), {"field": field})

    def _placed(self, where: dict[str, Json]) -> dict[str, Json]:
        """A place with its file."""
        file = self.files.of(int(str(where["sample"])))
        return where if file is None else {**where, "file": file}

    def _families(self) -> dict[str, str]:
        """Of numbered fields, as ``pixel17``, the name without its number, where so many share it that they are parts of one thing."""
        stems = {f.name: f.name.rstrip("0123456789") for f in self.context.fields if not f.shape}
        numbered = {name: stem for name, stem in stems.items() if stem != name}
        sizes = Counter(numbered.values())
        return {name: stem for name, stem in numbered.items() if sizes[stem] >= FAMILY}

    def judge(self, facts: Facts) -> Iterable[Finding]:
        found = [(fact, one) for fact in facts.all(STATISTICS) for one in _judge(fact, facts, self.context)]
        of_family = self._families()
        same: dict[str, list[tuple[Fact, Finding]]] = {}
        for fact, one in found:
            family = of_family.get(str(fact.at["field"]))
            if one.code == "constant-field" and family is not None:
                same.setdefault(family, []).append((fact, one))
            else:
                yield one
        for family, of in same.items():
            if len(of) == 1:
                yield of[0][1]
                continue
            members = sum(name == family for name in of_family.values())
            where = [place for _, one in of for place in one.where]
            yield finding(
                "constant-field",
                "warning" if len(of) == members else "info",
                f"{len(of):,} of the {members:,} fields {escaped(family)}# hold one value in every sample, such as "
                f"{escaped(str(of[0][0].at['field']))}",
                [fact for fact, _ in of][:MAX_PLACES],
                "nothing to do where they are parts of one array, such as the border of an image; otherwise leave them out",
                where,
                len(of),
            )
        for fact in facts.all(MISSING):
            name, seen = fact.at["field"], fact.evidence.seen or 1
            places = facts.value(NAN_PLACES, [], field=name, code="missing")
            mostly = 2 * fact.value <= seen
            if (
                not fact.value
                or ((mostly or name == self.context.label) and not places)  # whole files lack it: that is a missing key
                or (name == self.context.label and facts.find(LABELS_BLANK) is not None)  # which knows withheld ones
                or (bool(places) and lacks_partner(facts, places, fact.value))
                or name in self.context.unequal
            ):
                continue
            if fact.value > NEARLY_ALL * seen or not places:
                there = seen - fact.value
                yield finding(
                    "extra-key",
                    "info",
                    f"{name} has a value in {there} of {seen} samples only"
                    if there
                    else f"{name} has no value in any sample",
                    fact,
                    f"leave {name} out, or write it in every sample",
                    [{"field": name}],
                    there,
                )
            elif self.context.of_words and {*words(str(name))} & SENTENCES:
                yield finding(
                    "missing-values",
                    "info",
                    f"{name} is missing in {fact.value} of {seen} rows: it is given only in the first row of each sentence",
                    fact,
                    f"carry {name} forward to the rows below (pandas: ffill) to know which words make a sentence",
                    places,
                    fact.value,
                )
            elif (kind := facts.find(BY_KIND, field=name)) is not None and name != self.context.label:
                by = kind.value["by"]
                has = ", ".join(kind.value["has"][:3]) + (", …" if len(kind.value["has"]) > 3 else "")
                yield finding(
                    "missing-values",
                    "info",
                    f"{name} is missing in {fact.value} of {seen} samples ({fact.value / seen:.1%}), depending on {escaped(by)}: only samples "
                    f"with {escaped(has)} have it",
                    [fact, kind],
                    f"leave {name} out: whether it is missing gives the label away"
                    if by == self.context.label
                    else f"nothing to do, as long as {escaped(by)} is an input too",
                    places,
                    fact.value,
                )
            else:
                said = name in self.context.label_names  # of what is not mentioned nothing is lost
                few = name in self.context.of_few and name != self.context.label
                first = bool({*words(name)} & BEFORE)  # which the first of a thread or a chain has none of
                yield finding(
                    "missing-values",
                    "info" if said or few or first else "warning",
                    f"{name} is missing in {fact.value} of {seen} samples ({fact.value / seen:.1%})"
                    + (", which have no row in its table" if few else str(facts.value(MISSING_IN, "", field=name))),
                    fact,
                    "mask missing labels in the loss, or count them as negative"
                    if said
                    else f"leave {name} out, or take only the samples that have it"
                    if few
                    else f"{_supplied(name, self.context)}, or drop those samples",
                    places,
                    fact.value,
                )


PARTS = {"split", "fold", "partition"}
"""Words in the names of what says to which part of the data a sample belongs."""


def _supplied(name: str, context: Context) -> str:
    """What to do for values that are missing, by what the field is for."""
    kind = next((f.kind for f in context.fields if f.name == name), "")
    roles, said = context.roles, set(words(name))
    ids = {role.field for role in (context.grouped, *roles.keys) if role is not None}
    if name == context.label:
        return f"find out {name} of these samples"
    if (roles.split is not None and name == roles.split.field) or said & PARTS:
        return f"assign each of these samples to one {name}"
    if kind in ("category", "boolean"):
        return f"make a missing {name} a category of its own"
    if name in ids or said & ROW_WORDS:
        return (
            f"find out {name} of these samples, or give missing ids a value of their own: a mean of ids is meaningless"
        )
    if kind == "number":
        return f"impute {name} with statistics of the training split, and add a mask"
    return f"find {name} of these samples at its source"


SIZE_WORDS = {"width", "height", "w", "h"}
"""Words in the names of what says how large an image is: all may be of one size."""


def _is_number(value: Any) -> bool:
    """Whether it is one that a float can hold."""
    return isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 1024)


def _of_split(numbers: Numbers) -> dict[str, Json]:
    summary = copy.copy(numbers).summary()
    return {k: summary[k] for k in ("mean", "std", "min", "max", "quantiles", "commonest", "n")}


def _moments(numbers: Numbers) -> dict[str, float | None]:
    summary = copy.copy(numbers).summary()  # which rebinds what it adds up, and changes no part
    return {
        "mean": summary["mean"],
        "std": summary["std"],
        "min": summary["min"],
        "max": summary["max"],
        "n": summary["n"],
    }


def _judge(fact: Fact, facts: Facts, context: Context) -> Iterable[Finding]:
    s, name = fact.value, fact.at["field"]
    field, missing = next((f for f in context.fields if f.name == name), None), facts.find(MISSING, field=name)
    # what few samples have, or is no field of most: that it is there says something
    rare = missing is None or 2 * missing.value > (missing.evidence.seen or 0)
    kind = field.kind if field is not None else ""
    called = f"field {name}" if name.isdigit() else name  # of a tuple
    text = kind in ("text", "category")  # its statistics are of lengths
    # one mark for each of as many elements as there are, such as a mask of tokens: its length says something
    marks = field is not None and field.shape[:1] == (None,) and "float" not in field.dtype
    about = ROW_WORDS | GROUP_WORDS | (SIZE_WORDS if any(f.kind == "image" for f in context.fields) else set())
    told = text or kind == "boolean" or bool(set(words(name)) & about) or set(words(name)) <= {*CALENDAR, "week"}
    classes = name == context.classes_of_objects  # one class of objects is common
    for code, word in (("nan", "NaN"), ("inf", "infinite value")):
        if s[code]:
            places = facts.value(NAN_PLACES, [], field=name, code=code)
            yield finding(
                code,
                "error",
                f"{called} has {number(s[code], word)} among {s['n'] + s['nan'] + s['inf']:,} values",
                fact,
                "find where they arise; drop or impute those samples before training: a single one makes the loss NaN",
                places or [{"field": name}],
                s[code],
            )
    if (
        s["distribution"] == "constant"
        and not rare
        and not marks
        and not classes
        and (context.samples or 2) > 1
        and s["n"] > 1
        and name not in (context.label, "sample_rate")
    ):
        yield finding(
            "constant-field",
            # an attribute of objects, or what says where the samples are from
            "info"
            if (context.objects is not None and kind == "sequence") or (s["min"] is not None and told)
            else "warning",
            f"{called} is missing in every sample"
            if s["min"] is None
            else f"{called} is {'the same' if text else format(s['min'], 'g')} in every sample",
            fact,
            "leave it out of the model's inputs: a field that never changes tells a model nothing",
            [{"field": name}],
        )
    cut = facts.find(PILED, field=name)
    if cut is not None and kind == "text" and facts.find(CUT_AT, field=name) is None:  # which says how they end as well
        n, longest = cut.value["count"], int(cut.value["value"])
        yield finding(
            "suspicious-text",
            "warning",
            f"{name}: {n:,} of {cut.value['n']:,} texts {verb(n, 'are')} exactly {longest:,} characters long, as long as the longest",
            cut,
            "they were probably cut off: fetch them in full from their source",
            [{"field": name}],
            n,
        )
    outliers = s["outliers"]
    # how far a code is says nothing
    coded = context.identifiers | {r.field for r in (context.roles.split,) if r is not None}
    pixels = field is not None and field.dtype == "uint8" and (kind in ("image", "mask") or len(field.shape) > 2)
    placed = classes or facts.find(CLASS_MAP, field=name) is not None
    placed = placed or (field is not None and has_boxes(field))  # where boxes lie is judged by their own check
    held = marks_of(s["treatment"])
    usual = bool(held) and all(mark in SENTINELS for mark in held)
    apart = None if usual or name in coded else facts.find(ALONE, field=name)
    if apart is not None:
        yield _lonely(name, apart)
    if name == context.label or name in coded or kind in UNSCALED or pixels or placed:
        return
    if cut is not None and not text and kind != "time":
        n = cut.value["count"]
        yield finding(
            "outliers",
            "info",
            f"{name}: {n:,} of {cut.value['n']:,} values {verb(n, 'are')} exactly {cut.value['value']:g}, the largest",
            cut,
            "find out whether values were clipped there, for example by a saturated sensor; if so, mark them",
            [{"field": name}],
            n,
        )
    # peaks of spectra and beats of the heart are a part of every sample
    peaks = field is not None and field.shape and outliers and outliers["count"] > PEAKS * s["n"]
    if outliers and outliers["count"] and not peaks and (apart is None or outliers["count"] != apart.value["count"]):
        n, timed = outliers["count"], kind == "time"
        low, high = (_day(x) if timed else f"{x:.4g}" for x in (outliers["low"], outliers["high"]))
        yield finding(
            "outliers",
            "info",
            f"{name}: {n} of {s['n']} {'lengths' if text else 'times' if timed else 'values'} {verb(n, 'lie')} outside "
            f"{low} … {high} ({outliers['rule']})",
            fact,
            "check these dates: a placeholder, a wrong century or a wrong unit"
            if timed
            else _cure(s["treatment"], n < SHAPED * s["n"]),
            [{"field": name, "sample": w["sample"], "file": w.get("file")} for w in outliers["where"]]
            or [{"field": name}],
            outliers["count"],
        )
    marked = facts.value(NAN_PLACES, None, **fact.at, code="placeholder") or [{"field": name}]
    if usual and not text:
        n, shown = s["treatment"]["changed"], " or ".join(f"{mark:g}" for mark in held)
        yield finding(
            "missing-values",
            "warning",
            f"{name} is {shown} in {n:,} of {s['n']:,} samples, "
            f"{'the only negative number' if held == [MINUS_ONE] else 'far from all others'}: this usually marks a missing value",
            fact,
            f"read {shown} as missing in every split; otherwise it distorts the mean, and a model takes it for a measurement",
            marked,
            n,
        )
    elif held and not text and apart is None and not (outliers or {}).get("count"):
        changed = s["treatment"]["changed"]
        yield finding(
            "outliers",
            "info",
            f"{name}: {changed} of {s['n']} values are {' or '.join(f'{mark:g}' for mark in held)}, far from all others",
            fact,
            _cure(s["treatment"]),
            marked,
            changed,
        )
    if kind in ("array", "embedding", "sequence", "image", "number") and s["std"] and s["n"] >= 1000:
        if abs(s["mean"]) < 0.02 and abs(s["std"] - 1) < 0.02:
            yield finding(
                "already-normalized",
                "info",
                f"{called} is already normalized (mean {s['mean']:.3f}, std {s['std']:.3f})",
                fact,
                "do not normalize it again",
                [{"field": name}],
            )


def _lonely(name: str, apart: Fact) -> Finding:
    """A value that lies alone: a mark of a missing value, unless it is a 0 that may be one."""
    v, said = apart.value, set(words(name))
    n, value = v["count"], v["value"]
    if value:
        nines = set(f"{abs(value):.9g}".replace(".", "")) == {"9"} and abs(value) > 9
        sure = v["far"] or v["other_sign"] or nines
    else:
        sure = bool(said & NEVER_ZERO) or (v["far"] and n <= SELDOM * v["n"] and not said & AMOUNTS)
    beside = f"{v['nearest']:g} or {'more' if v['nearest'] > value else 'less'}"
    text = f"{name} is {value:g} in {n:,} of {v['n']:,} samples, and otherwise {beside}"
    text += ": it can hardly be 0" if sure and not value else ": this usually marks a missing value" if sure else ""
    fix = f"if {value:g} means 'not measured', read it as missing in every split"
    where = v["where"] or [{"field": name}]
    return finding("missing-values", "warning" if sure else "info", text, apart, fix, where, n)


def _day(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):  # beyond the range of dates
        return f"{seconds:.4g} s"


BEFORE = {"reply", "parent", "previous", "prev", "predecessor", "replaces", "supersedes", "quoted"}
"""Words in the names of fields that name another row, which the first of a chain has none of."""
SENTINELS = {sign * value for value in (99, 999, 9999, 99999, 999999, 1e20, 1e30) for sign in (-1, 1)} | {
    -32768,
    32767,
    MINUS_ONE,
}
"""What instruments and exports write for a missing number."""


def _cure(treatment: dict[str, Any] | None, few: bool = False) -> str:
    """What to do with far values, with what it does where a treatment helps; ``few``: too few for a transform of all."""
    if treatment is None and few:
        return "inspect them; if they are errors, leave them out, otherwise keep them: so few need no transform"
    if treatment is None:
        return "inspect them; neither clipping nor a logarithm halves the tails, so use a robust scale or keep them"
    before, after = treatment["before"], treatment["after"]
    effect = f"skewness {before['skewness']:.3g} becomes {after['skewness']:.3g}, std {before['std']:.4g} becomes {after['std']:.4g}"
    given = treatment["arguments"]
    if treatment["do"] == "clip":
        return f"inspect them; if they are errors, clip to {given['low']:.4g} … {given['high']:.4g}: {effect}"
    if treatment["do"] == "log1p":
        return f"take log(1 + x): {effect}"
    shown = " and ".join(f"{mark:g}" for mark in marks_of(treatment))
    return f"inspect {shown}, which occurs {treatment['changed']} times; if it means missing, treat it as missing: {effect}"


CHECK = Statistics

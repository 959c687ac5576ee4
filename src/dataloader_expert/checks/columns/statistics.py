"""Statistics per field, and per channel for images; findings on what the numbers show."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, cast

from dataloader_expert.checks.base import HISTOGRAM, MISSING, SPLIT_STATISTICS, STATISTICS, VALUES, Check, Context
from dataloader_expert.checks.columns.channel_moments import Channels
from dataloader_expert.checks.columns.missing_values import MISSING_IN, NAN_PLACES, judge_missing
from dataloader_expert.checks.columns.statistics_findings import ALONE, PILED, judge_statistics
from dataloader_expert.checks.common.class_maps import CLASS_MAP, is_class_map
from dataloader_expert.checks.common.frequent import as_stored, common_texts
from dataloader_expert.checks.common.numbers import CAP, Numbers
from dataloader_expert.checks.common.places import Files, Places
from dataloader_expert.checks.common.split_said import in_split
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block, Column, Unit
from dataloader_expert.sources.pictures import as_rgb, is_deep

TRAIN_MOMENTS = Quantity("train_moments", "stored units", "mean and std over the training split alone")
FEATURE_MOMENTS = Quantity(
    "feature_moments",
    "stored units",
    "mean, std, least and largest value of each feature of a matrix, over the training split if there is one",
)
MEASURED = ("number", "array", "embedding", "sequence")
RGB = ("red", "green", "blue")
MOST_TEXTS, LONGEST_TEXT = 10_000, 256
"""Distinct texts of a field that are counted, and the characters of one beyond which none is."""
FAMILY = 16
"""So many fields that differ in a number alone are parts of one thing, such as an image."""
BINNED = 24
"""Fields, or channels, whose histogram is told: of a table with more, the first."""


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
        self.channels = Channels(context.fields)
        self.where = Places()
        self.files = Files()
        cap = min(CAP, (1 << 25) // max(1, len(context.fields)))
        self.cap = cap if (context.samples or 0) <= cap else 0  # what will not be kept to the end is not kept at all

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        splits, codes = self.context.splits_of(block)
        self.channels.see(block, splits, codes)
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
        self.channels.merge(other.channels)
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
        yield from self.channels.facts(self.evidence())
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
        found = [(fact, one) for fact in facts.all(STATISTICS) for one in judge_statistics(fact, facts, self.context)]
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
        yield from judge_missing(facts, self.context)


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


CHECK = Statistics

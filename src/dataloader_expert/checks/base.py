"""The contract of a check: look at blocks, merge with another instance, state facts, judge them.

A member defines a ``Check`` subclass named ``CHECK`` and is found by walking this folder. Checks use only
numpy, because they also run in the user's interpreter.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import pkgutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, ClassVar

from dataloader_expert.checks.features import Feature, features_of, with_features
from dataloader_expert.conclusions import Finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Evidence, Fact, Facts, How, Json, Quantity, Unknown
from dataloader_expert.sources.arrays import objects_in
from dataloader_expert.sources.base import (
    FILE_NAME,
    FOLDER,
    PLACED,
    Block,
    Field,
    LabelColumns,
    Objects,
    Role,
    Roles,
    Source,
)
from dataloader_expert.sources.chosen import Chosen
from dataloader_expert.sources.groups_in_names import part_of_name
from dataloader_expert.sources.layout import BY_FOLDER
from dataloader_expert.sources.links import Link
from dataloader_expert.sources.references import References
from dataloader_expert.sources.roles import is_identifier
from dataloader_expert.sources.tagged_words import word_of
from dataloader_expert.sources.vocabulary import Vocabulary, beside

OF_LABELS = {
    "severe-imbalance",
    "class-missing-in-split",
    "label-singleton",
    "label-blank",
    "label-out-of-range",
    "label-drift",
    "label-conflict",
    "label-leaked-by-field",
    "label-odd-one-out",
}
"""Findings that say nothing if the field is not the label."""
OF_SPLITS = {
    "splits-overlap",
    "splits-near-overlap",
    "class-missing-in-split",
    "group-leakage",
    "time-leakage",
    "label-drift",
    "feature-drift",
    "preprocessing-differs",
    "split-empty",
}
"""Findings that compare splits: of a single one they judge nothing."""
DEPTH = "depth"
"""The field whose values are distances."""
CALENDAR = ("year", "month", "day", "hour", "minute", "second")
"""Names of fields that say together when a sample was taken."""
SPLIT_VALUES = 1_000
"""The most values of a split column; samples with further values count as in no split."""


@dataclass
class Context:
    """What checks know about the data beforehand; ``pivots`` are values near the middle of each field."""

    fields: tuple[Field, ...]
    label: str | None
    samples: int | None
    modality: str
    splits: tuple[str, ...]
    classes: tuple[str, ...] | None
    seed: int
    guessed: bool = False
    """Whether the label was guessed from values; findings that depend on it are then only info."""
    placed: bool = False
    """Whether only its place suggests the label: it is then part of a sample's content like any other field."""
    candidate: str | None = None
    """The field that may be the label where none is known: of two values, among the last."""
    handled: str | None = None
    """How the user's own loader already handles imbalance, if it does."""
    near: bool = True
    group: str | None = None
    time: str | None = None
    length: str | None = None
    difficulty: str | None = None
    """Fields that the request names; None: likely ones are searched for."""
    roles: Roles = field(default_factory=Roles)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    references: References | None = None
    """Fields that name files; None if there are none."""
    links: tuple[Link, ...] = ()
    """Fields that refer to the keys of other tables."""
    objects: Objects | None = None
    """The field with the classes of a sample's objects."""
    conversations: frozenset[str] = frozenset()
    """Fields whose values are lists of turns."""
    corners: bool = False
    """Whether ``boxes`` are known to be left, top, right and bottom."""
    withheld: frozenset[str] = frozenset()
    """The fields that the training split has and the others lack, unless these have the label."""
    lacking: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By split, fields that its samples are without on purpose."""
    of_few: frozenset[str] = frozenset()
    """Fields that a table gives of a few of the samples, or lists of splits, which need not name all."""
    unequal: frozenset[str] = frozenset()
    """Fields of the steps of series of unequal length."""
    label_columns: LabelColumns | None = None
    """Those of samples that have no other label."""
    media: str | None = None
    """The field that makes a sample what it is, whatever is said of it; None: all rich ones do."""
    phrase: int = 0
    """Characters of the longest texts that recur by nature: they are not compared."""
    short_texts: bool = False
    """Whether the texts of a table are names and titles, which do not make a row what it is."""
    copies: frozenset[str] = frozenset()
    """Files that are byte-identical to another one."""
    failed: int = 0
    """Samples that could not be read: no check sees them."""
    replaced: frozenset[int] = frozenset()
    """Samples whose reading failed without being told: what was delivered for them may be another sample, which is no copy."""
    folders: dict[str | None, Counter[str]] = field(default_factory=dict)
    """Files in each class folder by split, read or not, where folders are the labels of a file each."""
    collates: bool = False
    """Whether the user's own collate function makes batches of samples, of whatever shape they are."""
    some_columns: bool = False
    """Whether only the columns that the user named are read: rows that are alike in these may differ in others."""
    pivots: dict[str, float] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)
    """Of fields whose values lie close together far from 0, such as latitudes in a city, how many leading digits all have."""
    features: dict[str, Feature] = field(default_factory=dict)
    """Those fields that are components of others; see ``with_features``."""

    @staticmethod
    def of(source: Source, seed: int, near: bool = True) -> Context:
        samples = None if source.iterable else source.samples
        return Context(
            source.fields,
            source.label,
            samples,
            source.modality,
            tuple(source.splits),
            source.classes,
            seed,
            guessed=source.label_how.startswith("guessed"),
            placed=source.label_how.startswith(PLACED),
            near=near,
            roles=source.roles or Roles(),
            vocabulary=beside(getattr(source, "listing", None)),
            objects=source.objects or objects_in(source.fields),
            conversations=frozenset(source.conversations),
            corners=source.corners,
            withheld=source.withheld if source.label is None or source.label in source.withheld else frozenset(),
            lacking=source.lacking,
            of_few=source.of_few,
            unequal=source.unequal,
            label_columns=source.label_columns if source.label is None else None,
            media=source.media,
            phrase=source.phrase,
            short_texts=source.short_texts,
            copies=frozenset(source.copies),
            folders=_in_folders(source),
            collates=any(getattr(source, name, False) for name in ("collates", "unstacked")),
            some_columns=isinstance(source, Chosen),
        )

    def with_features(self) -> Context:
        """This context with each feature of a feature matrix as a field of its own."""
        features = features_of((f for f in self.fields if f.name not in self.identifiers), self.label)
        return replace(self, fields=(*self.fields, *features.values()), features=features) if features else self

    @property
    def label_names(self) -> tuple[str, ...]:
        """The fields that each say whether a sample has one label."""
        return self.label_columns.names if self.label_columns is not None else ()

    @property
    def guessed_by_values(self) -> bool:
        """Whether its values alone suggest the label; what is found of one that its place suggests, ``told`` lowers."""
        return self.guessed and not self.placed

    @property
    def aside(self) -> str | None:
        """The label, which is no part of a sample's content; None if there is none or its place alone suggests it."""
        return None if self.placed else self.label

    @property
    def classes_of_objects(self) -> str | None:
        """The field that holds them."""
        return None if self.objects is None else self.objects.field

    @property
    def masks(self) -> list[str]:
        """Fields of masks whose values are classes; those of a depth map are distances."""
        return [f.name for f in self.fields if f.kind == "mask" and f.name != DEPTH]

    @property
    def nested(self) -> list[str]:
        """Fields whose values are objects or lists of any form, such as a dictionary in a line of JSON."""
        return [f.name for f in self.fields if f.kind == "other" and f.dtype in ("dict", "list")]

    @property
    def several_splits(self) -> bool:
        return len(self.splits) > 1 or self.roles.split is not None

    @property
    def grouped(self) -> Role | None:
        """The field whose values group samples."""
        return Role(self.group, "as asked") if self.group is not None else self.roles.group

    @property
    def of_words(self) -> bool:
        """Whether each row is a word of a sentence, with its tag: the same ones come again and again."""
        return word_of({f.name: f.dtype for f in self.fields if not f.shape}, self.label) is not None

    @property
    def told_by_files(self) -> bool:
        """Whether names of files or folders tell the group, and no field."""
        return self.grouped is not None and self.grouped.field in (FILE_NAME, FOLDER)

    @property
    def timed(self) -> Role | None:
        """The field that says when a sample was taken."""
        return Role(self.time, "as asked") if self.time is not None else self.roles.time

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The fields that tell samples, groups or other things apart: how large their values are says nothing. Checks ask for each of
        the fields, of which a table may have a thousand."""
        roles = (role.field for role in (self.grouped, *self.roles.keys) if role is not None)
        kinds = ("number", "array", "sequence")  # several ids of a sample too
        whole = (f for f in self.fields if f.kind in kinds and "float" not in f.dtype)
        called = (f.name for f in whole if is_identifier(f.name))
        return frozenset((*roles, *called))

    @property
    def calendar(self) -> list[str]:
        """The fields that say together when a sample was taken, from the year on, if none does alone; at least up to the day."""
        if self.timed is not None:
            return []
        known = {f.name.lower(): f.name for f in self.fields if f.kind in ("number", "category") and not f.shape}
        parts = [known[part] for part in itertools.takewhile(known.__contains__, CALENDAR)]
        return parts if len(parts) > 2 else []

    @property
    def series_fields(self) -> list[str]:
        """Fields that may name the series that a sample belongs to, such as a sensor: the group, then the first that are no
        measurements."""
        aside = {self.aside, *self.calendar}
        aside |= {r.field for r in (self.roles.split, self.timed, *self.roles.keys) if r is not None}
        plain = [
            f.name
            for f in self.fields
            if f.name not in aside
            and not f.shape
            and (f.kind in ("category", "text") or (f.kind == "number" and "int" in f.dtype))
        ]
        group = [f.name for f in self.fields if self.grouped is not None and f.name == self.grouped.field]
        return list(dict.fromkeys([*group, *plain]))[:SERIES_FIELDS]

    def splits_of(self, block: Block) -> tuple[list[str | None], Any]:
        """The splits in a block: their names, and the index of each sample's split, int16."""
        return block.once("splits", None, lambda: self._splits_of(block))

    def _splits_of(self, block: Block) -> tuple[list[str | None], Any]:
        import numpy as np

        n, role = block.samples, self.roles.split
        column = None if role is None else block.columns.get(role.field)
        if column is None:
            return [block.unit.split], np.zeros(n, np.int16)
        values = column.values[:n]
        plain = values.tolist() if hasattr(values, "tolist") else values
        names: dict[str | None, int] = {}
        at: dict[Any, int] = {}
        codes = np.empty(n, np.int16)
        for i, found in enumerate(plain):
            value = found if isinstance(found, str | int | float | None) else str(found)
            code = at.get(value)
            if code is None:
                name = self.roles.split_of(value) if len(names) < SPLIT_VALUES else None
                code = at[value] = names.setdefault(name, len(names))
            codes[i] = code
        if column.nulls is not None:
            codes[column.nulls[:n]] = names.setdefault(None, len(names))
        return list(names), codes

    def by_split(self, block: Block) -> Iterable[tuple[str | None, Block]]:
        """A block's samples, split by split."""
        import numpy as np

        names, codes = self.splits_of(block)
        if len(names) == 1:
            yield names[0], block
            return
        yield from block.once(
            "by split",
            None,
            lambda: [(name, block.take(np.flatnonzero(codes == code))) for code, name in enumerate(names)],
        )

    def groups_of(self, block: Block) -> list[Any]:
        """The group of each of a block's samples, None for one without."""
        parts = self.roles.name_parts if self.group is None else 0
        if parts:
            return [part_of_name(block.file(i), parts) for i in range(block.samples)]
        if self.grouped is not None and self.grouped.field == FOLDER and self.group is None:
            return [self.roles.folders.get(block.file(i).rpartition("/")[0]) for i in range(block.samples)]
        column = None if self.grouped is None else block.columns.get(self.grouped.field)
        if column is None:
            return [None] * block.samples
        found = column.values[: block.samples]
        values = [
            v if isinstance(v, str | int | float | None) else str(v)
            for v in (found.tolist() if hasattr(found, "tolist") else found)
        ]
        absent = column.nulls
        return [
            None if v is None or v == "" or v != v or (absent is not None and absent[i]) else v
            for i, v in enumerate(values)
        ]

    def class_name(self, value: Json) -> str:
        if self.classes is not None and isinstance(value, int) and 0 <= value < len(self.classes):
            return self.classes[value]
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value)


class Check(ABC):
    """``ids`` are the codes that this check may report; each becomes an entry of ``checks`` in the result."""

    ids: ClassVar[tuple[str, ...]] = ()
    of_features: ClassVar[bool] = False
    """Whether it looks at each feature of a feature matrix as at a column of a table."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.seen = 0
        """Samples looked at."""
        self.error: str | None = None
        """What the check raised on these data, or why it was given up; it then stops and reports nothing."""

    def watch(self, block: Block) -> None:
        """``see``, guarded: data come from outside, and an error in one check must not end the others."""
        if self.error is None:
            with self.held():
                self.see(self.view(block))

    def view(self, block: Block) -> Block:
        """The block as it looks at it: with a column for each feature, if it looks at features."""
        features = self.context.features
        if features and (block.featured is None or block.featured[0] is not features):
            block.featured = features, with_features(block, features)
        return block if block.featured is None or not features else block.featured[1]

    def join(self, other: Check) -> None:
        """``merge``, guarded likewise."""
        self.error = self.error or other.error
        if self.error is None:
            with self.held():
                self.merge(other)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Stores an exception raised inside as this check's error."""
        try:
            yield
        except Exception as e:  # odd values may make a check raise anything
            self.error = self.error or f"{type(e).__name__}: {escaped(e, 200)}"

    @abstractmethod
    def see(self, block: Block) -> None:
        """Looks at a block's samples."""

    @abstractmethod
    def merge(self, other: Check) -> None:
        """Adds what another instance saw in other blocks."""

    def reported(self) -> tuple[str, ...]:
        """Those of ``ids`` that these data may have."""
        return self.ids

    def facts(self) -> Iterable[Fact]:
        return ()

    def judge(self, facts: Facts) -> Iterable[Finding]:
        """Findings from the facts of this and other checks; reports only what the evidence supports."""
        return ()

    def told(self, facts: Facts) -> list[Finding]:
        """The findings; those on a label that is only guessed from its place say so, and are info unless they stand by themselves."""
        if not self.context.placed:
            return list(self.judge(facts))
        but = f"; {escaped(self.context.label)} is only guessed to be the label"
        return [
            replace(f, severity=f.severity if self.stands(f, facts) else "info", message=f.message + but)
            if f.code in OF_LABELS
            else f
            for f in self.judge(facts)
        ]

    def stands(self, one: Finding, facts: Facts) -> bool:
        """Whether the evidence of a finding on a guessed label leaves hardly a doubt that the guess is right, or that it matters."""
        return False

    def unknowns(self) -> Iterable[Unknown]:
        return ()

    def applies(self) -> bool:
        """Whether the data contain what this check looks at."""
        return True

    def looked(self) -> bool:
        """Whether there was anything that it judges; a check of spans judges nothing where no field holds any."""
        return True

    def evidence(self, how: How | None = None, n: int | None = None) -> Evidence:
        """Counted if all samples that can be read were seen, else sampled."""
        total = self.context.samples
        complete = total is not None and self.seen + self.context.failed >= total
        return Evidence(
            how or ("counted" if complete else "sampled"),
            f"check {type(self).__module__.rsplit('.', 1)[-1]}",
            seen=self.seen if n is None else n,
            population=total,
            seed=None if complete else self.context.seed,
        )


def _in_folders(source: Source) -> dict[str | None, Counter[str]]:
    found: dict[str | None, Counter[str]] = {}
    if source.label_how == BY_FOLDER and all(unit.samples == 1 and unit.label is not None for unit in source.units):
        for unit in source.units:
            found.setdefault(unit.split, Counter())[str(unit.label)] += 1
    return found


def new_checks(context: Context) -> dict[str, Check]:
    """One of each check, by name."""
    of_features = context.with_features()
    return {name: cls(of_features if cls.of_features else context) for name, cls in all_checks().items()}


@cache
def all_checks() -> Mapping[str, type[Check]]:
    """The checks in the rooms of this folder, by name."""
    found = {}
    package = importlib.import_module("dataloader_expert.checks")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        check = getattr(importlib.import_module(module.name), "CHECK", None)
        if check is not None:
            found[module.name.rsplit(".", 1)[1]] = check
    return MappingProxyType(dict(sorted(found.items())))


STATISTICS = Quantity("statistics", "stored units", "moments, quantiles, outliers of a field's finite values")
VALUES = Quantity("values", "values", "how many distinct values a field has, and the most frequent of them")
SPLIT_STATISTICS = Quantity(
    "split_statistics", "stored units", "moments and quantiles of a field's finite values in one split"
)
LABELS_BLANK = Quantity(
    "labels_blank", "samples", "samples without a label in splits where most have one, and where they are"
)
QUANTITY_LABEL = Quantity("label_is_a_quantity", "", "whether the label is measured or counted, and no class")
CLASS_COUNTS = Quantity("class_counts", "samples", "samples per class, of one split or of all (split null)")
LABEL_SETS = Quantity(
    "label_sets",
    "samples",
    "samples with each label of a field that holds several, of one split or of all (split null)",
)
LABELS_EACH = Quantity(
    "labels_each",
    "samples",
    "samples with several labels and with none, the mean number of labels, and whether they are vectors of 0 and 1",
)
EPOCH_UNITS = Quantity(
    "epoch_units", "samples", "samples of each unit in which a field counts since 1970, where there are several"
)
LABEL_BASES = Quantity(
    "label_bases", "files", "files whose class numbers are those of the others, each larger or smaller by one"
)
CODES = Quantity(
    "codes_of_part",
    "samples",
    "rows of one part with values of a category that no other part has, and those of the others",
)
OBJECT_COUNTS = Quantity("object_counts", "objects", "objects per class, of one split or of all (split null)")
ROLES = Quantity("roles", "", "fields that name the split, the group, the time or a row, and how they were found")
SPLITS = Quantity("splits", "samples", "samples of each split")
SAMPLES_READ = Quantity("samples_read", "samples", "samples that were read and decoded")
SAMPLES_FAILED = Quantity("samples_failed", "samples", "samples that could not be read or decoded")
EFFECTS = Quantity(
    "design_effects", "", "design effect: variance of each class's share in one split, over that of independent samples"
)
SERIES_FIELDS = 4
"""How many fields are looked at as names of series."""
HISTOGRAM = Quantity("histogram", "", "counts of a field's values or sizes in equally wide bins")
FORMS = Quantity(
    "text_forms", "samples", "how dates and numbers that are stored as text are written, and the texts among them"
)
PROBLEMS = Quantity("problems", "places", "files or samples with this defect")
BY_KIND = Quantity(
    "absent_by_kind",
    "",
    "the category or number that decides whether samples have a field, and those of its values that have it",
)
CHANGED_UNITS = Quantity(
    "changed_units", "samples", "consecutive rows whose numbers fit those of the others after a conversion"
)
MIXED_UNITS = Quantity(
    "mixed_units", "samples", "rows of one group whose numbers fit those of the others after a conversion"
)
GIVEAWAY = Quantity(
    "label_known_by",
    "",
    "how well a single field predicts the label of held-out rows: 0 is no better than a guess, 1 always right",
)
ODD_POINTS = Quantity(
    "odd_keypoints",
    "objects",
    "objects whose keypoints lie outside their box, or inside it only with x and y swapped",
)
ODD_SCALES = Quantity(
    "odd_scales",
    "samples",
    "samples whose values have another scale than most, and by what factor, with places",
)
CUT_AT = Quantity(
    "texts_cut_at",
    "samples",
    "texts of one length that end within a sentence, unlike the others, and which length it is",
)
ORDER = Quantity(
    "order_reversed",
    "samples",
    "rows in which two numbers or times have the opposite order from elsewhere",
)
ROWS_SHIFTED = Quantity(
    "rows_shifted",
    "samples",
    "stretches of rows in which the lengths of two fields agree only if one is shifted by a row",
)
CONTRADICTED = Quantity(
    "contradicted_columns", "samples", "rows in which two columns contradict each other, with places"
)
CONSTANT = Quantity(
    "group_constants_broken", "groups", "groups with several values of what has one value in nearly all others"
)
MISSING = Quantity("missing", "samples", "samples in which a field has no value")
"""Quantities that several checks read are defined here, the others next to the check that measures them."""


def recoded(facts: Facts, label: str | None) -> bool:
    """Whether one part writes the classes with numbers or codes of its own, so that they cannot be compared with those of the others."""
    return facts.find(LABEL_BASES) is not None or facts.find(CODES, field=label) is not None


def lacks_partner(facts: Facts, places: Iterable[Mapping[str, Json]], n: int) -> bool:
    """Whether ``n`` samples, at ``places`` among others, are those without a row in a table, or a file: what they lack is told so."""
    pairs = facts.value(PROBLEMS, None, code="missing-pair")
    files = {place.get("file") for place in pairs["where"]} if pairs is not None else set()
    return pairs is not None and 0 < n <= pairs["count"] and all(place.get("file") in files for place in places)

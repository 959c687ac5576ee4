"""The contract of a source: units that can be read separately, first as bytes, then as values.

A member defines a ``Source`` subclass with ``format`` and ``kinds`` and is found by walking this folder.
``read`` only accesses storage and ``decode`` only computes, so that the two stages can be timed separately.
Values are plain: numpy arrays, strings, numbers, Pillow images; never tensors.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dataloader_expert.errors import Unreadable
from dataloader_expert.facts import Json

if TYPE_CHECKING:
    import numpy as np

    from dataloader_expert.plan import SourceRef
    from dataloader_expert.sources.files import Listing

T = TypeVar("T")


@dataclass(frozen=True)
class Field:
    """One field of a sample. ``shape`` is per sample, None where it varies; ``()`` is a scalar.

    kind: image, mask (classes or depths of an image's pixels), audio, text, number, category, boolean, time, array, sequence,
    embedding, tokens, bytes, other.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class Unit:
    """The smallest thing that can be read separately: a file, a row group, a run of lines, a tar member.

    ``at`` is private to the reader (offsets, names); ``label`` is the one that the path implies, if any.
    """

    id: int
    file: str
    start: int
    samples: int
    bytes: int
    split: str | None = None
    label: Json = None
    at: tuple[Any, ...] = ()
    key: str | None = None
    """The sample's name within its file, if it has one."""
    members: tuple[Unit, ...] = ()
    """If the unit stands for several consecutive ones of one sample each: these."""

    def at_row(self, row: int) -> Unit:
        """The unit that contains sample ``row``, counted from this one's first."""
        return self.members[row] if self.members else self

    def file_of(self, field: str) -> str:
        """The file of a field: the partner's that it is read from, otherwise the sample's own."""
        parts = (part for part in self.at if isinstance(part, tuple) and len(part) == 3 and part[0] == field)
        return next((path for _, path, _ in parts if isinstance(path, str)), self.file)


class Once:
    """What was made of some rows, so that those who ask for the same hold one array of it."""

    def __init__(self) -> None:
        self._made: dict[tuple[Hashable, int], tuple[Any, Any]] = {}

    def __call__(self, what: Hashable, rows: Any, make: Callable[[], T]) -> T:
        """What ``make`` returns, called once for the same ``rows``: the object, not one that is equal."""
        known = self._made.get((what, id(rows)))
        if known is None:
            known = self._made[what, id(rows)] = (rows, make())  # held, so that no other object gets its id
        made: T = known[1]
        return made


@dataclass
class Column:
    """Values of one field for the samples of a unit: an array (first axis: samples) or a list (ragged, text, images).

    ``nulls`` marks absent values, shape ``[samples]``, bool; None: there are none.
    """

    values: Any
    nulls: np.ndarray[Any, Any] | None = None
    time: bool = False
    """Whether the numbers are times, in seconds."""
    coded: tuple[np.ndarray[Any, Any], list[str | None]] | None = None
    """Dictionary-encoded texts: the index of each sample's text, shape ``[samples]``, and the texts, some of which may not
    occur. None: unknown."""
    once: Once = field(default_factory=Once, init=False, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: np.ndarray[Any, Any]) -> Column:
        nulls = None if self.nulls is None else self.nulls[rows]
        return Column(_taken(self.values, rows), nulls, self.time, self._coded(rows))

    def _coded(self, here: Any) -> tuple[np.ndarray[Any, Any], list[str | None]] | None:
        if self.coded is None:
            return None
        codes, texts = self.coded
        return (codes[here], texts) if few_texts(len(texts), len(codes[here])) else None

    @cached_property
    def stacked(self) -> np.ndarray[Any, Any] | None:
        """A list of arrays of one dtype and shape as one array, [samples, ...]; None of other values."""
        import numpy as np

        values = self.values
        if not isinstance(values, list) or not values or not isinstance(values[0], np.ndarray):
            return None
        kind, shape = values[0].dtype, values[0].shape
        alike = all(isinstance(v, np.ndarray) and v.dtype == kind and v.shape == shape for v in values)
        return np.stack(values) if alike and self.nulls is None else None

    @property
    def array(self) -> np.ndarray[Any, Any] | None:
        """All values as one array, [samples, ...]; None where they are none, or differ in dtype or shape."""
        return self.values if hasattr(self.values, "dtype") else self.stacked

    def cut(self, here: slice) -> Column:
        """The values of these samples, arrays not copied."""
        nulls = None if self.nulls is None else self.nulls[here]
        return Column(self.values[here], nulls, self.time, self._coded(here))

    @cached_property
    def texts(self) -> dict[str, int]:
        """How often each text occurs; other values and missing ones are none."""
        if self.coded is not None:
            return {text: n for text, n in self.counts().items() if isinstance(text, str)}
        values = self.values if isinstance(self.values, list) else ()
        return dict(Counter(value for value in values if isinstance(value, str)))

    def counts(self) -> dict[Any, int]:
        """How often each value occurs.

        Raises:
            TypeError: if a value cannot be counted, such as a list.
        """
        if self.coded is None:
            return Counter(self.values.tolist() if hasattr(self.values, "tolist") else self.values)
        import numpy as np

        codes, texts = self.coded
        found: Counter[Any] = Counter()
        for text, n in zip(texts, np.bincount(codes, minlength=len(texts)).tolist(), strict=True):
            if n:
                found[text] += n
        return found


@dataclass
class Block:
    """Decoded samples of one unit. ``raw`` has the bytes of each sample if a sample is a file."""

    unit: Unit
    columns: dict[str, Column]
    raw: Sequence[bytes] = ()
    problems: list[Unreadable] = field(default_factory=list)
    views: dict[str, Any] = field(default_factory=dict)
    """What checks derive from the values and share, such as small grey images."""
    rows: np.ndarray[Any, Any] | None = None
    """If only some of the unit's samples are here: which ones, counted from the unit's first; int64."""
    population: int = 0
    """How many samples are read in all, this block's among them, where that is known; 0: it is not."""
    once: Once = field(default_factory=Once, init=False, compare=False, repr=False)
    featured: tuple[Any, Block] | None = field(default=None, init=False, compare=False, repr=False)
    """Features of matrices as columns of their own, and the block with these."""

    @property
    def samples(self) -> int:
        return min((len(c) for c in self.columns.values()), default=0)

    def index(self, i: int) -> int:
        """The index in the data set of the block's sample ``i``."""
        return self.unit.start + (i if self.rows is None else int(self.rows[i]))

    def indices(self, rows: Any = None) -> np.ndarray[Any, Any]:
        """The indices in the data set of all of the block's samples, or of these; int64."""
        import numpy as np

        rows = np.arange(self.samples) if rows is None else np.asarray(rows)
        of_unit: np.ndarray[Any, Any] = rows if self.rows is None else self.rows[rows]
        return self.unit.start + of_unit.astype(np.int64)

    def file(self, i: int, field: str = "") -> str:
        """The file of the block's sample ``i``, or of this field of it."""
        return self.unit.at_row(i if self.rows is None else int(self.rows[i])).file_of(field)

    def values(self, names: Iterable[str]) -> Iterator[tuple[str, int, Any]]:
        """Field, sample and value of those of these fields that are here."""
        for name in names:
            column = self.columns.get(name)
            for i, value in enumerate(column.values[: self.samples] if column is not None else ()):
                yield name, i, value

    def take(self, rows: np.ndarray[Any, Any]) -> Block:
        """A block of these samples only; problems stay with the whole block."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        raw = [self.raw[i] for i in rows.tolist()] if self.raw else ()
        views = {name: _taken(values, rows) for name, values in self.views.items()}
        return Block(self.unit, columns, raw, [], views, rows if self.rows is None else self.rows[rows])


RUNS = 16


def runs(n: int, most: int) -> np.ndarray[Any, Any]:
    """At most ``most`` of ``n`` rows, in order: runs of neighbours spread evenly from the first row to the last; int64.

    A table may be sorted, so rows from one place tell little; and what repeats from row to row shows among neighbours only.
    """
    import numpy as np

    if n <= most:
        return np.arange(n)
    size = max(1, most // RUNS)
    starts = np.linspace(0, n - size, most // size).astype(np.int64)
    return (starts[:, None] + np.arange(size)).reshape(-1)


def bytes_of(values: Any) -> int:
    """Bytes of values in memory; of long lists some values stand for all."""
    if hasattr(values, "nbytes"):
        return int(values.nbytes)
    if hasattr(values, "getbands"):
        return int(values.width * values.height * len(values.getbands()))
    if isinstance(values, dict):
        return bytes_of([*values, *values.values()])
    if isinstance(values, list | tuple) and values:
        some = values[:: max(1, len(values) // 64)]
        return len(values) * (8 + sum(map(bytes_of, some)) // len(some))
    return sys.getsizeof(values)


def few_texts(texts: int, rows: int) -> bool:
    """Whether so few texts stand for so many rows that looking at each text once is less work."""
    return 4 * texts <= rows


def _taken(values: Any, rows: np.ndarray[Any, Any]) -> Any:
    return values[rows] if hasattr(values, "dtype") else [values[i] for i in rows.tolist()]


@dataclass(frozen=True)
class Role:
    """A column, why it got its role, and whether both its name and its values suggest it (or the user named it)."""

    field: str
    how: str
    sure: bool = True


FILE_NAME = "file name"
"""What stands for a field in the role of a group that the names of files tell."""
FOLDER = "folder"
"""The same of a group that their folders tell."""


@dataclass(frozen=True)
class Roles:
    split: Role | None = None
    group: Role | None = None
    time: Role | None = None
    keys: tuple[Role, ...] = ()
    """Identifiers of rows: ignored when rows are compared."""
    splits: Mapping[Any, str] = field(default_factory=dict)
    """The split name for each value of the split column."""
    name_parts: int = 0
    """If the group is part of the files' names: of how many of their first parts it consists."""
    repeats: bool = False
    """Whether texts and lists come again in many rows, like remarks: they alone do not make a row what it is."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """If folders tell the group: that of each folder of files."""

    def without(self, name: str) -> Roles:
        """The roles of all other fields."""

        def kept(role: Role | None) -> Role | None:
            return role if role is None or role.field != name else None

        keys = tuple(k for k in self.keys if k.field != name)
        split = kept(self.split)
        splits = self.splits if split is not None else {}
        return replace(self, split=split, group=kept(self.group), time=kept(self.time), keys=keys, splits=splits)

    def listed(self) -> list[dict[str, str]]:
        named = (("split", self.split), ("group", self.group), ("time", self.time), *(("key", k) for k in self.keys))
        return [{"role": role, "field": r.field, "how": r.how} for role, r in named if r is not None]

    def split_of(self, value: Any) -> str | None:
        """The split that a value of the split column names; None if the value is absent."""
        if value is None or value != value:
            return None
        value = value.item() if hasattr(value, "item") else value
        return self.splits.get(value) or str(value)


@dataclass(frozen=True)
class Objects:
    """The field that holds the class of each object of a sample, int64 [n], and the names of the declared classes by number."""

    field: str
    names: Mapping[int, str]
    """Empty: none are declared."""


@dataclass(frozen=True)
class LabelColumns:
    """Fields that each say whether a sample has one label: by 1 that it has, by ``no`` (0 or -1) that it has not; by less that nobody knows."""

    names: tuple[str, ...]
    no: int


PLACED = "guessed from its place"
"""How a label was found that neither its name nor its values suggest."""


class Source(ABC):
    """An opened data set.

    Attributes:
        fields: the fields of a sample.
        label: the label field's name, or None; ``label_how`` says how it was found.
        classes: the declared class names by index, or None.
        units: a sequence of ``Unit``: everything that can be read, in order; a unit's ``samples`` is exact.
        modality: one of the contract's modalities.
        sharding: how samples are distributed over files, in words.
        problems: what was wrong with files when the data set was opened.
        files, bytes: of the data set on disk.
        roles: which columns name the split, the group and the time; None: not looked for when it was opened.
    """

    format: ClassVar[str]
    kinds: ClassVar[frozenset[str]]
    """Kinds of files (see ``magic``) that this format reads."""
    instead_of: ClassVar[str | None] = None
    """Another format that reads the same kinds of files; this one is chosen where ``fits`` says so, or on request."""

    fields: tuple[Field, ...] = ()
    label: str | None = None
    label_how: str = "no label field was found"
    classes: tuple[str, ...] | None = None
    units: Any = ()
    modality: str = "array"
    sharding: str = ""
    files: int = 0
    bytes: int = 0
    iterable: bool = False
    in_shards: ClassVar[bool] = False
    """Whether each file contains samples of its own, so that one without any is useless."""
    nullable: bool = False
    """Whether samples are rows of a table: they may lack a value for a field, and their texts may name files."""
    with_nulls: frozenset[str] = frozenset()
    """Fields of which it is known, without decoding, that values are missing."""
    roles: Roles | None = None

    @classmethod
    def fits(cls, listing: Listing) -> bool:
        """Whether these files are of this format rather than of the one that it stands in for."""
        return False

    def only_training(self, ref: SourceRef) -> None:  # noqa: B027  # files are read whole, and split by what they say
        """Leaves the training split alone, where the user's code has several."""

    def __init__(self) -> None:
        self.problems: list[Unreadable] = []
        self.copies: set[str] = set()
        """Files that are byte-identical to an earlier one."""
        self.objects: Objects | None = None
        """For object detection."""
        self.corners = False
        """Whether ``boxes`` are known to be left, top, right and bottom."""
        self.label_columns: LabelColumns | None = None
        self.targets: tuple[str, ...] = ()
        """The fields that are predicted together, none of which is the label."""
        self.withheld: frozenset[str] = frozenset()
        """The fields that the training split has and the others lack, such as targets of a test split."""
        self.lacking: dict[str, frozenset[str]] = {}
        """By split, fields that its samples are without on purpose: where they hold nothing, nothing is missing."""
        self.of_few: frozenset[str] = frozenset()
        """Fields that a table gives of a few of the samples, or lists of splits: of the others they say nothing."""
        self.unequal: frozenset[str] = frozenset()
        """Fields of the steps of series of unequal length: behind the end of one, nothing is missing."""
        self.media: str | None = None
        """The field that makes a sample what it is, whatever is said of it; None: all rich ones do."""
        self.phrase = 0
        """Characters of the longest texts that recur by nature, such as headings; 0: none do."""
        self.short_texts = False
        """Whether the texts of a table are names and titles, which do not make a row what it is."""
        self.conversations: frozenset[str] = frozenset()
        """Fields whose values are lists of turns with a role each."""

    @classmethod
    @abstractmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        """Opens the files in ``listing`` of this format's kinds.

        Raises:
            RequestError: if none of them can be read.
        """

    @abstractmethod
    def read(self, unit: Unit) -> Any:
        """The unit as stored; this is the only method that accesses storage."""

    @abstractmethod
    def decode(self, unit: Unit, raw: Any) -> Block:
        """The unit's samples as values.

        Raises:
            Unreadable: if the bytes do not conform to the format.
        """

    def column(self, unit: Unit, name: str) -> Column | None:
        """One field of the unit's samples; None if they do not have it.

        Raises:
            Unreadable: as ``read`` and ``decode`` do.
        """
        return self.decode(unit, self.read(unit)).columns.get(name)

    def peek(self, unit: Unit) -> Block:
        """Some of the unit's samples, spread over it, for what a few of them tell; as a rule all.

        Raises:
            Unreadable: as ``read`` and ``decode`` do.
        """
        return self.decode(unit, self.read(unit))

    def without_lacking(self, block: Block) -> Block:
        """The block without the fields that its split lacks on purpose."""
        gone = self.lacking.get(block.unit.split or "", frozenset())
        if gone:
            block.columns = {name: column for name, column in block.columns.items() if name not in gone}
        return block

    @property
    def varying(self) -> dict[str, int]:
        """Fields, images and their masks apart, whose samples differ in length, and the dimension that this is: the second of
        spectrograms [80, T] of one height, else the first."""
        others = ("image", "mask", "text", "category")
        shapes = {f.name: f.shape for f in self.fields if f.kind not in others}
        first = {name: 0 for name, shape in shapes.items() if shape[:1] == (None,)}
        return first | {name: 1 for name, shape in shapes.items() if len(shape) == 2 and shape[0] and shape[1] is None}

    @property
    def samples(self) -> int:
        return sum(unit.samples for unit in self.units)

    @property
    def splits(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for unit in self.units:
            if unit.split is not None:
                counts[unit.split] = counts.get(unit.split, 0) + unit.samples
        return counts

    def field(self, name: str) -> Field | None:
        return next((f for f in self.fields if f.name == name), None)

    def class_name(self, value: Json) -> str:
        """The name of a label value: its declared name if there is one."""
        if self.classes is not None and isinstance(value, int) and 0 <= value < len(self.classes):
            return self.classes[value]
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value)

    def split_by(self, name: str) -> bool:
        """Uses the values of this field as names of splits; False if samples have no such field."""
        return False

    def read_only(self, names: Sequence[str]) -> None:  # noqa: B027  # most formats read a sample whole
        """Says that only these fields are needed; a reader may skip the others."""

    def keep_split(self, split: str) -> None:
        """Keeps only the units of ``split``; sample indices remain those of the whole data set."""
        self.units = [unit for unit in self.units if unit.split == split]
        self.with_nulls = self.nulls_within(self.units)

    def nulls_within(self, units: Sequence[Unit]) -> frozenset[str]:
        """Those fields ``with_nulls`` that may lack a value in these units."""
        return self.with_nulls

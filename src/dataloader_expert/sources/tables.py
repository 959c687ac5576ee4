"""Tables: Arrow columns as plain values, fields from a schema, the label from names and values."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import modality_of, plain_dtype, stacked
from dataloader_expert.sources.base import PLACED, Block, Column, Field, Roles, Source, Unit, few_texts, runs
from dataloader_expert.sources.bombs import no_inflation
from dataloader_expert.sources.label_columns import flags, said_of, say_all
from dataloader_expert.sources.layout import (
    BEFELL,
    GOODS,
    PARTS,
    PREDICTED,
    SPLITS,
    STATES,
    VERDICTS,
    WEAK_LABELS,
    label_by_name,
)
from dataloader_expert.sources.members import Members, members_of, stored_names, with_members
from dataloader_expert.sources.pictures import decode_image
from dataloader_expert.sources.predicted import RATED, Predicted, is_rating, rating_of_pairs
from dataloader_expert.sources.records import as_arrays
from dataloader_expert.sources.roles import GROUP_WORDS, as_split, find_roles, series_in, words
from dataloader_expert.sources.text_pairs import SCORES, SPANS, choices_of, named_so, pair_of
from dataloader_expert.sources.times import is_time
from dataloader_expert.sources.turns import is_turn

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CLASSES = 100
SENTENCE = 20
"""Characters of a text, on average, from which on it is no name of a category."""
MOST_TRIED = 64
"""Units that may be damaged before one that shows the content of the data."""
TALKS = 64
"""Values of a field that show whether it holds conversations."""
BARE = re.compile(r"(f|v|c|x|col|column|attr|attribute|feature|var|unnamed: )?_?\d+", re.IGNORECASE)
"""Names that say nothing but the place of a column."""
PHRASES, OFTEN = 3, 3
"""The fewest texts that each come again so often from which on short ones are phrases of the language, and no copies."""
SHORTEST, FEWEST, UNLIKELY = 10, 5, 12.0
"""The part of texts that is short, one in so many; the fewest of these that come again; and how improbable that must be by chance, as
the negative logarithm."""
TITLE = 12
"""Words of a text, in the median, up to which it is a name, a title or an address."""
BEST_SCORE, MOST_CHOICES = 100, 26
"""The best score of two texts, in percent at most; and the most choices of a question, as many as letters."""
REPEATED = 3
"""Rows of a thing from which on it comes again and again."""
GUESSED_FROM, MOST_BLOCKS = 10_000, 16
"""Rows, and blocks of them, from which the label is guessed."""
RAREST = 0.005
"""The least share of the rarest class of a guessed label. Values with less are mistakes, which do not hide the label that is to be
checked, if they are as few together, or a single one; of more, the column is hardly a label."""
NOTHING_TOLD = Predicted()


def columns_of(
    table: pa.Table | pa.RecordBatch, file: str, problems: list[Unreadable], first: int
) -> dict[str, Column]:
    """Each column as numpy values, strings, arrays or images, with nulls kept separate from NaN.

    ``first``: the index of the table's first sample.
    """
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(array, pa.ChunkedArray):  # older pyarrow keeps one chunk wrapped
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
        columns[name] = _column(array, name, file, problems, first)
    return columns


def _column(array: pa.Array, name: str, file: str, problems: list[Unreadable], first: int) -> Column:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    kind = array.type
    nulls = values_of(array.is_null()) if array.null_count else None
    if isinstance(kind, pa.ExtensionType):
        return _column(array.storage, name, file, problems, first)
    if t.is_dictionary(kind):
        _no_expansion(array.dictionary, array.indices, array.nbytes, name, file)
        shared = array.dictionary.type
        few = few_texts(len(array.dictionary), len(array)) and not array.dictionary.null_count
        if few and (t.is_string(shared) or t.is_large_string(shared)) and (coded := _coded(array)) is not None:
            codes, texts = coded
            return Column(np.array(texts, object)[codes].tolist(), nulls, coded=coded)
        return _column(array.dictionary_decode(), name, file, problems, first)
    if t.is_boolean(kind) or t.is_integer(kind) or t.is_floating(kind):
        return Column(values_of(array), nulls)
    if t.is_temporal(kind) and not t.is_interval(kind):
        return Column(_seconds(array), nulls, time=not t.is_duration(kind))
    if t.is_decimal(kind):
        return Column(np.array([0.0 if v is None else float(v) for v in array.to_pylist()]), nulls)
    if str(kind) in ("string_view", "binary_view"):
        stored = sum(b.size for b in array.buffers() if b is not None)  # nbytes does not support views in older pyarrow
        _no_expansion(array, None, stored, name, file)  # many views may share the same bytes
    if t.is_run_end_encoded(kind):
        return _column(pc.run_end_decode(array), name, file, problems, first)
    if t.is_string(kind) or t.is_large_string(kind) or str(kind) == "string_view":
        return Column(_texts(array, name, file, problems, first), nulls)
    if t.is_null(kind):
        return Column([None] * len(array), np.ones(len(array), bool))
    if t.is_struct(kind) and {"bytes", "path"} >= {f.name for f in kind} and any(f.name == "bytes" for f in kind):
        return Column(_pictures(array.field("bytes"), name, file, problems, first), nulls)
    if t.is_binary(kind) or t.is_large_binary(kind) or str(kind) == "binary_view":
        return Column(_pictures(array, name, file, problems, first), nulls)
    if t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind):
        return Column(_lists(array), nulls)
    return Column(array.to_pylist(), nulls)


def _coded(array: pa.Array) -> tuple[Any, list[str | None]] | None:
    """Which text of its dictionary each value is, and the texts; None where one of them is not UTF-8."""
    import numpy as np

    try:
        texts = array.dictionary.to_pylist()
    except UnicodeDecodeError:
        return None
    codes = values_of(array.indices).astype(np.int64)
    if array.null_count:
        texts.append(None)
        codes[values_of(array.is_null())] = len(texts) - 1
    return codes, texts


def _no_expansion(values: pa.Array, indices: pa.Array | None, stored: int, name: str, file: str) -> None:
    """Refuses far too many text bytes from few stored ones: each index stands for a whole value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        lengths = pc.binary_length(values)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return  # of fixed width
    total = pc.sum((lengths if indices is None else lengths.take(indices)).cast(pa.int64())).as_py() or 0
    no_inflation(total, stored, f"column {name}", file)


def values_of(array: pa.Array) -> Any:
    """Numbers or booleans as a numpy array, without a copy where possible; missing values are 0 or False.

    Uses DLPack: ``to_numpy`` and ``fill_null`` import pandas if it is installed, which takes a fifth of a second per process.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.types as t

    if not array.null_count:
        numbers = array.cast(pa.uint8()) if t.is_boolean(array.type) else array
        values = np.from_dlpack(numbers)
        return values.view(np.bool_) if t.is_boolean(array.type) else values
    whole = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    values = values_of(whole).copy()
    values[values_of(array.is_null())] = 0
    return values


def _seconds(array: pa.Array) -> Any:
    """Times as seconds: since the epoch, since midnight, or of a duration; float64."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_date(array.type):
        array = array.cast(pa.timestamp("s"))
    unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[array.type.unit]
    wide = array.cast(pa.int32() if t.is_time32(array.type) else pa.int64())
    return values_of(wide).astype(np.float64) / unit


def _lists(array: pa.Array) -> Any:
    import numpy as np
    import pyarrow.types as t

    inner = array.type.value_type
    numbers = t.is_integer(inner) or t.is_floating(inner)
    if t.is_fixed_size_list(array.type) and not array.null_count and (numbers or t.is_boolean(inner)):
        flat = array.flatten()
        if not flat.null_count:
            return values_of(flat).reshape(len(array), -1)
    if numbers and not array.null_count:
        flat = array.flatten()
        if not flat.null_count:
            values = values_of(flat)
            ends = np.cumsum([len(x) for x in array]) if t.is_fixed_size_list(array.type) else None
            offsets = values_of(array.offsets) if ends is None else np.concatenate([[0], ends])
            offsets = offsets - offsets[0]
            return stacked([values[a:b] for a, b in itertools.pairwise(offsets)])
    floats = inner.to_pandas_dtype() if t.is_floating(inner) else None
    return as_arrays(array.to_pylist(), floats)


def absent_columns(names: list[str], file: str) -> list[Unreadable]:
    """One problem for all columns that a file lacks and most files have."""
    if not names:
        return []
    is_ = "are" if len(names) > 1 else "is"
    return [Unreadable("missing-key", f"column {listed(names)} {is_} missing", file=file, field=names[0])]


def extra_columns(names: list[str], file: str) -> list[Unreadable]:
    """One problem for all columns that a file has and most files lack."""
    if not names:
        return []
    is_ = "are" if len(names) > 1 else "is"
    return [Unreadable("extra-key", f"column {listed(names)} {is_} only in this file", file=file, field=names[0])]


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _texts(array: pa.Array, name: str, file: str, problems: list[Unreadable], first: int) -> list[str | None]:
    """Texts; one that is not UTF-8 is decoded as far as possible, with a problem."""
    import pyarrow as pa

    try:
        found: list[str | None] = array.to_pylist()
        return found
    except UnicodeDecodeError:
        pass
    kind = pa.large_binary() if array.type == pa.large_string() else pa.binary()
    values: list[str | None] = []
    for i, data in enumerate(array.cast(kind).to_pylist()):
        try:
            values.append(None if data is None else data.decode("utf-8"))
        except UnicodeDecodeError as e:
            text = f"not UTF-8 at byte {e.start} of the text: {data[e.start : e.start + 8]!r}"
            problems.append(Unreadable("encoding-error", text, file=file, field=name, sample=first + i))
            values.append(data.decode("utf-8", "replace"))
    return values


def _pictures(array: pa.Array, name: str, file: str, problems: list[Unreadable], first: int) -> list[Any]:
    """Bytes that are images become images; other bytes stay bytes; a damaged image becomes None, with a problem."""
    from dataloader_expert.sources.magic import IMAGE_TYPES, sniff

    values: list[Any] = []
    for i, data in enumerate(array.to_pylist()):
        if data is None or sniff(data[:512]) not in IMAGE_TYPES:
            values.append(data)
            continue
        found: list[Unreadable] = []
        try:
            values.append(decode_image(data, file, found))
        except Unreadable as problem:
            found.append(problem)
            values.append(None)
        for met in found:
            met.where |= {"field": name, "sample": first + i}
        problems += found
    return values


class Table(Source):
    """A member makes ``units`` and decodes each into columns; fields and label are inferred from the first block."""

    nullable = True

    def __init__(self) -> None:
        super().__init__()
        self.members: Members = {}
        """Of fields that hold objects, those of their members that take their place."""
        self.answered: frozenset[str] = frozenset()
        """The fields that files of answers hold."""
        self.asked_for: tuple[str, ...] = ()
        """The fields that a file to fill in with predictions asks for."""
        self.form = ""
        """That file."""

    @property
    def predicted(self) -> Predicted:
        """What the files say of the columns that are predicted."""
        return Predicted(self.withheld, self.answered, self.asked_for, self.form)

    def made(self, block: Block) -> Block:
        """A decoded block, with members in place of objects."""
        return with_members(block, self.members) if self.members else block

    def stored(self, names: Iterable[str]) -> list[str]:
        """The columns that these fields are stored in."""
        return stored_names(names, self.members)

    def describe(self) -> None:
        """Fields from the first readable block's values; label and modality from the first ``GUESSED_FROM`` rows.

        Raises:
            Unreadable: if none of the first ``MOST_TRIED`` units can be read.
        """
        blocks: list[Block] = []
        first: Unreadable | None = None
        seen: set[int] = set()
        for tried, unit in enumerate(self.telling()):
            seen.add(unit.id)
            try:
                blocks.append(self.peek(unit))
            except Unreadable as problem:  # the scan reports it
                first = first or problem
                if not blocks and tried + 1 >= MOST_TRIED:
                    break
                continue
            self.fields = tuple(field_of(name, column) for name, column in blocks[0].columns.items())
            dear = any(f.kind in ("image", "audio", "bytes") for f in self.fields)  # to decode: one block must do
            if dear or sum(b.samples for b in blocks) >= GUESSED_FROM or len(blocks) >= MOST_BLOCKS:
                break
        if not blocks:
            raise first or Unreadable("empty-file", "no samples")
        self.members = members_of(blocks)
        if self.members:
            blocks = [self.made(block) for block in blocks]
            self.fields = tuple(field_of(name, column) for name, column in blocks[0].columns.items())
        self.fields = tuple(_with_values(f, blocks) for f in self.fields)
        looked_at = [*blocks, *self._apart(seen)] if not dear else blocks
        named = any(unit.split is not None for unit in self.units)
        rows = None if dear else sum(unit.samples for unit in self.units)
        self.roles = find_roles(looked_at, self.fields, None, named, rows)
        split = self.roles.split.field if self.roles.split is not None else None
        self.label, self.label_how = find_label(blocks, split, self.predicted)
        if self.label is not None:
            self.roles = find_roles(looked_at, self.fields, self.label, named, rows)
        if self.label is not None:
            self.fields = tuple(
                Field(f.name, "category", f.dtype, f.shape) if f.name == self.label and not f.shape else f
                for f in self.fields
            )
        self._several_labels(blocks)
        self.fields = _among_texts(self.fields, self.label, blocks[0])
        told = self.label_columns.names if self.label_columns is not None else ()
        self.modality = modality_of(tuple(f for f in self.fields if f.name not in told), self.label)
        self.conversations = frozenset(f.name for f in self.fields if _has_turns(f, blocks))
        lists = {f.name: {*words(f.name)} for f in self.fields if f.kind in ("other", "sequence")}
        within = any(f.kind == "text" for f in self.fields) and named_so(lists, SPANS)  # what is where in the text
        if (self.conversations or within) and self.modality in ("tabular", "array"):
            self.modality = "text"
        if self.modality == "tabular":
            self.short_texts = all(_are_titles(_values(blocks, f.name)) for f in self.fields if f.kind == "text")
        aside = {self.label, split, *(r.field for r in self.roles.keys)}
        said = [f for f in self.fields if f.name not in aside]
        texts = [f for f in said if f.kind == "text"]
        whole = [b for b in blocks if all(f.name in b.columns for f in said)]
        if texts and (texts == said or not self.short_texts):
            rows = list(zip(*(_values(whole, f.name) for f in texts), strict=True))
            others = [f for f in said if f not in texts]
            rows = _records(rows[:GUESSED_FROM], whole, others) if others else rows
            self.phrase = phrase_length(rows, sure=self.label is None and not others)

    def _several_labels(self, blocks: list[Block]) -> None:
        """Takes the last columns for labels where each says whether a text has one, or those that are predicted together."""
        assert self.roles is not None
        training = [block for block in blocks if block.unit.split == "train"] or blocks
        names = list(dict.fromkeys(name for block in blocks for name in block.columns))
        targets, how = self.predicted.several(names) if self.label is None else ((), "")
        if targets:
            self.targets, self.label_how = targets, f"{how}; pass label= for one of them"
            told = flags({n: c for n, c in block.columns.items() if n in targets} for block in training)
            if told is not None and told.names == targets:
                self.targets, self.label_columns = (), told
                self.fields = tuple(replace(f, kind="category") if f.name in targets else f for f in self.fields)
            return
        found = flags(block.columns for block in training)
        aside = {role["field"] for role in self.roles.listed()}
        if found is None or not say_all(found.names, self.fields, aside, blocks[0].columns):
            return
        if self.label is not None and (self.label not in found.names or ";" not in self.label_how):
            return
        self.label, self.label_columns, self.label_how = None, found, said_of(found)
        self.fields = tuple(replace(f, kind="category") if f.name in found.names else f for f in self.fields)

    def telling(self) -> Sequence[Unit]:
        """The units, first those that tell what the columns are."""
        return tuple(self.units)

    def _apart(self, seen: set[int]) -> list[Block]:
        """A middle block and the last one: a table may be sorted by a column, such as its split. ``seen``: ids of other units."""
        blocks = []
        for i in sorted({len(self.units) // 2, len(self.units) - 1}):
            if self.units[i].id in seen:
                continue
            with contextlib.suppress(Unreadable):  # the scan reports it
                blocks.append(self.peek(self.units[i]))
        return blocks

    def fitting(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The declared names, unless labels are places from 1, as those of AG News: the first name is not that of label 0 then."""
        if names is None or self.label is None:
            return names
        found: set[Any] = set()
        for unit in (self.units[0], self.units[-1]):
            column = self.peek(unit).columns.get(self.label)
            values: Any = [] if column is None else column.values
            found |= {*(values.tolist() if hasattr(values, "tolist") else values)}
        whole = {v for v in found if isinstance(v, int)}
        return None if whole == found and 0 not in whole and len(names) in whole else names

    def split_by(self, name: str) -> bool:
        found = self.field(name)
        if found is None or found.shape:
            return False
        blocks = [self.peek(u) for u in self.units[:1]] + self._apart({u.id for u in self.units[:1]})
        values: list[Any] = []
        for block in blocks:
            part = block.columns[name].values if name in block.columns else []
            values += part.tolist() if hasattr(part, "tolist") else part
        if not all(isinstance(v, str | int | float | None) for v in values) or len(set(values)) > MAX_CLASSES:
            return False
        role, names = as_split(name, values)
        self.units = [replace(unit, split=None) for unit in self.units]
        if self.label == name:
            self.label, self.label_how = find_label(blocks, name, self.predicted)
        self.roles = replace(self.roles or Roles(), split=role, splits=names)
        return True


def field_of(name: str, column: Column) -> Field:
    """The field for these values."""
    import numpy as np

    from dataloader_expert.sources.arrays import array_field
    from dataloader_expert.sources.pictures import channels_of, dtype_of

    values = column.values
    if column.time:
        return Field(name, "time", "float64")
    if isinstance(values, np.ndarray):
        return array_field(name, values.dtype.str, values.shape[1:])
    present = [v for v in values if v is not None]
    if not present:
        return Field(name, "other", "null")
    first = present[0]
    if isinstance(first, str):
        distinct = len(set(map(str, present)))
        text = _are_sentences(present) and distinct > min(MAX_CLASSES, len(present) // 2)
        return Field(name, "text" if text else "category", "str")
    if hasattr(first, "getbands"):
        shapes = {(v.height, v.width, channels_of(v)) for v in present if hasattr(v, "getbands")}
        shape = tuple(x[0] if len(set(x)) == 1 else None for x in zip(*shapes, strict=True))
        dtypes = Counter(dtype_of(v) for v in present if hasattr(v, "getbands"))
        return Field(name, "image", dtypes.most_common(1)[0][0], shape)
    if isinstance(first, np.ndarray):
        shapes = {v.shape for v in present if isinstance(v, np.ndarray)}
        same = len({len(s) for s in shapes}) == 1
        shape = tuple(x[0] if len(set(x)) == 1 else None for x in zip(*shapes, strict=True)) if same else (None,)
        return array_field(name, first.dtype.str, shape)
    if isinstance(first, bool | int | float):
        return Field(name, "boolean" if isinstance(first, bool) else "number", plain_dtype(np.asarray(first).dtype.str))
    return Field(name, "bytes" if isinstance(first, bytes) else "other", type(first).__name__)


def _are_sentences(values: list[Any]) -> bool:
    """Whether texts are long and of several words, for the most part."""
    mean = sum(len(v) for v in values if isinstance(v, str)) / len(values)
    return mean >= SENTENCE and sum(" " in v for v in values if isinstance(v, str)) > len(values) // 2


def _among_texts(fields: tuple[Field, ...], label: str | None, block: Block) -> tuple[Field, ...]:
    """The fields; beside texts, a few sentences that come again and again are texts too, such as the questions to many documents."""
    if not any(f.kind == "text" for f in fields):
        return fields

    def is_text(f: Field) -> bool:
        if f.kind != "category" or f.dtype != "str" or f.name == label or f.name not in block.columns:
            return False
        present = [v for v in block.columns[f.name].values if v is not None]
        return bool(present) and _are_sentences(present)

    return tuple(replace(f, kind="text") if is_text(f) else f for f in fields)


def _with_values(field: Field, blocks: list[Block]) -> Field:
    """The field, or what a later block says of it if its values are all missing in the first."""
    if field.dtype != "null":
        return field
    found = (field_of(field.name, b.columns[field.name]) for b in blocks if field.name in b.columns)
    return next((f for f in found if f.dtype != "null"), field)


def phrase_length(rows: list[tuple[Any, ...]], sure: bool = True) -> int:
    """Up to which length lines of running text recur by nature: headings, greetings. 0 if fewer than ``PHRASES`` come again often.

    Twice the upper quartile of those, as rarer ones are longer, and a few may be copies after all; less than the median of all,
    so that texts that are there several times as a whole do not pass for such. Of rows of several texts, the first is measured.
    Not ``sure``: 0 if those that come again are not much shorter than the others; samples with labels are repeated to weigh them.
    """
    plain = [tuple(text.strip() for text in row) for row in rows if all(isinstance(text, str) for text in row)]
    counts = Counter(row for row in plain if row[0])
    often = sorted(len(row[0]) for row, n in counts.items() if n >= OFTEN)
    if len(often) < PHRASES:
        return _short_ones(counts)
    longest, usual = 2 * often[3 * (len(often) - 1) // 4], sorted(len(row[0]) for row in counts)[len(counts) // 2]
    return min(longest, usual - 1) if sure or longest < usual else 0


def _short_ones(counts: Mapping[tuple[str, ...], int]) -> int:
    """Up to which length texts recur by nature, where few do often: among the shortest tenth come again so many that chance, which
    takes copies from all lengths alike, does not make it; 0 if there are not."""
    lengths = sorted(len(row[0]) for row in counts)
    again = sorted(len(row[0]) for row, n in counts.items() if n > 1)
    limit = lengths[len(lengths) // SHORTEST] if lengths else 0
    among = [length for length in again if length <= limit]
    share = sum(length <= limit for length in lengths) / max(1, len(lengths))
    return among[-1] if len(among) >= FEWEST and _unlikely(len(among), len(again), share) else 0


def _unlikely(least: int, n: int, share: float) -> bool:
    """Whether so many of ``n`` are no chance, if each is with this probability (Chernoff's bound of the binomial tail)."""
    part = least / n
    if part <= share:
        return False
    rest = (1 - part) * math.log((1 - part) / (1 - share)) if part < 1 else 0.0
    return n * (part * math.log(part / share) + rest) > UNLIKELY


def _records(rows: list[tuple[Any, ...]], blocks: list[Block], others: list[Field]) -> list[tuple[Any, ...]]:
    """The texts of rows once for each of the other values that they come with: rows that are the same throughout are copies, and
    texts that come again in records of their own, such as the first moves of a game, recur by nature."""
    values = [list(map(str, _values(blocks, f.name)[: len(rows)])) for f in others]
    plain = (one for one in zip(rows, *values, strict=True) if all(isinstance(text, str) for text in one[0]))
    return [row for row, *_ in dict.fromkeys(plain)]


def _are_titles(values: list[Any]) -> bool:
    """Whether most of the texts are of few words, as names, titles and addresses are."""
    counts = sorted(len(v.split()) for v in values if isinstance(v, str) and v.strip())
    return bool(counts) and counts[len(counts) // 2] <= TITLE


def _has_turns(field: Field, blocks: list[Block]) -> bool:
    """Whether it holds conversations: lists of objects that mostly have a role and a text."""
    if field.kind != "other":
        return False
    values = [v for block in blocks[:1] for v in block.columns[field.name].values[:TALKS] if isinstance(v, list)]
    turns = [turn for value in values for turn in value if isinstance(turn, dict)]
    return bool(turns) and 2 * sum(map(is_turn, turns)) > len(turns)


def _values(blocks: list[Block], name: str) -> list[Any]:
    parts = [b.columns[name].values for b in blocks if name in b.columns]
    return [v for part in parts for v in (part.tolist() if hasattr(part, "tolist") else part)]


def _is_quantity(values: list[Any]) -> bool:
    """Whether numbers are an amount, such as a price, rather than classes: many, most of them once, and far apart."""
    there = {v for v in values if isinstance(v, int | float)}
    return len(there) > max(2, len(values) // 10) and max(there) - min(there) >= 2 * len(there)


def find_label(
    blocks: list[Block],
    split: str | None = None,
    told: Predicted = NOTHING_TOLD,
) -> tuple[str | None, str]:
    """The label by name; else the last column, or the first of columns without names, if it has few distinct values.

    The place of a column is no evidence: what is only guessed from it is reported as such (``PLACED``). A first column that has a
    name says by it that it is something else. A guess is made from the same rows however a format cuts them into blocks.
    ``split``: the column that names the split; ``told``: what the files say of the columns that are predicted.
    """
    first = blocks[0]
    names = [n for n in first.columns if n != split and not _names_splits(n, blocks)]
    found = {n: field_of(n, first.columns[n]) for n in names}
    scalar = [n for n in names if found[n].kind in ("number", "category", "boolean")]
    named = [n for n in scalar if n.lower() != "y" or "float" not in found[n].dtype]
    strong, how = label_by_name([n for n in named if not _is_attribute(n, named, first) and _may_be(n, blocks)])
    if len(told.asked) == 1 and told.asked[0] in scalar:
        return told.asked[0], f"the one column that {told.form} asks for"
    together, why = told.several(names)
    if len(told.asked) > 1 and together:
        return None, why
    if len(told.withheld) == 1 and (strong is None or ";" in how):
        [only] = told.withheld
        if only in scalar and not _is_quantity(_values(blocks, only)):
            return only, "the one column that only the training split has"
    if len(told.answered) == 1 and (strong is None or ";" in how):
        [only] = told.answered
        if only in scalar and not _is_quantity(_values(blocks, only)):
            return only, "the one column of a file of labels"
    if strong is not None:
        return strong, how
    if together:
        return None, why
    if names and found[names[-1]].kind == "number" and words(names[-1])[-1:] and words(names[-1])[-1] in PREDICTED:
        return names[-1], "chosen by its name, as the last column; pass label= if it is another"
    befell = _outcome(scalar, names, blocks) if strong is None else None
    if befell is not None:
        return befell, "chosen by its name; pass label= if it is another"
    verdict = _verdict([n for n in scalar if found[n].dtype == "str"], blocks)
    if verdict is not None:
        return verdict, "chosen by its values; pass label= if it is another"
    texts = {n: {*words(n)} for n in names if found[n].dtype == "str"}
    others = {n: {*words(n)} for n in names if found[n].kind == "other"}
    chosen = choices_of({n: {*words(n)} for n in names})
    if chosen is not None and chosen[1] in scalar and _are_classes(_values(blocks, chosen[1])):
        return chosen[1], f"which of {chosen[0]} is right, by its name; pass label= if it is another"
    if spans := named_so(others, SPANS):
        return None, f"no field is named like a label, and {spans} say what is where in a text; pass label="
    pair = pair_of(texts, others)
    if pair is not None:
        return None, f"no field is named like a label, and {' and '.join(pair[1])} are for {pair[0]}; pass label="
    rated = rating_of_pairs({n: _values(blocks, n) for n in names}) if len(names) == len(RATED) else None
    if rated is not None:
        return rated, "guessed from its values: stars for pairs of numbers that recur; pass label= if it is another"
    series = series_in(first)
    bare = bool(names) and all(map(BARE.fullmatch, names))
    score = _score(found, blocks, bare)
    if score is not None:
        return score, f"{PLACED}: the one number with fractions beside two texts; pass label= if it is another"
    lasting = [name for name in names if words(name)[-1:] == [] or words(name)[-1] not in PARTS]
    places = [(name, "first") for name in names[:1] if bare] + [(name, "last") for name in lasting[-1:]]
    symbols = any(found[name].dtype == "str" for name in names[1:-1])
    if bare and symbols and found[names[0]].dtype == "str" and found[names[-1]].dtype != "str":
        places.reverse()  # among codes that are texts, a first one is as likely another feature
    else:
        places.sort(key=lambda place: found[place[0]].dtype != "str")  # texts name classes; numbers may be anything
    for name, place in places if len(names) > 1 else ():
        if name not in scalar or name in (series or ()):
            continue
        if "float" in found[name].dtype and not (bare and _are_whole(_values(blocks, name))):
            continue
        if set(words(name)) & GROUP_WORDS:
            continue  # of whom a sample is says what it is only where the name says so
        every = _values(blocks, name)
        values = [every[i] for i in runs(len(every), GUESSED_FROM).tolist()]
        counts = Counter(v for v in values if v is not None)
        if all(isinstance(v, str) and is_time(v) for v in counts):
            continue  # a few dates are not classes
        least = max(2, RAREST * len(values))
        usual = sum(n >= least for n in counts.values())
        stray = sum(n for n in counts.values() if n < least)
        if (
            usual >= 2
            and len(counts) <= min(MAX_CLASSES, max(2, len(values) // 10))
            and stray <= max(1, RAREST * len(values))
        ):
            guess = f"{PLACED}: the {place} column, with {len(counts)} distinct values; pass label= if it is another"
            return name, guess
    return strong, how


def _score(found: Mapping[str, Field], blocks: list[Block], bare: bool) -> str | None:
    """The column that says how alike two texts are: the one with fractions, by its name or where no column has one."""
    texts = [name for name, field in found.items() if field.kind == "text"]
    floats = [name for name, field in found.items() if field.kind == "number" and "float" in field.dtype]
    if len(texts) != 2 or len(floats) != 1 or not (bare or {*words(floats[0])} & SCORES):
        return None
    values = [v for v in _values(blocks, floats[0]) if v is not None and v == v]
    return floats[0] if values and -1 <= min(values) < max(values) <= BEST_SCORE else None


def _are_classes(values: list[Any]) -> bool:
    """Whether there are few of them, each of which comes again."""
    counts = Counter(value for value in values if value is not None)
    return 1 < len(counts) <= MOST_CHOICES and 2 * len(counts) <= counts.total()


def _are_whole(values: list[Any]) -> bool:
    """Whether all numbers are whole, as classes are in a file that writes every number with a point."""
    return all(isinstance(v, int | float) and (v != v or float(v).is_integer()) for v in values)


def _names_splits(name: str, blocks: list[Block]) -> bool:
    """Whether a column holds nothing but names of splits."""
    values = [v for v in _values(blocks, name)[:GUESSED_FROM] if v is not None]
    return bool(values) and all(isinstance(v, str) and v.lower() in SPLITS for v in values)


def _outcome(scalar: list[str], names: list[str], blocks: list[Block]) -> str | None:
    """The one column of two values whose name says what became of a row; None if there is none, or several."""
    found = []
    for name in scalar:
        of = {*words(name)}
        if of & BEFELL or (of & STATES and name == names[-1]):
            values = {v for v in _values(blocks, name) if v is not None and v == v}
            found += [name] if len(values) == 2 else []
    return found[0] if len(found) == 1 else None


def _verdict(texts: Iterable[str], blocks: list[Block]) -> str | None:
    """The one column of texts whose two values are a verdict, such as pass and fail; None if there is none, or several."""
    found = [n for n in texts if {str(v).strip().lower() for v in _values(blocks, n) if v is not None} in VERDICTS]
    return found[0] if len(found) == 1 else None


def _is_attribute(name: str, names: list[str], block: Block) -> bool:
    """Whether a category is that of goods, each of which has one: an attribute of what is sold, in a table of sales."""
    if not name.lower().startswith("category"):
        return False
    of = block.columns[name].values
    for other in (other for other in names if {*words(other)} & GOODS and other != name):
        pairs = Counter(zip(block.columns[other].values, of, strict=False))
        several = len({value for value, _ in pairs}) * REPEATED <= sum(pairs.values())
        if several and len({value for value, _ in pairs}) == len(pairs):
            return True
    return False


def _may_be(name: str, blocks: list[Block]) -> bool:
    """Whether a column that is called like a label may be one: not one mark for all rows, nor stars by the thousand."""
    values = {v for v in _values(blocks, name) if v is not None and v == v}
    if name.lower() in WEAK_LABELS and len(values) == 1:
        return False
    if name.lower() == "overall":
        return is_rating(list(values))
    return "star" not in name.lower() or len(values) <= MAX_CLASSES // 2

"""Arrow columns as plain values: numbers, texts, times, lists, pictures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import stacked
from dataloader_expert.sources.base import Column, few_texts
from dataloader_expert.sources.bombs import no_inflation
from dataloader_expert.sources.pictures import decode_image
from dataloader_expert.sources.records import as_arrays

if TYPE_CHECKING:
    import pyarrow as pa


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
    return [
        Unreadable(
            "missing-key", f"column{'s' * (len(names) > 1)} {listed(names)} {is_} missing", file=file, field=names[0]
        )
    ]


def extra_columns(names: list[str], file: str) -> list[Unreadable]:
    """One problem for all columns that a file has and most files lack."""
    if not names:
        return []
    is_ = "are" if len(names) > 1 else "is"
    return [
        Unreadable(
            "extra-key",
            f"column{'s' * (len(names) > 1)} {listed(names)} {is_} only in this file",
            file=file,
            field=names[0],
        )
    ]


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

"""Fields from the dtypes and shapes of arrays, and how a file of named arrays stores samples."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.base import Field, Objects, Unit
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import split_in_name, without_split

Header = tuple[str, tuple[int, ...]]
"""dtype as numpy writes it, shape."""

OFFSETS = {"offsets", "indptr", "ptr", "row_splits", "cu_seqlens", "lengths_cumsum"}
TOKENS = {"input_ids", "tokens", "token_ids", "ids_tokens"}
OF_IDS = {"ids", "tokens"}
"""Words with which the names of whole numbers end that are looked up, and measure nothing."""
DATA = {"x", "data", "images", "image", "imgs", "pixels", "features", "inputs", "samples", "signals", "texts", *TOKENS}
"""Names of arrays of which each row is a sample, whatever the lengths of the others."""
EDGES = {"edges", "bin_edges", "bins", "ticks"}
"""Names of arrays that are one longer than what they enclose."""
MASK = "mask"
MEMBERS = {MASK, "idx", "index", "indices", "ids"}
"""What arrays are called, after a split, that say which rows of others are in it: a truth value for each, or their numbers."""
PICTURE, OF_PIXELS = {"image", "img", "picture"}, ("label", "mask", "seg", "segmentation", "gt", "target")
"""Names of an array that is one picture, and of one that says something of each of its pixels."""
MOST_CHANNELS = 4
SMALLEST = 16
"""The fewest pixels of a side of a picture."""
NEARLY_ALL = 0.8
"""The share of arrays with the same shape from which another shape means damage, not a shape that varies."""
NEARLY = 0.1
"""The largest difference of two lengths, as a share of the longer, that means lost rows and not another axis."""


class Unequal(Unreadable):
    """Arrays, or texts side by side, that differ in length: only so many samples of each are read."""

    def __init__(self, message: str, samples: int, **where: object) -> None:
        super().__init__("length-mismatch", f"{message}; the first {samples:,} of each were read", **where)


@dataclass(frozen=True)
class Part:
    """Samples inside one file of arrays: their split, their number, and which array holds which field.

    ``ragged`` names the array of offsets (length samples + 1) and the arrays that it cuts. ``lengths``: those of the arrays,
    if they differ; rows beyond the shortest belong to no sample. ``members``: splits of its rows, and the arrays that say which these are.
    """

    split: str | None
    samples: int
    arrays: tuple[tuple[str, str], ...]
    offsets: str | None = None
    ragged: tuple[tuple[str, str], ...] = ()
    lengths: tuple[tuple[str, int], ...] = ()
    members: tuple[tuple[str, str], ...] = ()

    @property
    def keys(self) -> set[str]:
        """The arrays that are read."""
        held = {key for _, key in (*self.arrays, *self.ragged, *self.members)}
        return held if self.offsets is None else held | {self.offsets}

    def unequal(self, file: str) -> Unequal | None:
        """The problem, if the arrays differ in length."""
        if not self.lengths:
            return None
        rows = ", ".join(f"{name} has {n:,} rows" for name, n in self.lengths)
        return Unequal(rows, self.samples, file=file, split=self.split)


def parts_of(
    headers: Mapping[str, Header], name: str, alone: bool = False, divided: bool = True
) -> tuple[Part, ...] | None:
    """How a file of named arrays stores samples; None if the whole file is one sample. ``alone``: it is the whole data set, which is more
    than one sample. ``divided``: arrays may say which rows of the others a split has."""
    splits = {key: split for key in headers if (split := split_in_name(key)) is not None}
    if divided and (members := _members(headers, splits)):
        rest = {key: key for key in headers if key not in splits}
        part = _part(split_in_name(name), {key: headers[key] for key in rest}, rest, alone)
        return None if part is None else (replace(part, members=members),)
    groups: dict[str | None, dict[str, str]] = {}
    for key, split in splits.items():
        groups.setdefault(split, {})[key] = without_split(key) or key
    whole = {key: split for key, split in splits.items() if not without_split(key)}
    if (
        len({*whole.values()}) == len(whole) > 1
        and len({_row(headers[key]) for key in whole}) == 1
        and all(len(headers[key][1]) > 1 for key in whole)
    ):  # what else there is says something of one of them, as the nearest neighbours of a test set do
        return tuple(Part(split, headers[key][1][0], (("data", key),)) for key, split in whole.items())
    alike = len(groups) > 1 and len({frozenset(names.values()) for names in groups.values()}) == 1
    # an array outside such splits, as the names of classes, describes them
    if len(splits) < 2 or not (alike or len(splits) == len(headers)):
        groups = {split_in_name(name): {key: key for key in headers}}
    parts = []
    for split, keys in groups.items():
        part = _part(split, {k: headers[k] for k in keys}, keys, alone)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


def _members(headers: Mapping[str, Header], splits: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The splits and the arrays that say which rows of the others are in each, as ``train_mask`` beside the nodes of a graph; none if arrays
    named after splits hold data."""
    rows = {shape[0] for key, (_, shape) in headers.items() if key not in splits and shape}
    told = all(_says_which(without_split(key).lower(), headers[key], rows) for key in splits)
    return tuple((split, key) for key, split in splits.items()) if rows and told and len({*splits.values()}) > 1 else ()


def _says_which(name: str, header: Header, rows: set[int]) -> bool:
    """Whether an array may have a truth value for each row, or numbers of some of them."""
    dtype, shape = header
    each = name == MASK or "b1" in dtype or dtype == "bool"
    return name in MEMBERS and len(shape) == 1 and (shape[0] in rows if each else "i" in dtype and shape[0] < max(rows))


def _row(header: Header) -> Header:
    """What each row of an array is."""
    return header[0], header[1][1:]


def _part(
    split: str | None, headers: Mapping[str, Header], names: Mapping[str, str], alone: bool = False
) -> Part | None:
    lengths = {k: shape[0] for k, (_, shape) in headers.items() if shape}
    if not lengths or _one_picture(headers, names):
        return None
    if len(lengths) < len(headers):
        return _rows_beside_values(split, {k: headers[k] for k in lengths}, names, alone)
    offsets = next((k for k in headers if _last(names[k]).lower() in OFFSETS and len(headers[k][1]) == 1), None)
    if offsets is not None:
        n = lengths[offsets] - 1
        beside = {k for k in headers if _group(names[k]) == _group(names[offsets])}  # as the values of a sparse matrix
        ragged = tuple((names[k], k) for k, length in lengths.items() if k != offsets and length != n and k in beside)
        whole = tuple((names[k], k) for k, length in lengths.items() if k != offsets and length == n)
        if n >= 1 and ragged:
            return Part(split, n, whole, offsets, ragged)
    return rows_of(split, headers, names)


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _group(name: str) -> str:
    """The group of an array in HDF5; none of others."""
    return name.rpartition("/")[0]


def _rows_beside_values(
    split: str | None, headers: Mapping[str, Header], names: Mapping[str, str], alone: bool
) -> Part | None:
    """The rows of arrays beside single values, such as a rate; None unless a label for each row says that they are rows, or several
    arrays of a file that is ``alone`` have as many and no other axis in common, as positions and energies of a molecule."""
    label, _ = label_by_name([names[k] for k, (_, shape) in headers.items() if len(shape) == 1])
    of_label = next((shape[0] for k, (_, shape) in headers.items() if names[k] == label), None)
    further: dict[int, set[int]] = {}
    for _, (length, *rest) in headers.values():
        further.setdefault(length, set()).update(rest[:1])
    labelled = of_label is not None and bool(further[of_label])
    return (
        rows_of(split, headers, names) if labelled or (alone and any(len(of) > 1 for of in further.values())) else None
    )


def _one_picture(headers: Mapping[str, Header], names: Mapping[str, str]) -> bool:
    """Whether the file holds one picture and what is said of each of its pixels, [height, width] both, rather than rows."""
    shapes = {names[k].lower(): shape for k, (_, shape) in headers.items()}
    size = next((shape[:2] for name, shape in shapes.items() if name in PICTURE and len(shape) in (2, 3)), None)
    flat = all(len(shape) == 2 or shape[2] <= MOST_CHANNELS for name, shape in shapes.items() if name in PICTURE)
    return size is not None and flat and any(shapes.get(name) == size for name in OF_PIXELS)


def as_labels(name: str, dtype: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, without the last axes of labels that are written as a column, [n, 1], as Keras does, or as [n, 1, 1, 1]."""
    import numpy as np

    column = len(shape) > 1 and {*shape[1:]} == {1} and np.dtype(dtype).kind in "iu"
    return shape[:1] if column and label_by_name([without_split(name)])[0] is not None else shape


def rows_of(split: str | None, headers: Mapping[str, Header], names: Mapping[str, str]) -> Part | None:
    """The arrays of which each row is a sample, by ``names``; None if there are no rows.

    Most have one length, which a label decides if there is one; coordinates of the axes of others have no say, and of as many arrays
    of each length those with most axes and bytes decide. Another array belongs to them as well if it is named like data,
    if its length is nearly theirs, or if it is the largest and they are no more than labels: rows were lost, not another axis added.
    """
    lengths = {k: headers[k][1][0] for k in headers}
    counts = Counter(lengths.values())
    of_rows = [k for k in headers if not _is_coordinate(k, headers)]
    votes = Counter(lengths[k] for k in of_rows)
    largest = {n: max((len(headers[k][1]), _bytes(headers[k])) for k in of_rows if lengths[k] == n) for n in votes}
    scalars = [k for k in headers if len(headers[k][1]) == 1]
    shared, _ = label_by_name([names[k] for k in scalars if counts[lengths[k]] > 1])  # not the names of a few classes
    label = shared or label_by_name([names[k] for k in scalars])[0]
    n = next((lengths[k] for k in headers if names[k] == label), max(votes, key=lambda n: (votes[n], largest[n])))
    held = [k for k, length in lengths.items() if length == n]
    others = [k for k in headers if k not in held and _is_data(k, n, headers, names, held)]
    if not others and len(headers) > len(held) and all(names[k] == label for k in held):
        others = [max((k for k in headers if k not in held), key=lambda k: _bytes(headers[k]))]
    if n == 1 and others:
        return None  # one label for the whole file
    kept = [k for k in headers if k in held or k in others]
    n = min(lengths[k] for k in kept)
    if n < 1:
        return None
    told = tuple((names[k], lengths[k]) for k in kept) if others else ()
    return Part(split, n, tuple((names[k], k) for k in kept), lengths=told)


def _is_coordinate(key: str, headers: Mapping[str, Header]) -> bool:
    """Whether an array has one value for each place, or each edge of one, along another axis than the first of a larger array."""
    length, *further = headers[key][1]
    if further:
        return False
    axes = [shape for _, shape in headers.values() if len(shape) > 1]
    return any({length, length - 1} & {*shape[1:]} for shape in axes) and all(shape[0] != length for shape in axes)


def _is_data(key: str, n: int, headers: Mapping[str, Header], names: Mapping[str, str], held: list[str]) -> bool:
    """Whether an array whose length is not ``n`` has a row for each sample all the same."""
    length, name = headers[key][1][0], names[key].lower()
    if name in DATA:
        return True
    if len(headers[key][1]) == 1 and (name in EDGES or any(length in headers[k][1][1:] for k in held)):
        return False  # it describes another axis
    return abs(length - n) <= NEARLY * max(length, n)


def _bytes(header: Header) -> int:
    import numpy as np

    return int(np.prod(header[1], dtype=np.float64) * np.dtype(header[0]).itemsize)


def array_of(value: Any) -> Any:
    """A value as an array; one without values for None, and for lists within which lists differ in length."""
    import numpy as np

    try:
        return np.zeros(0) if value is None else np.asarray(value)
    except ValueError:
        return np.zeros(0)


def array_field(name: str, dtype: str, shape: tuple[int | None, ...], label: bool = False) -> Field:
    """The field for per-sample values of this dtype and shape."""
    return Field(name, _kind(name, dtype, shape, label), plain_dtype(dtype), shape)


def plain_dtype(dtype: str) -> str:
    """``<U4`` → ``str``; ``>f4`` → ``float32``."""
    import numpy as np

    if dtype.lstrip("<>|=").startswith(("U", "S")):
        return "str"
    try:
        return str(np.dtype(dtype).newbyteorder("="))
    except TypeError:
        return dtype


def _kind(name: str, dtype: str, shape: tuple[int | None, ...], label: bool) -> str:
    plain = plain_dtype(dtype)
    floating = plain.startswith(("float", "bfloat", "complex"))
    if not shape:
        if plain == "bool":
            return "boolean"
        return "category" if label or plain == "str" else "number"
    if plain == "uint8" and len(shape) == 3 and (shape[-1] in (1, 3, 4) or shape[0] in (1, 3, 4)):
        return "image"
    if plain == "uint8" and len(shape) == 2 and None not in shape and min(x or 0 for x in shape) >= 8:
        return "image"
    places = _last(name).lower() == "indices"  # of the values of a sparse row
    ragged_ints = len(shape) == 1 and shape[0] is None and plain in ("int32", "int64") and not places
    whole = plain.startswith(("int", "uint")) and plain != "uint8"
    named = name.lower() in TOKENS or (whole and re.split(r"[^a-z]+", _last(name).lower())[-1] in OF_IDS)
    if ragged_ints or (len(shape) == 1 and (named or plain == "uint16")):
        return "tokens"
    if len(shape) == 1 and floating and shape[0] is not None:
        return "embedding"
    if shape[0] is None:
        return "sequence"
    return "array"


BOX_WORDS = {"bbox", "bboxes", "box", "boxes"}
"""Words of fields that hold boxes."""


def has_boxes(field: Field) -> bool:
    """Whether a field is named as boxes, and has four numbers for each of several."""
    return (
        bool(set(re.split(r"[^a-z]+", field.name.lower())) & BOX_WORDS)
        and len(field.shape) == 2
        and field.shape[1] == 4
    )


def picture_sides(field: Field) -> tuple[int | None, ...]:
    """Height and width of floats of one or three channels, first or last, large enough for a picture, None for a side that varies; nothing
    of other fields."""
    if field.kind not in ("image", "array", "sequence") or "float" not in field.dtype or len(field.shape) != 3:
        return ()
    sides = field.shape[1:] if field.shape[0] in (1, 3) else field.shape[:2] if field.shape[2] in (1, 3) else ()
    return sides if all(n is None or n >= SMALLEST for n in sides) else ()


OBJECT_WORDS = {"label", "labels", "class", "classes", "category", "categories", "cls"}
"""Words of fields that hold the classes of boxes."""


def objects_in(fields: Iterable[Field]) -> Objects | None:
    """The field beside boxes that holds the class of each: whole numbers, as many as there are."""
    fields = list(fields)
    for boxes in filter(has_boxes, fields):
        inside = boxes.name.rpartition(".")[0]
        for field in fields:
            above, _, name = field.name.rpartition(".")
            named = set(re.split(r"[^a-z]+", name.lower())) & OBJECT_WORDS
            if above == inside and named and field.shape == boxes.shape[:1] and "int" in field.dtype:
                return Objects(field.name, {})
    return None


PIXELS = 2
"""The least side, of any box, from which boxes are in pixels: shares of the image are rounded, and may pass 1."""


def pixel_boxes(source: Any) -> set[str]:
    """The fields of boxes in pixels, by the first of them that are there."""
    import numpy as np

    found = set()
    for field in filter(has_boxes, source.fields):
        given = getattr(source, "given", {}).get(field.name)
        values = given.values if given is not None else islice(values_in(source, field.name, source.units[:64]), 64)
        largest = [
            float(np.nanmax(v)) for v in values if isinstance(v, np.ndarray) and v.size and not np.isnan(v).all()
        ]
        if largest and max(largest) >= PIXELS:
            found.add(field.name)
    return found


def values_in(source: Any, name: str, units: Iterable[Unit]) -> Iterator[Any]:
    """The values of a field in these units of a source, which are read one after the other."""
    for unit in units:
        try:
            column = source.column(unit, name)
        except Unreadable:
            continue
        yield from column.values if column is not None else ()


def merge_shapes(shapes: list[tuple[int | None, ...]]) -> tuple[int | None, ...]:
    """The shape that nearly all have, with None for axes that vary."""
    [(common, most)] = Counter(shapes).most_common(1)
    if most >= NEARLY_ALL * len(shapes):
        return common
    ranks = {len(s) for s in shapes}
    if len(ranks) != 1:
        return (None,)
    return tuple(x[0] if len(set(x)) == 1 else None for x in zip(*shapes, strict=True))


def modality_of(fields: tuple[Field, ...], label: str | None) -> str:
    """One of the contract's modalities, from the fields that are not the label."""
    if any(f.kind == "image" or picture_sides(f) for f in fields) and any(has_boxes(f) for f in fields):
        return "detection"
    kinds = Counter(_by_axes(f) for f in fields if f.name != label)
    if kinds["sequence"] > kinds["tokens"] and not any(f.name.lower() in TOKENS for f in fields):
        del kinds["tokens"]  # a flag or a number for each step
    if any(_by_axes(f) == "array" and len(f.shape) > 1 for f in fields if f.name != label):
        del kinds["embedding"]  # a few numbers beside it, such as a soft label or the distances of voxels
    rich = [k for k in ("image", "audio", "text", "tokens", "sequence", "embedding", "array") if kinds[k]]
    scalars = kinds["number"] + kinds["boolean"] + kinds["time"]
    if rich == ["text"]:
        return "tabular" if scalars + kinds["category"] > 2 * kinds["text"] else "text"
    if {"image", "audio"} & set(rich) and len({"image", "audio", "text"} & set(rich)) > 1:
        return "multimodal"
    if rich:
        return rich[0]
    return "tabular" if scalars + kinds["category"] else "array"


def _by_axes(field: Field) -> str:
    """Its kind; volumes whose number of slices varies are no sequences."""
    return "array" if field.kind == "sequence" and len(field.shape) > 2 else field.kind


def stacked(values: list[Any]) -> Any:
    """One array if all values have one shape and dtype, else the list."""
    import numpy as np

    if values and all(isinstance(v, np.ndarray) for v in values):
        first = values[0]
        if all(v.shape == first.shape and v.dtype == first.dtype for v in values):
            return np.stack(values)
    return values

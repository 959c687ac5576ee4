"""NPY: parallel arrays (``x_train.npy``, ``y_train.npy``), one array, or one sample per file; rows are read by offset."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from dataloader_expert.conclusions import number
from dataloader_expert.errors import RequestError, Unreadable, listed
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.array_files import HEAD, ArrayFiles
from dataloader_expert.sources.arrays import DATA, NEARLY_ALL, Header, Part, array_field, modality_of, rows_of
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import (
    read_folders,
    split_in_name,
    split_of_folder,
    without_shared_beginning,
    without_split,
)
from dataloader_expert.sources.npy_header import parse_npy
from dataloader_expert.sources.packed import unpacked_name

RANGE_BYTES = 4 << 20
MOST_PARTS, WHOLE_BYTES = 1024, 1 << 30
"""Values of a row in Fortran order beyond which an array is read whole, if it is no larger."""
WINDOW = 1024
"""Tokens of a sample of a stream of them: the context of GPT-2, in which such files are usually read."""
SMALLEST = 8
"""The fewest pixels of a picture's side."""
FIELDS = {
    *DATA, "mask", "masks", "depth", "depths", "left", "right", "source", "target", "output", "outputs", "before", "after", "rgb",
    "red", "green", "blue", "nir", "gray", "grey", "noisy", "clean", "gt", "truth", "frames", "frame", "edges", "sketch", "photo",
    "photos", "high", "low", "hr", "lr", "a", "b", "c", "train", "val", "valid", "test", "reference", "flow", "normals", "segmentation",
}  # fmt: skip
"""Words for one of several pictures of a sample."""
MANY = 8
"""The fewest files of one dtype and shape that are samples, whatever their names: hardly any sample has so many equal fields."""
Shard = tuple[str | None, str]
"""A split and the number of a shard; no number where there is one for each split."""
Stream = tuple[str | None, Entry, Header, int]
"""A split, a file of tokens, its dtype and shape [tokens], and the byte offset of the first."""
LOOKED_AT, SMOOTH = 8192, 0.5
"""Values of a stream that are looked at; and the mean step from one to the next over their mean distance from the median, below which
they are a signal. Of values in any order it is about 1.4."""
PLACES, SMOOTHER = 8, 0.8
"""Pictures that are compared with the next along either axis, and the share of the difference along the second up to which that along
the first is smaller."""
SHORTEST = 64
"""The fewest tokens of a stream that decides how long windows are: a shorter one is cut."""
LEAST_WINDOWS = 8
"""The fewest windows of a stream that nothing but its dtype tells."""
Span = tuple[str, str, str, tuple[int, ...], int, int]
"""Field, file, dtype, shape of a row, byte offset of the first row to read; and the rows of the whole array if it is in Fortran order,
so that the values of a row lie that far apart, else 0."""


class NpyFiles(ArrayFiles):
    format = "npy"
    kinds = partners_read = frozenset({"npy"})
    paired = True

    @staticmethod
    def parse(head: bytes, size: int, file: str) -> tuple[str, tuple[int, ...], bool, int]:
        return parse_npy(head, size, file)


class Npy(Source):
    format = "npy"
    kinds = frozenset({"npy"})
    each: ClassVar[type[ArrayFiles]] = NpyFiles
    """What reads files that are a sample each."""

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = listing.of(cls.kinds)
        if not entries:
            raise RequestError(
                "format-unknown", f"no {cls.format.upper()} files were found; pass another folder or format="
            )
        source = cls()
        source.listing = listing
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        if not source._side_by_side(entries):
            return cls.each.open(listing, ref)
        source.classes = tuple(sorted({*source.class_of.values()})) or declared_classes(listing)
        source.modality = modality_of(source.fields, source.label)
        return source

    listing: Listing

    def __init__(self) -> None:
        super().__init__()
        self.class_of: dict[str, str] = {}
        """The class of the rows of each file, where its name is one."""
        self.unread: dict[str, str] = {}
        """Fields of which it is not known what they are, and why."""

    @staticmethod
    def stem(name: str) -> str:
        return name.removesuffix(".npy")

    def header(self, entry: Entry) -> tuple[Header, bool, int]:
        dtype, shape, fortran, at = self.each.parse(self.listing.head(entry.path, HEAD), entry.size, entry.path)
        return (dtype, shape), fortran, at

    def _side_by_side(self, entries: list[Entry]) -> bool:
        """Whether the files are the fields of the same rows; if so, makes the units."""
        if self._streams(entries):
            return True
        homes = self._homes(entries)
        in_folders = _in_several_folders([e.path for e in entries])
        if homes is None and (len(entries) > 32 or in_folders) and not self._may_be_cut(entries):
            return False
        groups: dict[Shard, dict[str, tuple[Entry, Header, int]]] = {}
        fortran_order: set[str] = set()
        folders, _, _ = read_folders([e.path for e in entries])
        for entry, folder in zip(entries, folders, strict=True):
            stem = self.stem(unpacked_name(entry.path.rsplit("/", 1)[-1]))
            split = split_in_name(stem) or folder
            try:
                header, fortran, at = self.header(entry)
            except Unreadable as problem:
                self.problems.append(problem)
                continue
            if not header[1]:
                return False
            if fortran and len(header[1]) > 1:
                fortran_order.add(entry.path)
            name = without_split(stem) or "data"
            shard = (split, "" if homes is None else homes[entry.path])
            if name in groups.setdefault(shard, {}):
                return False
            groups[shard][name] = (entry, header, at)
        if homes is None and are_classes([(name, h) for g in groups.values() for name, (_, h, _) in g.items()]):
            self._as_classes(groups, fortran_order)
            return True
        sharded = (cut_as_shards(groups, fortran_order) or in_shards(groups)) if homes is None else groups
        if sharded is None and in_folders and homes is None:
            return False
        if not groups or (
            sharded is None and are_samples([(name, h) for g in groups.values() for name, (_, h, _) in g.items()])
        ):
            return False
        groups = groups if sharded is None else sharded
        parts = {key: _rows(key[0], {n: h for n, (_, h, _) in g.items()}) for key, g in groups.items()}
        if len({None if p is None else tuple(sorted(p.arrays)) for p in parts.values()}) != 1:
            return False
        units: list[Unit] = []
        start = 0
        for key, part in parts.items():
            if part is None:
                return False
            split = key[0]
            group = groups[key] = {name: groups[key][name] for name, _ in part.arrays}
            n = part.samples
            shortest = min(group.values(), key=lambda of: of[1][1][0])[0].path
            if (unequal := part.unequal(shortest)) is not None:
                self.problems.append(unequal)
            row = sum(_row_bytes(h) for _, h, _ in group.values())
            step = max(1, RANGE_BYTES // max(row, 1))
            apart = [h for e, h, _ in group.values() if e.path in fortran_order]
            if (
                any(_row_bytes(h) // max(1, _row_bytes((h[0], (1,)))) > MOST_PARTS for h in apart)
                and n * row <= WHOLE_BYTES
            ):
                step = n  # in one piece: a read for each value of a row would take far longer
            for lo in range(0, n, step):
                hi = min(n, lo + step)
                spans = tuple(
                    _span(name, e.path, h, at, lo, e.path in fortran_order) for name, (e, h, at) in group.items()
                )
                file = spans[0][1]
                units.append(Unit(len(units), file, start + lo, hi - lo, (hi - lo) * row, split, None, spans))
            start += n
        self.units = tuple(units)
        first = next(iter(groups.values()))
        scalars = [n for n, (_, h, _) in first.items() if len(h[1]) == 1]
        self.label, self.label_how = label_by_name(scalars)
        self.fields = tuple(array_field(name, h[0], h[1][1:], name == self.label) for name, (_, h, _) in first.items())
        self.sharding = f"{len(entries)} arrays side by side"
        if len(first) > 1 and may_be_classes([(name, h) for name, (_, h, _) in first.items()]):
            self.unread["label"] = (
                "it is unclear whether equal arrays of images are one class each or one field each; they are read as fields"
            )
        for name, (entry, header, at) in first.items():
            if entry.path not in fortran_order and self._changes_less_along_rows(entry, header, at):
                rows, inner = header[1][:2]
                text = f"its values change less along the first axis ({rows}) than along the second ({inner}), as frames of clips"
                self.unread[name] = f"{text} do: if it is [time, sample, …], transpose it; it is read as {rows} samples"
        if homes is not None:
            text = f"{listed(sorted({*homes.values()}), 3)} hold the same fields, such as of several conditions"
            self.unread["folders"] = f"{text}: the samples of all are read, and nothing says which each is of"
        if sharded is not None:
            most = max(part.samples for part in parts.values() if part is not None)
            self.sharding = f"{len(groups)} shards of up to {most} samples, each of {len(first)} arrays side by side"
        return True

    def _may_be_cut(self, entries: list[Entry]) -> bool:
        """Whether one folder holds a few arrays beside numbered ones of a few names."""
        stems = [_NUMBERED.fullmatch(self.stem(unpacked_name(e.path.rpartition("/")[2]))) for e in entries]
        numbered = {stem[1] for stem in stems if stem is not None}
        whole = stems.count(None)
        return len({e.path.rpartition("/")[0] for e in entries}) == 1 and 0 < whole <= MANY >= len(numbered) > 0

    def _homes(self, entries: list[Entry]) -> dict[str, str] | None:
        """The folder of each file, without its split, where several folders hold the same arrays side by side, with their labels, as
        ``fog/train_images.npy`` and ``fog/train_labels.npy`` beside those of other conditions; else None."""
        homes: dict[str, str] = {}
        held: dict[str, set[tuple[str | None, str]]] = {}
        for entry in entries:
            *folders, name = entry.path.split("/")
            stem = self.stem(unpacked_name(name))
            homes[entry.path] = home = "/".join(folder for folder in folders if split_of_folder(folder) is None)
            split = split_in_name(stem) or next(filter(None, map(split_of_folder, folders)), None)
            held.setdefault(home, set()).add((split, without_split(stem)))
        fields = next(iter(held.values()))
        names = [{name for of, name in fields if of == split} for split in {split for split, _ in fields}]
        labelled = all(len(of) > 1 and label_by_name([*of])[0] is not None for of in names)
        return homes if len(held) > 1 and labelled and all(of == fields for of in held.values()) else None

    def _changes_less_along_rows(self, entry: Entry, header: Header, at: int) -> bool:
        """Whether pictures in an array [a, b, height, width], a smaller than b, are alike along the first axis and not along the second."""
        import numpy as np

        dtype, shape = header
        if len(shape) < 4 or not 2 < shape[0] < shape[1] or np.dtype(dtype).kind not in "iuf":
            return False
        row = _row_bytes((dtype, shape))
        step, places = row // shape[1], range(0, shape[1] - 1, max(1, shape[1] // PLACES))
        if step > RANGE_BYTES // (3 * PLACES):
            return False

        def picture(i: int, k: int) -> Any:
            start = at + i * row + k * step
            return np.frombuffer(self.listing.span(entry.path, start, start + step), dtype).astype(np.float64)

        along = np.mean([np.abs(picture(1, k) - picture(0, k)).mean() for k in places])
        across = np.mean([np.abs(picture(0, k + 1) - picture(0, k)).mean() for k in places])
        return bool(along < SMOOTHER * across)

    def _as_classes(self, groups: Mapping[Shard, dict[str, tuple[Entry, Header, int]]], fortran: set[str]) -> None:
        """The rows of files that hold a class each."""
        units: list[Unit] = []
        start = 0
        called = without_shared_beginning({name for group in groups.values() for name in group})
        for (split, _), group in groups.items():
            for name, (entry, header, at) in sorted(group.items()):
                self.class_of[entry.path] = called[name]
                row, n = _row_bytes(header), header[1][0]
                step = n if entry.path in fortran else max(1, RANGE_BYTES // max(row, 1))
                for lo in range(0, n, step):
                    hi = min(n, lo + step)
                    span = _span("data", entry.path, header, at, lo, entry.path in fortran)
                    units.append(
                        Unit(len(units), entry.path, start + lo, hi - lo, (hi - lo) * row, split, None, (span,))
                    )
                start += n
        self.units = tuple(units)
        (_, (dtype, shape), _) = next(of for group in groups.values() for of in group.values())
        self.label, self.label_how = "label", "from the file names: each file holds the images of one class"
        self.fields = (array_field("data", dtype, shape[1:]), Field("label", "category", "str"))
        self.sharding = f"{number(len(self.class_of), 'array')}, a class each"

    def _streams(self, entries: list[Entry]) -> bool:
        """Whether the files are streams of tokens, one for each split or shards of it; if so, makes the units."""
        folders, labels, _ = read_folders([e.path for e in entries])
        stems = [self.stem(unpacked_name(e.path.rsplit("/", 1)[-1])) for e in entries]
        splits = [split_in_name(stem) or folder for stem, folder in zip(stems, folders, strict=True)]
        if any(label is not None for label in labels) or not of_one_stream(stems, splits):
            return False
        streams: list[Stream] = []
        problems: list[Unreadable] = []
        for entry, split in zip(entries, splits, strict=True):
            try:
                header, _, at = self.header(entry)
            except Unreadable as problem:
                problems.append(problem)
                continue
            streams.append((split, entry, header, at))
            if not is_stream(streams[-1]) or self._is_signal(streams[-1]):
                return False
        if not streams:
            return False
        self.problems += problems
        self.as_windows(streams)
        return True

    def _is_signal(self, stream: Stream) -> bool:
        """Whether each value is near the one before, as those of a measurement are, and not those of tokens."""
        import numpy as np

        _, entry, (dtype, _), at = stream
        values = np.frombuffer(self.listing.span(entry.path, at, at + 2 * LOOKED_AT), dtype).astype(np.int64)
        return float(np.abs(np.diff(values)).mean()) < SMOOTH * float(np.abs(values - np.median(values)).mean())

    def as_windows(self, streams: list[Stream]) -> None:
        """The windows of streams of tokens, as long as the shortest stream at the most; tokens that fill none are left out."""
        units: list[Unit] = []
        start = 0
        lengths = [header[1][0] for _, _, header, _ in streams]
        width = min(WINDOW, min((n for n in lengths if n >= SHORTEST), default=max(lengths)))
        for split, entry, (dtype, (tokens, *_)), at in streams:
            rows = tokens // width
            if not rows:
                text = f"{number(tokens, 'token')}, which fill no window of {width:,}"
                self.problems.append(Unreadable("truncated", text, file=entry.path))
            row = _row_bytes((dtype, (1, width)))
            step = max(1, RANGE_BYTES // max(1, row))
            for lo in range(0, rows, step):
                hi = min(rows, lo + step)
                span = ("tokens", entry.path, dtype, (width,), at + lo * row, 0)
                units.append(Unit(len(units), entry.path, start + lo, hi - lo, (hi - lo) * row, split, None, (span,)))
            start += rows
        self.units = tuple(units)
        self.label, self.label_how = None, "tokens have no label"
        self.fields = (array_field("tokens", streams[0][2][0], (width,)),)
        self.sharding = f"windows of {width:,} tokens of {number(len(streams), 'file')}"

    def read(self, unit: Unit) -> Any:
        rows = {}
        for name, file, dtype, shape, at, apart in unit.at:
            row = _row_bytes((dtype, (1, *shape)))
            if not apart or apart == unit.samples:
                rows[name] = self.listing.span(file, at, at + unit.samples * row)
                continue
            size = _row_bytes((dtype, (1,)))
            with self.listing.open(file) as opened:
                parts = [opened.exactly(at + k * apart * size, unit.samples * size) for k in range(row // size)]
            rows[name] = b"".join(parts)
        return rows

    def decode(self, unit: Unit, raw: Any) -> Block:
        import numpy as np

        columns = {
            name: Column(
                _native(np.frombuffer(raw[name], dtype)).reshape(unit.samples, *shape, order="F" if apart else "C")
            )
            for name, _, dtype, shape, _, apart in unit.at
        }
        if unit.file in self.class_of:
            columns["label"] = Column([self.class_of[unit.file]] * unit.samples)
        return Block(unit, columns)


def _span(name: str, file: str, header: Header, at: int, first: int, fortran: bool) -> Span:
    dtype, (rows, *shape) = header
    step = _row_bytes((dtype, (1,))) if fortran else _row_bytes(header)
    return name, file, dtype, tuple(shape), at + first * step, rows if fortran else 0


def _native(values: Any) -> Any:
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def of_one_stream(stems: list[str], splits: list[str | None]) -> bool:
    """Whether names of files may be those of one stream: one file for each split, or shards, which have a number with zeros before it,
    or one beside a split or the word tokens."""
    names = [without_split(stem) for stem in stems]
    if any(label_by_name([name])[0] is not None for name in names):
        return False
    if len(set(splits)) == len(splits):
        return len(set(names)) == 1
    bare = {re.sub(r"\d+", "", name) for name in names}
    numbers = [re.findall(r"\d+", name)[-1:] for name in names]
    if len(bare) != 1 or not all(numbers):
        return False
    padded = any(len(n) > 1 and n.startswith("0") for (n,) in numbers)
    return padded or None not in splits or "token" in bare.pop().lower()


def is_stream(stream: Stream) -> bool:
    """Whether an array may be one stream of token ids: one axis, 16 bits wide, and many windows long."""
    _, _, (dtype, shape), _ = stream
    return dtype.lstrip("<|=") == "u2" and len(shape) == 1 and shape[0] >= LEAST_WINDOWS * WINDOW


_NUMBERED = re.compile(r"(.*?[^\d_-])[_-]?(\d+)")


def cut_as_shards(
    groups: Mapping[Shard, dict[str, tuple[Entry, Header, int]]], fortran: Collection[str]
) -> dict[Shard, dict[str, tuple[Entry, Header, int]]] | None:
    """The groups by shard, where arrays of one number are one, and others have as many rows as all of them together, such as
    ``labels.npy`` of ``emb_0000.npy``, ``emb_0001.npy`` and so on: these are cut as they are; else None."""
    found: dict[Shard, dict[str, tuple[Entry, Header, int]]] = {}
    for (split, _), group in groups.items():
        shards: dict[int, dict[str, tuple[Entry, Header, int]]] = {}
        whole = {name: of for name, of in group.items() if _NUMBERED.fullmatch(name) is None}
        for name, of in group.items():
            if (numbered := _NUMBERED.fullmatch(name)) is not None:
                shards.setdefault(int(numbered[2]), {})[numbered[1]] = of
        rows = {i: {h[1][0] for _, h, _ in shard.values()} for i, shard in shards.items()}
        forms = {(name, h[0], h[1][1:]) for shard in shards.values() for name, (_, h, _) in shard.items()}
        even = all(len(of) == 1 for of in rows.values()) and len(forms) == len({name for name, *_ in forms})
        if len(shards) < 2 or not whole or not even or len({tuple(sorted(of)) for of in shards.values()}) > 1:
            return None
        total = sum(n for of in rows.values() for n in of)
        if any(h[1][0] != total or e.path in fortran for e, h, _ in whole.values()):
            return None
        first = 0
        for of_shard, shard in sorted(shards.items()):
            [n] = rows[of_shard]
            own = {name: (e, (h[0], (n, *h[1][1:])), at + first * _row_bytes(h)) for name, (e, h, at) in whole.items()}
            found[(split, str(of_shard))] = {**shard, **own}
            first += n
    return found or None


def in_shards(
    groups: Mapping[Shard, dict[str, tuple[Entry, Header, int]]],
) -> dict[Shard, dict[str, tuple[Entry, Header, int]]] | None:
    """The groups by shard, where several fields each have files of the same numbers, as ``emb_00.npy`` and ``labels_00.npy``; else None.

    ``x1``, ``x2``, ``y1`` and ``y2`` of one length may as well be four fields: there must be numbers with zeros before them, files of
    other lengths, or labels in three files or more.
    """
    found: dict[Shard, dict[str, tuple[Entry, Header, int]]] = {}
    for (split, _), group in groups.items():
        for name, of in group.items():
            numbered = _NUMBERED.fullmatch(name)
            if numbered is None:
                return None
            shard = found.setdefault((split, numbered[2]), {})
            if numbered[1] in shard:
                return None
            shard[numbered[1]] = of
    fields = {tuple(sorted(shard)) for shard in found.values()}
    if len(fields) != 1 or len(*fields) < 2 or len(found) < 2:
        return None
    rows = {(name, h[0], h[1][1:]) for shard in found.values() for name, (_, h, _) in shard.items()}
    lengths = [{h[1][0] for _, h, _ in shard.values()} for shard in found.values()]
    if len(rows) != len(*fields) or any(len(shard) != 1 for shard in lengths):
        return None
    numbers, told = {number for _, number in found}, {n for shard in lengths for n in shard}
    labelled = any(label_by_name([name])[0] is not None for name in next(iter(found.values())))
    padded = any(n.startswith("0") and len(n) > 1 for n in numbers)
    sure = padded or len(told) > 1 or (len(numbers) > 2 and labelled)
    return dict(sorted(found.items(), key=lambda item: (item[0][0] or "", int(item[0][1])))) if sure else None


def may_be_classes(files: list[tuple[str, Header]]) -> bool:
    """Whether files hold pictures of one size, and words for names, none of which is that of a field, as ``cat.npy`` and ``dog.npy``."""
    names = {name.lower() for name, _ in files}
    if len(names) < 2 or len({(dtype, shape[1:]) for _, (dtype, shape) in files}) > 1:
        return False
    said = {word for name in names for word in re.split(r"[^a-z]+", name)}
    if any(re.search(r"\d", name) for name in names) or said & FIELDS or label_by_name([*names])[0] is not None:
        return False
    dtype, (_, *row) = files[0][1]
    flat = len(row) == 1 and math.isqrt(row[0]) ** 2 == row[0] >= SMALLEST**2
    return dtype.lstrip("<|=") == "u1" and (flat or (len(row) in (2, 3) and min(row[:2]) >= SMALLEST))


def are_classes(files: list[tuple[str, Header]]) -> bool:
    """Whether files that may be a class each (``may_be_classes``) are: fields of the same samples would be equally long, and more than
    two equal pictures of a sample are hardly called so."""
    lengths = {header[1][0] for _, header in files}
    return may_be_classes(files) and (len(lengths) > 1 or len({name for name, _ in files}) > 2)


def are_samples(files: list[tuple[str, Header]]) -> bool:
    """Whether files are a sample each, by their names without the split and their headers, and not the fields of all samples.

    Names that differ only by a number are those of samples; so are names with a number if nearly all files have one dtype and
    shape, and any names of ``MANY`` such files of more than one axis: tables may have as many columns of numbers.
    """
    if len(files) < 3:
        return False
    names = [name for name, _ in files]
    if len(set(names)) > 2 and len({re.sub(r"\d+", "", name) for name in names}) == 1:
        return True
    if any(name.lower() in DATA or label_by_name([name])[0] is not None for name in names):
        return False
    [(usual, most)] = Counter(header for _, header in files).most_common(1)
    if most < NEARLY_ALL * len(files) or len(set(names)) < 3:
        return False
    return all(re.search(r"\d", name) for name in names) or (len(set(names)) >= MANY and len(usual[1]) > 1)


def _in_several_folders(paths: list[str]) -> bool:
    """Whether files lie in folders other than those of splits, whatever folders are around all of them."""
    parts = [path.split("/")[:-1] for path in paths]
    around = next((i for i, level in enumerate(zip(*parts, strict=False)) if len({*level}) > 1), min(map(len, parts)))
    return any(len(of) > around and split_in_name(of[around]) is None for of in parts)


def _rows(split: str | None, headers: Mapping[str, Header]) -> Part | None:
    """The fields of a split's files; None if they are not side by side: most must be, or be named as data and labels are."""
    names = {name: name for name in headers}
    part = rows_of(split, headers, names)
    if part is None or (len(part.arrays) == len(headers) and not part.lengths):
        return part
    known = [name for name in names if name.lower() in DATA or label_by_name([name])[0] is not None]
    held = {name for name, _ in part.arrays}
    return part if len(held) > 1 and 2 * len(held) > len(headers) and held & set(known) else None


def _row_bytes(header: Header) -> int:
    import numpy as np

    size = np.dtype(header[0]).itemsize
    for n in header[1][1:]:
        size *= n
    return int(size)


SOURCE = Npy

"""A map-style dataset over any source: tensors by index, read and decoded on access."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch.utils.data import Dataset

from dataloader_expert.errors import Unreadable
from dataloader_expert.loaders.collate import Gathered
from dataloader_expert.loaders.plain import resized
from dataloader_expert.loaders.seeding import NothingReadable, shared
from dataloader_expert.samplers.rules import integers, one_of, position
from dataloader_expert.sources.arrays import pixel_boxes
from dataloader_expert.sources.base import Block, Column, Field, Source
from dataloader_expert.sources.kept_blocks import Blocks
from dataloader_expert.sources.pictures import DEEP, GREY, as_grey, as_rgb, in_colour
from dataloader_expert.sources.plain_files import as_text, nearest
from dataloader_expert.sources.sounds import encoded

logger = logging.getLogger(__name__)


class Clock(Protocol):
    """Measures where the time of a sample goes; see ``SourceDataset.clock``."""

    def lap(self, stage: str) -> None:
        """Ends a stage, ``read`` or ``decode``."""

    def sample(self, index: int) -> None:
        """Ends a sample; the time outside the stages was its conversion to tensors."""


class SourceDataset(Dataset[Any]):
    """Samples of a source as dictionaries: images uint8 [c, h, w], arrays as stored, label an int64 class index.

    Of unsigned integers, uint16 and uint32 become int32 and int64; uint64 stays, except for the label. Blocks of many
    samples (row groups, shards) are kept decoded up to 256 MiB a process.

    Args:
        source: of the samples.
        size: height and width to which images and masks are resized, boxes in pixels with them; None: they have one size.
        classes: class names in index order; None: labels as stored.
        nullable: fields with missing values, whose numbers become float64 with NaN; a missing array of varying length has
            none. None: found by decoding the whole source once.
        blocks: decoded blocks of another dataset with the same source and classes.
        unreadable: of a sample that cannot be read: ``"raise"`` an error that names it; ``"skip"`` it in its batch,
            which is then smaller, log it and count it in :attr:`skipped` (a single read raises); ``"replace"`` it by
            the next readable one, for measuring speed.
        channels: of images, 1 or 3; None: 1 if the images inspected on opening are grey, else 3.
        transform: from a sample to the one that is returned.

    Another value of ``unreadable`` or ``channels``, and on access an image in colour if ``channels`` is 1, is a
    ``ValueError``; on access, a sample that cannot be read, or a batch of such samples, is a ``RuntimeError``.
    """

    def __init__(
        self,
        source: Source,
        size: tuple[int, int] | None = None,
        classes: tuple[str, ...] | None = None,
        nullable: Iterable[str] | None = None,
        blocks: Blocks | None = None,
        unreadable: Literal["raise", "skip", "replace"] = "raise",
        channels: int | None = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        one_of(("raise", "skip", "replace"), unreadable=unreadable)
        one_of((1, 3, None), channels=channels)
        if size is not None and (isinstance(size, str) or not hasattr(size, "__len__") or len(size) != 2):
            raise ValueError(f"size is {size!r}; it must be a height and a width, such as (224, 224)")
        integers(1, **({} if size is None else {"height": size[0], "width": size[1]}))
        unknown = set(nullable or ()) - {f.name for f in source.fields}
        if unknown:
            names = ", ".join(f.name for f in source.fields)
            raise ValueError(f"nullable names {', '.join(sorted(unknown))}, and the fields are {names}")
        self.source, self.size, self.unreadable, self.channels = source, size, unreadable, channels
        if transform is not None and not callable(transform):
            raise ValueError(
                f"transform is {transform!r}; it must be a function from a sample to the one that is returned"
            )
        self.transform = transform
        self._skipped = shared(0) if unreadable == "skip" else torch.tensor(0)  # each costs a descriptor
        self._told: set[int] = set()
        self._in_pixels = pixel_boxes(source) if size is not None else set()
        self.codes = None if classes is None else {name: i for i, name in enumerate(classes)}
        self.units = source.units
        self.starts = np.cumsum([0, *(u.samples for u in self.units)])
        self.blocks = Blocks() if blocks is None else blocks
        self.nullable = set(nullable) if nullable is not None else fields_with_nulls(source)
        self._numbered = False
        self.clock: Clock | None = None

    def __len__(self) -> int:
        return int(self.starts[-1])

    def identity(self) -> str:
        """A digest of which samples these are: of the files, or what is read of each, and their sizes."""
        digest = hashlib.blake2b(digest_size=8)
        for unit in self.units:
            digest.update(repr((unit.file, unit.key, unit.start, unit.samples, unit.bytes, unit.split)).encode())
        return digest.hexdigest()

    @property
    def classes(self) -> list[str] | None:
        """The names of the classes, in the order of their indices; None where labels are as stored."""
        return None if self.codes is None else list(self.codes)

    def with_missing_class(self) -> SourceDataset:
        """This dataset, with -1 for a label that is missing: its numbers are those of classes, none of which is NaN."""
        self._numbered = True
        self.nullable -= {str(self.source.label)}
        return self

    def labels(self) -> list[Any]:
        """The label of every sample, before ``transform``, for samplers and class weights. Images are not decoded where folders or
        tables give the label.

        A sample of a split without labels has -1, or NaN if labels are no classes.

        Raises:
            ValueError: if no label is known.
            RuntimeError: for a sample that cannot be read.
        """
        name = self.source.label
        if name is None:
            raise ValueError("no label is known; open the data set with label=, or give the labels yourself")
        found: list[Any] = []
        for at, start in enumerate(self.starts[:-1].tolist()):
            try:
                values = self._labels_of(at, name)
            except Unreadable as e:
                which = (
                    f"label of sample {e.where['sample']}" if "sample" in e.where else f"labels from sample {start} on"
                )
                raise RuntimeError(f"the {which} cannot be read: {e.told()}") from e
            found += [v.item() if isinstance(v, torch.Tensor) and not v.ndim else v for v in values]
        return found

    def _labels_of(self, at: int, name: str) -> list[Any]:
        """The label of every sample of a unit."""
        count = self.units[at].samples
        column = self.source.column(self.units[at], name)
        if column is None:
            field = self.source.field(name)
            assert field is not None
            if self.source.nullable:
                return [self._value(name, _absent(field, 1), 0)] * count
            return [-1 if self.codes is not None or field.kind == "category" else float("nan")] * count
        if len(column) >= count:
            return [self._value(name, column, row) for row in range(count)]
        block = self._block(at)  # some samples are not in it
        return [self._value(name, block.columns[name], self._row(at, block, row)) for row in range(count)]

    @property
    def skipped(self) -> int:
        """Skipped reads, of all workers and passes; each sample is logged once per worker."""
        return int(self._skipped)

    def __getitem__(self, index: int) -> Any:
        first = position(index, len(self))
        tries = min(len(self), 100) if self.unreadable == "replace" else 1
        problem: Unreadable | None = None
        for step in range(tries):
            try:
                return self._finished((first + step) % len(self))
            except Unreadable as e:
                problem = problem or e
        assert problem is not None
        raise RuntimeError(
            f"sample {first} cannot be read: {problem.told()}. check_quality lists all such samples: repair or remove "
            "them, or pass unreadable='skip'"
        )

    def __getitems__(self, indices: Sequence[int]) -> Sequence[Any]:
        """A batch, gathered column by column if blocks hold arrays of many samples."""
        wanted = np.asarray(indices, dtype=np.int64)
        ats = np.searchsorted(self.starts, wanted, side="right") - 1
        batch = self._gathered(wanted, ats) if self.transform is None and len(wanted) else None
        if batch is not None:
            return Gathered(batch, len(wanted))
        if self.unreadable != "skip":
            return [self[i] for i in indices]
        kept = []
        for index in indices:
            try:
                kept.append(self._finished(position(index, len(self))))
            except Unreadable as e:  # counted each time, and logged once
                self._skipped += 1
                if index not in self._told:
                    self._told.add(index)
                    logger.warning("sample %d is left out: %s", index, e.told())
        if len(wanted) and not kept:
            raise NothingReadable(indices)
        return kept

    def _finished(self, index: int) -> Any:
        sample = self._sample(index)
        if self.transform is None:
            return sample
        try:
            made = self.transform(sample)
        except StopIteration as e:  # in an iterator it would end the epoch
            raise RuntimeError(f"transform raised StopIteration for sample {index}: an iterator in it ended") from e
        except Exception as e:  # whatever the user's code raises goes on, and says where
            e.add_note(f"in the transform of sample {index}")
            raise
        if made is None:
            raise ValueError("transform returned None: it must return the sample, also where it changes it in place")
        return made

    def _gathered(self, wanted: Any, ats: Any) -> dict[str, Any] | None:
        """The batch; None if values are not all numbers or texts, or blocks have one sample or are not readable."""
        if not 0 <= int(ats.min()) <= int(ats.max()) < len(self.units) or self.units[int(ats[0])].samples <= 1:
            return None
        batch: dict[str, Any] = {}
        for at in np.unique(ats).tolist():
            places = np.flatnonzero(ats == at)
            rows = wanted[places] - int(self.starts[at])
            try:
                block = self._block(at)
            except Unreadable:
                return None
            if block.samples < self.units[at].samples or (batch and block.columns.keys() != batch.keys()):
                return None
            for name in block.columns:
                part = self._part(block, name, rows)
                if part is None:
                    return None
                if len(places) == len(wanted):
                    batch[name] = part
                    continue
                if name not in batch:
                    batch[name] = np.empty((len(wanted), *part.shape[1:]), part.dtype)
                whole = batch[name]
                if whole.shape[1:] != part.shape[1:] or whole.dtype != part.dtype:
                    return None
                whole[places] = part
        return {name: v.tolist() if v.dtype.kind == "O" else torch.from_numpy(v) for name, v in batch.items()}

    def _part(self, block: Block, name: str, rows: Any) -> Any:
        """Values of a column at ``rows`` as an array, of objects for strings; None for other types."""
        column = block.columns[name]
        if name == self.source.label and self.codes is not None:
            codes = block.views.get("codes")
            if codes is None:
                try:
                    codes = np.array([int(self._value(name, column, row)) for row in range(block.samples)])
                except Unreadable:
                    return None  # one by one, so that the sample is named
                block.views["codes"] = codes
            return codes[rows]
        values = column.values
        if isinstance(values, list):
            picked = [values[row] for row in rows.tolist()]
            return np.array(picked, object) if all(isinstance(v, str) for v in picked) else None
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "biufc" or values.ndim > 3:
            return None
        part = values[rows]
        if name in self.nullable:
            part = part.astype(np.float64)
            if part.ndim != 1:
                return None
            if column.nulls is not None:
                part[column.nulls[rows]] = np.nan
            return part
        if column.nulls is not None and column.nulls[rows].any():
            if not (self._numbered and name == self.source.label):
                return None
            part = np.where(column.nulls[rows], -1, part).astype(np.int64)
        return _supported(self._signed(name, part.astype(part.dtype.newbyteorder("="), copy=False)))

    def _block(self, at: int) -> Block:
        """The decoded samples of a unit, which are cached if there are several."""
        block = self.blocks.get(at)
        if block is not None:
            return block
        unit, clock = self.units[at], self.clock
        raw = self.source.read(unit)
        if clock is not None:
            clock.lap("read")
        block = self.source.decode(unit, raw)
        if clock is not None:
            clock.lap("decode")
        if self.source.nullable:
            block.columns = self._whole(block)
        if unit.samples > 1:
            self.blocks.keep(at, block)
        return block

    def _whole(self, block: Block) -> dict[str, Column]:
        """The columns of a block of a table: those of the source, whose values are missing where a file lacks the column."""

        return {f.name: block.columns.get(f.name) or _absent(f, block.samples) for f in self.source.fields}

    def _sample(self, index: int) -> dict[str, Any]:
        at = int(np.searchsorted(self.starts, index, side="right")) - 1
        block = self._block(at)
        row = self._row(at, block, index - int(self.starts[at]))
        sample = {name: self._value(name, column, row) for name, column in block.columns.items()}
        if self.size is not None and self._in_pixels:  # these boxes go with their image; those in shares of it stay
            pictures = [c.values[row] for c in block.columns.values() if hasattr(c.values[row], "getbands")]
            for name in self._in_pixels if len(pictures) == 1 else ():
                if isinstance(sample.get(name), torch.Tensor):
                    sample[name] = resized(sample[name], pictures[0].size, self.size)
        if self.clock is not None:
            self.clock.sample(index)
        return sample

    def _row(self, at: int, block: Block, row: int) -> int:
        """Where the block of a unit has the unit's sample ``row``."""
        index = int(self.starts[at]) + row
        if block.rows is not None:
            row = int(np.searchsorted(block.rows, row)) if row in block.rows else block.samples
        if row >= block.samples:
            told = next((p for p in block.problems if p.where.get("sample") == index), None)
            raise told or Unreadable(
                "unreadable", "the sample is not in its block", file=self.units[at].file, sample=index
            )
        return row

    def _value(self, name: str, column: Any, row: int) -> Any:
        value, absent = column.values[row], column.nulls is not None and bool(column.nulls[row])
        if name == self.source.label and self.codes is not None:
            plain = value.item() if hasattr(value, "item") else value
            if plain is None or absent or plain == -1:  # by custom also a label that is withheld
                return torch.tensor(-1)
            called = self.source.class_name(plain)
            if called not in self.codes:
                text = f"its {name} is {called!r}, which is none of the {len(self.codes)} classes"
                raise Unreadable("label-out-of-range", text, field=name)
            return torch.tensor(self.codes[called])
        if self._numbered and absent and name == self.source.label:
            return torch.tensor(-1)
        if name in self.nullable:
            field = self.source.field(name) if value is None else None
            if isinstance(value, np.generic | bool | int | float) or (field is not None and _is_number(field)):
                number = float("nan") if absent or value is None else float(value)
                return torch.tensor(number, dtype=torch.float64)
        return self._tensor(name, None if absent and isinstance(value, str) else value)

    def _tensor(self, name: str, value: Any) -> Any:
        if value is None:
            field = self.source.field(name)
            if field is not None and field.kind == "image":
                raise Unreadable("unreadable", "image did not decode", field=name)
            return b"" if field is not None and field.kind == "bytes" else "" if field is None else _missing(field)
        if hasattr(value, "getbands"):
            field = self.source.field(name)
            grey = field is not None and len(field.shape) == 3 and field.shape[2] == 1
            if field is not None and field.dtype in DEEP and value.mode in GREY:
                if len(field.shape) != 3 or grey:
                    return self._deep(value, np.dtype(field.dtype))
                if self.channels is None:  # beside bytes of colours, values of another scale would be mixed with them
                    text = f"some images of {name} are in colour, others are grey of more than 8 bits: pass channels=3,"
                    raise ValueError(f"{text} which scales these to 8 bits, or open each kind from a folder of its own")
            mode = "L" if self.channels == 1 or (self.channels is None and grey) else "RGB"
            if mode == "L" and in_colour(value):
                raise ValueError(f"an image of {name} is in colour, others are grey: pass channels=3")
            if value.mode != mode:
                value = as_grey(value) if mode == "L" else as_rgb(value)
            if self.size is not None and value.size != (self.size[1], self.size[0]):
                value = value.resize((self.size[1], self.size[0]))
            array = np.asarray(value)
            # a copy: Pillow's own memory is read-only
            return torch.from_numpy((array[None] if array.ndim == 2 else array.transpose(2, 0, 1)).copy())
        if isinstance(value, np.ndarray | np.generic):
            if value.dtype.kind not in "biufc":
                return as_text(value.tolist())
            array, field = np.asarray(value), self.source.field(name)
            if array.ndim and not array.size and field is not None:  # an empty list says neither dtype nor shape
                return _missing(field) if _is_array(field) and None in field.shape else str(array.tolist())
            if field is not None and field.kind == "image" and array.ndim == 3 and array.shape[2] in (1, 3, 4):
                array = array.transpose(2, 0, 1)
            if field is not None and field.kind == "audio" and array.ndim == 2:
                if array.dtype.kind == "f" and np.dtype(field.dtype).kind != "f" and np.abs(array).max(initial=0) > 1:
                    text = f"its samples reach beyond 1 and do not fit {field.dtype}, which those of most are"
                    raise Unreadable("dtype-drift", text, field=name)
                array = encoded(array, field.dtype)
            if field is not None and field.kind == "mask" and self.size is not None:
                array = nearest(array, self.size)
            if name in self.nullable and field is not None and _is_array(field) and None not in field.shape:
                array = array.astype(_floating(array.dtype), copy=False)
            native = np.array(array, array.dtype.newbyteorder("="), order="C")
            return torch.from_numpy(_supported(self._signed(name, native)))
        return value if isinstance(value, bool | int | float | str | bytes) else as_text(value)

    def _signed(self, name: str, array: Any) -> Any:
        """A number of a class as int64, which losses take; other labels of uint64 too."""
        if name != self.source.label or array.dtype.kind not in "iu":
            return array
        field = self.source.field(name)
        one = field is not None and not field.shape
        return array.astype(np.int64) if one or array.dtype == np.uint64 else array

    def _deep(self, image: Any, dtype: Any) -> torch.Tensor:
        """An image of more than 8 bits, with its values as stored: [channels, height, width]."""
        if self.size is not None and image.size != (self.size[1], self.size[0]):
            pixels = np.asarray(image.convert("F").resize((self.size[1], self.size[0])))
            if dtype.kind != "f":  # interpolation overshoots
                pixels = np.rint(pixels).clip(np.iinfo(dtype).min, np.iinfo(dtype).max)
        else:
            pixels = np.asarray(image)
        if not np.can_cast(pixels.dtype, dtype, "safe") and (pixels.astype(dtype) != pixels).any():
            text = f"its pixels are {pixels.dtype} and do not fit {dtype}, which those of most are"
            raise Unreadable("dtype-drift", text)
        return torch.from_numpy(_supported(np.array(pixels[None], dtype))).repeat(self.channels or 1, 1, 1)


def fields_with_nulls(source: Source) -> set[str]:
    """The fields with missing values; decodes tables once, other formats have none."""
    found = set(source.with_nulls)
    for unit in source.units if source.nullable else ():
        try:
            block = source.decode(unit, source.read(unit))
        except Unreadable:
            continue
        found |= {name for name, column in block.columns.items() if column.nulls is not None and column.nulls.any()}
        found |= {f.name for f in source.fields if f.name not in block.columns}  # a file may lack a column
    return found


def _absent(field: Field, count: int) -> Column:
    """A column without any value."""
    values: Any = np.zeros(count) if _is_number(field) else [None] * count
    return Column(values, np.ones(count, bool))


def _missing(field: Field) -> Any:
    """What stands for a value that is missing: NaN in an array of one shape, an array without length, or an empty text."""
    if not _is_array(field):
        return ""
    if None in field.shape:
        return torch.from_numpy(_supported(np.zeros((0, *(n or 0 for n in field.shape[1:])), field.dtype)))
    return torch.from_numpy(np.full([n or 0 for n in field.shape], np.nan, _floating(np.dtype(field.dtype))))


def _is_number(field: Field) -> bool:
    return not field.shape and field.dtype.startswith(("int", "uint", "float", "bool"))


def _is_array(field: Field) -> bool:
    """Whether the field holds numbers, and several."""
    try:
        return bool(field.shape) and np.dtype(field.dtype).kind in "biufc"
    except TypeError:  # of texts or other objects
        return False


def _floating(dtype: Any) -> Any:
    """A dtype of these numbers that has NaN."""
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


_WIDER = {np.dtype(np.uint16): np.int32, np.dtype(np.uint32): np.int64}
"""Wider dtypes for those that few operations of torch support; of uint64, such as hashes, there is none."""


def _supported(array: Any) -> Any:
    return array.astype(_WIDER.get(array.dtype, array.dtype), copy=False)

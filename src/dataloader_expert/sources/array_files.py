"""Arrays that are a sample each: one file per sample, in folders of splits and classes, with what tables beside them say."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import MOST_CHANNELS, Header, array_field, merge_shapes, modality_of
from dataloader_expert.sources.base import Block, Field, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.samples import FileSamples, spread

HEAD = 70 << 10
"""The first bytes of a file, which hold its header."""


class ArrayFiles(FileSamples):
    """A member defines its ``format``, its ``kinds`` and how a header is parsed."""

    value = "data"
    paired = False

    @staticmethod
    @abstractmethod
    def parse(head: bytes, size: int, file: str) -> tuple[str, tuple[int, ...], bool, int]:
        """Dtype, shape, Fortran order and offset of the payload of a file with these first bytes."""

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls(listing, ref, listing.of(cls.kinds))
        headers: list[Header] = []
        damaged: list[Unreadable] = []
        for unit in spread(source.units, 16):
            try:
                own = unit.bytes - sum(size for *_, size in unit.at)
                dtype, shape, _, _ = cls.parse(listing.head(unit.file, HEAD), own, unit.file)
                headers.append((dtype, shape))
            except Unreadable as problem:
                damaged.append(problem)  # the scan reports the others
        if not headers:
            why = f"no {cls.format.upper()} file could be read ({damaged[0].told()})"
            raise NothingReadable(f"{why}: write them again, or pass another source", damaged)
        data = array_field("data", headers[0][0], merge_shapes([shape for _, shape in headers]))
        source.fields = (data, *source.other_fields())
        source.classes = source.classes or declared_classes(listing)
        if source.modality == "array":
            source.modality = modality_of(source.fields, source.label)
        return source

    def may_belong(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return [entry for entry in entries if entry.kind in self.kinds]

    def _described(self, field: Field) -> Field:
        """The field of a partner, as the headers of some files have it."""
        headers: list[Header] = []
        for path, size in [
            (path, n) for unit in spread(self.units, 16) for name, path, n in unit.at if name == field.name
        ]:
            with contextlib.suppress(Unreadable):  # the scan reports it
                dtype, shape, _, _ = self.parse(self.listing.head(path, HEAD), size, path)
                headers.append((dtype, shape))
        if not headers:
            return field
        found = array_field(field.name, headers[0][0], merge_shapes([shape for _, shape in headers]))
        marks = len(found.shape) > 1 and found.dtype.startswith(("int", "uint", "bool"))
        return replace(found, kind="mask") if marks else found

    def _partner(self, data: bytes, path: str, block: Block, name: str) -> Any:
        value, sample = self._value(data, path), block.columns[self.value].values[0]
        of_mask = any(f.name == name and f.kind == "mask" for f in self.partners)
        if of_mask and value.ndim == sample.ndim and not _fits(value.shape, sample.shape):
            a, b = (" x ".join(map(str, of.shape)) for of in (value, sample))
            block.problems.append(
                Unreadable("length-mismatch", f"{a} values, and its array {b}", file=path, field=name)
            )
        return value

    def _value(self, raw: bytes, file: str) -> Any:
        import numpy as np

        dtype, shape, fortran, at = self.parse(raw[:HEAD], len(raw), file)
        return np.frombuffer(raw, dtype, offset=at).reshape(shape, order="F" if fortran else "C")

    def decode_file(self, unit: Unit, raw: bytes) -> Block:
        return Block(unit, self.with_label(unit, self._value(raw, unit.file)), (raw,))


def _fits(mask: tuple[int, ...], array: tuple[int, ...]) -> bool:
    """Whether they differ in their channels at most, which stand first or last."""
    first = mask[1:] == array[1:] and min(mask[:1] + array[:1], default=0) <= MOST_CHANNELS
    last = mask[:-1] == array[:-1] and min(mask[-1:] + array[-1:], default=0) <= MOST_CHANNELS
    return mask == array or (len(mask) > 2 and (first or last))

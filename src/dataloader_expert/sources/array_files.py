"""Arrays that are a sample each: one file per sample, in folders of splits and classes, with what tables beside them say."""

from __future__ import annotations

from abc import abstractmethod

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import Header, array_field, modality_of
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.bundle import declared_classes, merge_shapes
from dataloader_expert.sources.files import Listing
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
                dtype, shape, _, _ = cls.parse(listing.head(unit.file, HEAD), unit.bytes, unit.file)
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

    def decode_file(self, unit: Unit, raw: bytes) -> Block:
        import numpy as np

        dtype, shape, fortran, at = self.parse(raw[:HEAD], len(raw), unit.file)
        value = np.frombuffer(raw, dtype, offset=at).reshape(shape, order="F" if fortran else "C")
        return Block(unit, self.with_label(unit, value), (raw,))

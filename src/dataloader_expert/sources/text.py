"""Text files: one document a file, ``[split/][class/]name.txt``."""

from __future__ import annotations

from dataloader_expert.errors import Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Field, Source, Unit
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.samples import FileSamples, decode_text


class TextFiles(FileSamples):
    format = "text"
    kinds = frozenset({"text"})
    value = "text"
    modality = "text"

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls(listing, ref, listing.of(cls.kinds))
        source.fields = (Field("text", "text", "str"), *source.other_fields())
        return source

    def decode_file(self, unit: Unit, raw: bytes) -> Block:
        problems: list[Unreadable] = []
        text = decode_text(raw, unit.file, problems)
        return Block(unit, self.with_label(unit, text), (raw,), problems)


SOURCE = TextFiles

"""Text files: one document a file, ``[split/][class/]name.txt``."""

from __future__ import annotations

from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Field, Source, Unit
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.samples import FileSamples


class TextFiles(FileSamples):
    format = "text"
    kinds = frozenset({"text"})
    value = "text"
    modality = "text"

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls(listing, ref, listing.of(cls.kinds))
        source.fields = (Field("text", "text", "str"), *source.label_field())
        return source

    def decode(self, unit: Unit, raw: Any) -> Block:
        problems = []
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as e:
            problems.append(
                Unreadable(
                    "encoding-error", f"not UTF-8 at byte {e.start}: {raw[e.start : e.start + 8]!r}", file=unit.file
                )
            )
            text = raw.decode("utf-8", "replace")
        if "\0" in text:
            raise Unreadable("not-the-format", "holds NUL bytes: not a text", file=unit.file)
        return Block(unit, self.with_label(unit, text), (raw,), problems)


SOURCE = TextFiles

"""Sources whose sample is a file: folders of images, sounds, texts or arrays, with splits and classes by folder."""

from __future__ import annotations

from typing import Any

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Field, Source, Unit
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import empty_class_folders, read_folders


class FileSamples(Source):
    """One sample a file. A member says what a file's value is: ``value_field`` and ``decode``."""

    value = "data"

    def __init__(self, listing: Listing, ref: SourceRef, entries: list[Entry]) -> None:
        super().__init__()
        self.listing = listing
        if not entries:
            raise RequestError("format-unknown", f"no {self.format} files were found; pass format= or another folder")
        paths = [e.path for e in entries]
        splits, labels, names = read_folders(paths)
        if listing.single and len(entries) == 1:
            splits = [None]
        self.problems = [
            Unreadable("empty-class", "a class folder without samples", file=folder)
            for folder in empty_class_folders(listing.folders, labels, paths)
        ]
        self.units = tuple(
            Unit(i, e.path, i, 1, e.size, split, label)
            for i, (e, split, label) in enumerate(zip(entries, splits, labels, strict=True))
        )
        self.files, self.bytes = len(entries), sum(e.size for e in entries)
        self.sharding = "one file per sample"
        if names:
            self.label, self.label_how = "label", "by the folders' names"
            self.classes = tuple(names)

    def label_field(self) -> tuple[Field, ...]:
        return (Field("label", "category", "str"),) if self.label else ()

    def read(self, unit: Unit) -> bytes:
        return self.listing.read(unit.file)

    def with_label(self, unit: Unit, value: Any) -> dict[str, Any]:
        from dataloader_expert.sources.base import Column

        columns = {self.value: Column([value])}
        if self.label:
            columns["label"] = Column([unit.label])
        return columns


def spread(items: list[Entry], most: int) -> list[Entry]:
    """At most ``most`` of the items, evenly spaced."""
    step = max(1, len(items) // most)
    return items[::step][:most]

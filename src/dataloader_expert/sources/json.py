"""JSON: a list of objects, an object of equally long lists, or one key that holds a list of objects."""

from __future__ import annotations

import json as stdlib_json
from typing import Any

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.files import SIDE_FILES, Listing
from dataloader_expert.sources.layout import splits_of_files
from dataloader_expert.sources.lines import MAX_DEPTH, too_deep, utf8
from dataloader_expert.sources.other_tables import LOOKED_AT, Keys, Records, all_aside, of_one_table
from dataloader_expert.sources.plain import flat
from dataloader_expert.sources.records import columns_of_records
from dataloader_expert.sources.tables import Table


class Json(Table):
    format = "json"
    kinds = frozenset({"json"})
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = [e for e in listing.of(cls.kinds) if e.path.rsplit("/", 1)[-1] not in SIDE_FILES or listing.single]
        source = cls()
        source.listing = listing
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        splits = splits_of_files([e.path for e in entries])
        parts: list[Records] = []
        for entry, split in zip(entries, splits, strict=True):
            try:
                records = records_of(listing.read(entry.path), entry.path, [])
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            parts.append(Records(entry.path, split, Keys.of(records[:LOOKED_AT], entry.path), len(records)))
        kept = of_one_table(parts)
        source.problems += all_aside(parts, kept)
        sizes = {entry.path: entry.size for entry in entries}
        units: list[Unit] = []
        start = 0
        for part in kept:
            units.append(Unit(len(units), part.path, start, part.records, sizes[part.path], part.split))
            start += part.records
        if not units:
            why = source.problems[0].told() if source.problems else "no JSON file"
            raise NothingReadable(f"{why}; give a list of objects, JSON lines or another format", source.problems)
        source.units = tuple(units)
        source.describe()
        n = len(entries) - len(parts) + len(kept)
        source.sharding = f"{n} JSON document{'s' * (n != 1)}"
        return source

    def read(self, unit: Unit) -> bytes:
        return self.listing.read(unit.file)

    def decode(self, unit: Unit, raw: Any) -> Block:
        problems: list[Unreadable] = []
        records = records_of(raw, unit.file, problems)
        return self.made(
            Block(unit, columns_of_records(records, self.stored(f.name for f in self.fields)), (), problems)
        )


def records_of(data: bytes, file: str, problems: list[Unreadable]) -> list[dict[str, Any]]:
    """The objects of a JSON document.

    Raises:
        Unreadable: ``bomb`` if it nests too deeply, ``parse-error`` if it is not JSON or contains no list of objects.
    """
    if too_deep(data):
        raise Unreadable("bomb", f"nested deeper than {MAX_DEPTH}", file=file)
    try:
        document: Any = stdlib_json.loads(utf8(data, file, problems))
    except (ValueError, RecursionError) as e:
        raise Unreadable("parse-error", f"not JSON: {str(e)[:100]}", file=file) from None
    if isinstance(document, dict) and {"images", "annotations"} <= set(document):
        raise Unreadable(
            "not-the-format", "COCO annotations without their images: name the folder that holds both", file=file
        )
    if isinstance(document, dict):
        lists = {k: v for k, v in document.items() if isinstance(v, list)}
        if lists and len({len(v) for v in lists.values()}) == 1 and len(lists) == len(document):
            document = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        elif len(lists) == 1:
            document = next(iter(lists.values()))
    if not isinstance(document, list) or not document or not all(isinstance(r, dict) for r in document):
        raise Unreadable("parse-error", "contains no list of objects", file=file)
    return flat(document)


SOURCE = Json

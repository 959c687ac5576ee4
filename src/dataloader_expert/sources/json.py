"""JSON: a list of objects, an object of equally long lists, or one key that holds a list of objects."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.files import SIDE_FILES, Listing
from dataloader_expert.sources.json_records import records_of
from dataloader_expert.sources.layout import splits_of_files
from dataloader_expert.sources.other_tables import LOOKED_AT, Keys, Records, all_aside, of_one_table
from dataloader_expert.sources.records import columns_of_records
from dataloader_expert.sources.row_lists import DIVISION, divided, row_lists
from dataloader_expert.sources.tables import Table


class Json(Table):
    format = "json"
    kinds = frozenset({"json"})
    listing: Listing
    inside: tuple[tuple[str | None, int], ...] = ()
    """The splits that keys of the only document name, in order, with their samples; empty: no key does."""

    beside: Collection[str] = ()
    """The lists beside the document that divide its records."""
    divided: list[str | None] | None = None
    """The split of each record, as lists beside the document tell; None: there are none."""

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
            if len(entries) == 1 and (told := divided(listing, records)) is not None:
                source.beside = {*(row_lists(listing.entries) or ())}
                source.divided, records = told, [{**records[0], DIVISION: told[0]}, *records[1:]]
            parts.append(Records(entry.path, split, Keys.of(records[:LOOKED_AT], entry.path), len(records)))
            if len(entries) == 1:
                source.inside = splits_in(records)
        kept = of_one_table(parts)
        source.problems += all_aside(parts, kept)
        sizes = {entry.path: entry.size for entry in entries}
        units: list[Unit] = []
        start = 0
        for part in kept:
            for split, n in source.inside or ((part.split, part.records),):
                size = sizes[part.path] * n // part.records
                units.append(Unit(len(units), part.path, start, n, size, split or part.split, None, (start,)))
                start += n
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
        if self.divided is not None:
            records = [{**record, DIVISION: of} for record, of in zip(records, self.divided, strict=False)]
        records = records[unit.at[0] : unit.at[0] + unit.samples] if self.inside else records
        names = self.stored(f.name for f in self.fields)
        return self.made(Block(unit, columns_of_records(records, names, self.fields), (), problems))


def splits_in(records: list[dict[str, Any]]) -> tuple[tuple[str | None, int], ...]:
    """The splits of records, run by run, with the records of each; none if no key names a split."""
    runs = itertools.groupby(getattr(record, "split", None) for record in records)
    found = tuple((split, sum(1 for _ in of)) for split, of in runs)
    return found if any(split is not None for split, _ in found) else ()


SOURCE = Json

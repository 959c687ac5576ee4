"""JSON: a list of objects, an object of equally long lists, or one key that holds a list of objects."""

from __future__ import annotations

import itertools
import json as stdlib_json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.files import SIDE_FILES, Entry, Listing
from dataloader_expert.sources.layout import split_in_name, splits_of_files
from dataloader_expert.sources.lines import MAX_DEPTH, too_deep, utf8
from dataloader_expert.sources.other_tables import LOOKED_AT, NEARLY_ALL, Keys, Records, all_aside, of_one_table
from dataloader_expert.sources.plain import flat
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
        return self.made(Block(unit, columns_of_records(records, names), (), problems))


def divided_by_lists(listing: Listing, entries: Sequence[Entry]) -> bool:
    """Whether the texts among these files are lists that name the rows of the one JSON document beside them."""
    if row_lists(entries) is None:
        return False
    [document] = [e for e in entries if e.kind == "json"]
    try:
        return divided(listing, records_of(listing.read(document.path), document.path, [])) is not None
    except Unreadable:
        return False  # the reader tells it


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
        objects = len(lists) == 1 and all(isinstance(one, dict) for one in next(iter(lists.values())))
        if lists and len({*map(len, lists.values())}) == 1 and len(lists) == len(document) and not objects:
            document = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        elif len(lists) == 1:
            document = next(iter(lists.values()))
    if isinstance(document, dict):
        document = _of_splits(document) or _by_key(document)
    if not isinstance(document, list) or not document or not all(isinstance(r, dict) for r in document):
        raise Unreadable("parse-error", "contains no list of objects", file=file)
    return flat(document)


class InSplit(dict[str, Any]):
    """A record, and the split that a key around it names."""

    split: str | None = None


def _of_splits(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The records of ``{"train": [...], "test": [...]}``: objects, or rows of equally many values, which are called after their places."""
    lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
    splits = {key: split_in_name(key) for key in lists}
    rows = [row for of in lists.values() for row in of]
    if len({*splits.values()}) < 2 or None in splits.values() or any(isinstance(v, dict) for v in document.values()):
        return None
    widths = {len(row) if isinstance(row, list) else 0 for row in rows}
    if not all(isinstance(row, dict) for row in rows) and (len(widths) > 1 or widths <= {0, 1}):
        return None
    found: list[dict[str, Any]] = []
    for key, of in lists.items():
        for row in of:
            record = InSplit(row if isinstance(row, dict) else {f"f{i}": value for i, value in enumerate(row)})
            record.split = splits[key]
            found.append(record)
    return found


def _by_key(document: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The records of ``{"17": {...}, "23": {...}}``, with their keys as ``id`` where they have none."""
    records = list(document.values())
    if len(records) < 2 or not all(isinstance(record, dict) and record for record in records):
        return None
    kinds = Counter(frozenset(record) for record in records)
    if kinds.most_common(1)[0][1] < NEARLY_ALL * len(records):
        return None
    named = any("id" in record for record in records)
    return [record if named else {"id": key, **record} for key, record in document.items()]


def splits_in(records: list[dict[str, Any]]) -> tuple[tuple[str | None, int], ...]:
    """The splits of records, run by run, with the records of each; none if no key names a split."""
    runs = itertools.groupby(getattr(record, "split", None) for record in records)
    found = tuple((split, sum(1 for _ in of)) for split, of in runs)
    return found if any(split is not None for split, _ in found) else ()


SOURCE = Json

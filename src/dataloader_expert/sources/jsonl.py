"""JSON lines: one object per line, parsed strictly; a unit is a run of lines."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Iterator
from typing import Any

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.layout import splits_of_files
from dataloader_expert.sources.lines import MAX_DEPTH, Range, byte_order_mark, record_ranges, too_deep, utf8
from dataloader_expert.sources.other_tables import LOOKED_AT, Keys, Records, all_aside, of_one_table
from dataloader_expert.sources.records import columns_of_records
from dataloader_expert.sources.tables import Table

HEAD = 1 << 18
"""The first bytes of a file, which tell the keys of its records."""
FEWEST = 50
"""Records of each file, at least, that tell them; of many files no more."""
AT_ONCE = 64
"""Lines that are parsed in one go."""


class Jsonl(Table):
    format = "jsonl"
    kinds = frozenset({"jsonl"})
    in_shards = True
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = [e for e in listing.of(cls.kinds) if e.size]
        source = cls()
        source.listing = listing
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        splits = splits_of_files([e.path for e in entries])
        ranges: dict[str, list[Range]] = {}
        parts: list[Records] = []
        for entry, split in zip(entries, splits, strict=True):
            try:
                found = record_ranges(listing, entry.path, False, byte_order_mark(listing, entry.path))
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            ranges[entry.path] = found
            keys = (
                _keys(listing, entry.path, max(FEWEST, LOOKED_AT // len(entries)))
                if len(entries) > 1
                else Keys((), frozenset())
            )
            parts.append(Records(entry.path, split, keys, sum(records for _, _, records in found)))
        kept = of_one_table(parts)
        source.problems += all_aside(parts, kept)
        units: list[Unit] = []
        start = 0
        for part in kept:
            for lo, hi, records in ranges[part.path]:
                units.append(Unit(len(units), part.path, start, records, hi - lo, part.split, None, (lo, hi)))
                start += records
        if not units:
            raise NothingReadable("no JSON lines; give a file with one object per line", source.problems)
        source.units = tuple(units)
        source.describe()
        source.classes = source.fitting(declared_classes(listing))
        n = len(entries) - len(parts) + len(kept)
        source.sharding = f"{n} file{'s' * (n != 1)}, one object per line"
        return source

    def read(self, unit: Unit) -> bytes:
        return self.listing.span(unit.file, *unit.at)

    def decode(self, unit: Unit, raw: Any) -> Block:
        import numpy as np

        problems: list[Unreadable] = []
        records: list[dict[str, Any]] = []
        rows: list[int] = []
        parser = Parser()
        sample = unit.start
        for line, found in parser.each(utf8(raw, unit.file, problems, unit.start).removesuffix(b"\n").split(b"\n")):
            if found is None and not line.strip():
                continue
            record = found or parse_record(line, unit.file, sample, problems, parser)
            if record is not None:
                records.append(record)
                rows.append(sample - unit.start)
            sample += 1
        if not records and problems and unit.at[0] > 3:  # what stands before it in the file is lines of JSON
            raise problems[0]
        if not records:
            raise Unreadable("not-the-format", "no line is a JSON object", file=unit.file)
        kept = np.array(rows, np.int64) if len(rows) < unit.samples else None
        columns = columns_of_records(records, self.stored(f.name for f in self.fields), self.fields)
        return self.made(Block(unit, columns, (), problems, rows=kept))


def _keys(listing: Listing, path: str, most: int) -> Keys:
    """The keys of the first records of a file, ``most`` at most; none if no record is whole."""
    lines = listing.head(path, HEAD).removeprefix(b"\xef\xbb\xbf").split(b"\n")[:most]
    parser = Parser()
    records = [parse_record(line, path, 0, [], parser) for line in lines if line.strip()]
    return Keys.of((record for record in records if record is not None), path)


class Parser:
    """Parses one record after another: a decoder for each would take as long as the record."""

    def __init__(self) -> None:
        self.twice: list[str] = []
        """Keys that stand twice in an object of the last record."""
        self._decoder = json.JSONDecoder(object_pairs_hook=self._pairs)
        self._mark = secrets.token_hex(8)
        """What stands between lines that are parsed in one go: no line holds it, and so none goes on in the next."""
        self._between = f',\n"{self._mark}",\n'.encode()

    def parsed(self, line: bytes) -> Any:
        """Raises: ValueError: if the line is not JSON."""
        self.twice = []
        if b"\0" in line or line.startswith(b"\xef\xbb\xbf"):  # maybe in another encoding, which json looks for
            return json.loads(line, object_pairs_hook=self._pairs)
        return self._decoder.decode(line.decode("utf-8"))

    def each(self, lines: list[bytes]) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
        """Lines of UTF-8, each with its object; None where there may be something wrong with it or its neighbours."""
        for first in range(0, len(lines), AT_ONCE):
            some = lines[first : first + AT_ONCE]
            yield from zip(some, self._objects(some) or itertools.repeat(None), strict=False)

    def _objects(self, lines: list[bytes]) -> list[dict[str, Any]] | None:
        """The objects of lines, parsed in one go, which takes half as long; None unless each line holds one with nothing odd about it."""
        data = self._between.join(lines)
        deep = data.count(b"[") + data.count(b"{") > MAX_DEPTH and any(map(too_deep, lines))
        if deep or b"\0" in data or (b"\\u" in data and b"\\ud" in data.lower()):
            return None
        self.twice = []
        try:
            found = self._decoder.decode(f"[{data.decode('utf-8')}]")
        except (ValueError, RecursionError):
            return None
        objects = found[::2]
        apart = len(objects) == len(lines) and found[1::2] == [self._mark] * (len(lines) - 1)
        return objects if apart and not self.twice and set(map(type, objects)) == {dict} else None

    def _pairs(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            self.twice.append(next(k for i, (k, _) in enumerate(items) if k in dict(items[:i])))
        return made


def parse_record(
    line: bytes, file: str, sample: int, problems: list[Unreadable], parser: Parser | None = None
) -> dict[str, Any] | None:
    """The object of one line; None and a problem if it is not one. ``parser``: the one of the lines before."""
    if too_deep(line):
        problems.append(Unreadable("bomb", f"nested deeper than {MAX_DEPTH}", file=file, sample=sample))
        return None
    parser = parser or Parser()
    try:
        record = parser.parsed(line)
    except (ValueError, RecursionError) as e:
        problems.append(Unreadable("parse-error", f"not JSON: {str(e)[:100]}", file=file, sample=sample))
        return None
    if b"\\ud" in line.lower() and _half_characters(record):
        problems.append(Unreadable("encoding-error", "a lone surrogate", file=file, sample=sample))
    if parser.twice:
        problems.append(Unreadable("duplicate-keys", f"key {parser.twice[0]!r} twice", file=file, sample=sample))
    if not isinstance(record, dict):
        problems.append(
            Unreadable("parse-error", f"a {type(record).__name__}, not an object", file=file, sample=sample)
        )
        return None
    return record


def _half_characters(value: Any) -> bool:
    """Whether texts in a record contain lone surrogates, which are not characters."""
    if isinstance(value, dict):
        return any(map(_half_characters, (*value, *value.values())))
    if isinstance(value, list):
        return any(map(_half_characters, value))
    return isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value)


SOURCE = Jsonl

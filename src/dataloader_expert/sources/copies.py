"""Files that add nothing: byte-identical copies of another file, and files without samples."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict

from dataloader_expert.errors import Aside, Unreadable
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.files import Entry, Listing

ENDS = 64 << 10
"""Bytes at each end that are compared before whole files."""


_PART = re.compile(r"(?:^|/)part(?:-\d{5}|\.\d+\.)|-\d{5}-of-\d{5}")
"""How writers of many parts name them: Spark, Dask and those of shards. Other numbers may be years or folds, which nobody leaves empty."""
MOST = 2 << 30
"""Bytes that may be read to compare whole files. Files beyond that are not called copies; their samples are compared anyway."""


def copied_files(listing: Listing, entries: list[Entry]) -> dict[str, str]:
    """Files that equal an earlier one, with that one. Only files of the same size with equal ends are read completely."""
    sizes: defaultdict[int, list[str]] = defaultdict(list)
    found: dict[str, str] = {}
    links: dict[tuple[int, int], str] = {}
    left = MOST
    for entry in entries:
        known = _linked(listing, entry.path, links)
        if known is not None:
            found[entry.path] = known
        elif entry.size:
            sizes[entry.size].append(entry.path)
    for size, paths in sizes.items():
        if len(paths) < 2:
            continue
        for alike in _groups(listing, paths, [(0, min(ENDS, size)), (max(0, size - ENDS), size)]):
            alike = alike[: left // size]
            left -= len(alike) * size
            spans = [(at, min(at + (8 << 20), size)) for at in range(0, size, 8 << 20)]
            for same in _groups(listing, alike, spans):
                found |= dict.fromkeys(same[1:], same[0])
    return found


def _linked(listing: Listing, path: str, links: dict[tuple[int, int], str]) -> str | None:
    """An earlier path to the same file; None if there is none."""
    try:
        there = (listing.base / path).stat()
    except OSError:
        return None  # the scan reports it
    first = links.setdefault((there.st_dev, there.st_ino), path)
    return None if first == path else first


def _groups(listing: Listing, paths: list[str], spans: list[tuple[int, int]]) -> list[list[str]]:
    """Groups of two or more files that agree in these spans."""
    alike: defaultdict[bytes, list[str]] = defaultdict(list)
    for path in paths:
        digest = hashlib.blake2b(digest_size=16)
        try:
            for start, end in spans:
                digest.update(listing.span(path, start, end))
        except Unreadable:
            continue  # the scan reports it
        alike[digest.digest()].append(path)
    return [same for same in alike.values() if len(same) > 1]


def without_numbers(path: str) -> str | None:
    """The path with a sign in place of each number; None of one without."""
    form, n = re.subn(r"\d+", "#", path)
    return form if n else None


def idle_files(source: Source, listing: Listing, entries: list[Entry]) -> list[Unreadable]:
    """Problems for shards that repeat another one or contain no samples."""
    if not any(unit.samples > 1 for unit in source.units):
        return []  # a file is a sample here, and checks compare samples
    filled = {unit.file for unit in source.units if unit.samples} | getattr(source, "aligned", frozenset())
    told = {str(problem.where.get("file")) for problem in (*source.problems, *listing.problems)}
    empty = (
        []
        if not source.in_shards
        else [e.path for e in entries if e.path not in filled and e.path not in told and e.size]
    )
    numbered = {without_numbers(path) for path in filled} - {None}
    problems: list[Unreadable] = [
        Aside("note", "is a part without rows, such as a writer leaves when it received none", file=path)
        if _PART.search(path) and without_numbers(path) in numbered
        else Unreadable("empty-file", "contains no sample", file=path)
        for path in empty
    ]
    copies = copied_files(listing, entries)
    source.copies = {path for path in copies if path in filled}
    problems += [
        Unreadable("duplicate-files", f"is a byte-for-byte copy of {original}", file=path)
        for path, original in copies.items()
        if path in filled
    ]
    return problems

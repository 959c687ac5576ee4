"""Lists that divide the rows of a JSON document: a text file for each split, with a row's number or key in each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Entry, Listing, is_beside
from dataloader_expert.sources.layout import split_in_name

FEWEST = 5
"""The fewest rows of a split that a list names: fewer lines may be anything."""
MOST_BYTES = 1 << 28
"""The largest document that is read to see whether lists name its rows."""
DIVISION = "split"
"""The field that says in which split the lists have a row."""
Lists = Mapping[str, Sequence[str]]


def row_lists(entries: Sequence[Entry]) -> dict[str, str | None] | None:
    """The lists among these files and the split of each, where they name rows of the one JSON document beside them; None where they do
    not."""
    texts = [e for e in entries if e.kind == "text" and not is_beside(e.path)]
    others = [e for e in entries if e.kind != "text" and not is_beside(e.path)]
    if not texts or [e.kind for e in others] != ["json"] or sum(e.size for e in (*texts, *others)) > MOST_BYTES:
        return None
    splits = {e.path: split_in_name(e.path.rpartition("/")[2]) for e in texts}
    return splits if None not in splits.values() and len({*splits.values()}) == len(texts) else None


def divided(listing: Listing, records: Sequence[Mapping[str, Any]]) -> list[str | None] | None:
    """The split of each record by the lists beside their document, those in no list for training where none names it; None where there
    are no lists of them."""
    splits = row_lists(listing.entries)
    if splits is None or any(DIVISION in record for record in records[:FEWEST]):
        return None
    found: dict[int, str | None] = {}
    try:
        lines = {path: listing.read(path).decode("utf-8", "replace").split() for path in splits}
    except Unreadable:
        return None  # it is told elsewhere
    named = [line for of in lines.values() for line in of]
    rows = _rows({*named}, records)
    if rows is None or len({*named}) < len(named) or min(map(len, lines.values())) < FEWEST:
        return None
    for path, of in lines.items():
        found |= {rows[line]: splits[path] for line in of}
    rest = None if "train" in splits.values() else "train"
    return [found.get(i, rest) for i in range(len(records))]


def _rows(named: set[str], records: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    """The row of each of these lines, which are all keys of rows or all their numbers, from 0 or from 1 on."""
    keys = {str(record.get("id")): i for i, record in enumerate(records)}
    if len(keys) == len(records) and named <= keys.keys():
        return keys
    numbers = {line: int(line) for line in named if line.isascii() and line.isdecimal() and len(line) < 19}
    known = {*numbers.values()}
    if not named or len(numbers) < len(named) or len(known) < len(named):
        return None
    first = 0 if 0 in known else 1 if max(known) == len(records) else None  # else nothing tells where they begin
    if first is None or max(known) >= len(records) + first:
        return None
    return {line: number - first for line, number in numbers.items()}

"""Lists of splits in one JSON file: ``{"train": ["0007", "0012"], "test": ["0003"]}``, beside the files that they name; and rows of one file, such as
the captions of an image, that a table deals out to several splits."""

from __future__ import annotations

import json
import re
from collections import Counter
from weakref import WeakKeyDictionary

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, NEARLY_ALL, ODD, Annotations, Names, Row, folder_of
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.roles import SPLIT_NAMES, words

MOST_BYTES, HEAD = 1 << 26, 512
_KNOWN: WeakKeyDictionary[Listing, dict[str, dict[str, list[str]]]] = WeakKeyDictionary()
_BEGINS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"[^"]*"\s*:\s*\[\s*"')


def join_divided(found: Annotations, listing: Listing, paths: list[str]) -> None:
    entries = [e for e in listing.entries if e.kind == "json" and e.size <= MOST_BYTES]
    files: Names | None = None
    for entry in entries if not found.lists else ():
        lists = lists_of_splits(listing, entry)
        if not lists:
            continue
        files = files or Names(paths)
        named = {
            split: [(name, files.meant(name, folder_of(entry.path))) for name in of] for split, of in lists.items()
        }
        there = [path for of in named.values() for _, path in of if path is not None]
        if len(there) < NEARLY_ALL * sum(map(len, named.values())):
            continue
        for split, of in named.items():
            found.divide(split, [path for _, path in of if path is not None])
        lost = Counter(name for of in named.values() for name, path in of if path is None)
        for name in [*lost][:MOST_TOLD]:
            text = f"names {escaped(name, 80)}, which is not there"
            found.problems.append(Unreadable("dangling-reference", text, file=entry.path))
        found.lists.append(entry.path)
        found.tables.append(entry.path)
        return


def lists_of_splits(listing: Listing, entry: Entry) -> dict[str, list[str]]:
    """The names of each split; empty of other files. What a file says is kept with the listing, as there may be one for each sample."""
    known = _KNOWN.setdefault(listing, {})
    if entry.path not in known:
        known[entry.path] = _read(listing, entry)
    return known[entry.path]


def _read(listing: Listing, entry: Entry) -> dict[str, list[str]]:
    try:
        held = json.loads(listing.read(entry.path)) if _BEGINS.match(listing.head(entry.path, HEAD)) else None
    except ODD:
        return {}
    if not isinstance(held, dict) or not all(isinstance(v, str) for of in held.values() for v in of or ()):
        return {}
    splits = {key: split_in_name(key) for key in held}
    divided = len(held) > 1 and None not in splits.values() and len({*splits.values()}) == len(held)
    return {str(splits[key]): of for key, of in held.items()} if divided else {}


def one_split_each(grouped: dict[str, list[Row]], field: str, table: str) -> list[Unreadable]:
    """Leaves all rows of a file in the split of the first, if the field names splits; and tells the files that have rows in several."""
    told = {path: [row[field] for row in rows if row.get(field) is not None] for path, rows in grouped.items()}
    distinct = {value if isinstance(value, str) else None for values in told.values() for value in values}
    if not {*words(field)} & SPLIT_NAMES or any(v is None or split_in_name(v) is None for v in distinct):
        return []
    problems: list[Unreadable] = []
    for path, values in told.items():
        splits = [*dict.fromkeys(str(split_in_name(value)) for value in values)]
        if len(splits) > 1:
            grouped[path] = [{**row, field: values[0]} for row in grouped[path]]
            text = f"its rows in {escaped(table)} belong to {', '.join(splits[:-1])} and {splits[-1]}; the split of the first row is used"
            problems.append(Unreadable("splits-overlap", text, file=path))
    return problems[:MOST_TOLD]

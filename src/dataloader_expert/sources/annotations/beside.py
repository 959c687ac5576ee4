"""A JSON file for each sample, called after it, with an object that says what the sample is: ``INV-1.json`` of ``INV-1.png``."""

from __future__ import annotations

import json
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.objects import folded
from dataloader_expert.sources.annotations.record import MOST_TOLD, NEARLY_ALL, ODD, Annotations, Names, Row
from dataloader_expert.sources.files import Entry, Listing, is_about

KIND = "json beside"
FILE = "file of the sample"
"""The column that stands for the sample itself."""
MOST_BYTES = 1 << 22
"""The largest such file."""


def join_beside(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """The files that no other reader has taken, if most samples have one and nearly all hold an object with keys in common."""
    taken = {*found.tables}
    kinds = ("json", "jsonl")  # an object in one line, in a text, passes for lines
    texts = [e for e in listing.entries if e.kind in kinds and e.path not in taken and not is_about(e.path)]
    if 2 * len(texts) < len(paths):
        return
    files = Names(paths)
    held: dict[str, Entry] = {}
    for entry in texts:
        if 0 < entry.size <= MOST_BYTES and (path := files.beside(entry.path)) is not None:
            held.setdefault(path, entry)
    if not held or 2 * len(held) < len(paths):
        return
    rows: list[Row] = []
    wrong: list[Unreadable] = []
    for path, entry in held.items():
        try:
            rows.append({FILE: path, **_flat(json.loads(listing.read(entry.path, MOST_BYTES)))})
        except ODD as e:
            wrong.append(Unreadable("parse-error", f"is not a JSON object: {escaped(e, 80)}", file=entry.path))
    shared = set[str].intersection(*({*row} for row in rows)) - {FILE} if rows else set[str]()
    if len(rows) < NEARLY_ALL * len(held) or not shared:
        return
    made = folded(rows, FILE)
    for row in made.rows:
        found.add(row[FILE], {name: value for name, value in row.items() if name != FILE})
    found.objects, found.corners = found.objects or made.objects, found.corners and made.corners
    found.tables += [entry.path for entry in held.values()]
    found.each[KIND] = {path: entry.path for path, entry in held.items()}
    found.problems += wrong[:MOST_TOLD]


def _flat(held: Any) -> Row:
    """The members of an object, those of objects within it under the names of both.

    Raises:
        TypeError: if it is no object.
    """
    if not isinstance(held, dict):
        raise TypeError(f"a {type(held).__name__} and no object")
    return {
        name: value
        for key, one in held.items()
        for name, value in ({f"{key}.{k}": v for k, v in one.items()} if isinstance(one, dict) else {key: one}).items()
    }

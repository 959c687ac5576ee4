"""The records of a JSON document, and whether lists beside it divide them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.lines import MAX_DEPTH, too_deep, utf8
from dataloader_expert.sources.other_tables import NEARLY_ALL
from dataloader_expert.sources.plain import flat
from dataloader_expert.sources.row_lists import divided, row_lists


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
        document: Any = json.loads(utf8(data, file, problems))
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

"""Lists that divide the rows of a table by their keys: ``{"train": ["c1", "c2"], "test": ["c3"]}`` in a file of JSON beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.annotations.divided import MOST_BYTES, lists_of_splits
from dataloader_expert.sources.answer_files import Answers
from dataloader_expert.sources.base import Column
from dataloader_expert.sources.csv_parts import Part
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.links import MOSTLY
from dataloader_expert.sources.row_lists import DIVISION
from dataloader_expert.sources.sample_table import small
from dataloader_expert.sources.targets import plain_values


def division_by_keys(
    listing: Listing, parts: Sequence[Part], read: Callable[[Part], Mapping[str, Column]]
) -> Answers | None:
    """The split of each row whose key a list names, as a further file of columns; None where no file lists the keys of rows.

    Args:
        parts: the files of the table, of which none tells a split.
        read: gives all values of a file.
    """
    if not parts or any(part.split is not None or DIVISION in part.names for part in parts) or not small(parts):
        return None
    for entry in listing.entries:
        lists = lists_of_splits(listing, entry) if entry.kind == "json" and entry.size <= MOST_BYTES else {}
        split = {name: of for of, names in lists.items() for name in names}
        if not split or len(split) < sum(map(len, lists.values())):
            continue
        try:
            values = [read(part) for part in parts]
        except Unreadable:
            return None  # the scan reports it
        for name in parts[0].names:
            keys: list[Any] = [key for of in values if name in of for key in plain_values(of[name])]
            rows = [key for key in keys if str(key) in split]
            if len({*map(str, keys)}) == len(keys) and len(rows) >= MOSTLY * len(split):
                told = {DIVISION: Column([split[str(key)] for key in rows])}
                return Answers(entry.path, told, name, {key: i for i, key in enumerate(rows)}, plain=False)
    return None

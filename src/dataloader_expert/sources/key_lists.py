"""Lists that divide the rows of a table by their keys: ``{"train": ["c1", "c2"], "test": ["c3"]}`` in a file of JSON beside it, or
``train_ids.txt`` and ``test_ids.txt`` with a key in each line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.annotations.divided import MOST_BYTES, lists_of_splits
from dataloader_expert.sources.answer_files import Answered, Answers, File
from dataloader_expert.sources.base import Column
from dataloader_expert.sources.files import Entry, Listing, is_beside
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.links import MOSTLY
from dataloader_expert.sources.row_lists import DIVISION
from dataloader_expert.sources.sample_table import small
from dataloader_expert.sources.targets import plain_values

FEWEST, HEAD = 2, 1 << 12
"""The fewest lists of keys, and the bytes of a file that tell that it is one."""


P = TypeVar("P", bound=File)


def text_lists(listing: Listing, entries: Iterable[Entry]) -> dict[str, str]:
    """The texts that may each be the list of one split, by their names and as each of their first lines is one word; empty where some
    are not."""
    texts = [e for e in entries if e.kind == "text" and not is_beside(e.path)]
    splits = {e.path: split for e in texts if (split := split_in_name(e.path.rpartition("/")[2])) is not None}
    if len(texts) < FEWEST or len({*splits.values()}) < len(texts) or max(e.size for e in texts) > MOST_BYTES:
        return {}
    try:
        heads = [listing.head(path, HEAD).decode("utf-8", "replace").splitlines() for path in splits]
    except Unreadable:
        return {}  # it is told elsewhere
    return splits if all(lines and all(len(line.split()) < 2 for line in lines) for lines in heads) else {}


def _lists(listing: Listing) -> Iterator[tuple[tuple[str, ...], Mapping[str, Sequence[str]]]]:
    """Files that list names by split, and the names."""
    for entry in listing.entries:
        if entry.kind == "json" and entry.size <= MOST_BYTES and (lists := lists_of_splits(listing, entry)):
            yield (entry.path,), lists
    texts = text_lists(listing, listing.entries)
    if texts:
        yield (*texts,), {of: listing.read(path).decode("utf-8-sig", "replace").split() for path, of in texts.items()}


def division_by_keys(
    listing: Listing, parts: Sequence[P], read: Callable[[P], Mapping[str, Column]]
) -> tuple[Answers, tuple[str, ...]] | None:
    """The split of each row whose key a list names, as a further file of columns, and the files of the lists; None where none lists the
    keys of rows.

    Args:
        parts: the files of the table, of which none tells a split.
        read: gives all values of a file.
    """
    if not parts or any(part.split is not None or DIVISION in part.names for part in parts) or not small(parts):
        return None
    try:
        for paths, lists in _lists(listing):
            split = {name: of for of, names in lists.items() for name in names}
            if not split or len(split) < sum(map(len, lists.values())):
                continue
            values = [read(part) for part in parts]
            for name in parts[0].names:
                keys: list[Any] = [key for of in values if name in of for key in plain_values(of[name])]
                rows = [key for key in keys if str(key) in split]
                if len({*map(str, keys)}) == len(keys) and len(rows) >= MOSTLY * len(split):
                    told = {DIVISION: Column([split[str(key)] for key in rows])}
                    at = {key: i for i, key in enumerate(rows)}
                    return Answers(paths[0], told, name, at, plain=False), paths
    except Unreadable:
        return None  # the scan reports it
    return None


def divide(source: Answered[P], parts: Sequence[P], read: Callable[[P], Mapping[str, Column]]) -> None:
    """Gives the rows of a table the splits that lists of their keys tell."""
    found = division_by_keys(source.listing, parts, read)
    if found is None:
        return
    division, lists = found
    source.divided_by = frozenset(lists)
    for part in parts:
        source.answers.setdefault(part.path, []).append(division)

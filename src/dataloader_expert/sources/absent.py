"""What is missing according to the data set's own layout: class folders without samples, shards of a series."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.layout import empty_class_folders

_NUMBERED = re.compile(r"(.*?)(\d{2,})(-of-(\d{2,}))?(\D*)\Z")
MOST_LISTED = 1000


def absent_parts(
    source: Source, listing: Listing, paths: Sequence[str], company: Collection[str] = ()
) -> list[Unreadable]:
    """``paths``: the data files, read or not, since an unreadable file is not absent. ``company``: files of other kinds."""
    read = [unit.file for unit in source.units]
    beside = [*getattr(source, "beside", ()), *company]  # a folder of masks is not empty
    other = Counter((e.path.rpartition("/")[0], e.kind) for e in listing.entries if e.size and e.kind is not None)
    filled = {folder for (folder, _), n in other.items() if n > 1}  # with files of another kind, such as transcripts
    labels = [None if unit.label is None else str(unit.label) for unit in source.units]
    found = [
        Unreadable("empty-class", "a class folder without samples", file=folder)
        for folder in empty_class_folders(listing.folders, labels, read)
        if not any(path.startswith(f"{folder}/") for path in beside) and folder not in filled
    ]
    if source.in_shards and sum(unit.samples for unit in source.units) > 2 * len(set(read)):  # a file is not a sample
        found += [
            Unreadable("missing-shard", "is missing from its series of numbers", file=name)
            for name in missing_shards(paths)
        ]
    return found


def missing_shards(paths: Iterable[str]) -> list[str]:
    """Names missing from a series: one of ``train-00003-of-00010``, or a number between 0 or 1 and the last one.

    Names of a series differ in one number of fixed width. A series that begins at another number counts something else,
    such as years. One that was dealt out to folders, each number to one of them, lacks what is in none.
    """
    series: dict[tuple[str, str, str, int], set[int]] = {}
    for path in paths:
        match = _NUMBERED.fullmatch(path)
        if match is not None:
            head, number, of, _, tail = match.groups()
            series.setdefault((head, of or "", tail, len(number)), set()).add(int(number))
    dealt: dict[tuple[str, ...], list[set[int]]] = {}
    for (head, of, tail, width), there in series.items():
        dealt.setdefault((head.rpartition("/")[2], of, tail, str(width)), []).append(there)
    absent = []
    for (head, of, tail, width), there in series.items():
        first, total = min(there), int(of.removeprefix("-of-")) if of else 0
        if total:
            due = range(total) if max(there) < total else range(1, total + 1)
        elif first > 1 or len(there) < 3:
            continue
        else:
            due = range(first, max(there) + 1)
        if len(due) > 2 * len(there):
            continue  # most are missing: a part was taken on purpose
        parts = dealt[head.rpartition("/")[2], of, tail, str(width)]
        anywhere = set[int]().union(*parts)
        if len(anywhere) < sum(map(len, parts)):
            anywhere = there  # numbers begin anew in each folder
        absent += [f"{head}{n:0{width}}{of}{tail}" for n in due if n not in anywhere][:MOST_LISTED]
    return absent

"""Text files of which each line is a field of a sample: ``train/seq.in``, ``train/seq.out`` and ``train/label``, ``src-train.txt`` and
``tgt-train.txt``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import SPLITS, split_in_name, split_of_folder, tokens

MOST_ROLES = 8
"""More files of a split are rather documents."""
CHUNK = 1 << 22


@dataclass(frozen=True)
class Parallel:
    """``names``: of the fields; ``groups``: of each split the files in their order."""

    names: tuple[str, ...]
    groups: list[list[Entry]]


def parallel_files(listing: Listing, entries: Sequence[Entry]) -> Parallel | None:
    """The files of each split, if these are called alike in every split, are equally long in each, and longer in one than in another;
    None of others."""
    found: dict[str, dict[tuple[str, ...], Entry]] = {}
    for entry in entries:
        split, role = _place_of(entry.path)
        if split is None or not role:
            continue
        if found.setdefault(split, {}).setdefault(role, entry) is not entry:
            return None
    roles = {frozenset(of) for of in found.values()}
    if len(found) < 2 or len(roles) != 1 or not 1 < len(next(iter(roles))) <= MOST_ROLES:
        return None
    if 2 * sum(map(len, found.values())) <= len(entries):
        return None
    counts = [{_lines_in(listing, entry) for entry in of.values()} for of in found.values()]
    if any(len(of) > 1 for of in counts) or len({*map(min, counts)}) < 2 or min(map(min, counts)) < 2:
        return None
    size = {role: sum(of[role].size for of in found.values()) for role in next(iter(roles))}
    order = sorted(size, key=lambda role: (-size[role], role))  # what is said of a text is shorter
    return Parallel(_called(order), [[of[role] for role in order] for of in found.values()])


def _place_of(path: str) -> tuple[str | None, tuple[str, ...]]:
    """The split of a file, and the other words of its name."""
    *folders, name = path.split("/")
    above = next(filter(None, map(split_of_folder, reversed(folders))), None)
    said = tokens(name.removesuffix(".txt"))
    return split_in_name(f"{name}.txt") or above, tuple(word for word in said if word not in SPLITS)


def _called(roles: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The fields' names, without the words that all roles have in common."""
    shared = set[str].intersection(*(set(role) for role in roles))
    short = [tuple(word for word in role if word not in shared) or role for role in roles]
    return tuple("_".join(role) for role in (short if len({*short}) == len(roles) else roles))


def _lines_in(listing: Listing, entry: Entry) -> int:
    """How many lines a file has; -1 of one that cannot be read."""
    try:
        lines, last = 0, b"\n"
        with listing.open(entry.path) as file:
            for at in range(0, file.size, CHUNK):
                part = file.upto(at, CHUNK)
                lines, last = lines + part.count(b"\n"), part[-1:]
    except Unreadable:
        return -1
    return lines + (last != b"\n")

"""Which of several tables of a folder holds the samples: the one that training and test both have, whose rows a form for predictions
names, or whose rows the others belong to. Where none of this tells, the number of rows does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.base import Column
from dataloader_expert.sources.links import FEWEST, ID_WORDS, MOSTLY, UNIQUE, Key, keys_in
from dataloader_expert.sources.other_tables import LEAST
from dataloader_expert.sources.roles import GROUP_WORDS, words

MOST_CELLS = 5_000_000
"""Cells of all tables together beyond which they are not read to see how they refer to each other."""
MOST_TABLES = 12
FEWEST_PARTS = 2
"""So many tables that belong to the rows of another one leave no doubt which it is: a single one may be what is looked at."""
Names = tuple[str, ...]
Columns = Mapping[str, Sequence[Key]]


class Tabled(Protocol):
    """A table in a file."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def split(self) -> str | None: ...
    @property
    def records(self) -> int: ...
    @property
    def named(self) -> bool: ...


P = TypeVar("P", bound=Tabled)
Reader = Callable[[P], Mapping[str, Column]]


def columns_of_samples(parts: Sequence[P], form: Tabled | None, read: Reader[P]) -> Names | None:
    """The columns, sorted, of the table with the samples; None where nothing but the number of rows tells which it is.

    Args:
        form: the file to fill in with predictions, which is no part.
        read: gives all values of a file.
    """
    trained = [part for part in parts if part.split == "train"]
    tables: dict[Names, list[P]] = {}
    for part in trained or parts:
        tables.setdefault(_sorted(part), []).append(part)
    others = [part for part in parts if part.split not in (None, "train")]
    in_test = {names for names in tables if any(_alike(names, part.names) for part in others)}
    asked = {names for names in tables if form is not None and form.names[0] in names}
    for told in (in_test, asked):
        if len(told & tables.keys()) not in (0, len(tables)):
            tables = {names: of for names, of in tables.items() if names in told}
            if len(tables) == 1:
                return next(iter(tables))
    if len(tables) < 2 or trained:
        return None
    return _referred_to([of[0] for of in tables.values() if len(of) == 1], read)


def lists_of_rows(parts: Sequence[P], read: Reader[P]) -> list[P]:
    """The files of splits that number the rows of another table, each of which is in one of them; none if there is no such table."""
    lists = [part for part in parts if part.split is not None and len(part.names) == 1]
    if len({part.split for part in lists}) < 2 or len(lists) != sum(part.split is not None for part in parts):
        return []
    rows = sum(part.records for part in lists)
    if all(part.records != rows for part in parts) or rows > MOST_CELLS:
        return []
    try:
        numbers = [key for part in lists for column in read(part).values() for of in keys_in(column) for key in of]
    except Unreadable:
        return []  # the scan reports it
    whole = all(isinstance(number, int) for number in numbers)
    return lists if whole and {*numbers} in ({*range(rows)}, {*range(1, rows + 1)}) and len(numbers) == rows else []


def division_of(lists: Sequence[P], read: Reader[P]) -> list[str | None]:
    """The split of each row that these files number, from 0 or from 1 on."""
    split = {
        int(row): part.split for part in lists for column in read(part).values() for of in keys_in(column) for row in of
    }
    return [split[row] for row in sorted(split)]


def small(parts: Sequence[Tabled]) -> bool:
    """Whether their values may be read to see how they belong together."""
    return sum(part.records * len(part.names) for part in parts) <= MOST_CELLS


def in_other_steps(columns: Mapping[str, Column], others: Mapping[str, Column]) -> bool:
    """Whether one of two tables has one row for each value of a column that both have, and the other several, as sums by the day do
    beside those by the hour."""
    return key_of_several(columns, others) is not None or key_of_several(others, columns) is not None


def key_of_several(columns: Mapping[str, Column], others: Mapping[str, Column]) -> str | None:
    """The column of both by which several rows of the second table belong to each of the first; None if there is none."""
    both = (name for name in columns if name in others)
    return next((name for name in both if _once(_plain(columns[name]), _plain(others[name]))), None)


def _once(values: Sequence[object], others: Sequence[object]) -> bool:
    there = {*others}
    return _is_key(values) and 2 * len(there) <= len(others) and len(there & {*values}) >= MOSTLY * len(there)


def _plain(column: Column) -> list[object]:
    """The values of a column of single ones that stand for themselves: none of measurements."""
    values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
    return [] if not column.time and any(isinstance(v, float | list) for v in values) else list(values)


def _sorted(part: Tabled) -> Names:
    return tuple(sorted(part.names))


def _alike(names: Names, others: Sequence[str]) -> bool:
    """Whether more than half of the columns of both are in both."""
    mine, theirs = {*names}, {*others}
    return 2 * len(mine & theirs) > len(mine | theirs)


def _referred_to(parts: Sequence[P], read: Reader[P]) -> Names | None:
    """The columns of the table that is left without lists of pairs of its rows, or to whose rows those of two others belong."""
    if len(parts) > MOST_TABLES or not small(parts):
        return None
    try:
        values = [{name: _flat(column) for name, column in read(part).items()} for part in parts]
    except Unreadable:
        return None  # the scan reports it
    keys = [{name: {*of} for name, of in columns.items() if _is_key(of)} for columns in values]
    pairs = [
        i for i, columns in enumerate(values) if any(_are_pairs(columns, of) for j, of in enumerate(keys) if j != i)
    ]
    left = [part for i, part in enumerate(parts) if i not in pairs]
    if pairs and len(left) == 1:
        return _sorted(left[0])
    if not all(part.named for part in parts):  # which column refers to which is told by their names
        return _sorted(max(left, key=lambda part: (part.records, len(part.names)))) if pairs and left else None
    held = [sum(_belongs(columns, of) for columns in values if columns is not values[i]) for i, of in enumerate(keys)]
    found = [i for i, n in enumerate(held) if n >= FEWEST_PARTS]
    if (
        len(found) > 1
    ):  # tables with one row for each row of another have its key too: the one that refers further is meant
        further = {i: _further(i, found, values, keys) for i in found}
        found = [i for i in found if further[i] and further[i] == max(further.values())]
    if len(found) != 1:
        return None
    [own] = found
    related = [i for i, columns in enumerate(values) if i == own or _related(columns, keys[own], keys[i], values[own])]
    large = parts[own].records >= LEAST * sum(parts[i].records for i in related)
    return _sorted(parts[own]) if large else None


def _flat(column: Column) -> list[Key]:
    """The keys of a column that has one in each row; none of other columns."""
    found = [] if column.time else keys_in(column)
    return [key for of in found for key in of] if all(len(of) == 1 for of in found) else []


def _is_key(values: Sequence[object]) -> bool:
    return len(values) >= FEWEST and len({*values}) >= UNIQUE * len(values)


def _refers(values: Sequence[Key], keys: set[Key]) -> bool:
    """Whether nearly all values are among the keys, and they are of half of these at least: small numbers are among any keys."""
    there = {*values}
    return len(there & keys) >= MOSTLY * len(there) and 2 * len(there & keys) >= len(keys)


def _are_pairs(columns: Mapping[str, Sequence[Key]], keys: Mapping[str, set[Key]]) -> bool:
    """Whether a table has two columns and nothing else, which hold keys of the same other table, as the edges of a graph."""
    if len(columns) != 2 or not all(columns.values()):
        return False
    both = [key for values in columns.values() for key in values]
    inside = (all({*values} <= of for values in columns.values()) and _refers(both, of) for of in keys.values())
    return any(inside)


def _further(i: int, found: Sequence[int], values: Sequence[Columns], keys: Sequence[Mapping[str, set[Key]]]) -> int:
    """How many tables beside those found a table refers to."""
    others = (of for j, of in enumerate(keys) if j not in found)
    return sum(any(values[i].get(name) and _refers(values[i][name], ids) for name, ids in of.items()) for of in others)


def _related(columns: Columns, keys: Mapping[str, set[Key]], own: Mapping[str, set[Key]], others: Columns) -> bool:
    """Whether one of two tables names the rows of the other by a column that both have: places of towns are no part of orders."""
    return any(columns.get(name) and _refers(columns[name], of) for name, of in keys.items()) or any(
        others.get(name) and _refers(others[name], of) for name, of in own.items()
    )


def _belongs(columns: Mapping[str, Sequence[Key]], keys: Mapping[str, set[Key]]) -> bool:
    """Whether rows are parts of those of the table with these keys: they name one of them, and nothing else by a key that comes again,
    as a rating does by its user beside the film."""
    things = {
        name: of for name, of in keys.items() if {*words(name)} - ID_WORDS
    }  # an id alone is that of its own table
    own = [name for name, of in things.items() if columns.get(name) and _refers(columns[name], of)]
    if not own:
        return False
    rest = {name: values for name, values in columns.items() if name not in own and values}
    others = (name for name in rest if {*words(name)[-1:]} & ID_WORDS or {*words(name)} <= GROUP_WORDS)
    return all(_is_key(rest[name]) for name in others)

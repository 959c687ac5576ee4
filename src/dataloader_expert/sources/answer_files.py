"""Files with the answers to a table's rows: ``y_train.csv`` has one for each row of ``X_train.csv``, ``train_labels.csv`` one for each
key of ``train_values.csv``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from dataloader_expert.errors import Aside, Unreadable
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.layout import SPLITS, tokens
from dataloader_expert.sources.packed import unpacked_name
from dataloader_expert.sources.row_lists import DIVISION
from dataloader_expert.sources.tables import Table

ANSWERS = {
    "y",
    "label",
    "labels",
    "target",
    "targets",
    "answer",
    "answers",
    "outcome",
    "outcomes",
    "response",
    "responses",
}
"""Words of the names of files with the answers."""
GIVEN = {"x", "data", "feature", "features", "feat", "feats", "input", "inputs", "value", "values", "predictors"}
"""Words of the names of files with what the answers are to."""
MOST = 50_000_000
"""The most cells of a file of answers, which is held in memory."""


class File(Protocol):
    """A table in a file. ``named``: whether its columns have names; ``written``: how, as far as a plain reader must know it; None: no plain
    reader reads answers to it."""

    @property
    def path(self) -> str: ...
    @property
    def split(self) -> str | None: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def records(self) -> int: ...
    @property
    def named(self) -> bool: ...
    @property
    def written(self) -> Any: ...


@dataclass(frozen=True)
class Answers:
    """Columns that another file has for the rows of a table.

    ``columns``: by name, a value for each row of ``path``; ``rows``: which row is that of a key, where ``key`` is a column of both;
    without one, rows belong together by their order; ``called``: the fields by the file's own names of its columns; ``plain``: whether
    the file is written as the table is.
    """

    path: str
    columns: Mapping[str, Column]
    key: str | None = None
    rows: Mapping[Any, int] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    plain: bool = True

    def of(self, block: Block, first: int) -> dict[str, Column]:
        """The values for the samples of a block; missing for keys that the file lacks. ``first``: the sample of the table's first row."""
        import numpy as np

        if self.key is None:
            at = block.indices() - first
            return {name: column.take(at) for name, column in self.columns.items()}
        keys = block.columns[self.key].values
        at = np.array(
            [self.rows.get(key, -1) for key in (keys.tolist() if hasattr(keys, "tolist") else keys)], np.int64
        )
        return {name: _taken(column, at) for name, column in self.columns.items()}


def placed(columns: Mapping[str, Column], rows: Any, records: int) -> dict[str, Column]:
    """The columns with a value for each of so many records, missing where these are not among ``rows``; None: all are."""
    import numpy as np

    if rows is None:
        return dict(columns)
    at = np.full(records, -1)
    at[rows] = np.arange(len(rows))
    return {name: _taken(column, at) for name, column in columns.items()}


def _taken(column: Column, at: Any) -> Column:
    """The values of these rows; missing where the row is -1."""
    import numpy as np

    absent = at < 0
    found = column.take(np.maximum(at, 0))
    if not absent.any():
        return found
    nulls = absent if found.nulls is None else found.nulls | absent
    values = found.values
    if isinstance(values, list):
        values = [None if gone else value for value, gone in zip(values, absent.tolist(), strict=True)]
    return Column(values, nulls, found.time)


F = TypeVar("F", bound=File)


@dataclass(frozen=True)
class Match(Generic[F]):
    """A table, a file with answers to its rows, and the columns that both have: one by which they find each other, or none, where they go
    by their order."""

    table: F
    answers: F
    common: tuple[str, ...]


def matches(files: Sequence[F]) -> list[Match[F]]:
    """The files whose names say that they have answers, with the only table of the same folder and split that they may belong to, or the
    only one that is called alike but for that, or as what is given."""
    answering = [file for file in files if _said(file) & ANSWERS]
    asking = [file for file in files if file not in answering]
    found = []
    for answers in answering:
        near = [file for file in asking if _home(file) == _home(answers) and file.split == answers.split]
        rest = _said(answers) - ANSWERS
        tables = [file for file in near if _said(file) - GIVEN == rest] or [f for f in near if _said(f) & GIVEN] or near
        if len(tables) != 1:
            continue
        named = tables[0].named and answers.named
        common = tuple(name for name in answers.names if named and name in tables[0].names)
        if len(common) < min(2, len(answers.names)):
            found.append(Match(tables[0], answers, common))
    return found


def _home(file: File) -> str:
    return file.path.rpartition("/")[0]


def _said(file: File) -> frozenset[str]:
    """The words of a file's name without that of its split."""
    return frozenset(w for w in tokens(_stem(file.path)) if w not in SPLITS)


def _stem(path: str) -> str:
    return unpacked_name(path.rpartition("/")[2]).rpartition(".")[0]


class Answered(Table, Generic[F]):
    """A table some of whose columns may be in files of answers.

    A member says how a file's columns are read, calls ``without_answers`` before it makes units, tells ``first``, and gives its blocks to
    ``with_answers``.
    """

    asked: frozenset[str] | None = None
    """The requested fields; None: all."""
    divided_by: frozenset[str] = frozenset()
    """The files that list the keys of each split."""
    listing: Listing

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, list[Answers]] = {}
        """Of each table: the files that hold more columns of its rows."""
        self.first: dict[str, int] = {}
        """The first row of each table."""

    @abstractmethod
    def columns_in(self, part: F, whole: bool) -> dict[str, Column]:
        """The columns of a file, a value for each record, missing in those that are not sound; or of some of its first records.

        Raises:
            Unreadable: as ``read`` and ``decode`` do.
        """

    @property
    def aligned(self) -> frozenset[str]:
        """The files whose rows belong to those of a table."""
        return frozenset(file.path for files in self.answers.values() for file in files)

    @property
    def matched(self) -> frozenset[str]:
        """The columns by which rows find their answers."""
        return frozenset(file.key for files in self.answers.values() for file in files if file.key is not None)

    def without_answers(self, parts: Sequence[F]) -> list[F]:
        """The files without those that have answers to another one's rows, which are read."""
        held = set()
        for match in matches(parts):
            try:
                answers = self._answers(match)
            except Unreadable as problem:
                self.problems.append(problem)
                held.add(match.answers.path)
                continue
            if answers is not None:
                held.add(answers.path)
                self.answers.setdefault(match.table.path, []).append(answers)
        return [part for part in parts if part.path not in held]

    def _answers(self, match: Match[F]) -> Answers | None:
        """The answers to a table's rows; None where these are not what the file has.

        Raises:
            Unreadable: where a split's file has more or fewer answers than there are rows; where several rows have one answer; where
                they are too many to hold.
        """
        table, answers = match.table, match.answers
        if not match.common and answers.records != table.records:
            if answers.split is None:
                return None
            there = f"{table.path.rpartition('/')[2]} {table.records:,}"
            raise Unreadable(
                "length-mismatch", f"it has {answers.records:,} rows, {there}: not read", file=answers.path
            )
        if answers.records * len(answers.names) > MOST:
            raise Aside("table", f"columns of {table.path}, more than are held in memory: not read", file=answers.path)
        columns = self.columns_in(answers, True)
        plain = answers.written is not None and answers.written == table.written
        if not match.common:
            own = {name: name if answers.named else _called_after(answers.path, name, len(columns)) for name in columns}
            own = {name: f"{of}_2" if of in table.names else of for name, of in own.items()}
            found = {own[name]: column for name, column in columns.items()}
            return Answers(answers.path, found, called=own, plain=plain)
        [key] = match.common
        rows = {value: i for i, value in enumerate(_plain(columns.pop(key)))}
        keys = _plain(self.columns_in(table, False)[key])
        if len(rows) < answers.records or 2 * sum(value in rows for value in keys) < len(keys):
            return None
        if len({*keys}) < len(keys):
            text = f"one answer for all rows of {table.path} with the same {key}: not read"
            raise Aside("table", text, file=answers.path)
        return Answers(answers.path, columns, key, rows, {name: name for name in columns}, plain)

    def withhold_answers(self) -> None:
        """Says which fields answers are, and which of them only the training split has."""
        found = {u.file: {n for a in self.answers.get(u.file, ()) for n in a.columns} - {DIVISION} for u in self.units}
        held = {u.split: frozenset(found[u.file]) for u in self.units}
        if held.get("train"):
            self.withheld |= held["train"] - frozenset.intersection(*held.values())
        self.answered = frozenset().union(*held.values())

    def with_answers(self, block: Block) -> Block:
        """The block with what other files say of its rows, and with the requested fields only."""
        if not self.answers:
            return block
        found = dict(block.columns)
        for file in self.answers.get(block.unit.file, ()):
            found |= file.of(block, self.first[block.unit.file])
        return replace(block, columns={n: c for n, c in found.items() if self.asked is None or n in self.asked})


def joined(columns: Sequence[Column]) -> Column:
    """The values of consecutive blocks as one column."""
    import numpy as np

    arrays = [column.values for column in columns]
    if all(isinstance(values, np.ndarray) for values in arrays):
        values: Any = np.concatenate(arrays)
    else:
        values = [value for of in arrays for value in of]
    nulls = [np.zeros(len(c), bool) if c.nulls is None else c.nulls for c in columns]
    return Column(values, np.concatenate(nulls) if any(c.nulls is not None for c in columns) else None, columns[0].time)


def _plain(column: Column) -> list[Any]:
    values = column.values
    found: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return found


def _called_after(path: str, name: str, columns: int) -> str:
    """The name of a column without one: that of its file, with the column's own where there are several."""
    file = "_".join(word for word in tokens(_stem(path)) if word not in SPLITS)
    return file if columns == 1 else f"{file}_{name}"

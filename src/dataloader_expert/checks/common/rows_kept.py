"""What checks that draw rows keep of a column: numbers, digests of texts, the split, and where a row is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.fingerprint import digest64, digests_of
from dataloader_expert.checks.common.places import Places
from dataloader_expert.facts import Json
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.times import is_time, read_time

LONGEST_TIME, READ = 40, 8
"""Characters of a text that may be a time, and texts of a block that tell whether they are times."""
NAME = 80
"""Characters of a text by which it is told from others as a name."""


def _shared(values: Any) -> Any:
    """An array that several checks keep: none may write to it."""
    values.flags.writeable = False
    return values


def numbers_of(column: Column | None, rows: Any) -> Any:
    """Values as float64 [rows], NaN where there is none or no number; not to be written to, for other checks keep them too."""
    import numpy as np

    if column is None:
        return np.full(len(rows), np.nan)
    return column.once("numbers", rows, lambda: _shared(_numbers_of(column, rows)))


def _numbers_of(column: Column, rows: Any) -> Any:
    import numpy as np

    values = column.values
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "biuf":
        return np.full(len(rows), np.nan)
    made = values[rows].astype(np.float64)
    return made if column.nulls is None else np.where(column.nulls[rows], np.nan, made)


def moments_of(column: Column | None, rows: Any, as_others: bool = False) -> Any:
    """Times as seconds since 1970, float64 [rows]; NaN where there is none, or a text is a date in one order of day and month and
    another one in the other order; not to be written to.

    ``as_others``: a date that may be read in both orders is read in the one of those that allow only this one, where these agree.
    """
    import numpy as np

    if column is None or isinstance(column.values, np.ndarray):
        return numbers_of(column, rows)

    def made() -> Any:
        texts = [text.strip() for text in texts_of(column, rows, LONGEST_TIME)]
        known = list(filter(None, texts))
        found = np.full(len(rows), np.nan)
        read = [read_time(text) if text else (None, None) for text in texts] if all(map(is_time, known[:READ])) else []
        sure = {k for reading in read for k in (0, 1) if reading[k] is not None and reading[1 - k] is None}
        for i, reading in enumerate(read):
            times = {t for t in reading if t is not None}
            if len(times) == 1:
                found[i] = next(iter(times))
            elif times and as_others and len(sure) == 1:
                found[i] = reading[next(iter(sure))]
        return _shared(found)

    return column.once(("moments", as_others), rows, made)


def texts_of(column: Column | None, rows: Any, most: int | None = None) -> list[str]:
    """Values as texts of at most so many characters; empty for a missing one."""
    if column is None:
        return [""] * len(rows)
    absent = column.nulls
    return ["" if absent is not None and absent[i] else str(column.values[i])[:most] for i in rows.tolist()]


def digest_of(text: str) -> int:
    return digest64(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Coded:
    """Texts of rows: the different ones, and which one each row has, int64 [rows]. Unpacked, it is the two."""

    texts: list[str]
    codes: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.texts, self.codes))

    @cached_property
    def digests(self) -> Any:
        """One uint64 for each row, of its text; not to be written to."""
        return _shared(self._each[self.codes])

    @cached_property
    def called(self) -> dict[int, str]:
        """The texts that occur, by their digests: what stands under a mark of absence is none."""
        import numpy as np

        used = np.flatnonzero(np.bincount(self.codes, minlength=len(self.texts))).tolist()
        return {int(self._each[k]): self.texts[k] for k in used}

    @cached_property
    def _each(self) -> Any:
        return digests_of(self.texts)


def distinct(column: Column | None, rows: Any, most: int | None = None) -> Coded:
    """The different values of these rows as :func:`texts_of` has them, and which one each row has; values that occur often are made
    texts once."""
    import numpy as np

    if column is None:
        return Coded([""], np.zeros(len(rows), np.int64))
    return column.once(("distinct", most), rows, lambda: _distinct(column, rows, most))


def _distinct(column: Column, rows: Any, most: int | None) -> Coded:
    import numpy as np

    values: Any = column.values
    if column.coded is not None:
        used, codes = _used(column.coded[0][rows], len(column.coded[1]))
        values = [column.coded[1][k] for k in used.tolist()]
    elif isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf":
        values, codes = np.unique(values[rows], return_inverse=True)
    else:
        return numbered(texts_of(column, rows, most))
    texts = [str(value)[:most] for value in values]
    if column.nulls is not None:
        texts, codes = [*texts, ""], np.where(column.nulls[rows], len(texts), codes)
    return Coded(texts, codes)


def _used(codes: Any, n: int) -> tuple[Any, Any]:
    """The different ones among codes below ``n``, and which one each is: counted where sorting takes longer."""
    import numpy as np

    if n > 4 * len(codes):
        used, which = np.unique(codes, return_inverse=True)
        return used, which
    there = np.bincount(codes, minlength=n) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def numbered(texts: list[str]) -> Coded:
    """The different ones among these texts, and which one each is."""
    import numpy as np

    places = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    return Coded(list(places), np.fromiter(map(places.__getitem__, texts), np.int64, len(texts)))


def digests_by_name(column: Column | None, rows: Any) -> Any:
    """A digest of each value as text, uint64 [rows]; not to be written to."""
    return distinct(column, rows, NAME).digests


class Named:
    """The values of a field as texts by their digests, as long as they are few enough to be those of a category.

    ``whole``: digests are wanted of more values too.
    """

    def __init__(self, most: int, whole: bool = False) -> None:
        self.most, self.whole = most, whole
        self.texts: dict[int, str] = {}
        self.many = False

    def of(self, column: Column | None, rows: Any) -> Any:
        """One uint64 for the value of each of these rows; zeros once there are too many, unless they are wanted; not to be written to."""
        if not self.many or self.whole:
            return self.coded(distinct(column, rows, NAME))
        return _nothing(rows) if column is None else column.once("nothing", rows, lambda: _nothing(rows))

    def coded(self, of: Coded) -> Any:
        """The same of texts."""
        if self.many and not self.whole:
            return _nothing(of.codes)
        self._note(of.called)
        return of.digests

    def merge(self, other: Named) -> None:
        self.many = self.many or other.many
        self._note(other.texts)

    def _note(self, texts: dict[int, str]) -> None:
        if not self.many:
            self.texts.update(texts)
            self.many = len(self.texts) > self.most
        if self.many:
            self.texts.clear()


def _nothing(rows: Any) -> Any:
    import numpy as np

    return np.zeros(len(rows), np.uint64)


def split_of(context: Context, block: Block, rows: Any) -> Coded:
    """The names of splits, empty for none, and which one each row is in."""

    def made() -> Coded:
        names, codes = context.splits_of(block)
        return Coded([name or "" for name in names], codes[rows])

    return block.once("split of", rows, made)


def files_of(block: Block, rows: Any) -> Coded:
    """The files of a block, and which one each row is in."""
    return block.once("files of", rows, lambda: _files_of(block, rows))


def _files_of(block: Block, rows: Any) -> Coded:
    import numpy as np

    unit = block.unit
    if not unit.members:
        return Coded([unit.file], np.zeros(len(rows), np.int64))
    return numbered([block.file(i) for i in rows.tolist()])


def at_of(block: Block, rows: Any) -> dict[str, Any]:
    """Where rows are: arrays by name, to be kept, and not to be written to."""
    import numpy as np

    def made() -> dict[str, Any]:
        files, codes = files_of(block, rows)
        return {"sample": block.indices(rows), "file": np.array(files, object)[codes]}

    return block.once("at", rows, made)


def in_order(kept: dict[str, Any]) -> dict[str, Any]:
    """Kept rows with ``at_of``, in the order of the data."""
    import numpy as np

    order = np.argsort(kept["sample"])
    return {name: values[order] for name, values in kept.items()}


def places(kept: dict[str, Any], mask: Any, field: str) -> list[dict[str, Json]]:
    """Some of the kept rows that are marked."""
    import numpy as np

    found = Places()
    for i in np.flatnonzero(mask).tolist():
        found.at(field, int(kept["sample"][i]), str(kept["file"][i]), field)
    return found.of(field)

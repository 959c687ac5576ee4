"""What checks that draw rows keep of a column: numbers, digests of texts, the split, and where a row is."""

from __future__ import annotations

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


def numbers_of(column: Column | None, rows: Any) -> Any:
    """Values as float64 [rows], NaN where there is none or no number."""
    import numpy as np

    values = None if column is None else column.values
    if column is None or not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "biuf":
        return np.full(len(rows), np.nan)
    made = values[rows].astype(np.float64)
    return made if column.nulls is None else np.where(column.nulls[rows], np.nan, made)


def moments_of(column: Column | None, rows: Any) -> Any:
    """Times as seconds since 1970, float64 [rows]; NaN where there is none, or a text is a date in one order of day and month and
    another one in the other order."""
    import numpy as np

    if column is None or isinstance(column.values, np.ndarray):
        return numbers_of(column, rows)
    texts = [text.strip() for text in texts_of(column, rows, LONGEST_TIME)]
    known = list(filter(None, texts))
    if not all(map(is_time, known[:READ])):
        return np.full(len(rows), np.nan)
    made = np.full(len(rows), np.nan)
    for i, text in enumerate(texts):
        readings = {t for t in read_time(text) if t is not None} if text else ()
        if len(readings) == 1:
            made[i] = next(iter(readings))
    return made


def texts_of(column: Column | None, rows: Any, most: int | None = None) -> list[str]:
    """Values as texts of at most so many characters; empty for a missing one."""
    if column is None:
        return [""] * len(rows)
    absent = column.nulls
    return ["" if absent is not None and absent[i] else str(column.values[i])[:most] for i in rows.tolist()]


def digest_of(text: str) -> int:
    return digest64(text.encode("utf-8", "surrogatepass"))


def distinct(column: Column | None, rows: Any, most: int | None = None) -> tuple[list[str], Any]:
    """The different values of these rows as :func:`texts_of` has them, and which one each row has; values that occur often are made
    texts once."""
    import numpy as np

    if column is None:
        return [""], np.zeros(len(rows), np.int64)
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
    return texts, codes


def _used(codes: Any, n: int) -> tuple[Any, Any]:
    """The different ones among codes below ``n``, and which one each is: counted where sorting takes longer."""
    import numpy as np

    if n > 4 * len(codes):
        used, which = np.unique(codes, return_inverse=True)
        return used, which
    there = np.bincount(codes, minlength=n) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def numbered(texts: list[str]) -> tuple[list[str], Any]:
    """The different ones among these texts, and which one each is, int64."""
    import numpy as np

    places = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    return list(places), np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))


def digests_by_name(column: Column | None, rows: Any) -> Any:
    """A digest of each value as text, uint64 [rows]."""
    texts, codes = distinct(column, rows, NAME)
    return digests_of(texts)[codes]


class Named:
    """The values of a field as texts by their digests, as long as they are few enough to be those of a category.

    ``whole``: digests are wanted of more values too.
    """

    def __init__(self, most: int, whole: bool = False) -> None:
        self.most, self.whole = most, whole
        self.texts: dict[int, str] = {}
        self.many = False

    def of(self, column: Column | None, rows: Any) -> Any:
        """One uint64 for the value of each of these rows; zeros once there are too many, unless they are wanted."""
        import numpy as np

        if self.many and not self.whole:
            return np.zeros(len(rows), np.uint64)
        return self.coded(*distinct(column, rows, NAME))

    def coded(self, texts: list[str], codes: Any) -> Any:
        """One uint64 for each row, of the text that its code is the place of."""
        import numpy as np

        known = digests_of(texts)
        used = np.flatnonzero(
            np.bincount(codes, minlength=len(texts))
        ).tolist()  # what stands under a mark of absence is none
        self._note({int(known[k]): texts[k] for k in used})
        return known[codes]

    def merge(self, other: Named) -> None:
        self.many = self.many or other.many
        self._note(other.texts)

    def _note(self, texts: dict[int, str]) -> None:
        if not self.many:
            self.texts.update(texts)
            self.many = len(self.texts) > self.most
        if self.many:
            self.texts.clear()


def split_of(context: Context, block: Block, rows: Any) -> tuple[list[str], Any]:
    """The names of splits, empty for none, and which one each row is in."""
    names, codes = context.splits_of(block)
    return [name or "" for name in names], codes[rows]


def files_of(block: Block, rows: Any) -> tuple[list[str], Any]:
    """The files of a block, and which one each row is in."""
    import numpy as np

    unit = block.unit
    if not unit.members:
        return [unit.file], np.zeros(len(rows), np.int64)
    return numbered([block.file(i) for i in rows.tolist()])


def at_of(block: Block, rows: Any) -> dict[str, Any]:
    """Where rows are: arrays by name, to be kept."""
    import numpy as np

    files, codes = files_of(block, rows)
    return {"sample": block.indices(rows), "file": np.array(files, object)[codes]}


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

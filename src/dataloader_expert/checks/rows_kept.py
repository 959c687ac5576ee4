"""What checks that draw rows keep of a column: numbers, digests of texts, the split, and where a row is."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.fingerprint import digest64
from dataloader_expert.checks.places import Places
from dataloader_expert.facts import Json
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.times import is_time, read_time

LONGEST_TIME, READ = 40, 8
"""Characters of a text that may be a time, and texts of a block that tell whether they are times."""


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


class Named:
    """Texts by their digests, as long as there are few enough to be the values of a category."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.texts: dict[int, str] = {}
        self.many = False

    def digests(self, texts: list[str]) -> Any:
        """One uint64 for each text."""
        import numpy as np

        known = {text: digest_of(text) for text in set(texts)}
        self._note({digest: text for text, digest in known.items()})
        return np.array([known[text] for text in texts], np.uint64)

    def merge(self, other: Named) -> None:
        self.many = self.many or other.many
        self._note(other.texts)

    def _note(self, texts: dict[int, str]) -> None:
        if not self.many:
            self.texts.update(texts)
            self.many = len(self.texts) > self.most
        if self.many:
            self.texts.clear()


def split_of(context: Context, block: Block, rows: Any) -> list[str]:
    """The name of each row's split; empty for none."""
    names, codes = context.splits_of(block)
    return [names[int(code)] or "" for code in codes[rows]]


def at_of(block: Block, rows: Any) -> dict[str, Any]:
    """Where rows are: arrays by name, to be kept."""
    import numpy as np

    files = np.empty(len(rows), object)
    files[:] = [block.file(int(i)) for i in rows]
    return {"sample": np.array([block.index(int(i)) for i in rows], np.int64), "file": files}


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

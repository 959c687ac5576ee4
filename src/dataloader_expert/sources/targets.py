"""Which columns of a table beside files say what is to be predicted of these, where none is called so: what is left without what
describes the file or the person in it, cells that list several labels, and columns that lack in a whole split."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dataloader_expert.sources.base import Column, Field
from dataloader_expert.sources.roles import SPLIT_NAMES, words

ATTRIBUTES = {
    *("sex", "gender", "male", "female", "age", "race", "ethnicity", "nationality", "accent", "country"),
    *("view", "side", "laterality", "orientation", "site", "hospital", "scanner", "device", "camera", "manufacturer"),
    *("width", "height", "size", "pixel", "resolution", "duration", "bytes", "channels", "format", "rate", "source", "license", "url"),
    *("inspector", "operator", "annotator", "labeler", "labeller", "rater", "reviewer", "photographer", "technician", "uploader"),
    *("transcript", "transcription", "sentence", "text", "caption", "title", "description", "note", "comment"),
}  # fmt: skip
"""Words of columns that say of whom a sample was taken, how and where, or what is said in it: what they say is rarely a class beside
others."""
SEVERAL = {
    "labels", "tags", "classes", "categories", "genres", "topics", "findings", "attributes", "emotions", "targets",
}  # fmt: skip
"""Last words of columns that list several labels."""
CALLED = {"label", "class", "category", "target"}
"""Words of columns that may hold the number of a class."""
KINDS = {"type", "kind", "class", "category"}
"""Last words of columns that may say what a sample is: ``doc_type``."""
MARKS = ("|", ";", ",", " ")
"""What separates them; other marks before blanks, which may be within a name."""
MOST_LABELS = 1_000
RECUR = 3
"""How often a label occurs at least, on average."""
SHARE = 0.05
"""The least share of samples with several labels."""


def beside_attributes(names: Iterable[str]) -> list[str]:
    """The columns that are no such attributes; all of them if none is left."""
    names = list(names)
    return [name for name in names if not set(words(name)) & (ATTRIBUTES | SPLIT_NAMES)] or names


def the_only_one(fields: Sequence[Field], columns: Mapping[str, Column], aside: Collection[str]) -> str | None:
    """The one column beside attributes, if it holds numbers, or texts that recur. ``aside``: columns with another role."""
    rest = [
        f
        for f in fields
        if f.name in beside_attributes(f.name for f in fields)
        and f.name not in aside
        and not set(words(f.name)) & SPLIT_NAMES
    ]
    if len(rest) != 1 or rest[0].shape or rest[0].kind not in ("number", "category", "boolean"):
        return None
    values = columns[rest[0].name].values
    plain = values.tolist() if hasattr(values, "tolist") else values
    there = [value for value in plain if value is not None]
    texts = any(isinstance(value, str) for value in there)
    few = len(set(there)) if all(isinstance(value, str | int | float) for value in there) else 0
    return rest[0].name if few > 1 and (not texts or 2 * few <= len(there)) else None


def plain_values(column: Column) -> list[Any]:
    """The values, None where one is missing."""
    values = column.values.tolist() if hasattr(column.values, "tolist") else list(column.values)
    if column.nulls is None:
        return values
    return [None if gone else value for value, gone in zip(values, column.nulls.tolist(), strict=True)]


def same_class(labels: Sequence[str | None], column: Column) -> bool:
    """Whether the column says of each sample its class once more: its name, or the number that it has in the order of names."""
    values = plain_values(column)
    if not all(isinstance(value, str | int | None) for value in values):
        return False
    both = {
        (label, value) for label, value in zip(labels, values, strict=True) if label is not None and value is not None
    }
    if not both:
        return False
    if all(label == str(value) for label, value in both):
        return True
    names, numbers = {label for label, _ in both}, sorted({value for _, value in both}, key=str)
    if len(both) != len(names) or not all(isinstance(value, int) and not isinstance(value, bool) for value in numbers):
        return False
    by_name = [value for _, value in sorted(both)]
    return by_name[0] in (0, 1) and by_name == list(range(by_name[0], by_name[0] + len(names)))


def one_to_one(names: Sequence[str | None], column: Column) -> bool:
    """Whether each of several names has a value of its own in the column, and each sample has one."""
    values = plain_values(column)
    both = {*zip(names, map(str, values), strict=True)}
    return None not in values and 1 < len(both) == len({*names}) == len({value for _, value in both})


def listed_labels(name: str, column: Column) -> tuple[list[str], Any] | None:
    """The labels that the cells of a column list, and of each sample a vector of 0 and 1, uint8 [labels]; None if they list none."""
    import numpy as np

    said = words(name)
    if not said or said[-1] not in SEVERAL or isinstance(column.values, np.ndarray):
        return None
    cells = [cell if isinstance(cell, str) else None for cell in column.values]
    there = [cell for cell in cells if cell]
    for mark in MARKS:
        lists = [_parts(cell, mark) for cell in there]
        counts = Counter(label for of in lists for label in of)
        several = sum(len(of) > 1 for of in lists)
        if several < max(2, SHARE * len(there)):
            continue
        if any(len(set(of)) < len(of) for of in lists) or len({len(of) for of in lists}) < 2:
            return None
        if not RECUR * len(counts) <= counts.total() or len(counts) > MOST_LABELS:
            return None
        names = sorted(counts)
        at = {label: i for i, label in enumerate(names)}
        vectors = np.zeros((len(cells), len(names)), np.uint8)
        for i, cell in enumerate(cells):
            vectors[i, [at[label] for label in _parts(cell or "", mark)]] = 1
        return names, vectors
    return None


def _parts(cell: str, mark: str) -> list[str]:
    return [part.strip() for part in re.split(re.escape(mark), cell) if part.strip()]


def lacking(columns: Mapping[str, Column], splits: Sequence[str | None]) -> dict[str, frozenset[str]]:
    """By split the columns that none of its samples has a value of, and those of another one have."""
    import numpy as np

    rows = {split: np.array([of == split for of in splits]) for split in {*splits} if split is not None}
    found: dict[str, frozenset[str]] = {}
    absent = {name: _absent(column, len(splits)) for name, column in columns.items()} if rows else {}
    for split, own in rows.items():
        found[split] = frozenset(name for name, gone in absent.items() if gone[own].all() and not gone.all())
    return {split: names for split, names in found.items() if names}


def covering(columns: Mapping[str, Column], splits: Sequence[str | None]) -> dict[str, Column]:
    """The columns that most samples of some split have a value of: others say something of a few, such as the boxes of the images that
    an expert looked at."""
    import numpy as np

    rows = [np.array([of == split for of in splits]) for split in {*splits}]
    there = {name: ~_absent(column, len(splits)) for name, column in columns.items()}
    return {name: columns[name] for name, of in there.items() if any(2 * of[own].sum() > own.sum() for own in rows)}


def _absent(column: Column, n: int) -> Any:
    import numpy as np

    if column.nulls is not None:
        return np.asarray(column.nulls)
    return np.zeros(n, bool) if isinstance(column.values, np.ndarray) else np.array([v is None for v in column.values])

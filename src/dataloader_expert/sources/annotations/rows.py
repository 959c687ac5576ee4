"""Rows of a table of annotations, from its bytes: of separated values, lines of JSON, or JSON, which may be in the format of COCO."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from dataloader_expert.sources.annotations.coco import Images, images_of, slim
from dataloader_expert.sources.annotations.record import LOOKED_AT, NEARLY_ALL, Row
from dataloader_expert.sources.annotations.transcripts import SHOWN, is_text
from dataloader_expert.sources.dialects import sniff_dialect
from dataloader_expert.sources.layout import split_of_folder
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.roles import words

Reader = Callable[[bytes, bool], list[Row]]
"""Takes the bytes, and whether they are only the first of more."""
LARGE_JSON, MOST_CELLS = 1 << 25, 10_000_000
"""Bytes of JSON from which only what is used is kept, and the most values of a table."""
MARKS = ",;\t|"
"""What may separate the values of a table."""
ENTRY, VALUE = "entry", "value"
"""The columns of the names under which the objects of a JSON file stand, and of what is no object."""
LISTED = {"file_name", "id", "width", "height"}
"""What COCO says of each image in a file without annotations, such as that of a test split: how large it is, and nothing that it shows."""
CAPTIONS = {"sentence", "sentences", "caption", "captions"}
"""Words of a column of objects whose texts say what an image shows."""
_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d*)")
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_LIST = re.compile(rf"\[\s*{_NUMBER.pattern}(?:\s*,\s*{_NUMBER.pattern})*\s*\]")
"""Numbers in a cell, as pandas writes a list."""


def flat(rows: list[Row]) -> list[Row]:
    """Objects of equally long lists, as Hugging Face's ``objects`` with its boxes and categories, as fields of their own."""
    if isinstance(rows, Images):
        return rows
    names = dict.fromkeys(name for row in rows[:LOOKED_AT] for name, value in row.items() if isinstance(value, dict))
    for name in names:
        values = [row[name] for row in rows if row.get(name) is not None]
        if all(isinstance(v, dict) and all(isinstance(x, list) for x in v.values()) for v in values) and all(
            len({len(x) for x in v.values()}) <= 1 for v in values
        ):
            rows = [
                {k: v for k, v in row.items() if k != name}
                | {f"{name}.{key}": value for key, value in (row.get(name) or {}).items()}
                for row in rows
            ]
    return _with_captions(rows)


def _with_captions(rows: list[Row]) -> list[Row]:
    """The rows, with the texts of lists of objects in place of these, as the sentences that Karpathy's splits give each image."""
    names = dict.fromkeys(name for row in rows[:LOOKED_AT] for name, value in row.items() if isinstance(value, list))
    for name in names if rows and not any(SHOWN in row for row in rows) else ():
        if not CAPTIONS & set(words(name)):  # conversations and spans have texts as well
            continue
        objects = [one for row in rows for one in row.get(name) or ()]
        if not objects or not all(isinstance(one, dict) for one in objects):
            continue
        keys = [k for k in objects[0] if is_text([one.get(k) for one in objects[:LOOKED_AT]])]
        if len(keys) == 1 and all(isinstance(one.get(keys[0]), str) for one in objects):
            texts = [[one[keys[0]] for one in row.get(name) or ()] for row in rows]
            return [
                {**{k: v for k, v in row.items() if k != name}, SHOWN: of} for row, of in zip(rows, texts, strict=True)
            ]
    return rows


def typed(rows: list[Row], name: str) -> list[Row]:
    """The rows with texts as numbers in columns of nothing else, but for the column ``name``; codes such as 007 stay texts."""
    for column in dict.fromkeys(key for row in rows[:LOOKED_AT] for key in row):
        cells = [row[column] for row in rows if column in row]
        if column == name or not all(isinstance(cell, str | None) for cell in cells):
            continue
        there = [cell for cell in cells if cell is not None]
        for pattern, convert in ((_WHOLE, int), (_NUMBER, float), (_LIST, _numbers)):
            if there and all(pattern.fullmatch(cell) for cell in there):
                for row in rows:
                    if row.get(column) is not None:
                        row[column] = convert(row[column])
                break
    return rows


def _have_a_key(rows: list[Row]) -> bool:
    """Whether nearly all of them have a key in common."""
    counts = Counter(key for row in rows for key in row)
    return bool(counts) and max(counts.values()) >= NEARLY_ALL * len(rows)


def _numbers(cell: str) -> list[float]:
    return [float(number) for number in cell[1:-1].split(",")]


def separated(data: bytes, cut: bool) -> list[Row]:
    """Rows of texts. ``cut``: these are the first bytes of more."""
    text = data.decode("utf-8-sig", "replace")
    if cut:
        text = text[: text.rfind("\n") + 1]
    dialect = sniff_dialect(data[:HEAD], MARKS, len(data) <= HEAD)
    if text.count("\n") * len(dialect.names) > MOST_CELLS:
        raise ValueError("too large for annotations")
    file = io.StringIO(text, newline="")
    try:
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE
        lines = list(csv.reader(file, delimiter=dialect.delimiter, quoting=quoting, skipinitialspace=dialect.spaced))
    except csv.Error as e:
        raise ValueError(str(e)) from None
    rows = [line for line in lines if line][dialect.before :]
    return [
        {name: None if cell in NULLS else cell for name, cell in zip(dialect.names, row, strict=False)} for row in rows
    ]


def _lines(data: bytes, cut: bool) -> list[Row]:
    lines = data.splitlines()[: -1 if cut else None]
    rows = [json.loads(line) for line in (lines[:LOOKED_AT] if cut else lines) if line.strip()]
    return [row for row in rows if isinstance(row, dict)]


def _json(data: bytes, cut: bool) -> list[Row]:
    found = json.loads(data, object_hook=slim if len(data) > LARGE_JSON else None)
    if isinstance(found, dict) and isinstance(found.get("images"), list) and isinstance(found.get("annotations"), list):
        return images_of(found)
    rows = _rows_in(found)
    if isinstance(found, dict) and rows and rows == found.get("images") and rows[0].keys() >= LISTED:
        return [{"file_name": row["file_name"]} for row in rows if "file_name" in row]
    return rows


def _rows_in(found: Any, deep: int = 2) -> list[Row]:
    """A list of objects, or objects by name; where it stands in an object with other things, the longest."""
    if isinstance(found, list):
        return [row for row in found if isinstance(row, dict)]
    if not isinstance(found, dict) or not found or not deep:
        return []
    split = {key: split_of_folder(key) for key in found}
    if len(found) > 1 and all(split.values()):
        parts = {key: _rows_in(value, deep - 1) for key, value in found.items()}
        return [{"split": key, **row} for key, rows in parts.items() for row in rows]
    if all(isinstance(value, dict) for value in found.values()) and _have_a_key(list(found.values())):
        return [{ENTRY: key, **value} for key, value in found.items()]
    within = [_rows_in(value, deep - 1) for value in found.values() if isinstance(value, dict | list)]
    if any(within):
        return max(within, key=len)
    return [{ENTRY: key, VALUE: value} for key, value in found.items()]


HEAD = 1 << 18
"""The first bytes of a table, which tell whether it names files."""
READERS: dict[str, Reader] = {
    "csv": separated,
    "tsv": separated,
    "jsonl": _lines,
    "json": _json,
}

"""Tables without a header whose rows name samples by a number that another table gives them, as those of CUB-200-2011.

There ``images.txt`` numbers the images, and ``bounding_boxes.txt``, ``image_class_labels.txt`` and ``train_test_split.txt`` say
something of each number.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.naming import BARE
from dataloader_expert.sources.annotations.record import MOST_TOLD, NEARLY_ALL, ODD, Annotations, Row, Table, folder_of
from dataloader_expert.sources.annotations.rows import typed
from dataloader_expert.sources.annotations.tables import MOST_BYTES, PERSONS
from dataloader_expert.sources.annotations.transcripts import is_prose
from dataloader_expert.sources.annotations.yolo import KIND as YOLO
from dataloader_expert.sources.arrays import BOX_WORDS
from dataloader_expert.sources.files import Listing, is_about
from dataloader_expert.sources.pairing import key_of
from dataloader_expert.sources.roles import words

KEY = "key"


def join_keyed(found: Annotations, listing: Listing, paths: list[str]) -> None:
    known = _keys(found)
    if not known:
        return
    own = {key_of(path)[0] for path in paths}
    for entry in listing.entries:
        folder = folder_of(entry.path)
        taken = entry.path in found.tables or is_about(entry.path) or key_of(entry.path)[0] in own
        if folder not in known or entry.kind not in (BARE, YOLO) or taken or not 0 < entry.size <= MOST_BYTES:
            continue
        try:
            rows = _rows(listing.read(entry.path).decode("utf-8-sig"), entry.path.rpartition("/")[2], known[folder])
        except (*ODD, UnicodeDecodeError):
            continue
        if not rows:
            continue
        lost = Counter(str(row[KEY]) for row in rows if row[KEY] not in known[folder])
        for row in rows:
            if (path := known[folder].get(str(row.pop(KEY)))) is not None:
                found.add(path, row)
        found.tables.append(entry.path)
        found.joined.append(Table(entry.path, BARE, KEY, by_stem=False, fields=tuple(rows[0])))
        found.problems += [
            Unreadable(
                "dangling-reference", f"names {escaped(key, 80)}, which is not there", file=entry.path, key=escaped(key)
            )
            for key in list(lost)[:MOST_TOLD]
        ]


def _keys(found: Annotations) -> dict[str, dict[str, str]]:
    """By folder, the samples by the number that a table without a header gives each."""
    keys: dict[str, dict[str, str]] = {}
    for table in found.joined:
        if table.kind != BARE or len(table.fields) != 1:
            continue
        [field] = table.fields
        told = {str(found.rows[path][field]): path for path in table.paths.values() if field in found.rows[path]}
        if len(told) == len(table.paths) > 1:
            keys[folder_of(table.path)] = told
    return keys


def _rows(text: str, name: str, keys: dict[str, str]) -> list[Row]:
    """The rows, their columns called after the file; none where the first column is not the number of a sample each."""
    cells = [line.split() for line in text.splitlines() if line.strip()]
    width = len(cells[0])
    distinct = {row[0] for row in cells} & keys.keys()
    even = width > 1 and all(len(row) == width for row in cells)
    if (
        not all(map(str.isdigit, keys))
        and len(cells) == len({row[0] for row in cells})
        and (not even or is_prose([row[1:] for row in cells]))
    ):  # the rest of a line is one text
        cells = [[row[0], " ".join(row[1:])] for row in cells]
        width, even = 2, True
    if not even or 2 * len(distinct) < len(keys) or not len(cells) >= len(distinct) >= NEARLY_ALL * len(cells):
        return []
    stem = name.rpartition(".")[0] or name
    rows: list[Row] = [{KEY: row[0], **dict(zip(_called(stem, width - 1), row[1:], strict=True))} for row in cells]
    typed(rows, KEY)
    values = [list(row.values())[1:] for row in rows]
    if set(words(stem)) & BOX_WORDS and width == 5 and all(isinstance(v, int | float) for of in values for v in of):
        return [{KEY: row[KEY], "boxes": [_box(sides)]} for row, sides in zip(rows, values, strict=True)]
    return rows


def _called(stem: str, columns: int) -> list[str]:
    person = next((PERSONS[word] for word in words(stem) if word in PERSONS), stem)
    return [person] if columns == 1 else [f"{stem}_{i}" for i in range(1, columns + 1)]


def _box(sides: list[Any]) -> list[float]:
    """Left, top, right and bottom, from left, top, width and height."""
    x, y, width, height = map(float, sides)
    return [x, y, x + width, y + height]

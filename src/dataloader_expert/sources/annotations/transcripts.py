"""Columns without a name that hold what a recording or an image says, or what an image shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dataloader_expert.sources.annotations.record import NAMELESS, NEARLY_ALL, Annotations
from dataloader_expert.sources.layout import tokens

SAID, SHOWN = "text", "caption"
"""What such a column is called: one text of each file is what it says, and several of an image describe it."""
MOST_CLASSES = 10
"""Rows to each distinct value from which on the values are rather classes."""
_BETWEEN_WORDS = re.compile(r"[\s|]+")
_CODE = re.compile(r"[0-9a-fA-F-]{6,}")
"""A hash or a number, which is no word."""
OF_TEXTS = {
    "words",
    "word",
    "lines",
    "sentences",
    "transcripts",
    "transcript",
    "transcription",
    "transcriptions",
    "texts",
    "text",
    "ocr",
}
"""Words in the names of tables that list what files say."""
FEWEST_WORDS = 10
"""The fewest different words in the last column of such a table."""


def name_texts(found: Annotations) -> None:
    """Names the columns of texts, of all tables alike: those of a few rows each would tell too little."""
    columns = dict.fromkeys(name for row in found.rows.values() for name in row)
    nameless = {c: [row[c] for row in found.rows.values() if c in row] for c in columns if NAMELESS.fullmatch(c)}
    last = {
        table.fields[-1]
        for table in found.joined
        if table.fields and {*tokens(table.path.rpartition("/")[2])} & OF_TEXTS
    }
    texts = [
        c
        for c, values in nameless.items()
        if is_text([text for v in values for text in (v if isinstance(v, list) else [v])])
        or (c in last and _are_words(values))
    ]
    several = any(isinstance(value, list) for column in texts for value in nameless[column])
    name = SHOWN if several and found.images else SAID
    if not texts or name in columns:
        return
    called = {column: name if not i else f"{name}_{i + 1}" for i, column in enumerate(texts)}
    found.said = list(called.values())
    found.rows = {path: {called.get(c, c): value for c, value in row.items()} for path, row in found.rows.items()}
    found.joined = [replace(table, fields=tuple(called.get(c, c) for c in table.fields)) for table in found.joined]


def is_text(values: Sequence[object]) -> bool:
    """Whether these are texts rather than classes, identifiers or paths: most have more words than a name has, or several and are many,
    or hardly any comes again and they are not written alike but for their numbers."""
    texts = [value for value in values if isinstance(value, str)]
    distinct = {*texts}
    if not texts or len(texts) < NEARLY_ALL * len(values) or len(distinct) < 3:
        return False
    words_of = [len(_BETWEEN_WORDS.split(text)) for text in texts]
    if 2 * sum(words > 2 for words in words_of) >= len(texts):
        return True
    if len(distinct) <= max(2, len(texts) // MOST_CLASSES):
        return False
    if 2 * sum(words > 1 for words in words_of) >= len(texts):
        return True
    forms = {re.sub(r"\d+", "0", text) for text in distinct}
    words = [t for t in distinct if any(map(str.isalpha, t)) and "/" not in t and not _CODE.fullmatch(t)]
    return 2 * len(distinct) >= len(texts) and 2 * len(forms) >= len(distinct) and 2 * len(words) >= len(distinct)


def _are_words(values: Sequence[object]) -> bool:
    """Whether these are words, of which there are many, and no codes."""
    distinct = {value for value in values if isinstance(value, str)}
    words = sum(any(map(str.isalpha, text)) and "/" not in text and not _CODE.fullmatch(text) for text in distinct)
    return len(distinct) >= FEWEST_WORDS and 2 * words >= len(distinct) and len(distinct) * MOST_CLASSES > len(values)


def is_prose(rows: Sequence[Sequence[str]]) -> bool:
    """Whether cells between blanks are the words of one text each: letters alone, of which many stand in several columns."""
    if not rows or not all(_is_word(cell) for row in rows for cell in row):
        return False
    columns = [set(column) for column in zip(*rows, strict=False)]
    return len(columns) > 2 and 5 * len(set[str]().union(*columns)) <= 4 * sum(map(len, columns))


def _is_word(cell: str) -> bool:
    return any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell))

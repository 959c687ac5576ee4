"""Fields of a table, from the values of its columns: numbers, categories, sentences, titles, conversations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dataloader_expert.sources.arrays import plain_dtype
from dataloader_expert.sources.base import Block, Column, Field
from dataloader_expert.sources.roles import words
from dataloader_expert.sources.turns import is_turn

MAX_CLASSES = 100
SENTENCE = 20
"""Characters of a text, on average, from which on it is no name of a category."""
ASKED_OF, ANSWERS = {"input", "inputs", "context"}, {"output", "response", "completion", "answer"}
"""Words in the names of what an instruction is about, and of texts that answer it."""
TALKS = 64
"""Values of a field that show whether it holds conversations."""
PHRASES, OFTEN = 3, 3
"""The fewest texts that each come again so often from which on short ones are phrases of the language, and no copies."""
SHORTEST, FEWEST, UNLIKELY = 10, 5, 12.0
"""The part of texts that is short, one in so many; the fewest of these that come again; and how improbable that must be by chance, as
the negative logarithm."""
TITLE = 12
"""Words of a text, in the median, up to which it is a name, a title or an address."""
GUESSED_FROM, MOST_BLOCKS = 10_000, 16
"""Rows, and blocks of them, from which the label is guessed."""


def field_of(name: str, column: Column) -> Field:
    """The field for these values."""
    import numpy as np

    from dataloader_expert.sources.arrays import array_field
    from dataloader_expert.sources.pictures import channels_of, dtype_of

    values = column.values
    if column.time:
        return Field(name, "time", "float64")
    if isinstance(values, np.ndarray):
        return array_field(name, values.dtype.str, values.shape[1:])
    present = [v for v in values if v is not None]
    if not present:
        return Field(name, "other", "null")
    first = present[0]
    if isinstance(first, str):
        said = [str(v) for v in present if str(v).strip()]
        text = _are_sentences(said) and len(set(said)) > min(MAX_CLASSES, len(said) // 2)
        return Field(name, "text" if text else "category", "str")
    if hasattr(first, "getbands"):
        shapes = {(v.height, v.width, channels_of(v)) for v in present if hasattr(v, "getbands")}
        shape = tuple(x[0] if len(set(x)) == 1 else None for x in zip(*shapes, strict=True))
        dtypes = Counter(dtype_of(v) for v in present if hasattr(v, "getbands"))
        return Field(name, "image", dtypes.most_common(1)[0][0], shape)
    if isinstance(first, np.ndarray):
        shapes = {v.shape for v in present if isinstance(v, np.ndarray)}
        same = len({len(s) for s in shapes}) == 1
        shape = tuple(x[0] if len(set(x)) == 1 else None for x in zip(*shapes, strict=True)) if same else (None,)
        return array_field(name, first.dtype.str, shape)
    if isinstance(first, bool | int | float):
        return Field(name, "boolean" if isinstance(first, bool) else "number", plain_dtype(np.asarray(first).dtype.str))
    return Field(name, "bytes" if isinstance(first, bytes) else "other", type(first).__name__)


def _are_sentences(values: list[Any]) -> bool:
    """Whether texts are long and of several words, for the most part."""
    if not values:
        return False
    mean = sum(len(v) for v in values if isinstance(v, str)) / len(values)
    return mean >= SENTENCE and sum(" " in v for v in values if isinstance(v, str)) > len(values) // 2


def among_texts(fields: tuple[Field, ...], label: str | None, block: Block) -> tuple[Field, ...]:
    """The fields; beside texts, a few sentences that come again and again are texts too, such as the questions to many documents, and so is
    what an instruction is about, however short: two of one instruction and answer about different things are no copies."""
    if not any(f.kind == "text" for f in fields):
        return fields

    answered = any({*words(f.name)} & ANSWERS for f in fields if f.kind == "text")

    def is_text(f: Field) -> bool:
        if f.kind != "category" or f.dtype != "str" or f.name == label or f.name not in block.columns:
            return False
        said = [v for v in block.columns[f.name].values if isinstance(v, str) and v.strip()]
        return _are_sentences(said) or bool({*words(f.name)} & ASKED_OF and answered)

    return tuple(replace(f, kind="text") if is_text(f) else f for f in fields)


def with_values(field: Field, blocks: list[Block]) -> Field:
    """The field, or what a later block says of it if its values are all missing in the first; arrays vary in the dimensions in which
    they do in any block, such as that of another split, unless nearly all of it have one shape: the others are damaged."""
    import numpy as np

    from dataloader_expert.sources.arrays import array_field, merge_shapes

    columns = [b.columns[field.name] for b in blocks if field.name in b.columns]
    if field.dtype == "null":
        found = (field_of(field.name, column) for column in columns)
        return next((f for f in found if f.dtype != "null"), field)
    if not field.shape or field.kind == "image":
        return field
    ragged = [column.values for column in columns if not isinstance(column.values, np.ndarray)]
    held = [[v.shape for v in values if isinstance(v, np.ndarray)] for values in ragged]
    alike = [shape for of in held if of and len(shape := merge_shapes(of)) == len(field.shape)]
    shape = tuple(None if None in sizes else sizes[0] for sizes in zip(field.shape, *alike, strict=True))
    return field if shape == field.shape else array_field(field.name, field.dtype, shape)


def phrase_length(rows: list[tuple[Any, ...]], sure: bool = True) -> int:
    """Up to which length lines of running text recur by nature: headings, greetings. 0 if fewer than ``PHRASES`` come again often.

    Twice the upper quartile of those, as rarer ones are longer, and a few may be copies after all; less than the median of all,
    so that texts that are there several times as a whole do not pass for such. Of rows of several texts, the first is measured.
    Not ``sure``: 0 if those that come again are not much shorter than the others; samples with labels are repeated to weigh them.
    """
    plain = [tuple(text.strip() for text in row) for row in rows if all(isinstance(text, str) for text in row)]
    counts = Counter(row for row in plain if row[0])
    often = sorted(len(row[0]) for row, n in counts.items() if n >= OFTEN)
    if len(often) < PHRASES:
        return _short_ones(counts)
    longest, usual = 2 * often[3 * (len(often) - 1) // 4], sorted(len(row[0]) for row in counts)[len(counts) // 2]
    return min(longest, usual - 1) if sure or longest < usual else 0


def _short_ones(counts: Mapping[tuple[str, ...], int]) -> int:
    """Up to which length texts recur by nature, where few do often: among the shortest tenth come again so many that chance, which
    takes copies from all lengths alike, does not make it; 0 if there are not."""
    lengths = sorted(len(row[0]) for row in counts)
    again = sorted(len(row[0]) for row, n in counts.items() if n > 1)
    limit = lengths[len(lengths) // SHORTEST] if lengths else 0
    among = [length for length in again if length <= limit]
    share = sum(length <= limit for length in lengths) / max(1, len(lengths))
    return among[-1] if len(among) >= FEWEST and _unlikely(len(among), len(again), share) else 0


def _unlikely(least: int, n: int, share: float) -> bool:
    """Whether so many of ``n`` are no chance, if each is with this probability (Chernoff's bound of the binomial tail)."""
    part = least / n
    if part <= share:
        return False
    rest = (1 - part) * math.log((1 - part) / (1 - share)) if part < 1 else 0.0
    return n * (part * math.log(part / share) + rest) > UNLIKELY


def records(rows: list[tuple[Any, ...]], blocks: list[Block], others: list[Field]) -> list[tuple[Any, ...]]:
    """The texts of rows once for each of the other values that they come with: rows that are the same throughout are copies, and
    texts that come again in records of their own, such as the first moves of a game, recur by nature."""
    values = [list(map(str, values_in(blocks, f.name)[: len(rows)])) for f in others]
    plain = (one for one in zip(rows, *values, strict=True) if all(isinstance(text, str) for text in one[0]))
    return [row for row, *_ in dict.fromkeys(plain)]


def are_titles(values: list[Any]) -> bool:
    """Whether most of the texts are of few words, as names, titles and addresses are."""
    counts = sorted(len(v.split()) for v in values if isinstance(v, str) and v.strip())
    return bool(counts) and counts[len(counts) // 2] <= TITLE


def has_turns(field: Field, blocks: list[Block]) -> bool:
    """Whether it holds conversations: lists of objects that mostly have a role and a text."""
    if field.kind != "other":
        return False
    values = [v for block in blocks[:1] for v in block.columns[field.name].values[:TALKS] if isinstance(v, list)]
    turns = [turn for value in values for turn in value if isinstance(turn, dict)]
    return bool(turns) and 2 * sum(map(is_turn, turns)) > len(turns)


def values_in(blocks: list[Block], name: str) -> list[Any]:
    parts = [b.columns[name].values for b in blocks if name in b.columns]
    return [v for part in parts for v in (part.tolist() if hasattr(part, "tolist") else part)]


def is_quantity(values: list[Any]) -> bool:
    """Whether numbers are an amount, such as a price, rather than classes: many, most of them once, and far apart."""
    there = {v for v in values if isinstance(v, int | float)}
    return len(there) > max(2, len(values) // 10) and max(there) - min(there) >= 2 * len(there)

"""What a Parquet footer says that ends the process when Arrow looks at it: histograms of levels of another length than the schema's levels,
and bytes of texts in a column of another type.

Arrow checks them in code that cannot raise, so they are read here beforehand, by the Thrift compact protocol
(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md) and ``parquet.thrift``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

MOST_BYTES = 1 << 20
"""Of a longer footer, which takes seconds to read here, nothing is said."""
DEEPEST = 64
OPTIONAL, REPEATED = 1, 2
"""Any other kind is taken for required."""
SCHEMA, ROW_GROUPS = 2, 4
TYPE, REPETITION, CHILDREN, BYTE_ARRAY = 1, 3, 5, 6
COLUMNS, COLUMN, SIZES = 1, 3, 16
OF_TEXTS, OF_REPETITION, OF_DEFINITION = 1, 2, 3
INT32, INT64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
Kind: TypeAlias = "int | dict[int, Any]"
OF_CHUNK: dict[int, Any] = {2: [INT32], 3: [BINARY], 8: [{}], 13: [{}], SIZES: {2: [INT64], 3: [INT64]}}
OF_FILE: dict[int, Any] = {
    SCHEMA: [{}],
    ROW_GROUPS: [{COLUMNS: [{COLUMN: OF_CHUNK}], 4: [{}]}],
    5: [{}],
    7: [{}],
}
"""The lists of a footer and what their elements are: Thrift's readers take them for that, whatever the list itself says."""


def ends_the_process(footer: bytes) -> bool:
    """Whether a column chunk has a histogram of levels that is not as long as its column has levels, or counts the bytes of texts although its
    column has another type."""
    if len(footer) > MOST_BYTES:
        return False
    try:
        known, _ = _struct(footer, 0, 0, OF_FILE)
        levels = list(_levels(known.get(SCHEMA, [])))
        for group in known.get(ROW_GROUPS, []):
            for chunk, (repetition, definition, type_) in zip(group.get(COLUMNS, []), levels, strict=False):
                sizes = chunk.get(COLUMN, {}).get(SIZES, {})
                if OF_TEXTS in sizes and type_ != BYTE_ARRAY:
                    return True
                for field, most in ((OF_REPETITION, repetition), (OF_DEFINITION, definition)):
                    if len(sizes.get(field, [])) not in (0, most + 1):
                        return True
    except (IndexError, AttributeError, TypeError, ValueError, RecursionError):
        return False  # no footer at all, which Arrow refuses itself
    return False


def _levels(elements: list[dict[int, Any]]) -> Iterator[tuple[int, int, Any]]:
    """The largest repetition and definition level of each column and its type, from the schema's elements, parents first."""
    above: list[tuple[int, int, int]] = []  # children that are still to come, and the parent's levels
    for place, element in enumerate(elements):
        while above and not above[-1][0]:
            above.pop()
        repetition, definition = above[-1][1:] if above else (0, 0)
        if above:
            above[-1] = above[-1][0] - 1, repetition, definition
        if place:  # the first is the table itself
            kind = element.get(REPETITION)
            repetition, definition = repetition + (kind == REPEATED), definition + (kind in (OPTIONAL, REPEATED))
        children = element.get(CHILDREN, 0)
        if children:
            above.append((children, repetition, definition))
        elif place:
            yield repetition, definition, element.get(TYPE)


def _struct(data: bytes, at: int, depth: int, of: dict[int, Any]) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where it ends."""
    if depth > DEEPEST:
        raise ValueError("too deep")
    fields: dict[int, Any] = {}
    number = 0
    while data[at] & 15:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if step:
            number += step
        else:
            coded, at = _varint(data, at)
            number = _signed(coded)
        known = of.get(number)
        if kind in (1, 2):
            fields[number] = kind == 1
        elif kind == LIST and isinstance(known, list):
            fields[number], at = _list(data, at, depth, known[0])
        else:
            fields[number], at = _value(data, at, known if kind == STRUCT and isinstance(known, dict) else kind, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: Kind, depth: int) -> tuple[Any, int]:
    """One value; a struct by its fields, where these are known."""
    if isinstance(kind, dict):
        return _struct(data, at, depth + 1, kind)
    if kind in (1, 2):  # a boolean in a list
        return data[at] == 1, at + 1
    if kind == 3:
        return data[at], at + 1
    if kind in (4, INT32, INT64):
        coded, at = _varint(data, at)
        return _signed(coded), at
    if kind == 7:
        return None, at + 8
    if kind == BINARY:
        size, at = _varint(data, at)
        return None, at + size
    if kind in (LIST, 10):
        return _list(data, at, depth)
    if kind == STRUCT:
        return _struct(data, at, depth + 1, {})
    raise ValueError(f"a value of type {kind}")


def _list(data: bytes, at: int, depth: int, of: Kind | None = None) -> tuple[list[Any], int]:
    """The elements; ``of``: what they are taken for."""
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _varint(data, at)
    if size > len(data):
        raise ValueError("a list longer than the footer")
    made: list[Any] = []
    for _ in range(size):
        value, at = _value(data, at, kind if of is None else of, depth)
        made.append(value)
    return made, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[at]
        found |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return found, at
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _signed(coded: int) -> int:
    """The number in zigzag form."""
    return (coded >> 1) ^ -(coded & 1)

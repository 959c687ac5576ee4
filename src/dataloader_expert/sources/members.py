"""Members of objects as fields of their own: of ``{"en": …, "de": …}`` in a field ``translation`` the fields ``translation.en`` and
``translation.de``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.records import columns_of_records
from dataloader_expert.sources.turns import is_turn

Members = Mapping[str, Sequence[str]]
"""The names of the members by that of the field."""
MOST = 64
"""Members of an object beyond which its keys are data."""
HELD = 0.5
"""The share of them that an object has on average, below which they are too."""
DEEPEST = 4
STARTS = ("start", "begin", "start_offset", "start_char", "char_start", "answer_start", "offset")
ENDS = ("end", "stop", "end_offset", "end_char", "char_end", "answer_end")
SAID = ("text", "value", "word", "surface", "mention", "quote")
"""Keys of an object that is a span of a text, with its words."""
PLAIN = (str, bool, int, float, type(None))


def members_of(blocks: Iterable[Block]) -> dict[str, list[str]]:
    """The members of those fields whose values are objects of texts and numbers alone, with the same keys for the most part.

    Objects with lists stay as they are: their lists belong together, such as the texts and starts of answers. So do turns of a
    conversation, and spans of a text.
    """
    blocks = list(blocks)
    names = list(dict.fromkeys(name for block in blocks for name in block.columns))
    found = {}
    for name in names:
        objects = [v for b in blocks if name in b.columns for v in _list(b.columns[name]) if v is not None]
        if not objects or not all(isinstance(v, dict) and v and not _whole(v) for v in objects):
            continue
        rows = [dict(flattened(v, name)) for v in objects]
        keys = list(dict.fromkeys(key for row in rows for key in row))
        plain = all(isinstance(v, PLAIN) for row in rows for v in row.values())
        usual = len(keys) <= MOST and sum(map(len, rows)) >= HELD * len(rows) * len(keys)
        if plain and usual and not {*keys} & {*names}:
            found[name] = keys
    return found


def _whole(value: dict[str, Any]) -> bool:
    """Whether an object is one thing: a turn, or a span."""
    return is_turn(value) or (any(key in value for key in STARTS) and any(key in value for key in (*ENDS, *SAID)))


def flattened(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The values in an object and the objects within it, each with its path."""
    for key, inner in value.items():
        if isinstance(inner, dict) and inner and depth < DEEPEST:
            yield from flattened(inner, f"{name}.{key}", depth + 1)
        else:
            yield f"{name}.{key}", inner


def with_members(block: Block, members: Members) -> Block:
    """The block with the members in place of these fields; what is no such object, or has other keys, is among its problems."""
    columns: dict[str, Column] = {}
    problems = list(block.problems)
    for name, column in block.columns.items():
        if name not in members:
            columns[name] = column
            continue
        known = dict.fromkeys(members[name])
        rows: list[dict[str, Any]] = []
        for i, value in enumerate(_list(column)):
            row = dict(flattened(value, name)) if isinstance(value, dict) else {}
            other = next((key for key in row if key not in known), None)
            where: dict[str, Any] = {"file": block.file(i), "sample": block.index(i), "field": name}
            if value is not None and not isinstance(value, dict):
                text = f"{name} is not an object here, as it is in most samples"
                problems.append(Unreadable("dtype-drift", text, **where))
            elif other is not None:
                problems.append(Unreadable("extra-key", f"{other} is in few samples and is not read", **where))
            rows.append({key: row.get(key) for key in known})
        columns |= columns_of_records(rows, list(known))
    return Block(block.unit, columns, block.raw, problems, block.views, block.rows)


def stored_names(names: Iterable[str], members: Members) -> list[str]:
    """The fields as they are stored: those of objects for their members."""
    of = {key: name for name, keys in members.items() for key in keys}
    return list(dict.fromkeys(of.get(name, name) for name in names))


def _list(column: Column) -> Any:
    return column.values if isinstance(column.values, list) else ()

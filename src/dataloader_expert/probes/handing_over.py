"""Modules that are handed over: constants as literals, and the source of our own functions, which need no import of ours.

Names of the data enter as literals of ASCII alone, and so can end neither a string nor a line.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dataloader_expert.sources import plain
from dataloader_expert.sources.answer_files import Answers
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.packed import unpacked_name
from dataloader_expert.sources.plain import READERS
from dataloader_expert.sources.samples import FileSamples

PACKED = {
    **{kind: {".gz", ".bz2", ".xz"} for kind in ("csv", "tsv", "delimited", "jsonl", "json", "lines")},
    "idx": {".gz"},
}
"""How files may be compressed that plain readers read."""
Reader = Callable[[Path], Iterator[plain.Sample]]
CONSTANTS = (
    "ROWS",
    "COLUMNS",
    "TEXTS",
    "DELIMITER",
    "DECIMAL",
    "SPACED",
    "CLOSED",
    "NAMES",
    "BEFORE",
    "BESIDE",
    "ANSWERS",
    "NULLS",
    "OFFSETS",
    "PICKLED",
    "CLASS_NAMES",
    "KEY_POINTS",
    "DEPTH",
    "MEMBERS",
    "IDS",
    "HEADER",
    "WINDOW",
)
"""What readers look up."""


def literals(constants: Mapping[str, Any]) -> str:
    """One assignment a line; sets in order, so that the same data give the same module."""
    return "".join(f"{name} = {_literal(value)}\n" for name, value in constants.items())


def _literal(value: Any) -> str:
    in_order = isinstance(value, set | frozenset) and value
    return f"{{{', '.join(f'{one!a}' for one in sorted(value))}}}" if in_order else f"{value!a}"


def sources_of(parts: Iterable[Any], reader: Reader, in_members: bool = False) -> str:
    """The source of functions and classes; what they call ``read`` is the reader. ``in_members``: of rows whose objects are taken
    apart."""
    body = "\n\n".join(inspect.getsource(one) for one in parts)
    body = re.sub(r"\bSample\b(?!\()", "dict[str, Any]", body)
    if in_members:
        body = re.sub(r"(?<![\w.])read\(path\)", "apart(read(path))", body)
    return re.sub(r"(?<![\w.])read\(", f"{reader.__name__}(", body)


def reading(source: Source, reader: Reader) -> tuple[dict[str, Any], list[Any]]:
    """The constants that the source's plain reader looks up, and the functions that it calls."""
    helpers: list[Any] = [
        one
        for one in (
            plain.opened,
            plain.read_csv,
            plain.rows_of,
            plain.members_of,
            plain.value_of,
            plain.sample_at,
            plain.flat,
            plain.exported,
        )
        if _uses(reader, one)
    ]
    helpers += [plain.apart] if getattr(source, "members", ()) else []
    text = "".join(map(inspect.getsource, (reader, *helpers)))
    dialects = list(getattr(source, "dialects", {}).values())
    known: dict[str, Any] = {name: getattr(plain, name) for name in CONSTANTS}
    known["ROWS"] = any(unit.samples > 1 for unit in source.units[:64])
    known["TEXTS"] = tuple(f.name for f in source.fields if f.dtype == "str")
    known["OFFSETS"] = tuple(
        {part.offsets for unit in source.units[:64] for part in unit.at if getattr(part, "offsets", None)}
    )
    known["PICKLED"] = tuple(sorted(getattr(source, "pickled", ())))
    known["CLASS_NAMES"] = source.notes.names if isinstance(source, FileSamples) else ()
    known["KEY_POINTS"] = source.notes.key_points if isinstance(source, FileSamples) else 0
    known["OF_SEVERAL"] = tuple(sorted(getattr(source, "shared", ())))
    known["MEMBERS"] = tuple(getattr(source, "members", ()))
    known["DEPTH"] = getattr(source, "depth", 0)
    if source.format == "token-bin":
        ((known["IDS"], known["HEADER"]),) = streams_of(source)
        known["WINDOW"] = source.fields[0].shape[0]
    known["DELIMITER"] = dialects[0].delimiter if dialects else ","
    known["DECIMAL"] = dialects[0].decimal if dialects else "."
    known["SPACED"] = bool(dialects) and dialects[0].spaced
    known["CLOSED"] = bool(dialects) and dialects[0].closed
    named = bool(dialects) and dialects[0].header and not dialects[0].units  # right above the rows
    known["NAMES"] = list(dialects[0].names) if dialects and not named else None
    answers = {os.path.basename(table): files for table, files in getattr(source, "answers", {}).items()}
    known["BESIDE"] = {
        table: {name: os.path.basename(file.path) for file in files for name in file.columns}
        for table, files in answers.items()
    }
    known["ANSWERS"] = {
        table: [(os.path.basename(file.path), file.key, dict(file.called)) for file in files]
        for table, files in answers.items()
    }
    known["BEFORE"] = (dialects[0].remarks if named else dialects[0].before) if dialects else 0
    return {name: value for name, value in known.items() if re.search(rf"\b{name}\b", text)}, [*helpers, reader]


def reader_of(source: Source) -> Reader:
    """The plain reader of the source's files."""
    of_tables = source.format in ("csv", "tsv") and getattr(source, "answers", {})
    return plain.read_answered if of_tables else READERS[source.format][0]


def streams_of(source: Source) -> set[tuple[str, int]]:
    """The dtypes of files of tokens, and the bytes before the first."""
    found: dict[str, tuple[str, int]] = {}
    for unit in source.units:
        _, file, dtype, _, at, _ = unit.at[0]
        found.setdefault(file, (dtype, at))
    return set(found.values())


def _uses(reader: Reader, helper: Any) -> bool:
    called = f"{helper.__name__}("
    by = {plain.value_of: plain.sample_at, plain.opened: plain.read_csv, plain.exported: plain.flat}.get(helper)
    return called in inspect.getsource(reader) or (by not in (None, reader) and _uses(reader, by))


def in_several_files(source: Source) -> bool:
    """Whether a sample is made from more than one: with its mask, text or row of a table beside it, or of several arrays."""
    of_several = ("partners", "annotated", "aligned")
    return any(getattr(source, name, ()) for name in of_several) or side_by_side(source)


def side_by_side(source: Source) -> bool:
    return source.format in ("npy", "idx") and not getattr(source, "partners", ()) and any(u.at for u in source.units)


def unread(source: Source) -> str | None:
    """What of these data no plain reader reads; None: nothing."""
    packed = {Path(unit.file).suffix for unit in source.units[:64] if unpacked_name(unit.file) != unit.file}
    if packed - PACKED.get(source.format, set()):
        return "files that are compressed so"
    if source.iterable:
        return "a stream"
    if getattr(source, "several", None) is not None:
        return "cells that list several labels"
    if (
        len(
            {
                (d.delimiter, d.spaced, d.closed, d.decimal, d.remarks, d.header or d.names)
                for d in getattr(source, "dialects", {}).values()
            }
        )
        > 1
    ):
        return "tables that are written in several ways"
    if any(d.short for d in getattr(source, "dialects", {}).values()):
        return "tables whose header lacks a name"
    if any(d.units for d in getattr(source, "dialects", {}).values()):
        return "tables with a line of units below the header"
    if any(d.repeated for d in getattr(source, "dialects", {}).values()):
        return "tables whose headers repeat a name"
    if getattr(source, "class_of", {}):
        return "files of many samples whose names, or whose folders, are classes"
    if source.format == "text" and getattr(source, "width", None):
        return "texts of rows of numbers"
    if source.format == "lines" and [field.name for field in source.fields] != ["text"]:
        return "lines that belong together, and tagged tokens"
    if source.format == "token-bin" and len(streams_of(source)) > 1:
        return "tokens of several widths"
    answers: dict[str, list[Answers]] = getattr(source, "answers", {})
    files = [file for of in answers.values() for file in of]
    if any(getattr(column.values, "ndim", 1) > 1 for file in files for column in file.columns.values()):
        return "matrices in files of their own"
    in_order = getattr(source, "aligned", ()) and not answers  # lines of text
    if (
        in_order
        or len({os.path.basename(table) for table in answers}) < len(answers)
        or not all(f.plain for f in files)
    ):
        return "fields in files of their own"
    return None if source.format in READERS else f"the format {source.format}"

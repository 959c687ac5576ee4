"""Modules that are handed over: constants as literals, and the source of our own functions, which need no import of ours.

Names of the data enter as literals of ASCII alone, and so can end neither a string nor a line.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dataloader_expert.sources import plain
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.plain import READERS
from dataloader_expert.sources.samples import FileSamples

Reader = Callable[[Path], Iterator[plain.Sample]]
CONSTANTS = ("ROWS", "COLUMNS", "TEXTS", "DELIMITER", "NAMES", "NULLS", "OFFSETS", "CLASS_NAMES")
"""What readers look up."""


def literals(constants: Mapping[str, Any]) -> str:
    """One assignment a line."""
    return "".join(f"{name} = {value!a}\n" for name, value in constants.items())


def sources_of(parts: Iterable[Any], reader: Reader) -> str:
    """The source of functions and classes; what they call ``read`` is the reader."""
    body = "\n\n".join(inspect.getsource(one) for one in parts)
    body = re.sub(r"\bSample\b(?!\()", "dict[str, Any]", body)
    return re.sub(r"(?<![\w.])read\(", f"{reader.__name__}(", body)


def reading(source: Source, reader: Reader) -> tuple[dict[str, Any], list[Any]]:
    """The constants that the source's plain reader looks up, and the functions that it calls."""
    helpers = [one for one in (plain.rows_of, plain.members_of, plain.value_of, plain.sample_at) if _uses(reader, one)]
    text = "".join(map(inspect.getsource, (reader, *helpers)))
    dialects = list(getattr(source, "dialects", {}).values())
    known: dict[str, Any] = {name: getattr(plain, name) for name in CONSTANTS}
    known["ROWS"] = any(unit.samples > 1 for unit in source.units[:64])
    known["TEXTS"] = tuple(f.name for f in source.fields if f.dtype == "str")
    known["OFFSETS"] = tuple(
        {part.offsets for unit in source.units[:64] for part in unit.at if getattr(part, "offsets", None)}
    )
    known["CLASS_NAMES"] = source.notes.names if isinstance(source, FileSamples) else ()
    known["DELIMITER"] = dialects[0].delimiter if dialects else ","
    known["NAMES"] = list(dialects[0].names) if dialects and not dialects[0].header else None
    return {name: value for name, value in known.items() if re.search(rf"\b{name}\b", text)}, [*helpers, reader]


def _uses(reader: Reader, helper: Any) -> bool:
    called = f"{helper.__name__}("
    return called in inspect.getsource(reader) or (helper is plain.value_of and _uses(reader, plain.sample_at))


def in_several_files(source: Source) -> bool:
    """Whether a sample is made from more than one: with its mask, text or row of a table beside it, or of several arrays."""
    return bool(getattr(source, "partners", ()) or getattr(source, "annotated", ())) or side_by_side(source)


def side_by_side(source: Source) -> bool:
    return source.format == "npy" and any(unit.at for unit in source.units)


def unread(source: Source) -> str | None:
    """What of these data no plain reader reads; None: nothing."""
    if source.iterable:
        return "a stream"
    if len({(d.delimiter, d.header or d.names) for d in getattr(source, "dialects", {}).values()}) > 1:
        return "tables that are written in several ways"
    if any(d.repeated for d in getattr(source, "dialects", {}).values()):
        return "tables whose headers repeat a name"
    return None if source.format in READERS else f"the format {source.format}"

"""Files and directories that are never half written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

LAST = "config.json"
"""Without it a directory is no data set: the first to go and the last to come."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside ``path`` that takes its place when the block ends, and is dropped if it raises; makes folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(value: object, path: Path) -> None:
    """Writes ``value``, indented, in UTF-8."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    with replacing(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


@contextmanager
def staged(output_dir: Path) -> Iterator[Path]:
    """A folder beside ``output_dir``, whose files are moved there when the block ends, and dropped if it raises.

    Files of other names that are in ``output_dir`` already stay. If ``output_dir`` is a file: a ``NotADirectoryError``.
    """
    if output_dir.exists() and not output_dir.is_dir():
        raise NotADirectoryError(f"{output_dir} is a file; name a folder, or one that does not exist yet")
    place = output_dir.absolute()
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = place.with_name(f".{place.name}.building-{uuid4().hex[:8]}")
    folder.mkdir()
    try:
        yield folder
        if not place.exists():
            folder.replace(place)
            return
        for name in (LAST, "inspection.json"):
            (place / name).unlink(missing_ok=True)
        for path in sorted(folder.iterdir(), key=lambda path: path.name == LAST):
            shutil.move(path, place / path.name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""A directory that is written atomically."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

LAST = "config.json"
"""Without it a directory is no data set: the first to go and the last to come."""
OURS = (LAST, "inspection.json")


@contextmanager
def staged(output_dir: Path) -> Iterator[Path]:
    """A folder beside ``output_dir``, whose files are moved there when the block ends, and dropped if it raises.

    Files of other names that are in ``output_dir`` already stay.

    Raises:
        NotADirectoryError: if ``output_dir`` is a file.
    """
    if output_dir.exists() and not output_dir.is_dir():
        raise NotADirectoryError(f"{output_dir} is a file; name a folder, or one that does not exist yet")
    place = output_dir.absolute()
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = place.with_name(f".{place.name}.building-{uuid4().hex[:8]}")
    folder.mkdir()
    try:
        yield folder
        _publish(folder, place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish(folder: Path, place: Path) -> None:
    if not place.exists():
        folder.replace(place)
        return
    for name in OURS:
        (place / name).unlink(missing_ok=True)
    for path in sorted(folder.iterdir(), key=lambda path: path.name == LAST):
        shutil.move(path, place / path.name)

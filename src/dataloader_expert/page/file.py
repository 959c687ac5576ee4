"""The page as a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.page.rendering import page

if TYPE_CHECKING:
    from dataloader_expert.report import Report


def may_write(path: Path, option: str = "--html") -> None:
    """Called before anything is measured, so that no time is spent on a report that cannot be written.

    Raises:
        RequestError: ``invalid-argument`` if the file cannot be written.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise RequestError("invalid-argument", f"{option} {escaped(path)} is a folder; name a file in it")
    if path.exists() and not path.is_file():  # writing would replace a device or a pipe
        raise RequestError("invalid-argument", f"{option} {escaped(path)} is not a regular file; name another")
    if not folder.is_dir():
        raise RequestError("invalid-argument", f"{option} {escaped(path)}: its folder does not exist; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RequestError("invalid-argument", f"{option} {escaped(path)}: its folder cannot be written to")


def write(report: Report, path: Path) -> None:
    """Writes the report's page; see ``keep``."""
    keep(page(report), path)


def keep(html: str, path: Path) -> None:
    """Writes the whole file or nothing.

    Raises:
        RequestError: ``invalid-argument`` if it cannot be written.
    """
    may_write(path)
    target = path.absolute()
    spare: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, suffix=".html", delete=False
        ) as file:
            spare = Path(file.name)
            file.write(html)
        mask = os.umask(0)
        os.umask(mask)
        spare.chmod(0o666 & ~mask)  # a temporary file is readable by its owner only; this one gets the usual mode
        spare.replace(target)
    except OSError as e:
        if spare is not None:
            spare.unlink(missing_ok=True)
        raise RequestError("invalid-argument", f"--html {escaped(path)} cannot be written: {e.strerror or e}") from None

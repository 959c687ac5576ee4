"""Reading and writing configuration files: completely or not at all, and never over somebody else's change."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from dataloader_expert.errors import RequestError, escaped

MOST_BYTES = 64 << 20


def content(path: Path) -> str | None:
    """The file's text, with its line endings and byte order mark; None if there is no file.

    Raises:
        RequestError: ``invalid-argument`` if it is not a readable UTF-8 file.
    """
    try:
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind):
            raise RequestError("invalid-argument", f"{escaped(path)} is not a file; nothing was changed")
        if path.stat().st_size > MOST_BYTES:
            raise RequestError("invalid-argument", f"{escaped(path)} is larger than 64 MiB; nothing was changed")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as e:
        raise RequestError(
            "invalid-argument",
            f"{escaped(path)} is not UTF-8 (byte {e.start}); nothing was changed: save it as UTF-8 and try again",
        ) from None
    except OSError as e:
        raise RequestError("invalid-argument", f"{escaped(path)} cannot be read: {e.strerror}") from None


def replaced(path: Path, text: str, mode: int | None = None) -> None:
    """Writes the whole text to a temporary file that then replaces the file; a link stays a link, and the mode is kept.

    Raises:
        RequestError: ``invalid-argument`` if it cannot be written; the file is then unchanged.
    """
    target = Path(os.path.realpath(path))
    spare = None
    try:
        keep = stat.S_IMODE(target.stat().st_mode) if target.exists() else mode
        descriptor, spare = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(spare, keep if keep is not None else 0o666 & ~_umask())
        os.replace(spare, target)
    except OSError as e:
        if spare is not None:
            with contextlib.suppress(OSError):
                os.unlink(spare)
        raise RequestError(
            "invalid-argument", f"{escaped(path)} cannot be written: {e.strerror}; nothing was changed"
        ) from None


def missing_folders(path: Path) -> tuple[str, ...]:
    """The missing folders above the file, innermost first."""
    return tuple(str(folder) for folder in path.parents if not folder.exists())


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask

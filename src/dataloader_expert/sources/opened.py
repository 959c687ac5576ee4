"""The one way to read a file: opened below the roots, of known size, with every fault an ``Unreadable`` that names the file."""

from __future__ import annotations

import io
import os
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.magic import UTF_16
from dataloader_expert.sources.packed import HEAD, is_wide, mark_of, may_be_text, may_be_wide, unpacked

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class OpenFile(io.RawIOBase):
    """A regular file below a root, open for reading; libraries may use it as a file object.

    Args:
        path: the file.
        roots: its real path must be below one of them.
        name: its name in findings; None: the file's name.
        unpack: whether a compressed file of a known format is read as what it holds; see ``packed``.

    Raises:
        Unreadable: ``special-file``, ``outside-root``, ``broken-link`` or ``unreadable``, here and in every read.
    """

    def __init__(self, path: str | Path, roots: tuple[str, ...], name: str | None = None, unpack: bool = False) -> None:
        super().__init__()
        self.called = os.path.basename(path) if name is None else name
        self._fd = -1
        self._at = 0
        self._fd = open_below(path, roots, self.called)
        self.size = self.stored = os.fstat(self._fd).st_size
        self._base, self.packed = 0, False
        mark = mark_of(self.called) if unpack else None
        try:
            head = b"" if mark is None else self.upto(0, HEAD)
            wide = unpack and mark is None and may_be_wide(self.called) and self.upto(0, 2) in UTF_16
            packed = mark is not None and head.startswith(mark) and may_be_text(self.called, head)
            if packed or (wide and is_wide(self.called, self.upto(0, HEAD))):
                shared, self._base, self.size = unpacked(self._fd, self.called)
                stored, self._fd, self.packed = self._fd, os.dup(shared), True
                os.close(stored)
        except Unreadable:
            self.close()
            raise

    def exactly(self, start: int, length: int) -> bytes:
        """These bytes.

        Raises:
            Unreadable: ``truncated`` or ``changed-while-read`` if the file ends before them.
        """
        data = self.upto(start, length)
        if len(data) < length:
            code = "truncated" if start + length > self.size else "changed-while-read"
            text = f"ends after {len(data):,} of {length:,} bytes from byte {start:,}"
            raise Unreadable(code, text, file=self.called)
        return data

    def upto(self, start: int, length: int) -> bytes:
        """At most ``length`` bytes, fewer only at the end of the file. The system returns at most 2 GiB at once, so reads are repeated."""
        length = min(length, max(0, self.size - start))
        parts: list[bytes] = []
        while length > 0:
            try:
                part = os.pread(self._fd, length, self._base + start)
            except OSError as e:
                raise self._failed(e) from None
            if not part:
                break
            parts.append(part)
            start, length = start + len(part), length - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def whole(self) -> bytes:
        """All bytes; ``changed-while-read`` if the file grew or shrank meanwhile."""
        data = self.upto(0, self.size)
        now = self.size if self.packed else os.fstat(self._fd).st_size
        if len(data) != self.size or now != self.size:
            text = f"{self.size:,} bytes before reading, {len(data):,} read, {now:,} now"
            raise Unreadable("changed-while-read", text, file=self.called)
        return data

    def _failed(self, error: OSError) -> Unreadable:
        return Unreadable("unreadable", f"cannot be read: {error.strerror or error}", file=self.called)

    # what io.RawIOBase requires, so that pyarrow and zipfile read through this class too

    def fileno(self) -> int:
        if self.packed:
            raise io.UnsupportedOperation("a part of another file")
        return self._fd

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self.size)[whence])
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self.upto(self._at, len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed and self._fd >= 0:
            os.close(self._fd)
        super().close()


def open_below(path: str | Path, roots: tuple[str, ...], called: str) -> int:
    """A read-only descriptor of a regular file whose real path is below a root.

    The descriptor is checked, not the name, so replacing a file by a link between check and use does not help an attacker.

    Raises:
        Unreadable: ``special-file``, ``outside-root``, ``broken-link`` or ``unreadable``.
    """
    name = escaped(called)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Unreadable("special-file", "not a regular file; never opened", file=name)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as e:  # ValueError: NUL in the name
        code = "broken-link" if os.path.islink(path) else "unreadable"
        raise Unreadable(code, f"cannot be opened: {getattr(e, 'strerror', None) or e}", file=name) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Unreadable("special-file", "not a regular file; not opened", file=name)
        try:
            real = os.readlink(f"/proc/self/fd/{fd}")  # the kernel's resolved path of what was opened
        except OSError:
            real = os.path.realpath(path)
        if not below(real, roots):
            raise Unreadable("outside-root", "leads outside the roots; not read", file=name)
    except OSError as e:
        os.close(fd)
        raise Unreadable("unreadable", f"cannot be opened: {e.strerror}", file=name) from None
    except Unreadable:
        os.close(fd)
        raise
    return fd


def below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == r or path.startswith(r.rstrip("/") + "/") for r in _resolved(roots))


@cache
def _resolved(roots: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(os.path.realpath, roots))

"""Files below the roots, opened safely: never a FIFO, never out of the roots, never a link's surprise."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from dataloader_expert.errors import RequestError, Unreadable, shown
from dataloader_expert.sources.magic import kind_of

JUNK = {".DS_Store", "Thumbs.db", "desktop.ini", ".directory", ".gitkeep", ".gitattributes", ".gitignore"}
ABOUT = {"readme", "readme.md", "readme.txt", "license", "license.txt", "license.md", "licence", "licence.txt"}
"""Files about a data set, not of it."""

SIDE_FILES = {
    "classes.txt",
    "labels.txt",
    "class_names.txt",
    "classes.json",
    "labels.json",
    "class_names.json",
    "metadata.json",
    "dataset_info.json",
    "dataset_dict.json",
    "state.json",
    "config.json",
    "info.json",
    "package.json",
}
"""Files that describe the samples beside them."""

MAX_DEPTH = 40
MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Entry:
    """A regular file: path below the base, size in bytes, kind (see ``magic``) or None."""

    path: str
    size: int
    kind: str | None


@dataclass
class Listing:
    """The files of a source. ``base`` is what paths are relative to; ``single``: the user named one file."""

    base: Path
    roots: tuple[str, ...]
    entries: list[Entry] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    problems: list[Unreadable] = field(default_factory=list)
    single: bool = False

    def of(self, kinds: frozenset[str]) -> list[Entry]:
        return [e for e in self.entries if e.kind in kinds and not is_about(e.path)]

    def find(self, *names: str) -> Entry | None:
        return next((e for e in self.entries if e.path in names), None)

    def read(self, path: str, limit: int = MAX_BYTES) -> bytes:
        """The bytes of one file.

        Raises:
            Unreadable: if it is special, outside the roots, larger than ``limit``, or gone.
        """
        fd = open_below(self.base / path, self.roots)
        with os.fdopen(fd, "rb", buffering=0) as f:
            size = os.fstat(fd).st_size
            if size > limit:
                raise Unreadable("bomb", f"{size} bytes, more than the limit of {limit}", file=path)
            data = f.readall()
        if len(data) != size:
            raise Unreadable("changed-while-read", f"{size} bytes before reading, {len(data)} read", file=path)
        return data

    def head(self, path: str, size: int = 512) -> bytes:
        fd = open_below(self.base / path, self.roots)
        try:
            return os.pread(fd, size, 0)
        finally:
            os.close(fd)


def open_below(path: Path, roots: tuple[str, ...]) -> int:
    """A read-only descriptor of a regular file whose real path lies below a root.

    The descriptor is checked, not the name: a file swapped for a link between check and use does not escape.

    Raises:
        Unreadable: ``special-file``, ``outside-root``, ``broken-link`` or ``unreadable``.
    """
    name = path.name
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise Unreadable("special-file", "not a regular file; never opened", file=shown(name))
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as e:
        code = "broken-link" if path.is_symlink() else "unreadable"
        raise Unreadable(code, f"cannot be opened: {e.strerror}", file=shown(name)) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Unreadable("special-file", "not a regular file; never opened for reading", file=shown(name))
        try:
            real = os.readlink(f"/proc/self/fd/{fd}")  # the kernel's own resolved path of what was opened
        except OSError:
            real = os.path.realpath(path)
        if not below(real, roots):
            raise Unreadable("outside-root", "leads outside the roots; not read", file=shown(name))
    except Unreadable:
        os.close(fd)
        raise
    return fd


def below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == r or path.startswith(r.rstrip("/") + "/") for r in _resolved(roots))


@cache
def _resolved(roots: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(os.path.realpath, roots))


def list_files(name: str, roots: tuple[str, ...]) -> Listing:
    """Everything that a path or glob names, in sorted order, with kinds from the first bytes.

    Raises:
        RequestError: ``source-not-found`` or ``outside-roots``.
    """
    path = Path(name)
    if not path.exists() and glob.has_magic(name):
        found = sorted(p for p in glob.glob(name, recursive=True) if os.path.isfile(p))
        if not found:
            raise RequestError("source-not-found", f"no file matches {shown(name)}; check the pattern")
        base = Path(os.path.commonpath([os.path.dirname(p) for p in found]))
        _inside(str(base), roots)
        listing = Listing(base, roots)
        for p in found:
            _add(listing, os.path.relpath(p, base), Path(p))
        return listing
    must_exist(path)
    _inside(str(path), roots)
    if path.is_dir():
        listing = Listing(path, roots)
        for rel, entry in _walk(path, listing):
            _add(listing, rel, entry)
        if not listing.entries and not listing.problems:
            raise RequestError("source-not-found", f"{shown(name)} holds no files; give a folder with data")
        return listing
    listing = Listing(path.parent, roots, single=True)
    _add(listing, path.name, path)
    return listing


def must_exist(path: Path) -> None:
    """Of a path that is no pattern.

    Raises:
        RequestError: ``source-not-found``, with what is near.
    """
    if not path.exists():
        raise RequestError("source-not-found", f"{shown(path)} does not exist{_nearest(path)}")


def is_about(path: str) -> bool:
    return path.rsplit("/", 1)[-1].lower() in ABOUT


def _inside(path: str, roots: tuple[str, ...]) -> None:
    if not below(os.path.realpath(path), roots):
        raise RequestError(
            "outside-roots",
            f"{shown(path)} lies outside the roots ({', '.join(map(shown, roots))}); "
            "start the server with --root naming its folder",
        )


def _nearest(path: Path) -> str:
    import difflib

    parent = path.parent
    while not parent.exists():
        parent = parent.parent
    try:
        names = [p.name for p in list(parent.iterdir())[:2000]]
    except OSError:
        names = []
    close = difflib.get_close_matches(path.name, names, 1)
    return (
        f"; did you mean {shown(parent / close[0])}?" if close else f"; the nearest existing folder is {shown(parent)}"
    )


def _walk(top: Path, listing: Listing) -> Iterator[tuple[str, Path]]:
    seen: set[tuple[int, int]] = set()

    def visit(folder: Path, rel: str, depth: int) -> Iterator[tuple[str, Path]]:
        try:
            info = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError as e:
            listing.problems.append(Unreadable("unreadable", f"folder cannot be listed: {e.strerror}", file=shown(rel)))
            return
        if (info.st_dev, info.st_ino) in seen or depth > MAX_DEPTH:
            listing.problems.append(Unreadable("broken-link", "folder loop; visited once", file=shown(rel)))
            return
        seen.add((info.st_dev, info.st_ino))
        for entry in entries:
            sub = f"{rel}/{entry.name}" if rel else entry.name
            if entry.name.startswith(".") or entry.name in JUNK or entry.name == "__pycache__":
                if entry.name in JUNK:
                    listing.problems.append(Unreadable("junk-file", "left by an operating system", file=shown(sub)))
                continue
            try:
                folderish = entry.is_dir()
            except OSError:
                folderish = False
            if folderish:
                if entry.is_symlink() and not below(os.path.realpath(entry.path), listing.roots):
                    listing.problems.append(
                        Unreadable("outside-root", "link to a folder outside the roots; not read", file=shown(sub))
                    )
                    continue
                listing.folders.append(sub)
                yield from visit(Path(entry.path), sub, depth + 1)
            else:
                yield sub, Path(entry.path)

    yield from visit(top, "", 0)


def _add(listing: Listing, rel: str, path: Path) -> None:
    try:
        fd = open_below(path, listing.roots)
    except Unreadable as problem:
        problem.where["file"] = shown(rel)
        listing.problems.append(problem)
        return
    try:
        size = os.fstat(fd).st_size
        head = os.pread(fd, 512, 0) if size else b""
    except OSError as e:
        listing.problems.append(Unreadable("unreadable", f"cannot be read: {e.strerror}", file=shown(rel)))
        return
    finally:
        os.close(fd)
    kind = kind_of(path.name, head)
    if size == 0:
        listing.problems.append(Unreadable("empty-file", "0 bytes", file=shown(rel)))
        if kind is None:
            return
    if rel.split("/")[-1].startswith("._"):
        listing.problems.append(Unreadable("junk-file", "left by an operating system", file=shown(rel)))
        return
    listing.entries.append(Entry(rel, size, kind))

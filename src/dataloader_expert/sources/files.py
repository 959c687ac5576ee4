"""Files below the roots, opened safely: never a FIFO, never outside the roots, never through an unexpected link."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dataloader_expert.errors import RequestError, Unreadable, escaped
from dataloader_expert.sources.magic import head_bytes, kind_of
from dataloader_expert.sources.opened import OpenFile, below
from dataloader_expert.sources.packed import IN_UTF_16, unpacked_name

MARKERS = ("_SUCCESS", "_started_", "_committed_")
"""How empty files are called by which a writer such as Spark says that a folder is whole."""
_MARKER = re.compile(
    r"(?i)_?(?:success|done|complete|completed|finished|ready|release|version)(?:[._-]?v?\d+)*(?:\.txt|\.done)?"
)
"""The same as others write them, such as ``RELEASE_v1.txt``."""
JUNK = {".DS_Store", "Thumbs.db", "desktop.ini", ".directory", "Icon\r", "__MACOSX"}
HIDDEN = {".gitkeep", ".gitattributes", ".gitignore"}
"""Files of a repository that say nothing of the data."""
ABOUT = {"readme", "license", "licence", "attribution", "attributions", "citation", "copying", "copyright"}
"""Stems of the names of files that describe a data set and are not part of it."""
PROSE = {"", "txt", "md", "rst", "html"}
"""Their suffixes."""

SIDE_FILES = {
    "classes.txt",
    "labels.txt",
    "class_names.txt",
    "class_dict.csv",
    "_classes.csv",
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
    "meta.json",
    "meta.pkl",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
}
"""Files that describe the samples next to them."""

DESCRIBES = {
    "names", "classes", "categories", "map", "vocab", "vocabulary", "stats", "info", "meta", "metadata", "config",
    "schema", "card", "croissant", "citation", "settings", "params", "environment",
}  # fmt: skip
"""Last words in the names of files about a data set, such as ``keypoint_names.json``."""

PROJECT = {
    "py", "ipynb", "sh", "bash", "ps1", "bat", "r", "jl", "c", "cc", "cpp", "cu", "h", "js", "go", "rs", "java",
    "sql", "lua", "toml", "ini", "cfg", "conf", "lock", "cff", "bib", "md", "rst", "tex", "pdf", "html", "log", "out", "err",
}  # fmt: skip
"""Suffixes of code, configuration and documentation, which keep company with data."""
PROJECT_NAMES = {
    "makefile", "dockerfile", "license", "licence", "notice", "authors", "changelog", "citation", "version",
}  # fmt: skip

MAX_DEPTH = 40
LONG_LINE = 1 << 20
"""The bytes of a line of JSON up to which a file of such lines is known, whatever its name."""


def half_of_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@dataclass(frozen=True)
class Entry:
    """A regular file: path relative to the base, size in bytes, kind (see ``magic``) or None; of a compressed one that is read as
    what it holds (see ``packed``), size and kind of this, and ``stored`` bytes on disk."""

    path: str
    size: int
    kind: str | None
    stored: int | None = None

    @property
    def on_disk(self) -> int:
        return self.size if self.stored is None else self.stored


@dataclass(eq=False)  # what is read of it is kept by it
class Listing:
    """The files of a source. ``base`` is what paths are relative to; ``single``: the user named one file."""

    base: Path
    roots: tuple[str, ...]
    entries: list[Entry] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    problems: list[Unreadable] = field(default_factory=list)
    single: bool = False
    most_bytes: int = field(default_factory=lambda: half_of_memory())
    """The most bytes that a reader may hold if it needs a whole file."""

    def of(self, kinds: frozenset[str]) -> list[Entry]:
        return [e for e in self.entries if e.kind in kinds and not is_about(e.path)]

    def find(self, *names: str) -> Entry | None:
        return next((e for e in self.entries if e.path in names), None)

    def open(self, path: str) -> OpenFile:
        """The file, open for reading; raises what ``OpenFile`` raises, as do the next two."""
        return OpenFile(os.path.join(self.base, path), self.roots, path, unpack=True)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The bytes of a file; ``unreadable`` if there are more than ``limit`` or than may be held in memory."""
        most = self.most_bytes if limit is None else min(limit, self.most_bytes)
        with self.open(path) as file:
            if file.size > most:
                text = f"{file.size:,} bytes that must be read at once, but only {most:,} may be held; split it, or raise --memory-limit"
                raise Unreadable("unreadable", text, file=path)
            return file.whole()

    def span(self, path: str, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to, not including, ``end``."""
        with self.open(path) as file:
            return file.exactly(start, end - start)

    def head(self, path: str, size: int = 512) -> bytes:
        """The first bytes, or fewer if the file is shorter."""
        with self.open(path) as file:
            return file.upto(0, size)


def is_beside(path: str) -> bool:
    """Whether a file is about the data: a note, or one that names classes, sizes and the like."""
    return is_about(path) or path.rsplit("/", 1)[-1] in SIDE_FILES


def describes(path: str) -> bool:
    """Whether a file's name is that of one about a data set."""
    stem, _, suffix = path.rpartition("/")[2].lower().rpartition(".")
    return suffix in ("json", "yaml", "yml", "toml") and re.split(r"[^a-z]+", stem)[-1] in DESCRIBES


def in_meta(path: str) -> bool:
    """Whether a file lies in a folder for what is said of the data, such as ``meta/tasks.jsonl`` of LeRobot."""
    return any(part.lower() in ("meta", "metadata", "meta_data") for part in path.split("/")[:-1])


def is_project(path: str) -> bool:
    """Whether a file's name is that of code, configuration or documentation."""
    name = path.rpartition("/")[2].lower()
    stem, dot, suffix = name.rpartition(".")
    listed = suffix in ("txt", "in") and re.split(r"[^a-z]+", stem)[0] in ("requirements", "constraints")
    return bool(dot and suffix in PROJECT) or listed or name.partition(".")[0] in PROJECT_NAMES or describes(path)


def list_files(name: str, roots: tuple[str, ...]) -> Listing:
    """All files that a path or glob names, sorted, with kinds determined from the first bytes.

    Raises:
        RequestError: ``source-not-found`` or ``outside-roots``.
    """
    path = Path(name)
    if is_pattern(name):
        return _matching(name, roots)
    must_exist(path)
    _inside(str(path), roots)
    if path.is_dir():
        listing = Listing(path, roots)
        for rel, entry in _walk(path, listing):
            _add(listing, rel, entry)
        if not listing.entries and not listing.problems:
            raise RequestError("source-not-found", f"{escaped(name)} contains no files; give a folder with data")
        return listing
    listing = Listing(path.parent, roots, single=True)
    _add(listing, path.name, str(path))
    return listing


def is_pattern(name: str) -> bool:
    """Whether the name is a glob: it contains wildcards, and no file has that name."""
    return glob.has_magic(name) and not stat_of(Path(name))


def _matching(name: str, roots: tuple[str, ...]) -> Listing:
    """The files that match a pattern. Each folder is visited once, however many links lead to it."""
    parts = name.split("/")
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    base, wanted = Path("/".join(parts[:first]) or "/"), [p for p in parts[first:] if p]
    must_exist(base)
    _inside(str(base), roots)
    deepest = MAX_DEPTH if "**" in wanted else len(wanted) - 1
    listing = Listing(base, roots)
    for rel, entry in _walk(base, listing, deepest):
        if _fits(rel.split("/"), wanted):
            _add(listing, rel, entry)
    listing.folders = []
    listing.problems = [p for p in listing.problems if _fits(str(p.where.get("file")).split("/"), wanted)]
    if not listing.entries and not listing.problems:
        raise RequestError("source-not-found", f"no file matches {escaped(name)}; check the pattern")
    return listing


def _fits(names: list[str], wanted: list[str]) -> bool:
    """Whether a path's parts match those of a pattern; ``**`` matches any number of folders, at the end everything below."""
    if not wanted:
        return not names
    if wanted[0] == "**":
        rest = wanted[1:]
        if not rest or rest == ["**"]:
            return bool(names)
        return any(_fits(names[i:], rest) for i in range(len(names)))
    return bool(names) and fnmatch.fnmatchcase(names[0], wanted[0]) and _fits(names[1:], wanted[1:])


def must_exist(path: Path) -> None:
    """The files of a path that is not a pattern.

    Raises:
        RequestError: ``source-not-found``, with similar names.
    """
    try:
        os.stat(path)
    except FileNotFoundError:
        raise RequestError("source-not-found", f"{escaped(path)} does not exist{_nearest(path)}") from None
    except (OSError, ValueError) as e:  # too long, no permission, NUL
        why = getattr(e, "strerror", None) or e
        raise RequestError("source-not-found", f"{escaped(path)} cannot be opened: {why}; check the path") from None


def stat_of(path: Path) -> os.stat_result | None:
    """The status of what is there; None if nothing is, or if this cannot be a path."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def is_about(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    listed = "/" not in path and name.endswith(".TXT") and name.isupper()  # such as the speakers of LibriSpeech
    name = name.lower()
    stem, _, suffix = name.rpartition(".") if "." in name else (name, "", "")
    about = stem in ABOUT and suffix in PROSE
    return about or name.startswith("readme.") or name.endswith(".names") or name == "index" or listed


def _inside(path: str, roots: tuple[str, ...]) -> None:
    if not below(os.path.realpath(path), roots):
        raise RequestError(
            "outside-roots",
            f"{escaped(path)} is outside the roots ({', '.join(map(escaped, roots))}); "
            "start the server with --root naming its folder",
        )


def _nearest(path: Path) -> str:
    import difflib

    parent = path.parent
    while stat_of(parent) is None:
        parent = parent.parent
    try:
        names = [p.name for p in list(parent.iterdir())[:2000]]
    except OSError:
        names = []
    close = difflib.get_close_matches(path.name, names, 1)
    return (
        f"; did you mean {escaped(parent / close[0])}?"
        if close
        else f"; the nearest existing folder is {escaped(parent)}"
    )


def _walk(top: Path, listing: Listing, deepest: int = MAX_DEPTH) -> Iterator[tuple[str, str]]:
    seen: set[tuple[int, int]] = set()

    def visit(folder: Path, rel: str, depth: int) -> Iterator[tuple[str, str]]:
        try:
            info = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError as e:
            listing.problems.append(Unreadable("unreadable", f"folder cannot be listed: {e.strerror}", file=rel))
            return
        if (info.st_dev, info.st_ino) in seen or depth > MAX_DEPTH:
            listing.problems.append(Unreadable("broken-link", "folder loop; visited once", file=rel))
            return
        seen.add((info.st_dev, info.st_ino))
        for entry in entries:
            sub = f"{rel}/{entry.name}" if rel else entry.name
            if entry.name.startswith(".") or entry.name in JUNK or entry.name == "__pycache__":
                if entry.name in JUNK:
                    listing.problems.append(Unreadable("junk-file", "left by an operating system", file=sub))
                continue
            try:
                folderish = entry.is_dir()
            except OSError:
                folderish = False
            if folderish:
                if depth >= deepest < MAX_DEPTH:
                    continue
                if entry.is_symlink() and not below(os.path.realpath(entry.path), listing.roots):
                    listing.problems.append(
                        Unreadable("outside-root", "link to a folder outside the roots; not read", file=sub)
                    )
                    continue
                listing.folders.append(sub)
                yield from visit(Path(entry.path), sub, depth + 1)
            else:
                yield sub, entry.path

    yield from visit(top, "", 0)


def _add(listing: Listing, rel: str, path: str) -> None:
    name = rel.rsplit("/", 1)[-1]
    if name.startswith("._"):
        listing.problems.append(Unreadable("junk-file", "left by an operating system", file=rel))
        return
    if not listing.single and (plain := unpacked_name(name)) != name and stat_of(Path(path).parent / plain):
        return  # the same, decompressed
    try:
        with OpenFile(path, listing.roots, rel, unpack=True) as file:
            size, stored = file.size, file.stored if file.packed else None
            plain = name if stored is None else unpacked_name(name)
            head = file.upto(0, head_bytes(plain))
            if plain.lower().endswith(".json") and b"\n" not in head:
                head = file.upto(0, LONG_LINE)  # lines of JSON may be long documents
    except Unreadable as problem:
        listing.problems.append(problem.with_traceback(None))  # which would keep what it was about
        return
    if stored is not None and plain == name:
        listing.problems.append(Unreadable("encoding-error", IN_UTF_16, file=rel))
    kind = kind_of(plain, head)
    if name in HIDDEN or (size == 0 and (name.startswith(MARKERS) or _MARKER.fullmatch(name))):
        return
    if size == 0:
        listing.problems.append(Unreadable("empty-file", "0 bytes", file=rel))
        if kind is None:
            return
    listing.entries.append(Entry(rel, size, kind, stored))

"""Compressed files of a known format, such as ``train.jsonl.gz``: decompressed once into an unnamed temporary file. So are tables in
UTF-16, as spreadsheets export them, in UTF-8.

Readers ask for bytes at any place, which a compressed stream cannot give, and for bytes that end lines and cells. Processes that are forked afterwards share what their
parent has decompressed; others do it again.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import shutil
import tempfile
import threading
import zlib
from dataclasses import dataclass, field
from typing import IO, Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.magic import SUFFIXES, guess_text, idx_stem, of_utf_16

MARKS = {".gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ", ".zst": b"\x28\xb5\x2f\xfd"}
INNER = {"text", "csv", "tsv", "jsonl", "json", "tar", "npy"}
"""Kinds of files that are worth it: the others compress their content themselves."""
WIDE, TABLES = {"text", "csv", "tsv", "jsonl", "json"}, ("csv", "tsv")
"""Kinds of files that may be in UTF-16, and those of a text that is."""
PART, HEAD, TOLD = 1 << 20, 4096, 512
"""Bytes that are decompressed at once; and those of a file, packed and unpacked, that tell whether it is text."""
RATIO, FREELY = 200, 1 << 30
"""The largest ratio of decompressed to compressed bytes, of a file and of all, beyond so many; text compresses by less."""


def unpacked_name(name: str) -> str:
    """The name without the suffix of the compression, if what is left is that of such a kind, or of none where gzip's is taken away; else
    the name."""
    low = name.lower()
    for suffix in MARKS if low.endswith(tuple(MARKS)) else ():
        if low.endswith(suffix):
            inner = name[: -len(suffix)] + (".tar" if suffix == ".tgz" else "")
            known = SUFFIXES.get(f".{inner.rpartition('.')[2].lower()}")
            return inner if known in INNER or idx_stem(inner) or (known is None and suffix == ".gz") else name
    return name


def may_be_text(name: str, head: bytes) -> bool:
    """Whether a compressed file may be one of these kinds: its name says so, or its first bytes are a text where it says nothing."""
    inner = unpacked_name(name)
    if SUFFIXES.get(f".{inner.rpartition('.')[2].lower()}") in INNER or idx_stem(inner):
        return True
    try:
        return guess_text(zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, TOLD)) is not None
    except zlib.error:
        return False


IN_UTF_16 = "is UTF-16, not UTF-8; it was decoded with 'utf-16'"


def may_be_wide(name: str) -> bool:
    """Whether a file is called like a table or lines of JSON, which may be in UTF-16."""
    return SUFFIXES.get(f".{name.rpartition('.')[2].lower()}") in WIDE


def is_wide(name: str, head: bytes) -> bool:
    """Whether such a file is in UTF-16; a text only if it is a table: others are texts of their own, and told."""
    text = of_utf_16(head)
    return bool(text) and (SUFFIXES[f".{name.rpartition('.')[2].lower()}"] != "text" or guess_text(text) in TABLES)


def mark_of(name: str) -> bytes | None:
    """The first bytes of such a file; None for a name of any other."""
    if unpacked_name(name) == name:
        return None
    return next(mark for suffix, mark in MARKS.items() if name.lower().endswith(suffix))


@dataclass
class Spool:
    """Decompressed files, one behind the other in a file without a name."""

    fd: int
    owner: int
    """The process that writes it; others only read."""
    places: dict[tuple[int, ...], tuple[int, int]] = field(default_factory=dict)
    """Beginning and length of each, by device, inode, size and time of change."""
    end: int = 0
    stored: int = 0
    """Bytes of all compressed files that were read."""


_SPOOLS: list[Spool] = []
_locks = [threading.Lock()]


def _unlocked() -> None:
    """A thread that held the lock when this process was forked is not there to release it."""
    _locks[0] = threading.Lock()


os.register_at_fork(after_in_child=_unlocked)


def unpacked(fd: int, called: str) -> tuple[int, int, int]:
    """A descriptor that stays open, and where in it the content of the compressed file ``fd`` begins and how long it is.

    Raises:
        Unreadable: ``truncated``, ``checksum-mismatch`` or ``not-the-format`` if it is damaged, ``bomb`` if it swells beyond
            reason, ``unreadable`` if there is no room for it.
    """
    seen = os.fstat(fd)
    key = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    with _locks[0]:
        for spool in _SPOOLS:
            if key in spool.places:
                return (spool.fd, *spool.places[key])
        spool = next((s for s in _SPOOLS if s.owner == os.getpid()), None) or _new()
        start = spool.end
        return spool.fd, start, _added(spool, key, fd, called)


def _added(spool: Spool, key: tuple[int, ...], fd: int, called: str) -> int:
    """The length of what was decompressed to the end of the spool."""
    start, size = spool.end, os.fstat(fd).st_size
    try:
        length = _decompress(fd, called, size, spool)
    except EOFError:
        raise Unreadable("truncated", "the compressed file ends before its content does", file=called) from None
    except (zlib.error, lzma.LZMAError, OSError, ValueError) as e:
        said = str(e).lower()
        codes = {"truncated": "truncated", "crc": "checksum-mismatch", "check": "checksum-mismatch"}
        code = next((code for word, code in codes.items() if word in said), "not-the-format")
        what = "is not UTF-16" if isinstance(e, UnicodeError) else "does not decompress"
        raise Unreadable(code, f"{what}: {e}", file=called) from None
    spool.places[key], spool.end, spool.stored = (start, length), start + length, spool.stored + size
    return length


def _new() -> Spool:
    fd, name = tempfile.mkstemp()
    os.unlink(name)
    spool = Spool(fd, os.getpid())
    _SPOOLS.append(spool)
    return spool


def _decompress(fd: int, called: str, size: int, spool: Spool) -> int:
    length, start = 0, spool.end
    room = shutil.disk_usage(tempfile.gettempdir()).free // 2
    with open(os.dup(fd), "rb") as file, _reader(file, called) as stream:
        file.seek(0)
        while part := stream.read(PART):
            length += len(part)
            whole = start + length
            if whole > FREELY and whole > RATIO * (spool.stored + size) and length > RATIO * size:
                raise Unreadable("bomb", f"over {length:,} bytes from {size:,}: not read", file=called)
            if length > room:
                text = f"over {length:,} bytes decompressed leave no room for more in {tempfile.gettempdir()}; decompress it next to the data, or set TMPDIR"
                raise Unreadable("unreadable", text, file=called)
            at = start + length - len(part)
            while part:
                wrote = os.pwrite(spool.fd, part, at)
                part, at = part[wrote:], at + wrote
    return length


def _reader(file: IO[bytes], called: str) -> Any:
    end = called.lower()
    if end.endswith(".bz2"):
        return bz2.BZ2File(file)
    if end.endswith(".xz"):
        return lzma.LZMAFile(file)
    if end.endswith(".zst"):
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"))
    if not end.endswith((".gz", ".tgz")):
        return codecs.EncodedFile(file, "utf-8", "utf-16")
    return gzip.GzipFile(fileobj=file)

"""Tar headers, walked without extracting anything: v7, ustar, GNU and pax. An invalid header ends the walk.

Source of the layout: POSIX.1-2001 (pax interchange format) and the GNU tar manual (base-256 numbers, long names).
"""

from __future__ import annotations

from dataclasses import dataclass

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.opened import OpenFile

BLOCK = 512
LONGEST_NAME = 1 << 16
FILLED = 10240 + 2 * 512
"""Zero bytes with which an archive may end: two blocks, and the padding of its last record."""
FILES, FOLDERS = (b"0", b"\0", b"7"), (b"5", b"g", b"V")
"""Types of regular files, and of members that are neither samples nor odd: folders, global headers, volume labels."""


@dataclass(frozen=True)
class Member:
    """A regular file in the archive: its name, and the position of its bytes."""

    name: str
    start: int
    size: int


@dataclass(frozen=True)
class _Header:
    name: str
    size: int
    kind: bytes


def walk_tar(file: OpenFile, problems: list[Unreadable]) -> list[Member]:
    """The regular members in order; header errors go to ``problems``."""
    members: list[Member] = []
    at, long_name, long_size = 0, "", None

    def wrong(code: str, text: str, **member: str) -> None:
        problems.append(Unreadable(code, text, file=file.called, **member))

    while at + BLOCK <= file.size:
        head = file.exactly(at, BLOCK)
        if head == bytes(BLOCK):
            if _hides(file, at):
                wrong("truncated", f"a zeroed header at byte {at} hides what follows")
            elif not members:
                wrong("empty-file", "an archive without members")
            elif file.size - at > max(FILLED, 0.4 * file.size):
                wrong("truncated", f"its last {file.size - at:,} bytes are zeros: the rest was never written")
            return members
        header = _parsed(head)
        if header is None:
            if at == 0 and head[257:262] != b"ustar":
                wrong("not-the-format", "does not begin with a tar header")
            else:
                wrong("checksum-mismatch", f"header at byte {at} fails its checksum")
            return members
        size = header.size if long_size is None or header.kind in (b"L", b"K", b"x", b"g") else long_size
        if size < 0:
            wrong("header-mismatch", f"member at byte {at} claims {size} bytes")
            return members
        if size > file.size - at - BLOCK:
            wrong("truncated", f"member at byte {at} claims {size} bytes")
            return members
        if header.kind == b"L":
            long_name = _text(file.exactly(at + BLOCK, min(size, LONGEST_NAME)))
        elif header.kind == b"x":
            records = _pax(file.exactly(at + BLOCK, min(size, 1 << 20)))
            long_name = _text(records.get(b"path", b"")) or long_name
            stated = records.get(b"size", b"")
            long_size = int(stated) if stated.isdigit() and len(stated) < 20 else None
        elif header.kind != b"K":
            name, long_name, long_size = long_name or header.name, "", None
            if header.kind in FILES and not name.endswith("/"):  # v7 wrote folders as files with a slash
                if name.startswith("/") or ".." in name.split("/"):
                    wrong("outside-root", f"member named {name}", key=escaped(name))
                else:
                    members.append(Member(name, at + BLOCK, size))
            elif header.kind not in (*FOLDERS, *FILES):
                wrong("special-file", f"member {name} is a link or device; not followed", key=escaped(name))
        at += BLOCK + (size + BLOCK - 1) // BLOCK * BLOCK
    if at != file.size:  # many writers omit the end-of-archive blocks; none ends inside a header
        wrong("truncated", "ends inside a header")
    return members


def _parsed(head: bytes) -> _Header | None:
    """The header; None if its checksum is wrong, which old writers computed over signed bytes."""
    plain = head[:148] + b" " * 8 + head[156:]
    stored = _number(head[148:156])
    if stored is None or stored not in (sum(plain), sum(b - 256 if b > 127 else b for b in plain)):
        return None
    size = _number(head[124:136])
    if size is None:
        return None
    name = _text(head[:100])
    if head[257:263] == b"ustar\0" and head[345:500].strip(b"\0"):
        name = f"{_text(head[345:500])}/{name}"
    return _Header(name, size, head[156:157])


def _number(field: bytes) -> int | None:
    """An octal or base-256 number; None if it is neither."""
    if field[0] & 0x80:
        value = int.from_bytes(field, "big", signed=True)
        return value if field[0] == 0xFF else value + (1 << (8 * len(field) - 1))
    try:
        return int(field.replace(b"\0", b" ").strip() or b"0", 8)
    except ValueError:
        return None


def _text(name: bytes) -> str:
    return name.split(b"\0")[0].decode("utf-8", "surrogateescape")


def _pax(data: bytes) -> dict[bytes, bytes]:
    """The records of an extended header, ``LENGTH KEY=VALUE\\n`` each; those after a damaged one are dropped."""
    records: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        length = data[at : at + 20].split(b" ", 1)[0]
        if not length.isdigit() or int(length) <= len(length) + 1:
            break
        key, _, value = data[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
        records[key] = value
        at += int(length)
    return records


def _hides(file: OpenFile, at: int) -> bool:
    """Whether a zeroed block is not the end of the archive: it is alone, or members follow it."""
    if file.upto(at + BLOCK, BLOCK).strip(b"\0"):
        return True
    while block := file.upto(at, 1 << 20):
        mark = block.find(b"ustar")
        while mark >= 0:
            if mark % BLOCK == 257:
                return True
            mark = block.find(b"ustar", mark + 1)
        at += len(block)
    return False

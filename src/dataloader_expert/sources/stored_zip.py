"""Archives as ``numpy.savez`` writes them, whose members are stored as they are: read straight from the directory at the end, in a
fifth of the time that ``zipfile`` takes. All others, and those with anything wrong, are left to it."""

from __future__ import annotations

import struct

_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")
UTF_8 = 0x800
"""The flag of a name in UTF-8; any other one asks for something more than to read the bytes."""


def stored(data: bytes) -> dict[str, tuple[slice, int]] | None:
    """Where the members of an archive are, by name, and the CRC-32 of each, if nothing but that needs a second look; None of any other
    file."""
    begin = len(data) - _END.size
    if begin < 0:
        return None
    mark, disk, first_disk, here, entries, size, at, comment = _END.unpack_from(data, begin)
    if mark != b"PK\x05\x06" or disk or first_disk or here != entries or comment or at + size != begin:
        return None
    found: dict[str, tuple[slice, int]] = {}
    directory, end = at, 0
    for _ in range(entries):
        if at + _ENTRY.size > begin:
            return None
        mark, *_, flags, method, _, _, crc, packed, length, named, extra, said, disk, _, _, start = _ENTRY.unpack_from(
            data, at
        )
        at += _ENTRY.size
        name = data[at : at + named]
        at += named + extra + said
        apart = mark == b"PK\x01\x02" and not disk and end <= start <= directory - _LOCAL.size
        if not apart or flags & ~UTF_8 or method or packed != length or not _plain(name):
            return None
        mark, *_, also_named, extra = _LOCAL.unpack_from(data, start)
        start += _LOCAL.size
        same = mark == b"PK\x03\x04" and data[start : start + also_named] == name
        start += also_named + extra
        end = start + length
        if not same or end > directory or (key := name.decode()) in found:
            return None
        found[key] = slice(start, end), crc
    return found if at == begin else None


def _plain(name: bytes) -> bool:
    """Whether a member's name is that of an array in the archive itself."""
    return name.endswith(b".npy") and name.isascii() and b"/" not in name and b"\0" not in name

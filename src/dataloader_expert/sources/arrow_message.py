"""What an Arrow IPC message declares, read from its FlatBuffers header without decoding or decompressing anything.

Source: the Arrow columnar format (Message.fbs, Schema.fbs) and the FlatBuffers binary layout.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.bombs import no_flood, no_inflation
from dataloader_expert.sources.opened import OpenFile

CONTINUES = b"\xff\xff\xff\xff"
MAX_HEADER = 16 << 20
SCHEMA, DICTIONARY, BATCH = 1, 2, 3


@dataclass(frozen=True)
class Message:
    """A message of a file: its kind, its bytes, the rows of its batch, and the size of its buffers once decompressed."""

    kind: int
    start: int
    end: int
    rows: int = 0
    columns: int = 0
    decoded: int = 0

    @property
    def stored(self) -> int:
        return self.end - self.start


def message_at(file: OpenFile, start: int) -> Message | None:
    """The message at this byte; None at the end of the stream.

    Raises:
        Unreadable: ``truncated``, ``header-mismatch``, or ``bomb`` for a batch that would become far larger.
    """
    if start + 4 > file.size:
        return None
    mark = file.upto(start, 8)
    at = start + 8 if mark[:4] == CONTINUES else start + 4  # not written before Arrow 0.15
    length = int.from_bytes(mark[4:8] if mark[:4] == CONTINUES else mark[:4], "little", signed=True)
    if length == 0:
        return None
    if length < 0 or length > MAX_HEADER:
        raise Unreadable("header-mismatch", f"a message header of {length} bytes at byte {start}", file=file.called)
    try:
        return _read(file, start, at, length)
    except (struct.error, IndexError, OverflowError):
        raise Unreadable(
            "header-mismatch", f"the message at byte {start} is not an Arrow message", file=file.called
        ) from None


def _read(file: OpenFile, start: int, at: int, length: int) -> Message:
    table = _Table(file.exactly(at, length))
    body = at + length
    kind, size = table.byte(1), table.long(3)
    if size < 0:
        raise Unreadable("header-mismatch", f"a message body of {size} bytes at byte {start}", file=file.called)
    if body + size > file.size:
        raise Unreadable("truncated", f"the message at byte {start} claims {size:,} bytes", file=file.called)
    if kind not in (DICTIONARY, BATCH):
        return Message(kind, start, body + size)
    batch = table.table(2)
    if kind == DICTIONARY:
        batch = batch.table(1)
    rows, nodes, buffers = batch.long(0), batch.structs(1), batch.structs(2)
    if rows < 0:
        raise Unreadable("header-mismatch", f"a batch of {rows} rows at byte {start}", file=file.called)
    compressed = batch.field(3) is not None
    decoded = 0
    for offset, stored in buffers:
        if offset < 0 or stored < 0 or offset + stored > size:
            raise Unreadable(
                "header-mismatch", f"a buffer of the batch at byte {start} lies outside it", file=file.called
            )
        claimed = struct.unpack("<q", file.exactly(body + offset, 8))[0] if compressed and stored >= 8 else -1
        decoded += stored if claimed < 0 else claimed  # -1: not compressed
    no_inflation(decoded, length + size, f"the batch at byte {start}", file.called)
    cells = sum(max(0, n) for n, _ in nodes)
    no_flood(max(rows, cells), length + size, f"the batch at byte {start}", file.called)
    return Message(kind, start, body + size, rows, len(nodes), decoded)


class _Table:
    """A FlatBuffers table: fields are found through its vtable."""

    def __init__(self, data: bytes, at: int | None = None) -> None:
        self.data = data
        self.at = struct.unpack_from("<I", data, 0)[0] if at is None else at
        self.fields = self.at - struct.unpack_from("<i", data, self.at)[0]
        if self.fields < 0:
            raise IndexError
        self.length = struct.unpack_from("<H", data, self.fields)[0]

    def field(self, i: int) -> int | None:
        """The position of the field; None if it has its default value."""
        if 4 + 2 * i + 2 > self.length:
            return None
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * i)[0]
        return self.at + offset if offset else None

    def byte(self, i: int) -> int:
        at = self.field(i)
        return 0 if at is None else self.data[at]

    def long(self, i: int) -> int:
        at = self.field(i)
        return 0 if at is None else int(struct.unpack_from("<q", self.data, at)[0])

    def table(self, i: int) -> _Table:
        at = self.field(i)
        if at is None:
            raise IndexError
        return _Table(self.data, at + struct.unpack_from("<I", self.data, at)[0])

    def structs(self, i: int) -> list[tuple[int, int]]:
        """A vector of structs of two integers: field nodes (length, nulls) or buffers (offset, length)."""
        at = self.field(i)
        if at is None:
            return []
        at += struct.unpack_from("<I", self.data, at)[0]
        count = struct.unpack_from("<I", self.data, at)[0]
        if at + 4 + 16 * count > len(self.data):
            raise IndexError
        return [struct.unpack_from("<qq", self.data, at + 4 + 16 * k) for k in range(count)]

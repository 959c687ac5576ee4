"""Streams of token ids in binary files, as language models are trained from: ``train.bin`` beside ``val.bin``; samples are windows.

Ids are little-endian, 16 bits unless a ``meta.json`` in the folder names another ``dtype`` or every second word is zero or little, after a header
of 1,024 bytes in the files of llm.c. Sources: Karpathy, nanoGPT (``data/openwebtext/prepare.py``) and llm.c (``dev/data/data_common.py``).
"""

from __future__ import annotations

import contextlib
import json

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.sources.arrays import Header
from dataloader_expert.sources.files import Entry
from dataloader_expert.sources.layout import read_folders, split_in_name
from dataloader_expert.sources.magic import LLM_C
from dataloader_expert.sources.npy import Npy, Stream
from dataloader_expert.sources.packed import unpacked_name

DTYPES = {"uint8": "|u1", "uint16": "<u2", "int16": "<i2", "uint32": "<u4", "int32": "<i4", "int64": "<i8"}
LEAST, ORDINARY = 256, 0.9
"""The fewest words that tell anything, and the share of them that has the exponents of numbers between 1e-10 and 1e10."""
RECORD = 3074
"""Bytes of a picture in the binary version of CIFAR-100, whose files have the same names: two labels, then 32 x 32 x 3 pixels."""


class TokenBin(Npy):
    format = "token-bin"
    kinds = frozenset({"token-bin"})

    def header(self, entry: Entry) -> tuple[Header, bool, int]:
        """Dtype and shape [tokens], never in Fortran's order, and where the ids begin."""
        head = self.listing.head(entry.path, 8 * RECORD)
        if not entry.size:
            raise Unreadable("empty-file", "0 bytes", file=entry.path)
        if entry.size % RECORD == 0 and all(
            r[0] < 20 and r[1] < 100 for r in (head[i : i + 2] for i in range(0, len(head) - 1, RECORD))
        ):
            raise Unreadable(
                "not-the-format", "pictures of CIFAR-100 in its binary version, not tokens", file=entry.path
            )
        dtype, at = dtype_of(head)
        told = int.from_bytes(head[8:12], "little") if at else None
        dtype = dtype or self._declared() or guessed(head, entry)
        width = int(dtype[-1])
        tokens, over = divmod(entry.size - at, width)
        if not tokens:
            raise Unreadable("truncated", "a header and no tokens", file=entry.path)
        if over:
            raise Unreadable(
                "truncated", f"{entry.size - at} bytes are not a whole number of {8 * width}-bit ids", file=entry.path
            )
        if told is not None and told > tokens:
            raise Unreadable(
                "truncated", f"the header declares {told:,} tokens, but there are {tokens:,}", file=entry.path
            )
        return (dtype, (tokens,)), False, at

    def _declared(self) -> str:
        with contextlib.suppress(Unreadable, ValueError, RecursionError):
            if self.listing.find("meta.json") is not None:
                said = json.loads(self.listing.read("meta.json", 1 << 20))
                return DTYPES.get(str(said.get("dtype")), "") if isinstance(said, dict) else ""
        return ""

    def _side_by_side(self, entries: list[Entry]) -> bool:
        streams: list[Stream] = []
        folders, _, _ = read_folders([e.path for e in entries])
        for entry, folder in zip(entries, folders, strict=True):
            try:
                header, _, at = self.header(entry)
            except Unreadable as problem:
                self.problems.append(problem)
                continue
            name = unpacked_name(entry.path.rsplit("/", 1)[-1]).removesuffix(".bin")
            streams.append((split_in_name(name) or folder, entry, header, at))
        if not streams:
            why = f"no file of tokens could be read ({self.problems[0].told()})"
            raise NothingReadable(f"{why}: write them again, or pass another source", self.problems)
        self.as_windows(streams)
        return True


def guessed(head: bytes, entry: Entry) -> str:
    """16 bits, or 32 where each second word is that of a number below a million.

    Raises:
        Unreadable: if the second words are the upper halves of ordinary 32-bit floats.
    """
    import numpy as np

    words = np.frombuffer(head[: len(head) // 4 * 4], "<u2")
    low, high = words[::2], words[1::2]
    if len(high) < LEAST or entry.size % 4:
        return "<u2"
    if (high <= 15).all() and low.max() > 255:  # no vocabulary has a million ids
        return "<u4"
    powers = (high >> 7) & 0xFF  # the exponents of floats
    if np.isin(powers, range(95, 160)).mean() > ORDINARY:
        raise Unreadable("not-the-format", "32-bit floats rather than tokens: store them as .npy", file=entry.path)
    return "<u2"


def dtype_of(head: bytes) -> tuple[str, int]:
    """The dtype that llm.c's header tells, and where the ids begin; empty and 0 without a header."""
    words = [int.from_bytes(head[i : i + 4], "little") for i in (0, 4)]
    if words[0] not in LLM_C or len(head) < 1024:
        return "", 0
    return ("<u4" if LLM_C[words[0]] == 4 else "<u2"), 1024


SOURCE = TokenBin

"""safetensors: the header is checked against the file; rows are read by offset."""

from __future__ import annotations

import json
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import Header
from dataloader_expert.sources.base import Unit
from dataloader_expert.sources.bombs import cells_of, no_flood
from dataloader_expert.sources.bundle import Bundle
from dataloader_expert.sources.files import Entry

MAX_HEADER = 16 << 20
DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
SIZES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}


class Safetensors(Bundle):
    format = "safetensors"
    kinds = frozenset({"safetensors"})

    def headers(self, entry: Entry) -> dict[str, Header]:
        size = int.from_bytes(self.listing.head(entry.path, 8), "little")
        head = self.listing.head(entry.path, min(8 + size, MAX_HEADER + 8))
        return {
            name: (DTYPES[t["dtype"]], tuple(t["shape"])) for name, t in parse(head, entry.size, entry.path).items()
        }

    def load(self, unit: Unit, raw: Any) -> dict[str, Any]:
        import numpy as np

        arrays = {}
        start = 8 + int.from_bytes(raw[:8], "little")
        for name, t in parse(raw, len(raw), unit.file).items():
            lo, hi = t["data_offsets"]
            data = memoryview(raw)[start + lo : start + hi]
            if t["dtype"] == "BF16":
                wide = np.frombuffer(data, "<u2").astype("<u4") << 16
                arrays[name] = wide.view("<f4").reshape(t["shape"])
            else:
                arrays[name] = np.frombuffer(data, DTYPES[t["dtype"]]).reshape(t["shape"])
        return arrays


def parse(head: bytes, size: int, file: str) -> dict[str, Any]:
    """The descriptions of the tensors, by name.

    Raises:
        Unreadable: if length, offsets, shapes and dtypes are inconsistent with each other or the file.
    """
    if size < 8:
        raise Unreadable("truncated" if size else "empty-file", f"{size} bytes", file=file)
    length = int.from_bytes(head[:8], "little")
    if length > MAX_HEADER or 8 + length > size:
        raise Unreadable("header-mismatch", f"header of {length} bytes in a file of {size}", file=file)
    try:
        header = json.loads(head[8 : 8 + length])
        tensors = {k: v for k, v in header.items() if k != "__metadata__"}
        spans = []
        for name, t in tensors.items():
            lo, hi = t["data_offsets"]
            count = SIZES.get(t["dtype"], 1)
            for n in t["shape"]:
                if type(n) is not int or n < 0:
                    raise ValueError
                count *= n
            no_flood(cells_of(tuple(t["shape"])), size, f"{name} of shape {t['shape']}", file)
            if t["dtype"] not in DTYPES or hi - lo != count or lo < 0:
                raise Unreadable("header-mismatch", f"{name}: {t['dtype']}{t['shape']} in {hi - lo} bytes", file=file)
            spans.append((lo, hi))
    except Unreadable:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreadable("header-mismatch", "the header is not a safetensors description", file=file) from None
    at = 0
    for lo, hi in sorted(spans):
        if lo != at:
            raise Unreadable("header-mismatch", "tensors overlap or leave gaps", file=file)
        at = hi
    there = size - 8 - length
    if at > there:
        raise Unreadable("truncated", f"the header declares {at} bytes, but {there} are present", file=file)
    if at < there:
        raise Unreadable("trailing-bytes", f"{there - at} bytes after the last tensor", file=file)
    return tensors


SOURCE = Safetensors

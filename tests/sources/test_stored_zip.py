"""Archives whose members are stored are read straight from their directory, and what is wrong with one is left to ``zipfile``."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
import pytest

from dataloader_expert.sources.stored_zip import stored


def archive(save: Any = np.savez, **arrays: Any) -> bytes:
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def members(data: bytes) -> dict[str, bytes] | None:
    """The members with the right checksum; None if there is another one, or zipfile is to be asked."""
    found = stored(data)
    if found is None or any(zlib.crc32(data[place]) != crc for place, crc in found.values()):
        return None
    return {name: data[place] for name, (place, _) in found.items()}


def test_the_members_are_those_that_zipfile_reads() -> None:
    """Our promise: names and bytes are the same, of arrays of any size."""
    data = archive(x=np.arange(1000.0), y=np.int64(3), empty=np.zeros((0, 4)))
    whole = zipfile.ZipFile(io.BytesIO(data))
    assert members(data) == {name: whole.read(name) for name in whole.namelist()}


def test_no_damaged_byte_goes_unseen() -> None:
    """Our promise: whichever byte of an archive is another one, its members are those of the whole file, or zipfile is asked."""
    data = archive(x=np.arange(6, dtype=np.uint8), y=np.int64(3))
    whole = members(data)
    for i in range(len(data)):
        damaged = data[:i] + bytes([data[i] ^ 0x11]) + data[i + 1 :]
        found = members(damaged)
        assert found is None or list(found.values()) == list((whole or {}).values()), i


@pytest.mark.parametrize("cut", [0, 1, 21, 22, 100, -1])
def test_no_other_file_is_one(cut: int) -> None:
    """Our promise: what is cut off, compressed, or no archive is left to zipfile."""
    data = archive(x=np.arange(100.0))
    assert stored(data[:cut]) is None
    assert stored(data + b"\0") is None
    assert stored(archive(np.savez_compressed, x=np.arange(100.0))) is None

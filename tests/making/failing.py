"""Reads that fail as a bad drive's do: the kernel refuses them, by a filter on system calls that children inherit."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from typing import Any

PREAD = {"x86_64": 17, "aarch64": 67}
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
COUNT_AT = 16 + 2 * 8
"""Where the third argument lies in what the filter sees."""


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]  # as ctypes wants it


def reads_fail(size: int, why: int = errno.EIO) -> Any:
    """A function to be run before exec: from then on a read of exactly ``size`` bytes at an offset fails with ``why``."""
    steps = [
        (LOAD, 0, 0, 0),
        (EQUAL, 0, 3, PREAD[platform.machine()]),
        (LOAD, 0, 0, COUNT_AT),
        (EQUAL, 0, 1, size),
        (RETURN, 0, 0, 0x00050000 | why),
        (RETURN, 0, 0, 0x7FFF0000),
    ]
    code = b"".join(struct.pack("<HBBI", *step) for step in steps)
    program = _Program(len(steps), code)

    def install() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP, FILTER, ctypes.byref(program)):
            raise OSError(ctypes.get_errno(), "no filter of system calls here")

    return install

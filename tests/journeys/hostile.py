"""Data sets that fail in every way a process can; copied into a folder of its own and measured from there."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset, get_worker_info

CHUNK = 50 << 20
HELD: list[Any] = []


class Hostile(Dataset[Any]):
    """Sample 3 of 64 does ``how``, in a DataLoader's worker only or outside of workers only, after ``reads`` reads."""

    def __init__(self, how: str = "fine", in_worker: bool = False, reads: int = 0) -> None:
        self.how, self.in_worker, self.reads = how, in_worker, reads

    def __len__(self) -> int:
        return 64

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        if i == 3 and (get_worker_info() is not None) == self.in_worker:
            self.reads -= 1
            if self.reads < 0:
                getattr(self, self.how)()
        return torch.full((4,), float(i)), i % 2

    def fine(self) -> None:
        """Nothing."""

    def segfault(self) -> None:
        ctypes.string_at(0)

    def hang(self) -> None:
        while True:
            time.sleep(0.1)

    def hang_in_c(self) -> None:
        """A C call that keeps the interpreter's lock and that no signal interrupts: a library that waits for its own lock."""
        library, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
        for _ in range(2):
            library.pthread_mutex_lock(lock)

    # what grows pauses between chunks: the limit is met within the call's budget, but not before the host has looked
    def private(self) -> None:
        while True:
            HELD.append(bytearray(os.urandom(1)) * CHUNK)
            time.sleep(0.02)

    def shared(self) -> None:
        while True:
            memory = mmap.mmap(-1, CHUNK)
            memory.write(b"x" * CHUNK)
            HELD.append(memory)
            time.sleep(0.02)

    def shm(self) -> None:
        with Path(f"/dev/shm/psm_{os.getpid():08x}").open("wb") as f:  # as multiprocessing names them
            while True:
                f.write(b"x" * CHUNK)
                f.flush()
                time.sleep(0.02)

    def exits(self) -> None:
        sys.exit(3)

    def raises(self) -> None:
        raise KeyError("no such key: 'img'")

    def daemon(self) -> None:
        """A process that leaves the session, its parent and its name behind."""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp("sleep", ["sleep", "987654"])
            os._exit(0)

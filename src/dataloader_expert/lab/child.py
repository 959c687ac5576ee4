"""A request's own process: reads what to do, runs the probes, says facts as they come. Then it is gone."""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import signal
import socket
import threading
from typing import Any

from dataloader_expert.lab.host import NOTES_AT


class Notes:
    """The sample at hand, in a shared page that outlives this process: a crash is then known by its sample."""

    def __init__(self, fd: int) -> None:
        os.ftruncate(fd, NOTES_AT)
        self._page = mmap.mmap(fd, 64)
        self.at(-1)

    def at(self, sample: int) -> None:
        self._page[:8] = sample.to_bytes(8, "little", signed=True)


def sample_at(page: bytes) -> int | None:
    """What ``Notes.at`` said last, from the file's first bytes."""
    value = int.from_bytes(page[:8], "little", signed=True)
    return None if value < 0 or len(page) < 8 else value


def work(channel: socket.socket, notes_fd: int) -> None:
    notes = Notes(notes_fd)
    os.lseek(notes_fd, NOTES_AT, os.SEEK_SET)
    faulthandler.register(signal.SIGUSR1, file=notes_fd, all_threads=True, chain=False)
    owner = os.getpid()
    lock = threading.Lock()

    def emit(event: dict[str, Any]) -> None:
        if os.getpid() == owner:
            with lock:
                channel.sendall(json.dumps(event, allow_nan=False, default=str).encode() + b"\n")

    buffer = b""
    while not buffer.endswith(b"\n"):
        part = channel.recv(1 << 16)
        if not part:
            return
        buffer += part
    request = json.loads(buffer)
    os.chdir(request.get("folder") or "/")
    from dataloader_expert.probes.base import run

    run(request, emit, notes.at)
    emit({"event": "done"})

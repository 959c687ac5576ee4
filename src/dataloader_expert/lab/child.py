"""A request's own process: reads the request, runs the probes, sends facts as they come, and exits."""

from __future__ import annotations

import faulthandler
import json
import math
import os
import signal
import socket
import threading
import time
from typing import Any

from dataloader_expert.lab.notes import NOTES_AT, Notes


def work(channel: socket.socket, notes_fd: int, deadline: float | None) -> None:
    """Carries out the request that the channel brings.

    At ``deadline`` (monotonic) the host asks for stacks by a signal, which wakes a blocked call: what the child
    says from then on is an outcome of that, not of the request, and is kept back.
    """
    notes = Notes(notes_fd)
    os.lseek(notes_fd, NOTES_AT, os.SEEK_SET)
    faulthandler.enable(file=notes_fd, all_threads=False)  # the line at which a signal kills this process
    faulthandler.register(signal.SIGUSR1, file=notes_fd, all_threads=True, chain=False)
    owner = os.getpid()
    lock = threading.Lock()
    end = math.inf if deadline is None else deadline

    def emit(event: dict[str, Any]) -> None:
        if os.getpid() == owner and time.monotonic() < end:
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

    run(request, emit, notes.at, notes.stacks)
    emit({"event": "done"})
    while time.monotonic() >= end:
        time.sleep(1)  # the host is about to kill this process at its limit

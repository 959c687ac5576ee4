"""Processes branched off this one before it did anything, one for each piece of work."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from typing import Any

from dataloader_expert.probes.readable import readable

BEFORE_S = 20.0
LEAST_S, SHORT_S = 0.05, 1.0
"""Seconds below which nothing is begun, and below which a limit is the end of the budget, whatever the work takes."""
NO_TIME = "no time was left: raise budget_s"


class Branches:
    """A fork of this process in its present state, which forks again for each piece of work: each begins in that state,
    and whatever ends it (an out-of-memory, an abort of a library) ends nothing else. With ``keep`` one such fork does all
    the work in turn, so that imports and first calls are paid once; after a failure another takes its place.

    CUDA cannot be used in the fork of a process that has used it: make this before anything touches the device.
    """

    def __init__(
        self,
        work: Callable[[dict[str, Any]], dict[str, Any]],
        before: Callable[[], None] = lambda: None,
        keep: bool = False,
    ) -> None:
        """``before`` is run in the branch at once, while this process goes on: imports that all pieces of work need."""
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                ours.close()
                _serve(theirs, work, before, keep)
            finally:
                os._exit(0)
        theirs.close()
        self._wire = ours
        self._read = b""

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The work's answer, or ``{"error": …}``: it raised, was killed by a signal, or took longer than ``seconds``."""
        if seconds < LEAST_S:
            return {"error": NO_TIME, "late": True}
        until = time.monotonic() + seconds
        try:
            self._wire.sendall(json.dumps(request).encode() + b"\n")
            pid = int(self._line(until + BEFORE_S) or b"0")
            line = self._line(until)
        except (OSError, ValueError):
            return {"error": "the measuring process has ended"}
        if line is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._line(time.monotonic() + 5)
            return {"error": NO_TIME if seconds < SHORT_S else f"it took longer than {seconds:.2g} s", "late": True}
        return dict(json.loads(line))

    def _line(self, until: float) -> bytes | None:
        """The next line; None if it does not come in time."""
        while b"\n" not in self._read:
            if not readable(self._wire, until - time.monotonic()):
                return None
            part = self._wire.recv(1 << 16)
            if not part:
                raise OSError("ended")
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return line

    def close(self) -> None:
        self._wire.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _serve(
    wire: socket.socket, work: Callable[[dict[str, Any]], dict[str, Any]], before: Callable[[], None], keep: bool
) -> None:
    with contextlib.suppress(Exception):  # the work will say what is wrong
        before()
    worker: _Worker | None = None
    for line in wire.makefile("rb"):
        worker = worker or _Worker(work, wire)
        wire.sendall(f"{worker.pid}\n".encode())
        text = worker.does(line)
        if text and keep and not json.loads(text).get("error"):
            wire.sendall(text)
            continue
        status = worker.ended()
        worker = None
        if not text:
            ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {status}"
            text = json.dumps({"error": f"ended by {ended}", "died": True}).encode() + b"\n"
        wire.sendall(text)


class _Worker:
    """A fork that works for whoever made it until that ends, or ends it."""

    def __init__(self, work: Callable[[dict[str, Any]], dict[str, Any]], wire: socket.socket) -> None:
        asked, to = os.pipe()
        answers, answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                wire.close()
                os.close(to)
                os.close(answers)
                with os.fdopen(asked, "rb") as lines, os.fdopen(answer, "wb") as out:
                    for line in lines:
                        out.write(_done(work, line))
                        out.flush()
            finally:
                os._exit(0)
        os.close(asked)
        os.close(answer)
        self._to, self._answers = os.fdopen(to, "wb"), os.fdopen(answers, "rb")

    def does(self, line: bytes) -> bytes:
        """The answer's line; empty if the worker ended without one."""
        with contextlib.suppress(BrokenPipeError):
            self._to.write(line)
            self._to.flush()
        return self._answers.readline()

    def ended(self) -> int:
        """Its exit status, once it has nothing more to do."""
        with contextlib.suppress(BrokenPipeError):
            self._to.close()
        self._answers.close()
        return os.waitpid(self.pid, 0)[1]


def _done(work: Callable[[dict[str, Any]], dict[str, Any]], line: bytes) -> bytes:
    said: dict[str, Any]
    try:
        said = work(json.loads(line))
    except BaseException as e:  # the user's model may raise anything
        traceback.print_exc()
        said = {"error": f"{type(e).__name__}: {e}"[:2000], "kind": type(e).__name__}
    return json.dumps(said).encode().replace(b"\n", b" ") + b"\n"

"""Processes that are watched and ended: what the server, the warden and the host share. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere there is nothing like it and the end of file must do."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def children_of(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def descendants_of(pid: int) -> list[int]:
    """Children, their children and so on, of every thread's."""
    found: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{parent}/task/{task}/children") as f:
                    new = [int(p) for p in f.read().split()]
            except OSError:
                continue
            found += new
            queue += new
    return found


def kill(pids: list[int], signum: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def end_all(pid: int) -> None:
    """Stops a process's descendants until none is new, then kills them: none can fork on while others are killed."""
    known: set[int] = set()
    while new := [p for p in descendants_of(pid) if p not in known]:
        kill(new, signal.SIGSTOP)
        known.update(new)
    kill(sorted(known), signal.SIGKILL)


def sweep() -> None:
    """Ends every descendant; as a subreaper this process inherits all that lost their parent."""
    while True:
        left = descendants_of(os.getpid())
        kill(left, signal.SIGKILL)
        try:
            while os.waitpid(-1, 0 if left else os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if not left:
                return


def await_children(seconds: float) -> None:
    """Waits until the killed are gone, for so long at the most: one in the midst of a system call may still make a file."""
    until = time.monotonic() + seconds
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.005)  # waitpid knows no timeout

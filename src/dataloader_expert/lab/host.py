"""The host: imports once what children need, computes nothing, forks a child per request and enforces its limits.

Single-threaded on purpose: a fork copies only the calling thread. Runs in the user's interpreter too:
standard library, numpy, torch.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
import types
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.lab import shm
from dataloader_expert.lab.folder import keep_sockets_in, remove_request_dir
from dataloader_expert.lab.notes import sample_at
from dataloader_expert.lab.processes import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    children_of,
    descendants_of,
    kill,
    prctl,
)
from dataloader_expert.probes.system.environment import torch_version
from dataloader_expert.probes.system.process_memory import group_bytes, shm_used

POLL_S = 0.1
STRAY_S = 0.2
STACK_S = 0.05
FROZEN_S, FROZEN_OVER = 1.0, 1.25
"""How long a group over its memory limit stands still before it is ended, so that the request can end its workers
itself and keep what it measured; beyond this multiple of the limit it is ended at once."""
STACKS_OF = 9
"""Processes of a group that are asked for their stacks: the child and eight workers."""


@dataclass
class Child:
    """A request at work. ``limit_bytes`` bounds its group's memory, ``deadline`` its time (monotonic).

    ``sample`` is the one at hand when it ended or was to be ended, read from ``notes``, the request's notes file.
    """

    id: int
    pid: int
    deadline: float | None
    hung_s: float | None
    limit_bytes: int
    shm_before: int
    shm_there: frozenset[str]
    notes: int
    sample: int | None = None
    reason: str | None = None
    figures: dict[str, int] = field(default_factory=dict)
    shm_names: set[str] = field(default_factory=set)
    group: set[int] = field(default_factory=set)
    """All processes of the group that were ever seen."""
    since: float = field(default_factory=time.monotonic)
    frozen: float | None = None
    """Since when its workers stand still, as the group is over its memory limit."""
    at: tuple[int | None, float] = (None, 0.0)
    """The sample at hand when it was last looked at, and since when."""

    def hangs(self, now: float) -> bool:
        """Whether one sample has taken longer than ``hung_s``; None: it may take any time."""
        sample = sample_at(self.notes)
        if sample != self.at[0]:
            self.at = sample, now
        return self.hung_s is not None and sample is not None and now - self.at[1] > self.hung_s


class HostProcess:
    def __init__(self, control: socket.socket, package: str, warden: int) -> None:
        self.control, self.package, self.warden = control, package, warden
        self.children: dict[int, Child] = {}
        self.ended: list[tuple[float, Child, int]] = []
        self.stop = False

    def run(self) -> None:
        wake_r, wake_w = os.pipe()
        for fd in (wake_r, wake_w):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        for signum in (signal.SIGCHLD, signal.SIGCONT):
            signal.signal(signum, lambda *_: None)  # both only wake the loop below
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stop", True))
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(wake_r, select.POLLIN)
        self.wake = (wake_r, wake_w)
        while not self.stop and os.getppid() == self.warden:
            busy = self.children or self.ended
            for fd, _ in poll.poll(POLL_S * 1000 if busy else None):
                if fd == wake_r:
                    os.read(wake_r, 4096)
                elif not self._message():
                    self.stop = True
            self._reap()
            self._bound()
            self._report()
        for child in list(self.children.values()):
            self._end(child, "cancel")

    def _message(self) -> bool:
        try:
            message, fds, _, _ = socket.recv_fds(self.control, 1 << 16, 4)
        except OSError:  # the server died with a message of ours unread
            return False
        if not message:
            return False
        order = json.loads(message)
        if order["op"] == "start":
            self._start(order, fds)
        elif order["op"] == "torch":
            # children at work would not be bounded meanwhile: whoever needs it now imports it itself
            self._send({"event": "torch", "why": None if self.children else import_torch()})
        elif order["op"] == "cancel":
            for child in list(self.children.values()):
                if child.id == order["id"]:
                    self._end(child, "cancel")
        return True

    def _start(self, order: dict[str, Any], fds: list[int]) -> None:
        limit = order.get("limit_s")
        deadline = None if limit is None else time.monotonic() + limit
        used, there = shm_used(), shm.listed()
        host = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_child(host, fds, deadline)
            finally:
                os._exit(70)
        *others, notes = fds
        for fd in others:
            os.close(fd)
        self.children[pid] = Child(
            order["id"], pid, deadline, order.get("hung_s"), order["limit_bytes"], used, there, notes
        )
        self._send({"event": "started", "id": order["id"], "pid": pid})

    def _become_child(self, host: int, fds: list[int], deadline: float | None) -> None:
        request, out, err, notes = fds
        keep_sockets_in(os.path.join(self.package, str(os.getpid())))
        signal.set_wakeup_fd(-1)
        for signum in (signal.SIGCHLD, signal.SIGCONT, signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != host:
            os._exit(1)
        os.setsid()
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.control.close()
        for fd in self.wake:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            with open("/proc/self/oom_score_adj", "w") as f:
                f.write("1000")
        except OSError:
            pass  # not Linux: the system then chooses for itself
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
        main = types.ModuleType("__main__")
        main.__builtins__ = __builtins__  # type: ignore[attr-defined]  # as an interpreter sets it
        sys.modules["__main__"] = main
        sys.argv = [""]
        from dataloader_expert.lab.child import work

        work(socket.socket(fileno=request), notes, deadline)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            child = self.children.pop(pid, None)
            if child is not None:
                if child.reason is None:
                    child.sample = sample_at(child.notes)
                self.ended.append((time.monotonic() + STRAY_S, child, status))

    def _bound(self) -> None:
        now = time.monotonic()
        for child in list(self.children.values()):
            late = child.deadline is not None and now > child.deadline
            if child.hangs(now) or late:
                self._end(child, "time" if late else "hang")
                continue
            grown = max(0, shm_used() - child.shm_before)
            group = [child.pid, *descendants_of(child.pid)]
            child.group.update(group)
            if grown > 1 << 20:
                child.shm_names |= shm.held(group)
            used = group_bytes(group, grown, int(0.8 * child.limit_bytes))
            if used <= child.limit_bytes:
                if child.frozen is not None:
                    kill(group[1:], signal.SIGCONT)
                    child.frozen = None
                continue
            workers = [p for p in group[1:] if not is_tracker(p)]
            if used < FROZEN_OVER * child.limit_bytes and workers:
                if child.frozen is None:
                    child.frozen = now
                kill(workers, signal.SIGSTOP)
                if now - child.frozen < FROZEN_S:
                    continue
            child.figures = {"used": used, "limit": child.limit_bytes, "processes": len(group)}
            self._end(child, "memory")

    def _end(self, child: Child, reason: str) -> None:
        """Stops and kills the whole group. If it took too long, first lets each process write its stack."""
        if child.reason is None:
            child.reason, child.sample = reason, sample_at(child.notes)
            if reason in ("time", "hang"):
                for pid in [child.pid, *descendants_of(child.pid)][:STACKS_OF]:
                    ask_stack(pid, child.notes)
        known: set[int] = set()
        while True:
            group = {child.pid, *descendants_of(child.pid)}
            new = [p for p in group - known if not is_tracker(p)]
            if not new:
                break
            kill(new, signal.SIGSTOP)
            known |= group
        child.shm_names |= shm.held(sorted(known))
        kill([p for p in known if not is_tracker(p)], signal.SIGKILL)

    def _report(self) -> None:
        """Reports a request as ended once its strays are gone: our direct children that we did not fork."""
        if not self.ended:
            return
        now = time.monotonic()
        strays = [p for p in children_of(os.getpid()) if p not in self.children]
        if strays:
            for stray in strays:
                for _, child, _ in self.ended:
                    child.shm_names |= shm.held([stray, *descendants_of(stray)])
            late = [p for p in strays if not is_tracker(p) or any(now > due for due, _, _ in self.ended)]
            kill([d for p in late for d in (p, *descendants_of(p))], signal.SIGKILL)
            if late:
                time.sleep(0.002)
                self._reap()
                strays = [p for p in children_of(os.getpid()) if p not in self.children]
        if strays and now < max(due for due, _, _ in self.ended) + 2:
            return
        for _, child, status in self.ended:
            os.close(child.notes)
            remove_request_dir(os.path.join(self.package, str(child.pid)))
            shm.remove(child.shm_names | shm.held([child.pid, *child.group]), child.shm_there)
            self._send(
                {
                    "event": "ended",
                    "id": child.id,
                    "reason": child.reason,
                    "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
                    "status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
                    "figures": child.figures,
                    "sample": child.sample,
                    "seconds": time.monotonic() - child.since,
                }
            )
        self.ended = []

    def _send(self, event: dict[str, Any]) -> None:
        try:
            self.control.send(json.dumps(event).encode())
        except OSError:
            self.stop = True


def ask_stack(pid: int, notes: int) -> None:
    """Asks one process at a time: they write to one file, and their lines would mix."""
    before = size = os.fstat(notes).st_size
    until = time.monotonic() + STACK_S
    kill([pid], signal.SIGUSR1)
    while time.monotonic() < until:
        time.sleep(0.005)
        known, size = size, os.fstat(notes).st_size
        if before < known == size:
            return


def is_tracker(pid: int) -> bool:
    """Whether it is multiprocessing's resource tracker, which gets a moment to remove its semaphores."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return b"resource_tracker" in f.read()
    except OSError:
        return False


def serve(control: int, package: str, warden: int) -> None:
    """Preloads what every child needs, says so, and serves until the control socket ends.

    Below ``package`` each request has a folder for the sockets of its processes: they are killed, and clear up nothing.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.dont_write_bytecode = True
    channel = socket.socket(fileno=control)
    begun = time.monotonic()
    gc.disable()  # nothing imported is garbage: looking for it costs a fifth of the import
    try:
        versions = preload()
    except BaseException as e:  # reported to whoever waits; there is nobody else
        text = "".join(traceback.format_exception_only(type(e), e)).strip()
        channel.send(json.dumps({"event": "host", "error": text, "python": sys.executable}).encode())
        return
    gc.freeze()
    gc.enable()
    ready = {"event": "host", **versions, "pid": os.getpid(), "seconds": time.monotonic() - begun}
    channel.send(json.dumps(ready).encode())
    HostProcess(channel, package, warden).run()


def import_torch() -> str:
    """Imports torch, so that no child pays for it; why that fails, else empty. Nothing of it is ever garbage."""
    if "torch" in sys.modules:
        return ""
    gc.disable()
    try:
        import torch.utils.data  # noqa: F401
    except Exception as e:  # a library that is missing, a broken installation
        return f"{type(e).__name__}: {e}"
    finally:
        gc.freeze()
        gc.enable()
    return ""


def preload() -> dict[str, str]:
    """Imports, and nothing but imports: one parallel torch operation here would hang every child's next one.

    Our own readers and checks need no torch: its second is spent on the first request that does.
    """
    import importlib

    import numpy

    scan = os.environ.get("DATALOADER_EXPERT_HOST") == "scan"
    if not scan:
        import torch.utils.data  # noqa: F401
    version = torch_version()
    if sys.version_info < (3, 10) or tuple(map(int, version.split(".")[:2])) < (2, 4):
        raise ImportError(f"Python >= 3.10 and torch >= 2.4 are needed, found {sys.version.split()[0]}, {version}")
    ours = ("lab.child",) if scan else ("sources.reference", "loaders.building", "lab.child")
    for name in ("multiprocessing.queues", *(f"dataloader_expert.{module}" for module in ours)):
        importlib.import_module(name)
    importlib.import_module("dataloader_expert.probes.base").probes()
    # in a user's host no more: what a worker of theirs imports, numpy.random above all, it is to be charged for
    if scan:  # pyarrow would start a thread: not in a host
        seldom = ("numpy.random", "numpy.ma")
        for name in (*seldom, "PIL.Image", "PIL.JpegImagePlugin", "PIL.PngImagePlugin", "simplejpeg"):
            importlib.import_module(name)
        importlib.import_module("dataloader_expert.sources.registry").formats()
        importlib.import_module("dataloader_expert.checks.base").all_checks()
    return {
        "python": sys.version.split()[0],
        "torch": version,
        "numpy": numpy.__version__,
        "executable": sys.executable,
    }

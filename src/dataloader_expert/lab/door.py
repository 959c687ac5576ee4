"""The server's side of the door: start hosts on first use, pass requests through, collect what comes back."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.lab import shm
from dataloader_expert.lab.failures import GRACE_S, failure_of
from dataloader_expert.lab.notes import HUNG_S, NOTES_AT
from dataloader_expert.lab.outcome import Events, Limits, OnEvent, Outcome, Stream
from dataloader_expert.lab.processes import descendants_of, end_all, kill
from dataloader_expert.lab.starting import PATIENCE_S, Begun, begin

STACKS = 64 << 10
STALLED = 0.3
"""A request that was silent for this share of its time limit counts as hung."""
START_S = 120.0
LATE_S = 2.0
"""A request that is about to answer at its limit has so long to do so; then the host kills it."""
STOPPED_S = 5.0
"""How often to check whether a host is stopped. Stopped at two checks in a row, it is killed."""


GONE: dict[str, Any] = {"event": "ended", "reason": "host", "signal": None, "status": None, "figures": {}}
"""The answer to requests whose host has ended."""


class HostClient:
    """The server's side of one host process, and the requests that it is working on."""

    def __init__(self, python: str, user: bool, begun: Begun | None = None) -> None:
        self.python, self.user = python, user
        begun = begin(python, user) if begun is None else begun
        self.control, self.process, self.folder = begun.control, begun.process, begun.folder
        self.ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.torch: asyncio.Future[str | None] | None = None
        """Empty once the host has imported torch, else why it cannot; its result None: it was busy. None: not asked to."""
        self.asked = 0.0
        """When it was asked to (monotonic)."""
        self.alive = True
        self.ending: threading.Thread | None = None
        asyncio.get_running_loop().add_reader(self.control, self._read)
        self.since = time.monotonic()
        self.hosts: list[int] = []
        """The host's process ID, once it is known."""
        self.shm_there = shm.listed()
        self.watched = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else -1
        if self.watched >= 0:  # tells when the warden ends: a stopped host could not
            asyncio.get_running_loop().add_reader(self.watched, self.close)

    def _read(self) -> None:
        while True:
            try:
                message = self.control.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError:
                message = b""
            if not message:
                self.close()
                return
            event = json.loads(message)
            if event["event"] == "host":
                if "pid" in event:
                    self.hosts = [event["pid"]]
                if not self.ready.done():
                    self.ready.set_result(event)
            elif event["event"] == "torch":
                if self.torch is not None and not self.torch.done():
                    self.torch.set_result(event["why"])
            elif event["event"] == "ended":
                future = self.waiting.pop(event["id"], None)
                if future is not None and not future.done():
                    future.set_result(event)

    async def import_torch(self, seconds: float) -> None:
        """Has the host import torch, once, so that each child that needs it does not; one with children at work will not.

        Raises:
            RequestError: ``timed-out`` if it has not in ``seconds``, ``import-failed`` if it cannot.
        """
        if self.user or not self.alive:
            return  # the host of user code has it from the start
        if self.torch is None or (self.torch.done() and self.torch.result() != ""):
            self.torch, self.asked = asyncio.get_running_loop().create_future(), time.monotonic()
            try:
                self.control.send(json.dumps({"op": "torch"}).encode())
            except OSError:
                self.close()
                return
        try:
            why = await asyncio.wait_for(asyncio.shield(self.torch), max(0.1, seconds))
        except TimeoutError:
            self.give_up(self.asked)
            raise _not_ready(seconds) from None
        if why:
            raise _unfit(self.python, why)

    def give_up(self, since: float) -> None:
        """Closes a host that will not become ready, so that the next call starts another: it is stopped, or has been at it
        ``since`` too long."""
        pids = [self.process.pid, *descendants_of(self.process.pid)]
        if time.monotonic() - since > START_S or any(map(_is_stopped, pids)):
            self.close(0.0)

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """Ends the host: its control socket closes, it ends its children, and the warden kills the rest.

        Waiting requests are answered at once. What has not ended by itself after ``patience_s`` is killed from a separate
        thread: a process that is stopped, or waits for a drive, must not block the event loop.
        """
        if not self.alive:
            return
        self.alive = False
        try:
            asyncio.get_running_loop().remove_reader(self.control)
            if self.watched >= 0:
                asyncio.get_running_loop().remove_reader(self.watched)
        except RuntimeError:
            pass  # the loop is gone, and its readers with it
        self.ending = threading.Thread(target=self._end, args=(patience_s,), daemon=True)
        self.control.close()
        if not self.ready.done():
            self.process.terminate()  # it is importing torch and would not read its socket before that is done
            self.ready.set_result({"event": "host", "error": "the process ended while starting", "python": self.python})
        if self.torch is not None and not self.torch.done():
            self.torch.set_result(None)
        for future in self.waiting.values():
            if not future.done():
                future.set_result(GONE)
        self.ending.start()

    def _end(self, patience_s: float) -> None:
        until = time.monotonic() + patience_s
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        # whose warden was killed cleans up by itself: killed in the midst of it, its folder would stay if we were killed next
        while time.monotonic() < until and any(_is_child_of(pid, self.folder) for pid in self.hosts):
            time.sleep(0.01)  # it is no child of ours, whose end could be waited for
        left = [pid for pid in (self.process.pid, *self.hosts) if _is_child_of(pid, self.folder)]
        if left:
            group = [p for pid in left for p in (pid, *descendants_of(pid))]
            names = shm.held(group)
            for pid in left:
                end_all(pid)
            kill(left, signal.SIGKILL)
            shm.remove(names, self.shm_there)
        with contextlib.suppress(subprocess.TimeoutExpired):  # in an uninterruptible wait: it ends when the wait does
            self.process.wait(PATIENCE_S)
        if self.watched >= 0:
            os.close(self.watched)
        shutil.rmtree(self.folder, ignore_errors=True)


class Door:
    """Runs requests. ``python`` is the interpreter for references; None: found from the environment and root.

    ``begun``: a host for our own readers that was started before there was a door.
    """

    def __init__(self, python: str | None = None, begun: Begun | None = None, patient: bool = False) -> None:
        """``patient``: a host that is slow to start is waited for beyond a request's time, as whoever asks can't call again
        while it goes on starting."""
        self.python, self.begun, self.patient = python, begun, patient
        self.hosts: dict[tuple[str, bool], HostClient] = {}
        self.ended: list[HostClient] = []
        self.count = 0
        self.closed = False
        atexit.register(self.close)

    def close(self) -> None:
        """Ends every host and waits for that. A request that is still waiting for its turn starts no new one."""
        self.end()
        self.join()

    def end(self) -> None:
        """Tells every host to end, from the thread of the event loop."""
        self.closed = True
        for host in self.hosts.values():
            host.close()
            self.ended.append(host)
        self.hosts = {}

    def join(self) -> None:
        """Waits for the hosts that were told to end."""
        for host in self.ended:
            if host.ending is not None:
                host.ending.join(3 * PATIENCE_S)
        self.ended = []

    async def host(
        self, user: bool, roots: tuple[str, ...], seconds: float = START_S
    ) -> tuple[HostClient, dict[str, Any]]:
        """The host, started if necessary; the one for user code runs in the user's interpreter.

        Raises:
            RequestError: ``import-failed`` if its interpreter lacks what is needed, ``timed-out`` if it is not
                ready in ``seconds``; it goes on starting.
        """
        if self.closed:
            raise RequestError("worker-crashed", "the server is ending; nothing more is measured")
        python = find_python(self.python, roots) if user else sys.executable
        key = (python, user)
        host = self.hosts.get(key)
        try:
            if host is None or not host.alive:
                self.ended = [
                    h for h in (*self.ended, host) if h is not None and h.ending is not None and h.ending.is_alive()
                ]
                begun, self.begun = (self.begun, None) if not user else (None, self.begun)
                host = self.hosts[key] = HostClient(python, user, begun)
            ready = await asyncio.wait_for(asyncio.shield(host.ready), seconds)
        except TimeoutError:
            assert host is not None  # it was waited for
            host.give_up(host.since)
            raise _not_ready(seconds) from None
        except OSError as e:
            raise _unfit(python, e) from None
        if "error" in ready:
            self.hosts.pop(key, None)
            host.close()
            raise _unfit(python, ready["error"])
        return host, ready

    async def run(
        self,
        request: dict[str, Any],
        limits: Limits,
        user: bool,
        roots: tuple[str, ...],
        on_event: OnEvent | None = None,
    ) -> Outcome:
        """Runs the request's probes in a child. Cancelling this coroutine ends the child's whole group."""
        begun = time.monotonic()
        patience = START_S if limits.seconds is None or self.patient else limits.seconds + GRACE_S
        host, ready = await self.host(user, roots, patience)
        if request.get("torch", True):
            await host.import_torch(patience - (time.monotonic() - begun))
        waited = time.monotonic() - begun
        left = None if limits.seconds is None else max(1.0, limits.seconds - waited)
        self.count += 1
        id_ = self.count
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ended: asyncio.Future[dict[str, Any]] = loop.create_future()
        host.waiting[id_] = ended
        if not host.alive:  # it ended after it was ready
            ended.set_result(GONE)
        streams = [Stream(loop), Stream(loop)]
        notes = os.memfd_create("notes") if hasattr(os, "memfd_create") else _unnamed()
        outcome = Outcome()
        sending: asyncio.Future[None] | None = None
        events = Events(ours, outcome, on_event)
        order = {
            "op": "start",
            "id": id_,
            "limit_s": None if left is None else left + LATE_S,
            "limit_bytes": limits.memory_bytes,
        }
        order["hung_s"] = HUNG_S if user and left is None else None
        try:
            try:
                socket.send_fds(
                    host.control, [json.dumps(order).encode()], [theirs.fileno(), streams[0].w, streams[1].w, notes]
                )
            except OSError:
                host.close()
            theirs.close()
            for stream in streams:
                stream.begin()
            if left is not None:
                request = {**request, "seconds": left}
            due = None if left is None else time.monotonic() + left + max(PATIENCE_S + LATE_S, GRACE_S - waited)
            loop.add_reader(ours, events.read)
            text = json.dumps({**request, "host": ready}).encode() + b"\n"
            sending = asyncio.ensure_future(loop.sock_sendall(ours, text))  # a stopped host's child reads nothing
            sending.add_done_callback(
                lambda sent: sent.cancelled() or sent.exception()
            )  # a child that died reads nothing
            end = await self._ended(host, ended, due)
        except BaseException:
            await self._cancel(host, id_, ended)
            raise
        finally:
            events.read()
            loop.remove_reader(ours)
            if sending is not None:
                sending.cancel()
                loop.remove_writer(ours)  # before its descriptor is closed, and perhaps reused
            ours.close()
            texts = [stream.close() for stream in streams]
            stacks = os.pread(notes, STACKS, NOTES_AT).decode("utf-8", "replace")
            os.close(notes)
        outcome.prints = "\n".join(t for t in texts if t)
        if (not events.done or end["reason"]) and events.error is None:
            outcome.failure = failure_of(end, stacks, texts[1], limits, events.message)
            outcome.doing = events.message
            silent = time.monotonic() - events.heard
            outcome.stalled = limits.seconds is None or silent > max(2.0, STALLED * limits.seconds)
        outcome.failure = events.error or outcome.failure
        return outcome

    async def _ended(
        self, host: HostClient, ended: asyncio.Future[dict[str, Any]], due: float | None
    ) -> dict[str, Any]:
        """Waits until the request ends. At ``due`` (monotonic), or if the host stays stopped, kills the host."""
        stopped = 0
        while not ended.done():
            wait = STOPPED_S if due is None else min(STOPPED_S, max(0.0, due - time.monotonic()))
            await asyncio.wait({ended}, timeout=wait)
            if ended.done():
                break
            stopped = stopped + 1 if any(map(_is_stopped, (host.process.pid, *host.hosts))) else 0
            if stopped > 1 or (due is not None and time.monotonic() >= due):
                host.close(0.0)
                return {**GONE, "reason": "silent"}
        return ended.result()

    async def _cancel(self, host: HostClient, id_: int, ended: asyncio.Future[dict[str, Any]]) -> None:
        import anyio

        with anyio.CancelScope(shield=True):
            try:
                host.control.send(json.dumps({"op": "cancel", "id": id_}).encode())
                await asyncio.wait_for(asyncio.shield(ended), PATIENCE_S)
            except (OSError, TimeoutError):
                host.close(0.0)


def _not_ready(seconds: float) -> RequestError:
    text = f"the measuring process is still starting after {seconds:.0f} s (it imports torch once); call again"
    return RequestError("timed-out", text)


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def _is_child_of(pid: int, folder: str) -> bool:
    """Whether the process ID still belongs to the warden or host with this package folder, and was not reused."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return os.fsencode(folder) in f.read()
    except OSError:
        return False


def _unfit(python: str, why: object) -> RequestError:
    return RequestError(
        "import-failed",
        f"the interpreter {escaped(python)} cannot measure: {escaped(why, 300)}; "
        "it needs Python >= 3.10 with torch >= 2.4 and numpy; name another with --python",
    )


def _unnamed() -> int:
    """A descriptor of a file without a name, where there is no memfd."""
    fd, path = tempfile.mkstemp()
    os.unlink(path)
    return fd


def find_python(given: str | None, roots: tuple[str, ...]) -> str:
    """The interpreter for the user's code: ``--python``, else VIRTUAL_ENV, else a root's .venv, else ours."""
    if given is not None:
        path = os.path.expanduser(given)
        return os.path.abspath(path) if os.sep in path else shutil.which(path) or path  # hosts start in another folder
    places = [Path(os.environ["VIRTUAL_ENV"])] if os.environ.get("VIRTUAL_ENV") else []
    places += [Path(root) / ".venv" for root in roots]
    for place in places:
        python = place / "bin" / "python"
        if os.access(python, os.X_OK):
            return str(python)
    return sys.executable

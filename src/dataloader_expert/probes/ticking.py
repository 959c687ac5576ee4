"""Stacks of the processes that load, sampled whoever holds the interpreter lock.

A scribe, a process of its own, notes whether a loading process's first thread runs or is blocked, and sends it a signal
at which faulthandler writes that thread's stack to a pipe: in C, so that code that holds the lock is seen too (a sampler
in Python sees nothing of it), and in the thread itself, so that its frames hold still (faulthandler's timer walks them
while they change, which crashed three of five data sets tried). Calls that the signal wakes are taken up again. The
shares of running stacks then split the CPU time that the clocks saw, those of blocked ones the blocked time, and a busy
machine bends neither.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import gc
import json
import mmap
import os
import random
import re
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

from dataloader_expert.facts import Json

HEAD = b"Stack (most recent call first):\n"
WHO = re.compile(rb"(?m)^#(\d+)\n")
PIPE_BYTES = 1 << 20
F_SETPIPE_SZ = 1031
SIGNAL = getattr(signal, "SIGRTMIN", 0) + 7
LEAST = 100
MARK = "watched_fetch"
"""The function of ours below which everything is the loader's."""

Stack = tuple[tuple[str, int, str], ...]


@dataclass(frozen=True)
class Tick:
    """A stack below the fetch, innermost frame ``(file, line, function)`` first, and how often it was seen."""

    stack: Stack
    running: int
    blocked: int


class Ticker:
    """Pipes for ``workers`` processes (0: this one), and the scribe that samples them.

    Args:
        every_s: seconds between two stacks of a process, on average.
    """

    def __init__(self, workers: int, every_s: float) -> None:
        self.pipes = [os.pipe() for _ in range(max(1, workers))]
        for _, w in self.pipes:
            with contextlib.suppress(OSError):
                fcntl.fcntl(w, F_SETPIPE_SZ, PIPE_BYTES)
        self._shared = mmap.mmap(-1, 24)
        self._result = os.memfd_create("ticks")
        self._pid = os.fork()
        if self._pid == 0:
            try:
                for _, w in self.pipes:
                    os.close(w)
                scribe([r for r, _ in self.pipes], every_s, self._shared, self._result)
            finally:
                os._exit(0)
        for r, _ in self.pipes:
            os.close(r)

    def enough(self, half: float) -> bool:
        """Whether the share of the commonest innermost line, and so of any stage, is known within ``half`` at 95 %."""
        seen, most = (int.from_bytes(self._shared[i : i + 8], "little") for i in (0, 8))
        share = most / seen if seen else 0.5
        spread = 0.25 if share < 0.5 else share * (1 - share)
        return seen >= LEAST and seen >= spread * (1.96 / half) ** 2

    def start(self, worker: int) -> float:
        """From here on this process is sampled; gives the seconds that writing a stack takes it."""
        w = self.pipes[max(0, worker)][1]
        faulthandler.register(SIGNAL, file=w, all_threads=False, chain=False)
        signal.siginterrupt(SIGNAL, False)
        costs = []
        for _ in range(3):
            begun = time.thread_time()
            os.kill(os.getpid(), SIGNAL)
            costs.append(time.thread_time() - begun)
        os.write(w, f"#{os.getpid()}\n".encode())
        return sorted(costs)[1]

    def finish(self) -> tuple[list[Tick], float]:
        """What was seen, and the scribe's CPU seconds."""
        self._shared[16:17] = b"\1"
        until = time.monotonic() + 2.0
        while not os.waitpid(self._pid, os.WNOHANG)[0]:
            if time.monotonic() > until:  # no core for it: what it wrote is lost
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.002)
        faulthandler.unregister(SIGNAL)
        for _, w in self.pipes:
            os.close(w)
        text = os.pread(self._result, os.fstat(self._result).st_size, 0)
        os.close(self._result)
        self._shared.close()
        found: Json = json.loads(text) if text else {"ticks": [], "cpu": 0.0}
        ticks = [Tick(tuple((f, n, g) for f, n, g in t[0]), t[1], t[2]) for t in found["ticks"]]
        return ticks, float(found["cpu"])


@dataclass
class Sampled:
    """A pipe of one process at a time; ``pid`` 0 until it says who it is. ``asked``: whether it ran when signalled."""

    fd: int
    pid: int = 0
    stat: int = -1
    buffer: bytes = b""
    asked: list[bool] = field(default_factory=list)

    def ask(self) -> None:
        """Notes whether the process's first thread runs (or waits for a core), and asks for its stack."""
        if self.stat < 0:
            return
        try:
            text = os.pread(self.stat, 512, 0)
            running = text[text.rfind(b")") + 2 : text.rfind(b")") + 3] == b"R"
            os.kill(self.pid, SIGNAL)
            self.asked.append(running)
        except OSError:  # it has ended
            self.stat = -1

    def answers(self) -> list[tuple[bytes, bool]]:
        """The whole stacks that have come, and whether their thread ran."""
        try:
            part = os.read(self.fd, PIPE_BYTES)
        except BlockingIOError:
            return []
        who = WHO.findall(part)
        if who:
            part = part[part.rfind(b"#" + who[-1]) + len(who[-1]) + 2 :]
            self.pid, self.buffer, self.asked = int(who[-1]), b"", []
            with contextlib.suppress(OSError):
                self.stat = os.open(f"/proc/{self.pid}/stat", os.O_RDONLY)
        self.buffer += part
        if not self.buffer.endswith(b"\n"):
            return []
        whole, self.buffer = self.buffer.split(HEAD)[1:], b""
        asked, self.asked = self.asked, []
        return list(zip(whole, asked, strict=False))


def scribe(fds: list[int], every_s: float, shared: mmap.mmap, result: int) -> None:
    """Samples until told to stop; keeps stacks by their text, with how often their thread ran and was blocked."""
    gc.disable()
    pipes = [Sampled(fd) for fd in fds]
    for pipe in pipes:
        os.set_blocking(pipe.fd, False)
    seen: Counter[tuple[bytes, bool]] = Counter()
    leaf: dict[bytes, Stack] = {}
    lines: Counter[Stack] = Counter()
    mark, spread = f" in {MARK}\n".encode(), random.Random(0)
    while shared[16] == 0:
        for pipe in pipes:
            for dump, running in pipe.answers():
                if dump not in leaf:
                    leaf[dump] = below_fetch(dump.decode("utf-8", "replace"))[:1] if mark in dump else ()
                if leaf[dump]:
                    seen[dump, running] += 1
                    lines[leaf[dump]] += 1
        shared[:16] = sum(lines.values()).to_bytes(8, "little") + max(lines.values(), default=0).to_bytes(8, "little")
        for pipe in pipes:
            pipe.ask()
        time.sleep(every_s * spread.uniform(0.5, 1.5))  # no stage keeps step with us
    stacks: dict[Stack, list[int]] = {}
    for (dump, running), times in seen.items():
        stacks.setdefault(below_fetch(dump.decode("utf-8", "replace")), [0, 0])[0 if running else 1] += times
    told = {"ticks": [[list(s), *times] for s, times in stacks.items()], "cpu": time.process_time()}
    os.write(result, json.dumps(told).encode())


def below_fetch(dump: str) -> Stack:
    """The frames from the innermost to our fetch, which stays out."""
    frames: list[tuple[str, int, str]] = []
    for line in dump.splitlines():
        frame = frame_of(line)
        if frame is not None:
            if frame[2] == MARK:
                return tuple(frames)
            frames.append(frame)
    return ()


def frame_of(line: str) -> tuple[str, int, str] | None:
    """``File "x.py", line 3 in f`` as ``("x.py", 3, "f")``."""
    if not line.startswith('  File "'):
        return None
    file, _, rest = line[8:].rpartition('", line ')
    number, _, function = rest.partition(" in ")
    return (file, int(number), function) if number.isdigit() else None

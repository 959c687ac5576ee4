"""Samples stacks of the loading processes, whoever holds the interpreter lock.

A separate process, the scribe, records whether a loading process's first thread runs or is blocked, and reads that
thread's stack from outside (``remote_stack``). It does so in bursts that span samples, of one process after another:
with cold caches the first stack of a burst costs several times as much as the next, and processes that run in step
would show the same at the same time. A sampling thread would not see code that holds the lock; a signal at which
faulthandler writes the stack may arrive while a frame is being created, and crashed one call in two hundred. The shares
of running stacks divide the measured CPU time, those of blocked stacks the blocked time, so a busy machine biases
neither.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import math
import mmap
import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass

from dataloader_expert.facts import Json
from dataloader_expert.probes.profile.remote_stack import WORD, Columns, Layout, Memory, Reader, Stack, find_layout
from dataloader_expert.probes.readable import readable

BURST, LEAST_GAP_S = 8, 0.001
"""Stacks per burst, and the least seconds between two: closer ones are the same."""
ACROSS = 2
"""Samples that a burst spans; about one if the thread also waits for a core."""
LEAST = 30 * BURST
WORTH = 0.007
"""The share of a process's time that reading its stacks may take: if stacks are deep or the machine is slow, the scribe
pauses longer. With several processes the share of each is divided by the root of their number; together they still give
more stacks."""
LONGEST = 8
"""The longest pause between bursts, as a multiple of the requested one: some stacks are always read."""
MARK = "watched_fetch"
"""This package's function around each fetch; a stack is read down to it."""
PR_SET_PTRACER = 0x59616D61
"""An option of prctl(2): which process may read this one's memory without being an ancestor (Yama)."""
SEEN, DOUBT, WHO = range(3)
"""The words shared with the scribe: stacks so far, the 95 % uncertainty of the commonest stack's share in millionths,
then two for each process."""


@dataclass(frozen=True)
class Tick:
    """A stack within the fetch, and how often it was seen; ``columns``: the part of its source that the innermost frame executes."""

    stack: Stack
    running: int
    blocked: int
    columns: Columns | None = None


class Ticker:
    """Starts the scribe, which samples ``workers`` processes (0: this one) once they have called :meth:`start`.

    Args:
        every_s: mean seconds between two stacks, over all processes.
        sample_s: approximate seconds of a sample, which a burst of stacks spans.
    """

    def __init__(self, workers: int, every_s: float, sample_s: float = 0.0) -> None:
        self._shared = mmap.mmap(-1, WORD * (WHO + 2 * max(1, workers)))
        self._result = os.memfd_create("ticks")
        ours, theirs = socket.socketpair()
        parent, state, frame = os.getpid(), thread_state(), sys._getframe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                ours.close()
                theirs.recv(1)  # from here on the parent waits in its own copy of this frame
                layout = find_layout(parent, state, frame)
                theirs.send(b"!")
                if layout is not None:
                    gap_s = min(every_s, max(LEAST_GAP_S, ACROSS * sample_s / BURST))
                    scribe(layout, every_s, gap_s, theirs, self._shared, self._result)
            finally:
                os._exit(0)
        theirs.close()
        let_read(self._pid)
        with contextlib.suppress(OSError):  # it may have been killed
            ours.send(b"?")
            ours.recv(1)
        self._ending = ours

    def enough(self, half: float) -> bool:
        """Whether the share of the commonest stack is known within ``half`` at 95 %, and thus that of any stage, as a
        stack belongs to one stage. (This does not hold for a line: one loop may serve every stage.)"""
        return word(self._shared, SEEN) >= LEAST and word(self._shared, DOUBT) <= 1e6 * half

    def start(self, worker: int) -> None:
        """This process is sampled from now on."""
        let_read(self._pid)
        at = WHO + 2 * max(0, worker)
        put(self._shared, at + 1, thread_state())
        put(self._shared, at, os.getpid())

    def finish(self) -> tuple[list[Tick], float]:
        """The stacks seen, and the scribe's CPU seconds."""
        with contextlib.suppress(OSError):  # it may have ended
            self._ending.send(b".")
        self._ending.close()
        until = time.monotonic() + 2.0
        while not os.waitpid(self._pid, os.WNOHANG)[0]:
            if time.monotonic() > until:  # it got no core: its result is lost
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.002)
        text = os.pread(self._result, os.fstat(self._result).st_size, 0)
        os.close(self._result)
        self._shared.close()
        found: Json = json.loads(text) if text else {"ticks": [], "cpu": 0.0}
        ticks = [Tick(tuple((f, n, g) for f, n, g in t[0]), t[2], t[3], t[1] and tuple(t[1])) for t in found["ticks"]]
        return ticks, float(found["cpu"])


def word(shared: mmap.mmap, i: int) -> int:
    return int.from_bytes(shared[i * WORD : (i + 1) * WORD], "little")


def put(shared: mmap.mmap, i: int, value: int) -> None:
    shared[i * WORD : (i + 1) * WORD] = value.to_bytes(WORD, "little")


def thread_state() -> int:
    """The address of this thread's state."""
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    return int(get())


def let_read(pid: int) -> None:
    """Lets process ``pid`` read this one's memory, on systems where only ancestors may; elsewhere without effect."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)


@dataclass
class Sampled:
    """A process to sample, known once it has reported its id; a later epoch's worker replaces its predecessor."""

    layout: Layout
    pid: int = 0
    stat: int = -1
    reader: Reader | None = None

    def is_now(self, pid: int, state: int) -> None:
        if pid == self.pid:
            return
        self.pid = pid
        self.gone()
        with contextlib.suppress(OSError):
            self.stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
            self.reader = Reader(Memory(pid), self.layout, state)

    def gone(self) -> None:
        if self.stat >= 0:
            os.close(self.stat)
        if self.reader is not None:
            self.reader.memory.close()
        self.stat, self.reader = -1, None

    def look(self) -> tuple[Stack, Columns | None, bool]:
        """The stack within the fetch, if in one, what the innermost frame executes, and whether its thread ran or waited for a core."""
        if self.reader is None:
            return (), None, False
        try:
            text = os.pread(self.stat, 512, 0)
        except OSError:  # it has ended
            self.gone()
            return (), None, False
        running = text[text.rfind(b")") + 2 : text.rfind(b")") + 3] == b"R"
        return self.reader.stack(MARK), self.reader.columns(), running


@dataclass
class Looks:
    """Of one stack or all: the sum of its counts per burst, of their squares, and of their products with the burst's
    size."""

    looks: int = 0
    squares: int = 0
    crossed: int = 0

    def add(self, looks: int, of: int) -> None:
        self.looks += looks
        self.squares += looks * looks
        self.crossed += looks * of


def doubt(part: Looks, whole: Looks, bursts: int) -> float:
    """Half the 95 % interval of a share, from its variation between bursts, as stacks of one burst are correlated.

    The variance of a ratio from clusters of unequal size (Cochran, Sampling Techniques, 1977, section 3.12).
    """
    share = part.looks / whole.looks
    apart = part.squares - 2 * share * part.crossed + share * share * whole.squares
    return 1.96 * math.sqrt(max(0.0, apart) * bursts / max(1, bursts - 1)) / whole.looks


def scribe(layout: Layout, every_s: float, gap_s: float, ending: socket.socket, shared: mmap.mmap, result: int) -> None:
    """Samples until told to stop; counts how often the thread ran and was blocked with each stack."""
    gc.disable()
    begun = time.process_time()
    processes = [Sampled(layout) for _ in range((len(shared) // WORD - WHO) // 2)]
    stacks: dict[tuple[Stack, Columns | None], list[int]] = {}
    by_bursts: dict[Stack, Looks] = {}
    whole, commonest, bursts = Looks(), Looks(), 0
    spread, worth, at, pause, turn = random.Random(0), 0.0, time.monotonic(), gap_s, 0
    # intervals are random, so that no stage stays in step; the request to end is checked between bursts
    while not readable(ending, pause * spread.uniform(0.5, 1.5)):
        sampled, burst = processes[turn], Counter[Stack]()
        sampled.is_now(word(shared, WHO + 2 * turn), word(shared, WHO + 2 * turn + 1))
        for look in range(BURST):
            if look:
                time.sleep(gap_s * spread.uniform(0.5, 1.5))  # random like the pause; polling would cost more
            stack, columns, running = sampled.look()
            if stack:
                stacks.setdefault((stack, columns), [0, 0])[0 if running else 1] += 1
                burst[stack] += 1
        n = burst.total()
        whole.add(n, n)
        bursts += n > 0
        for stack, looks in burst.items():
            those = by_bursts.setdefault(stack, Looks())
            those.add(looks, n)
            commonest = max(commonest, those, key=lambda s: s.looks)
        if bursts:
            put(shared, SEEN, whole.looks)
            put(shared, DOUBT, round(1e6 * doubt(commonest, whole, bursts)))
        known = [i for i in range(len(processes)) if word(shared, WHO + 2 * i)]
        turn = next((i for i in known if i > turn), min(known, default=0))
        rate = WORTH * math.sqrt(max(1, len(known)))
        worth, at = worth + rate * (time.monotonic() - at), time.monotonic()
        owed = (time.process_time() - begun - worth) / rate  # including its own start
        pause = min(max(BURST * (every_s - gap_s) + gap_s, owed), LONGEST * BURST * every_s)
    told = {
        "ticks": [[list(s), columns, *times] for (s, columns), times in stacks.items()],
        "cpu": time.process_time() - begun,
    }
    os.write(result, json.dumps(told).encode())

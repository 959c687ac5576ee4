"""A sample that never comes takes a part of the time only: reading it is given up, and the others are looked at.

One timer runs while samples are read. It rings once the time of one sample may be over, and gives up the sample that has had it.
"""

from __future__ import annotations

import contextlib
import math
import signal
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from dataloader_expert.facts import Fact
from dataloader_expert.probes.base import Bench, evidence
from dataloader_expert.probes.hung import LONG_SAMPLES, Hang
from dataloader_expert.sources.reference import Raised
from dataloader_expert.sources.users import is_users

LEAST_S, TIMES, SHARE = 5.0, 50, 0.8
"""A sample is given up after so many seconds, and so many times as long as the others took, if that is less than this share of the time
left."""
IDLE = 0.05
"""The share of its time on a core below which a sample computes nothing; on a busy machine even one that computes has a small one."""
LONG_S, LOOK_S = 1.0, 0.25
"""A sample that takes longer is looked at from then on, so often."""
KEPT = 64
TWICE = 2
"""How many times as long as reading samples it may take to look at them, too."""
MOST = 3
"""So many are given up before the reading of samples ends."""


class Hung(Exception):
    """The sample was given up."""


class _Rang(BaseException):
    """Passes through ``except Exception`` of the user's."""


@dataclass
class Patience:
    """Reads samples of a dataset, each for a limited time; in the main thread of a process only."""

    bench: Bench
    took: list[float] = field(default_factory=list)
    places: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """Where samples that take long were seen: file, function and line of the user's."""
    _began: float = math.inf
    _cpu: float = 0.0
    _where: str = ""
    _before: Any = None
    _armed: bool = False

    @property
    def limit_s(self) -> float:
        """Infinite as long as it isn't known what samples take, and if that is too long to tell a hang from them."""
        if not self.took:
            return math.inf
        limit = max(LEAST_S, TIMES * statistics.median(self.took))
        return limit if limit < SHARE * self.bench.left() else math.inf

    def in_time(self, samples: int, until: float | None) -> bool:
        """Whether so many samples are surely read and looked at before ``until``, by what those took that were read."""
        mean = sum(self.took) / max(1, len(self.took))
        return until is None or TWICE * mean * samples < until - time.monotonic()

    @property
    def gave_up(self) -> bool:
        """Whether so many samples hang that no other should be waited for."""
        return len(self.bench.hung) >= MOST

    def long(self) -> Iterator[Fact]:
        """What samples take, if that is long, and where: told at once, as the time may not last for more."""
        if not self.took or statistics.median(self.took) < LONG_S:
            return
        [(place, n)] = self.places.most_common(1) or [(("", "", 0), 0)]
        share = n / max(1, self.places.total())
        at = {"file": place[0], "function": place[1], "line": place[2], "share": round(share, 3)}
        value = {"seconds": round(statistics.median(self.took), 3), **at}
        yield Fact(LONG_SAMPLES, value, evidence("timed", "patience", seen=len(self.took)))

    def __enter__(self) -> Patience:
        if math.isfinite(self.bench.left()) and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGALRM, self._rings)
            self._armed = True
            self._arm(min(LONG_S, self.limit_s))
        return self

    def __exit__(self, *_: object) -> None:
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before if self._before is not None else signal.SIG_DFL)
            self._armed = False

    def read(self, dataset: Any, index: int) -> Any:
        """A sample.

        Raises:
            Hung: if it did not come, now or before; noted in the bench.
        """
        if index in self.bench.hung:
            raise Hung
        self._cpu, self._began = time.thread_time(), time.monotonic()
        try:
            sample = dataset[index]
        except _Rang:
            waits = time.thread_time() - self._cpu < IDLE * (time.monotonic() - self._began)
            self.bench.hung[index] = Hang(round(time.monotonic() - self._began, 1), waits, self._where, bool(self.took))
            if self._armed:
                self._arm(min(LONG_S, self.limit_s))
            raise Hung from None
        except (Exception, SystemExit) as e:
            raise Raised(e, index) from None
        finally:
            began, self._began = self._began, math.inf
        if len(self.took) < KEPT:
            self.took.append(time.monotonic() - began)
        return sample

    def _arm(self, seconds: float) -> None:
        with contextlib.suppress(ValueError):
            signal.setitimer(signal.ITIMER_REAL, max(0.01, seconds))

    def _rings(self, number: int, frame: FrameType | None) -> None:
        spent = time.monotonic() - self._began
        place = _users_place(frame) if spent >= 0 else None
        if spent < self.limit_s:
            if place is not None:
                self.places[place] += 1
            soon = LOOK_S if spent + LOOK_S >= LONG_S else LONG_S
            self._arm(min(soon, self.limit_s - max(0.0, spent)))
            return
        self._where = "" if place is None else f"{place[1]} ({place[0]}:{place[2]})"
        raise _Rang


def _users_place(frame: FrameType | None) -> tuple[str, str, int] | None:
    """The user's innermost line."""
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno
        frame = frame.f_back
    return None

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
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.hung import Hang
from dataloader_expert.sources.reference import Raised
from dataloader_expert.sources.users import is_users

LEAST_S, TIMES, SHARE = 5.0, 50, 0.4
"""A sample is given up after so many seconds, and so many times as long as the others took, or after this share of the time left."""
KEPT = 64
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
    _began: float = math.inf
    _cpu: float = 0.0
    _where: str = ""
    _before: Any = None
    _armed: bool = False

    @property
    def limit_s(self) -> float:
        most = max(0.0, SHARE * self.bench.left())
        usual = TIMES * statistics.median(self.took) if self.took else math.inf
        return min(most, max(LEAST_S, usual))

    @property
    def gave_up(self) -> bool:
        """Whether so many samples hang that no other should be waited for."""
        return len(self.bench.hung) >= MOST

    def __enter__(self) -> Patience:
        if math.isfinite(self.bench.left()) and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGALRM, self._rings)
            self._armed = True
            self._arm(self.limit_s)
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
            waits = time.thread_time() - self._cpu < 0.5 * (time.monotonic() - self._began)
            self.bench.hung[index] = Hang(round(time.monotonic() - self._began, 1), waits, self._where, bool(self.took))
            if self._armed:
                self._arm(self.limit_s)
            raise Hung from None
        except (Exception, SystemExit) as e:
            raise Raised(e, index) from None
        finally:
            began, self._began = self._began, math.inf
        if len(self.took) < KEPT:
            self.took.append(time.monotonic() - began)
            if self._armed and len(self.took) == 1:  # now it is known what is long
                self._arm(self.limit_s)
        return sample

    def _arm(self, seconds: float) -> None:
        with contextlib.suppress(ValueError):
            signal.setitimer(signal.ITIMER_REAL, max(0.01, seconds))

    def _rings(self, number: int, frame: FrameType | None) -> None:
        spent = time.monotonic() - self._began
        if spent < self.limit_s:
            self._arm(self.limit_s - max(0.0, spent) if math.isfinite(spent) else self.limit_s)
            return
        self._where = ""
        while frame is not None and not self._where:
            if is_users(frame.f_code.co_filename):
                self._where = f"{frame.f_code.co_name} ({frame.f_code.co_filename}:{frame.f_lineno})"
            frame = frame.f_back
        raise _Rang

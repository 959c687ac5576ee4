"""Processes forked for one experiment: before anything was read, where that depends on a process's history; or for what a sample may end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable
from typing import Any

from dataloader_expert.probes.readable import readable


class Untouched:
    """A fork of this process in its present state, which waits until asked to run ``experiment`` for so many seconds;
    the result is JSON."""

    def __init__(self, experiment: Callable[[float], dict[str, Any]]) -> None:
        asked, self._ask = os.pipe()
        self._answer, answers = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._ask)
                os.close(self._answer)
                seconds = os.read(asked, 64)
                if seconds:
                    _single_threaded()
                    os.write(answers, json.dumps(experiment(float(seconds))).encode())
            finally:
                os._exit(0)
        os.close(asked)
        os.close(answers)

    def ask(self, seconds: float) -> dict[str, Any] | None:
        """The result of the experiment; None if no answer arrives in time, or none at all."""
        with contextlib.suppress(OSError):
            os.write(self._ask, f"{seconds:.3f}".encode())
            if readable(self._answer, seconds + 0.5):
                answer = os.read(self._answer, 1 << 16)
                return dict(json.loads(answer)) if answer else None
        return None

    def close(self) -> None:
        os.close(self._ask)
        os.close(self._answer)
        os.kill(self._pid, signal.SIGKILL)  # it may hang in the user's code
        os.waitpid(self._pid, 0)


def apart(experiment: Callable[[float], dict[str, Any]], seconds: float) -> dict[str, Any] | None:
    """What an experiment returns that runs in a process of its own, which a sample may end or block; None if nothing in time."""
    if seconds <= 0:
        return None
    if not hasattr(os, "fork"):
        return experiment(seconds)
    process = Untouched(experiment)
    try:
        return process.ask(seconds)
    finally:
        process.close()


def _single_threaded() -> None:
    """OpenMP's threads do not survive a fork: asking for more than one would wait forever."""
    import torch

    torch.set_num_threads(1)

"""Fresh interpreters that open the user's dataset anew, as another run of a training script or another rank does.

A forked process has the user's modules as they were imported: what they computed then, such as an order of a set or a rank, stays.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dataloader_expert.facts import Json
from dataloader_expert.plan import SourceRef

ENDED_S = 1.0
"""Seconds more that a process has to end in once its own time is over."""


class Fresh:
    """A process that runs ``main`` of a module of ours, given a reference and what is asked of it; it tells lines of JSON."""

    def __init__(self, module: str, ref: SourceRef, asked: Mapping[str, Json], environment: Mapping[str, str]) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", f"import {module} as fresh; fresh.main()"],
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.given = json.dumps({"source": ref.to_json(), **asked}).encode()

    def told(self, until: float) -> tuple[list[Any], str]:
        """What it told by then, and why it did not end well; empty if it did."""
        why = ""
        try:
            out, _ = self.process.communicate(self.given, max(ENDED_S, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
            why = "it did not end in time: raise budget_s"
        if not why and self.process.returncode:
            why = f"it ended with exit code {self.process.returncode}"
        whole = out[: out.rfind(b"\n") + 1]
        return [json.loads(line) for line in whole.splitlines()], why


def several(started: Iterable[Fresh], until: float) -> list[tuple[list[Any], str]]:
    """What each of these told, which run at the same time; none is left behind."""
    running = list(started)
    try:
        return [one.told(until) for one in running]
    finally:
        for one in running:
            one.process.kill()
            one.process.wait()


def asked() -> tuple[Any, dict[str, Any], Callable[[Any], None]]:
    """In the fresh interpreter: the opened source, what is asked, and a function that tells something. What the user's code prints goes
    nowhere."""
    from pathlib import Path

    from dataloader_expert.sources.files import Listing
    from dataloader_expert.sources.reference import Reference

    given = json.load(sys.stdin)
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def tell(value: Any) -> None:
        channel.write(f"{json.dumps(value)}\n")
        channel.flush()

    ref = SourceRef.from_json(given["source"])
    return Reference.open(Listing(Path(), ref.roots), ref), given, tell

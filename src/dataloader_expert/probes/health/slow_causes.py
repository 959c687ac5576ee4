"""What the slow samples have in common that the others have not: read again beside others, in a process of their own."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.health.kept_parts import elements
from dataloader_expert.probes.profile.instrumentation import contents, io_counts
from dataloader_expert.probes.profile.rereads import SLOW
from dataloader_expert.probes.profile.stage_classifier import is_users
from dataloader_expert.probes.system.pristine_process import apart

SLOW_CAUSES = Quantity(
    "slow_causes", "", "what the slow samples have in common that the others have not, and where they spend their time"
)
SLOW_ONES, OTHERS, LEAST_OTHERS = 6, 12, 4
"""Slow samples and others that are read, and the fewest others that are compared."""
APART = 2.0
"""How many times as large the least of the slow samples must be as the largest of the others."""
FAST = 0.2
"""The share of the slow samples' median time below which another sample counts as fast."""
WAITS = 0.2
"""The share of its time on a core below which a sample waits."""
LOOK_S = 0.005
RANGE_LEAST, RANGE_MOST = 4, 0.25
"""The fewest slow samples that make a range of indices, and the largest part of all samples that it may be."""


@dataclass(frozen=True)
class SlowCauses(Probe):
    name: ClassVar[str] = "slow_causes"
    doing: ClassVar[str] = "comparing slow samples with others"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.3
    most_s: float = 3.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        found = bench.facts.value(SLOW)
        if (
            bench.source.format != "reference"
            or bench.source.iterable
            or hangs(bench)
            or not found
            or not found["count"]
        ):
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        dataset = bench.source.dataset  # type: ignore[attr-defined]  # opened by a reference: such a source has one
        slow = [one["sample"] for one in found["slowest"]]
        spared = {*bench.hung, *(index for index, _ in bench.raised)}
        rows = apart(partial(read, dataset, slow, spared), max(0.0, until - time.monotonic()))
        if rows is None:
            return
        samples = [Sample(**row) for row in rows["samples"]]
        every = slow if found["count"] <= len(slow) else []
        value = {"traits": list(traits(samples, every, len(dataset))), **spent(samples)}
        yield Fact(SLOW_CAUSES, value, evidence("counted", self.name, seen=len(samples)))


@dataclass(frozen=True)
class Sample:
    """A sample that was read. ``files``: those that it opened, with their bytes; ``read``: bytes through read calls; ``size``: values that
    it has; ``places``: how often the user's lines were seen at work."""

    index: int
    slow: bool
    seconds: float
    cpu_s: float
    read: int
    size: int
    files: list[list[Any]] = field(default_factory=list)
    places: list[list[Any]] = field(default_factory=list)

    @property
    def largest(self) -> int:
        """Bytes of the largest file that it opened."""
        return max((size for _, size in self.files), default=0)


def read(dataset: Any, slow: list[int], spared: set[Any], seconds: float) -> dict[str, Any]:
    """Slow samples and others, read in turn; changes this process."""
    until = time.monotonic() + seconds
    opened: list[str] = []

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[0], str) and not given[0].startswith(("/proc/", "/dev/")):
            opened.append(given[0])

    with contextlib.suppress(RuntimeError):  # another hook may refuse
        sys.addaudithook(heard)
    size = len(dataset)
    others = [k * size // (2 * OTHERS) for k in range(1, 2 * OTHERS, 2)]
    others = [index for index in dict.fromkeys(others) if index not in spared and index not in slow]
    with contextlib.suppress(Exception):  # what is opened on first use is no sample's
        dataset[others[0]]
    rows: list[dict[str, Any]] = []
    order = itertools.zip_longest(slow[:SLOW_ONES], others[::2], others[1::2])
    for index in (i for three in order for i in three if i is not None):
        if time.monotonic() > until:
            break
        opened.clear()
        before = io_counts(contents("/proc/self/io"))
        with Looks() as looks:
            begun, cpu = time.perf_counter(), time.process_time()
            try:
                sample = dataset[index]
            except Exception:  # the scan says which samples raise
                continue
            spent_s, cpu_s = time.perf_counter() - begun, time.process_time() - cpu
        after = io_counts(contents("/proc/self/io"))
        row = {
            "index": index,
            "slow": index in slow,
            "seconds": spent_s,
            "cpu_s": cpu_s,
            "read": after.get("rchar", 0) - before.get("rchar", 0),
            "size": sum(elements(value) for _, value in flat(sample)),
            "files": [[path, os.path.getsize(path)] for path in dict.fromkeys(opened) if os.path.isfile(path)][:8],
            "places": [[*place, n] for place, n in looks.places.most_common(4)],
        }
        rows.append(row)
    return {"samples": rows}


class Looks:
    """Looks at the stack of the thread that made it, from another one, every few milliseconds."""

    def __init__(self) -> None:
        self.places: Counter[tuple[str, int, str]] = Counter()
        self._ended, self._of = threading.Event(), threading.get_ident()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Looks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_S):
            frame = sys._current_frames().get(self._of)
            while frame is not None and not is_users(frame.f_code.co_filename):
                frame = frame.f_back
            if frame is not None:
                self.places[frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name] += 1


def traits(samples: Sequence[Sample], slow: Sequence[int], population: int) -> Iterator[dict[str, Any]]:
    """What all slow samples have, and none of the others."""
    slow_ones = [s for s in samples if s.slow]
    usual = statistics.median([s.seconds for s in slow_ones]) if slow_ones else math.inf
    others = [s for s in samples if not s.slow and s.seconds < FAST * usual]
    if len(slow_ones) < 2 or len(others) < LEAST_OTHERS:
        return
    for name, of in (("suffix", _suffix), ("folder", os.path.dirname)):
        rest = {of(path) for s in others for path, _ in s.files}
        shared = set.intersection(*({of(path) for path, _ in s.files} for s in slow_ones))
        for value in sorted(shared - rest - {""})[:1]:
            usual_one = min(rest, default="") if len(rest) == 1 else ""
            yield {"kind": name, "value": value, "others": usual_one}
    for name in ("largest", "read", "size"):
        least, most = min(getattr(s, name) for s in slow_ones), max(getattr(s, name) for s in others)
        if least >= APART * most and most > 0:
            yield {"kind": name, "least": least, "most": most}
            break  # one follows from the other
    first, last = min(slow, default=0), max(slow, default=0)
    within = [s for s in others if first <= s.index <= last]
    if len(slow) >= RANGE_LEAST and not within and last - first < RANGE_MOST * population:
        yield {"kind": "range", "first": first, "last": last}


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def spent(samples: Sequence[Sample]) -> dict[str, Any]:
    """Whether slow samples wait, and the user's line at which they were seen most."""
    slow = [s for s in samples if s.slow]
    places: Counter[tuple[str, int, str]] = Counter()
    for s in slow:
        places.update({(file, line, function): n for file, line, function, n in s.places})
    waits = bool(slow) and sum(s.cpu_s for s in slow) < WAITS * sum(s.seconds for s in slow)
    share, at = 0.0, None
    for (file, line, function), n in places.most_common(1):
        share, at = n / places.total(), {"file": file, "line": line, "function": function}
    return {
        "waits": waits,
        "share": round(share, 3),
        "at": at,
        "seconds": sum(s.seconds for s in slow) / max(1, len(slow)),
    }


PROBES = (SlowCauses,)

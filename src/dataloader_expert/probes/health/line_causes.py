"""Why the user's costly lines cost what they do, as far as running a few samples shows it.

In a process of its own, with Pillow's resizing and cropping noted: work on images and arrays of which little is kept afterwards.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.health.kept_parts import KeptParts, Lines, Place, watch_images
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.profile.rereads import SLOW
from dataloader_expert.probes.system.pristine_process import apart

CAUSES = Quantity(
    "line_causes",
    "",
    "what a few samples did at the user's costly lines: work on data of which only a part is kept",
)
LEAST_SHARE = 0.3
"""The least share of a sample's time of a line that is looked at."""
SAMPLES = 16


@dataclass(frozen=True)
class LineCauses(Probe):
    name: ClassVar[str] = "line_causes"
    doing: ClassVar[str] = "looking at what costly lines do"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.15
    most_s: float = 1.5

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or hangs(bench):
            return
        spots = bench.facts.value(USER_FUNCTIONS, [])
        costly = {(spot["file"], spot["line"]) for spot in spots if spot["line_share"] >= LEAST_SHARE}
        if not costly:
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        dataset = bench.source.dataset  # type: ignore[attr-defined]  # opened by a reference: such a source has one
        found = apart(
            partial(looked, dataset, costly, bench.source.iterable, *slow_of(bench.facts)),
            max(0.0, until - time.monotonic()),
        )
        if found and found["samples"]:
            yield Fact(CAUSES, found, evidence("counted", self.name, seen=found["samples"]))


def slow_of(facts: Facts) -> tuple[list[int], float]:
    """Samples that are always slow, and their share of the time of all."""
    v = facts.value(SLOW)
    if v is None or not v["slowest"]:
        return [], 0.0
    theirs = v["count"] * sum(one["ms"] for one in v["slowest"]) / len(v["slowest"])
    return [one["sample"] for one in v["slowest"]], theirs / (theirs + (v["of"] - v["count"]) * v["median_ms"])


@dataclass
class Notes:
    """What samples did at costly lines."""

    costly: set[Place]
    kept: KeptParts = field(default_factory=KeptParts)


def looked(
    dataset: Any, costly: set[Place], streamed: bool, slow: list[int], slow_weight: float, seconds: float
) -> dict[str, Any]:
    """What a few samples did, half of them ``slow`` ones if there are some, which take ``slow_weight`` of all samples' time; changes
    this process."""
    notes, until, read = Notes(costly), time.monotonic() + seconds, 0
    watch_images(notes.kept)
    stream = iter(dataset) if streamed else None
    size = 0 if streamed else len(dataset)
    evenly = list(dict.fromkeys(k * size // SAMPLES for k in range(SAMPLES)))
    chosen = [i for pair in itertools.zip_longest(evenly, slow[: SAMPLES // 2]) for i in pair if i is not None]
    for index in range(SAMPLES) if streamed else dict.fromkeys(chosen):
        if time.monotonic() > until:
            break
        notes.kept.begin()
        begun = time.perf_counter()
        sys.settrace(partial(_entered, notes))
        try:
            sample = next(stream) if stream is not None else dataset[index]
        except StopIteration:
            break
        except Exception:  # the scan says which samples raise
            continue
        finally:
            sys.settrace(None)
        read += 1
        notes.kept.end(sample, time.perf_counter() - begun, index in slow)
    return {
        "samples": read,
        "before": notes.kept.told(costly, slow_weight),
    }


def _entered(notes: Notes, frame: FrameType, event: str, arg: Any) -> Any:
    if not any(file == frame.f_code.co_filename for file, _ in notes.costly):
        return None
    lines = Lines(notes.kept, notes.costly)

    def at_line(frame: FrameType, event: str, arg: Any) -> Any:
        lines.event(frame, event, arg)
        return at_line

    return at_line


PROBES = (LineCauses,)

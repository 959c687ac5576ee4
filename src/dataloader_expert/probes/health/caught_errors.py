"""Errors that a dataset's own code raises and catches while it reads a sample, such as a damaged file replaced by its neighbour.

Samples are read in a process of their own, as one that was not read before may end it. Seen by a trace function (``sys.settrace``) that notes the exceptions of the user's frames; a sample that is delivered all the
same has hidden them.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, ClassVar

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.system.pristine_process import apart
from dataloader_expert.probes.tracing import users_traced

CAUGHT = Quantity(
    "caught_errors", "samples", "samples whose reading raised an error that the dataset's own code caught"
)
LOOKED_FOR = Quantity("errors_looked_for", "samples", "samples read to find errors that the dataset's own code catches")
NAME = "health: errors that the dataset hides"
MOST = 512
ORDINARY = (LookupError, AttributeError, ImportError, StopIteration, StopAsyncIteration, GeneratorExit)
"""How Python code asks whether something is there, not how it fails."""
DOUBTFUL, OTHERS, DOUBT_S, DOUBT_SHARE = 128, 16, 1.0, 0.05
"""The most samples that are looked at because they equal others, so many others beside them, and the most seconds, and share of the time
left, for this."""
USUAL_SHARE = 0.5
"""What more samples than this raise is a way to read them, such as a second format that is tried."""


@dataclass(frozen=True)
class CaughtErrors(Probe):
    name: ClassVar[str] = "caught_errors"
    doing: ClassVar[str] = "looking for errors that the dataset hides"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.05
    most_s: float = 1.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or bench.source.iterable or hangs(bench):
            return
        import numpy as np

        dataset = bench.source.dataset  # type: ignore[attr-defined]  # opened by a reference: such a source has one
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        size = len(dataset)
        order = np.random.default_rng(bench.seed).choice(size, min(size, MOST), replace=False).tolist()
        told = apart(partial(looked, dataset, order), max(0.0, until - time.monotonic()))
        if told is None or not told["read"]:
            yield Unknown(NAME, "no sample could be read again in time: raise budget_s")
            return
        read, places = told["read"], Counter([place for _, place in told["found"]])
        yield Fact(LOOKED_FOR, read, evidence("counted", self.name, seen=read, population=size))
        rare = {index: place for index, place in told["found"] if places[place] <= USUAL_SHARE * read}
        if rare:
            [(place, _)] = Counter(rare.values()).most_common(1)
            value = {
                "read": read,
                "samples": sorted(rare)[:MAX_PLACES],
                "count": len(rare),
                "place": told["places"][place],
                "message": told["messages"][place],
            }
            yield Fact(CAUGHT, value, evidence("counted", self.name, seen=read, population=size))


def looked(dataset: Any, order: list[int], seconds: float) -> dict[str, Any]:
    """How many of these samples were read in time, and which of them raised errors within, each with the number of the place."""
    until, read = time.monotonic() + seconds, 0
    found: list[tuple[int, int]] = []
    places: dict[str, tuple[int, str]] = {}
    for index in order:
        if time.monotonic() > until:
            break
        try:
            raised = errors_within(dataset, index)
        except Exception:  # the scan says which samples raise
            continue
        read += 1
        if raised:
            place, message = raised[0]
            found.append((index, places.setdefault(place, (len(places), message))[0]))
    return {"read": read, "found": found, "places": [*places], "messages": [text for _, text in places.values()]}


def replaced(dataset: Any, doubtful: list[int], size: int, left_s: float) -> frozenset[int]:
    """Those of these samples whose reading raises an error that the dataset's own code catches, as others' does not: what is delivered
    for them is perhaps another sample."""
    if not doubtful:
        return frozenset()
    among = set(doubtful[:DOUBTFUL])
    others = [k * size // OTHERS for k in range(OTHERS)] if size >= OTHERS else range(size)
    order = [i for pair in itertools.zip_longest(among, set(others) - among) for i in pair if i is not None]
    told = apart(partial(looked, dataset, order), min(DOUBT_S, DOUBT_SHARE * left_s))
    if told is None:
        return frozenset()
    usual = Counter(place for index, place in told["found"] if index not in among)
    often = {place for place, n in usual.items() if n > USUAL_SHARE * len({*others} - among)}
    return frozenset(index for index, place in told["found"] if index in among and place not in often)


def errors_within(dataset: Any, index: int) -> list[tuple[str, str]]:
    """The errors raised in the user's frames while a sample is read: ``type at file:line in function``, and what each says.

    Raises:
        Exception: what the dataset raises itself.
    """
    raised: list[tuple[str, str]] = []

    def within(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception" and not issubclass(arg[0], ORDINARY):
            code = frame.f_code
            at = f"{arg[0].__name__} at {escaped(os.path.basename(code.co_filename))}:{frame.f_lineno} in `{escaped(code.co_name)}`"
            raised.append((at, escaped(arg[1], 160)))
        return within

    with users_traced(within):
        dataset[index]
    return raised


PROBES = (CaughtErrors,)

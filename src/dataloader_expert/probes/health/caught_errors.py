"""Errors that a dataset's own code raises and catches while it reads a sample, such as a damaged file replaced by its neighbour.

Samples are read in a process of their own, as one that was not read before may end it. Seen by a trace function (``sys.settrace``) that notes the exceptions of the user's frames; a sample that is delivered all the
same has hidden them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.hidden_errors import USUAL_SHARE, looked
from dataloader_expert.probes.system.pristine_process import apart

CAUGHT = Quantity(
    "caught_errors", "samples", "samples whose reading raised an error that the dataset's own code caught"
)
LOOKED_FOR = Quantity("errors_looked_for", "samples", "samples read to find errors that the dataset's own code catches")
NAME = "health: errors that the dataset hides"
MOST = 512


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
                "handler": told["handlers"][place],
            }
            yield Fact(CAUGHT, value, evidence("counted", self.name, seen=read, population=size))


PROBES = (CaughtErrors,)

"""Whether the workers of a stream together yield what one worker yields: nothing twice, nothing left out.

Parts of equal size overlap at the end if their size is rounded up, and miss the last shards if it is rounded down, and that
only at some numbers of workers: the present number and the recommended one are tried.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.search.loading import CURRENT, RECOMMENDED
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import SHARDING, WORKERS, batches_of, digests, in_workers

SHARES = Quantity(
    "stream_shares", "samples", "samples of a stream that so many workers yield twice or leave out, compared with one"
)
DISTINCT = 0.9
"""Below this share of distinct samples a stream is one of random draws, in which samples come twice or not at all."""


@dataclass(frozen=True)
class StreamShares(Probe):
    """Runs only for a stream that two workers have read to its end."""

    name: ClassVar[str] = "stream_shares"
    doing: ClassVar[str] = "comparing what workers and one worker yield"
    batch_size: int | None = None
    share: float = 0.4
    most_s: float = 6.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        found = bench.facts.value(SHARDING)
        if not found or found["copied"] or not found["ended"] or not hasattr(os, "fork") or hangs(bench):
            return
        served = serving(bench, self.batch_size, None)
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        plans = [bench.facts.value(quantity, {}) for quantity in (CURRENT, RECOMMENDED)]
        numbers = {n for plan in plans if (n := plan.get("num_workers", 0)) > 1} or {WORKERS}
        alone = yielded(served, 1, until)
        for n in sorted(numbers):
            each = None if alone is None else yielded(served, n, until)
            if alone is None or each is None:
                return
            shares = {"alone": alone.total(), "total": each.total(), "twice": 0, "left_out": 0}
            if each != alone:
                again = yielded(served, 1, until), yielded(served, n, until)
                differ = compared(alone, each, *again)
                if differ is None:
                    continue  # that epochs differ, or the time is up, tells nothing of the workers
                shares |= differ
            yield Fact(
                SHARES, shares, evidence("counted", self.name, seen=alone.total() + each.total()), {"workers": n}
            )


def yielded(served: Serving, workers: int, until: float) -> Counter[str] | None:
    """The samples, by their digests, that so many workers yield; None if they raise or do not end in time."""
    words: Counter[str] = Counter()
    try:
        for batch in batches_of(in_workers(served, None, digests, workers=workers)):
            words.update(batch)
            if time.monotonic() > until:
                return None
    except Exception:  # the user's code, in workers, may raise anything; other probes tell
        return None
    return words


def compared(
    alone: Counter[str], each: Counter[str], alone_again: Counter[str] | None, each_again: Counter[str] | None
) -> dict[str, Any] | None:
    """Samples that workers yield twice and those that they leave out; None if that differs from epoch to epoch.

    Samples are told apart by content if one worker yields the same in each epoch, else only their numbers are compared.
    """
    if alone_again is None or each_again is None:
        return None
    if (alone.total(), each.total()) != (alone_again.total(), each_again.total()):
        return None
    if alone != alone_again or len(alone) < DISTINCT * alone.total():
        more = each.total() - alone.total()
        return {"twice": max(0, more), "left_out": max(0, -more)}
    surplus = each - alone
    twice = sum(n for word, n in surplus.items() if word in alone)
    unknown = surplus.total() - twice  # drawn at random in each worker
    return {"twice": twice, "left_out": max(0, (alone - each).total() - unknown)}


PROBES = (StreamShares,)

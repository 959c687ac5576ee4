"""Samples read again: those that were slow once, and a few whose content should be the same every time."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, evidence
from dataloader_expert.probes.clocks import now, since
from dataloader_expert.probes.profile.instrumentation import SLOW_LEAST_S, SLOW_TIMES
from dataloader_expert.probes.serving import Serving

SLOW = Quantity("slow_samples", "samples", "samples that take at least ten times the median")
SLOW_SHARE = Quantity("slow_share", "", "the share of slow samples among those read in turn")
NONDETERMINISTIC = Quantity("nondeterministic", "", "whether reading the same index twice gave different content")
AGAIN, OFTEN, SHORT_S, MOST_DOUBTFUL, ONE_BY_ONE = 2, 6, 0.05, 256, 64
"""How often a slow sample is read again, and one that takes less than ``SHORT_S``, as a stall of a busy machine does; and the most samples that
are read for this. Twice in a row at least: the first of a volume or a shard may be what fills a cache of the user's, as any other would."""


@contextmanager
def as_many_threads(workers: int) -> Iterator[None]:
    """Has torch compute in one thread, as in workers whose times are compared: several wait for one another where the machine is busy."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1 if workers else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def slow_samples(
    bench: Bench,
    served: Serving,
    took: list[tuple[float, int]],
    first: list[tuple[float, int]],
    doubtful: list[int],
    trials: list[tuple[float, int]],
) -> Iterable[Observation]:
    """Samples that take ten times the median, also whenever they are read alone, which rules out a busy machine.

    ``took``: seconds and indices of samples; ``first``: those of warm-up batches, which do not count for the median;
    ``doubtful``: samples of batches that took long and whose samples were not timed; ``trials``: the slowest of the search.
    """
    until = bench.until(0.3)
    bench.progress("reading slow samples again", None)
    if not took and not bench.source.iterable:  # samples are fetched in whole batches: read some one by one
        n = len(served.dataset)
        took = _timed(served, range(0, n, max(1, n // ONE_BY_ONE)), until)
    if not took:
        yield Unknown("health.slow_samples", "samples are not timed one by one")
        return
    median = statistics.median(t for t, _ in took)
    first = [] if bench.source.iterable else first  # a stream opens its files there, and cannot be read again
    came = {i for _, i in (*took, *first)}
    known = {i: t for t, i in sorted(took + first + trials)}  # a sample read in several epochs counts once
    slow: list[tuple[float, int]] = []
    unread: set[int] = set()
    for later in (False, True):  # what is known to have been slow comes first
        doubted = [i for i in dict.fromkeys(doubtful[:MOST_DOUBTFUL]) if i not in known] if later else []
        read = {i: t for t, i in _timed(served, doubted, until)} if later else known
        suspects = _slow(read, median)
        if suspects and bench.source.iterable:
            why = f"{len(suspects)} {'was' if len(suspects) == 1 else 'were'} slow once, but samples of a stream cannot be read again"
            yield Unknown("health.slow_samples", why)
            return
        for seconds, index in suspects:
            left = bench.left()
            if (until is not None and time.monotonic() > until) or seconds > 0.5 * left:
                unread.add(index)
                continue
            bench.at(index)
            again, short = math.inf, seconds < SHORT_S
            times = OFTEN if short else AGAIN
            if times * seconds >= 0.5 * left:
                if short:
                    unread.add(index)
                    continue
                times = 1  # it has been slow once already
            for _ in range(times):
                again = min(again, _read_again(served, index))
                if not _slow({index: again}, median):
                    break
            else:
                slow.append((again, index))
        known = {**read, **known}
    bench.at(-1)
    if unread:
        why = f"{len(unread)} {'was' if len(unread) == 1 else 'were'} slow once, and the budget left no time to check again"
        yield Unknown("health.slow_samples", why)
    slow.sort(reverse=True)
    value = {
        "count": len(slow),
        "of": len(known),
        "unread": len(unread),
        "median_ms": round(1e3 * median, 4),
        "slowest": [{"sample": i, "ms": round(1e3 * t, 2)} for t, i in slow[:20]],
    }
    yield Fact(SLOW, value, evidence("timed", "stages", seen=len(known)))
    yield share_of_slow(
        len({i for _, i in slow} & came),
        len(unread & came),
        len(came),
        None if bench.source.iterable else len(served.dataset),
    )


def _slow(read: dict[int, float], median: float) -> list[tuple[float, int]]:
    """Seconds and indices of the samples that took ten times the median, in descending order."""
    return sorted(((t, i) for i, t in read.items() if t >= SLOW_TIMES * median and t > SLOW_LEAST_S), reverse=True)


def share_of_slow(slow: int, doubtful: int, seen: int, population: int | None) -> Fact:
    """The share among samples read in turn; those read because their batch was slow would bias it upwards.

    The interval's lower end assumes that only ``slow`` ones are slow, its upper end that all ``doubtful`` ones, which
    were not read again, are slow too.
    """
    low, high = wilson(slow, seen)[0], wilson(slow + doubtful, seen)[1]
    if population is not None and seen >= population:
        low, high = slow / seen, (slow + doubtful) / seen
    said = evidence("sampled", "stages", seen=seen, population=population, interval=(low, high))
    return Fact(SLOW_SHARE, slow / seen, said)


def wilson(k: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share seen ``k`` times in ``n`` (Wilson, JASA 22, 1927); also valid for ``k`` = 0."""
    p, w = k / n, z * z / n
    middle, half = p + w / 2, z * math.sqrt(p * (1 - p) / n + w / (4 * n))
    return max(0.0, (middle - half) / (1 + w)), min(1.0, (middle + half) / (1 + w))


def _timed(served: Serving, indices: Iterable[int], until: float | None) -> list[tuple[float, int]]:
    """Seconds and indices of these samples, as far as time allows, and at least of one."""
    found: list[tuple[float, int]] = []
    for i in indices:
        if found and until is not None and time.monotonic() > until:
            break
        found.append((_read_again(served, i), i))
    return found


def _read_again(served: Serving, index: int) -> float:
    begun = now()
    try:
        served.dataset[index]
    except Exception:  # it could be read before; an error now does not make it slow
        return 0.0
    return since(begun)[0]


def word_of(sample: Any) -> str:
    """A digest of a sample's content."""
    from dataloader_expert.checks.common.fingerprint import content, digest64
    from dataloader_expert.sources.items import items_of

    parts = [digest64(content(v)) for _, v in items_of(sample)]
    return ".".join(map(str, parts))


def same_twice(bench: Bench, served: Serving, indices: list[int]) -> Iterable[Observation]:
    """Reads a few samples twice more and compares their content."""
    try:
        differ = any(word_of(served.dataset[i]) != word_of(served.dataset[i]) for i in indices)
    except (Unreadable, RuntimeError, ValueError, OSError):
        return
    yield Fact(NONDETERMINISTIC, differ, evidence("counted", "stages", seen=len(indices)))

"""What a few samples and a batch call, seen one by one: the same thing read or decoded again, work that no sample needs, and queries that
read a whole table.

Stacks show where most of the time goes, but need many to show what takes a twentieth of it, and never that two calls do the same work.
"""

from __future__ import annotations

import contextlib
import operator
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.health.queries import Queries
from dataloader_expert.probes.health.watched_calls import DECODING, Call, Calls, Line
from dataloader_expert.probes.profile.pixels import count_pixels
from dataloader_expert.probes.serving import serving
from dataloader_expert.probes.system.pristine_process import apart

SAMPLE_CALLS = Quantity(
    "sample_calls",
    "",
    "what a few samples read or decoded more than once, and calls that no sample needs, with their share of a sample's time",
)
SAMPLES, LEAST_SAMPLES = 16, 3
"""Samples that are read, and the fewest that show what all do."""
OFTEN, ALL = 0.5, 0.9
"""The share of samples that must do some work twice, and the share that must read the same thing."""
LEAST, LEAST_S = 0.03, 5e-5
"""The least share and seconds of a sample's time that are noted."""
AGAIN = 2
"""The fewest conversions of a sample's image that are noted: one may be what a library asks for."""
BATCHES = 2
READING = 0.7
"""The part of the time in which samples are read; queries are explained in the rest."""
PLACES = 4
LITTLE = 0.25
"""The most of what is decompressed for a sample that it may take if that is told."""


@dataclass(frozen=True)
class SampleCalls(Probe):
    name: ClassVar[str] = "sample_calls"
    doing: ClassVar[str] = "looking at what samples call"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    batch_size: int | None = None
    share: float = 0.3
    most_s: float = 4.0  # on a busy machine: elsewhere its few samples are read in less
    """It runs again later, with what time is left then, if it was too little at first."""

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or hangs(bench) or bench.facts.find(SAMPLE_CALLS) is not None:
            return
        served = serving(bench, self.batch_size, None)
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        whole = hasattr(served.dataset, "__getitems__") or not served.batched
        collate = None if whole else served.collate
        spared = {*bench.hung, *(index for index, _ in bench.raised)}
        order = bench.source.iterable, served.current.shuffle
        look = partial(looked, served.dataset, collate, served.current.batch_size, order, spared)
        found = apart(look, max(0.0, until - time.monotonic()))
        if found and found["samples"] >= LEAST_SAMPLES:
            yield Fact(SAMPLE_CALLS, found, evidence("timed", self.name, seen=found["samples"]))


@dataclass(frozen=True)
class Unit:
    """What a sample, or collating a batch, called, and the seconds that it took."""

    seconds: float
    calls: list[Call]


def looked(
    dataset: Any, collate: Any, batch_size: int, order: tuple[bool, bool], spared: set[Any], seconds: float
) -> dict[str, Any]:
    """What a few samples and a batch of them called; changes this process. ``order``: whether samples are streamed, and shuffled."""
    streamed, shuffled = order
    begun_s = time.monotonic()
    until = begun_s + READING * seconds
    calls, queries = Calls(shuffled), Queries()
    if not streamed:
        with contextlib.suppress(
            Exception, StopIteration
        ):  # what is imported and opened on first use is no call of each sample
            next(_reading(dataset, streamed, spared))()
    calls.watch()
    queries.watch(dataset)
    pixels = count_pixels()
    units: list[Unit] = []
    samples: list[Any] = []
    opened: list[set[tuple[str, Line]]] = []
    # torch asks a dataset that reads several samples at once for whole batches
    per = min(batch_size, len(dataset)) if not streamed and hasattr(dataset, "__getitems__") else 1
    for read in _reading(dataset, streamed, spared, per):
        if time.monotonic() > (until if len(units) >= LEAST_SAMPLES else begun_s + seconds):
            break
        calls.begin()
        begun = time.perf_counter()
        try:
            sample = read()
        except StopIteration:
            break
        except Exception:  # the scan says which samples raise
            continue
        spent = time.perf_counter() - begun - calls.noting_s
        samples.append(sample)
        units.append(Unit(max(0.0, spent), calls.made))
        opened.append({*calls.opened})
    sized = pixels.each(per * len(units)) if units else {}
    batches = [] if collate is None else list(_collating(calls, collate, samples, batch_size, until))
    if len(units) < LEAST_SAMPLES:
        return {"samples": len(units), "work": [], "scans": [], "opened": [], "pixels": {}}
    collate_s = statistics.median(unit.seconds for unit in batches) / batch_size if batches else 0.0
    whole_s = statistics.median(unit.seconds for unit in units) / per + collate_s
    work = [*(twice(units, whole_s) if per == 1 else ()), *same(units, per, whole_s), *needless(units, per, whole_s)]
    work += chunks(units, per, whole_s)
    if len(batches) == BATCHES:
        work += [*same(batches, batch_size, whole_s), *needless(batches, batch_size, whole_s)]
    work.sort(key=lambda one: -one["share"])
    scans = [
        {**scan, "share": round(min(1.0, scan["seconds"] * scan["times"] / len(units) / per / whole_s), 4)}
        for scan in queries.scans(begun_s + seconds)
        if scan["times"] >= OFTEN * len(units)
    ]
    return {"samples": len(units), "work": work, "scans": scans, "opened": list(_opened_twice(opened)), "pixels": sized}


def _reading(dataset: Any, streamed: bool, spared: set[Any], per: int = 1) -> Iterator[Any]:
    """What reads the next sample, for samples at even distances, or the first ones of a stream; ``per``: of a dataset that reads several
    at once, so many."""
    if streamed:
        stream = iter(dataset)
        yield from (partial(next, stream) for _ in range(SAMPLES))
        return
    size, several = len(dataset), getattr(dataset, "__getitems__", None)
    for index in dict.fromkeys(k * size // SAMPLES for k in range(SAMPLES)):
        if several is not None:  # as far apart as those of a shuffled batch
            yield partial(several, [i for j in range(per) if (i := (index + j * size // per) % size) not in spared])
        elif index not in spared:
            yield partial(operator.getitem, dataset, index)


def _collating(calls: Calls, collate: Any, samples: Sequence[Any], batch_size: int, until: float) -> Iterator[Unit]:
    """What making batches of different samples called, as far as time allows."""
    for k in range(BATCHES):
        those = samples[k::BATCHES]
        if not those or time.monotonic() > until:
            return
        calls.begin()
        begun = time.perf_counter()
        with contextlib.suppress(Exception):  # the user's; a loader that fails is told
            collate([those[i % len(those)] for i in range(batch_size)])
            yield Unit(max(0.0, time.perf_counter() - begun - calls.noting_s), calls.made)


def twice(units: Sequence[Unit], whole_s: float) -> Iterator[dict[str, Any]]:
    """The same thing read more than once in most samples; ``whole_s``: seconds of a sample."""
    found: defaultdict[str, list[tuple[float, float, list[Call]]]] = defaultdict(list)
    for unit in units:
        for name, those in _by(unit.calls, lambda call: call.name).items():
            again = [calls for calls in _by(those, lambda call: call.key).values() if len(calls) > 1]
            calls = [call for part in again for call in part]
            if calls:
                spent = sum(call.seconds for call in calls) * (1 - len(again) / len(calls))
                found[name].append((spent, len(calls) / len(again), calls))
    for name, each in found.items():
        if len(each) >= OFTEN * len(units):
            spent, times = (statistics.median(values) for values in zip(*((s, t) for s, t, _ in each), strict=True))
            yield from _told("twice", name, spent, 1, whole_s, [call for *_, calls in each for call in calls], times)


def same(units: Sequence[Unit], per: int, whole_s: float) -> Iterator[dict[str, Any]]:
    """The same thing read in every unit, which is of so many samples (``per``): in one of several samples perhaps for each."""
    shared: defaultdict[str, list[list[Call]]] = defaultdict(list)
    for unit in units:
        for key, those in _by(unit.calls, lambda call: call.key).items():
            shared[key].append(those[:1] if per == 1 else those)
    for each in shared.values():
        if len(each) >= ALL * len(units):
            spent = statistics.median(sum(call.seconds for call in those) for those in each)
            calls = [call for those in each for call in those]
            yield from _told("same", calls[0].name, spent, per, whole_s, calls, len(calls) / len(each))


def _by(calls: Iterable[Call], name: Callable[[Call], str | None]) -> dict[str, list[Call]]:
    """Calls of which it is known what they read, by something."""
    found: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        key = name(call)
        if call.key is not None and key is not None:
            found[key].append(call)
    return found


def chunks(units: Sequence[Unit], per: int, whole_s: float) -> Iterator[dict[str, Any]]:
    """Stored arrays of which most samples take little of what is decompressed for them."""
    found: defaultdict[str, list[list[Call]]] = defaultdict(list)
    for unit in units:
        for of, those in _by([call for call in unit.calls if call.part <= LITTLE], lambda call: call.of).items():
            found[of].append(those)
    for each in found.values():
        if len(each) >= OFTEN * len(units):
            spent = statistics.median(sum(call.seconds * (1 - call.part) for call in those) for those in each)
            calls = [call for those in each for call in those]
            part = statistics.median(call.part for call in calls)
            for told in _told("chunks", calls[0].name, spent, per, whole_s, calls, len(calls) / len(each)):
                yield {**told, "part": round(part, 5)}


def needless(units: Sequence[Unit], per: int, whole_s: float) -> Iterator[dict[str, Any]]:
    """Calls that no sample needs, by kind."""
    kinds: defaultdict[str, list[Call]] = defaultdict(list)
    for unit in units:
        for call in unit.calls:
            if call.kind != "reads":
                kinds[call.kind].append(call)
    for kind, those in kinds.items():
        if kind == "round_trips" and len(those) < AGAIN * len(units):
            continue
        each = (sum(call.seconds for call in unit.calls if call.kind == kind) for unit in units)
        spent = statistics.median(each)  # of a busy machine, some calls take far longer
        yield from _told(kind, those[0].name, spent, per, whole_s, those, len(those) / len(units))


def _told(
    kind: str, name: str, spent: float, per: int, whole_s: float, calls: Sequence[Call], times: float
) -> Iterator[dict[str, Any]]:
    share = spent / per / max(whole_s, 1e-9)
    if (share < LEAST or spent / per < LEAST_S) and not (kind == "logs" and times / per >= OFTEN):
        return  # what is logged is told whatever it takes here: a terminal or a shared file takes longer
    places = Counter(call.at for call in calls).most_common(PLACES)
    by_sample = times >= ALL * per
    yield {
        "kind": kind,
        "name": name,
        "decodes": name == DECODING,
        "file": next((call.of for call in calls if call.of), "") if kind in ("same", "chunks") else "",
        "of": "sample" if by_sample else "batch",
        "share": round(min(1.0, share), 4),
        "times": round(times / per if by_sample else times, 2),
        "places": [{"file": file, "line": line, "function": function} for (file, line, function), _ in places],
    }


def _opened_twice(opened: Sequence[set[tuple[str, Line]]]) -> Iterator[dict[str, Any]]:
    """Two lines of the user's at which most samples open one file."""
    pairs: Counter[tuple[Line, ...]] = Counter()
    for files in opened:
        lines: defaultdict[str, set[Line]] = defaultdict(set)
        for path, at in files:
            lines[path].add(at)
        pairs.update({tuple(sorted(those)) for those in lines.values() if len(those) > 1})
    for those, n in pairs.most_common(1):
        if n >= OFTEN * len(opened):
            yield {"places": [{"file": file, "line": line, "function": function} for file, line, function in those]}


PROBES = (SampleCalls,)

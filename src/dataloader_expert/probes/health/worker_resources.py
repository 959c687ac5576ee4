"""Two workers running the user's dataset: their memory, files, threads and calls, and shared file positions they
move."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs, in_words, too_many
from dataloader_expert.probes.descriptors import open_now
from dataloader_expert.probes.health.batch_storages import CARRIED
from dataloader_expert.probes.health.object_census import OBJECTS, census
from dataloader_expert.probes.health.shared_handles import DATABASES, POSITIONS, Statements, shared, used
from dataloader_expert.probes.profile.instrumentation import Watch, watching
from dataloader_expert.probes.profile.pixels import Pixels
from dataloader_expert.probes.profile.stages import by_process, spans, threads_of
from dataloader_expert.probes.search.limits import batch_bytes
from dataloader_expert.probes.search.starting import start_of
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import PATIENCE_S, WORKERS
from dataloader_expert.probes.system.malloc import give_back

GROWTH = Quantity("worker_growth", "B", "private and shared memory of two workers as they read samples")
OPENS = Quantity("opens", "", "how often the workers opened each file, and the samples read meanwhile")
COUNTS = Quantity(
    "worker_counts", "", "calls, threads, collector pauses and waiting of two workers as they read samples"
)
HELD = Quantity("descriptors_held", "", "descriptors of the main process as it receives batches")
LATER = "raise budget_s"
"""How the reason ends if there was too little time."""
PATIENT_S = 2.0
"""The fewest seconds after which workers count as hung."""
TELLING_S = 0.5
"""The least that starting workers takes if it is given as the reason."""
MOST_PATHS = 100
"""The number of opened paths that are kept, those opened most often first."""


class Mark(NamedTuple):
    """A worker at one time: samples read, and its private, shared and anonymous bytes and those free in its
    allocator."""

    samples: int
    private: int
    shared: int
    anon: int
    free: int


PASSES = 3
"""Batches that must fit the time left, if they cannot be made smaller."""


GROWING = "health: memory of workers"


def _repeated(missing: Unknown) -> bool:
    """Whether two workers are watched later for what there was no time to see: not where they were watched."""
    return missing.why.endswith(LATER) and missing.what != GROWING


@dataclass(frozen=True)
class WorkerResources(Probe):
    name: ClassVar[str] = "worker_resources"
    doing: ClassVar[str] = "watching workers' memory and files"
    batch_size: int | None = None
    share: float = 0.5
    most_s: float = 1.6
    first: bool = False
    """Runs again later, with what time is left then, if it is too little now."""

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if self.first:
            if bench.silent is not None:
                return
            yield from (said for said in self._watched(bench) if isinstance(said, Fact) or not _repeated(said))
        elif bench.facts.find(DATABASES) is None and bench.facts.find(POSITIONS) is None:
            yield from self._watched(bench)

    def _watched(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or not hasattr(os, "fork") or hangs(bench):
            return
        if too_many(bench) <= WORKERS:
            yield Unknown("health: memory and files of workers", f"{WORKERS} workers need more memory than allowed")
            return
        served = serving(bench, self.batch_size, None)
        starts_s = start_of(bench, served, sample_s(bench)).seconds(WORKERS, bench.cpus)
        if starts_s > self.share * bench.left():
            long = f"starting {WORKERS} workers takes about {starts_s:.1f} s"
            why = f"{long if starts_s >= TELLING_S else 'no time was left'}: {LATER}"
            yield Unknown("health: memory and files of workers", why)
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        most = int((until - time.monotonic()) / max(1e-9, 8 * sample_s(bench)))
        whole_s = served.current.batch_size * sample_s(bench)
        if most < 1 or (not served.sizable and whole_s > bench.left() / PASSES):
            yield Unknown(
                "health: memory and files of workers",
                "batches take too long to observe two workers within the budget: raise budget_s",
            )
            return
        if served.sizable:  # slow samples in smaller batches
            served.current = served.current.but(batch_size=min(most, served.current.batch_size))
        if bench.facts.find(OBJECTS) is None:
            yield from objects(served, bench.seed)
        yield from crowd(bench, served, until + starts_s, starts_s)


def objects(served: Serving, seed: int) -> Iterator[Observation]:
    """What workers inherit in memory at the fork: the attribute that holds the most Python objects. What reading made here is not
    inherited in training, where the main process reads nothing."""
    made = frozenset() if served.filled is None else frozenset(map(id, served.filled().values()))
    held = census(served.dataset, seed, beside=made)
    if held is not None:
        value = {"attribute": held.attribute, "owner": held.owner, "objects": held.objects, "bytes": held.bytes}
        how = "counted" if held.whole else "sampled"
        yield Fact(OBJECTS, value, evidence(how, "worker_resources", seed=seed))


def crowd(bench: Bench, served: Serving, until: float, starts_s: float = 0.0) -> Iterator[Observation]:
    """Runs two workers: their memory, files, threads and calls, and file positions of this process that they move."""
    from dataloader_expert.loaders.building import release

    watched_s = min(until - starts_s - time.monotonic(), 0.1 * bench.left())
    patience_s = min(PATIENCE_S, max(PATIENT_S, until - time.monotonic())) + starts_s
    served.patience = patience_s  # the user's loader has none of its own, perhaps
    plan: LoaderPlan = served.current.but(workers=WORKERS, prefetch=None, persistent=True, timeout=patience_s)
    watch = Watch("unattributed", bench.at, served.count, maps=True, calls=True)
    before, files = used(), [open_now() or 0]
    batches = 0
    iterator: Any = None
    loader: Any = None
    statements: Statements | None = None
    passes, failed = 0, ""
    give_back()
    try:
        with watching(watch):
            loader = served.loader(plan)
            statements = Statements(served.dataset)
            while time.monotonic() < until and passes < 64:
                passes += 1
                iterator = iter(loader)
                for batch in iterator:
                    batches += 1
                    del batch
                    if batches == 1:  # on a busy machine, workers start late
                        until = max(until, time.monotonic() + watched_s)
                    files.append(open_now() or 0)
                    if time.monotonic() > until:
                        break
    except Exception as e:  # the user's code, in workers, may raise anything; the search reports it too
        failed = f"in two workers: {in_words(e)}"
    finally:
        watch.ends(iterator, sample_s(bench))
        release(loader, iterator)
        bench.at(-1)
    yield from shared(before, "worker_resources", served.dataset)
    if statements is not None:
        yield statements.ended()
    lines = list(watch.lines())
    watch.close()
    if failed:
        late = "timed out after" in failed  # by our patience, which is none of the user's
        why = f"two workers delivered nothing within {patience_s:.0f} s: {LATER}" if late else failed
        yield Unknown("health: memory and files of workers", why)
        return
    carried = bench.facts.value(CARRIED, {"nbytes": 0, "samples": 1})  # in transit are the storages behind tensors
    whole = int(carried["nbytes"] / max(1, carried["samples"]) * served.current.batch_size)
    grown = list(memory(lines, max(batch_bytes(bench, served.current.batch_size), whole)))
    yield from grown
    if not grown and passes == 1:  # else an epoch is too short for it to matter
        yield Unknown(GROWING, f"too few batches were read to see it grow: {LATER}")
    yield from _opens(lines)
    parts = spans(lines)
    samples = sum(m for _, _, m in parts)
    value = {"per_batch": round(kept_per_batch(files), 4), "batches": batches}
    yield Fact(HELD, value, evidence("counted", "worker_resources", seen=batches))
    if samples:
        counts = {
            "write_calls_per_sample": sum(_io(b, "syscw") - _io(a, "syscw") for a, b, _ in parts) / samples,
            "batches_per_sample": 1 / max(1, served.current.batch_size),
            **threads_of(parts),
            "cpus": bench.cpus,
            **Pixels.between((a["pixels"], b["pixels"]) for a, b, _ in parts).each(samples),
        }
        rounded = {k: round(v, 6) for k, v in counts.items()}
        yield Fact(COUNTS, rounded, evidence("counted", "worker_resources", seen=samples))


def _io(pulse: dict[str, Any], name: str) -> int:
    return int(pulse["io"].get(name, 0))


def kept_per_batch(files: list[int]) -> float:
    """Descriptors kept after each batch: how the least of the last third exceeds that of the second. Batches that are in
    transit hold some for a time."""
    third = len(files) // 3
    if not third:
        return 0.0
    return (min(files[-third:]) - min(files[-2 * third : -third])) / third


def memory(lines: list[dict[str, Any]], batch: int) -> Iterator[Observation]:
    """How the workers' memory grows with the samples read: in each third of the run, and in bytes after the first
    third, in which workers copy pages of the interpreter itself. ``batch``: bytes of a batch."""
    rows = [
        [Mark(p["samples"], p["map"]["private"], p["map"]["shared"], p["anon"], p["free"]) for p in ps if "map" in p]
        for ps in by_process(lines)
    ]
    rows = [r for r in rows if len(r) >= 4 and r[-1].samples > r[0].samples]
    if not rows:
        return
    private, [shared] = _slopes(rows, "private", 3), _slopes(rows, "shared", 1)
    samples = sum(r[-1].samples - r[0].samples for r in rows)
    samples, later, moved, anon, free = (
        sum(getattr(r[-1], name) - getattr(r[len(r) // 3], name) for r in rows) for name in Mark._fields
    )
    value = {
        "private_bytes": later,
        "shared_bytes": moved,
        "anon_bytes": anon,
        "free_bytes": free,
        "samples": sum(r[-1].samples - r[0].samples for r in rows),
        "samples_later": samples,
        "batches_bytes": len(rows) * batch,
        "steady": _steady(rows),
        "private_per_sample": [round(p, 1) for p in private],
        "shared_per_sample": round(shared, 1),
    }
    yield Fact(GROWTH, value, evidence("counted", "worker_resources", seen=value["samples"]))


def _slopes(rows: list[list[Mark]], name: str, parts: int) -> list[float]:
    """Growth of one kind of memory in bytes per sample, for equal parts of the run, averaged over workers."""
    marks = [[r[i * (len(r) - 1) // parts] for i in range(parts + 1)] for r in rows]
    slopes = [
        [(getattr(b, name) - getattr(a, name)) / max(1, b.samples - a.samples) for a, b in pairwise(m)] for m in marks
    ]
    return [sum(s) / len(rows) for s in zip(*slopes, strict=True)]


def _steady(rows: list[list[Mark]]) -> bool:
    """Whether anonymous memory grows steadily: a leak does, while an allocator that keeps its peak grows in jumps and
    then stops."""
    later = [r[len(r) // 3 :] for r in rows]
    parts = _slopes(later, "anon", min(4, *(len(r) - 1 for r in later)))
    return min(parts) > 0.25 * sum(parts) / len(parts)


def _opens(lines: list[dict[str, Any]]) -> Iterator[Observation]:
    """How often the workers opened each file."""
    opened: Counter[str] = Counter()
    total = 0
    for pulses in by_process(lines):
        total += pulses[-1]["samples"]
        opened.update(pulses[-1].get("opens", {}))
    value = {
        "most": [[path, times] for path, times in opened.most_common(MOST_PATHS)],
        "samples": total,
        "paths": len(opened),
    }
    yield Fact(OPENS, value, evidence("counted", "worker_resources", seen=total))


PROBES = (WorkerResources,)

"""Samples that a dataset keeps by itself: the first reading of a sample adds an entry to one of its containers, a second none.

Loaders are then measured with samples that were read before, and each worker fills a cache of its own. The same readings show which
samples differ when read again, and which generators of random numbers reading them seeds.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import FIRST, Bench, Observation, Probe, evidence
from dataloader_expert.probes.carried import behind
from dataloader_expert.probes.health.attribute_lines import uses_of
from dataloader_expert.probes.health.generators import RESEEDED, global_states, moved_on, reseeded
from dataloader_expert.probes.health.object_census import containers, entries, newest
from dataloader_expert.probes.health.stored_values import changed
from dataloader_expert.probes.profile.rereads import word_of

KEPT = Quantity(
    "samples_kept",
    "samples",
    "samples that the dataset itself had kept after they were read, and the times of both readings",
)
GROWS = Quantity(
    "containers_grow",
    "",
    "a container of the dataset that grew with each sample read, also with samples that had been read before",
)
MADE_FIRST = Quantity(
    "made_first",
    "s",
    "time that the first sample of a process takes beyond the next one, and the attributes that it made",
)
SAMPLES, LEAST = 8, 4
"""Samples read, and the fewest that tell: one may open a file, whose handle is kept."""
FASTER = 1.5
"""How many times as fast the second reading must be."""
LIGHT, DEEPEST = 64, 8
"""Bytes of an entry from which on it may be a sample, and levels of one that are looked into."""
LARGE, LIGHTEST, ALIKE = 1024, 16, 0.9
"""Bytes of an entry that is kept with each reading from which it is told: that many, or nearly those of a sample, if not hardly any."""
SHARE_AGAIN, QUICK = 0.3, 5.0
"""The most that a first sample which made something may take of the time left if another is read after it, and how many times as fast that
must be."""
LONG_S = 0.25
"""Where a sample takes longer, no others are read for this."""


@dataclass(frozen=True)
class OwnCache(Probe):
    """Runs before anything else reads samples."""

    name: ClassVar[str] = "own_cache"
    doing: ClassVar[str] = "reading a few samples twice"
    share: float = 0.02
    most_s: float = 1.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or bench.source.iterable:
            return
        dataset = bench.source.dataset  # type: ignore[attr-defined]  # opened by a reference: such a source has one
        first: list[float] = []
        differ: list[int] = []
        states = [moved_on()]
        found = list(self._kept(bench, dataset, first, differ, states))
        if first:
            yield Fact(FIRST, round(first[0], 6), evidence("timed", self.name, seen=1))
        yield from found
        if len(first) == 1 and LONG_S < first[0] < SHARE_AGAIN * bench.left():
            yield from _made_first(bench.source, dataset, first[0])
        try:
            value = reseeded(dataset, states) if len(first) >= LEAST else None
        except Exception:  # the scan says which samples raise
            value = None
        if value is not None:
            yield Fact(RESEEDED, value, evidence("counted", self.name, seen=len(first)))
        if differ:
            yield from changed(dataset, differ, len(first), self.name)

    def _kept(
        self, bench: Bench, dataset: Any, first: list[float], differ: list[int], states: list[dict[str, str]]
    ) -> Iterable[Fact]:
        """What the dataset keeps; ``first`` gets the seconds of the first readings, ``differ`` the samples that differ when read
        again, ``states`` those of the generators after each first reading."""
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        sizes: list[int] = []
        words: list[str] = []
        try:
            before = {key: entries(held) for key, held in containers(dataset).items()}
            n = len(dataset)
            indices = [(2 * i + 1) * n // (2 * SAMPLES) for i in range(SAMPLES)] if n >= 2 * SAMPLES else []
            for index in indices:
                bench.at(index)
                took, sample = _read(dataset, index)
                first.append(took)
                states.append(global_states())
                sizes.append(weight(sample))
                words.append(word_of(sample))  # now: a sample may be a view of what is stored
                if took > LONG_S or time.monotonic() > until:
                    break
            if len(first) < LEAST:
                return
            grown = {key: entries(held) for key, held in containers(dataset).items()}
            again = []
            for index, word in zip(indices, words, strict=False):
                took, sample = _read(dataset, index)
                again.append(took)
                differ += [index] * (word_of(sample) != word)
            after = containers(dataset)
        except Exception:  # the scan says which samples raise
            return
        finally:
            bench.at(-1)
        caches: Counter[str] = Counter()
        kept: dict[str, tuple[int, int]] = {}
        size = statistics.fmean(sizes)
        for key, count in grown.items():
            new = count - before.get(key, 0)
            if new > 0 and key in after and entries(after[key]) - count >= len(first):
                yield from _grows(dataset, key[1], after[key], new, size, len(first))
            if new > 0 and key in after and entries(after[key]) == count and _holds_samples(after[key], new, size):
                kept[key[1]] = behind(newest(after[key], new) or ())
                caches[key[1]] += new  # what grows again is a log, not a cache; the parts of a dataset have one each
        name = max(caches, key=lambda name: caches[name], default="")
        faster = statistics.median(first) >= FASTER * statistics.median(again)
        if caches[name] == len(first) and faster:
            value = {
                "attribute": name,
                "samples": len(first),
                "entries_bytes": kept[name][0],
                "memory_bytes": kept[name][1],
                "first_ms": round(1e3 * statistics.median(first), 4),
                "again_ms": round(1e3 * statistics.median(again), 4),
                "place": _added_at(dataset, name),
            }
            yield Fact(KEPT, value, evidence("timed", self.name, seen=len(first)))


def _made_first(source: Any, dataset: Any, first_s: float) -> Iterable[Fact]:
    """What the first sample made for all later ones: each worker makes it for itself."""
    names = source.filled().shareable() if hasattr(source, "before") else []
    if not names:
        return
    try:
        next_s, _ = _read(dataset, len(dataset) // 3)
    except Exception:  # the scan says which samples raise
        return
    if QUICK * next_s <= first_s:
        uses = uses_of(dataset, names[0])
        at = {"names": names, "place": None if uses is None else uses.place(uses.emptied or uses.made)}
        yield Fact(MADE_FIRST, first_s - next_s, evidence("timed", "own_cache", seen=2), at)


def _added_at(dataset: Any, name: str) -> dict[str, Any] | None:
    uses = uses_of(dataset, name)
    return None if uses is None else uses.place(uses.added)


def _grows(dataset: Any, name: str, container: Any, new: int, size: float, read: int) -> Iterable[Fact]:
    """A container that keeps samples or open files again and again, in the source of whose class nothing takes them out."""
    values = newest(container, new) or []
    files = sum(hasattr(v, "fileno") and not getattr(v, "closed", False) for v in values)
    each = sum(map(weight, values)) / new
    uses = uses_of(dataset, name)
    if uses is None or uses.emptied or not (2 * files > new or each >= min(LARGE, max(LIGHTEST, ALIKE * size))):
        return
    value = {
        "attribute": name,
        "reads": read,
        "entry_bytes": round(each),
        "files": 2 * files > new,
        "place": uses.place(uses.added),
        "searched": [[uses.file, *lines] for lines in uses.searched],
    }
    yield Fact(GROWS, value, evidence("counted", "own_cache", seen=2 * read), {"attribute": name})


def _holds_samples(container: Any, new: int, size: float) -> bool:
    """Whether the newest entries may be samples of this size: no counters, and no open files."""
    values = newest(container, new)
    return values is None or sum(map(weight, values)) / new >= min(LIGHT, 0.5 * size)


def weight(value: Any, depth: int = 0) -> int:
    """Bytes of the arrays, texts and numbers in a value; nothing of other objects, such as open files."""
    if isinstance(value, type):
        return 0
    if isinstance(value, bool | int | float):
        return 8
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict | list | tuple) and depth < DEEPEST:
        return sum(weight(inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value))
    if hasattr(value, "element_size"):
        return int(value.element_size() * value.nelement())
    if hasattr(value, "getbands"):
        return int(value.width * value.height * len(value.getbands()))
    size = getattr(value, "nbytes", 0)
    return size if isinstance(size, int) else 0


def _read(dataset: Any, index: int) -> tuple[float, Any]:
    """Seconds that a sample takes, and the sample."""
    begun = time.perf_counter()
    sample = dataset[index]
    return time.perf_counter() - begun, sample


PROBES = (OwnCache,)

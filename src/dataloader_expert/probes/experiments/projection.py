"""Whether the user's code reads columns of Parquet, Arrow or HDF5 files that no sample needs, and what they cost.

A column is needed if a sample changes, or fails, when it is withheld from the code. This is tried in forked processes,
so that the code's state in memory and its random numbers stay the same. Columns are withheld by bisection, together
with all those known not to be needed. Then the same rows are read with all columns and with those needed, in
alternating blocks.
"""

from __future__ import annotations

import linecache
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.experiments.column_reads import ColumnWatch, Read, watchable
from dataloader_expert.probes.profile.rereads import word_of
from dataloader_expert.probes.search.pairing import Paired, compare
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.system.pristine_process import Untouched
from dataloader_expert.sources.items import items_of
from dataloader_expert.sources.users import is_users

COLUMNS = Quantity("columns", "", "columns that a sample reads from a file, and those that it depends on")
PROJECTION = Quantity(
    "projection", "x", "speed of reading the same rows with only the columns needed over reading all of them, in pairs"
)
SAMPLES, MOST_READ = 6, 2
"""Samples examined, and how many of those that read something (others come from memory) are read again."""
TRIES = 10
"""How often one of those must fit into the time left then."""
PAIRS, MOST_PAIRS, LEAST_S = 4, 12, 0.015
SEARCH_SHARE = 0.7
"""The share of this probe's time for finding the columns that are needed."""
QUOTED = re.compile(r"""["']([^"'\n]+)["']""")
NO_FILE = "the file that the samples come from could not be identified, so reading fewer columns was not timed"
LATE = "the budget ran out before reading without some columns could be tried: raise budget_s"


@dataclass(frozen=True)
class Projection(Probe):
    name: ClassVar[str] = "projection"
    doing: ClassVar[str] = "timing reads of the needed columns alone"
    share: float = 0.06
    most_s: float = 1.2

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or not watchable() or hangs(bench):
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        dataset = bench.source.dataset  # type: ignore[attr-defined]  # a reference's source has it
        if sample_s(bench) > until - time.monotonic():  # judged by the scan's first sample, a cold one
            return
        which = list(range(SAMPLES)) if bench.source.iterable else spread(bench.seed, len(dataset))
        first = forked(lambda: look(dataset, which), until)
        if first is None or not first["columns"]:
            return
        room = (until - time.monotonic()) * len(which) / first["seconds"]
        if room < TRIES:
            yield Unknown("reading.fields_used", LATE)
            return
        if not bench.source.iterable:
            which = [i for i, read in zip(which, first["read"], strict=True) if read]
        which = which[: MOST_READ if room >= TRIES * MOST_READ else 1]
        names = first["columns"]
        before, once_more = (forked(lambda: look(dataset, which), until) for _ in range(2))
        if before is None or once_more is None or None in before["words"]:
            return
        if before["words"] != once_more["words"]:
            yield Unknown(
                "reading.fields_used",
                "a sample differs when read twice, so the columns that it needs cannot be determined",
            )
            return

        def same(without: frozenset[str]) -> bool:
            found = forked(lambda: look(dataset, which, without), until)
            return found is not None and found["words"] == before["words"]

        end = time.monotonic() + SEARCH_SHARE * (until - time.monotonic())
        written = {*before["fields"], *texts_of_users()}
        guess = [n for n in names if n in written or n.rpartition("/")[2] in written]
        dropped, left = unneeded(names, guess, same, lambda: time.monotonic() > end)
        if left:
            yield Unknown("reading.fields_used", LATE)
        if len(left) == len(names):
            return
        needed = frozenset(names) - dropped
        timed = None
        if dropped and needed:
            timed = forked(lambda: timed_reads(dataset, which, needed, until), until)
        value = {
            "format": first["format"],
            "file": "" if timed is None else timed["file"],
            "read": len(names),
            "used": len(needed),
            "needed": [n for n in names if n in needed],
            "complete": not left,
            "share": round(before["read_s"] / before["seconds"], 4),
        }
        yield Fact(COLUMNS, value, evidence("sampled", "projection", seen=len(which)))
        found = Paired([] if timed is None else timed["ratios"])
        if len(found.ratios) >= LEAST_PAIRS:
            seen = evidence("timed", "projection", seen=len(found.ratios), interval=found.bounds, spread=found.spread)
            yield Fact(PROJECTION, found.mean, seen, {"pays": found.shown})
        elif dropped and needed:
            yield Unknown("projection", LATE if timed is None or timed["file"] else NO_FILE)


def timed_reads(dataset: Any, which: list[int], needed: frozenset[str], until: float) -> dict[str, Any]:
    """Repeats the reads of these samples with the columns needed and with all: ratios of the rates, and the file."""
    watch = ColumnWatch(live=True)
    with watch.watching():
        for ask in asking(dataset, which):
            ask()
    reads, file = watch.reads, next((r.file for r in watch.reads if r.file), "")
    if not reads or any(read.again is None for read in reads):
        return {"file": file, "ratios": []}
    rate(reads, needed), rate(reads, None)  # files opened, threads started
    found = compare(lambda: rate(reads, needed), lambda: rate(reads, None), PAIRS, until, MOST_PAIRS)
    return {"file": file, "ratios": found.ratios}


def rate(reads: Sequence[Read], keep: frozenset[str] | None) -> float:
    """How often per second all can be read with only the columns to keep: by the fastest time of a block, since other
    processes can only slow it down."""
    begun, fastest = time.perf_counter(), math.inf
    while time.perf_counter() - begun < LEAST_S or math.isinf(fastest):
        start = time.perf_counter()
        for read in reads:
            columns = frozenset(read.columns)
            if read.again is not None and (keep is None or columns & keep):
                read.again(columns if keep is None else columns & keep)
        fastest = min(fastest, time.perf_counter() - start)
    return 1 / max(fastest, 1e-9)


def unneeded(
    names: Sequence[str], guess: Sequence[str], same: Callable[[frozenset[str]], bool], late: Callable[[], bool]
) -> tuple[frozenset[str], list[str]]:
    """Columns without all of which samples stay the same; and those left undecided for lack of time.

    ``guess``: those likely to be needed; the others are withheld first. A group that is needed is bisected.
    """
    dropped: frozenset[str] = frozenset()
    todo = [group for group in ([n for n in names if n not in guess], list(guess)) if group]
    while todo and not late():
        group = todo.pop(0)
        if same(dropped | frozenset(group)):
            dropped |= frozenset(group)
        elif len(group) > 1:
            todo[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
    return dropped, [name for group in todo for name in group]


def texts_of_users() -> set[str]:
    """String literals in the user's own modules: columns are mostly named by these where they are used."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    found: set[str] = set()
    for file in files:
        if file and file.endswith(".py") and is_users(file):
            found.update(text for line in linecache.getlines(file) for text in QUOTED.findall(line))
    return found


def spread(seed: int, n: int) -> list[int]:
    """A few samples far apart: samples of one row group may all be read with the first of them."""
    import numpy as np

    return [int(i) for i in np.random.default_rng(seed).permutation(n)[:SAMPLES]]


def forked(look: Callable[[], dict[str, Any]], until: float) -> dict[str, Any] | None:
    """The result of a look in a forked process; None if it does not arrive in time."""
    child = Untouched(lambda seconds: look())
    try:
        return child.ask(max(0.0, until - time.monotonic()))
    finally:
        child.close()


def look(dataset: Any, which: list[int], without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A digest of each sample (None: it raised), whether it read, and everything that was read."""
    words: list[str | None] = []
    watch, read, fields = ColumnWatch(without), [], set[str]()
    begun = time.perf_counter()
    with watch.watching():
        for ask in asking(dataset, which):
            n = len(watch.reads)
            try:
                sample = ask()
                words.append(word_of(sample))
                fields |= {name for name, _ in items_of(sample)}
            except Exception:  # the user's code may raise without a column that it needs
                words.append(None)
            read.append(len(watch.reads) > n)
    return {
        "words": words,
        "read": read,
        "fields": sorted(fields),
        "columns": sorted({name for r in watch.reads for name in r.columns}),
        "format": next((r.format for r in watch.reads), ""),
        "read_s": sum(r.seconds for r in watch.reads),
        "seconds": time.perf_counter() - begun,
    }


def asking(dataset: Any, which: list[int]) -> list[Callable[[], Any]]:
    """A call for each sample: by index, or the next of the stream."""
    if is_indexed(dataset):
        return [lambda i=i: dataset[i] for i in which]  # type: ignore[misc]  # bound to this index
    stream = iter(dataset)
    return [lambda: next(stream) for _ in which]


def is_indexed(dataset: Any) -> bool:
    """Whether samples have indices; torch's streams have ``__getitem__`` too, but it raises."""
    from torch.utils.data import IterableDataset

    return hasattr(dataset, "__getitem__") and not isinstance(dataset, IterableDataset)


PROBES = (Projection,)

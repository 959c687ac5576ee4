"""Whether a stream is sharded across workers or each worker yields every sample. This is determined before throughput,
since duplicate samples do not count."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, in_words
from dataloader_expert.probes.batch_parts import flat, samples_in
from dataloader_expert.probes.delivery import ended_at_once, worker_pids
from dataloader_expert.probes.profile.rereads import word_of
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.system.pristine_process import apart
from dataloader_expert.sources.users import is_users

SHARDING = Quantity(
    "shares_of_stream", "", "samples of a stream that each of two workers yielded, and those yielded by both"
)
WORKERS = 2
PATIENCE_S = 10.0
COUNTING_S = 1.5
"""The longest that the samples of a stream with a length are counted, where two workers did not come to its end."""


@dataclass(frozen=True)
class StreamSharding(Probe):
    name: ClassVar[str] = "sharding"
    doing: ClassVar[str] = "checking whether workers shard the stream"
    batch_size: int | None = None
    share: float = 0.1
    most_s: float = 1.5

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format == "reference" and bench.source.iterable and hasattr(os, "fork"):
            until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
            yield from sharding(serving(bench, self.batch_size, None), until)


def copied(bench: Bench) -> bool:
    """Whether each worker yields the whole stream."""
    found = bench.facts.find(SHARDING)
    return found is not None and bool(found.value["copied"])


def in_workers(
    served: Serving,
    batches: list[list[int]] | None,
    collate: Any,
    persistent: bool = False,
    workers: int = WORKERS,
    patience_s: float = PATIENCE_S,
) -> Any:
    """A loader of a few workers over the user's dataset, with their worker initialiser and generator; ``patience_s``: seconds after
    which a batch that has not come counts as hung."""
    from dataloader_expert.loaders.building import plain

    served.before_workers(workers)
    order: dict[str, Any] = {"batch_size": 8} if batches is None else {"batch_sampler": batches}
    settings = {"num_workers": workers, "persistent_workers": persistent, "timeout": patience_s}
    return plain(served.dataset, collate, served.user_loader, **order, **settings)


def batches_of(loader: Any, silent: Callable[[list[int]], object] = lambda pids: None) -> Iterator[Any]:
    """The batches of a loader. Workers that deliver none in time are ended at once; ``silent`` is called with their ids before."""
    iterator = iter(loader)
    try:
        yield from iterator
    except RuntimeError as e:
        if "timed out after" in str(e):
            silent(worker_pids(iterator))
            ended_at_once(iterator)
        raise


def digests(samples: Any) -> list[str]:
    """A digest of each sample; runs in the workers, so that only digests are sent.

    A dataset with ``__getitems__`` may return a batch instead of a list of samples: then of each row.
    """
    if isinstance(samples, list):
        return [word_of(s) for s in samples]
    fields = [field for field in flat(samples) if hasattr(field[1], "__getitem__")]
    return [word_of({name: values[i] for name, values in fields}) for i in range(samples_in(samples))]


def sharding(served: Serving, deadline: float) -> Iterator[Observation]:
    """Which samples of a stream each of two workers yields."""
    loader, begun = in_workers(served, None, _by_worker), time.monotonic()
    given: dict[int, list[str]] = {w: [] for w in range(WORKERS)}
    ended = True
    try:
        for came, (worker, words) in enumerate(batches_of(loader), 1):
            given[worker] += words
            if time.monotonic() > deadline and came >= WORKERS:  # they take turns: after two batches each has delivered
                ended = False
                break
    except Exception as e:  # the user's code, in workers, may raise anything
        yield Unknown("health: sharding of the stream", f"in two workers: {in_words(e)}")
        return
    length = _length(served.dataset)
    took = max(1e-9, time.monotonic() - begun)
    one, two = (set(words) for words in given.values())
    total, unique = sum(map(len, given.values())), len(one | two)
    both = len(one & two) / max(1, min(len(one), len(two)))
    value = {
        "by_worker": [len(w) for w in given.values()],
        "total": total,
        "unique": unique,
        "both": both,
        "ended": ended,
        "copied": both >= 0.5 and len(one) > 0.9 * len(given[0]) and min(len(one), len(two)) >= 4,
        "length": length,
        "alone": None if ended or length is None else counted(served.dataset, length, total / took),
        "once": read_once(served.dataset),
        "place": iterated_at(served.dataset),
    }
    yield Fact(SHARDING, value, evidence("counted", "sharding", seen=total))


def _by_worker(samples: Any) -> tuple[int, list[str]]:
    import torch

    info = torch.utils.data.get_worker_info()
    return (0 if info is None else info.id), digests(samples)


def iterated_at(dataset: Any) -> dict[str, Any] | None:
    """Where the user's ``__iter__`` begins; None if there is none in their code."""
    code = getattr(getattr(type(dataset), "__iter__", None), "__code__", None)
    if code is None or not is_users(code.co_filename):
        return None
    return {"file": code.co_filename, "line": code.co_firstlineno, "function": "__iter__"}


def read_once(dataset: Any) -> bool:
    """Whether ``__iter__`` returns the same iterator each time, which the first epoch exhausts; a dataset that is its own iterator
    may start anew."""
    try:
        one, two = iter(dataset), iter(dataset)
    except Exception:  # the scan reports what the stream raises
        return False
    return one is two and one is not dataset


def counted(dataset: Any, length: int, rate: float) -> int | None:
    """How many samples the stream yields in a process of its own; None if it does not end in time, which its rate foretells, or
    yields more than its length."""
    if length > 2 * COUNTING_S * rate:
        return None
    found = apart(partial(_counted, dataset, length), COUNTING_S)
    return None if found is None else found["samples"]


def _counted(dataset: Any, length: int, seconds: float) -> dict[str, Any]:
    until, samples = time.monotonic() + seconds, 0
    for samples, _ in enumerate(dataset, 1):
        if samples > length or time.monotonic() > until:
            return {"samples": None}
    return {"samples": samples}


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:  # no length, or the user's __len__ raises
        return None


PROBES = (StreamSharding,)

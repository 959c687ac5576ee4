"""Datasets that keep the samples they have read, in one way or another, and datasets that only look like it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset

from dataloader_expert.advice.descriptors import growing
from dataloader_expert.advice.own_cache import grows, keeps_samples
from dataloader_expert.advice.transport import startup
from dataloader_expert.advice.worker_semantics import by_worker
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import FIRST, Bench, evidence
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.descriptors import OPEN_FILES
from dataloader_expert.probes.health import own_cache
from dataloader_expert.probes.health.own_cache import GROWS, KEPT, MADE_FIRST, OwnCache
from dataloader_expert.probes.health.worker_semantics import TWINS
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.sources.reference import Reference
from tests.probes.health.test_as_started import reference

SHARED: dict[int, torch.Tensor] = {}


class Slow(Dataset[torch.Tensor]):
    """What a sample costs: the tested cost itself, no clock is asserted on."""

    def __init__(self, n: int = 64) -> None:
        self.n, self.kept, self.seen = n, {}, set()  # type: ignore[var-annotated]  # as users write it
        self.log: list[int] = []

    def __len__(self) -> int:
        return self.n

    def load(self, index: int) -> torch.Tensor:
        time.sleep(0.004)  # a store that answers, which the cache saves
        return torch.full((8,), float(index))

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.load(index)


class InADict(Slow):
    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in self.kept:
            self.kept[index] = self.load(index)
        return self.kept[index]  # type: ignore[no-any-return]  # of a dict without types


class Lazy(Slow):
    """Builds its index on the first read."""

    def __getitem__(self, index: int) -> torch.Tensor:
        if not self.log:
            time.sleep(0.2)  # the index, whose time is what is measured
            self.log.append(index)
        return super().__getitem__(index)


class OfItsModule(Slow):
    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in SHARED:
            SHARED[index] = self.load(index)
        return SHARED[index]


class ByTheLibrary(Slow):
    @functools.cache  # noqa: B019  # as users write it
    def load(self, index: int) -> torch.Tensor:
        return super().load(index)


class AFewOnly(Slow):
    @functools.lru_cache(maxsize=4)  # noqa: B019  # as users write it
    def load(self, index: int) -> torch.Tensor:
        return super().load(index)


class MadeLate(Slow):
    """Its cache is made when the first sample is read."""

    def __getitem__(self, index: int) -> torch.Tensor:
        found: dict[int, torch.Tensor] = self.__dict__.setdefault("late", {})
        if index not in found:
            found[index] = self.load(index)
        return found[index]


class Handles(Slow):
    """Keeps a handle for each sample, which takes long to open."""

    def __getitem__(self, index: int) -> torch.Tensor:
        if index not in self.kept:
            self.kept[index] = object()  # an open connection, say
            time.sleep(0.008)  # what a cache saves: a second reading is told from the first by it
        return self.load(index)


class Counts(Slow):
    """Counts its readings by index; the first of a file is slow, as from a cold disk."""

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0 if index in self.kept else 0.008)  # the same
        self.kept[index] = self.kept.get(index, 0) + 1
        return self.load(index)


class Notes(Slow):
    """Grows, and saves nothing: a set at the first reading, a list at each."""

    def __getitem__(self, index: int) -> torch.Tensor:
        self.seen.add(index)
        self.log.append(index)
        return self.load(index)


class NeverFound(Slow):
    """Keyed by something that is another one each time."""

    def __getitem__(self, index: int) -> torch.Tensor:
        key = object()
        for known, sample in self.kept.items():
            if known == key:
                return sample  # type: ignore[no-any-return]  # of a dict without types
        self.kept[key] = self.load(index)
        return self.kept[key]  # type: ignore[no-any-return]  # of a dict without types


class OnlyAFew(NeverFound):
    def __getitem__(self, index: int) -> torch.Tensor:
        sample = super().__getitem__(index)
        if len(self.kept) > 40:
            self.kept.clear()
        return sample


class LeavesOpen(Slow):
    def __getitem__(self, index: int) -> torch.Tensor:
        handle = Path(__file__).open("rb")  # noqa: SIM115  # as users write it
        self.log.append(handle)  # type: ignore[arg-type]  # a list of users has no types
        return self.load(index)


class Raises(InADict):
    def __getitem__(self, index: int) -> torch.Tensor:
        raise RuntimeError("no such sample")


def kept_by(dataset: Any) -> Facts:
    source = Reference.__new__(Reference)
    source.dataset, source.iterable = dataset, False
    ref = SourceRef("made.py:made", (), code=True)
    bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None, cpus=2)
    return Facts(tuple(said for said in OwnCache().measure(bench) if isinstance(said, Fact)))


@pytest.mark.parametrize(
    ("make", "attribute"),
    [
        (InADict, "kept"),
        (OfItsModule, "SHARED"),
        (ByTheLibrary, "load"),
        (MadeLate, "late"),
        (lambda: Subset(InADict(), range(40)), "kept"),
        (lambda: ConcatDataset([InADict(), InADict()]), "kept"),
    ],
    ids=["a dict", "a dict of the module", "lru_cache", "made late", "in a subset", "in parts"],
)
def test_a_cache_of_the_dataset_itself_is_told(make: Callable[[], Any], attribute: str) -> None:
    """Our promise: whatever holds the samples is named, and that workers fill one each, and lose it."""
    facts = kept_by(make())
    value = facts.value(KEPT)
    assert value["attribute"] == attribute
    assert value["first_ms"] > 2 * value["again_ms"]
    assert [f.severity for f in keeps_samples(facts)] == ["info"]
    workers = {"num_workers": 2, "persistent_workers": False}
    [found] = keeps_samples(Facts((*facts, Fact(CURRENT, workers, evidence("declared", "loading")))))
    assert (found.code, found.severity) == ("dataset-caches-samples", "warning")
    assert attribute in found.message
    assert "lost" in found.message


@pytest.mark.parametrize(
    ("entry", "persistent", "cost"),
    [(20_000, False, 0.99), (20_000, True, None), (10_000_000, False, None)],
    ids=["small and lost", "kept", "too large to keep"],
)
def test_a_cache_that_is_lost_with_each_epoch_is_what_costs_most(
    entry: int, persistent: bool, cost: float | None
) -> None:
    """Seen: samples that took 40 ms, cached by workers that end with each epoch: first was told that starting these takes a tenth of it, and
    the cure was to keep no samples."""
    value = {"attribute": "cache", "samples": 8, "first_ms": 40.0, "again_ms": 0.4}
    value |= {"entries_bytes": 8 * entry, "memory_bytes": 8 * entry}
    plan, said = {"num_workers": 2, "persistent_workers": persistent}, evidence("timed", "a test")
    [found] = keeps_samples(Facts((Fact(KEPT, value, said), Fact(CURRENT, plan, said), Fact(SAMPLES, 160, said))))
    assert found.cost == (None if cost is None else pytest.approx(cost))
    assert ("set persistent_workers=True" in found.fix) is (cost is not None)


@pytest.mark.parametrize(
    ("workers", "persistent", "severity"), [(2, True, "error"), (0, False, "error"), (2, False, "warning")]
)
def test_a_cache_of_samples_with_what_was_drawn_for_them_is_told_as_that(
    workers: int, persistent: bool, severity: str
) -> None:
    """Seen: of augmented samples that workers kept, that a sample depends on the worker that reads it, and to open files in each worker."""
    value = {"attribute": "load", "samples": 8, "first_ms": 14.0, "again_ms": 0.001}
    plan, said = {"num_workers": workers, "persistent_workers": persistent}, evidence("timed", "a test")
    twins = {"random": False, "by_worker": True, "same_next_epoch": False, "same_again": True}
    facts = Facts((Fact(KEPT, value, said), Fact(CURRENT, plan, said), Fact(TWINS, twins, said)))
    [found] = keeps_samples(facts)
    assert (found.code, found.severity) == ("dataset-caches-samples", severity)
    assert "apply random transforms after the cache" in found.fix and "persistent_workers" not in found.fix
    assert ("repeats the same augmented version in every epoch" in found.message) is (severity == "error")
    assert not [*by_worker(facts)]


@pytest.mark.parametrize(("same_next_epoch", "same_again"), [(True, True), (False, False)])
def test_what_a_cached_sample_takes_from_its_worker_is_told_as_that(same_next_epoch: bool, same_again: bool) -> None:
    """What depends on the worker's number stays with other seeds; what depends on its process does not come back with the same."""
    value = {"attribute": "load", "samples": 8, "first_ms": 14.0, "again_ms": 0.001}
    twins = {"random": False, "by_worker": True, "same_next_epoch": same_next_epoch, "same_again": same_again}
    facts = Facts((Fact(KEPT, value, evidence("timed", "a test")), Fact(TWINS, twins, evidence("timed", "a test"))))
    assert [f.code for f in by_worker(facts)] == ["workers-differ"]
    assert not [f for f in keeps_samples(facts) if "augment" in f.message]


@pytest.mark.parametrize("make", [Slow, AFewOnly, Notes, Handles, Counts, Raises, lambda: Slow(3)])
def test_what_keeps_no_samples_is_not_accused(make: Callable[[], Any]) -> None:
    """Our promise: counters and logs are no caches, and a cache of a few entries keeps no samples for another epoch."""
    assert list(keeps_samples(kept_by(make()))) == []


def test_the_very_first_reading_is_timed() -> None:
    """Our promise: what a dataset sets up on first use is told as such, and nothing reads a sample before this."""
    assert kept_by(Lazy()).value(FIRST) > 0.2
    assert kept_by(Slow()).value(FIRST) >= 0.004
    assert kept_by(Raises()).find(FIRST) is None


def test_what_is_kept_again_and_again_is_named_with_its_line() -> None:
    """Seen: a cache keyed by a random crop, and one that compared paths with texts, grew with each sample, and no name was told."""
    facts = kept_by(NeverFound())
    [found] = grows(facts)
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = 1 + source.index("        self.kept[key] = self.load(index)")
    assert found.code == "memory-leak" and "`kept` gets a new entry" in found.message
    assert [place["line"] for place in found.where] == [line]
    spot = {"file": __file__, "line": line - 3, "line_share": 0.7}
    [slow] = grows(Facts((*facts, Fact(USER_FUNCTIONS, [spot], evidence("sampled", "a test")))))
    assert f"the loop over it at line {line - 3}, which takes 70% of a sample's time" in slow.message


def test_open_files_that_are_kept_are_named() -> None:
    """Seen: descriptors grew, and the list that kept the files was not told."""
    dataset = LeavesOpen()
    facts = kept_by(dataset)
    for handle in dataset.log:
        handle.close()  # type: ignore[attr-defined]  # a list of users has no types
    opened = Evidence("counted", "a test", conditions={"samples_settled": 99, "files_gained": 99})
    [found] = growing(Facts((*facts, Fact(OPEN_FILES, 1000.0, opened))))
    assert "keeps them (`self.log`, test_own_cache.py:" in found.message and len(found.where) == 1
    [alone] = growing(facts)  # Seen: a run too short to see descriptors grow said nothing
    assert "another open file with each sample" in alone.message and alone.where == found.where
    assert list(grows(facts)) == []


@pytest.mark.parametrize("make", [Slow, InADict, AFewOnly, Notes, Counts, OnlyAFew])
def test_what_is_limited_or_small_does_not_grow_without_end(make: Callable[[], Any]) -> None:
    """Our promise: a cache that hits, one that is emptied, and a list of numbers are no leak."""
    assert kept_by(make()).find(GROWS) is None


class LoadsLate(Slow):
    """Loads its index with the first sample, as workers then do each for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.index: list[int] | None = None

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.index is None:
            time.sleep(0.3)  # the index, whose time is what is measured
            self.index = [0]
        return torch.zeros(2)


class OpensLate(LoadsLate):
    """Opens its file with the first sample, which each worker must do for itself."""

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.index is None:
            time.sleep(0.3)  # a slow store
            self.index = Path(__file__).open("rb")  # type: ignore[assignment]  # noqa: SIM115  # as users write it
        return torch.zeros(2)


def test_a_file_that_each_worker_opens_is_not_to_be_opened_before_the_fork() -> None:
    """Our promise: no cure opens in __init__ what workers must not share."""
    source = reference(OpensLate())
    source.iterable = False
    ref = SourceRef("made.py:made", (), code=True)
    bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None, cpus=2)
    assert all(said.quantity is not MADE_FIRST for said in OwnCache().measure(bench) if isinstance(said, Fact))
    source.dataset.index.close()


def test_what_each_worker_makes_for_itself_is_told_without_starting_any() -> None:
    """Seen: an index loaded by each worker in each epoch left no time to see them start, and nothing was said of it."""
    source = reference(LoadsLate())
    source.iterable = False
    ref = SourceRef("made.py:made", (), code=True)
    bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None, cpus=2)
    facts = [said for said in OwnCache().measure(bench) if isinstance(said, Fact)]
    plan = {"num_workers": 4, "persistent_workers": False}
    [found] = startup(Facts((*facts, Fact(CURRENT, plan, evidence("declared", "loading")))))
    line = 1 + Path(__file__).read_text(encoding="utf-8").splitlines().index("            self.index = [0]")
    assert (
        f"each of 4 workers makes `index` anew when it reads its first sample (test_own_cache.py:{line})"
        in found.message
    )
    assert "in every epoch" in found.message and "__init__" in found.fix


@pytest.mark.parametrize(("first_s", "told"), [(5.0, True), (12.0, False)])
def test_a_second_sample_tells_what_a_long_first_one_made(
    monkeypatch: pytest.MonkeyPatch, first_s: float, told: bool
) -> None:
    """Seen: a vocabulary that each worker loaded for six seconds in each epoch, of which nothing was said: no other sample was read after it."""
    took = iter([first_s, 0.01])
    monkeypatch.setattr(own_cache, "_read", lambda dataset, index: (next(took), dataset[index]))
    source = reference(LoadsLate())
    source.iterable = False
    ref = SourceRef("made.py:made", (), code=True)
    bench = Bench(source, ref, 0, time.monotonic() + 30, lambda index: None, lambda message, share: None, cpus=2)
    found = [said for said in OwnCache().measure(bench) if isinstance(said, Fact) and said.quantity is MADE_FIRST]
    assert bool(found) is told

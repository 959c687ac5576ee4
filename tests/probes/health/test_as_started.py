"""Workers start as they do in training: without what reading opened or made in the measuring process."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset, get_worker_info

from dataloader_expert.facts import Fact
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.health.worker_resources import objects
from dataloader_expert.probes.search.tap import tapped
from dataloader_expert.probes.serving import Serving
from dataloader_expert.probes.sharding import digests
from dataloader_expert.sources.as_constructed import Before
from dataloader_expert.sources.reference import Reference

pytestmark = pytest.mark.filterwarnings("ignore:.*fork\\(\\)")


class OnUse(Dataset[torch.Tensor]):
    """Makes something on first use; what a sample holds tells whether that was in this process."""

    def __init__(self) -> None:
        self.made: Any = None
        self.epoch = 0

    def make(self) -> Any:
        return list(range(100))

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        before = self.made is not None
        if self.made is None:
            self.made = self.make()
        return torch.tensor([before, self.epoch])


class Locks(OnUse):
    """A lock belongs to its process, and has nothing to close."""

    def make(self) -> Any:
        return threading.Lock()


class Nests(OnUse):
    """Reads each sample through a loader of its own."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.stack([x[0] for x in DataLoader(Inner())]).sum(0)


class Inner(OnUse):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(2)


class Collects(OnUse):
    """Keeps what it opens in a container that was empty."""

    def __init__(self, container: Any, opened: Any) -> None:
        super().__init__()
        self.held, self.opened = container, opened

    def __getitem__(self, index: int) -> torch.Tensor:
        self.held.append(self.opened())
        return torch.zeros(2)


def reference(dataset: Dataset[Any]) -> Reference:
    source = Reference()
    source.dataset = dataset
    source.before = Before.of(dataset)
    return source


def served(source: Reference) -> Serving:
    return Serving(
        source.dataset, torch.stack, "stack", LoaderPlan(batch_size=4, workers=1), False, "a test",
        as_loaded=source.as_loaded, filled=source.filled,
    )  # fmt: skip


@pytest.mark.parametrize("within", [False, True])
def test_a_worker_makes_for_itself_what_reading_made_here(within: bool) -> None:
    """Our promise: an index that is loaded on first use is loaded in each worker, and stays in this process."""
    inner = OnUse()
    source = reference(Subset(inner, range(8)) if within else inner)
    assert not source.filled().names()
    source.dataset[0]
    inner.epoch = 3  # as told by set_epoch
    assert source.filled().names() == {"made"}
    with tapped():
        loading = served(source)
        first, second = list(loading.loader(loading.current))
    assert first[0, 0] == 0 and first[1:, 0].all() and second[:, 0].all()
    assert inner.made is not None


class Flags(OnUse):
    """Says that it is ready, and counts."""

    ready, reads = False, 0

    def __init__(self) -> None:
        super().__init__()
        self.ready, self.handle, self.reads = False, None, 0

    def __getitem__(self, index: int) -> torch.Tensor:
        before = self.ready, self.handle is not None
        self.ready, self.handle = True, 7  # type: ignore[assignment]  # a number in the place of a handle
        self.reads += 1
        return torch.tensor([*before, self.epoch])


def test_a_worker_is_not_told_that_another_process_is_ready() -> None:
    """Our promise: a flag or a number that the first read sets is set in each worker by its own; an epoch stays."""
    source = reference(Flags())
    source.dataset[0]
    source.dataset.epoch = 3
    assert source.filled().names() == {"ready", "handle"}
    with tapped():
        loading = served(source)
        first, second = list(loading.loader(loading.current))
    assert not first[0, :2].any() and first[1:, :2].all() and second[:, :2].all()
    assert (first[:, 2] == 3).all()


def test_what_cannot_be_sent_is_taken_back_as_what_can_be_closed() -> None:
    """Our promise: a lazily opened part of an HDF5 file is no reason to say that the dataset cannot be pickled."""
    cases: list[tuple[OnUse, bool]] = [(Locks(), False), (OnUse(), True)]
    for dataset, stays in cases:
        source = reference(dataset)
        dataset[0]
        source.as_loaded()
        assert (dataset.made is not None) is stays


@pytest.mark.parametrize("container", [list, deque])
@pytest.mark.parametrize(("opened", "stays"), [(threading.Lock, False), (lambda: torch.ones(3), True)])
def test_handles_in_a_container_are_taken_back(container: Any, opened: Any, stays: bool) -> None:
    """Our promise: files that reading leaves open are no reason to say that the dataset cannot be pickled, as it can before."""
    dataset = Collects(container(), opened)
    source = reference(dataset)
    dataset[0]
    source.as_loaded()
    assert len(dataset.held) == stays


def test_what_the_workers_initialiser_made_stays() -> None:
    source = reference(OnUse())
    source.dataset[0]

    def start(worker: int) -> None:
        info = get_worker_info()
        assert info is not None
        vars(info.dataset)["made"] = "opened here"

    with tapped():
        loading = served(source)
        loading.user_loader = DataLoader(source.dataset, 4, num_workers=1, worker_init_fn=start)
        loading.current = LoaderPlan(batch_size=4, workers=1)
        batches = list(loading.loader(loading.current))
    assert torch.cat(batches)[:, 0].all()


def test_a_loader_within_a_sample_is_not_counted() -> None:
    """Our promise: samples are those of the loader that is measured."""
    from dataloader_expert.probes.search.living import Living

    source = reference(Nests())
    with tapped():
        living = Living(LoaderPlan(batch_size=4), served(source), fine=True)
        living.next_batch()
        assert living.counts()[0].samples == 4


@pytest.mark.parametrize(
    "batch", [torch.arange(6).reshape(3, 2), {"x": torch.arange(6).reshape(3, 2)}, (torch.arange(3), torch.ones(3))]
)
def test_a_batch_that_getitems_returned_has_a_digest_for_each_row(batch: Any) -> None:
    """B4: columns of one batch are not samples that differ."""
    assert len({*digests(batch)}) == len(digests(batch)) == 3
    same = {"x": torch.ones(3, 2), "y": torch.zeros(3)}
    assert len({*digests(same)}) == 1


INDEX: Any = None
LOOKED_UP: dict[int, int] = {}


@functools.lru_cache
def loaded_once() -> list[int]:
    return list(range(100))


class Store:
    """Connects on first use."""

    def __init__(self) -> None:
        self.address, self.lock = "here", None

    def get(self) -> bool:
        before = self.lock is not None
        if self.lock is None:
            self.lock = threading.Lock()  # type: ignore[assignment]  # belongs to its process, as a connection does
        return before


class Slots(Store):
    __slots__ = ("address", "lock")


class Keeps(OnUse):
    """Reads through an object that it holds; what a sample holds tells whether that was connected in this process."""

    def __init__(self, store: Any) -> None:
        super().__init__()
        self.store = store

    def __getitem__(self, index: int) -> torch.Tensor:
        held = self.store
        while not isinstance(held, Store | threading.local):
            held = held[0] if isinstance(held, list) else held.inner
        if isinstance(held, Store):
            return torch.tensor([held.get(), 0])
        before = hasattr(held, "lock")
        held.lock = getattr(held, "lock", None) or threading.Lock()
        return torch.tensor([before, 0])


class Wraps:
    def __init__(self, inner: Any) -> None:
        self.inner = inner


STORES: dict[str, Callable[[], Any]] = {
    "an object": Store,
    "an object with slots": Slots,
    "a list": lambda: [Store()],
    "an object of a library": lambda: argparse.Namespace(inner=Store()),
    "two levels": lambda: Wraps(Wraps(Store())),
    "a thread's own": threading.local,
}


@pytest.mark.parametrize("name", STORES)
def test_what_an_object_of_the_dataset_opened_is_taken_back(name: str) -> None:
    """Seen: a store that connects on first use in each worker was told to connect before the fork."""
    source = reference(Keeps(STORES[name]()))
    assert [int(source.dataset[i][0]) for i in range(2)] == [0, 1]
    source.as_loaded()
    assert int(source.dataset[0][0]) == 0


class OfModule(OnUse):
    """Uses what its module loads on first use."""

    def __getitem__(self, index: int) -> torch.Tensor:
        made = [INDEX is not None, bool(LOOKED_UP), bool(loaded_once.cache_info().currsize)]
        load_index(0)
        return torch.tensor(made)


def load_index(worker: int) -> None:
    global INDEX
    if INDEX is None:
        INDEX = list(range(100))
        LOOKED_UP[0] = os.getpid()
    loaded_once()


@pytest.mark.parametrize("initialised", [False, True])
def test_a_worker_starts_with_modules_as_empty_as_they_were(initialised: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: an index that the initialiser of workers loads into a global was inherited from the process that had read samples."""
    monkeypatch.setattr(sys.modules[__name__], "INDEX", None)
    LOOKED_UP.clear()
    loaded_once.cache_clear()
    source = reference(OfModule())
    source.dataset[0]
    assert {"INDEX"} <= source.filled().names()
    loading = served(source)
    loading.user_loader = DataLoader(
        source.dataset, 4, num_workers=1, worker_init_fn=load_index if initialised else None
    )
    loading.current = LoaderPlan(batch_size=4, workers=1)
    first, _ = list(loading.loader(loading.current))
    assert first[0].tolist() == [initialised] * 3 and first[1:].all()
    assert INDEX is not None  # stays in this process


def test_what_reading_made_is_not_told_to_be_copied_from_the_main_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: copy-on-write growth of an index that the main process never has in training."""
    monkeypatch.setattr(sys.modules[__name__], "INDEX", None)
    source = reference(OfModule())
    source.dataset[0]
    told = [fact.value["attribute"] for fact in objects(served(source), 0) if isinstance(fact, Fact)]
    assert "INDEX" not in told

"""A DataLoader that knows its epoch and its place in it, and can be put back there in another process."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

from dataloader_expert.loaders.seeding import SeededSamples, mixed
from dataloader_expert.loaders.tensor_rows import Slices, gathers
from dataloader_expert.samplers.base import EpochBatchSampler, EpochSampler, IndexSampler
from dataloader_expert.samplers.torch_order import TorchShuffleSampler

logger = logging.getLogger(__name__)


class Progress:
    """How many batches of the present pass were delivered, and whether it came to its end; apart from the loader, whose
    attributes are slow to set."""

    __slots__ = ("batches", "ended")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new pass: nothing was delivered."""
        self.batches, self.ended = 0, False


class EpochLoader(DataLoader[Any]):
    """A ``DataLoader`` with ``set_epoch``, ``state_dict`` and ``load_state_dict``; otherwise as torch's.

    ``dataset_obj`` is its dataset, ``sampler_obj`` the sampler of ours that decides its order (None if it is none).
    Batches are counted as they are delivered, so that a state holds for any number of workers.

    Args:
        dataset: map-style or iterable.
        seed: of the random states of its workers, which then follow from seed and epoch; needs a ``generator``.
        keywords: as of ``DataLoader``.
    """

    dataset_obj: Any
    sampler_obj: EpochSampler[Any] | None

    def __init__(self, dataset: Any, *, seed: int | None = None, **keywords: Any) -> None:
        super().__init__(dataset, **keywords)
        self.dataset_obj = dataset
        own = self.batch_sampler if isinstance(self.batch_sampler, EpochSampler) else self.sampler
        self.sampler_obj = own if isinstance(own, EpochSampler) else None
        self.progress = Progress()
        self._resumed_in: int | None = None
        self._seed, self._skipped, self._passed = seed, 0, False

    def set_epoch(self, epoch: int) -> None:
        """The next pass is of ``epoch``: for the dataset's curriculum and the sampler's order.

        From its beginning, or, where a state of that very epoch was just loaded, from its place.
        """
        kept = self._resumed_in == epoch
        for owner in with_epoch(self):
            owner.set_epoch(epoch)
        if kept:
            return
        self._resumed_in, self._skipped = None, 0
        self.progress.begin()
        self._passed = False

    def state_dict(self) -> dict[str, Any]:
        """Epoch, batches delivered in it, and the states of sampler and dataset; plain values, ready for JSON."""
        state: dict[str, Any] = {"batches": self.progress.batches, "batch_size": self.batch_size}
        if self.sampler_obj is not None:
            state["sampler"] = self.sampler_obj.state_dict(self.progress.batches * self._items)
        elif isinstance(self.dataset, IterableDataset):
            epochs = [int(owner.epoch) for owner in with_epoch(self) if hasattr(owner, "epoch")]
            state |= {"epoch": epochs[0]} if epochs else {}
        if _has_states(self.dataset_obj):
            state["dataset"] = self.dataset_obj.state()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next pass goes on behind the last batch that was delivered when ``state`` was taken.

        Of an iterable dataset, which has no places to go to, so many batches are read once more and dropped.

        Raises:
            ValueError: if the order or the batch size is another one, or the sampler is none of ours.
        """
        if isinstance(self.dataset, IterableDataset):
            if "epoch" in state:
                self.set_epoch(state["epoch"])
            self._skipped = self.progress.batches = int(state["batches"])
            self._resumed_in = state.get("epoch")
            return
        if self.sampler_obj is None or "sampler" not in state:
            raise ValueError(f"{type(self.sampler).__name__} cannot go on in its midst: use a sampler of ours")
        if state["batch_size"] != self.batch_size:
            raise ValueError(
                f"the state counts batches of {state['batch_size']}, this loader makes batches of {self.batch_size}"
            )
        self.sampler_obj.load_state_dict(state["sampler"])
        if _has_states(self.dataset_obj):
            self.dataset_obj.restore(state["dataset"])
        else:
            for own in wrapped(self.dataset_obj):
                if hasattr(own, "set_epoch"):
                    own.set_epoch(self.sampler_obj.epoch)
        self.progress.batches = int(state["batches"])
        self._resumed_in = self.sampler_obj.epoch

    def _seed_pass(self, sampler: EpochSampler[Any]) -> None:
        """The generator as it is when a pass of this epoch begins: torch draws the seed of its workers from it."""
        for own in wrapped(self.dataset):
            if isinstance(own, SeededSamples):
                own.set_epoch(sampler.epoch)
        if self._seed is None or self.generator is None:
            return
        if isinstance(sampler, TorchShuffleSampler):
            self.generator.set_state(sampler.start_state())
        else:
            self.generator.manual_seed(mixed(self._seed, sampler.epoch) if sampler.epoch else self._seed)

    @property
    def _index_sampler(self) -> Any:
        """What torch's iterators ask for the next batch of indices."""
        size, own = self.batch_size, self.sampler_obj
        if size is not None and isinstance(own, IndexSampler) and own is self.sampler and gathers(self.dataset):
            return Slices(own, size, self.drop_last)
        return super()._index_sampler

    @property
    def _items(self) -> int:
        """What one batch takes from the sampler: itself of a batch sampler, else its samples."""
        return 1 if isinstance(self.sampler_obj, EpochBatchSampler) else self.batch_size or 1

    def __iter__(self) -> Any:
        if self._resumed_in is None:
            self.progress.begin()
        self._resumed_in = None
        if self.sampler_obj is not None:
            self.sampler_obj.move_on()  # now, so that a state taken before the first batch is of the new epoch
            self._seed_pass(self.sampler_obj)
        elif self._passed:  # a sampler that is none of ours has no epoch to follow
            for own in wrapped(self.dataset):
                if isinstance(own, SeededSamples):
                    own.set_epoch(own.epoch + 1)
        self._passed = True
        with warnings.catch_warnings():
            if self.pin_memory and not torch.accelerator.is_available():
                warnings.filterwarnings("ignore", message="'pin_memory' argument is set as true")
                logger.info("no accelerator: batches are not pinned")
            counted = _Counted(self, super().__iter__())
        skipped, self._skipped = self._skipped, 0
        for _ in range(skipped):
            next(counted)
        return counted


def _has_states(dataset: Any) -> bool:
    """Whether a dataset keeps states; ``state`` alone may be anything."""
    return callable(getattr(dataset, "state", None)) and callable(getattr(dataset, "restore", None))


def with_epoch(loader: DataLoader[Any]) -> list[Any]:
    """Whatever in a loader has an epoch: its samplers, its dataset, and those that are wrapped, in a ``Subset`` say."""
    samplers = (loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None))
    named = (getattr(loader, "dataset_obj", None), getattr(loader, "sampler_obj", None))
    found = {id(c): c for c in (*samplers, *named, *wrapped(loader.dataset)) if hasattr(c, "set_epoch")}
    return list(found.values())


def wrapped(dataset: Any) -> list[Any]:
    """A dataset and those within it, outermost first: by ``dataset``, as ``Subset`` has, or ``datasets``."""
    found = [dataset]
    for one in found:
        several = getattr(one, "datasets", None)
        inner = [getattr(one, "dataset", None), *(several if isinstance(several, list | tuple) else ())]
        found += [i for i in inner if i is not None and all(i is not f for f in found)]
    return found


class _Counted:
    """Counts what an iterator delivers for its loader; all else is the iterator's own."""

    def __init__(self, loader: EpochLoader, iterator: Iterator[Any]) -> None:
        self._iterator, self._next, self._progress = iterator, _next_of(iterator), loader.progress

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> Any:
        try:
            batch = self._next()
        except StopIteration:
            self._progress.ended = True
            raise
        self._progress.batches += 1
        return batch

    def __len__(self) -> int:
        return len(self._iterator)  # type: ignore[arg-type]  # torch's iterators have a length

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _next_of(iterator: Any) -> Callable[[], Any]:
    """How the next batch is fetched. In the main process torch wraps it in a profiler's range, which costs more than
    all else that it does for a batch: left out while nobody profiles."""
    plain = type(iterator) is _SingleProcessDataLoaderIter and iterator._dataset_kind == _DatasetKind.Map
    fetch: Callable[[], Any] = iterator.__next__
    return iterator._next_data if plain and not torch._C._autograd._profiler_enabled() else fetch

"""A DataLoader that knows its epoch and its position in it, and resumes there in another process."""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import operator
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
)
from torch.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.loaders.seeding import SeededSamples, mixed
from dataloader_expert.loaders.stream_state import StreamRanks
from dataloader_expert.loaders.tensor_rows import Slices, gathers
from dataloader_expert.samplers.base import EpochBatchSampler, EpochSampler, IndexSampler, placed
from dataloader_expert.samplers.ranks import process_group
from dataloader_expert.samplers.shuffled import TorchShuffleSampler

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Progress:
    """Batches delivered in this pass, whether it ended, iterators made; a loader's own attributes are slow to set."""

    batches: int = 0
    ended: bool = False
    iterators: int = 0
    unused: bool = False
    """Whether the last iterator was dropped before its first batch: trainers make such, and no epoch has passed with them."""


class _Resumption(NamedTuple):
    """A loaded state from which no batch has been delivered yet; ``epoch`` is None if the dataset has none."""

    epoch: int | None
    batches: int
    sampler: dict[str, Any] | None = None


class EpochLoader(DataLoader[Any]):
    """A ``DataLoader`` with ``set_epoch``, ``state_dict`` and ``load_state_dict``; otherwise as torch's.

    Batches are counted as they are delivered, so a state is valid for any number of workers, unless the dataset is a stream.
    In a single process each pass starts the next epoch, of a stream too; with several ranks :meth:`set_epoch` does. With a
    ``seed`` and a ``generator``, the random states of workers depend on seed and epoch.
    """

    dataset_obj: Any
    """The dataset, map-style or iterable."""
    sampler_obj: EpochSampler[Any] | None
    """The :class:`~dataloader_expert.samplers.base.EpochSampler` that decides the order, if any."""

    def __init__(self, dataset: Any, *, seed: int | None = None, **keywords: Any) -> None:
        if hasattr(keywords.get("collate_fn"), "apart"):
            keywords["collate_fn"] = keywords["collate_fn"].apart()  # each loader has its own epoch
        super().__init__(dataset, **keywords)
        self.dataset_obj, self.seed = dataset, seed
        own = self.batch_sampler if isinstance(self.batch_sampler, EpochSampler) else self.sampler
        self.sampler_obj = own if isinstance(own, EpochSampler) else None
        if isinstance(own, EpochBatchSampler):
            vars(self)["sampler"] = own  # trainers look here for a sharded sampler; torch forbids to set it
        elif isinstance(own, EpochSampler) and isinstance(self.batch_sampler, BatchSampler):
            # torch's knows no epoch; Hugging Face's Trainer, which skips batches of it to resume, sets the epoch only here
            self.batch_sampler.set_epoch = own.set_epoch  # type: ignore[attr-defined]
        self._sized()
        if isinstance(dataset, SeededSamples):
            # without them, an index that comes once an epoch is a draw of its own
            dataset.expects_draws = not dataset.watched or getattr(own, "repeats", not _once(self))
            if isinstance(own, EpochSampler):
                own.draws_named = dataset.expects_draws
        self.progress = Progress()
        self._resumption: _Resumption | None = None
        self._begun_in: int | None = None
        self._ranks = [o.ranks for o in wrapped(dataset) if isinstance(getattr(o, "ranks", None), StreamRanks)]

    def _sized(self) -> None:
        """Compares the number of samples that the sampler was made for with that of the dataset."""
        asked = None if self.sampler_obj is None else self.sampler_obj.made_for()
        if asked is None:
            return
        try:
            there = len(self.dataset)  # type: ignore[arg-type]  # if it has no length, it raises
        except (TypeError, NotImplementedError):  # a dataset need not have one; the sampler knows its own
            return
        if asked > there:
            raise ValueError(
                f"{type(self.sampler_obj).__name__} is for {asked} samples, the dataset has {there}: make it for the samples "
                "of this dataset, such as those of its training part"
            )
        if asked < there:
            text = "%s is for %d samples, the dataset has %d: the others are never drawn"
            logger.warning(text, type(self.sampler_obj).__name__, asked, there)

    @property
    def epoch(self) -> int | None:
        """The epoch of the current pass, or before it starts of the next one; None if no sampler or dataset has one."""
        owners = (self.batch_sampler, self.sampler, *wrapped(self.dataset))
        known = (getattr(owner, "epoch", None) for owner in owners)
        return next((epoch for epoch in known if isinstance(epoch, int)), None)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, a whole number, of the next pass, which starts at its beginning, or resumes a state of it just loaded."""
        epoch = operator.index(epoch)
        self._move_to(epoch)
        if self._resumption is not None and self._resumption.epoch == epoch:
            return
        self._resumption, self._begun_in = None, None
        self.progress.batches, self.progress.ended = 0, False

    def state_dict(self) -> dict[str, Any]:
        """Epoch, batches delivered in it, and the states of sampler and dataset; ready for JSON.

        A ``ValueError`` with ``in_order=False``: which batches came first is known to nobody.
        """
        if getattr(self, "in_order", True) is False and self.num_workers:
            raise ValueError(
                "in_order=False: batches come as workers finish them, so such an epoch has no position to resume at"
            )
        counted_in = self._begun_in if self._resumption is None else self._resumption.epoch
        batches = self.progress.batches if self.epoch == counted_in else 0  # the sampler's own set_epoch moved it
        state: dict[str, Any] = {"batches": batches, "batch_size": self.batch_size}
        if self.sampler_obj is not None:
            state["sampler"] = state_behind(self.sampler_obj, batches, self.batch_size)
        elif isinstance(self.dataset, IterableDataset):
            state |= {} if self.epoch is None else {"epoch": self.epoch}
            state["order"] = self._order
        if has_states(self.dataset_obj):
            state["dataset"] = self.dataset_obj.state()
        return state if self._data is None else state | {"data": self._data}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next pass resumes after the last batch delivered when ``state`` was taken.

        After the last batch of an epoch that pass is empty, and the one after it starts the next epoch. Of an iterable
        dataset, the batches before are read again and dropped. A ``ValueError`` if the order, the batch size or, of files,
        the samples differ, of a stream also the number of workers; if the sampler is no ``EpochSampler``; if it is no state of a loader.
        """
        if "batches" not in state:
            raise ValueError(f"this is not a loader state: it has {sorted(state) or 'nothing'}, and no batches")
        batches = int(state["batches"])
        if state.get("batch_size", self.batch_size) != self.batch_size:
            raise ValueError(
                f"the state counts batches of {state['batch_size']}, this loader makes batches of {self.batch_size}: "
                "resume with the batch size of the state"
            )
        if self._data is not None and state.get("data", self._data) != self._data:
            raise ValueError(
                "the state is for other samples (another data set, files that changed since, or another part of a split): "
                "resume with the same samples"
            )
        if isinstance(self.dataset, IterableDataset):
            taken = state.get("order", {})
            for name, value in self._order.items():
                if taken.get(name, value) != value:
                    raise ValueError(
                        f"the state has {name} {taken[name]}, but this stream has {value}: its order differs, so that batches "
                        "would be lost or repeated; resume with the same"
                    )
            if "epoch" in state:
                self._move_to(state["epoch"])
            self._resumption = _Resumption(self.epoch, batches)
            self.progress.batches = batches
            return
        if self.sampler_obj is None or "sampler" not in state:
            raise ValueError(
                f"{type(self.sampler).__name__} cannot resume within an epoch: use a sampler of dataloader_expert.samplers"
            )
        self.sampler_obj.load_state_dict(state["sampler"])
        if has_states(self.dataset_obj):
            self.dataset_obj.restore(state["dataset"])
        else:
            for own in wrapped(self.dataset_obj):
                if hasattr(own, "set_epoch"):
                    own.set_epoch(self.sampler_obj.epoch)
        self.progress.batches = batches
        self._resumption = _Resumption(self.sampler_obj.epoch, batches, state["sampler"])

    @functools.cached_property
    def _data(self) -> str | None:
        """A digest of which samples these are: of those of files, and of which part of a dataset; None if nothing is known."""
        known = [own for own in wrapped(self.dataset_obj) if isinstance(own, Subset | SourceDataset)]
        return " of ".join(_digest(o.indices) if isinstance(o, Subset) else o.identity() for o in known) or None

    @property
    def _order(self) -> dict[str, Any]:
        """What the order of a stream follows from, as far as is known."""
        found: dict[str, Any] = {"num_workers": max(1, self.num_workers)}
        for own in wrapped(self.dataset):
            if isinstance(getattr(own, "ranks", None), StreamRanks):
                found["ranks"] = own.ranks.pair[0]
            found |= own.stream_order() if hasattr(own, "stream_order") else {}
        return found

    def _move_to(self, epoch: int) -> None:
        for owner in with_epoch(self):
            owner.set_epoch(epoch)

    def _begin(self) -> int:
        """Sets the epoch of all to that of the pass that begins; returns the batches of a resumed stream to drop first.

        A loaded state is kept until a batch is delivered: trainers make iterators that they never use, whose workers
        take indices.
        """
        if self.progress.unused:
            self.progress.unused, self._begun_in = False, None
            if self.sampler_obj is not None:
                self.sampler_obj.set_epoch(self.sampler_obj.epoch)
        resumed = self._resumption
        goes_on = resumed is not None and resumed.epoch == self.epoch
        if not goes_on:
            self._resumption = None
        elif resumed is not None and resumed.sampler is not None and self.sampler_obj is not None:
            self.sampler_obj.load_state_dict(resumed.sampler)
        if resumed is None and self.sampler_obj is None:
            streams = wrapped(self.dataset) if isinstance(self.dataset, IterableDataset) else []
            known = (
                getattr(owner, "epoch", None) for owner in reversed(streams)
            )  # innermost first: the user may have set it
            epoch = next((epoch for epoch in known if isinstance(epoch, int) and epoch != self._begun_in), None)
            if epoch is None and self._begun_in is not None and self._alone:
                epoch = self._begun_in + 1
            if epoch is not None:
                self._move_to(epoch)
        if not goes_on or self.sampler_obj is None:
            self.progress.batches, self.progress.ended = 0, False
        if self.sampler_obj is not None:
            self.sampler_obj.move_on()  # now, so that a state taken before the first batch is of the new epoch
        self._seed_pass()
        self._begun_in = self.epoch
        return resumed.batches if goes_on and resumed is not None and self.sampler_obj is None else 0

    @property
    def _alone(self) -> bool:
        """Whether there is one rank only, so that none can disagree on the epoch."""
        worlds = [ranks.pair[0] for ranks in self._ranks]
        worlds += [getattr(owner, "num_replicas", None) or 1 for owner in (self.batch_sampler, self.sampler)]
        return all(world == 1 for world in worlds)

    def _seed_pass(self) -> None:
        """Sets the random states of samples and workers to those at the beginning of this epoch."""
        followers: list[Any] = [own for own in wrapped(self.dataset) if isinstance(own, SeededSamples)]
        followers += [self.collate_fn] if hasattr(self.collate_fn, "set_epoch") else []
        for own in followers if self.epoch is not None else ():
            own.set_epoch(self.epoch)
        sampler = self.sampler_obj
        if self.seed is None or self.generator is None or sampler is None:
            return
        if isinstance(sampler, TorchShuffleSampler):
            self.generator.set_state(sampler.start_state())
        else:
            self.generator.manual_seed(mixed(self.seed, sampler.epoch) if sampler.epoch else self.seed)

    @property
    def _index_sampler(self) -> Any:
        """What the iterators of torch take the next batch of indices from."""
        size, own = self.batch_size, self.sampler_obj
        if size is not None and isinstance(own, IndexSampler) and own is self.sampler and gathers(self.dataset):
            return Slices(own, size, self.drop_last)
        plain = super()._index_sampler
        if own is None and isinstance(self.dataset, SeededSamples) and self.dataset.expects_draws:
            return _Placed(plain, self.dataset, self)
        return plain

    def __len__(self) -> int:
        sharded = getattr(type(self.dataset), "batches", None)  # a stream, of which each worker has a share
        if self.num_workers > 1 and sharded is not None and self.batch_size is not None:
            return int(sharded(self.dataset, self.batch_size, self.num_workers, self.drop_last))
        return super().__len__()

    def __iter__(self) -> Any:
        pair = (1, 0) if any(ranks.alone for ranks in self._ranks) else process_group()
        return _Counted(self, [(ranks, ranks.claim(pair)) for ranks in self._ranks])

    def _of_torch(self) -> Any:
        """torch's iterator."""
        with warnings.catch_warnings():
            if self.pin_memory and not torch.accelerator.is_available():
                warnings.filterwarnings("ignore", message="'pin_memory' argument is set as true")
                logger.info("no accelerator: batches are not pinned")
            return super().__iter__()


ONCE = frozenset({RandomSampler, SequentialSampler, DistributedSampler, SubsetRandomSampler})
"""Samplers of torch that yield each index once, unless they draw with replacement."""


def _drawing(loader: DataLoader[Any]) -> Any:
    """The sampler that draws the indices of a loader, as far as is known."""
    own_batches = loader.batch_size is None and loader.batch_sampler is not None
    return getattr(loader.batch_sampler, "sampler", None) if own_batches else loader.sampler


def _once(loader: DataLoader[Any]) -> bool:
    """Whether each index surely comes once an epoch."""
    sampler = _drawing(loader)
    return type(sampler) in ONCE and not getattr(sampler, "replacement", False)


class _Placed:
    """The batches of a foreign sampler with each index as a draw, with its place if indices may repeat."""

    def __init__(self, batches: Any, dataset: SeededSamples, loader: DataLoader[Any]) -> None:
        self._batches, self._dataset, self._whole = batches, dataset, loader.batch_sampler is not None
        sampler = _drawing(loader)
        world, rank = getattr(sampler, "num_replicas", None) or 1, getattr(sampler, "rank", None) or 0
        self._places = (0, 0) if _once(loader) else (1 + rank, world)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[Any]:
        places, epoch = itertools.count(*self._places), self._dataset.epoch
        for batch in self._batches:
            indices = batch.tolist() if self._whole and hasattr(batch, "tolist") else batch
            yield list(placed(indices, epoch, places)) if self._whole else next(placed([batch], epoch, places))


def state_behind(sampler: Any, batches: int, size: int | None) -> dict[str, Any]:
    """The state of an ``EpochSampler`` behind so many batches of this size."""
    each = 1 if isinstance(sampler, EpochBatchSampler) else size or 1
    return dict(sampler.state_dict(min(batches * each, len(sampler))))


def has_states(dataset: Any) -> bool:
    """Whether a dataset saves and restores its state; an attribute ``state`` alone may be anything."""
    return callable(getattr(dataset, "state", None)) and callable(getattr(dataset, "restore", None))


def with_epoch(loader: DataLoader[Any]) -> list[Any]:
    """Everything in a loader that has ``set_epoch``: samplers, collate function and datasets, also those in a ``Subset``."""
    named = (getattr(loader, "dataset_obj", None), getattr(loader, "sampler_obj", None), loader.collate_fn)
    found = {id(c): c for c in (*samplers_of(loader), *named, *wrapped(loader.dataset)) if hasattr(c, "set_epoch")}
    return list(found.values())


def samplers_of(loader: Any) -> list[Any]:
    """The batch sampler of a loader, the sampler within that, and its own sampler; None where there is none."""
    batches = getattr(loader, "batch_sampler", None)
    return [batches, getattr(batches, "sampler", None), getattr(loader, "sampler", None)]


def wrapped(dataset: Any) -> list[Any]:
    """A dataset and those that it wraps as ``dataset`` or ``datasets``, outermost first."""
    found = [dataset]
    for one in found:
        several = getattr(one, "datasets", None)
        inner = [getattr(one, "dataset", None), *(several if isinstance(several, list | tuple) else ())]
        found += [i for i in inner if i is not None and all(i is not f for f in found)]
    return found


def gives_batches(sampler: Any) -> bool:
    """Whether a sampler is for ``batch_sampler=``."""
    return isinstance(sampler, EpochBatchSampler | BatchSampler)


def _digest(indices: Any) -> str:
    try:
        data = np.asarray(indices, np.int64).tobytes()
    except (TypeError, ValueError, OverflowError):  # keys of a mapping
        data = repr(list(indices)).encode()
    return hashlib.blake2b(data, digest_size=8).hexdigest()


class _Counted:
    """An iterator whose batches are counted for its loader; unused until its first batch is asked for."""

    def __init__(self, loader: EpochLoader, claims: list[tuple[StreamRanks, int]]) -> None:
        self._claims, self._loader, self._progress, self._used = claims, loader, loader.progress, True
        self._number = 0
        self._start()

    def _start(self) -> None:
        loader = self._loader
        self._progress.iterators += 1
        self._number = self._progress.iterators
        dropped = loader._begin()
        self._iterator = loader._of_torch()
        self._next, resumed = _next_of(self._iterator), loader._resumption
        for _ in range(dropped):
            next(self, None)
        loader._resumption, self._used, self._of = resumed, False, (loader.epoch, resumed)

    def __del__(self) -> None:
        if self._number == self._progress.iterators:
            self._progress.unused = not self._used
        for ranks, claim in self._claims:
            ranks.release(claim)

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> Any:
        if not self._used:
            loader = self._loader
            if self._of != (loader.epoch, loader._resumption):  # set since: what workers read ahead is of another pass
                self._start()
            self._used, loader._resumption = True, None
        try:
            batch = self._next()
        except StopIteration:
            self._progress.ended = True
            raise
        except Exception as error:  # whatever the user's code raises in a worker
            if not _raised_again(error):
                raise
            # torch's frames hold the error and the iterator in a cycle: freed by the garbage collector, workers that miss
            # their end stop the process for five seconds each; where the worker raised is in the message
            raise error.with_traceback(None) from error.__cause__
        self._progress.batches += 1
        return batch

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def _raised_again(error: BaseException) -> bool:
    """Whether torch raised the error of a worker again in this process."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_name == "reraise" and "torch" in frame.f_code.co_filename for frame, _ in frames)


def _next_of(iterator: Any) -> Callable[[], Any]:
    """How to fetch the next batch: without torch's profiler range, its largest cost per batch, unless one profiles."""
    plain = type(iterator) is _SingleProcessDataLoaderIter and iterator._dataset_kind == _DatasetKind.Map
    fetch: Callable[[], Any] = iterator.__next__
    return iterator._next_data if plain and not torch._C._autograd._profiler_enabled() else fetch

"""Plain shuffling, ours or torch's, and stored order, sharded across ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any

import numpy as np
import torch
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from dataloader_expert.samplers.base import IndexSampler, State
from dataloader_expert.samplers.ordering import Indices, after, index_type, shuffled_blocks
from dataloader_expert.samplers.ranks import grouped
from dataloader_expert.samplers.rules import integers


class _EachOnce(IndexSampler):
    """Each sample of ``data``, a dataset or a number of samples, once per epoch."""

    def __init__(
        self,
        data: Sized | int,
        seed: int = 0,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
    ) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        if not hasattr(data, "__len__"):
            integers(0, data=data)
            data = range(data)
        self.data_source: Sized = data

    @property
    def draws(self) -> int:
        return len(self.data_source)

    def _identity(self) -> dict[str, State]:
        return {**super()._identity(), "samples": self.draws}


class ShuffleSampler(_EachOnce, RandomSampler):
    """Each sample of ``data``, a dataset or a number of samples, once per epoch; a subclass of ``RandomSampler``.

    The order depends on seed and epoch only. Arguments as of :class:`~dataloader_expert.samplers.base.EpochSampler`.
    """

    replacement, generator, _num_samples = False, None, None  # of ``RandomSampler``: trainers ask for them

    def _blocks(self, start: int) -> Iterator[Indices]:
        return after(shuffled_blocks(self._rng(), self.draws), start)


class TorchShuffleSampler(ShuffleSampler):
    """Epoch ``k`` has the order of pass ``k``, from 0, of a plain DataLoader whose generator is seeded with ``seed``.

    Such a pass draws a seed for its workers, the order, and at its end another order; an epoch is found by drawing all
    before it: about 30 ns per sample and epoch, once. Unless the order must equal torch's, use
    :class:`~dataloader_expert.samplers.ShuffleSampler`, which has the same arguments and any epoch at once.
    """

    _at = 0
    _state: torch.Tensor | None = None
    """The generator's state at the beginning of epoch ``_at``, so that nothing is drawn twice."""

    def start_state(self) -> torch.Tensor:
        """The state of the plain loader's generator when this epoch begins; uint8 [5056]."""
        if self._state is None or self._at > self.epoch:
            self._at, self._state = 0, torch.Generator().manual_seed(self.seed).get_state()
        if self._at < self.epoch:
            generator = torch.Generator()
            generator.set_state(self._state)
            for _ in range(self._at, self.epoch):
                self._pass(generator)
                torch.randperm(self.draws, generator=generator)
            self._at, self._state = self.epoch, generator.get_state()
        return self._state

    def _blocks(self, start: int) -> Iterator[Indices]:
        generator = torch.Generator()
        generator.set_state(self.start_state())
        yield self._pass(generator).numpy()[start:].astype(index_type(self.draws))

    def _pass(self, generator: torch.Generator) -> torch.Tensor:
        """The order of a pass, before which the seed of its workers is drawn."""
        torch.empty((), dtype=torch.int64).random_(generator=generator)
        return torch.randperm(self.draws, generator=generator)


class OrderedSampler(_EachOnce, SequentialSampler):
    """The samples of ``data``, a dataset or a number of samples, in stored order; a subclass of ``SequentialSampler``.

    Arguments as of :class:`~dataloader_expert.samplers.base.EpochSampler`.
    """

    def __init__(
        self, data: Sized | int, *, num_replicas: int | None = None, rank: int | None = None, drop_last: bool = False
    ) -> None:
        super().__init__(data, num_replicas=num_replicas, rank=rank, drop_last=drop_last)

    def _blocks(self, start: int) -> Iterator[Indices]:
        return in_order(self.draws, start)


def in_order(count: int, start: int) -> Iterator[Indices]:
    """The indices from ``start`` to ``count``, block by block."""
    step = 1 << 20
    for at in range(start, count, step):
        yield np.arange(at, min(at + step, count), dtype=index_type(count))


class DistributedShuffleSampler(ShuffleSampler, DistributedSampler[Any]):  # type: ignore[override]  # attributes of torch's are properties
    """:class:`ShuffleSampler` sharded across ranks: a subclass of ``DistributedSampler`` with the same arguments.

    ``dataset`` may also be a number of samples; without ``shuffle`` the samples keep their stored order. ``num_replicas`` and
    ``rank`` are by default those of the default process group; a ``ValueError`` if there is none.
    """

    def __init__(
        self,
        dataset: Sized | int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None and not grouped():
            raise ValueError(
                "Default process group has not been initialized: call torch.distributed.init_process_group first, "
                "or pass num_replicas and rank"
            )
        ShuffleSampler.__init__(self, dataset, seed, num_replicas=num_replicas, rank=rank, drop_last=drop_last)
        self.dataset = self.data_source  # type: ignore[assignment]  # a size stands in for a dataset
        self.shuffle = shuffle

    @property
    def total_size(self) -> int:  # type: ignore[override]  # torch's is an attribute
        """Indices of an epoch, of all ranks."""
        return len(self) * self.num_replicas

    @property
    def num_samples(self) -> int:  # type: ignore[override]  # torch's two samplers mean two things; a rank's share here
        """Indices of an epoch, per rank."""
        return len(self)

    def _identity(self) -> dict[str, State]:
        return {**super()._identity(), "shuffle": self.shuffle}

    def _blocks(self, start: int) -> Iterator[Indices]:
        return super()._blocks(start) if self.shuffle else in_order(self.draws, start)

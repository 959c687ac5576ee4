"""The order of a plain ``DataLoader(shuffle=True, generator=…)``, of any epoch and for any rank."""

from __future__ import annotations

from collections.abc import Iterator, Sized

import torch

from dataloader_expert.samplers.base import Indices, index_type
from dataloader_expert.samplers.shuffled import ShuffleSampler


class TorchShuffleSampler(ShuffleSampler):
    """Epoch ``k`` has the order of the pass ``k`` (from 0) of a plain shuffling DataLoader whose generator has ``seed``.

    A pass of a plain one draws a seed for its workers, the order, and at its end one order more, so that an epoch is
    found by drawing those before it: about 30 ns a sample and epoch, once.
    :class:`~dataloader_expert.samplers.ShuffleSampler` has any epoch at once; this one is for orders that must equal
    torch's.

    Args:
        data: the dataset, or how many samples it has.
        seed, num_replicas, rank, drop_last: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.
    """

    def __init__(
        self,
        data: Sized | int,
        seed: int = 0,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
    ) -> None:
        super().__init__(data, seed, num_replicas=num_replicas, rank=rank, drop_last=drop_last)
        self._at = 0
        self._state = torch.Generator().manual_seed(seed).get_state()

    def start_state(self) -> torch.Tensor:
        """The state of the plain loader's generator when this epoch begins; uint8 [5056]."""
        if self._at > self.epoch:
            self._at, self._state = 0, torch.Generator().manual_seed(self.seed).get_state()
        if self._at < self.epoch:
            generator = torch.Generator()
            generator.set_state(self._state)
            for _ in range(self._at, self.epoch):
                _worker_seed(generator)
                torch.randperm(self.draws, generator=generator)
                torch.randperm(self.draws, generator=generator)
            self._at, self._state = self.epoch, generator.get_state()
        return self._state

    def _blocks(self, start: int) -> Iterator[Indices]:
        generator = torch.Generator()
        generator.set_state(self.start_state())
        _worker_seed(generator)
        yield torch.randperm(self.draws, generator=generator).numpy()[start:].astype(index_type(self.draws))


def _worker_seed(generator: torch.Generator) -> None:
    torch.empty((), dtype=torch.int64).random_(generator=generator)

"""torchdata's resumable DataLoader with epochs and the samplers of this package."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset

try:
    from torchdata.stateful_dataloader import StatefulDataLoader as _StatefulDataLoader
except ImportError as e:
    raise ImportError(
        "StatefulDataLoader needs torchdata, which is not installed: pip install 'dataloader-expert[stateful]'"
    ) from e

from dataloader_expert.loaders.epochs import samplers_of, state_behind, with_epoch, wrapped
from dataloader_expert.samplers.base import EpochSampler
from dataloader_expert.samplers.shuffled import TorchShuffleSampler

OURS = frozenset({"current_epoch", "sampler_state"})


class StatefulDataLoader(_StatefulDataLoader[Any]):  # type: ignore[misc]  # torchdata has no types
    """torchdata's ``StatefulDataLoader``, which resumes after the last delivered batch, with workers too.

    The state also holds ``current_epoch`` and ``sampler_state``; a state of these two alone can be loaded. Arguments are as of
    ``DataLoader``; ``shuffle`` uses a :class:`~dataloader_expert.samplers.TorchShuffleSampler`, so that every epoch has the
    order of a plain loader with the same ``generator``, after resuming too.
    """

    current_epoch: int
    """Finished passes, unless set by :meth:`set_epoch` or a state."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        **keywords: Any,
    ) -> None:
        self.current_epoch = 0
        if shuffle and sampler is None and batch_sampler is None and not isinstance(dataset, IterableDataset):
            generator = keywords.get("generator")
            seed = int(torch.empty((), dtype=torch.int64).random_()) if generator is None else generator.initial_seed()
            shuffle, sampler = None, TorchShuffleSampler(dataset, seed, num_replicas=1)
        with warnings.catch_warnings():  # torchdata 0.11 calls what torch 2.13 takes away
            warnings.filterwarnings("ignore", message="'set_vital' is deprecated")
            super().__init__(dataset, batch_size, shuffle, sampler, batch_sampler, **keywords)

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        self.current_epoch += 1

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next pass, also of samplers and datasets that have one."""
        self.current_epoch = epoch
        for owner in with_epoch(self):
            owner.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """torchdata's state, ``current_epoch`` and ``sampler_state``; taken between two batches."""
        own: Any = self._own_sampler()
        if isinstance(own, EpochSampler):
            state = state_behind(own, getattr(self._iterator, "_num_yielded", 0), self.batch_size)
        else:
            state = dict(own.state_dict()) if hasattr(own, "state_dict") else {}
        return {**super().state_dict(), "current_epoch": self.current_epoch, "sampler_state": state}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The next pass resumes after the last batch delivered when ``state_dict`` was taken.

        A ``KeyError`` if it has no ``current_epoch``; of another order, a ``ValueError`` as of the sampler's ``load_state_dict``.
        """
        self.current_epoch = int(state_dict["current_epoch"])
        rest = {name: value for name, value in state_dict.items() if name not in OURS}
        own, state = self._own_sampler(), state_dict.get("sampler_state") or {}
        ours = isinstance(own, EpochSampler) and bool(state)
        # of a finished pass: current_epoch has advanced, the sampler's epoch has not
        ended = ours and state["epoch"] < self.current_epoch and state["taken"] >= len(own)
        super().load_state_dict({} if ended else rest)
        if (ended or not rest) and state and hasattr(own, "load_state_dict"):
            own.load_state_dict(state)
        for held in wrapped(self.dataset):
            if hasattr(held, "set_epoch") and not hasattr(held, "load_state_dict"):
                held.set_epoch(self.current_epoch)
        if ended:  # the next pass is of the next epoch, as with torch's samplers; torchdata's would be empty
            own.set_epoch(own.epoch + (own.num_replicas == 1))

    def _own_sampler(self) -> Any:
        """The ``EpochSampler`` if there is one, else torchdata's sampler."""
        return next((s for s in samplers_of(self) if isinstance(s, EpochSampler)), self.sampler)

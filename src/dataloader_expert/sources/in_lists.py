"""A dataset that its loader asks for whole batches, by lists of indices: a loader that stacks nothing (``batch_size=None``), whose sampler
yields lists, as torch's documentation shows for reading in bulk. It may take no single index."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.utils.data import DataLoader


class InLists:
    """Such a dataset by single indices too: a list of one where it takes no other."""

    def __init__(self, dataset: Any) -> None:
        self.dataset, self.alone = dataset, True

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int):
            return self.dataset[index]
        if not self.alone:
            return self.dataset[[index]]
        try:
            return self.dataset[index]
        except Exception as alone:  # the user's code may raise anything at an index that it does not take
            try:
                found = self.dataset[[index]]
            except Exception:  # nor does it take a list: the index was not at fault
                raise alone from None
            self.alone = False
            return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "dataset" not in self.__dict__:  # a copy that has nothing yet
            raise AttributeError(name)
        return getattr(self.dataset, name)


def indexed(loader: DataLoader[Any]) -> Any:
    """The loader's dataset, which takes single indices."""
    from torch.utils.data import RandomSampler, SequentialSampler

    alone = loader.batch_size is not None or loader.batch_sampler is not None
    if (
        alone
        or isinstance(loader.sampler, RandomSampler | SequentialSampler)
        or not hasattr(loader.dataset, "__getitem__")
    ):
        return loader.dataset
    return InLists(loader.dataset) if _yields_lists(loader) else loader.dataset


def _yields_lists(loader: DataLoader[Any]) -> bool:
    from torch.utils.data import BatchSampler

    if isinstance(loader.sampler, BatchSampler):
        return True
    try:  # a copy, as a sampler may be used up
        sampler = copy.deepcopy(loader.sampler, {id(loader.dataset): loader.dataset})
        return isinstance(next(iter(sampler), None), list)
    except Exception:  # the user's sampler may raise anything: the loader itself will, where that is told
        return False

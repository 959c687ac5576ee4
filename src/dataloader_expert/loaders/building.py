"""Building DataLoaders from plans, and the user's own anew with one setting changed."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

from dataloader_expert.plan import LoaderPlan


class CannotRebuild(Exception):
    """The user's DataLoader cannot be made anew with another setting; ``str()`` says why."""


def build(dataset: Any, plan: LoaderPlan, collate: Any = None) -> DataLoader[Any]:
    """A loader as the plan describes it; its order follows from the plan's seed."""
    keywords = plan.keywords()
    if isinstance(dataset, IterableDataset):
        keywords.pop("shuffle")
    return DataLoader(dataset, collate_fn=collate, generator=torch.Generator().manual_seed(plan.seed), **keywords)


def build_batches(dataset: Any, batches: list[list[int]], collate: Any = None) -> DataLoader[Any]:
    """A loader of these batches of indices, in the main process."""
    return DataLoader(dataset, batch_sampler=batches, collate_fn=collate)


def deliver(batches: Dataset[Any], workers: int) -> DataLoader[Any]:
    """A loader of ready batches: what it costs is their transport alone."""
    return DataLoader(batches, batch_size=None, shuffle=False, num_workers=workers)


def rebuild(loader: DataLoader[Any], workers: int, batch_size: int | None = None) -> DataLoader[Any]:
    """The user's loader with another number of workers (and batch size), all else as they made it.

    Class, sampler or batch sampler, collate function, worker initialiser, generator, timeout and context stay.

    Raises:
        CannotRebuild: if its class takes other arguments, or the batch size belongs to a batch sampler of theirs.
    """
    own_batches = loader.batch_size is None and loader.batch_sampler is not None
    keywords: dict[str, Any] = {
        "num_workers": workers,
        "collate_fn": loader.collate_fn,
        "pin_memory": loader.pin_memory,
        "worker_init_fn": loader.worker_init_fn,
        "generator": loader.generator,
    }
    if workers:
        keywords["timeout"] = loader.timeout
        keywords["prefetch_factor"] = loader.prefetch_factor or 2
        keywords["persistent_workers"] = loader.persistent_workers
        keywords["multiprocessing_context"] = loader.multiprocessing_context
    if own_batches:
        if batch_size is not None:
            raise CannotRebuild("its batch sampler sets the batch size; change it there")
        keywords["batch_sampler"] = loader.batch_sampler
    elif loader.batch_sampler is None:
        keywords["batch_size"] = None
        if not isinstance(loader.dataset, IterableDataset):
            keywords["sampler"] = loader.sampler
    else:
        keywords["batch_size"] = batch_size or loader.batch_size
        keywords["drop_last"] = loader.drop_last
        if not isinstance(loader.dataset, IterableDataset):
            keywords["sampler"] = loader.sampler
    try:
        return type(loader)(loader.dataset, **keywords)
    except TypeError as e:
        raise CannotRebuild(f"its class {type(loader).__name__} takes other arguments: {e}") from None


def shuffles(loader: DataLoader[Any]) -> bool:
    """Whether the order is torch's own shuffling."""
    return isinstance(loader.sampler, RandomSampler)


def sampler_name(loader: DataLoader[Any]) -> str:
    """The class of the sampler, or batch sampler, that decides the order."""
    own = loader.batch_sampler if loader.batch_size is None and loader.batch_sampler is not None else loader.sampler
    return type(own).__name__


def is_plain(loader: DataLoader[Any]) -> bool:
    """Whether torch's own samplers decide the order, and the batch size is the loader's."""
    return isinstance(loader.sampler, RandomSampler | SequentialSampler) and loader.batch_size is not None

"""Building DataLoaders from plans, and rebuilding the user's own with one setting changed."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

from dataloader_expert.plan import LoaderPlan


class CannotRebuild(Exception):
    """The user's DataLoader cannot be rebuilt with another setting; ``str()`` says why."""


def build(dataset: Any, plan: LoaderPlan, collate: Any = None) -> DataLoader[Any]:
    """A loader as the plan describes it; its order follows from the plan's seed."""
    keywords = plan.keywords()
    if isinstance(dataset, IterableDataset):
        keywords.pop("shuffle")
    return DataLoader(dataset, collate_fn=collate, generator=torch.Generator().manual_seed(plan.seed), **keywords)


def build_batches(dataset: Any, batches: list[list[int]], collate: Any = None) -> DataLoader[Any]:
    """A loader of these batches of indices, in the main process."""
    return DataLoader(dataset, batch_sampler=batches, collate_fn=collate)


def deliver(batches: Dataset[Any], workers: int, prefetch: int | None = None) -> DataLoader[Any]:
    """A loader of ready batches: what it costs is their transport alone."""
    return DataLoader(batches, batch_size=None, shuffle=False, num_workers=workers, prefetch_factor=prefetch)


def rebuild(
    loader: DataLoader[Any],
    workers: int,
    batch_size: int | None = None,
    prefetch: int | None = None,
    in_order: bool | None = None,
    persistent: bool | None = None,
) -> DataLoader[Any]:
    """The user's loader with another number of workers (and batch size, prefetch factor, order, persistence), all else as
    it was.

    Class, sampler or batch sampler, collate function, worker initialiser, generator, timeout and context stay. A class
    that takes other arguments is copied, and the settings are changed in the copy.

    Raises:
        CannotRebuild: if the batch size belongs to a batch sampler of theirs, or to a class that takes other arguments.
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
        keywords["prefetch_factor"] = prefetch or loader.prefetch_factor or 2
        ordered = getattr(loader, "in_order", True) if in_order is None else in_order
        if not ordered:  # torch before 2.6 does not know the argument
            keywords["in_order"] = False
        keywords["persistent_workers"] = loader.persistent_workers if persistent is None else persistent
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
        if batch_size not in (None, loader.batch_size):
            raise CannotRebuild(f"its class {type(loader).__name__} takes other arguments: {e}") from None
        return _copied(loader, keywords)


def _copied(loader: DataLoader[Any], keywords: dict[str, Any]) -> DataLoader[Any]:
    """A copy of a loader of the user's own class, with its settings for workers changed: torch reads them whenever an
    epoch begins."""
    made = _twin(loader)
    vars(made).update(
        num_workers=keywords["num_workers"],
        timeout=keywords.get("timeout", 0),
        prefetch_factor=keywords.get("prefetch_factor"),
        persistent_workers=keywords.get("persistent_workers", False),
        in_order=keywords.get("in_order", True),
    )
    return made


def _twin(loader: DataLoader[Any]) -> DataLoader[Any]:
    """A copy that shares everything but workers that are kept from epoch to epoch."""
    made = copy.copy(loader)
    made._iterator = None
    return made


def with_collate(loader: DataLoader[Any], collate: Any) -> DataLoader[Any]:
    """The user's loader as it is, but for its collate function; the two share samplers and generators."""
    other = _twin(loader)
    other.collate_fn = collate
    return other


def like(
    loader: DataLoader[Any] | None,
    dataset: Any,
    workers: int,
    batches: list[list[int]] | None,
    collate: Any,
    persistent: bool = False,
    timeout: float = 0.0,
) -> DataLoader[Any]:
    """A plain loader with these batches (of a stream: its own) and the initialiser, generator and context of another."""
    order: dict[str, Any] = {"batch_size": 8} if batches is None else {"batch_sampler": batches}
    kept = {} if loader is None else {n: getattr(loader, n) for n in ("worker_init_fn", "generator")}
    return DataLoader(
        dataset,
        num_workers=workers,
        collate_fn=collate,
        persistent_workers=persistent,
        timeout=timeout,
        **order,
        **kept,
    )


def started(loader: DataLoader[Any] | None, dataset: Any, collate: Any, method: str, timeout: float) -> DataLoader[Any]:
    """A loader of one worker that is started by this method, with the initialiser of another."""
    return DataLoader(
        dataset,
        batch_size=2,
        num_workers=1,
        collate_fn=collate,
        timeout=timeout,
        multiprocessing_context=method,
        worker_init_fn=None if loader is None else loader.worker_init_fn,
    )


def may_give_up_order() -> bool:
    """Whether this torch knows ``in_order`` (2.6 on)."""
    return "in_order" in inspect.signature(DataLoader.__init__).parameters


def release(loader: Any, iterator: Any) -> None:
    """Ends an iterator's workers; a loader that keeps its iterator makes a new one next time."""
    shutdown = getattr(iterator, "_shutdown_workers", None)
    if shutdown is not None:
        shutdown()
    if getattr(loader, "_iterator", None) is not None:
        loader._iterator = None


def shuffles(loader: DataLoader[Any]) -> bool:
    """Whether the order is torch's own shuffling."""
    return isinstance(loader.sampler, RandomSampler)


def sampler_name(loader: DataLoader[Any]) -> str:
    """The class of the sampler, or batch sampler, that decides the order."""
    own = loader.batch_sampler if loader.batch_size is None and loader.batch_sampler is not None else loader.sampler
    return type(own).__name__


def orders(loader: DataLoader[Any]) -> Any:
    """An epoch's indices as the loader's own sampler gives them, flat."""
    own = loader.batch_size is None and loader.batch_sampler is not None
    for given in loader.batch_sampler if own and loader.batch_sampler is not None else loader.sampler:
        yield from given if isinstance(given, list | tuple) else [given]


def draws_globally(loader: DataLoader[Any]) -> bool:
    """Whether torch's own shuffling has no generator of its own."""
    return isinstance(loader.sampler, RandomSampler) and loader.sampler.generator is None and loader.generator is None


def is_plain(loader: DataLoader[Any]) -> bool:
    """Whether torch's own samplers decide the order, and the batch size is the loader's."""
    return isinstance(loader.sampler, RandomSampler | SequentialSampler) and loader.batch_size is not None

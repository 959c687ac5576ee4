"""Building DataLoaders from plans, and rebuilding the user's own with one setting changed."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.sources.given import given, noted

MOST_NESTED = 8


class CannotRebuild(Exception):
    """The user's DataLoader cannot be rebuilt with another setting; ``str()`` says why."""


def build(dataset: Any, plan: LoaderPlan, collate: Any = None) -> DataLoader[Any]:
    """The loader that a plan describes, in the order of its seed."""
    keywords = plan.keywords()
    if isinstance(dataset, IterableDataset):
        keywords.pop("shuffle")
    return DataLoader(dataset, collate_fn=collate, generator=torch.Generator().manual_seed(plan.seed), **keywords)


def plain(dataset: Any, collate: Any = None, like: DataLoader[Any] | None = None, **settings: Any) -> DataLoader[Any]:
    """A DataLoader with these settings, by default with the worker initialiser and generator of ``like``."""
    kept = {} if like is None else {name: getattr(like, name) for name in ("worker_init_fn", "generator")}
    return DataLoader(dataset, collate_fn=collate, **{**kept, **settings})


def rebuild(
    loader: DataLoader[Any],
    workers: int,
    batch_size: int | None = None,
    prefetch: int | None = None,
    in_order: bool | None = None,
    persistent: bool | None = None,
) -> DataLoader[Any]:
    """The user's loader with other settings; None keeps the loader's own.

    Everything else stays. What a class of the user's changed in its constructor is given to it as it was before. A
    loader whose class takes other arguments is copied, and changed. ``CannotRebuild`` says that a batch sampler, or
    such a class, sets the batch size, or that it can be neither made anew nor copied.
    """
    before = given(loader) or {}
    kept = ["collate_fn", "pin_memory", "worker_init_fn", "generator"]
    kept += ["timeout", "multiprocessing_context"] if workers else []
    keywords: dict[str, Any] = {"num_workers": workers, **{name: getattr(loader, name) for name in kept}}
    if workers:
        keywords["prefetch_factor"] = prefetch or loader.prefetch_factor or 2
        keywords["persistent_workers"] = loader.persistent_workers if persistent is None else persistent
        if not (getattr(loader, "in_order", True) if in_order is None else in_order):  # unknown to torch before 2.6
            keywords["in_order"] = False
    decider = _decider(loader)
    batches = before.get("batch_sampler", decider if decider is loader.batch_sampler else None)
    if batches is not None:
        if batch_size is not None:
            raise CannotRebuild("its batch sampler sets the batch size: change it there")
        keywords["batch_sampler"] = batches
    else:
        if loader.batch_sampler is None:
            keywords["batch_size"] = None
        else:
            keywords |= {"batch_size": batch_size or loader.batch_size, "drop_last": loader.drop_last}
        if not isinstance(loader.dataset, IterableDataset):
            keywords["sampler"] = _first_of(before.get("sampler"), loader.sampler)
    name = type(loader).__name__
    try:
        with noted():
            made = type(loader)(loader.dataset, **keywords)
    except TypeError as e:
        if batch_size not in (None, loader.batch_size):
            raise CannotRebuild(f"its class {name} takes other arguments: {e}") from None
        return _copied(loader, keywords)
    if _nested(made) == _nested(loader):
        return made
    if batch_size not in (None, loader.batch_size):
        raise CannotRebuild(f"the constructor of its class {name} changes its samplers")
    return _copied(loader, keywords)


def _first_of(one: Any, other: Any) -> Any:
    """The first if there is one: a sampler without a length is neither true nor false."""
    return other if one is None else one


def _nested(loader: DataLoader[Any]) -> list[type]:
    """The classes of the batch sampler, of the sampler within it, and so on."""
    found: list[type] = []
    one = _first_of(getattr(loader, "batch_sampler", None), loader.sampler)
    while one is not None and len(found) < MOST_NESTED:
        found.append(type(one))
        one = _first_of(getattr(one, "batch_sampler", None), getattr(one, "sampler", None))
    return found


def _copied(loader: DataLoader[Any], keywords: dict[str, Any]) -> DataLoader[Any]:
    """A copy with other settings of its workers: torch reads them whenever an epoch begins."""
    if begins_at_once(loader):
        raise CannotRebuild(
            f"its class {type(loader).__name__} starts its workers when it is made, and cannot be made anew"
        )
    unset = {"timeout": 0, "prefetch_factor": None, "persistent_workers": False, "in_order": True}
    return twin(loader, num_workers=keywords["num_workers"], **{n: keywords.get(n, v) for n, v in unset.items()})


def begins_at_once(loader: DataLoader[Any]) -> bool:
    """Whether its class starts to iterate, and workers, when it is made, and keeps the iterator."""
    return any(name != "_iterator" and isinstance(held, _BaseDataLoaderIter) for name, held in vars(loader).items())


def twin(loader: DataLoader[Any], **changed: Any) -> DataLoader[Any]:
    """A copy with other attributes that shares everything else, samplers and generators too, but no persistent workers.

    Not made anew, as a class of the user's may take other arguments.
    """
    made = copy.copy(loader)
    vars(made).update(_iterator=None, **changed)
    return made


def release(loader: Any, iterator: Any) -> None:
    """Ends the workers of an iterator; a loader with persistent workers starts new ones next time."""
    shutdown = getattr(iterator, "_shutdown_workers", None)
    if shutdown is not None:
        shutdown()
    if getattr(loader, "_iterator", None) is not None:
        loader._iterator = None


def shuffles(loader: DataLoader[Any]) -> bool:
    """Whether torch's ``RandomSampler`` decides the order."""
    return isinstance(loader.sampler, RandomSampler)


def _decider(loader: DataLoader[Any]) -> Any:
    """The sampler, or batch sampler, that decides the order."""
    own_batches = loader.batch_size is None and loader.batch_sampler is not None
    return loader.batch_sampler if own_batches else loader.sampler


def sampler_name(loader: DataLoader[Any]) -> str:
    """The class of the sampler, or batch sampler, that decides the order."""
    return type(_decider(loader)).__name__


def orders(loader: DataLoader[Any]) -> Any:
    """The indices of an epoch as the loader's own sampler yields them, flat."""
    for one in _decider(loader):
        yield from one if isinstance(one, list | tuple) else [one]


def is_plain(loader: DataLoader[Any]) -> bool:
    """Whether a sampler of torch decides the order, and the loader the batch size."""
    return isinstance(loader.sampler, RandomSampler | SequentialSampler) and loader.batch_size is not None

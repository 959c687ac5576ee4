"""DataLoaders by configuration: seeded, sharded, and read by the batch where possible."""

from __future__ import annotations

import functools
import logging
import math
import multiprocessing
import pickle
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

import torch
from torch.utils.data import BatchSampler, ConcatDataset, IterableDataset, Sampler, Subset, TensorDataset

from dataloader_expert.loaders.collate import collate_gathered
from dataloader_expert.loaders.collators.registry import CollatorRegistry
from dataloader_expert.loaders.epochs import EpochLoader, gives_batches, wrapped
from dataloader_expert.loaders.seeding import SeededSamples, create_seeded_generator, seed_worker
from dataloader_expert.loaders.sharding import ShardedStream
from dataloader_expert.loaders.tasks import TaskSpec
from dataloader_expert.loaders.tensor_rows import by_batch, gathers, stacked
from dataloader_expert.samplers import OrderedSampler, TorchShuffleSampler
from dataloader_expert.samplers.base import EpochSampler
from dataloader_expert.samplers.ranks import grouped
from dataloader_expert.samplers.rules import given, one_of, whole
from dataloader_expert.sources.code_inspection import may_draw

logger = logging.getLogger(__name__)


@dataclass
class DataLoaderConfig:
    """Settings of a DataLoader.

    Attributes:
        batch_size: samples per batch, per rank; None: single samples, not batched.
        shuffle: a new order every epoch, from ``seed``.
        num_workers, prefetch_factor, drop_last, multiprocessing_context: as of ``DataLoader``.
        pin_memory: None: if CUDA is available.
        persistent_workers: None: True with workers.
        seed: of order and workers.
        collate_fn: samples to batch; None: by the task, else torch's.
        timeout: seconds to wait for a batch of the workers; 0: no limit.
        distributed: shard the epoch across the ranks of the process group; None: if there is one.
        sampler, batch_sampler: your own, which shards itself; it replaces ``shuffle``, a batch sampler ``batch_size``
            and ``drop_last`` too.
        worker_init_fn: called in each worker after :func:`seed_worker`. With one, an iterable dataset is not sharded
            across workers here: as with torch, this is up to the function.
        seed_samples: whether random choices in ``__getitem__`` depend on seed, epoch and draw only, not on workers and
            ranks: the global random states are set before each sample, and restored after the batch. None: if the
            dataset's code names a source of random numbers (:func:`may_draw`), or a read is seen to move one of these
            states (:class:`~dataloader_expert.loaders.seeding.SeededSamples`). False: as with torch.
        in_order: False: batches as workers finish them: a slow sample delays no other; such an epoch cannot resume.
    """

    batch_size: int | None = 32
    shuffle: bool = True
    num_workers: int = 2
    pin_memory: bool | None = None
    prefetch_factor: int | None = 2
    persistent_workers: bool | None = None
    drop_last: bool = False
    seed: int = 42
    collate_fn: Callable[[Any], Any] | None = None
    timeout: float = 0
    distributed: bool | None = None
    sampler: Sampler[Any] | Sequence[int] | None = None
    batch_sampler: Sampler[list[int]] | Sequence[list[int]] | None = None
    worker_init_fn: Callable[[int], None] | None = None
    multiprocessing_context: Any = None
    seed_samples: bool | None = None
    in_order: bool = True

    def check(self) -> None:
        """Checks the settings; a ``ValueError`` gives the name, the value and the rule."""
        whole(0, num_workers=self.num_workers, seed=self.seed)
        if self.seed >= 1 << 64:
            raise ValueError(f"seed is {self.seed}; torch takes seeds below 2**64")
        one_of((True, False), shuffle=self.shuffle, drop_last=self.drop_last, in_order=self.in_order)
        flags = ("pin_memory", "persistent_workers", "distributed", "seed_samples")
        one_of((True, False), **given(**{name: getattr(self, name) for name in flags}))
        for name, other, yields in (("sampler", "batch_sampler", "batches"), ("batch_sampler", "sampler", "indices")):
            own = getattr(self, name)
            if isinstance(own, str):
                raise ValueError(f"{name} is {own!r}; it must be a sampler, such as one of dataloader_expert.samplers")
            if isinstance(own, EpochSampler | BatchSampler) and gives_batches(own) != (name == "batch_sampler"):
                raise ValueError(f"{name}={type(own).__name__} yields {yields}: pass it as {other}=")
        whole(1, **given(batch_size=self.batch_size, prefetch_factor=self.prefetch_factor))
        if not (math.isfinite(self.timeout) and self.timeout >= 0):
            raise ValueError(f"timeout is {self.timeout}; it must be a number of seconds, at least 0")
        if self.persistent_workers and not self.num_workers:
            raise ValueError("persistent_workers=True needs workers, but num_workers is 0")
        if self.sampler is not None and self.batch_sampler is not None:
            raise ValueError("sampler and batch_sampler exclude each other: pass one of them")


def check_names(of: str, settings: Collection[str], own: Collection[str]) -> None:
    """Names of settings given to a function, which has ``own`` too; a ``TypeError`` says what another may have meant."""
    names = [f.name for f in fields(DataLoaderConfig)]
    for name in sorted(set(settings) - set(names)):
        close = get_close_matches(name, [*names, *own], 1)
        raise TypeError(f"{of}() has no argument {name!r}" + (f": did you mean {close[0]!r}?" if close else ""))


class DataLoaderFactory:
    """Makes DataLoaders that are reproducible, sharded and resumable: see :class:`EpochLoader`.

    Order, contents and worker seeds of every epoch are those of ``DataLoader(dataset, shuffle=…,
    generator=create_seeded_generator(seed))``. Tensors and lists of tensors are gathered by the batch. Random choices
    of a dataset do not depend on the worker. An epoch is sharded across ranks, an iterable dataset across workers too.
    Collators come from ``collator_registry``, by default the process's own.
    """

    def __init__(self, collator_registry: CollatorRegistry | None = None) -> None:
        self.collator_registry = collator_registry or CollatorRegistry.get_instance()

    def create_dataloader(
        self,
        dataset: Any,
        config: DataLoaderConfig | None = None,
        task_spec: TaskSpec | None = None,
        tokenizer: Any = None,
        data_collator: Callable[[Any], Any] | None = None,
    ) -> EpochLoader:
        """A loader of ``dataset``: map-style, iterable, or a list; an empty one gives no batches.

        Args:
            dataset: a list of tensors of one shape is read as a ``TensorDataset``.
            task_spec, tokenizer: of the collator, if neither ``data_collator`` nor ``config.collate_fn`` is given.
            data_collator: takes precedence over all other collate functions.

        A ``ValueError`` for an invalid setting; for tensors that do not stack; if a collator lacks its tokenizer or
        refuses its arguments; if an iterable dataset is to be shuffled; if a collate function cannot be sent to spawned
        workers.
        """
        config = config or DataLoaderConfig()
        if not isinstance(config, DataLoaderConfig):
            raise TypeError(
                f"config is a {type(config).__name__}; pass a DataLoaderConfig, such as DataLoaderConfig(batch_size=32)"
            )
        config.check()
        if not hasattr(dataset, "__getitem__") and not isinstance(dataset, IterableDataset):
            raise TypeError(
                f"the dataset is a {type(dataset).__name__}: pass one with __getitem__ and __len__, a list, or an IterableDataset"
            )
        collate = data_collator or config.collate_fn or self._by_task(task_spec, tokenizer)
        if isinstance(dataset, list) and all(isinstance(v, torch.Tensor) for v in dataset) and collate is None:
            dataset = stacked(dataset)
        streams = isinstance(dataset, IterableDataset)
        if streams and config.shuffle:
            raise ValueError(
                f"{type(dataset).__name__} is iterable and cannot be shuffled by a loader: pass shuffle=False, and "
                "shuffle in the dataset with a buffer, as StreamingDataset does"
            )
        if collate is None and not streams:
            dataset = by_batch(dataset)
            batched = config.batch_size is not None or config.batch_sampler is not None
            collate = collate_gathered if gathers(dataset) and batched else None
        _check_sent(config, collate, dataset)
        drop_last = config.drop_last and config.batch_size is not None  # torch refuses it where there are no batches
        order: dict[str, Any] = {"batch_size": config.batch_size, "drop_last": drop_last}
        own = config.worker_init_fn  # it may shard a stream across workers
        if streams:
            if config.sampler is not None or config.batch_sampler is not None:
                raise ValueError("an iterable dataset has its own order: pass neither sampler nor batch_sampler")
            num_replicas, rank = ranks_asked(config.distributed)
            dataset = ShardedStream(dataset, num_replicas, rank, config.seed, across_workers=own is None)
        else:
            if config.batch_sampler is not None:
                order = {"batch_sampler": config.batch_sampler}
            else:
                order["sampler"] = self._sampler(dataset, config) if config.sampler is None else config.sampler
            seeds = may_draw(dataset) if config.seed_samples is None else config.seed_samples
            if seeds or (config.seed_samples is None and runs_code(dataset)):
                dataset = SeededSamples(dataset, config.seed, watched=not seeds)
        workers: dict[str, Any] = {} if config.in_order else {"in_order": False}  # torch before 2.6 does not know it
        if config.num_workers:
            workers["persistent_workers"] = config.persistent_workers is not False
            for name in ("prefetch_factor", "timeout", "multiprocessing_context"):
                workers[name] = getattr(config, name)
        workers["pin_memory"] = torch.cuda.is_available() if config.pin_memory is None else config.pin_memory
        workers["worker_init_fn"] = seed_worker if own is None else functools.partial(_both, own)
        order |= {"seed": config.seed, "generator": create_seeded_generator(config.seed)}
        return EpochLoader(dataset, num_workers=config.num_workers, collate_fn=collate, **workers, **order)

    def _by_task(self, task_spec: TaskSpec | None, tokenizer: Any) -> Any:
        if task_spec is None:
            return None
        try:
            return self.collator_registry.get_collator(task_spec=task_spec, tokenizer=tokenizer)
        except ValueError as e:
            if "tokenizer required" not in str(e):
                raise
            raise ValueError(
                f"Failed to create text collator: {e}. Solutions: 1. pass tokenizer=; 2. pass a collate function "
                "(data_collator=) that needs none; 3. pass no task_spec, where samples are tensors of one length"
            ) from None

    def _sampler(self, dataset: Any, config: DataLoaderConfig) -> Sampler[int]:
        num_replicas, rank = ranks_asked(config.distributed)
        how: dict[str, Any] = {"num_replicas": num_replicas, "rank": rank, "drop_last": config.drop_last}
        return TorchShuffleSampler(dataset, config.seed, **how) if config.shuffle else OrderedSampler(dataset, **how)


def ranks_asked(distributed: bool | None) -> tuple[int, int] | tuple[None, None]:
    """World size and rank; None: those of the process group when a pass begins."""
    if distributed and not grouped():
        raise ValueError("distributed=True, but there is no process group: call torch.distributed.init_process_group")
    return (1, 0) if distributed is False else (None, None)


def _both(own: Callable[[int], None], worker_id: int) -> None:
    seed_worker(worker_id)
    own(worker_id)


def runs_code(dataset: Any) -> bool:
    """Whether reading a sample may run other code than ours and torch's, which draw no random numbers."""
    known, ours = (TensorDataset, Subset, ConcatDataset, list, tuple, torch.Tensor), __name__.split(".")[0]
    return any(
        (type(own) not in known and not type(own).__module__.startswith(f"{ours}."))
        or getattr(own, "transform", None) is not None
        for own in wrapped(dataset)
    )


def _check_sent(config: DataLoaderConfig, collate: Any, dataset: Any) -> None:
    """Refuses, before any worker starts, functions that cannot be pickled for it."""
    context = config.multiprocessing_context
    method = (context if isinstance(context, str) else context.get_start_method()) if context else None
    method = method or multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    if not config.num_workers or method == "fork":
        return
    transforms = [("transform", getattr(own, "transform", None)) for own in wrapped(dataset)]
    for name, function in (("collate_fn", collate), ("worker_init_fn", config.worker_init_fn), *transforms):
        try:
            pickle.dumps(function)
        except Exception as e:  # pickling runs code of the user's, which may raise anything
            raise ValueError(
                f"{name} {function!r} cannot be sent to workers started by {method}: {e}. Define it at the top level of "
                "a module, or set num_workers=0"
            ) from None

"""Loaders of JASPER data sets."""

from __future__ import annotations

import logging
from typing import Any

from torch.utils.data import Sampler

from dataloader_expert.loaders.collate import collate_gathered
from dataloader_expert.loaders.epochs import EpochLoader, gives_batches
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.samplers import DistributedShuffleSampler, OrderedSampler, ShuffleSampler

logger = logging.getLogger(__name__)


def jasper_loader(
    dataset: JASPERSteeringDataset,
    batch_size: int,
    distributed: bool,
    drop_last: bool | None,
    sampler: Sampler[Any] | None,
    **keywords: Any,
) -> EpochLoader:
    """A loader of a JASPER split, with the defaults that ``create_loader`` has always had for it.

    ``drop_last`` None: in ``train`` only. ``sampler`` None: shuffled in ``train``, else in stored order; sharded across
    ranks where ``distributed``. ``keywords`` are of ``DataLoader``, with ``num_workers`` and ``pin_memory``.
    """
    if dataset.device.type != "cpu":
        if keywords["num_workers"] or keywords["pin_memory"]:
            text = "the tensors are on %s: loading without workers and pinning, there is nothing left to fetch"
            logger.info(text, dataset.device)
        keywords |= {"num_workers": 0, "pin_memory": False}
    train, seed = dataset.split == "train", dataset.seed
    drop = train if drop_last is None else drop_last
    keywords = {"collate_fn": collate_gathered, **keywords}
    if distributed and sampler is None:
        sampler = DistributedShuffleSampler(dataset, shuffle=train, seed=seed, drop_last=drop)
    elif sampler is None:
        # One replica in a process group too: nobody asked to shard.
        sampler = ShuffleSampler(dataset, seed, num_replicas=1) if train else OrderedSampler(dataset, num_replicas=1)
    if gives_batches(sampler):
        return EpochLoader(dataset, batch_sampler=sampler, **keywords)
    return EpochLoader(dataset, batch_size=batch_size, sampler=sampler, drop_last=drop, **keywords)

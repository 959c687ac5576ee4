"""What an order by length saves, how far lengths lie from each other, and whether batches are padded at all."""

from __future__ import annotations

import math
from typing import Any

from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.experiments.epochs import padding

LONG_TAILED = 3.0
"""How many times the mean the longest sample is, if batches of so many samples differ too much in what they hold."""
LEAST_SAVED = 0.05
"""The least share of the padded batches that an order by length must save to be worth it."""
MOST, FEWEST_BATCHES = 200_000, 4
"""The most samples that this is computed of, and the fewest batches if not all were read: smaller ones then stand for those of all."""


def long_tailed(lengths: Any) -> bool:
    """Whether a batch of the longest samples is far larger than usual ones."""
    return len(lengths) > 1 and bool(lengths.max() > LONG_TAILED * max(1.0, float(lengths.mean())))


def paddings(lengths: Any, batch_size: int, seed: int, whole: bool) -> tuple[float, float]:
    """The share of padding in shuffled batches, and in batches sorted by length. ``whole``: whether these are the lengths of all samples."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(len(lengths))[:MOST]
    size = batch_size if whole else max(2, min(batch_size, len(order) // FEWEST_BATCHES))
    by_length = order[np.argsort(lengths[order], kind="stable")]
    before, after = (padding([of[i : i + size] for i in range(0, len(of), size)], lengths) for of in (order, by_length))
    return before, after


def budget(lengths: Any, size: int) -> int:
    """Tokens of a batch: those of so many samples of mean length, and the longest sample at least."""
    return max(math.ceil(size * float(lengths.mean())), math.ceil(float(lengths.max())))


def collated_by_padding(bench: Bench, asked: bool) -> bool:
    """Whether batches are padded to the longest sample: by the user's own collate function, or by that of the code handed over.
    ``asked``: the user names the field of the lengths; else it is one of those that are padded."""
    from dataloader_expert.checks.labels.labels import LENGTHS
    from dataloader_expert.probes.serving import collate_for, serving

    if bench.source.format != "reference":
        return collate_for(bench) == "pad"
    loader = getattr(bench.source, "loader", None)
    if loader is not None:
        return getattr(loader.collate_fn, "__name__", "") != "default_collate"
    served = serving(bench)
    of_padded = asked or bench.facts.value(LENGTHS, {"field": None})["field"] in served.varying
    return served.collate_name == "pad" and of_padded

"""One row for every sampler: how it is made of plain whole numbers, so that each contract is tested on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dataloader_expert.samplers import (
    BlockShuffleSampler,
    ClassBalancedBatchSampler,
    CurriculumSampler,
    DistributedShuffleSampler,
    GroupBatchSampler,
    LengthBucketBatchSampler,
    OrderedSampler,
    ShuffleSampler,
    StratifiedBatchSampler,
    TokenBudgetBatchSampler,
    TorchShuffleSampler,
    WeightedSampler,
)
from dataloader_expert.samplers.base import EpochBatchSampler

Values = list[int]
Maker = Callable[..., Any]


def _ordered(values: Values, seed: int, **more: Any) -> Any:
    return OrderedSampler(values, **more)


def _distributed(values: Values, seed: int, num_replicas: int | None = 1, rank: int | None = 0, **more: Any) -> Any:
    return DistributedShuffleSampler(values, num_replicas, rank, seed=seed, **more)


def _balanced(values: Any, seed: int, **more: Any) -> Any:
    return ClassBalancedBatchSampler(values, min(3, len({str(v) for v in values})), 2, seed, **more)


def _blocks(values: Values, seed: int, **more: Any) -> Any:
    """Blocks of up to 7 samples, an empty one among them."""
    whole, rest = divmod(len(values), 7)
    return BlockShuffleSampler([7] * whole + [0, rest], 3, seed, **more)


MAKERS: dict[str, Maker] = {
    "BlockShuffleSampler": _blocks,
    "ClassBalancedBatchSampler": _balanced,
    "CurriculumSampler": lambda values, seed, **more: CurriculumSampler(values, 4, 0.3, seed, **more),
    "DistributedShuffleSampler": _distributed,
    "GroupBatchSampler": lambda values, seed, **more: GroupBatchSampler(values, 4, seed, **more),
    "LengthBucketBatchSampler": lambda values, seed, **more: LengthBucketBatchSampler(values, 4, 3, seed, **more),
    "OrderedSampler": _ordered,
    "ShuffleSampler": lambda values, seed, **more: ShuffleSampler(values, seed, **more),
    "StratifiedBatchSampler": lambda values, seed, **more: StratifiedBatchSampler(values, 4, seed, **more),
    "TokenBudgetBatchSampler": lambda values, seed, **more: TokenBudgetBatchSampler(values, 20, 6, 30, seed, **more),
    "TorchShuffleSampler": lambda values, seed, **more: TorchShuffleSampler(values, seed, **more),
    "WeightedSampler": lambda values, seed, **more: WeightedSampler([v + 1 for v in values], None, True, seed, **more),
}
"""Name to ``make(values, seed, drop_last=…, num_replicas=…, rank=…)``; values are labels, lengths, groups or weights."""
BY_LENGTH = {"LengthBucketBatchSampler", "TokenBudgetBatchSampler"}
"""Those whose order depends on the number of ranks, which get batches of like length at each step."""
UNSEEDED = {"OrderedSampler"}
ONCE = set(MAKERS) - {"ClassBalancedBatchSampler", "CurriculumSampler", "WeightedSampler"}
"""Those whose epoch is every sample once."""


def gives_batches(sampler: Any) -> bool:
    return isinstance(sampler, EpochBatchSampler)


def flat(items: list[Any]) -> Values:
    """Indices of what a sampler gave: itself, or its batches one after the other."""
    return list(_flat(items))


def _flat(items: list[Any]) -> Iterator[int]:
    for item in items:
        yield from item if isinstance(item, list) else [item]

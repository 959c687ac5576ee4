"""What the first generation's balanced sampler did badly."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataloader_expert.samplers.balanced import ClassBalancedBatchSampler
from dataloader_expert.samplers.base import Plan
from tests.weaknesses.base import Weakness, planted

SYSTEM = "first generation, sampler"
BALANCED = "tests/samplers/test_balanced.py::test_"
CONTRACT = "tests/samplers/test_contract.py::test_"

Balanced: Any = ClassBalancedBatchSampler
_init = Balanced.__init__


def _last_again_and_again(self: Any) -> Plan:
    ends = np.cumsum(self._counts)
    members = [self._members[end - n : end] for end, n in zip(ends, self._counts, strict=True)]
    flat = [m[min(i, len(m) - 1)] for i in range(self._batches) for m in members]
    batches = np.array(flat).reshape(-1, self.batch_size).tolist()
    return Plan(len(batches), len(batches), lambda first, until: batches[first:until])


def _as_long_as_the_rarest(self: Any, labels: Any, *arguments: Any, **keywords: Any) -> None:
    _init(self, labels, *arguments, **keywords)
    self._batches = int(self._counts.min())


def _if_not_labels(self: Any, labels: Any, *arguments: Any, **keywords: Any) -> None:
    if not labels:
        raise ValueError
    _init(self, labels, *arguments, **keywords)


def _without_ranks(self: Any, *arguments: Any, num_replicas: Any = None, rank: Any = None, **keywords: Any) -> None:
    _init(self, *arguments, num_replicas=1, rank=0, **keywords)


def _without_sizes(self: Any, labels: Any, *sizes: Any, seed: Any = None, **keywords: Any) -> None:
    _init(self, labels, seed=seed, **keywords)


WEAKNESSES = [
    Weakness(SYSTEM, says, test, plant)
    for says, test, plant in [
        (
            "an exhausted class repeats its last sample for ever",
            BALANCED + "without_drop_last_an_epoch_ends_with_the_most_frequent_class",
            planted((Balanced, "_plan", _last_again_and_again)),
        ),
        (
            "most of an imbalanced set is never shown",
            BALANCED + "the_most_frequent_class_need_not_be_left_out",
            planted((Balanced, "__init__", _as_long_as_the_rarest)),
        ),
        (
            "labels in an array are an error",
            BALANCED + "labels_alone_may_be_an_array[array]",
            planted((Balanced, "__init__", _if_not_labels)),
        ),
        (
            "labels in a tensor are an error",
            BALANCED + "labels_alone_may_be_an_array[tensor]",
            planted((Balanced, "__init__", _if_not_labels)),
        ),
        (
            "every rank trains on the same batches",
            CONTRACT + "ranks_share_an_epoch_out[ClassBalancedBatchSampler]",
            planted((Balanced, "__init__", _without_ranks)),
        ),
        (
            "the batch size is the number of classes",
            BALANCED + "a_batch_is_p_classes_by_k_samples",
            planted((Balanced, "__init__", _without_sizes)),
        ),
    ]
]

"""What the user's own datasets for validation and test do that those for training may: draw random numbers, drop samples, or number
their classes by themselves."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Json, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.health.generators import draws
from dataloader_expert.probes.profile.rereads import word_of
from dataloader_expert.sources.items import items_of
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.split_datasets import dataset_of, training_of

REREAD = Quantity(
    "evaluation_reread",
    "samples",
    "samples of a split for evaluation that draw random numbers and differ when read again",
)
DROPPED = Quantity(
    "evaluation_dropped", "samples", "samples of a split for evaluation that its loader drops in each epoch"
)
NUMBERED = Quantity(
    "class_numbers", "", "names of classes in the order of their numbers, as the datasets of two splits give them"
)
READ = 12
"""Samples of each split that are read twice."""


@dataclass(frozen=True)
class EvaluationSplits(Probe):
    name: ClassVar[str] = "evaluation_splits"
    doing: ClassVar[str] = "comparing the splits' datasets"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.1
    most_s: float = 2.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        parts = getattr(bench.source, "parts", {})
        if not parts or hangs(bench):
            return
        train = training_of(parts, bench.ref.train)
        others = [name for name in parts if name != train and split_in_name(name) != "train"]
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        for k, name in enumerate(others):
            at, part = {"split": name}, parts[name]
            left = until - time.monotonic()
            seen = _reread(dataset_of(part), time.monotonic() + left / (len(others) - k))
            value: dict[str, Json] = {"read": seen.read, "differ": seen.differ}
            yield Fact(REREAD, value, evidence("counted", self.name, seen=seen.read), at)
            dropped = _dropped(part)
            if dropped:
                value = {"dropped": dropped, "samples": len(dataset_of(part))}
                yield Fact(DROPPED, value, evidence("declared", self.name), at)
            (one, sure), (two, also) = (_classes(dataset_of(parts[of])) for of in (train, name))
            if one and len(two) > seen.highest >= 0:
                value = {"train": one, "other": two, "by_number": sure and also}
                yield Fact(NUMBERED, value, evidence("declared", self.name), at | {"train": train})


@dataclass
class _Seen:
    """Samples that were read twice, those of them that draw random numbers and differ, and the highest whole number at their end."""

    read: int = 0
    differ: int = 0
    highest: int = -1


def _reread(dataset: Any, until: float) -> _Seen:
    """Samples spread over a split."""
    seen, n = _Seen(), len(dataset)
    for index in dict.fromkeys(k * (n - 1) // (READ - 1) for k in range(READ)):
        if time.monotonic() > until:
            break
        try:
            one, other = dataset[index], dataset[index]
            seen.differ += word_of(one) != word_of(other) and draws(dataset, index)
        except Exception:  # the scan has said which samples raise
            continue
        seen.read += 1
        with contextlib.suppress(Exception):  # it may be a text, or nothing
            last = [value for _, value in items_of(one)][-1]
            seen.highest = max(seen.highest, int(last) if getattr(last, "ndim", 0) == 0 and int(last) == last else -1)
    return seen


def _dropped(loader: Any) -> int:
    """The samples of the last batch, if a loader leaves it out."""
    size: Any = getattr(loader, "batch_size", None)
    sampler: Any = getattr(loader, "sampler", None)
    if not getattr(loader, "drop_last", False) or not isinstance(size, int) or not hasattr(sampler, "__len__"):
        return 0
    return len(sampler) % size


def _classes(dataset: Any) -> tuple[list[str], bool]:
    """The names of classes in order, and whether they are given with their numbers; no names where these do not count from 0 on."""
    numbers: Any = getattr(dataset, "class_to_idx", None)
    whole = isinstance(numbers, dict) and all(isinstance(v, int) for v in numbers.values())
    if whole and {*numbers.values()} == {*range(len(numbers))}:
        return [str(name) for name in sorted(numbers, key=lambda name: int(numbers[name]))], True
    names: Any = getattr(dataset, "classes", None)
    told = isinstance(names, list | tuple) and all(isinstance(c, str) for c in names)
    return (list(names) if told else []), False


PROBES = (EvaluationSplits,)

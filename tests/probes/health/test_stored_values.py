"""Datasets that change what they store when a sample is read, and datasets that only seem to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, Subset

from dataloader_expert.advice.worker_semantics import reseeded
from dataloader_expert.advice.worker_semantics import rewritten as judged
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench, Probe, evidence
from dataloader_expert.probes.health.generators import RESEEDED
from dataloader_expert.probes.health.own_cache import OwnCache
from dataloader_expert.probes.health.stored_values import DEPENDS, REWRITTEN
from dataloader_expert.probes.health.worker_content import CONTENT, WorkerContent
from dataloader_expert.probes.health.worker_semantics import TWINS
from dataloader_expert.probes.sharding import read_once
from dataloader_expert.sources.reference import Reference

N = 64


class Held(Dataset[Any]):
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.x = torch.from_numpy(rng.random((N, 4)) * 255)
        self.labels = rng.integers(1, 6, N)
        self.rows = [rng.random(3) for _ in range(N)]
        self.filled = np.zeros((N, 4))
        self.rng = np.random.default_rng(1)

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> Any:
        return self.x[index].clone(), int(self.labels[index])


class Decremented(Held):
    def __getitem__(self, index: int) -> Any:
        self.labels[index] -= 1
        return super().__getitem__(index)


class NormalisedWhereItIs(Held):
    def __getitem__(self, index: int) -> Any:
        return self.x[index].div_(255).sub_(0.5).div_(0.25), int(self.labels[index])


class InAList(Held):
    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        row *= 0.5
        return torch.from_numpy(row.copy())


class Augmented(Held):
    def __getitem__(self, index: int) -> Any:
        return self.x[index] + self.rng.random()


class FilledOnce(Held):
    """A cache in an array: the same each time."""

    def __getitem__(self, index: int) -> Any:
        self.filled[index] = self.x[index]
        return torch.from_numpy(self.filled[index].copy())


class RunningMean(Held):
    """Depends on what was read before."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.count = torch.zeros(4, dtype=torch.float64), 0

    def __getitem__(self, index: int) -> Any:
        self.count += 1
        self.mean = self.mean + (self.x[index] - self.mean) / self.count
        return self.x[index] - self.mean


class AugmentedInside(Held):
    """Its generator lies in an object in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.transforms = [Jitter()]

    def __getitem__(self, index: int) -> Any:
        return self.transforms[0](self.x[index])


class Jitter:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(2)

    def __call__(self, x: Any) -> Any:
        return x + self.rng.random()


class Seeded(Held):
    """Seeds within a sample, with a constant, the time or the index."""

    def __init__(self, seed: Callable[[int], int]) -> None:
        super().__init__()
        self.seed = seed

    def __getitem__(self, index: int) -> Any:
        np.random.seed(self.seed(index))
        return self.x[index] + np.random.random()


class DrawnOnce(Held):
    """Draws in its first reading alone."""

    made: Any = None

    def __getitem__(self, index: int) -> Any:
        if self.made is None:
            self.made = torch.nn.Linear(4, 4)
        return self.x[index] + self.made.bias.detach()


def told(dataset: Any, probe: Probe | None = None, known: Facts | None = None) -> Facts:
    return Facts(tuple(f for f in observed(dataset, probe or OwnCache(), known) if isinstance(f, Fact)))


def observed(dataset: Any, probe: Probe, known: Facts | None = None) -> list[Any]:
    source = Reference()
    source.dataset, source.iterable = dataset, False
    ref = SourceRef("x.py:make", ("/",))
    bench = Bench(source, ref, 0, None, lambda at: None, lambda text, share: None)
    bench.facts = known or bench.facts
    return [*probe.measure(bench)]


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (Decremented, ["Decremented.labels"]),
        (NormalisedWhereItIs, ["NormalisedWhereItIs.x"]),
        (InAList, ["InAList.rows"]),
        (lambda: Subset(Decremented(), range(N)), ["Decremented.labels"]),
        (Held, None),
        (Augmented, None),
        (FilledOnce, None),
    ],
    ids=["labels", "images", "a list", "in a subset", "plain", "random", "a cache"],
)
def test_what_reading_changes_is_named(made: Callable[[], Any], names: list[str] | None) -> None:
    """Our promise: stored values that a read changes are told with the attribute; random numbers and caches are not."""
    found = told(made()).find(REWRITTEN)
    assert (None if found is None else found.value["attributes"]) == names


@pytest.mark.parametrize(("made", "changed"), [(NormalisedWhereItIs, True), (Augmented, False), (RunningMean, False)])
def test_a_check_of_quality_tells_what_reading_changes(made: Callable[[], Any], changed: bool) -> None:
    """Seen: a dataset that normalised its images where it kept them passed, as samples that differ were taken for random ones."""
    found = told(made(), WorkerContent())
    assert (found.find(REWRITTEN) is not None) is changed
    assert found.find(DEPENDS) is None  # what draws random numbers may not be seen


def test_what_another_probe_told_is_not_told_again() -> None:
    """Seen: in an analysis, two probes measured it, and the clash of their facts was said to be unknown."""
    found = told(NormalisedWhereItIs())
    assert told(NormalisedWhereItIs(), WorkerContent(), found).find(REWRITTEN) is None


class Raising(Held):
    def __getitem__(self, index: int) -> Any:
        raise ValueError("no such sample")


class Opaque(Held):
    """Hands out what nothing is known of."""

    def __init__(self) -> None:
        super().__init__()
        self.same = object()

    def __getitem__(self, index: int) -> Any:
        return {"mark": self.same, "x": self.x[index]}


def test_why_workers_were_not_compared() -> None:
    """Seen: errors were told as lack of time, and an object of unknown content as random samples."""
    [why] = [o.why for o in observed(Raising(), WorkerContent()) if isinstance(o, Unknown)]
    assert why.startswith("reading samples again raised errors in 64 samples")
    assert told(Opaque(), WorkerContent()).value(CONTENT)["differ"] == 0


@pytest.mark.parametrize(
    ("made", "depends"), [(RunningMean, True), (Augmented, False), (AugmentedInside, False), (Held, False), (Decremented, False)]
)  # fmt: skip
def test_samples_that_depend_on_what_was_read_before(made: Callable[[], Any], depends: bool) -> None:
    """Our promise: random numbers are seen where they are drawn; without them a change is one of state."""
    assert (told(made()).find(DEPENDS) is not None) is depends


@pytest.mark.journey
@pytest.mark.parametrize(
    ("made", "by_time"),
    [
        (lambda: Seeded(lambda i: 7), False),
        (lambda: Seeded(lambda i: int(time.time())), True),
        (lambda: Seeded(lambda i: i), None),
        (DrawnOnce, None),
        (Augmented, None),
        (Held, None),
    ],
    ids=["a constant", "the time", "the index", "drawn once", "random", "plain"],
)
def test_samples_that_seed_a_generator(made: Callable[[], Any], by_time: bool | None) -> None:
    """Our promise: a seed that is the same for every sample is told; one from the index, which is meant, is not."""
    found = told(made()).find(RESEEDED)
    assert (None if found is None else (found.value["generators"], found.value["by_time"])) == (
        None if by_time is None else (["numpy.random"], by_time)
    )
    codes = [f.code for f in reseeded(told(made()))]
    assert codes == {None: [], True: ["rng-duplicated"], False: ["rng-constant-seed"]}[by_time]


def test_it_is_an_error_that_names_the_attribute() -> None:
    """Our promise: what is wrong, where, and how to mend it; not told as random numbers as well."""
    from dataloader_expert.advice.worker_semantics import twins

    facts = told(Decremented())
    (finding,) = judged(facts)
    assert (finding.code, finding.severity) == ("sample-modified", "error")
    assert "`Decremented.labels` is modified in place" in finding.message and "clone()" in finding.fix
    seen = {
        "random": True,
        "same_in_both": True,
        "same_next_epoch": True,
        "same_again": True,
        "own_init": False,
        "by_worker": False,
    }
    twin = Fact(TWINS, seen, evidence("counted", "a test", seen=1))
    assert [f.code for f in twins(Facts((twin,)))] == ["rng-duplicated"]
    assert not list(twins(Facts((*facts, twin))))


class Stored:
    def __init__(self) -> None:
        self.items = (i for i in range(9))

    def __iter__(self) -> Any:
        return self.items


class ItsOwn:
    """Starts anew in ``__iter__``."""

    def __iter__(self) -> Any:
        self.at = 0
        return self

    def __next__(self) -> int:
        self.at += 1
        if self.at > 3:
            raise StopIteration
        return self.at


@pytest.mark.parametrize(
    ("stream", "once"), [(Stored(), True), (ItsOwn(), False), ([1, 2], False)], ids=["kept", "itself", "anew"]
)
def test_a_stream_that_can_be_read_once(stream: Any, once: bool) -> None:
    """Our promise: an iterator made in __init__ is found without reading from it."""
    assert read_once(stream) is once
    assert next(iter(stream)) in (0, 1)

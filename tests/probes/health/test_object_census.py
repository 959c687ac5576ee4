"""The attribute that holds a dataset's Python objects, by walking real ones."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from torch.utils.data import ConcatDataset, Dataset, Subset

from dataloader_expert.probes.health.object_census import Held, census
from dataloader_expert.sources.held import attributes

N = 40_000
Pair = namedtuple("Pair", "path number")
POOL = tuple(f"class {i}" for i in range(40))


class Listed(Dataset[Any]):
    """Holds what it is given."""

    def __init__(self, samples: Any) -> None:
        self.root = "/data"
        self.samples = samples

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return self.samples[index]


class Record:
    """One of many objects, with a slot that is never filled."""

    __slots__ = ("missing", "number", "path")

    def __init__(self, number: int) -> None:
        self.path, self.number = f"/data/{number}", number + 1e-3


class Hostile(list[Any]):
    """A container and an object whose every method and property raises: nothing of a user's may be called."""

    def refuse(self, *_: Any) -> Any:
        raise AssertionError("the user's code was run")

    __len__ = __iter__ = __getitem__ = __sizeof__ = __eq__ = __hash__ = __bool__ = __getattr__ = refuse  # type: ignore[assignment]  # that is the point


class Guarded:
    """An object with a property in the place of each attribute."""

    def __init__(self) -> None:
        object.__getattribute__(self, "__dict__")["real"] = ["text"]

    @property
    def samples(self) -> Any:
        raise AssertionError("the user's code was run")

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("the user's code was run")


def held(dataset: Any) -> Held:
    found = census(dataset, 0, seconds=60)
    assert found is not None
    return found


MADE: Mapping[str, tuple[Callable[[], Any], int]] = MappingProxyType(
    {  # no list or dict of this module may be larger
        # what samples is, and how many objects that are its own it holds
        "texts": (lambda: [f"/data/{i}" for i in range(N)], 1 + N),
        "tuples with a class of a few": (lambda: [(f"/data/{i}", POOL[i % 40], i) for i in range(N)], 1 + 3 * N + 40),
        "named tuples": (lambda: [Pair(f"/data/{i}", i) for i in range(N)], 1 + 3 * N),
        "records": (lambda: [{"path": f"/data/{i}", "place": [i, i + 0.5]} for i in range(N)], 1 + 5 * N),
        "objects": (lambda: [Record(i) for i in range(N)], 1 + 3 * N),
        "a dict of lists": (lambda: {f"a {i}": [f"{i} {j}" for j in range(3)] for i in range(N)}, 1 + 5 * N),
        "a set": (lambda: {f"/data/{i}" for i in range(N)}, 1 + N),
        "lists of many": (lambda: [[f"{i} {j}" for j in range(40)] for i in range(N // 40)], 1 + N // 40 + N),
        "an array of objects": (lambda: np.array([f"/data/{i}" for i in range(N)], dtype=object), 1 + N),
        "few texts many times": (lambda: POOL * (N // 40), 1 + 40),
        "an array of numbers": (lambda: np.arange(N), 1),
    }
)


@pytest.mark.parametrize("made", MADE)
def test_a_sample_tells_how_many_objects_an_attribute_holds(made: str) -> None:
    """Our promise: within a tenth, whatever they lie in, and each object once."""
    make, number = MADE[made]
    found = held(Listed(make()))
    assert found.objects == pytest.approx(number, rel=0.1)
    assert (found.attribute, found.owner) == ("samples", "Listed") if number > 1 else ("root", "Listed")


def test_what_is_small_is_counted() -> None:
    """Our promise: all of it is looked at, and every byte is as the interpreter says."""
    texts = [f"/data/{i}" for i in range(10)]
    size = texts.__sizeof__() + sum(t.__sizeof__() for t in texts)
    found = held(Listed(texts))
    assert (found.objects, found.whole) == (11, True)
    assert size <= found.bytes <= size + 16  # with the collector's own header


def test_bytes_are_those_of_all_objects() -> None:
    """Our promise: the size is extrapolated like the number."""
    texts = [f"/data/{i:08}" for i in range(N)]
    found = held(Listed(texts))
    assert found.bytes == pytest.approx(texts.__sizeof__() + sum(t.__sizeof__() for t in texts), rel=0.02)
    assert not found.whole


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param(lambda d: Subset(d, [0, 1]), id="a Subset"),
        pytest.param(lambda d: ConcatDataset([Listed([1]), Subset(d, [0])]), id="a part of a ConcatDataset"),
    ],
)
def test_wrappers_are_followed_to_the_dataset_that_holds_the_objects(wrapped: Any) -> None:
    """Our promise: the attribute is named that the user has to change."""
    found = held(wrapped(Listed([f"/data/{i}" for i in range(N)])))
    assert (found.attribute, found.owner) == ("samples", "Listed")


def test_lists_in_the_module_of_a_class_are_held_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that is read once, where the module is imported."""
    # only while this test runs: the others look at this module too
    monkeypatch.setitem(globals(), "INDEX", [f"/data/{i}.png" for i in range(50_000)])
    found = census(Subset(Listed(np.zeros(4)), [0, 1]), 0)
    assert found is not None
    assert (found.attribute, found.owner) == ("INDEX", f"module {__name__}")
    assert found.objects == pytest.approx(50_000, rel=0.02)


def test_indices_of_a_subset_are_objects_too() -> None:
    """Our promise: the wrapper is named where it is the one that holds them."""
    found = held(Subset(Listed([1]), [i + 1000 for i in range(N)]))
    assert (found.attribute, found.owner) == ("indices", "Subset")


def test_what_refers_back_is_counted_once() -> None:
    """Our promise: a circle ends."""
    samples: list[Any] = []
    samples += [{"all": samples, "path": f"/data/{i}"} for i in range(N)]
    assert held(Listed(samples)).objects == pytest.approx(2 * N, rel=0.1)


def test_nothing_of_the_users_is_called() -> None:
    """Our promise: neither a property nor a container's own methods run."""
    assert held(Listed([Hostile(["a", "b"]), Guarded()])).objects >= 1
    assert set(attributes(Guarded())) == {"real"}


def test_it_ends_where_there_is_no_time() -> None:
    """Our promise: what was looked at by then is told as a part."""
    found = census(Listed([f"/data/{i}" for i in range(N)]), 0, seconds=0)
    assert found is None or not found.whole

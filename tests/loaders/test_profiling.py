"""What is counted and timed of a loader: real batches, each once; nothing here says how long anything takes."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from itertools import count
from typing import Any, ClassVar

import pytest
import torch
from torch.utils.data import TensorDataset

from dataloader_expert.loaders import profile_dataloader
from tests.loaders.material import Numbers, Stream, made

Pair = namedtuple("Pair", "x y")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is one second behind the last."""
    seconds = count(100.0)
    monkeypatch.setattr("dataloader_expert.loaders.trainers.profiling.time.perf_counter", lambda: next(seconds))


def test_as_many_batches_are_timed_as_asked(clock: None) -> None:
    """The first counts as the start, the others as the rate."""
    profile = profile_dataloader(made(Numbers(100), batch_size=8, shuffle=False), 5)
    assert (profile.batches, profile.samples, profile.startup_ms, profile.fetch_ms) == (5, 40, 1000, 1000)
    assert (profile.samples_per_s, profile.batches_per_s) == (4, 0.5)
    assert profile.device is None or torch.cuda.is_available()


def test_a_shorter_loader_is_timed_whole(clock: None) -> None:
    """Also one of a single batch, and a stream."""
    for loader, batches, samples in (
        (made(Numbers(10), batch_size=8), 2, 10),
        (made(Numbers(3), batch_size=8), 1, 3),
        (made(Stream(5), batch_size=2, shuffle=False), 3, 5),
    ):
        profile = profile_dataloader(loader)
        assert (profile.batches, profile.samples) == (batches, samples)
        assert profile.samples_per_s > 0


def test_only_what_is_asked_is_drawn() -> None:
    """An endless loader is no trouble."""
    drawn: list[int] = []

    def endless() -> Iterator[Any]:
        for i in count():
            drawn.append(i)
            yield torch.zeros(2)

    assert profile_dataloader(endless(), 3).batches == 3 == len(drawn)


def test_batches_are_copied_where_asked(clock: None) -> None:
    """The way to a device is timed apart from the fetch."""
    loader = made(TensorDataset(torch.arange(8)), batch_size=4)
    profile = profile_dataloader(loader, device="cpu")
    assert (profile.device, profile.transfer_ms) == ("cpu", 1000)
    assert "2 batches (8 samples): 1000.000 ms to fetch each, 1000.000 ms to cpu; 2.0 samples/s, 0.5 batches/s" in str(
        profile
    )


class Told(torch.Tensor):
    """A tensor that notes where it is copied to."""

    to_where: ClassVar[list[str]] = []

    def to(self, *where: Any, **keywords: Any) -> Any:
        Told.to_where.append(str(where[0]))
        return super().to(*where, **keywords)


def test_every_tensor_of_a_batch_is_copied() -> None:
    """However deep it lies; what is no tensor is passed over."""
    Told.to_where.clear()
    one, other = torch.ones(1).as_subclass(Told), torch.ones(1).as_subclass(Told)
    profile_dataloader([{"a": [one, ("x", other)], "n": 3}], 1, device="meta")
    assert Told.to_where == ["meta", "meta"]


@pytest.mark.parametrize(
    ("batch", "due"),
    [
        (torch.zeros(4, 2), 4),
        (torch.tensor(3.0), 1),
        ({"x": torch.zeros(5), "y": [1]}, 5),
        ({"names": ["a", "b"]}, 2),
        ({"epoch": 3, "x": torch.zeros(5)}, 5),
        ({"task": "lm", "nested": {"x": torch.zeros(6)}}, 6),
        ([torch.zeros(7), torch.zeros(7)], 7),
        ([["a", "b"], torch.zeros(2)], 2),
        (Pair(torch.zeros(3), 1), 3),
        ([{"x": torch.zeros(2)}], 2),
        (["a", "b", "c"], 3),
        ({}, 0),
        ("word", 1),
    ],
    ids=str,
)
def test_samples_are_those_of_the_first_tensor(batch: Any, due: int) -> None:
    """Else of the first list."""
    assert profile_dataloader([batch], 1).samples == due


def test_what_cannot_be_timed_is_said() -> None:
    """No batches, or none asked for."""
    with pytest.raises(ValueError, match="num_batches is 0; it must be at least 1"):
        profile_dataloader([], 0)
    with pytest.raises(ValueError, match="the loader gave no batch: its dataset is empty"):
        profile_dataloader(made(Numbers(0)))

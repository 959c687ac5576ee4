"""Random states: of a process, of its workers, and of each sample alone."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Dataset

from dataloader_expert.loaders import (
    DataLoaderConfig,
    DataLoaderFactory,
    create_seeded_generator,
    seed_worker,
    set_random_seed,
)
from dataloader_expert.loaders.seeding import SeededSamples, mixed
from tests.loaders.material import Noisy, Numbers


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    """Everything that a seed sets is put back."""
    backends: Any = torch.backends.cudnn
    flags = backends.deterministic, backends.benchmark, torch.are_deterministic_algorithms_enabled()
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    workspace = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    yield
    backends.deterministic, backends.benchmark = flags[:2]
    torch.use_deterministic_algorithms(flags[2])
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
    if workspace is not None:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = workspace


DRAWS: dict[str, Callable[[], object]] = {
    "random": random.random,
    "numpy": lambda: np.random.rand(3).tolist(),
    "torch": lambda: torch.randn(3).tolist(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_and_another_differs(name: str) -> None:
    """Of each of the three states."""
    drawn = []
    for seed in (42, 42, 123):
        set_random_seed(seed)
        drawn.append(DRAWS[name]())
    assert drawn[0] == drawn[1] != drawn[2]


def test_it_is_deterministic_where_asked_and_only_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A former call's settings are undone, those of others stay; the terminal says which mode it is."""
    backends: Any = torch.backends.cudnn
    for benchmark in (True, False):
        backends.benchmark = benchmark
        set_random_seed(1)
        assert backends.benchmark is benchmark
    capsys.readouterr()
    set_random_seed(1, deterministic=True)
    set_random_seed(1, deterministic=True)
    assert torch.are_deterministic_algorithms_enabled() and backends.deterministic and not backends.benchmark
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    said = capsys.readouterr().out
    assert "Random seed set to 1\n" in said and "deterministic mode enabled" in said
    set_random_seed(2)
    assert not torch.are_deterministic_algorithms_enabled() and not backends.deterministic and not backends.benchmark
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    assert "Fast mode" in capsys.readouterr().out


def test_a_seed_is_one_that_numpy_takes() -> None:
    """From 0 to 2^32 - 1; others are refused before anything is set."""
    for seed in (0, 2**31, 2**32 - 1):
        set_random_seed(seed)
    before = random.getstate()
    for seed in (-1, 2**32):
        with pytest.raises(ValueError, match=rf"seed is {seed}; it must be in \[0, 2\*\*32\)"):
            set_random_seed(seed)
    assert random.getstate() == before


def test_a_worker_is_seeded_by_torchs_seed() -> None:
    """Of which numpy takes the lower 32 bits."""
    torch.manual_seed(2**40 + 17)
    seed_worker(3)
    got = np.random.rand(), random.random()
    np.random.seed(17)
    random.seed(17)
    assert got == (np.random.rand(), random.random())
    assert create_seeded_generator(123).initial_seed() == 123


@given(st.lists(st.integers(0, 2**64), min_size=1, max_size=4))
def test_mixing_gives_a_seed(parts: list[int]) -> None:
    """In [0, 2^63), the same for the same parts, another where one part is another."""
    assert 0 <= mixed(*parts) < 2**63 and mixed(*parts) == mixed(*parts)
    assert mixed(*parts) != mixed(*parts, 0) and mixed(*parts) != mixed(parts[0] + 1, *parts[1:])


def test_mixed_numbers_look_random() -> None:
    """Neighbours in any part give others, bits are set half the time, and no two of many are equal."""
    values = [mixed(s, e, i) for s in range(10) for e in range(10) for i in range(100)]
    assert len(set(values)) == len(values)
    shares = [sum(v >> bit & 1 for v in values) / len(values) for bit in range(63)]
    assert min(shares) > 0.47 and max(shares) < 0.53


def test_each_sample_has_a_state_of_its_own() -> None:
    """By index, by slice of a batch, again and again; other epochs and seeds draw others."""
    seeded = SeededSamples(Noisy(6), 3)
    rows = [seeded[i] for i in range(6)]
    assert all(torch.equal(a, b) for a, b in zip(rows, seeded.__getitems__([0, 1, 2, 3, 4, 5]), strict=True))
    assert torch.equal(seeded.__getitems__([4])[0], rows[4]) and len({float(r[1]) for r in rows}) == 6
    assert torch.equal(rows[2], SeededSamples(Noisy(6), 3)[2])
    assert not torch.equal(rows[2], SeededSamples(Noisy(6), 4)[2])
    seeded.set_epoch(1)
    assert seeded.epoch == 1 and not torch.equal(rows[2], seeded[2])
    assert torch.equal(SeededSamples(Noisy(6), 2**63)[1], SeededSamples(Noisy(6), 2**63)[1])


def test_states_are_put_back_even_after_an_error() -> None:
    """A sample that cannot be read leaves no trace."""
    before = random.getstate(), torch.get_rng_state()
    with pytest.raises(IndexError):
        SeededSamples(Numbers(2), 0)[5]
    assert random.getstate() == before[0] and torch.equal(torch.get_rng_state(), before[1])


def test_it_hides_nothing_of_its_dataset() -> None:
    """Length and attributes are the dataset's."""
    seeded = SeededSamples(Numbers(4), 0)
    assert len(seeded) == 4 and seeded.n == 4
    with pytest.raises(AttributeError):
        seeded.nothing  # noqa: B018  # asked for
    with pytest.raises(AttributeError):
        object.__new__(SeededSamples).dataset  # noqa: B018  # as while it is unpickled


class Hidden(Dataset[float]):
    """Draws through a library, where no name in its code tells."""

    def __init__(self, first: int = 0) -> None:
        self.first, self.reads = first, 0

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> float:
        self.reads += 1
        if index < self.first:
            return 0.0
        return float(torch.distributions.Beta(0.5, 0.5).sample())


def drawn(workers: int, state: int, **config: Any) -> list[float]:
    torch.manual_seed(state)
    loader = DataLoaderFactory().create_dataloader(
        Hidden(), DataLoaderConfig(batch_size=4, shuffle=False, num_workers=workers, **config)
    )
    return [value for batch in loader for value in batch.tolist()]


def test_random_choices_that_no_name_tells_are_seeded_too() -> None:
    """Seen: mixup by ``torch.distributions.Beta`` differed by the number of workers and by the global seed, in silence."""
    one = drawn(0, 1)
    assert one == drawn(0, 2) == drawn(2, 1) and len(set(one)) == len(one)
    assert drawn(0, 1, seed_samples=False) != drawn(0, 2, seed_samples=False)


def test_reads_that_draw_nothing_are_read_once_and_change_no_state() -> None:
    dataset = Hidden(first=40)
    loader = DataLoaderFactory().create_dataloader(dataset, DataLoaderConfig(batch_size=4, num_workers=0))
    torch.manual_seed(3)
    before = torch.get_rng_state()
    assert sum(len(batch) for batch in loader) == dataset.reads == 40
    assert torch.equal(before, torch.get_rng_state())


def test_a_first_draw_that_comes_late_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Of the batches between those that are looked at, nothing is known."""
    loader = DataLoaderFactory().create_dataloader(
        Hidden(30), DataLoaderConfig(batch_size=1, shuffle=False, num_workers=0)
    )
    list(loader)
    assert "for the first time in its batch 33" in caplog.text and "seed_samples=True" in caplog.text

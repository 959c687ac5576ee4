"""Random states: of workers, of shuffling, of a whole process, and of each sample alone."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset


def seed_worker(worker_id: int) -> None:
    """Seeds numpy and ``random`` of a DataLoader worker from torch's seed; for ``worker_init_fn``.

    Args:
        worker_id: of torch's protocol; torch's own seed already differs by worker and pass.
    """
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def create_seeded_generator(seed: int) -> torch.Generator:
    """A generator on the CPU, seeded; for the ``generator`` of a DataLoader or of ``random_split``."""
    return torch.Generator().manual_seed(seed)


def set_random_seed(seed: int, deterministic: bool = False) -> None:
    """Seeds ``random``, numpy and torch with all its devices, and says so on the terminal.

    Args:
        seed: in [0, 2^32).
        deterministic: also makes cuDNN, cuBLAS and torch's kernels deterministic; slower, and an operation that has
            no such kernel raises. Without it a former call's settings are undone, and cuDNN looks for fast kernels.

    Raises:
        ValueError: if ``seed`` is not in [0, 2^32).
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}; numpy takes seeds in [0, 2**32)")
    _given.append(seed)
    del _given[:-1]
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)  # of every device too
    torch.backends.cudnn.deterministic = deterministic
    torch.backends.cudnn.benchmark = not deterministic
    if deterministic:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # read when cuBLAS is first used
    else:
        os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
    torch.use_deterministic_algorithms(deterministic)
    said = (
        "Fully deterministic mode enabled: slower, and what has no deterministic kernel raises"
        if deterministic
        else "Fast mode: some kernels of the GPU are non-deterministic; pass deterministic=True to rule them out"
    )
    print(f"Random seed set to {seed}\n{said}")  # noqa: T201  # it says so on the terminal: what it is known by


_given = [0]


def last_seed() -> int:
    """What :func:`set_random_seed` was last given, in the process that a forked worker comes from too; else 0."""
    return _given[-1]


class SeededSamples(Dataset[Any]):
    """A dataset whose random choices follow from seed, epoch and index alone: whoever reads a sample, and whenever.

    Around each read, the global states of ``random``, numpy and torch are set from these three and put back, so that
    neither the number of workers or ranks nor a resumed epoch changes an augmentation.

    Args:
        dataset: map-style.
        seed: at least 0.
    """

    def __init__(self, dataset: Any, seed: int) -> None:
        self.dataset, self.seed = dataset, seed
        self._epoch = torch.zeros((), dtype=torch.int64)
        self._epoch.share_memory_()  # type: ignore[no-untyped-call]  # workers that persist see it move

    @property
    def epoch(self) -> int:
        """The epoch that samples are drawn for."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Samples are drawn for ``epoch`` from now on, in workers too."""
        self._epoch.fill_(epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dataset":
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitem__(self, index: int) -> Any:
        with _kept_states():
            return self._read(index, self.epoch, alone=True)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        epoch = self.epoch
        with _kept_states():
            return [self._read(index, epoch) for index in indices]

    def _read(self, index: int, epoch: int, alone: bool = False) -> Any:
        set_states(mixed(self.seed, epoch, _number(index)))
        whole = getattr(self.dataset, "__getitems__", None)  # what it reads by the batch, it may not have alone
        return self.dataset[index] if whole is None or alone else whole([index])[0]


def _number(index: Any) -> int:
    """An index as a number; of a key of another kind, from what it prints as."""
    try:
        return int(index)
    except (TypeError, ValueError):
        return zlib.crc32(repr(index).encode())


def kept_states() -> tuple[Any, Any, Any]:
    """The global random states of ``random``, numpy and torch; for :func:`put_back`."""
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def put_back(states: tuple[Any, Any, Any]) -> None:
    """Sets the states that :func:`kept_states` gave."""
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])


def set_states(seed: int) -> None:
    """Seeds the global states of ``random``, numpy and torch (on the CPU)."""
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)
    torch.default_generator.manual_seed(seed)


@contextmanager
def _kept_states() -> Iterator[None]:
    kept = kept_states()
    try:
        yield
    finally:
        put_back(kept)


def mixed(*parts: int) -> int:
    """A number in [0, 2^63) that follows from ``parts`` and looks random (SplitMix64: Steele, Lea, Flood 2014)."""
    state = 0
    for part in parts:
        state = (state + part + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 31
    return state >> 1

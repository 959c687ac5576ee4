"""Random states: of workers, of shuffling, of a whole process, and of each sample alone."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.utils.data import Dataset, get_worker_info

from dataloader_expert.samplers.draws import Draw

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


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
            no such kernel raises. Without it nothing but seeds is set, and the settings are again what they were before
            a former call changed them.

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
    if deterministic and not _before:
        _before.append(_settings())
    if deterministic:
        _set((True, False, True, False, ":4096:8"))
    elif _before:
        _set(_before.pop())
    said = (
        "Fully deterministic mode enabled: slower, and what has no deterministic kernel raises"
        if deterministic
        else "Fast mode: some kernels of the GPU are non-deterministic; pass deterministic=True to rule them out"
    )
    print(f"Random seed set to {seed}\n{said}")  # noqa: T201  # it says so on the terminal: what it is known by


Settings: TypeAlias = tuple[bool, bool, bool, bool, str | None]
_before: list[Settings] = []


def _settings() -> Settings:
    cudnn: Any = torch.backends.cudnn
    algorithms = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    return cudnn.deterministic, cudnn.benchmark, *algorithms, os.environ.get(WORKSPACE)


def _set(settings: Settings) -> None:
    cudnn: Any = torch.backends.cudnn
    cudnn.deterministic, cudnn.benchmark, algorithms, warn_only, workspace = settings
    torch.use_deterministic_algorithms(algorithms, warn_only=warn_only)
    os.environ.pop(WORKSPACE, None)
    if workspace is not None:
        os.environ[WORKSPACE] = workspace  # read when cuBLAS is first used


_given = [0]


def last_seed() -> int:
    """What :func:`set_random_seed` was last given, in the process that a forked worker comes from too; else 0."""
    return _given[-1]


class NothingReadable(RuntimeError):
    """A batch of which every sample is left out, because it cannot be read."""

    def __init__(self, indices: Sequence[Any]) -> None:
        shown = ", ".join(map(str, indices[:8]))
        super().__init__(f"none of the {len(indices)} samples of a batch can be read: {shown}")


class SeededSamples(Dataset[Any]):
    """A dataset whose random choices depend on seed, epoch and draw only, not on which worker reads a sample, or when.

    Around each read, the global states of ``random``, numpy and torch are set from these three and put back, so that
    neither the number of workers or ranks nor a resumed epoch changes an augmentation. Where an index comes several
    times in an epoch, as of weighted draws, its place in the order counts too
    (:class:`~dataloader_expert.samplers.draws.Draw`): each draw gets an augmentation of its own.

    Args:
        dataset: map-style.
        seed: at least 0.

    Attributes:
        expects_draws: a loader is expected to name draws. If a trainer replaced its sampler, a counter of this process
            and the worker's seed are used instead.
    """

    def __init__(self, dataset: Any, seed: int) -> None:
        self.dataset, self.seed = dataset, seed
        self._epoch = shared(0)
        self.expects_draws, self._read_before = False, 0

    @property
    def epoch(self) -> int:
        """The epoch that samples are drawn for, where their indices name none."""
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

    def __getitem__(self, index: Any) -> Any:
        with states_kept():
            return self._read(index, _named(index, self.epoch), alone=True)[0]

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        epoch = self.epoch
        with states_kept():
            kept = [
                sample for index in indices for sample in self._read(index, _named(index, epoch) + self._unnamed(index))
            ]
        if len(indices) and not kept:
            raise NothingReadable(indices)
        return kept

    def _unnamed(self, index: Any) -> tuple[int, ...]:
        if not self.expects_draws or isinstance(index, Draw):
            return ()
        info, self._read_before = get_worker_info(), self._read_before + 1
        return (0 if info is None else info.seed - info.id, self._read_before)

    def _read(self, index: Any, draw: tuple[int, ...], alone: bool = False) -> Any:
        """The sample in a list; nothing in it where the dataset leaves out what it cannot read."""
        index = int(index) if isinstance(index, Draw) else index
        set_states(mixed(self.seed, draw[0], _number(index), *draw[1:]))
        whole = getattr(self.dataset, "__getitems__", None)  # what it reads by the batch, it may not have alone
        if whole is None or alone:
            return [self.dataset[index]]
        try:
            return whole([index])
        except NothingReadable:
            return []


def _named(index: Any, epoch: int) -> tuple[int, ...]:
    """The epoch of a draw, and its place where it has one."""
    if not isinstance(index, Draw):
        return (epoch,)
    return (index.epoch, index.place) if index.place else (index.epoch,)


def shared(values: int | list[int]) -> torch.Tensor:
    """An int64, or a row of them, that worker processes see change."""
    made = torch.tensor(values, dtype=torch.int64)
    made.share_memory_()  # type: ignore[no-untyped-call]  # torch's own
    return made


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
def states_kept() -> Iterator[None]:
    """Puts the global random states back at the end."""
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

"""Random states of workers, of a whole process, and of each sample."""

from __future__ import annotations

import logging
import os
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.utils.data import Dataset, get_worker_info

from dataloader_expert.samplers.base import Draw

logger = logging.getLogger(__name__)

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
WATCHED = 16
"""Batches of a process that are looked at for random choices, and of those after them one in so many."""


def seed_worker(worker_id: int) -> None:
    """Seeds numpy and ``random`` from torch's seed, which differs by worker and pass; for ``worker_init_fn``."""
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def create_seeded_generator(seed: int) -> torch.Generator:
    """A seeded generator on the CPU, for a DataLoader or ``random_split``."""
    return torch.Generator().manual_seed(seed)


def set_random_seed(seed: int, deterministic: bool = False) -> None:
    """Seeds ``random``, numpy and torch on all devices, and prints the seed: in [0, 2^32), else a ``ValueError``.

    With ``deterministic``, cuDNN, cuBLAS and torch use deterministic kernels; they are slower, and operations without one
    raise. Without, the settings from before an earlier call changed them are restored.
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}; it must be in [0, 2**32), as numpy takes it")
    _given[:] = [seed]
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)  # of every device too
    said = "Fast mode: some kernels of the GPU are non-deterministic; pass deterministic=True to rule them out"
    if deterministic:
        said = "Fully deterministic mode enabled: slower, and what has no deterministic kernel raises"
        _before[:] = _before or [_settings()]
        _set((True, False, True, False, ":4096:8"))
    elif _before:
        _set(_before.pop())
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
    """The last seed given to :func:`set_random_seed`, before a fork too; else 0."""
    return _given[-1]


class NothingReadable(RuntimeError):
    """No sample of a batch can be read."""

    def __init__(self, indices: Sequence[Any] | str) -> None:
        if isinstance(indices, str):  # torch makes it again from the text that a worker sent
            super().__init__(indices)
            return
        shown = ", ".join(map(str, indices[:8]))
        super().__init__(f"none of the {len(indices)} samples of a batch can be read: {shown}; check_quality says why")


class FollowsEpoch:
    """A dataset around ``dataset``, whose other attributes it has; workers see its epoch change."""

    def __init__(self, dataset: Any, seed: int, epoch: int = 0) -> None:
        self.dataset, self.seed, self._epoch = dataset, seed, shared(epoch)

    @property
    def epoch(self) -> int:
        """The epoch of the next pass."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """The next pass is of ``epoch``, in workers too."""
        self._epoch.fill_(epoch)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dataset":
            raise AttributeError(name)
        return getattr(self.dataset, name)


class SeededSamples(FollowsEpoch, Dataset[Any]):
    """A map-style dataset whose random choices depend on seed, epoch and draw only, not on workers, ranks or resuming.

    Around each read, the global states of ``random``, numpy and torch are set from these three and put back. A loader
    that names draws (:class:`~dataloader_expert.samplers.base.Draw`) sets ``expects_draws``: for indices without one,
    because a trainer replaced its sampler, a counter of this process and the worker's seed are used instead.

    With ``watched``, states are not set until a read moves them: the first ``WATCHED`` batches of each process and every
    ``WATCHED``-th later one are looked at, and a batch that moved them is read again.
    """

    def __init__(self, dataset: Any, seed: int, watched: bool = False) -> None:
        super().__init__(dataset, seed)
        self.expects_draws, self._read_before = False, 0
        self._draws, self._unseeded = shared(int(not watched)), 0

    @property
    def watched(self) -> bool:
        """Whether no random choice has been seen, so that states are not set."""
        return not self._draws

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if not self._draws:
            return self._watched(lambda: self.dataset[_plain(index)], lambda: self[index])
        with states_kept():
            return self._read(index, self.epoch, alone=True)[0]

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        if not self._draws:
            plain = [_plain(index) for index in indices] if self.expects_draws else indices
            whole = getattr(self.dataset, "__getitems__", None)
            reads = (lambda: whole(plain)) if whole is not None else (lambda: [self.dataset[index] for index in plain])
            samples: list[Any] = self._watched(reads, lambda: self.__getitems__(indices))
            return samples
        epoch = self.epoch  # which may change meanwhile
        with states_kept():
            kept = [sample for index in indices for sample in self._read(index, epoch)]
        if len(indices) and not kept:
            raise NothingReadable(indices)
        return kept

    def _watched(self, read: Callable[[], Any], seeded: Callable[[], Any]) -> Any:
        """What ``read`` gives, or ``seeded`` if it moves the global random states."""
        before, self._unseeded = self._unseeded, self._unseeded + 1
        if before >= WATCHED and before % WATCHED:
            return read()
        kept = kept_states()
        samples = read()
        if same_states(kept, kept_states()):
            return samples
        self._draws.fill_(1)
        put_back(kept)
        if before > WATCHED:
            text = (
                "%s drew random numbers for the first time in its batch %d of this process: what it drew before, if anything, depends on "
                "workers. Pass seed_samples=True to DataLoaderFactory, which seeds every sample"
            )
            logger.warning(text, type(self.dataset).__name__, before + 1)
        return seeded()

    def _draw(self, index: Any, epoch: int, alone: bool) -> tuple[int, ...]:
        """The epoch of a draw, and its place if it has one; a counter stands in for an expected one."""
        if isinstance(index, Draw):
            return (index.epoch, index.place) if index.place else (index.epoch,)
        if alone or not self.expects_draws:
            return (epoch,)
        info, self._read_before = get_worker_info(), self._read_before + 1
        return (epoch, 0 if info is None else info.seed - info.id, self._read_before)

    def _read(self, index: Any, epoch: int, alone: bool = False) -> Any:
        """The sample in a list, which is empty if the dataset skips a sample that it cannot read."""
        epoch, *more = self._draw(index, epoch, alone)
        index = _plain(index)
        try:
            number = int(index)
        except (TypeError, ValueError):  # another kind of key
            number = zlib.crc32(repr(index).encode())
        set_states(mixed(self.seed, epoch, number, *more))
        whole = getattr(self.dataset, "__getitems__", None)  # what it reads by the batch, it may not have alone
        if whole is None or alone:
            return [self.dataset[index]]
        try:
            return whole([index])
        except NothingReadable:
            return []


def _plain(index: Any) -> Any:
    """An index without the draw that it is of."""
    return int(index) if isinstance(index, Draw) else index


def shared(values: int | list[int]) -> torch.Tensor:
    """An int64 scalar or vector in shared memory, which worker processes see change."""
    made = torch.tensor(values, dtype=torch.int64)
    made.share_memory_()  # type: ignore[no-untyped-call]  # torch's own
    return made


def kept_states() -> tuple[Any, Any, Any]:
    """The global random states of ``random``, numpy and torch; for :func:`put_back`."""
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def same_states(one: tuple[Any, Any, Any], two: tuple[Any, Any, Any]) -> bool:
    """Whether two of :func:`kept_states` are the same."""
    (_, a, *more), (_, b, *others) = one[1], two[1]
    return one[0] == two[0] and more == others and bool((a == b).all()) and torch.equal(one[2], two[2])


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
    """Restores the global random states at the end."""
    kept = kept_states()
    try:
        yield
    finally:
        put_back(kept)


def mixed(*parts: int) -> int:
    """A pseudo-random number in [0, 2^63) from ``parts`` (SplitMix64: Steele, Lea, Flood 2014)."""
    state = 0
    for part in parts:
        state = (state + part + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 31
    return state >> 1

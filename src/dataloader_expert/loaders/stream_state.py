"""What the processes of a loader must agree on about a stream: its epoch and ranks."""

from __future__ import annotations

import itertools
import os
from typing import Any

from torch.utils.data import get_worker_info

from dataloader_expert.loaders.seeding import mixed, shared
from dataloader_expert.samplers.ranks import accelerate_shards, process_group, share_asked

SLOTS = 64
"""Notes on passes; workers beyond this number share them, and write the same."""
KEY_BITS = 42
"""Bits of a note for its key, the others are its epoch: one number is never read half written."""

_passes = itertools.count()


class StreamEpoch:
    """The epoch of a stream, which each pass advances, though its workers start one by one and share no lock.

    Each worker notes the epoch that it began, with a key that the workers of a pass have in common. A worker that finds
    the key takes that note's epoch, else the one after the latest. If it finds its own note, another loader with the
    same seed has begun a pass.
    """

    def __init__(self, epoch: int = 0) -> None:
        self._first = shared([epoch, *[0] * SLOTS])
        self._seen: tuple[int, int] = (-1, 0)

    @property
    def value(self) -> int:
        """The epoch of the latest pass; before the first, that of the next."""
        return max([int(self._first[0]), *(note >> KEY_BITS for note in self._notes())])

    def set(self, epoch: int) -> None:
        """The next pass is of ``epoch``."""
        self._first[1:] = 0
        self._first[0] = epoch

    def begin(self, moves_on: bool) -> int:
        """The epoch of the pass that begins now: the next one, or unless it ``moves_on`` the one that was set."""
        if not moves_on:
            return int(self._first[0])
        key, slot = self._key()
        notes = self._notes()  # once: another worker may note the same pass meanwhile
        mask, last = (1 << KEY_BITS) - 1, int(self._first[1 + slot])
        own = [note >> KEY_BITS for note in notes if note & mask == key]
        if last and last & mask == key:
            own = [(last >> KEY_BITS) + 1]
        after = max(note >> KEY_BITS for note in notes) + 1 if notes else int(self._first[0])
        epoch = own[0] if own else after
        self._first[1 + slot] = epoch << KEY_BITS | key
        return epoch

    def _notes(self) -> list[int]:
        return [note for note in self._first[1:].tolist() if note]

    def _key(self) -> tuple[int, int]:
        """What the workers of this pass have in common (never 0), and the slot of this one."""
        info = get_worker_info()
        if info is None:
            return mixed(os.getpid(), next(_passes)) >> 63 - KEY_BITS | 1, 0
        base = info.seed - info.id
        self._seen = base, self._seen[1] + 1 if self._seen[0] == base else 0  # workers that persist keep their seed
        return mixed(base, self._seen[1]) >> 63 - KEY_BITS | 1, info.id % SLOTS


class StreamRanks:
    """World size and rank of a stream: as given, else those of the default process group when a pass begins.

    Under accelerate it is one process, because ``prepare`` shards streams itself, unless a loader called :meth:`claim`.
    """

    def __init__(self, num_replicas: int | None = None, rank: int | None = None) -> None:
        self._given = share_asked(num_replicas, rank)
        self._claimed: tuple[int, int] | None = None  # of this process alone: ranks may be forked from one
        self._claims = 0

    @property
    def pair(self) -> tuple[int, int]:
        """World size and rank."""
        return self._given or self._claimed or ((1, 0) if accelerate_shards() else process_group())

    @property
    def alone(self) -> bool:
        """Whether it is for one process, whatever the process group."""
        return self._given == (1, 0)

    def claim(self, pair: tuple[int, int]) -> int:
        """Sets world size and rank for the pass of a loader that shards the stream; returns a token for :meth:`release`."""
        self._claimed, self._claims = pair, self._claims + 1
        return self._claims

    def release(self, claim: int) -> None:
        """Ends the claim, unless a later one was made."""
        if claim == self._claims:
            self._claimed = None

    def __getstate__(self) -> dict[str, Any]:
        """With the ranks of this process: a spawned worker is in no process group."""
        return {**vars(self), "_given": self._given or (self.pair if process_group()[0] > 1 else None)}

"""What is sent to a measuring child: which data, and a DataLoader described as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dataloader_expert.facts import Json

MOST_WORKERS = 256
"""The most workers that a forecast may be asked for."""


@dataclass(frozen=True)
class SourceRef:
    """Which data: a path, or ``module:attribute`` / ``file.py:attribute`` with its arguments.

    ``roots`` limit what may be opened; ``code`` says that ``name`` is a Python reference; ``limit_bytes`` is the most memory
    that the reading processes may use together. ``train`` names the training split if it is not called ``train``; ``columns``
    are the fields to read, None: all.
    """

    name: str
    roots: tuple[str, ...]
    code: bool = False
    args: Mapping[str, Json] = field(default_factory=dict)
    format: str | None = None
    split: str | None = None
    label: str | None = None
    limit_bytes: int | None = None
    train: str | None = None
    columns: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "roots": list(self.roots), "columns": None if self.columns is None else [*self.columns]}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> SourceRef:
        columns = data.get("columns")
        tuples = {"roots": tuple(data["roots"]), "columns": None if columns is None else tuple(columns)}
        return SourceRef(**{**data, **tuples})


@dataclass(frozen=True)
class LoaderPlan:
    """A ``torch.utils.data.DataLoader`` as data. ``prefetch`` is batches per worker (torch's default 2)."""

    batch_size: int = 32
    workers: int = 0
    prefetch: int | None = None
    pin_memory: bool = False
    persistent: bool = False
    shuffle: bool = True
    drop_last: bool = False
    timeout: float = 0.0
    seed: int = 0
    in_order: bool = True

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size}; it must be at least 1")
        if self.workers < 0:
            raise ValueError(f"workers is {self.workers}; it must be 0 (load in the main process) or more")

    def but(self, **changes: Any) -> LoaderPlan:
        return replace(self, **changes)

    def keywords(self) -> dict[str, Json]:
        """The DataLoader's keyword arguments, without those that torch refuses if there are no workers."""
        given: dict[str, Json] = {
            "batch_size": self.batch_size,
            "shuffle": self.shuffle,
            "num_workers": self.workers,
            "pin_memory": self.pin_memory,
            "drop_last": self.drop_last,
        }
        if self.workers:
            given["prefetch_factor"] = self.prefetch or 2
            given["persistent_workers"] = self.persistent
            if not self.in_order:
                given["in_order"] = False
            if self.timeout:
                given["timeout"] = self.timeout
        return given

    def to_json(self) -> dict[str, Json]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> LoaderPlan:
        return LoaderPlan(**data)


def in_flight(workers: int, prefetch: int | None) -> int:
    """The most batches that are queued, plus the one that the consumer holds."""
    return workers * (prefetch or 2) + 1 if workers else 1

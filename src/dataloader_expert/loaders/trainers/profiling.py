"""The throughput of a loader, timed batch by batch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from dataloader_expert.loaders.collators.base import mapped
from dataloader_expert.samplers.rules import at_least


@dataclass(frozen=True)
class LoaderProfile:
    """Times of a loader's batches, from the second on (unless there is one only)."""

    batches: int
    """Their number, as that of ``samples`` with the first batch included."""
    samples: int
    startup_ms: float
    """Until the first batch: workers start, files are opened."""
    fetch_ms: float
    """Mean wait for a batch."""
    transfer_ms: float
    """Mean copy of a batch to ``device``, synchronised; 0 without one."""
    samples_per_s: float
    """Of fetch and transfer together, as are ``batches_per_s``."""
    batches_per_s: float
    device: str | None
    """To which batches were copied, if any."""

    def __str__(self) -> str:
        moved = f", {self.transfer_ms:.3f} ms to {self.device}" if self.device else ""
        return (
            f"{self.batches} batches ({self.samples} samples): {self.fetch_ms:.3f} ms to fetch each{moved}; "
            f"{self.samples_per_s:,.1f} samples/s, {self.batches_per_s:,.1f} batches/s; first batch after "
            f"{self.startup_ms:.1f} ms"
        )


def profile_dataloader(
    loader: Any, num_batches: int = 100, *, device: torch.device | str | None = None
) -> LoaderProfile:
    """Times up to ``num_batches`` batches, at least 1, of a loader or another iterable of them; a ``ValueError`` if it has none.

    Each is copied to ``device``, as in training; None: to CUDA if available, else nowhere.
    """
    at_least(1, num_batches=num_batches)
    default = "cuda" if device is None and torch.cuda.is_available() else device
    where = None if default is None else torch.device(default)
    fetched, moved, samples = list[float](), list[float](), list[int]()
    begun = time.perf_counter()
    for batch in islice(loader, num_batches):
        fetched.append(time.perf_counter() - begun)
        samples.append(_samples(batch))
        begun = time.perf_counter()
        if where is not None:
            mapped(batch, lambda tensor: tensor.to(where, non_blocking=True))  # without waiting if memory is pinned
            if where.type == "cuda":
                torch.cuda.synchronize(where)
        moved.append(time.perf_counter() - begun)
        begun = time.perf_counter()
    if not fetched:
        raise ValueError("the loader gave no batch: its dataset is empty, or too small with drop_last")
    first = 1 if len(fetched) > 1 else 0
    count = len(fetched) - first
    spent = sum(fetched[first:]) + sum(moved[first:])
    return LoaderProfile(
        batches=len(fetched),
        samples=sum(samples),
        startup_ms=1e3 * fetched[0],
        fetch_ms=1e3 * sum(fetched[first:]) / count,
        transfer_ms=1e3 * sum(moved[first:]) / count if where is not None else 0.0,
        samples_per_s=sum(samples[first:]) / spent,
        batches_per_s=count / spent,
        device=None if where is None else str(where),
    )


def _samples(batch: Any) -> int:
    """Samples of a batch: the first dimension of its first tensor, else the length of its first list."""
    if isinstance(batch, torch.Tensor):
        return len(batch) if batch.ndim else 1
    if isinstance(batch, Mapping):  # the batches of transformers are not dict
        values = list(batch.values())
        whole = any(isinstance(v, torch.Tensor | Mapping) for v in values)
        return _samples(values) if whole else max(map(_samples, values), default=0)
    if isinstance(batch, list | tuple):
        inner = next((v for v in batch if isinstance(v, torch.Tensor | Mapping)), None)
        return len(batch) if inner is None else _samples(inner)
    return 1

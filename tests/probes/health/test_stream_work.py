"""Streams that share their samples among workers before the work of a sample, and after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset, get_worker_info

from dataloader_expert.advice.streams import repeated
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.health.stream_work import REPEATED, WORKERS, compared
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.system.pristine_process import apart


def decoded(record: int) -> torch.Tensor:
    """What a sample costs: CPU time is what is compared, no clock is asserted on."""
    return torch.tensor(sum(k * record for k in range(20_000)) % 9)


class Stream(IterableDataset[torch.Tensor]):
    def __init__(self, how: str) -> None:
        self.how = how

    def __iter__(self) -> Iterator[torch.Tensor]:
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        if self.how == "files":
            yield from (decoded(k) for k in range(worker * 100, (worker + 1) * 100))
        elif self.how == "records":
            yield from (decoded(k) for k in range(400) if k % workers == worker)
        else:
            samples = (decoded(k) for k in range(400))
            yield from (sample for k, sample in enumerate(samples) if k % workers == worker)


def facts(how: str, present: int) -> Facts:
    times = apart(lambda seconds: compared(Stream(how), seconds), 20.0)
    assert times is not None
    said = Evidence("timed", "a test")
    value: dict[str, Any] = {"ratio": times["shared"] / times["alone"], "workers": WORKERS, "place": None}
    return Facts((Fact(REPEATED, value, said), Fact(CURRENT, {"num_workers": present}, said)))


def test_a_stream_that_decodes_the_samples_of_others_is_told() -> None:
    """Seen: each worker decoded all images and dropped most of them; only "decoding is costly" was said, and to add workers."""
    measured = (list(repeated(facts("samples", 2))) for _ in range(3))  # other processes may disturb one comparison
    [found] = next(filter(None, measured), [])
    assert (found.severity, found.cost) == ("warning", 0.5)
    assert "before decoding" in found.fix
    measured = (list(repeated(facts("samples", 0))) for _ in range(3))
    [unused] = next(filter(None, measured), [])
    assert unused.severity == "info"


@pytest.mark.parametrize("how", ["files", "records"])
def test_a_stream_that_skips_first_is_not_accused(how: str) -> None:
    """Our promise: reading the records of others to skip them is a usual way to share a stream."""
    assert list(repeated(facts(how, 2))) == []

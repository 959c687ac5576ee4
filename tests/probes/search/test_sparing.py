"""Samples that raise are told, and the others are timed."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from dataloader_expert.advice.failures import loader, raising
from dataloader_expert.facts import Fact
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import LOADER_FAILED, Bench, ours
from dataloader_expert.probes.data.own_samples import RAISES
from dataloader_expert.probes.search.loading import Loading
from dataloader_expert.probes.search.sparing import Spared, told
from dataloader_expert.probes.search.tap import Tap
from dataloader_expert.probes.search.trials import THROUGHPUT
from tests.probes.health.test_as_started import reference

pytestmark = pytest.mark.filterwarnings("ignore:.*fork\\(\\)")


class Images(Dataset[torch.Tensor]):
    """Reads files, of which some are cut."""

    def __init__(self, folder: Path, n: int, cut: tuple[int, ...]) -> None:
        self.files = [folder / f"{i}.bin" for i in range(n)]
        for i, file in enumerate(self.files):
            file.write_bytes(b"" if i in cut else bytes(8))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> torch.Tensor:
        data = self.files[index].read_bytes()
        if not data:
            raise OSError("the file is truncated")
        return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def measured(dataset: Dataset[Any], workers: int) -> list[Any]:
    source = reference(dataset)
    source.loader, source.iterable = DataLoader(dataset, batch_size=4, num_workers=workers), False
    ref = SourceRef("memory:dataset", ("/",), code=True)
    bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)
    return list(Loading(search=False, most_s=4.0, block_s=0.02, pairs=1).measure(bench))


@pytest.mark.journey
@pytest.mark.parametrize("workers", [0, 1])
def test_one_sample_that_raises_is_named_and_the_others_are_timed(workers: int, tmp_path: Path) -> None:
    """Seen: one cut image of 300, of which neither the index nor the file was told, and nothing could be timed."""
    found = [f for f in measured(Images(tmp_path, 48, (17,)), workers) if isinstance(f, Fact)]
    [raises] = [f for f in found if f.quantity is RAISES]
    assert raises.value["samples"] == [17] and raises.value["files"] == {"17": str(tmp_path / "17.bin")}
    assert any(f.quantity is THROUGHPUT and f.value > 0 for f in found)
    assert not any(f.quantity is LOADER_FAILED for f in found)
    from dataloader_expert.facts import Facts

    [told_as] = raising(Facts((raises,)))
    assert "1 of" in told_as.message and "at sample 17" in told_as.message and "17.bin" in told_as.message
    assert told_as.where == ({"sample": 17, "file": str(tmp_path / "17.bin")},)


def test_a_dataset_of_which_most_samples_raise_is_not_timed(tmp_path: Path) -> None:
    dataset = Spared(Images(tmp_path, 40, tuple(range(0, 40, 2))), lambda index, error: None)
    with pytest.raises(OSError, match="truncated"):
        for i in range(40):
            dataset[i]


def test_what_raises_only_in_the_loader_is_told_as_that(tmp_path: Path) -> None:
    """Our promise: a sample that can be read alone is not told to be broken."""
    source = reference(Images(tmp_path, 8, ()))
    source.iterable = False
    bench = Bench(source, SourceRef("memory:x", ("/",), code=True), 0, math.inf, lambda i: None, lambda m, s: None)
    from dataloader_expert.facts import Facts

    [found] = loader(Facts(tuple(told(bench, {3: "OSError: bad"}, 8))))
    assert "sample 3, which can be read alone, raised in the loader: OSError: bad" in found.message


def test_processes_note_which_samples_raised() -> None:
    tap = Tap(False, 2)
    for worker, sample in ((0, 5), (1, 0), (1, 5), (0, 5)):
        tap.note_raised(worker, sample, f"OSError: of {sample}")
    assert tap.raised() == {0: "OSError: of 5", 5: "OSError: of 5"}


def test_an_error_of_our_own_code_is_no_sample_that_raises() -> None:
    """Our promise: what fails here is an unknown, and no fault of the user's."""

    def theirs() -> None:
        raise TypeError("of the user's")

    def called(function: Any) -> BaseException:
        try:
            function()
        except Exception as e:
            return e
        raise AssertionError

    assert not ours(called(theirs))
    assert ours(called(lambda: Tap(False).note_raised(0, "x", 3)))  # type: ignore[arg-type]  # a fault of ours

"""Errors that a dataset's own code catches, and exceptions by which Python code asks whether something is there."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

from dataloader_expert.advice.base import findings_of
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.health.caught_errors import LOOKED_FOR, CaughtErrors
from dataloader_expert.sources.reference import Reference

N = 200
BAD = {3, 77, 140}


class Plain(Dataset[Any]):
    def __len__(self) -> int:
        return N

    def load(self, index: int) -> Any:
        if index in BAD:
            raise OSError("truncated")
        return index

    def __getitem__(self, index: int) -> Any:
        return index


class Hidden(Plain):
    def __getitem__(self, index: int) -> Any:
        try:
            return self.load(index)
        except OSError:
            return 0


class ByTheNext(Plain):
    def __getitem__(self, index: int) -> Any:
        try:
            return self.load(index)
        except Exception:  # as users write it: what is told
            return self[index + 1]


class Raised(Plain):
    def __getitem__(self, index: int) -> Any:
        return self.load(index)


class Asked(Plain):
    def __getitem__(self, index: int) -> Any:
        kept: dict[int, int] = {}
        try:
            return kept[index]
        except KeyError:
            return sum(i for i in range(index))


class SecondFormat(Plain):
    """Most samples are of the second format."""

    def __getitem__(self, index: int) -> Any:
        try:
            return int("1.5" if index > 20 else "1")
        except ValueError:
            return float("1.5")


@pytest.mark.parametrize(
    ("dataset", "samples"),
    [(Hidden(), BAD), (ByTheNext(), BAD), (Raised(), None), (Asked(), None), (SecondFormat(), None), (Plain(), None)],
)  # fmt: skip
def test_errors_that_are_hidden_are_told(dataset: Any, samples: set[int] | None) -> None:
    """Our promise: which samples, what was raised and where; exceptions that are how a sample is read are none."""
    source = Reference()
    source.dataset, source.iterable = dataset, False
    bench = Bench(source, SourceRef("x.py:make", ("/",)), 0, None, lambda at: None, lambda text, share: None)
    found = findings_of(Facts(tuple(f for f in CaughtErrors(most_s=60).measure(bench) if isinstance(f, Fact))))
    assert [(f.code, {place["sample"] for place in f.where if "sample" in place}) for f in found] == (
        [("errors-hidden", samples)] if samples else []
    )
    assert all("test_caught_errors.py:" in f.message and "in `load`: truncated" in f.message for f in found)
    lines = Path(__file__).read_text().splitlines()  # Seen: only the line that raised was named
    assert all("except " in lines[f.where[0]["line"] - 1] and "caught at" in f.message for f in found)


class Ending(Plain):
    def __getitem__(self, index: int) -> Any:
        if index == 77:
            os._exit(1)
        return index


class Blocking(Plain):
    def __getitem__(self, index: int) -> Any:
        if index == 77:
            time.sleep(60)
        return index


@pytest.mark.parametrize("dataset", [Ending(), Blocking()], ids=["it ends", "it blocks"])
def test_a_sample_that_ends_or_blocks_its_process_ends_this_check_alone(dataset: Any) -> None:
    """Our promise: what comes first must not cost what comes later; that nothing was looked at is said."""
    source = Reference()
    source.dataset, source.iterable = dataset, False
    bench = Bench(source, SourceRef("x.py:make", ("/",)), 0, None, lambda at: None, lambda text, share: None)
    [said] = CaughtErrors(most_s=0.2).measure(bench)
    assert isinstance(said, Unknown) and said.why.endswith("raise budget_s")
    source.dataset = Plain()
    [said] = CaughtErrors(most_s=20).measure(bench)
    assert isinstance(said, Fact) and said.quantity == LOOKED_FOR and said.value == N


class Copied(ByTheNext):
    """Samples of which every tenth is a copy of the one before, and some that cannot be read are replaced by the next."""

    def load(self, index: int) -> Any:
        return torch.rand(4, generator=torch.Generator().manual_seed(super().load(index) - (index % 10 == 5)))


@pytest.mark.parametrize("usual", [False, True])
def test_what_was_delivered_for_a_sample_that_failed_is_no_copy(usual: bool) -> None:
    """Seen: samples that a dataset returned in place of unreadable ones were told as copies to remove."""

    class Tried(Copied):
        def load(self, index: int) -> Any:
            if usual:  # every sample meets an error that is caught: that is how they are read
                with contextlib.suppress(ValueError):
                    raise ValueError("another format")
            return super().load(index)

    source = Reference()
    source.dataset, source.iterable, source.units = Tried(), False, range(N)
    bench = Bench(source, SourceRef("x.py:make", ("/",)), 0, None, lambda at: None, lambda text, share: None)
    [found] = [said for said in Scan().measure(bench) if isinstance(said, Finding) and said.code == "duplicate-samples"]
    assert found.count == (23 if usual else 20)

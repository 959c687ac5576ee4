"""Batches are fitted to the budget on what a sample costs once it is warm."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from dataloader_expert.checks.base import MISSING, Context
from dataloader_expert.checks.columns.statistics import Statistics
from dataloader_expert.plan import LoaderPlan, SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.serving import Serving, no_batch, serving
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shared import CHECKOUT

COLD = 2


class Warms(users.Fine):
    """The first two samples take 10 ms, the others next to nothing."""

    read = 0

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        self.read += 1
        if self.read <= COLD:
            time.sleep(0.01)  # what a cold sample costs: the test asserts on what is made of it, not on the clock
        return super().__getitem__(index)


@pytest.fixture
def bench() -> Bench:
    ref = SourceRef(f"{Path(users.__file__)}:Fine", (str(CHECKOUT),), code=True)
    return Bench(open_source(ref, []), ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)


def served(bench: Bench, dataset: Warms) -> Serving:
    found = serving(bench, 400)
    found.dataset = dataset
    return found


def test_what_sufficed_one_probe_is_timed_again_for_a_stricter_one(bench: Bench) -> None:
    """Our promise: a batch is made smaller only on a time that was taken to its end."""
    dataset = Warms()
    assert not served(bench, dataset).fit(bench, 3.9)  # 4 s by the first sample, 2 s by the next two: enough here
    assert bench.fitted_s is not None and bench.fitted_s > 0.004
    strict = served(bench, dataset)
    assert not strict.fit(bench, 1.0)
    assert strict.current.batch_size == 400


@pytest.mark.journey
def test_a_batch_that_stays_dear_is_made_smaller(bench: Bench) -> None:
    """Our promise: what is dear and warm fits the budget in smaller batches."""
    dataset = Warms()
    dataset.read = -(10**6)  # never warm
    strict = served(bench, dataset)
    assert strict.fit(bench, 1.0)
    assert strict.current.batch_size <= 100
    assert (
        0.5 < strict.batch_s <= 1.0
    )  # on a busy machine samples take longer than they wait, and the batch is smaller still


def test_masks_that_one_split_lacks_are_no_gap_in_batches_of_the_other(tmp_path: Path) -> None:
    """Seen: a test split without masks ended ``batch-spec`` with ``KeyError: 'mask'``; its masks were also said to be missing,
    and those of training read as float64 for that."""
    draws = np.random.default_rng()
    for split, samples in (("train", 12), ("test", 5)):
        for kind in ("images", "masks")[: 2 if split == "train" else 1]:
            folder = tmp_path / split / kind
            folder.mkdir(parents=True)
            for i in range(samples):
                shape, top = ((24, 24, 3), 256) if kind == "images" else ((24, 24), 2)
                Image.fromarray(draws.integers(0, top, shape, dtype=np.uint8)).save(folder / f"{i:03}.png")
    ref = SourceRef(str(tmp_path), ("/",))
    source = open_source(ref, [])
    assert source.lacking == {"test": {"mask"}}
    found = serving(Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None), 12)
    assert len(found.dataset) == 12
    batch = found.collate([found.dataset[i] for i in range(12)])
    assert (batch["mask"].dtype, tuple(batch["mask"].shape)) == (torch.uint8, (12, 24, 24))
    statistics = Statistics(Context.of(source, 0))
    for unit in source.units:
        statistics.see(source.decode(unit, source.read(unit)))
    missing = {f.at["field"]: f.value for f in statistics.facts() if f.quantity == MISSING}
    assert missing == {"image": 0, "mask": 0}


@pytest.mark.parametrize(
    ("delivered", "samples"),
    [
        ({"eeg": torch.zeros(22, 250), "stage": 3}, 1),
        ((torch.zeros(22, 250), 3), 1),
        ({"x": torch.zeros(22, 250), "y": torch.zeros(22), "epoch": 3}, 22),
        ({"ids": torch.zeros(22, 250)}, 22),
    ],
)
def test_a_loader_without_a_batch_size_delivers_samples_or_batches(delivered: Any, samples: int) -> None:
    """Seen: 22 channels of one sample were counted as samples."""
    loader: Any = DataLoader([delivered], batch_size=None)  # type: ignore[arg-type]  # any sequence will do
    serving = Serving(loader.dataset, None, "own", LoaderPlan(batch_size=1), False, "", loader)
    assert serving.count(delivered) == samples


def test_a_loader_of_a_stream_without_a_length_is_what_is_trained_on(tmp_path: Path) -> None:
    """Seen: the loader was asked for its length to see whether there is one, and the scan of a stream ended with a TypeError."""
    (tmp_path / "stream.py").write_text(
        "from torch.utils.data import DataLoader, IterableDataset\n\n\nclass Stream(IterableDataset):\n"
        "    def __iter__(self):\n        yield 1.0\n\n\ndef make():\n    return DataLoader(Stream(), batch_size=1)\n"
    )
    ref = SourceRef(f"{tmp_path}/stream.py:make", (str(tmp_path),), code=True)
    source = open_source(ref, [])
    assert source.training_part is source.loader is source.training_loader  # type: ignore[attr-defined]  # opened by a reference


LISTS = """
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Tokens(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"ids": [i, 2, 3, 0], "label": i % 2}


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(10):
            yield {"ids": [i] * (1 + i % 3), "label": i % 2}


def none():
    return DataLoader(Tokens(), batch_size=16, drop_last=True)
"""


def test_lists_of_numbers_become_one_tensor(tmp_path: Path) -> None:
    """Seen: a field for each place of the ids that a tokenizer returned; a stream of unlike lengths made no batch at all."""
    (tmp_path / "mine.py").write_text(LISTS, encoding="utf-8")
    for name, shape in (("Tokens", (2, 4)), ("Stream", (2, 2))):
        ref = SourceRef(f"{tmp_path / 'mine.py'}:{name}", (str(tmp_path),), code=True)
        source: Any = open_source(ref, [])
        bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)
        made = serving(bench, 2)
        batch = made.collate(
            [{"ids": [1, 2, 3, 4][: shape[1]], "label": 0}, {"ids": [1, 2, 3, 4][: shape[1]], "label": 1}]
        )
        assert tuple(batch["ids"].shape) == shape and made.collate_name == "pad"


STREAMS = """
from torch.utils.data import IterableDataset


class Raises(IterableDataset):
    def __iter__(self):
        raise RuntimeError("no worker")


class Itself(IterableDataset):
    left = 9

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return {"x": self.left}


class Once(Itself):
    def __init__(self):
        self.held = iter([{"x": i} for i in range(9)])

    def __iter__(self):
        return self.held
"""


@pytest.mark.parametrize(("name", "samples"), [("Raises", None), ("Itself", 9), ("Once", 9)])
def test_choosing_how_to_collate_takes_nothing_from_a_stream(tmp_path: Path, name: str, samples: int | None) -> None:
    """Seen: an error of ``__iter__`` ended the scan, and a stream that is read once lacked the samples that were looked at."""
    (tmp_path / "mine.py").write_text(STREAMS, encoding="utf-8")
    ref = SourceRef(f"{tmp_path / 'mine.py'}:{name}", (str(tmp_path),), code=True)
    source: Any = open_source(ref, [])
    bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)
    assert serving(bench, 2).collate_name == "default"
    assert samples is None or len([*source.dataset]) == samples


def test_a_slow_stream_is_not_waited_for_four_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: the time to look at samples holds from the first sample of a stream on."""
    monkeypatch.setattr("dataloader_expert.probes.serving.LOOK_S", 0.0)  # instead of a stream that takes seconds
    (tmp_path / "mine.py").write_text(
        LISTS + "\n\nREAD = []\n\n\nclass Counted(Stream):\n    def __iter__(self):\n"
        "        for sample in super().__iter__():\n            READ.append(1)\n            yield sample\n"
    )
    ref = SourceRef(f"{tmp_path / 'mine.py'}:Counted", (str(tmp_path),), code=True)
    source: Any = open_source(ref, [])
    read = type(source.dataset).__iter__.__globals__["READ"]
    read.clear()
    serving(Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None), 2)
    assert len(read) == 1


def test_a_loader_that_drops_all_says_so(tmp_path: Path) -> None:
    """Seen: a question in place of the two numbers that are known."""
    (tmp_path / "mine.py").write_text(LISTS, encoding="utf-8")
    ref = SourceRef(f"{tmp_path / 'mine.py'}:none", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)
    assert "10 samples are fewer than the batch size of 16" in no_batch(serving(bench))

"""A batch that is read column by column is the batch of its samples, in every format."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader, default_collate

from dataloader_expert.loaders import SourceDataset, create_loader, open_dataset, pad_collate
from dataloader_expert.loaders.collate import Gathered, collate_gathered
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.making.tiny import TINY, Made, made_once

every_set = pytest.mark.parametrize("name", TINY)
COLUMNS = ("npy, side by side", "pt", "safetensors", "hdf5", "parquet", "csv", "tsv", "json", "jsonl", "arrow")


@pytest.fixture
def made(name: str) -> Iterator[Made]:
    """The tiny data set; what a reference does to the interpreter is undone."""
    here, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    yield made_once(name)
    os.chdir(here)
    sys.path[:] = path
    for module in set(sys.modules) - modules:
        if module.startswith("tiny_"):
            del sys.modules[module]


def opened(made: Made, split: str | None = None) -> SourceDataset:
    source = open_source(SourceRef(made.source, (str(made.root.parent),), made.code, split=split, label=made.label), [])
    size = (24, 32) if made.format == "image-folder" else None
    return SourceDataset(source, size, source.classes)


def equal(first: Any, second: Any) -> bool:
    """Equal kinds, dtypes, shapes and values; NaN is NaN."""
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return first.dtype == second.dtype and torch.equal(first.nan_to_num(-7), second.nan_to_num(-7))
    return type(first) is type(second) and bool(first == second)


@every_set
def test_a_batch_is_its_samples(made: Made) -> None:
    """Random indices, with repeats and across blocks: the same keys, dtypes, values and strings."""
    dataset = opened(made)
    rng = np.random.default_rng(7)
    for count in (1, 2, 5, 16, 60):
        indices = rng.integers(0, len(dataset), count).tolist()
        whole = pad_collate(dataset.__getitems__(indices))
        single = pad_collate([dataset[i] for i in indices])
        assert whole.keys() == single.keys()
        assert [n for n in single if not equal(whole[n], single[n])] == []


def test_a_batch_of_every_type_of_column_is_its_samples(tmp_path: Path) -> None:
    """Narrow and unsigned numbers, absent values, booleans, times, bytes, lists: together and each alone."""
    rows = range(8)

    def but_one(values: list[Any]) -> list[Any]:
        return [None if i == 5 else v for i, v in enumerate(values)]

    numbers = [np.int32, np.uint16, np.uint64, np.float16, np.float32]
    table = pa.table(
        {
            **{n.__name__: pa.array(np.arange(8).astype(n)) for n in numbers},
            **{f"{n.__name__}, one absent": pa.array(but_one(list(rows)), n.__name__) for n in (np.int64, np.float32)},
            "boolean": [i % 2 == 0 for i in rows],
            "boolean, one absent": but_one([i % 2 == 0 for i in rows]),
            "text, one absent": but_one([f"text {i}" for i in rows]),
            "day": [date(2020, 1, 1 + i) for i in rows],
            "bytes": [b"x" * i for i in rows],
            "list": [[1.0, 2.0] * (i % 2 + 1) for i in rows],
            "struct": [{"a": i} for i in rows],
        }
    )
    for names in [table.column_names, *([n] for n in table.column_names)]:
        pq.write_table(table.select(names), tmp_path / "table.parquet")
        dataset = open_dataset(tmp_path / "table.parquet")
        for indices in ([1, 0, 4], [5, 3, 2], [2], [5]):
            whole, single = pad_collate(dataset.__getitems__(indices)), pad_collate([dataset[i] for i in indices])
            assert whole.keys() == single.keys()
            assert [n for n in single if not equal(whole[n], single[n])] == []


@every_set
def test_a_batch_of_a_split_is_its_samples(made: Made) -> None:
    """Splits count their samples from 0."""
    if "test" not in made.splits:
        assert len(opened(made)) == made.samples
        return
    dataset = opened(made, "test")
    indices = [len(dataset) - 1, 0, 3]
    whole, single = pad_collate(dataset.__getitems__(indices)), pad_collate([dataset[i] for i in indices])
    assert len(dataset) == made.splits["test"]
    assert all(equal(whole[n], single[n]) for n in single)


@pytest.mark.parametrize("name", [n for n in TINY if n.startswith(COLUMNS) and "images" not in n and "sample" not in n])
def test_columns_are_gathered(made: Made) -> None:
    """Where a file holds columns of numbers or strings, no batch is made sample by sample."""
    assert isinstance(opened(made).__getitems__([3, 0, 1]), Gathered)


@every_set
def test_negative_indices_count_from_the_end(made: Made) -> None:
    """As in a list, alone and in a batch."""
    dataset = opened(made)
    last = pad_collate([dataset[len(dataset) - 1]])
    assert all(equal(v, last[n]) for n, v in pad_collate(dataset.__getitems__([-1])).items())
    for beyond in (len(dataset), -len(dataset) - 1):
        with pytest.raises(IndexError):
            dataset[beyond]
        with pytest.raises(IndexError):
            dataset.__getitems__([0, beyond])


@pytest.mark.parametrize("name", ["npy, side by side", "image-folder"])
def test_a_dataset_ends(made: Made) -> None:
    """A loop over it sees each sample once, and stops."""
    dataset = opened(made)
    samples: Any = dataset
    assert sum(1 for _ in islice(samples, 2 * made.samples)) == made.samples


@pytest.mark.parametrize("name", ["npy, side by side", "csv"])
def test_a_batch_is_a_copy(made: Made) -> None:
    """What a training loop does to a batch does not come back in the next epoch."""
    dataset = opened(made)
    before = pad_collate(dataset.__getitems__([0, 1]))
    changed = pad_collate(dataset.__getitems__([0, 1]))
    for values in changed.values():
        if isinstance(values, torch.Tensor):
            values.zero_()
    assert all(equal(v, before[n]) for n, v in pad_collate(dataset.__getitems__([0, 1])).items())


@pytest.mark.parametrize("name", ["npy, side by side", "parquet, one file", "image-folder"])
@pytest.mark.parametrize("workers", [0, 2])
def test_workers_deliver_the_same(made: Made, workers: int) -> None:
    """Gathered batches cross processes like any other."""
    expected = list(create_loader(made.source, None, 7))
    batches = list(create_loader(made.source, None, 7, workers))
    assert len(batches) == len(expected)
    for batch, other in zip(batches, expected, strict=True):
        assert all(equal(batch[n], other[n]) for n in other)


def test_a_gathered_batch_is_a_sequence_of_samples() -> None:
    """Collate functions that know nothing of it get samples, by index, slice and loop."""
    gathered = Gathered({"x": torch.arange(6).view(3, 2), "name": ["a", "b", "c"]}, 3)
    assert len(gathered) == 3
    assert gathered[-1]["name"] == "c"
    assert [s["x"].tolist() for s in gathered] == [[0, 1], [2, 3], [4, 5]]
    assert [s["name"] for s in gathered[1:]] == ["b", "c"]
    with pytest.raises(IndexError):
        gathered[3]
    assert torch.equal(default_collate(list(gathered))["x"], gathered.batch["x"])
    assert all(one is other for one, other in zip(gathered, gathered, strict=True)), "made anew for each key"


def test_collate_gathered_stacks_what_was_not_gathered() -> None:
    """Samples of a dataset without ``__getitems__`` are stacked as torch does."""
    batch = collate_gathered([{"x": torch.tensor(1)}, {"x": torch.tensor(2)}])
    assert batch["x"].tolist() == [1, 2]


def test_padding_brings_lengths() -> None:
    """Sequences are padded with zeros to the longest; what no tensor is stays a list."""
    samples = [{"x": torch.ones(n, 2), "note": None, "y": float(n)} for n in (1, 3, 2)]
    (batch,) = DataLoader(samples, batch_size=3, collate_fn=pad_collate)  # type: ignore[arg-type]  # a list of samples
    assert batch["x"].shape == (3, 3, 2)
    assert batch["x_lengths"].tolist() == [1, 3, 2]
    assert batch["x"].sum(dim=(1, 2)).tolist() == [2, 6, 4]
    assert batch["note"] == [None] * 3
    assert batch["y"].dtype == torch.float64


def test_shapes_that_neither_stack_nor_pad_are_named() -> None:
    """The field, its shapes, and what helps where it is an image."""
    with pytest.raises(ValueError, match=r"image has the shapes \[\(3, 4, 5\), \(3, 5, 4\)\].*size=\(height, width\)"):
        pad_collate([{"image": torch.zeros(3, 4, 5)}, {"image": torch.zeros(3, 5, 4)}])

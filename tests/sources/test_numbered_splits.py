"""Numbered files whose common word is a split's: devices, tests and values, or shards of a split."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source

RNG = np.random.default_rng(8)


def written(path: Path, n: int = 12) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"x": round(float(x), 3), "kind": "ab"[i % 2]} for i, x in enumerate(RNG.normal(0, 1, n))]
    if path.suffix == ".csv":
        path.write_text("x,kind\n" + "".join(f"{row['x']},{row['kind']}\n" for row in rows))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        feather.write_feather(pa.Table.from_pylist(rows), str(path))


def splits(folder: Path) -> dict[str, int]:
    return open_source(SourceRef(str(folder), (str(folder),)), []).splits


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet", "feather"])
@pytest.mark.parametrize("word", ["dev", "test"])
def test_numbered_files_that_are_held_out_of_nothing_are_no_split(tmp_path: Path, word: str, suffix: str) -> None:
    for i in range(1, 4):
        written(tmp_path / f"{word}-{i:02}.{suffix}")
    assert splits(tmp_path) == {}


SPLITS = {
    "beside another split": (["train.csv", "dev-01.csv", "dev-02.csv"], {"train": 12, "dev": 24}),
    "both in parts": (["train_0.csv", "train_1.csv", "test_0.csv", "test_1.csv"], {"train": 24, "test": 24}),
    "parts of training alone": (["train-0.csv", "train-1.csv"], {"train": 24}),
    "shards that say how many they are": (
        ["test-00000-of-00002.parquet", "test-00001-of-00002.parquet"],
        {"test": 24},
    ),
    "one file": (["dev-01.csv"], {"dev": 12}),
    "a name beside the split's": (["squad_dev_1.jsonl", "squad_dev_2.jsonl"], {"dev": 24}),
    "devices in folders of splits": (["train/dev-01.csv", "val/dev-02.csv"], {"train": 12, "val": 12}),
}


@pytest.mark.parametrize(("files", "expected"), SPLITS.values(), ids=SPLITS)
def test_words_of_splits_name_them(tmp_path: Path, files: list[str], expected: dict[str, int]) -> None:
    for file in files:
        written(tmp_path / file)
    assert splits(tmp_path) == expected


def test_numbered_files_of_a_word_that_means_a_split_alone_are_that_split(tmp_path: Path) -> None:
    """Our promise: only ``dev`` and ``test`` mean something else as well."""
    for i in range(2):
        written(tmp_path / f"validation_{i}.jsonl")
    assert list(open_source(SourceRef(str(tmp_path), (str(tmp_path),)), []).splits) == ["validation"]

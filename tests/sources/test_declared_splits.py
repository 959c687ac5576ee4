"""Splits that a card declares, that arrays are called after, and files outside all splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.sources.tables import opened

RNG = np.random.default_rng(42)


def table(path: Path, n: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": RNG.normal(size=n), "target": RNG.random(n)}), path)


def split_of(path: Path, split: str) -> Source:
    return open_source(SourceRef(str(path), (str(path),), split=split), [])


def card(*names: str) -> str:
    files = "".join(f"  - split: {name}\n    path: data/{name}-*\n" for name in names)
    return f"---\nlicense: mit\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n\n# A card\n"


def test_the_splits_of_a_card_are_kept_apart(tmp_path: Path) -> None:
    """Seen: four declared splits became two, and none of the four could be asked for."""
    sizes = {"train_sft": 40, "train_gen": 20, "test_sft": 8, "test_gen": 6}
    for name, n in sizes.items():
        table(tmp_path / "data" / f"{name}-00000-of-00001.parquet", n)
    (tmp_path / "README.md").write_text(card(*sizes))
    assert opened(tmp_path).splits == sizes
    assert split_of(tmp_path, "train_sft").samples == 40


@pytest.mark.parametrize("names", [("train", "test"), ("train_a", "test_a"), ("train_a",)])
def test_a_card_that_says_no_more_than_the_names_changes_nothing(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in ("train_a", "test_a"):
        table(tmp_path / "data" / f"{name}-00000-of-00001.parquet", 20)
    (tmp_path / "README.md").write_text(card(*names))
    assert opened(tmp_path).splits == {"train": 20, "test": 20}


def test_a_file_in_none_of_the_splits_is_told_and_can_be_asked_for(tmp_path: Path) -> None:
    """Seen: rows for which predictions are asked, beside those for training and validation."""
    for name, n in (("train", 40), ("validation", 20), ("live", 10)):
        table(tmp_path / f"{name}.parquet", n)
    found: list[Unknown] = []
    open_source(SourceRef(str(tmp_path), (str(tmp_path),)), found)
    assert [unknown.what for unknown in found] == ["splits"]
    assert "split=live" in found[0].why
    assert split_of(tmp_path, "live").samples == 10
    with pytest.raises(RequestError):
        split_of(tmp_path, "liv")


def test_arrays_called_train_and_test_are_splits(tmp_path: Path) -> None:
    """Seen: the training vectors were said to be unread, and the test set to be the data."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "angular.hdf5", "w") as out:
        out["train"], out["test"] = RNG.normal(size=(200, 25)), RNG.normal(size=(30, 25))
        out["neighbors"] = RNG.integers(0, 200, (30, 10))
    source = opened(tmp_path)
    assert source.splits == {"test": 30, "train": 200}
    assert [field.shape for field in source.fields] == [(25,)]


def test_lists_of_rows_called_train_and_test_are_not_the_data(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "graph.npz",
        x=RNG.normal(size=(60, 8)),
        y=RNG.integers(0, 3, 60),
        train=np.arange(40),
        test=np.arange(40, 60),
    )
    assert opened(tmp_path).samples == 60

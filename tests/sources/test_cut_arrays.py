"""Arrays in numbered files beside arrays that have a row for each row of all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


@pytest.mark.parametrize(("shards", "folder"), [(5, "emb"), (3, "."), (40, ".")])
def test_labels_of_all_shards_are_cut_as_these_are(tmp_path: Path, shards: int, folder: str) -> None:
    """Our promise: numbered files are one array, and a file with as many rows as all of them together belongs to it."""
    (tmp_path / folder).mkdir(exist_ok=True)
    sizes = [20 + i % 3 for i in range(shards)]
    for i, n in enumerate(sizes):
        np.save(tmp_path / folder / f"emb_{i:04d}.npy", np.full((n, 8), i, np.float32))
    np.save(tmp_path / folder / "labels.npy", np.repeat(np.arange(shards), sizes))
    source = opened(tmp_path)
    assert (source.samples, source.label, source.problems) == (sum(sizes), "labels", [])
    for unit in source.units:
        block = source.decode(unit, source.read(unit))
        assert (block.columns["emb"].values[:, 0] == block.columns["labels"].values).all()


def test_an_array_of_another_length_is_not_cut(tmp_path: Path) -> None:
    """Numbered files of any length may be a recording each."""
    for i in range(12):
        np.save(tmp_path / f"rec_{i:02d}.npy", np.zeros((50 + i, 3), np.float32))
    np.save(tmp_path / "labels.npy", np.arange(12))
    assert opened(tmp_path).samples != sum(50 + i for i in range(12))

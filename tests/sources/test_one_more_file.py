"""A small file beside the data, or a folder around them, changes nothing of what they are."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.loaders import create_loader
from tests.sources.tables import opened


def idx(file: Path, values: np.ndarray) -> None:
    head = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(head + values.astype("u1").tobytes()))


@pytest.mark.parametrize("around", ["", "gzip/", "data/letters/"])
def test_arrays_side_by_side_in_a_folder_of_their_own(tmp_path: Path, around: str) -> None:
    """Seen: with a folder around them and names of classes beside them, each array was a sample."""
    for split, n in (("train", 30), ("test", 12)):
        idx(tmp_path / f"{around}letters-{split}-images-idx3-ubyte.gz", np.arange(n * 16).reshape(n, 4, 4) % 251)
        idx(tmp_path / f"{around}letters-{split}-labels-idx1-ubyte.gz", np.arange(n) % 3)
    (tmp_path / f"{around}letters-mapping.txt").write_text("0 65\n1 66\n2 67\n")
    source = opened(tmp_path)
    assert (source.samples, source.splits) == (42, {"train": 30, "test": 12}) and "labels" in str(source.label)
    batch = next(iter(create_loader(str(tmp_path), "train", batch_size=30, shuffle=False)))
    assert batch["letters_labels"].tolist() == [i % 3 for i in range(30)]

"""Files of token ids are read in windows, whatever they are called and however wide their ids are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.npy import WINDOW
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

DRAW = np.random.default_rng(7)


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder.parent),)), [])


def ids(n: int, most: int = 60_000) -> np.ndarray:
    return DRAW.integers(0, most, n)


def header(magic: int, n: int) -> bytes:
    return np.array([magic, 1, n, *[0] * 253], "<i4").tobytes()


@pytest.mark.parametrize(
    ("dtype", "said", "magic"),
    [("<u2", None, None), ("<u4", "uint32", None), ("<u2", None, 20240520), ("<u4", None, 20240801)],
    ids=["nanoGPT", "as meta.json says", "llm.c", "llm.c, wide"],
)
def test_every_whole_window_is_read(tmp_path: Path, dtype: str, said: str | None, magic: int | None) -> None:
    """Our promise: ids come as they were written, split by split, without the few that fill no window."""
    written = {"train": ids(5 * WINDOW + 13), "val": ids(2 * WINDOW)}
    for split, values in written.items():
        head = b"" if magic is None else header(magic, len(values))
        (tmp_path / f"fineweb_{split}_000000.bin").write_bytes(head + values.astype(dtype).tobytes())
    if said is not None:
        (tmp_path / "meta.json").write_text(json.dumps({"dtype": said, "vocab_size": 60_000}), encoding="utf-8")
    source = opened(tmp_path)
    assert (source.format, source.splits, source.label) == ("token-bin", {"train": 5, "val": 2}, None)
    for split, values in written.items():
        units = [unit for unit in source.units if unit.split == split]
        read = np.concatenate([source.decode(u, source.read(u)).columns["tokens"].values for u in units])
        np.testing.assert_array_equal(read.reshape(-1), values[: len(values) // WINDOW * WINDOW])


def test_a_short_stream_is_one_sample(tmp_path: Path) -> None:
    ids(100).astype("<u2").tofile(tmp_path / "train.bin")
    source = opened(tmp_path)
    assert (source.samples, source.fields[0].shape) == (1, (None,))


def test_half_an_id_is_a_cut_file(tmp_path: Path) -> None:
    (tmp_path / "val.bin").write_bytes(ids(3 * WINDOW).astype("<u2").tobytes())
    (tmp_path / "train.bin").write_bytes(ids(3 * WINDOW).astype("<u2").tobytes()[:-1])
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert found["truncated"].where[0]["file"] == "train.bin"


def test_cifar_100_is_not_taken_for_tokens(tmp_path: Path) -> None:
    """Our promise: pictures of the same name are named, not read as ids."""
    pictures = DRAW.integers(0, 256, (40, 3074)).astype("u1")
    pictures[:, 0], pictures[:, 1] = DRAW.integers(0, 20, 40), DRAW.integers(0, 100, 40)
    (tmp_path / "train.bin").write_bytes(pictures.tobytes())
    with pytest.raises(RequestError, match="CIFAR-100"):
        opened(tmp_path)


def test_ids_are_compared_with_the_vocabulary_beside_them(tmp_path: Path) -> None:
    """Our promise: ids beyond it, and a passage of training in validation, are found."""
    train, val = ids(20 * WINDOW, 500), ids(4 * WINDOW, 500)
    train[2 * WINDOW + 5] = 501
    val[WINDOW : 3 * WINDOW] = train[7 * WINDOW + 300 : 9 * WINDOW + 300]
    train.astype("<u2").tofile(tmp_path / "train.bin")
    val.astype("<u2").tofile(tmp_path / "val.bin")
    (tmp_path / "meta.json").write_text(json.dumps({"vocab_size": 500}), encoding="utf-8")
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert [place["sample"] for place in found["out-of-range-ids"].where] == [2]
    assert "splits-near-overlap" in found


@pytest.mark.parametrize(("dtype", "windows"), [("u2", True), ("i8", False), ("f4", False)])
def test_an_array_of_16_bit_ids_is_a_stream(tmp_path: Path, dtype: str, windows: bool) -> None:
    """Our promise: tokens in an .npy file are windows; other arrays of one axis are one number a sample."""
    for split, n in (("train", 20), ("val", 9)):
        np.save(tmp_path / f"{split}.npy", ids(n * WINDOW + 5, 500).astype(dtype))
    source = opened(tmp_path)
    assert source.splits == ({"train": 20, "val": 9} if windows else {"train": 20 * WINDOW + 5, "val": 9 * WINDOW + 5})

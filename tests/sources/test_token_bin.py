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
    assert (source.samples, source.fields[0].shape) == (1, (100,))


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


def test_wider_ids_and_numbers_are_told_apart(tmp_path: Path) -> None:
    """Our promise: 32-bit ids are read as such without being told, and a matrix of floats is not read as ids."""
    ids(9 * WINDOW, 50_000).astype("<u4").tofile(tmp_path / "train.bin")
    assert opened(tmp_path).samples == 9
    DRAW.normal(size=(500, 20)).astype("f4").tofile(tmp_path / "train.bin")
    with pytest.raises(RequestError, match="floats"):
        opened(tmp_path)


def test_tokens_lie_beside_what_they_were_made_from(tmp_path: Path) -> None:
    """Our promise: nanoGPT's own folder is read."""
    for split in ("train", "val"):
        ids(3 * WINDOW, 60).astype("<u2").tofile(tmp_path / f"{split}.bin")
    for name in ("input.txt", "prepare.py", "readme.md"):
        (tmp_path / name).write_text("import os\n\nFirst Citizen:\n", encoding="utf-8")
    (tmp_path / "meta.pkl").write_bytes(b"\x80\x04\x95 not read")
    assert (opened(tmp_path).format, opened(tmp_path).samples) == ("token-bin", 6)


@pytest.mark.parametrize("n", [0, 900])
def test_a_file_that_ends_early_is_cut(tmp_path: Path, n: int) -> None:
    """Our promise: fewer tokens than llm.c's header tells, or none, are a damaged file and no sample."""
    (tmp_path / "edu_train_000001.bin").write_bytes(header(20240520, 2000) + ids(2000).astype("<u2").tobytes())
    (tmp_path / "edu_train_000002.bin").write_bytes(header(20240520, 2000) + ids(n).astype("<u2").tobytes())
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert found["truncated"].where[0]["file"] == "edu_train_000002.bin"
    assert opened(tmp_path).samples == 1


def test_shards_of_16_bit_arrays_are_streams_and_a_signal_is_none(tmp_path: Path) -> None:
    for name in ("edu_train_000001", "edu_train_000002", "edu_val_000000"):
        np.save(tmp_path / f"{name}.npy", ids(9 * WINDOW, 50_000).astype("u2"))
    assert opened(tmp_path).splits == {"train": 18, "val": 9}
    for path in tmp_path.iterdir():
        path.unlink()
    wave = 2000 + 900 * np.sin(np.arange(20 * WINDOW) / 50) + DRAW.normal(0, 30, 20 * WINDOW)
    np.save(tmp_path / "signal.npy", wave.astype("u2"))
    assert opened(tmp_path).samples == 20 * WINDOW


@pytest.mark.parametrize("names", [("user", "item"), ("rec_0", "rec_1", "rec_2", "rec_3")], ids=["columns", "samples"])
def test_other_arrays_of_16_bits_are_no_streams(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Our promise: two columns of codes, or a recording a file, are not joined into one stream."""
    for name in names:
        np.save(tmp_path / f"{name}.npy", ids(9 * WINDOW, 50_000).astype("u2"))
    assert {f.name for f in opened(tmp_path).fields} != {"tokens"}


def test_a_file_of_such_a_name_among_others_is_foreign(tmp_path: Path) -> None:
    """Our promise: images stay images beside one."""
    from PIL import Image

    for i in range(120):
        Image.fromarray(DRAW.integers(0, 256, (8, 8, 3), np.uint8)).save(tmp_path / f"{i}.png")
    ids(3000).astype("<u2").tofile(tmp_path / "train.bin")
    assert opened(tmp_path).format == "image-folder"


def test_a_short_split_is_kept(tmp_path: Path) -> None:
    """Our promise: windows are no longer than a short validation split, so that it has one."""
    ids(20 * WINDOW).astype("<u2").tofile(tmp_path / "train.bin")
    ids(900).astype("<u2").tofile(tmp_path / "val.bin")
    source = opened(tmp_path)
    assert (source.splits, source.fields[0].shape) == ({"train": 20 * WINDOW // 900, "val": 1}, (900,))
    assert not [f for f in scan(tmp_path, tmp_path).findings if f.severity != "info"]

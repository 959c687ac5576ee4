"""What a data set's layout says should be there: shards of a series, samples of a class folder."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.absent import missing_shards
from dataloader_expert.sources.pictures import decode_image
from tests.making.scanning import scan


@given(
    total=st.integers(4, 60),
    first=st.sampled_from([0, 1]),
    gone=st.integers(0, 100),
    of=st.booleans(),
    folder=st.sampled_from(["", "train/", "a-01/"]),
)
def test_the_shard_left_out_of_a_series_is_named(total: int, first: int, gone: int, of: bool, folder: str) -> None:
    last = total - 1 + first
    names = [f"{folder}part-{n:05}{f'-of-{total:05}' if of else ''}.tar" for n in range(first, last + 1)]
    lost = names[1 + gone % (total - 2)]  # an end can be missed only where the total is written
    assert missing_shards(names) == []
    assert missing_shards([n for n in names if n != lost]) == [lost]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["sales-2019.csv", "sales-2021.csv", "sales-2022.csv"], id="years"),
        pytest.param(["a-0007.tar", "a-0009.tar", "a-0010.tar"], id="a series that begins elsewhere"),
        pytest.param(["x-00000.tar", "x-00500.tar", "x-01000.tar"], id="a part taken on purpose"),
        pytest.param(["train.csv", "test.csv"], id="no numbers"),
    ],
)
def test_what_is_no_series_misses_nothing(names: list[str]) -> None:
    assert missing_shards(names) == []


def test_a_series_that_was_dealt_out_to_folders_lacks_what_none_has() -> None:
    """Seen: windows of a recording were split at random, and each that was in the test folder was missing in training."""
    names = [f"{'test' if k % 4 == 1 else 'train'}/a-{k:02}.csv" for k in range(12)]
    assert missing_shards(names) == []
    assert missing_shards([n for n in names if n != "train/a-06.csv"]) == ["train/a-06.csv"]
    both = [f"{split}/b-{k:02}.csv" for split in ("train", "test") for k in range(5)]
    assert missing_shards(both[:3] + both[4:]) == ["train/b-03.csv"]


def rows(path: Path, n: int, start: int = 0) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["x", "y"], *([i, i * i] for i in range(start, start + n))])


def test_a_shard_that_is_not_there_is_told(tmp_path: Path) -> None:
    for k in range(5):
        rows(tmp_path / f"part-{k:03}.csv", 20, 20 * k)
    (tmp_path / "part-002.csv").unlink()
    [told] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "missing-shard"]
    assert [w["file"] for w in told.where] == ["part-002.csv"]


def test_an_empty_class_folder_is_told_of_arrays_too(tmp_path: Path) -> None:
    for kind in ("ant", "bee"):
        (tmp_path / kind).mkdir()
        for i in range(6):
            np.save(tmp_path / kind / f"{i}.npy", np.random.default_rng([len(kind), i]).normal(size=(4, 3)))
    (tmp_path / "fly").mkdir()
    [told] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "empty-class"]
    assert [w["file"] for w in told.where] == ["fly"]


@pytest.mark.parametrize("rest", ["archive", "picture", "zeros", "nothing"])
@pytest.mark.parametrize("how", [{"format": "PNG"}, {"format": "JPEG"}, {"format": "JPEG", "progressive": True}])
def test_only_a_file_of_its_own_behind_a_picture_is_told(how: dict[str, object], rest: str) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (80, 60, 3), np.uint8)
    out, archive = io.BytesIO(), io.BytesIO()
    Image.fromarray(pixels).save(out, **how)  # type: ignore[arg-type]  # its stubs name the options one by one
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("a.txt", "x" * 300)
    added = {"archive": archive.getvalue(), "picture": out.getvalue(), "zeros": bytes(64), "nothing": b""}[rest]
    problems: list[Unreadable] = []
    assert decode_image(out.getvalue() + added, "a", problems).size == (60, 80)
    assert [p.code for p in problems] == (["trailing-bytes"] if rest == "archive" else [])


def test_each_row_that_is_no_text_is_placed(tmp_path: Path) -> None:
    lines = [b"a,b", *(f"{i},w{i}é".encode() for i in range(40))]
    lines[5], lines[9], lines[21] = b"4,caf\xe9", b"8,\xff\xfe", b"20,a\0b"
    (tmp_path / "t.csv").write_bytes(b"\n".join(lines) + b"\n")
    said = scan(tmp_path / "t.csv", tmp_path)
    [told] = [f for f in said.findings if f.code == "encoding-error"]
    assert [w["sample"] for w in told.where] == [4, 8, 20]
    assert not [f for f in said.findings if f.severity == "error"]


def test_each_odd_cell_of_a_column_of_numbers_is_placed(tmp_path: Path) -> None:
    body = ["a,b", *(f"{i}.5,{i}" for i in range(60))]
    body[8], body[31] = "wide,7", "narrow,30"
    (tmp_path / "t.csv").write_text("\n".join(body) + "\n", encoding="utf-8")
    [told] = [f for f in scan(tmp_path / "t.csv", tmp_path).findings if f.code == "dtype-drift"]
    assert [w["sample"] for w in told.where] == [7, 30]

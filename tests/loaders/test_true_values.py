"""What is delivered is what is stored: no value is rounded, cast or cut without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dataloader_expert.loaders import create_loader, open_dataset


def test_fortran_order_is_the_same_data(tmp_path: Path) -> None:
    """Our promise: a saved transpose has rows like any other array, and goes with its labels."""
    seed = int(np.random.default_rng().integers(2**32))
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(50, 3, 4)), np.arange(50)
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    np.save(tmp_path / "y.npy", y)
    dataset = open_dataset(tmp_path)
    assert len(dataset) == 50
    for i in rng.permutation(50)[:9].tolist():
        assert dataset[i]["x"].numpy().tolist() == x[i].tolist() and int(dataset[i]["y"]) == i


def test_large_rows_in_fortran_order_are_read_in_one_piece(tmp_path: Path) -> None:
    """Our promise: pictures that were saved so are the same, too."""
    x = np.random.default_rng(3).integers(0, 255, (12, 3, 32, 32), dtype=np.uint8)
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    dataset = open_dataset(tmp_path / "x.npy")
    assert len(dataset.source.units) == 1
    assert all(dataset[i]["x"].numpy().tolist() == x[i].tolist() for i in range(12))


def test_hashes_are_told_apart(tmp_path: Path) -> None:
    """Our promise: numbers beyond the largest int64 are not rounded to floats."""
    ids = [2**62 + 1, 2**62 + 3, 2**64 - 5]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"id": i}) + "\n" for i in ids))
    dataset = open_dataset(tmp_path / "a.jsonl")
    assert [int(dataset[i]["id"].item()) for i in range(3)] == ids


def test_bytes_stay_bytes(tmp_path: Path) -> None:
    """Our promise: what is no text is not made one."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    stored = [bytes([0, 255, n]) for n in range(4)]
    pq.write_table(pa.table({"blob": pa.array(stored, pa.binary())}), tmp_path / "a.parquet")
    dataset = open_dataset(tmp_path / "a.parquet")
    assert [dataset[i]["blob"] for i in range(4)] == stored
    assert next(iter(create_loader(tmp_path / "a.parquet", None, 4, 0)))["blob"] == stored


def test_lengths_that_differ_are_an_error(tmp_path: Path) -> None:
    """Our promise: labels of other rows are not delivered silently; whoever wants the first rows says so."""
    np.savez(tmp_path / "a.npz", x=np.arange(10.0), y=np.arange(7))
    with pytest.raises(ValueError, match=r"x has 10 rows, y has 7 rows.*unreadable='skip'"):
        open_dataset(tmp_path / "a.npz")
    assert len(open_dataset(tmp_path / "a.npz", unreadable="skip")) == 7


def test_recordings_of_several_encodings_have_one_scale(tmp_path: Path) -> None:
    """Our promise: in a batch, half of the full scale is one number."""
    sf = pytest.importorskip("soundfile")
    (tmp_path / "a").mkdir()
    for i, kind in enumerate(("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT")):
        sf.write(tmp_path / "a" / f"{i}.wav", np.full(50, 0.5), 8000, subtype=kind)
    audio = next(iter(create_loader(tmp_path, None, 5, 0)))["audio"]
    assert audio.dtype == torch.float32
    assert torch.allclose(audio, torch.full_like(audio, 0.5))


def test_pixels_that_do_not_fit_are_an_error(tmp_path: Path) -> None:
    """Our promise: 0.75 among whole numbers is not 0."""
    (tmp_path / "a").mkdir()
    for i in range(4):
        Image.fromarray(np.full((2, 2), 1000, np.uint16)).save(tmp_path / "a" / f"{i}.tiff")
    Image.fromarray(np.full((2, 2), 0.75, np.float32)).save(tmp_path / "a" / "4.tiff")
    dataset = open_dataset(tmp_path)
    assert int(dataset[0]["image"].max()) == 1000
    with pytest.raises(RuntimeError, match="its pixels are float32 and do not fit uint16"):
        dataset[4]


@pytest.mark.parametrize("kind", ["png", "gif"])
def test_a_palette_of_colours_is_in_colour(tmp_path: Path, kind: str) -> None:
    """Our promise: indices of a palette are no greys."""
    (tmp_path / "a").mkdir()
    for i in range(4):
        pixels = np.random.default_rng(i).integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).quantize(64).save(tmp_path / "a" / f"{i}.{kind}")
    assert next(iter(create_loader(tmp_path, None, 4, 0)))["image"].shape == (4, 3, 8, 8)


def test_a_transform_that_runs_out_is_an_error(tmp_path: Path) -> None:
    """Our promise: no epoch ends early because an iterator in a transform did; and an error there names its sample."""
    (tmp_path / "a.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(9)))

    def ends(sample: dict[str, Any]) -> Any:
        return next(iter([])) if int(sample["id"]) == 7 else sample

    def fails(sample: dict[str, Any]) -> Any:
        raise ValueError("no")

    for unreadable in ("raise", "skip"):
        with pytest.raises(RuntimeError, match="StopIteration for sample 7"):
            list(create_loader(tmp_path / "a.csv", None, 3, 0, transform=ends, unreadable=unreadable))
    with pytest.raises(ValueError) as error:
        open_dataset(tmp_path / "a.csv", transform=fails)[4]
    assert error.value.__notes__ == ["in the transform of sample 4"]


def test_a_named_file_is_read_whatever_stands_beside_it(tmp_path: Path) -> None:
    """Our promise: the compressed file that was named is not taken for its plain twin."""
    import gzip

    (tmp_path / "a.csv").write_text("id\n1\n2\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id\n7\n8\n"))
    assert int(open_dataset(tmp_path / "a.csv.gz")[0]["id"]) == 7
    assert len(open_dataset(tmp_path, format="csv")) == 2

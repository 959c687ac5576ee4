"""Arrays that files or folders, not names within them, say to be fields of the same samples; and axes that are in doubt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.sources.noise import written

RNG = np.random.default_rng(8)


def opened(path: Path) -> Any:
    return open_source(SourceRef(str(path), (str(path),)), [])


def images(n: int) -> Any:
    return RNG.integers(0, 256, (n, 12, 12), np.uint8)


def test_files_of_one_array_without_a_name_are_fields_of_the_same_samples(tmp_path: Path) -> None:
    """Seen: images and labels in NPZ files of their own were stacked as samples, with errors of shapes and splits."""
    kept = {split: (images(n), RNG.integers(0, 9, n)) for split, n in (("train", 40), ("test", 20))}
    for split, (pixels, labels) in kept.items():
        np.savez_compressed(tmp_path / f"kana-{split}-imgs.npz", pixels)
        np.savez_compressed(tmp_path / f"kana-{split}-labels.npz", labels)
    source = opened(tmp_path)
    assert (source.splits, source.label, source.modality) == ({"test": 20, "train": 40}, "labels", "image")
    assert not source.problems
    for unit in source.units:
        columns = source.decode(unit, source.read(unit)).columns
        assert np.array_equal(columns["imgs"].values, kept[unit.split][0])
        assert np.array_equal(columns["labels"].values, kept[unit.split][1])


@pytest.mark.parametrize(
    "names", [("a-train", "a-test"), ("cats", "dogs"), ("shard-00", "shard-01")], ids=["splits", "words", "shards"]
)
def test_other_files_of_one_array_without_a_name_stay_shards(tmp_path: Path, names: tuple[str, str]) -> None:
    """Our promise: as many rows in each alone make no fields of them."""
    for name in names:
        np.savez(tmp_path / f"{name}.npz", images(30))
    assert opened(tmp_path).samples == 60


def test_folders_of_conditions_that_hold_the_same_arrays_are_read_one_after_another(tmp_path: Path) -> None:
    """Seen: each whole array was told as a sample, and each condition as its class."""
    for condition in ("brightness", "fog", "identity"):
        (tmp_path / "c" / condition).mkdir(parents=True)
        for split, n in (("train", 20), ("test", 10)):
            np.save(tmp_path / "c" / condition / f"{split}_images.npy", images(n))
            np.save(tmp_path / "c" / condition / f"{split}_labels.npy", RNG.integers(0, 9, n))
    source = opened(tmp_path)
    assert (source.splits, source.label, source.modality) == ({"test": 30, "train": 60}, "labels", "image")
    assert "brightness" in source.unread["folders"]


def test_arrays_in_folders_of_classes_stay_samples(tmp_path: Path) -> None:
    """Our promise: a file each in folders of classes is a sample each, with equal names as well."""
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for i in range(8):
            np.save(tmp_path / name / f"{i:03}.npy", images(4).astype(np.float32))
    source = opened(tmp_path)
    assert (source.samples, source.label) == (16, "label")


@pytest.mark.parametrize("time_first", [True, False])
def test_clips_whose_first_axis_is_time_are_told(tmp_path: Path, time_first: bool) -> None:
    """Seen: frames of moving digits, [time, sample, height, width], were told as so few samples without any doubt."""
    start = RNG.integers(0, 256, (1, 40, 12, 12))
    clips = np.clip(start + RNG.integers(-9, 9, (10, 40, 12, 12)), 0, 255).astype(np.uint8)
    np.save(tmp_path / "seq.npy", clips if time_first else RNG.integers(0, 256, clips.shape).astype(np.uint8))
    assert ("seq" in opened(tmp_path).unread) is time_first


def test_tables_in_a_folder_for_each_split_say_the_split(tmp_path: Path) -> None:
    """Seen: Kaldi's tables were joined, and their folders not taken for splits; the speaker had no name."""
    for i in range(24):
        name, split = f"{100 + i // 4}-1240-{i:04}", ("train", "train", "dev")[i // 8]
        written(tmp_path / f"audio/{name}.wav", RNG)
        folder = tmp_path / "data" / split
        folder.mkdir(parents=True, exist_ok=True)
        for table, value in (
            ("wav.scp", f"audio/{name}.wav"),
            ("text", f"SO IT WAS{' AND ON' * (i % 5)}"),
            ("utt2spk", name[:3]),
        ):
            with (folder / table).open("a") as out:
                out.write(f"{name} {value}\n")
    source = opened(tmp_path)
    assert source.splits == {"dev": 8, "train": 16}
    assert {"speaker", "text"} <= {f.name for f in source.annotated}


def test_tables_of_all_files_in_folders_of_splits_say_no_split(tmp_path: Path) -> None:
    """Our promise: tables that name the same files divide nothing."""
    for i in range(12):
        written(tmp_path / f"images/{i * 37}.png", RNG)
    for split in ("train", "test"):
        (tmp_path / "lists" / split).mkdir(parents=True)
        rows = [f"{i * 37}.png,{(i * i) % 5}\n" for i in range(12)]
        (tmp_path / "lists" / split / "targets.csv").write_text("file,grade\n" + "".join(rows))
    source = opened(tmp_path)
    assert not source.splits and not source.problems


def volumes(folder: Path, homes: dict[str, tuple[str, str]], shape: tuple[int, ...] = (9, 10, 11)) -> None:
    """Five volumes of each split, and a mask of each."""
    for split, (own, masks) in homes.items():
        for name in (own, masks):
            (folder / name).mkdir(parents=True)
        for i in range(5):
            np.save(folder / own / f"{split}_{i}.npy", RNG.normal(0, 1, shape).astype(np.float32))
            np.save(folder / masks / f"{split}_{i}.npy", RNG.integers(0, 3, shape, np.uint8))


@pytest.mark.parametrize(
    ("train", "other", "name"),
    [
        (("imagesTr", "labelsTr"), ("imagesTs", "labelsTs"), "target"),
        (("images/train", "masks/train"), ("images/test", "masks/test"), "mask"),
        (("train/inputs", "train/targets"), ("test/inputs", "test/targets"), "target"),
    ],
)
def test_masks_of_volumes_are_a_field_of_them(
    tmp_path: Path, train: tuple[str, str], other: tuple[str, str], name: str
) -> None:
    """Seen: volumes and their masks, a file each, were samples of one field, of which half had another dtype."""
    volumes(tmp_path, {"train": train, "test": other})
    source = opened(tmp_path)
    assert (source.splits, [f.name for f in source.fields]) == ({"test": 5, "train": 5}, ["data", name])
    assert (source.fields[1].kind, source.fields[1].shape, source.problems) == ("mask", (9, 10, 11), [])
    for unit in source.units:
        block = source.decode(unit, source.read(unit))
        assert block.columns["data"].values[0].dtype == np.float32
        assert set(np.unique(block.columns[name].values[0])) <= {0, 1, 2} and not block.problems


def test_a_mask_that_is_lost_or_of_another_shape_is_told(tmp_path: Path) -> None:
    volumes(tmp_path, {"train": ("images", "masks")})
    (tmp_path / "masks" / "train_0.npy").unlink()
    np.save(tmp_path / "masks" / "train_1.npy", np.zeros((9, 10, 12), np.uint8))
    source = opened(tmp_path)
    assert [(p.code, p.where["file"]) for p in source.problems] == [("missing-pair", "images/train_0.npy")]
    [unit] = (unit for unit in source.units if unit.file.endswith("_1.npy"))
    assert [p.code for p in source.decode(unit, source.read(unit)).problems] == ["length-mismatch"]


def test_class_folders_of_arrays_stay_classes(tmp_path: Path) -> None:
    """Our promise: names of partners alone make none: these files are called differently in each folder."""
    for i, name in enumerate(("masks", "faces")):
        (tmp_path / name).mkdir()
        for k in range(6):
            np.save(tmp_path / name / f"{6 * i + k}.npy", RNG.normal(0, 1, (9, 9)).astype(np.float32))
    assert opened(tmp_path).classes == ("faces", "masks")

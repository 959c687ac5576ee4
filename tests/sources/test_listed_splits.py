"""Lists of splits: of samples whose names come again in other folders, of folds, with classes, and as numbers."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

rng = np.random.default_rng(0)


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 256, (12, 12, 3), np.uint8)).save(path)


def sound(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes(rng.integers(-9, 9, 400, np.int16).tobytes())


def lines(path: Path, of: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in of))


def test_lists_divide_the_folder_of_training(tmp_path: Path) -> None:
    """Seen: KITTI's ImageSets were not used, as its test folder holds files of the same names."""
    for folder, n in (("training", 12), ("testing", 6)):
        for i in range(n):
            picture(tmp_path / folder / "image_2" / f"{i:06}.png")
    lines(tmp_path / "ImageSets" / "train.txt", [f"{i:06}" for i in range(8)])
    lines(tmp_path / "ImageSets" / "val.txt", [f"{i:06}" for i in range(8, 12)])
    lines(tmp_path / "ImageSets" / "test.txt", [f"{i:06}" for i in range(6)])
    assert opened(tmp_path).splits == {"train": 8, "val": 4, "test": 6}


def test_lists_of_folds_are_told(tmp_path: Path) -> None:
    """Seen: of TUT's folds, only the list of the first test split was used, no label was found, and nothing said that there are more."""
    names = [f"a{i:03}.wav" for i in range(36)]
    for name in names:
        sound(tmp_path / "audio" / name)
    kind = dict(zip(names, ("beach", "bus", "park") * 12, strict=True))
    lines(tmp_path / "meta.txt", [f"audio/{name}\t{kind[name]}\ts{i // 2}" for i, name in enumerate(names)])
    for fold in (1, 2, 3):
        test = names[12 * (fold - 1) : 12 * fold]
        train = [f"audio/{name}\t{kind[name]}" for name in names if name not in test]
        lines(tmp_path / "setup" / f"fold{fold}_train.txt", train)
        lines(tmp_path / "setup" / f"fold{fold}_test.txt", [f"audio/{name}" for name in test])
    source = opened(tmp_path)
    assert (source.splits, source.classes) == ({"test": 12, "train": 24}, ("beach", "bus", "park"))
    assert "3 folds" in source.unread["folds"]  # type: ignore[attr-defined]  # folders of images note it


def test_numbers_of_splits_that_count_from_one(tmp_path: Path) -> None:
    """Seen: VoxCeleb's iden_split.txt, with 1, 2 or 3 before each path, stayed a number."""
    said = []
    for speaker in ("id10001", "id10002"):
        for i in range(12):
            sound(tmp_path / "wav" / speaker / f"{i:05}.wav")
            said.append(f"{1 if i < 8 else 2 + i % 2} {speaker}/{i:05}.wav")
    lines(tmp_path / "iden_split.txt", said)
    roles = opened(tmp_path).roles
    assert roles is not None
    assert roles.split is not None
    assert roles.splits == {1: "train", 2: "val", 3: "test"}


def test_clips_that_lists_name_below_their_class(tmp_path: Path) -> None:
    """Seen: UCF101's frames had a class for each clip."""
    for split, first in (("train", 0), ("test", 4)):
        said = []
        for name in ("Archery", "Diving"):
            for g in range(first, first + (4 if split == "train" else 2)):
                said.append(f"{name}/v_{name}_g{g:02}.avi")
                for i in range(3):
                    picture(tmp_path / "frames" / f"v_{name}_g{g:02}" / f"{i:04}.png")
        lines(tmp_path / "lists" / f"{split}list01.txt", said)
    source = opened(tmp_path)
    assert (source.classes, source.splits) == (("Archery", "Diving"), {"train": 24, "test": 12})
    assert source.roles is not None
    assert source.roles.group is not None


def test_a_table_names_the_class_before_a_box(tmp_path: Path) -> None:
    """Seen: the classes of ImageNet's validation split, which a solution file gives with boxes behind, were missing."""
    for name in ("n01", "n02"):
        for i in range(8):
            picture(tmp_path / "train" / name / f"{name}_{i}.png")
    rows = [f"val_{i:04},{('n01', 'n02')[i % 2]} 1 2 {i} 9 " for i in range(6)]
    for i in range(6):
        picture(tmp_path / "val" / f"val_{i:04}.png")
    lines(tmp_path / "val_solution.csv", ["ImageId,PredictionString", *rows])
    source = opened(tmp_path)
    assert [unit.label for unit in source.units if unit.split == "val"] == ["n01", "n02"] * 3


def test_tables_of_folds_do_not_overlap(tmp_path: Path) -> None:
    """Seen: tables of five folds were taken together, and each sample of validation was said to be in training too."""
    rows = [(f"c{i % 2}", f"x{i}.png") for i in range(20)]
    for name, file in rows:
        picture(tmp_path / "img" / name / file)
    for fold in range(4):
        for split in ("train", "val"):
            kept = [f"img/{n}/{f},{n[1]}" for i, (n, f) in enumerate(rows) if (i // 2 % 4 == fold) == (split == "val")]
            lines(tmp_path / "splits" / f"fold_{fold}_{split}.csv", ["path,label", *kept])
    source = opened(tmp_path)
    assert (source.splits, source.problems) == ({"train": 14, "val": 6}, [])
    assert "4 folds" in source.unread["folds"]  # type: ignore[attr-defined]  # folders of images note it


def test_numbers_behind_the_names_of_clips_are_their_classes(tmp_path: Path) -> None:
    """Seen: lists of a clip, its number of frames and its class, as of mmaction, made a class of each clip."""
    for split, clips in (("train", range(4)), ("val", range(4, 6))):
        for c in clips:
            for k in range(2):
                for i in range(3):
                    picture(tmp_path / "rawframes" / f"vid{k}{c}" / f"img_{i:05}.png")
        lines(tmp_path / f"{split}_list.txt", [f"vid{k}{c} 3 {k}" for k in range(2) for c in clips])
    source = opened(tmp_path)
    assert (source.classes, source.splits) == (("0", "1"), {"train": 24, "val": 12})


def test_lists_in_json_divide_files(tmp_path: Path) -> None:
    """Seen: ShapeNet's lists of shapes, below a folder that is not there and without suffixes, divided nothing."""
    for c in ("0269", "0300"):
        for i in range(10):
            picture(tmp_path / c / f"{c}a{i:02}.png")
    for split, at in (("train", range(7)), ("val", (7,)), ("test", (8, 9))):
        named = [f"shape_data/{c}/{c}a{i:02}" for c in ("0269", "0300") for i in at]
        lines(tmp_path / "split" / f"shuffled_{split}_file_list.json", [json.dumps(named)])
    source = opened(tmp_path)
    assert (source.classes, source.splits) == (("0269", "0300"), {"train": 14, "val": 2, "test": 4})
    assert source.problems == []


@pytest.mark.parametrize("held", [{"epochs": 3}, ["a setting", "another one"]], ids=["settings", "texts"])
def test_settings_in_json_beside_lists_are_no_lists(tmp_path: Path, held: object) -> None:
    """Seen: ``train.json`` with settings took the place of ``train.txt``, and no list divided anything."""
    for i in range(12):
        picture(tmp_path / "images" / f"{i:03}.png")
    for split, at in (("train", range(9)), ("val", range(9, 12))):
        lines(tmp_path / f"{split}.txt", [f"images/{i:03}.png" for i in at])
        lines(tmp_path / f"{split}.json", [json.dumps(held)])
    assert opened(tmp_path).splits == {"train": 9, "val": 3}

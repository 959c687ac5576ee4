"""Folders that are no classes, and those that are, whatever else they look like."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.sources.noise import written

RNG = np.random.default_rng(5)


def opened(tmp_path: Path, names: Iterable[str]) -> Any:
    for name in names:
        written(tmp_path / name, RNG)
    return open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])


def each(folders: Iterable[str], files: Iterable[str]) -> list[str]:
    return [f"{folder}/{file}" for folder, file in itertools.product(folders, files)]


COUNTED = [f"{i:03}.png" for i in range(1, 9)]
FRAMES = [f"{i:08}.png" for i in range(1, 9)]
CLASSES = {
    "digits with equal names": (each("0123456789", COUNTED), 10),
    "numbers from 1 on": (each("12345", COUNTED), 5),
    "words with equal names": (each(["cat", "dog"], COUNTED), 2),
    "classes in each split": (each(["train/cat", "train/dog", "val/cat", "val/dog"], COUNTED), 2),
    "numbered classes in each split": (each(["train/sku_01", "train/sku_02", "val/sku_01", "val/sku_02"], FRAMES), 2),
    "letters, numbered in folder and name": (
        [f"Sample{c:03}/img{c:03}-{i:05}.png" for c in range(1, 7) for i in range(1, 9)],
        6,
    ),
    "faces by number": (each(["s1", "s2", "s3", "s4"], [f"{i}.png" for i in range(1, 9)]), 4),
    "persons of other splits": (each(["train/0001", "train/0002", "test/0003", "test/0004"], COUNTED), 4),
    "a number in each name after another": ([f"{c}/{i % 5 + 1}-{i * 91}-A-{c}.wav" for c in range(10) for i in range(10)], 10),
    "the class first in each name": ([f"{c}/{c}_{s:02}_{t}.wav" for c in range(1, 6) for s in (1, 2) for t in range(4)], 5),
    "synsets": ([f"n0144076{c}/n0144076{c}_{i * 37}.png" for c in range(4) for i in range(8)], 4),
    "forgeries of the same names": (each(["real", "fake"], [f"{i * 7919 % 10007}.png" for i in range(9)]), 2),
    "kinds of sound": (each(["music", "noise", "speech"], [f"{i:03}.wav" for i in range(9)]), 3),
    "sentences in each mood": (each(["angry", "happy", "sad"], [f"{s}_a{i * 37}.wav" for s in "xyz" for i in range(3)]), 3),
    "views of each of few": (each(["car", "mug", "shoe"], ["front.png", "back.png", "left.png"]), 3),
    "files called after the class": ([f"{c}/{c}_{i:02}.png" for c in ("cat", "dog", *"abcdefghi") for i in range(6)], 11),
}  # fmt: skip
NONE = {
    "frames of sequences": each(
        [*(f"train/Run_T_{i:06}" for i in range(1, 5)), *(f"val/Run_V_{i:06}" for i in (1, 2))], FRAMES
    ),
    "a folder for each split": [
        f"{f}/{f}/A_{i * 31:07}.png" for f in ("A_Training_Input", "A_Test_Input") for i in range(9)
    ],
    "speakers within names": [f"{s:02}/{d}_{s:02}_{t}.wav" for s in (1, 2, 3) for d in range(5) for t in (0, 1, 2)],
    "parts of mixtures": each(
        ["train/mix_clean", "train/s1", "train/s2", "dev/mix_clean", "dev/s1", "dev/s2"],
        [f"{i * 977}-71_{i * 13}.wav" for i in range(9)],
    ),
    "bands of patches": [f"S2_{p * 37}/S2_{p * 37}_{b}.png" for p in range(1, 12) for b in ("B01", "B02", "B8A")],
    "streams by time": [
        f"scene/{s}/{1300 + i * 3 + o}.{o}7.png" for o, s in enumerate(("rgb", "depth")) for i in range(9)
    ],
}


@pytest.mark.parametrize(("names", "classes"), CLASSES.values(), ids=CLASSES)
def test_folders_of_classes_stay_classes(tmp_path: Path, names: list[str], classes: int) -> None:
    """Our promise: equal names, numbers and splits alone take no folder its class."""
    source = opened(tmp_path, names)
    assert source.by_folder and len(source.classes) == classes and source.samples == len(names)


@pytest.mark.parametrize("names", NONE.values(), ids=NONE)
def test_other_folders_are_no_classes(tmp_path: Path, names: list[str]) -> None:
    """Seen: sequences, splits, speakers, parts of mixtures, patches and streams were told as classes with confidence."""
    source = opened(tmp_path, names)
    assert not source.by_folder and source.label is None


def test_what_folders_were_taken_of_is_the_group(tmp_path: Path) -> None:
    """Our promise: speakers that names repeat must not straddle splits."""
    source = opened(tmp_path, NONE["speakers within names"])
    assert {*source.roles.folders.values()} == {"01", "02", "03"}


def test_a_further_stream_is_told_and_not_read_as_samples(tmp_path: Path) -> None:
    source = opened(tmp_path, NONE["streams by time"])
    assert source.samples == 9 and source.unread["depth"].startswith("9 files beside the samples")


def test_images_beside_a_folder_of_others_are_all_read(tmp_path: Path) -> None:
    """Our promise: a folder that is called by a role beside files in none tells no stream."""
    source = opened(tmp_path, [f"{i * 37}.png" for i in range(9)] + [f"masks/m{i * 91}.png" for i in range(9)])
    assert source.samples == 18


def test_a_note_beside_folders_of_classes_makes_none(tmp_path: Path) -> None:
    """Seen: a summary in each part of a collection made classes of the parts, and equal summaries a conflict of labels."""
    parts = [f"part{p}/{c}/{i:04}.farmer.txt" for p in (1, 2) for c in ("ham", "spam") for i in range(6)]
    source = opened(tmp_path, [*parts, "part1/Summary.txt", "part2/Summary.txt"])
    assert (source.classes, source.samples) == (("ham", "spam"), 24)
    assert {p.where["file"] for p in source.problems} == {"part1/Summary.txt", "part2/Summary.txt"}


@pytest.mark.parametrize("other", ["masks/masks", "data/scenes/label_images_semantic"])
def test_masks_in_another_folder_of_the_same_names_belong_to_their_images(tmp_path: Path, other: str) -> None:
    """Seen: photographs and their masks under other parents were told as classes."""
    for i in range(12):
        written(tmp_path / f"data/scenes/original_images/{i:03}.png", RNG)
        mask = np.zeros((16, 16), np.uint8)
        mask[: 3 + i % 6, i % 9 :] = 1 + i % 2
        (tmp_path / other).mkdir(parents=True, exist_ok=True)
        Image.fromarray(mask).save(tmp_path / f"{other}/{i:03}.png")
    source = opened(tmp_path, [])
    assert (source.samples, [f.kind for f in source.partners]) == (12, ["mask"]) and not source.by_folder


def test_drawings_over_images_of_the_same_names_belong_to_them(tmp_path: Path) -> None:
    """Seen: ``images`` and ``visualized`` of the same pictures were told as two classes."""
    for i in range(12):
        pixels = np.kron(RNG.integers(0, 256, (6, 6, 3), np.uint8), np.ones((8, 8, 1), np.uint8))
        for folder in ("images", "visualized"):
            (tmp_path / "poses" / folder).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / f"poses/{folder}/im{i:04}.png")
            pixels[20:23] = 255
    source = opened(tmp_path, [])
    assert (source.samples, [f.name for f in source.partners]) == (12, ["visualized"]) and not source.by_folder


def test_a_list_of_files_says_more_than_numbered_folders(tmp_path: Path) -> None:
    """Seen: the parts of a download were told as classes, although the lists of splits number the class of each file."""
    names = [f"{a}/{b}/{i}_word{i * a * b}.png" for a in (1, 2, 3) for b in (1, 2, 3, 4) for i in range(5)]
    for split, some in (("train", names[:45]), ("val", names[45:])):
        lines = [f"./{name} {(i * 37 + len(split)) % 50}\n" for i, name in enumerate(some)]
        (tmp_path / f"annotation_{split}.txt").write_text("".join(lines))
    source = opened(tmp_path, names)
    assert not source.by_folder and "f1" in {f.name for f in source.annotated}

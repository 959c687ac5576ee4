"""Images of one scene in folders called by letters or numbers, and pairs of paths in a table."""

from __future__ import annotations

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


def picture(path: Path, mask: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = rng.integers(0, 2, (16, 16), np.uint8) * 255 if mask else rng.integers(0, 256, (16, 16, 3), np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.mark.parametrize("views", [("A", "B"), ("T1", "T2"), ("im1", "im2")])
def test_both_images_belong_to_the_mask_of_what_changed(tmp_path: Path, views: tuple[str, str]) -> None:
    """Seen: of LEVIR-CD, A and B were read as classes, and the mask of B was called missing."""
    for split, n in (("train", 8), ("val", 4)):
        for i in range(n):
            for view in views:
                picture(tmp_path / split / view / f"{split}_{i}.png")
            picture(tmp_path / split / "label" / f"{split}_{i}.png", mask=True)
    source = opened(tmp_path)
    assert (source.splits, source.label, source.problems) == ({"train": 8, "val": 4}, None, [])
    assert sorted(field.kind for field in source.fields) == ["image", "image", "mask"]


def test_a_folder_of_masks_beside_both_images_may_be_called_anything(tmp_path: Path) -> None:
    """Seen: the masks of WHU's change detection, in OUT beside A and B."""
    for split, n in (("train", 10), ("test", 6)):
        for i in range(n):
            scene = rng.integers(0, 256, (16, 16, 3), np.uint8)
            for view in ("A", "B"):
                path = tmp_path / split / view / f"{split}_{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(scene // (1 + (view == "B"))).save(path)
            picture(tmp_path / split / "OUT" / f"{split}_{i}.png", mask=True)
    source = opened(tmp_path)
    assert (source.samples, source.label) == (16, None)
    assert sorted(field.kind for field in source.fields) == ["image", "image", "mask"]


def test_letters_of_classes_stay_classes(tmp_path: Path) -> None:
    """Our promise: folders called A and B whose files are called differently are classes."""
    for name, first in (("A", 0), ("B", 50)):
        for i in range(8):
            picture(tmp_path / "train" / name / f"img{first + i}.png")
            picture(tmp_path / "test" / name / f"img{first + 20 + i}.png")
    assert opened(tmp_path).classes == ("A", "B")


def test_what_stands_beside_the_split_in_folders_is_a_class(tmp_path: Path) -> None:
    """Seen: the domains of CycleGAN's trainA, trainB, testA and testB were lost."""
    for split, n in (("train", 8), ("test", 4)):
        for domain, first in (("A", 100), ("B", 900)):
            for i in range(n):
                picture(tmp_path / f"{split}{domain}" / f"n{first + 7 * i}.png")
    source = opened(tmp_path)
    assert (source.classes, source.splits) == (("A", "B"), {"train": 16, "test": 8})


def test_a_row_of_two_paths_is_a_pair(tmp_path: Path) -> None:
    """Seen: of a table without a header with an image and its depth in each row, both were read as samples, the scene as the class."""
    for scene in ("kitchen_01", "office_02"):
        for i in range(6):
            picture(tmp_path / "train" / scene / f"{i}.jpg")
            picture(tmp_path / "train" / scene / f"{i}.png", mask=True)
    rows = [f"data/train/{s}/{i}.jpg,data/train/{s}/{i}.png\n" for s in ("kitchen_01", "office_02") for i in range(6)]
    (tmp_path / "train.csv").write_text("".join(rows))
    source = opened(tmp_path)
    assert (source.samples, source.label) == (12, None)
    assert sorted(field.kind for field in source.fields) == ["image", "mask"]

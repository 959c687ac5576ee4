"""Texts called after a split that say more of each file than that it is in it: boxes, classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from dataloader_expert.sources.samples import FileSamples

RNG = np.random.default_rng()
SPLITS = ("train", "val", "test")


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (24, 32, 3), np.uint8)).save(path)


def written(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def test_a_list_of_one_split_does_not_hide_the_boxes_of_the_others(tmp_path: Path) -> None:
    """Seen: beside the list of a test split the files with the boxes of faces were taken for lists, and not a word was said of them."""
    for split in SPLITS:
        names = [f"{event}/{split}_{i}.jpg" for event in ("0--Parade", "12--Group") for i in range(8)]
        for name in names:
            picture(tmp_path / f"WIDER_{split}" / "images" / name)
        faces = [line for i, name in enumerate(names) for line in (name, "1", f"{i} 3 9 9 0 0 0 0 0 0")]
        told = names if split == "test" else faces
        called = "filelist" if split == "test" else "bbx_gt"
        written(tmp_path / "wider_face_split" / f"wider_face_{split}_{called}.txt", told)
    source = opened(tmp_path)
    assert "boxes" in {field.name for field in source.fields}
    assert not source.problems


def test_texts_of_several_things_are_a_column_each_whatever_the_split(tmp_path: Path) -> None:
    """Seen: of the airplanes of FGVC neither variant nor maker was read, as their files are called after splits too."""
    names = [f"{n:07}" for n in RNG.choice(2_500_000, 60, replace=False)]
    for name in names:
        picture(tmp_path / "images" / f"{name}.jpg")
    variants = [("A310", "Cessna 172", "F/A-18", "DC-10")[i % 4] for i in range(60)]
    makers = [("Airbus", "Cessna", "Boeing", "Boeing")[i % 4] for i in range(60)]
    for at, split in enumerate(SPLITS):
        of = range(20 * at, 20 * at + 20)
        written(tmp_path / f"images_{split}.txt", [names[i] for i in of])
        written(tmp_path / f"images_variant_{split}.txt", [f"{names[i]} {variants[i]}" for i in of])
        written(tmp_path / f"images_maker_{split}.txt", [f"{names[i]} {makers[i]}" for i in of])
    source = opened(tmp_path)
    assert {"variant", "maker"} <= {field.name for field in source.fields}
    assert source.splits == dict.fromkeys(SPLITS, 20)
    assert not source.problems


def test_flags_of_classes_behind_names_are_lists_of_classes(tmp_path: Path) -> None:
    """Our promise: a list of each class, with a flag behind each name as Pascal VOC has them, is no table of targets."""
    names = [f"{i:06}" for i in range(30)]
    for name in names:
        picture(tmp_path / "JPEGImages" / f"{name}.jpg")
    for at, split in enumerate(SPLITS[:2]):
        of = names[15 * at : 15 * at + 15]
        written(tmp_path / "ImageSets" / f"{split}.txt", of)
        for kind in ("owl", "yak"):
            written(
                tmp_path / "ImageSets" / f"{kind}_{split}.txt", [f"{name} {i % 3 - 1}" for i, name in enumerate(of)]
            )
    source = opened(tmp_path)
    assert [field.name for field in source.fields] == ["image"]
    assert source.splits == {"train": 15, "val": 15}
    assert not source.problems


def test_targets_whose_names_recur_in_each_split_are_of_the_images_of_their_own(tmp_path: Path) -> None:
    """Seen: the texts of ICDAR's training images were said to have none, as those of the test split are called alike."""
    homes = {"ch4_training_images": "ch4_training_transcription_gt", "ch4_test_images": "Challenge4_Test_Task1_GT"}
    for (images, texts), n in zip(homes.items(), (20, 12), strict=True):
        for i in range(1, n + 1):
            picture(tmp_path / images / f"img_{i}.jpg")
            written(tmp_path / texts / f"gt_img_{i}.txt", [f"{i},2,{i + 9},2,{i + 9},9,{i},9,word{i}"])
    source = opened(tmp_path)
    assert not source.problems
    assert isinstance(source, FileSamples) and len(source.notes.by_line) == 32
    assert source.splits == {"train": 20, "test": 12}

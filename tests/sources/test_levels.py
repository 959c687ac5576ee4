"""Folders below classes, beside them and above them: which level names the class, and which one what samples were taken of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.sources.layout import folders_of
from tests.sources.test_layouts import RNG, complaints, mask, opened, picture, sound, written

VIDEOS = ("1zcIwhmdeo4", "7gWzIy6yIIk", "Gq5nZ2P4v_A", "b4b147bc522", "6512bd43d9c", "98f13708210")


def below(folders: list[str]) -> list[str]:
    return [f"{folder}/{i:02}.png" for folder in folders for i in range(4)]


@pytest.mark.parametrize(
    ("folders", "classes", "groups"),
    [
        (
            [f"{c}/b/{c}{n}_14-{p}A/{x}X" for c in ("ade", "fib") for n in "xy" for p in (21, 22) for x in (40, 100)],
            2,
            8,
        ),
        ([f"id1000{i // 2}/{video}" for i, video in enumerate(VIDEOS)], 3, 6),
        ([f"benign/patient{i}" for i in range(3)] + [f"malignant/patient{i}" for i in range(3, 6)], 2, 6),
        ([f"{c}/clip{i}" for c in ("walk", "run") for i in range(3)], 2, 6),
        ([f"patient{i}/study{k}" for i in range(4) for k in (1, 2)], 0, 4),
        ([f"images_{i:03}/images" for i in range(3)], 0, 0),
        ([f"airplane/{i:04}" for i in (13, 29, 77)] + [f"chair/{i:04}" for i in (102, 340, 512)], 2, 6),
        ([f"{a}/character{i:02}" for a in ("Greek", "Latin") for i in range(3)], 6, 0),
        # as they were
        ([f"{i:03}.bird {i}" for i in range(5)], 5, 0),
        ([f"n0144353{i}" for i in range(5)], 5, 0),
        ([f"fish/n0144353{i}" for i in range(3)] + [f"birds/n0155353{i}" for i in range(3)], 6, 0),
        ([f"site a/{i}" for i in range(3)] + [f"site b/{i}" for i in range(3)], 3, 0),
        ([f"digits/{i}" for i in range(3)] + [f"letters/{i}" for i in range(3, 6)], 6, 0),
        (["40X", "100X"], 2, 0),
        ([f"animal/{c}" for c in ("cat", "dog")] + [f"plant/{c}" for c in ("oak", "elm")], 4, 0),
        ([f"benign/grade{i}" for i in (1, 2)] + [f"malignant/grade{i}" for i in (3, 4)], 4, 0),
    ],
)
def test_the_class_is_the_level_with_better_names(folders: list[str], classes: int, groups: int) -> None:
    found = folders_of(below(folders))
    assert len(found.names) == classes
    assert len({*found.groups} - {None}) == groups


def test_the_folder_that_holds_the_classes_is_none() -> None:
    """Tiny ImageNet: training has a folder for each class, the other splits have none."""
    inner = [f"tiny/train/{c}/images/{c}_{i}.png" for c in ("n01443537", "n01629819") for i in range(9)]
    found = folders_of([*inner, *(f"tiny/{split}/images/{i}.png" for split in ("val", "test") for i in range(3))])
    assert found.names == ["n01443537", "n01629819"] and found.labels[18:] == [None] * 6


def test_what_is_searched_for_is_a_split() -> None:
    folders = ("bounding_box_train", "bounding_box_test", "query")
    assert folders_of(below([f"Market/{name}" for name in folders])).splits[::4] == ["train", "test", "query"]
    assert folders_of(below(["query", "answer"])).names == ["answer", "query"]


def test_pictures_of_what_classes_are_are_no_samples(tmp_path: Path) -> None:
    """GTSRB: the numbers of test images stand in a table, those of training images are folders."""
    for c in "012":
        picture(tmp_path / "Meta" / f"{c}.png")
        for i in range(8):
            picture(tmp_path / "Train" / c / f"{c}_{i}.png")
    for i in range(9):
        picture(tmp_path / "Test" / f"{i:05}.png")
    rows: dict[str, list[Any]] = {
        "Test": [(f"Test/{i:05}.png", i % 3) for i in range(9)],
        "Meta": [(f"Meta/{c}.png", c) for c in "012"],
    }
    for name, of in rows.items():
        written(tmp_path / f"{name}.csv", "".join(f"{a},{b}\n" for a, b in [("Path", "ClassId"), *of]))
    source = opened(tmp_path)
    assert (source.samples, source.classes) == (33, ("0", "1", "2"))
    assert [unit.label for unit in source.units if unit.split == "test"] == [str(i % 3) for i in range(9)]
    for c in ("Meta", "Zuse"):
        for i in range(8):
            picture(tmp_path / "companies" / c / f"{c}_{i}.png")
    assert opened(tmp_path / "companies").classes == ("Meta", "Zuse")


def test_patients_with_masks_are_no_classes(tmp_path: Path) -> None:
    for p in range(6):
        for i in range(4):
            picture(tmp_path / "scans" / f"TCGA_CS_494{p}_1996" / f"TCGA_CS_494{p}_1996_{i}.png")
            mask(tmp_path / "scans" / f"TCGA_CS_494{p}_1996" / f"TCGA_CS_494{p}_1996_{i}_mask.png")
            picture(tmp_path / "parts" / ["cap", "nut"][p % 2] / f"{p}{i}.png")
            mask(tmp_path / "parts" / ["cap", "nut"][p % 2] / f"{p}{i}_mask.png")
    source = opened(tmp_path / "scans")
    assert source.label is None and source.samples == 24
    assert source.roles is not None and len({*source.roles.folders.values()}) == 6
    assert opened(tmp_path / "parts").classes == ("cap", "nut")


def test_lists_of_splits_may_name_folders(tmp_path: Path) -> None:
    """DAVIS lists videos; UCF101 the recordings that its frames were cut from."""
    for k, clip in enumerate(("bear", "boat", "camel")):
        for i in range(4):
            picture(tmp_path / "davis" / "JPEGImages" / clip / f"{i:05}.jpg")
            mask(tmp_path / "davis" / "Annotations" / clip / f"{i:05}.png")
            for g in range(2):
                picture(tmp_path / "ucf" / "frames" / f"Act{'abc'[k]}" / f"v_{'abc'[k]}_g{g}_c01" / f"{i}.jpg")
    written(tmp_path / "davis" / "ImageSets" / "train.txt", "bear\nboat\n")
    written(tmp_path / "davis" / "ImageSets" / "val.txt", "camel\n")
    for split, g in (("train", 0), ("test", 1)):
        names = "".join(f"Act{c}/v_{c}_g{g}_c01.avi\n" for c in "abc")
        written(tmp_path / "ucf" / "lists" / f"{split}list01.txt", names)
    davis, ucf = opened(tmp_path / "davis"), opened(tmp_path / "ucf")
    assert (davis.label, davis.splits) == (None, {"train": 8, "val": 4})
    assert (ucf.classes, ucf.splits) == (("Acta", "Actb", "Actc"), {"train": 12, "test": 12})
    assert ucf.roles is not None and len({*ucf.roles.folders.values()}) == 6


def test_the_tracks_of_a_song_are_no_samples_of_a_class(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for i in range(6):
            for name in ("bass", "drums", "vocals"):
                sound(tmp_path / "songs" / split / f"Band - Song {split}{i}" / f"{name}.wav")
                sound(tmp_path / "sounds" / split / f"kind {i}" / f"{name}{i}.wav")
    source = opened(tmp_path / "songs")
    assert source.label is None and "bass, drums, vocals" in getattr(source, "unread", {})["parts"]  # all of one length
    assert len(opened(tmp_path / "sounds").classes or ()) == 6


def test_a_patient_of_two_splits_is_told_by_the_folders(tmp_path: Path) -> None:
    for split, patients in (("train", range(8)), ("test", range(6, 12))):
        for p in patients:
            for study in (1, 2):
                picture(tmp_path / split / f"patient{p:02}" / f"study{study}" / f"{RNG.integers(1 << 40)}.png")
    assert "patient06, patient07" in complaints(tmp_path)["group-leakage"]


def test_texts_of_rows_of_numbers_are_arrays(tmp_path: Path) -> None:
    """ModelNet40's points; seen: they were texts to classify. A year and a price in words are text, and so are rows of several lengths."""
    for c in ("chair", "table"):
        for i in range(6):
            points = RNG.normal(size=(20 + i, 3))
            rows = "\n".join(",".join(f"{v:.4f}" for v in row) for row in points)
            written(tmp_path / "points" / c / f"{c}_{i:04}.txt", rows)
            written(tmp_path / "uneven" / c / f"{c}_{i:04}.txt", f"{rows}\n1.5,2.5")
            written(tmp_path / "texts" / c / f"{c}_{i:04}.txt", f"in 1990 one of {i} cost 12.5")
    source = opened(tmp_path / "points")
    assert (source.classes, source.samples, source.modality) == (("chair", "table"), 12, "array")
    assert [(f.name, f.shape) for f in source.fields] == [("values", (None, 3)), ("label", ())]
    last = source.units[-1]
    np.testing.assert_allclose(source.decode(last, source.read(last)).columns["values"].values[0], points.round(4))
    assert "numbers" in getattr(opened(tmp_path / "uneven"), "unread", {})
    assert [f.name for f in opened(tmp_path / "texts").fields] == ["text", "label"]


def test_few_shot_folders_are_splits_together() -> None:
    """Seen: the alphabets to learn from and those to test with were one set. Neither word alone is a split."""
    images = [
        f"images_{part}/{script}/character0{c}/{c}_{i}.png"
        for part, script in (("background", "Greek"), ("evaluation", "Thai"))
        for c in (1, 2)
        for i in (1, 2)
    ]
    assert {*folders_of(images).splits} == {"train", "eval"}
    assert {*folders_of([path.replace("evaluation", "foreground") for path in images]).splits} == {None}

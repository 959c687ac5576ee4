"""Groups that the names of files tell: patients, speakers, clips."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.sources.base import Role, Roles
from dataloader_expert.sources.groups_in_names import group_in_names
from tests.checks.looking import Data, judged
from tests.making.scanning import scan

rng = np.random.default_rng()
WORDS = ["HE", "SAID", "THAT", "NO", "SHIP", "WAS", "SEEN", "SINCE", "SUNDAY", "MORNING"]


@pytest.mark.parametrize(
    ("name", "group", "sure"),
    [
        ("patient{g:03}_{k}.png", "patient000", True),
        ("s{g}-slice{k}.png", "s0", True),
        ("site1_{g:04}_{k}.png", "site1_0000", False),
        ("{g:05}_{k}.png", "00000", False),
        ("{g:02}ab34cd_take_{k}.wav", "00ab34cd", False),
    ],
)
def test_a_number_with_several_files_is_a_group(name: str, group: str, sure: bool) -> None:
    paths = [f"train/a/{name.format(g=g, k=k)}" for g in range(20) for k in range(3)]
    role, _ = group_in_names(paths, [None] * len(paths))
    assert role is not None
    assert role.sure is sure
    assert f" {group} in " in role.how


@pytest.mark.parametrize(
    "name", ["img_{i:04}.png", "{i}.png", "cat_{i}.png", "IMG{i}_1.png", "n0{c}_{i}.png", "a-b.c_{i}.png"]
)
def test_files_that_are_counted_and_classes_are_no_groups(name: str) -> None:
    paths = [f"{i % 5}/{name.format(i=i, c=i % 5)}" for i in range(60)]
    assert group_in_names(paths, [str(i % 5) for i in range(60)])[0] is None


def test_files_that_are_counted_in_each_folder_are_no_groups() -> None:
    """As of the Large Movie Review Dataset: the number of the review, and its rating, in each folder anew."""
    folders = [f"{split}/{kind}" for split in ("train", "test") for kind in ("pos", "neg")]
    paths = [f"{folder}/{i}_{rng.integers(1, 11)}.txt" for folder in folders for i in range(60)]
    assert group_in_names(paths, [path.split("/")[1] for path in paths])[0] is None
    chosen = [path for path in paths if rng.random() < 0.6]  # persons who are not in every folder, and most in two
    assert group_in_names(chosen, [path.split("/")[1] for path in chosen])[0] is not None


def test_the_numbers_of_slices_in_each_folder_are_no_groups() -> None:
    """Seen: slices of patients with their masks: the first slice of every patient was a group, and in all splits."""
    folders = [f"{'train' if p % 3 else 'val'}/case_{p:03}" for p in range(12)]
    paths = [f"{folder}/slice_{k:03}_{what}.npy" for folder in folders for k in range(9) for what in ("img", "msk")]
    assert group_in_names(paths, [path.split("/")[1] for path in paths])[0] is None
    views = [
        f"{split}/clip_{k:03}_{rng.integers(9)}.npy" for split in ("train", "val") for k in range(30) for _ in "abc"
    ]
    assert group_in_names(views, [None] * len(views))[0] is not None  # other parts of the same clips in both


@pytest.mark.parametrize(
    ("folders", "name", "sure"),
    [
        (("train", "test"), "patient{g:02}_{side}.png", True),
        (("train", "test"), "s{g:02}_{side}.npy", True),
        (("angry", "calm", "happy"), "actor{g:02}_{side}.wav", None),
        (("train", "test"), "eye{g:02}_{side}.png", False),
        (("train/case", "test/case"), "eye{g:02}_{side}.png", False),
        (("case_1", "case_2", "case_3"), "patient{g:02}_{side}.png", True),
    ],
)
def test_the_same_files_of_each_number_in_each_folder_are_of_groups(
    folders: tuple[str, ...], name: str, sure: bool | None
) -> None:
    """Seen: both eyes of each patient, in train and again in test, passed as numbers of each folder's files."""
    paths = [
        f"{of}/{name.format(g=g, side=side)}" for of in folders for g in range(1, 13) for side in ("left", "right")
    ]
    role, parts = group_in_names(paths, [path.split("/")[0] if len(folders) > 2 else None for path in paths])
    assert role is not None and parts == 1
    assert sure is None or role.sure is sure


@pytest.mark.parametrize("leaking", [0, 3])
def test_a_patient_in_two_splits_is_found_by_the_names(tmp_path: Path, leaking: int) -> None:
    rng = np.random.default_rng()
    for split, patients in (("train", range(12)), ("test", range(12 - leaking, 16))):
        for p in patients:
            for view in range(2):
                path = tmp_path / split / "ab"[p % 2] / f"patient{p:02}_{split}{view}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(path)
    found = [f for f in scan(tmp_path, tmp_path).findings if f.code == "group-leakage"]
    assert [(f.severity, f.count) for f in found] == ([("warning", leaking)] if leaking else [])


def test_chapters_of_readers_that_are_in_two_splits_are_a_warning(tmp_path: Path) -> None:
    """Seen: utterances of LibriSpeech that were split at random, chapter by chapter, told as an info."""
    for chapter in range(16):
        reader, number = 103 + 31 * (chapter // 2), 123_288 + 371 * chapter
        for k in range(5):
            split = "test-clean" if k == chapter % 5 else "train-clean-100"
            path = tmp_path / split / str(reader) / str(number) / f"{reader}-{number}-{k:04}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            with wave.open(str(path), "wb") as out:
                out.setparams((1, 2, 8000, 0, "NONE", ""))
                out.writeframes(rng.integers(-3000, 3000, 900 + 70 * k + chapter).astype(np.int16).tobytes())
            with (path.parent / f"{reader}-{number}.trans.txt").open("a", encoding="utf-8") as said:
                said.write(f"{path.stem} {' '.join(rng.permutation(WORDS)[: 3 + (k + chapter) % 7])}\n")
    (found,) = [f for f in scan(tmp_path, tmp_path).findings if f.code == "group-leakage"]
    assert (found.severity, found.count) == ("warning", 16)


@pytest.mark.parametrize(("astride", "severity"), [(3, "warning"), (14, "info")])
def test_a_few_groups_astride_of_splits_that_keep_all_others_are_a_warning(astride: int, severity: str) -> None:
    """Seen: takes of three speakers in the test split, known by hashes in the names of files, told as an info."""
    speakers = [f"{k:02}ab34cd" for k in range(20)]
    rows = [(who, k) for who in speakers for k in range(8)]
    splits = [
        ("test" if k % 2 else "train") if int(who[:2]) < astride else "train" if int(who[:2]) < 16 else "test"
        for who, k in rows
    ]
    order = sorted(range(len(rows)), key=lambda i: splits[i])
    data = Data(
        {"who": [rows[i][0] for i in order], "x": np.arange(len(rows))},
        splits=[splits[i] for i in order],
        context={"roles": Roles(group=Role("who", "by its values", False))},
    )
    assert judged("leakage", data)["group-leakage"].severity == severity

"""Names of classes in a small file beside the samples, and what is no class although its place suggests it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

rng = np.random.default_rng(0)
NAMES = ["bolt", "nut", "washer"]
CARD = """---
dataset_info:
  features:
  - name: text
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          '0': bolt
          '1': nut
          '2': washer
---
"""


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 256, (12, 12, 3), np.uint8)).save(path)


def rows(path: Path, first: int = 0) -> None:
    said = [f"a text about number {i} of them,{i % 3 + first}" for i in range(30)]
    (path / "train.csv").write_text("\n".join(["text,label", *said]) + "\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("label_names.txt", "\n".join(NAMES)),
        ("label_map.txt", "0 bolt\n1 nut\n2 washer\n"),
        ("id2label.json", json.dumps(dict(enumerate(NAMES)))),
        ("class_map.csv", "id,name\n0,bolt\n1,nut\n2,washer\n"),
        ("README.md", CARD),
        ("label_num_to_part_map.json", json.dumps(dict(enumerate(NAMES)))),
    ],
)
def test_a_file_of_as_many_names_as_classes_names_them(tmp_path: Path, name: str, text: str) -> None:
    """Seen: names of classes in files that are not called classes.txt, or in the card of a data set, stayed unread."""
    rows(tmp_path)
    (tmp_path / name).write_text(text)
    assert opened(tmp_path).classes == tuple(NAMES)


@pytest.mark.parametrize("names", [[*NAMES, "screw"], ["length", "width"]])
def test_other_lists_name_no_classes(tmp_path: Path, names: list[str]) -> None:
    """Our promise: a list of more or fewer names than there are classes is of something else."""
    rows(tmp_path)
    (tmp_path / "label_names.txt").write_text("\n".join(names))
    assert opened(tmp_path).classes is None


def test_names_of_numbers_from_one_are_told(tmp_path: Path) -> None:
    """Our promise: names that count from 1 are told, not joined to the numbers from 0."""
    rows(tmp_path, first=1)
    (tmp_path / "activity_labels.txt").write_text("1 bolt\n2 nut\n3 washer\n")
    source = opened(tmp_path)
    assert (source.classes, "activity_labels.txt names each number from 1" in source.label_how) == (None, True)


def test_codes_of_objects_have_names(tmp_path: Path) -> None:
    """Seen: the classes of Open Images were codes, such as /m/0k4j."""
    said = ["ImageID,LabelName,XMin,XMax,YMin,YMax"]
    for i in range(8):
        picture(tmp_path / "images" / f"a{i:04}f.png")
        said += [f"a{i:04}f,/m/0{k}x,0.1,0.5,0.2,0.6" for k in (1, 2)]
    (tmp_path / "boxes.csv").write_text("\n".join(said) + "\n")
    (tmp_path / "descriptions.csv").write_text("/m/01x,Car\n/m/02x,Dog\n/m/03x,Tree\n")
    source = opened(tmp_path)
    assert source.objects is not None
    assert set(source.objects.names.values()) == {"Car", "Dog"}


def test_what_all_names_of_files_begin_with_is_no_part_of_a_class(tmp_path: Path) -> None:
    """Seen: a class of QuickDraw was called full_numpy_bitmap_cat."""
    for name, n in (("cat", 40), ("ice cream", 30), ("tree", 50)):
        np.save(tmp_path / f"full_bitmap_{name}.npy", rng.integers(0, 256, (n, 784), np.uint8))
    assert opened(tmp_path).classes == ("cat", "ice_cream", "tree")


def test_a_number_of_something_is_no_class_by_its_place(tmp_path: Path) -> None:
    """Seen: LeRobot's task_index, the last column, was taken for the label."""
    said = [f"{i / 7},{i % 5},{i // 50}" for i in range(100)]
    (tmp_path / "frames.csv").write_text("\n".join(["speed,gear,task_index", *said]) + "\n")
    assert opened(tmp_path).label != "task_index"


def test_zero_and_one_before_a_text_tell_more_than_a_source(tmp_path: Path) -> None:
    """Seen: of CoLA, the first column, where a sentence is from, was taken for its label."""
    said = [
        f"{('gj04', 'bc01')[i % 2]}\t{i // 3 % 2}\t{('*', '')[i // 3 % 2]}\tA sentence is number {i}."
        for i in range(60)
    ]
    (tmp_path / "train.tsv").write_text("\n".join(said) + "\n")
    assert opened(tmp_path).label == "f1"

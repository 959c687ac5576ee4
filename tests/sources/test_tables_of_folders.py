"""Tables whose rows name folders: each file there has what the row says, unless the folder is a class."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

RNG = np.random.default_rng()


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (16, 16, 3), np.uint8)).save(path)


def table(path: Path, rows: list[list[Any]], mark: str = ",") -> None:
    with path.open("w", newline="") as out:
        csv.writer(out, delimiter=mark).writerows(rows)


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def test_each_photograph_of_a_product_is_of_its_category(tmp_path: Path) -> None:
    """Seen: the table of products was not read, as it names the folder of each."""
    rows = [[f"SKU-{10_000 + 7 * i}", f"Item {i}", ("tops", "shoes", "hats")[i % 3], 10.5 + i] for i in range(24)]
    for sku, *_ in rows:
        for side in ("front", "back"):
            picture(tmp_path / "photos" / str(sku) / f"{side}.png")
    table(tmp_path / "products.csv", [["sku", "title", "category", "price"], *rows])
    source = opened(tmp_path)
    assert (source.label, source.classes, source.samples) == ("category", ("hats", "shoes", "tops"), 48)
    assert source.roles is not None
    assert source.roles.group is not None


def test_frames_of_videos_that_a_table_of_each_split_names(tmp_path: Path) -> None:
    """Seen: frames of gestures were refused beside tables without a header, of which the one of the test split is a list."""
    videos = [str(n) for n in RNG.choice(150_000, 24, replace=False)]
    for video in videos:
        for i in range(4):
            picture(tmp_path / "frames" / video / f"{i:05}.jpg")
    kinds = ("Swiping Left", "Thumb Up")
    for split, at in (("train", 0), ("validation", 12)):
        rows = [[video, kinds[i % 2]] for i, video in enumerate(videos[at : at + (12 if not at else 6)])]
        table(tmp_path / f"v1-{split}.csv", rows, ";")
    table(tmp_path / "v1-test.csv", [[video] for video in videos[18:]])
    source = opened(tmp_path)
    assert source.classes == ("Swiping Left", "Thumb Up")
    assert source.splits == {"train": 48, "validation": 24, "test": 24}


def test_a_table_of_the_classes_adds_no_field(tmp_path: Path) -> None:
    """Our promise: what a table says of each class tells nothing of a sample, but its label."""
    names = [f"n{2_000_000 + 37 * i:08}" for i in range(12)]
    for name in names:
        for i in range(6):
            picture(tmp_path / "images" / name / f"{i}.png")
    table(
        tmp_path / "words.csv",
        [["wnid", "words", "family"], *([n, f"a word {n}", "ab"[i % 2]] for i, n in enumerate(names))],
    )
    source = opened(tmp_path)
    assert (source.label, len(source.classes or ())) == ("label", 12)
    assert {field.name for field in source.fields} == {"image", "label"}


def test_questions_name_images_by_the_number_that_their_names_end_in(tmp_path: Path) -> None:
    """Seen: questions about COCO's images were not read, as their image_id is 42 and the image is ``COCO_train_000042.png``."""
    numbers = [int(n) for n in RNG.choice(500_000, 30, replace=False)]
    asked, answered = [], []
    for number in numbers:
        picture(tmp_path / "train" / f"COCO_train_{number:012}.png")
        for k in range(2):
            asked.append({"image_id": number, "question": f"Is there a dog, {k}?", "question_id": 10 * number + k})
            answered.append({"image_id": number, "answer": ("yes", "no")[k], "question_id": 10 * number + k})
    (tmp_path / "questions.json").write_text(json.dumps({"info": {}, "questions": asked}))
    (tmp_path / "annotations.json").write_text(json.dumps({"info": {}, "annotations": answered}))
    source = opened(tmp_path)
    assert {"question", "answer"} <= {field.name for field in source.fields}
    assert not source.problems

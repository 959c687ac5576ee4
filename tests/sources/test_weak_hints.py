"""Hints at a label that are weaker than what else is there: a column of few rows, folders that are parts of a download, a rig."""

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
from tests.making.scanning import scan

RNG = np.random.default_rng()


def picture(path: Path, *, depth: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = RNG.integers(0, 60_000, (24, 32), np.uint16) if depth else RNG.integers(0, 256, (24, 32, 3), np.uint8)
    Image.fromarray(pixels).save(path)


def table(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(rows)


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def findings(path: Path) -> list[str]:
    return [f"{f.code} {f.message}" for f in scan(path, path).findings if f.severity == "warning"]


def test_a_column_of_few_samples_is_no_label_where_another_lists_them(tmp_path: Path) -> None:
    """Seen: of chest X-rays the label was y, which the one image with a box had, and all that its table says was called missing."""
    for i in range(60):
        picture(tmp_path / "images" / f"{i:03}.png")
    kinds = ["Mass", "Effusion", "Mass|Effusion", "Nodule", "Nodule|Mass"]
    rows = [[f"{i:03}.png", kinds[i % 5], i // 3, 30 + i % 40] for i in range(60)]
    table(tmp_path / "entries.csv", [["Image Index", "Finding Labels", "Patient ID", "Patient Age"], *rows])
    rare = [[f"{i:03}.png", "Mass", 10, 10, 20, 20 + i] for i in range(3)]
    table(tmp_path / "boxes.csv", [["Image Index", "Finding", "Bbox [x", "y", "w", "h]"], *rare])
    source = opened(tmp_path)
    assert source.label is None
    assert source.classes == ("Effusion", "Mass", "Nodule")
    assert not [f for f in findings(tmp_path) if f.startswith("missing-values")]


def test_the_few_labels_of_many_samples_are_still_the_label(tmp_path: Path) -> None:
    """Our promise: of samples of which few are labelled the label is known by its name."""
    for i in range(60):
        picture(tmp_path / "images" / f"{i:03}.png")
    table(tmp_path / "all.csv", [["image", "hospital"], *([f"{i:03}.png", "ABC"[i % 3]] for i in range(60))])
    table(tmp_path / "labelled.csv", [["image", "label"], *([f"{i:03}.png", "xy"[i % 2]] for i in range(12))])
    assert opened(tmp_path).label == "label"


def test_values_that_went_missing_in_tables_of_each_split_are_told(tmp_path: Path) -> None:
    """Our promise: a table for each split, of which none names half of the samples, is no table of a few."""
    for at, split in enumerate(("train", "val", "test")):
        names = [f"{split}_{i}.png" for i in range(20)]
        for name in names:
            picture(tmp_path / split / name)
        rows = [[name, "xy"[i % 2], "" if i < 5 else 1.5 + i + at] for i, name in enumerate(names)]
        table(tmp_path / f"{split}.csv", [["image", "label", "length"], *rows])
    assert [f for f in findings(tmp_path) if f.startswith("missing-values length")]


def test_deliveries_are_no_classes_where_a_file_beside_each_image_says_what_it_is(tmp_path: Path) -> None:
    """Seen: invoices were classified by the month of their delivery."""
    for i in range(40):
        stem = tmp_path / f"batch_2024_0{1 + i // 20}" / f"INV-{i:05}"
        picture(stem.with_suffix(".png"))
        held = {"doc_type": ("invoice", "receipt")[i % 2], "vendor": {"name": "ABC"[i % 3]}, "total": 9.5 + i}
        stem.with_suffix(".json").write_text(json.dumps(held))
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("doc_type", ("invoice", "receipt"))
    assert {"vendor.name", "total"} <= {field.name for field in source.fields}


def test_classes_stay_those_of_folders_beside_which_files_say_other_things(tmp_path: Path) -> None:
    """Our promise: what a file beside each image says of where it is from takes no classes away."""
    for i in range(40):
        stem = tmp_path / ("cat", "dog")[i % 2] / f"{i:05}"
        picture(stem.with_suffix(".png"))
        stem.with_suffix(".json").write_text(json.dumps({"url": f"http://a.org/{i}", "width": 32, "license": "CC"}))
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("label", ("cat", "dog"))


def test_shards_are_no_classes_where_a_list_has_one_for_each_file(tmp_path: Path) -> None:
    """Seen: words of MJSynth were classified by the number of their folder."""
    names = [f"{1 + i // 15}/{1 + i % 4}/{i}_word_{i % 3}.png" for i in range(60)]
    for name in names:
        picture(tmp_path / name)
    (tmp_path / "annotation.txt").write_text("".join(f"./{name} {i % 3}\n" for i, name in enumerate(names)))
    assert opened(tmp_path).label == "f1"


def test_a_verdict_is_the_label_rather_than_the_last_column(tmp_path: Path) -> None:
    """Seen: signals were classified by the rig that took them, and the column of pass and fail was left."""
    for i in range(40):
        np.save(tmp_path / f"run{i:03}.npy", RNG.normal(size=(16, 3)).astype(np.float32))
    rows = [[f"run{i:03}", ("pass", "fail")[i % 4 == 0], ("rigA", "rigB")[i % 2]] for i in range(40)]
    table(tmp_path / "runs.csv", [["run_id", "result", "rig"], *rows])
    assert opened(tmp_path).label == "result"


def test_the_depth_that_a_row_names_beside_each_image_is_its_target(tmp_path: Path) -> None:
    """Seen: of images with their depth the scene was the label, and the depth maps were not read."""
    rows = []
    for i in range(40):
        stem = tmp_path / "data" / ("bath_0004_out", "study_0005_out")[i % 2] / str(i)
        picture(stem.with_suffix(".jpg"))
        picture(stem.with_name(f"{i}_d.png"), depth=True)
        rows.append(
            [str(path.relative_to(tmp_path)) for path in (stem.with_suffix(".jpg"), stem.with_name(f"{i}_d.png"))]
        )
    table(tmp_path / "pairs.csv", [["image", "depth"], *rows])
    source = opened(tmp_path)
    assert source.label is None
    assert [(field.name, field.kind) for field in source.fields] == [("image", "image"), ("depth", "mask")]


def test_views_from_other_sides_are_no_targets(tmp_path: Path) -> None:
    """Our promise: the cameras at both sides of a car stay further files, which are told."""
    rows = []
    for i in range(40):
        names = [f"IMG/{side}_{i:03}.jpg" for side in ("center", "left", "right")]
        for name in names:
            picture(tmp_path / name)
        rows.append([*names, 0.1 * (i % 9)])
    table(tmp_path / "driving_log.csv", [["center", "left", "right", "steering"], *rows])
    assert {field.name for field in opened(tmp_path).fields} == {"image", "steering"}

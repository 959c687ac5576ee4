"""Tables without names of columns beside images, and boxes that are written in odd places."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

BOXES = [[[2 + i % 3, 3, 11, 12], [8, 9, 20, 17 + i % 4]][: 1 + i % 2] for i in range(24)]


def opened(folder: Path, names: list[str]) -> Source:
    rng = np.random.default_rng(len(names))
    (folder / "images").mkdir(exist_ok=True)
    for name in names:
        Image.fromarray(rng.integers(0, 255, (24, 32, 3), np.uint8)).save(folder / "images" / name)
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def first(source: Source, field: str) -> dict[str, list[list[float]]]:
    blocks = {unit.file.rpartition("/")[2]: source.decode(unit, source.read(unit)) for unit in source.units}
    return {name: np.asarray(block.columns[field].values[0]).tolist() for name, block in blocks.items()}


def without_names(path: Path, names: list[str]) -> None:
    rows = [f"{n},{','.join(map(str, box))},object,32,24" for n, of in zip(names, BOXES, strict=True) for box in of]
    (path / "annotations.csv").write_text("\n".join(rows) + "\n")


def in_a_cell(path: Path, names: list[str]) -> None:
    cells = [";".join(" ".join(map(str, box)) for box in of) for of in BOXES]
    rows = [f"{n},{cell},{'abc'[i % 3]}" for i, (n, cell) in enumerate(zip(names, cells, strict=True))]
    (path / "train.csv").write_text("\n".join(["image_name,BoxesString,domain", *rows, ""]))


def in_objects(path: Path, names: list[str]) -> None:
    made = [
        {"ID": n.removesuffix(".png"), "gtboxes": [{"tag": "person", "fbox": box, "hbox": [1, 1, 2, 2]} for box in of]}
        for n, of in zip(names, BOXES, strict=True)
    ]
    (path / "annotation_train.odgt").write_text("\n".join(map(json.dumps, made)) + "\n")


@pytest.mark.parametrize("write", [without_names, in_a_cell, in_objects])
def test_boxes_in_odd_places(tmp_path: Path, write: Callable[[Path, list[str]], None]) -> None:
    """Seen: SKU-110K's columns without names, Global Wheat's cells and CrowdHuman's objects read as anything but boxes."""
    names = [f"{i:03}a.png" for i in range(24)]
    write(tmp_path, names)
    source = opened(tmp_path, names)
    assert first(source, "boxes") == dict(zip(names, BOXES, strict=True))
    assert source.label is None  # a domain is no class of an image with boxes


def test_a_column_of_splits_before_the_names_is_no_label(tmp_path: Path) -> None:
    """Seen: TRAINING, VALIDATION and TEST of an import file told as three classes, and no splits."""
    names = [f"{i:03}_n.png" for i in range(30)]
    splits = ["TRAINING"] * 20 + ["VALIDATION"] * 4 + ["TEST"] * 6
    rows = [
        f"{s},gs://shop/images/{n},{('daisy', 'rose')[i % 2]}"
        for i, (n, s) in enumerate(zip(names, splits, strict=True))
    ]
    (tmp_path / "import.csv").write_text("\n".join(rows) + "\n")
    source = opened(tmp_path, names)
    assert source.label == "f2" and source.roles is not None and source.roles.split is not None
    assert source.roles.split.field == "f0"


def test_classes_in_names_of_few_files_that_a_list_numbers(tmp_path: Path) -> None:
    """Seen: a list's numbers of classes dropped as said by the names of files, and no class read from these."""
    names = [f"{c}_{i}.png" for c in ("Bengal", "beagle", "pug", "Sphynx") for i in range(1, 11)]
    for split, own in (("trainval", names[::2]), ("test", names[1::2])):
        rows = [f"{n[:-4]} {['Bengal', 'beagle', 'pug', 'Sphynx'].index(n.split('_')[0]) + 1} 1" for n in own]
        (tmp_path / f"{split}.txt").write_text("\n".join(rows) + "\n")
    source = opened(tmp_path, names)
    assert source.label == "label" and source.classes == ("Bengal", "Sphynx", "beagle", "pug")


def test_a_class_before_the_corners(tmp_path: Path) -> None:
    """Seen: the boxes of Tiny ImageNet's validation split left out, whose lines have the class first."""
    names = [f"val_{i}.png" for i in range(24)]
    rows = [f"{n}\tn0{i % 3}\t2\t3\t{11 + i % 4}\t12" for i, n in enumerate(names)]
    (tmp_path / "val_annotations.txt").write_text("\n".join(rows) + "\n")
    source = opened(tmp_path, names)
    assert first(source, "boxes") == {n: [[2, 3, 11 + i % 4, 12]] for i, n in enumerate(names)}

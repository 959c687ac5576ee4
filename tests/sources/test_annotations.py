"""Images and recordings with tables next to them: labels, splits and boxes become fields of the samples."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.loaders import create_loader
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan
from tests.sources.noise import picture

N = 24
RNG = np.random.default_rng()


def pictures(folder: Path, names: list[str]) -> list[Path]:
    made = []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(RNG.integers(0, 256, (24, 32, 3), np.uint8)).save(path)
        made.append(path)
    return made


def table(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def values(source: Source, name: str) -> list[Any]:
    found = [source.decode(unit, source.read(unit)).columns[name].values[0] for unit in source.units]
    return [v.tolist() if hasattr(v, "tolist") else v for v in found]


def test_a_table_of_names_without_suffixes_gives_the_label(tmp_path: Path) -> None:
    names = [f"im{i:03}" for i in range(N)]
    pictures(tmp_path, [f"train/{n}.png" for n in names])
    breeds = ["cat" if i % 3 else "dog" for i in range(N)]
    table(
        tmp_path / "train.csv",
        [["id", "breed", "age"], *([n, b, i] for i, (n, b) in enumerate(zip(names, breeds, strict=True)))],
    )
    source = opened(tmp_path)
    assert (source.format, source.label, source.samples) == ("image-folder", "breed", N)
    assert source.label_how.startswith("guessed")
    assert values(source, "breed") == breeds
    assert values(source, "age") == list(range(N))
    assert not scan(tmp_path, tmp_path).findings
    batch = next(iter(create_loader(str(tmp_path), "train", batch_size=N, num_workers=0)))
    assert len({*batch["breed"].tolist()}) == 2


def test_a_column_may_name_the_split(tmp_path: Path) -> None:
    pictures(tmp_path, [f"images/{i}.png" for i in range(N)])
    rows = [[f"images/{i}.png", "ab"[i % 2], "val" if i >= 18 else "train", f"p{i}"] for i in range(N)]
    table(tmp_path / "labels.csv", [["path", "label", "split", "patient"], *rows])
    source = opened(tmp_path)
    assert source.roles is not None
    assert source.roles.split is not None
    assert source.roles.split.field == "split"
    kept = open_source(SourceRef(str(tmp_path), (str(tmp_path),), split="val"), [])
    assert kept.samples == 6
    asked = open_source(SourceRef(str(tmp_path), (str(tmp_path),), split="label"), [])
    assert asked.roles is not None
    assert set(asked.roles.splits.values()) == {"a", "b"}


@pytest.mark.parametrize("write", ["jsonl", "coco", "yolo", "voc"])
def test_boxes_are_read_and_judged(tmp_path: Path, write: str) -> None:
    """Our promise: images without objects have no box, and the one box that leaves its image is found in its sample."""
    names = [f"{i:03}.png" for i in range(N)]
    pictures(tmp_path / "images", names)
    boxes = [[] if i % 5 == 0 else [[2 + k, 2, 10, 8] for k in range(1 + i % 3)] for i in range(N)]
    boxes[7] = [[20, 2, 30, 8]]
    WRITE[write](tmp_path, names, boxes)
    source = opened(tmp_path)
    assert source.format == "image-folder"
    assert source.modality == "detection"
    assert [len(v) for v in values(source, "boxes")] == [len(b) for b in boxes]
    loader = create_loader(str(tmp_path), None, batch_size=7, num_workers=0)
    assert sum(len(batch["image"]) for batch in loader) == N
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert {code for code, f in found.items() if f.severity != "info"} == {"box-outside"}
    assert [place["sample"] for place in found["box-outside"].where] == [7]


def as_jsonl(root: Path, names: list[str], boxes: list[Any]) -> None:
    """Corners in pixels, in a file next to the images."""
    rows = [
        {"file_name": name, "boxes": [[x, y, x + w, y + h] for x, y, w, h in of], "labels": [*range(len(of))]}
        for name, of in zip(names, boxes, strict=True)
    ]
    (root / "images" / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def as_coco(root: Path, names: list[str], boxes: list[Any]) -> None:
    """In a folder of its own."""
    images = [{"id": 100 + i, "file_name": name, "width": 32, "height": 24} for i, name in enumerate(names)]
    annotations = [
        {"id": 1000 * i + k, "image_id": 100 + i, "category_id": 3 + k % 2, "bbox": box}
        for i, of in enumerate(boxes)
        for k, box in enumerate(of)
    ]
    found = {"images": images, "annotations": annotations, "categories": [{"id": 3, "name": "owl"}, {"id": 4}]}
    (root / "annotations").mkdir()
    (root / "annotations" / "instances.json").write_text(json.dumps(found), encoding="utf-8")


def as_yolo(root: Path, names: list[str], boxes: list[Any]) -> None:
    """A file for each image, empty without objects; one image has none."""
    (root / "labels").mkdir()
    for name, of in zip(names, boxes, strict=True):
        if name == names[5]:
            continue
        lines = [
            f"{k % 2} {(x + w / 2) / 32:.5f} {(y + h / 2) / 24:.5f} {w / 32:.5f} {h / 24:.5f}\n"
            for k, (x, y, w, h) in enumerate(of)
        ]
        (root / "labels" / name.replace(".png", ".txt")).write_text("".join(lines), encoding="utf-8")
    (root / "data.yaml").write_text("names: [owl, yak]\n", encoding="utf-8")


def as_voc(root: Path, names: list[str], boxes: list[Any]) -> None:
    (root / "Annotations").mkdir()
    for name, of in zip(names, boxes, strict=True):
        objects = "".join(
            f"<object><name>{'owl' if k else 'yak'}</name><bndbox><xmin>{x}</xmin><ymin>{y}</ymin>"
            f"<xmax>{x + w}</xmax><ymax>{y + h}</ymax></bndbox></object>"
            for k, (x, y, w, h) in enumerate(of)
        )
        text = f"<annotation><filename>{name}</filename>{objects}</annotation>"
        (root / "Annotations" / name.replace(".png", ".xml")).write_text(text, encoding="utf-8")


WRITE: dict[str, Callable[[Path, list[str], list[Any]], None]] = {
    "jsonl": as_jsonl,
    "coco": as_coco,
    "yolo": as_yolo,
    "voc": as_voc,
}


def test_each_split_may_have_a_table_of_its_own(tmp_path: Path) -> None:
    """Our promise: files of one name in two folders are told apart by the folder of their table."""
    for split, label in (("train", "a"), ("test", "b")):
        pictures(tmp_path / split, [f"{i}.png" for i in range(8)])
        table(
            tmp_path / split / "metadata.csv",
            [["file_name", "label"], *([f"{i}.png", f"{label}{i % 2}"] for i in range(8))],
        )
    source = opened(tmp_path)
    assert source.splits == {"test": 8, "train": 8}
    found = dict(zip((unit.file for unit in source.units), values(source, "label"), strict=True))
    assert found["train/3.png"] == "a1"
    assert found["test/3.png"] == "b1"


def test_rows_without_files_and_files_without_rows_are_told(tmp_path: Path) -> None:
    pictures(tmp_path, [f"{i}.png" for i in range(N)])
    rows = [[f"{i}.png", "ab"[i % 2]] for i in range(N) if i != 5]
    table(tmp_path / "labels.csv", [["file", "label"], *rows, ["gone.png", "a"]])
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert [place["file"] for place in found["missing-pair"].where] == ["5.png"]
    assert "gone.png" in found["dangling-reference"].message
    assert "label-blank" not in found  # which follows


@pytest.mark.parametrize(
    "damage", [b"{", b"[" * 100_000, b"\xff\xfe\x00", b'{"images": 3, "annotations": []}', b"[1, [2]]"]
)
def test_a_damaged_table_is_no_annotation(tmp_path: Path, damage: bytes) -> None:
    """Our promise: the images are read, and the file is named."""
    pictures(tmp_path, [f"c{i % 2}/{i}.png" for i in range(120)])
    (tmp_path / "notes.json").write_bytes(damage)
    found = scan(tmp_path, tmp_path).findings
    assert "notes.json" in {place.get("file") for f in found for place in f.where}


def test_entities_of_xml_are_not_expanded(tmp_path: Path) -> None:
    """Our promise: a file of a few lines that would grow to gigabytes is named, and no more."""
    pictures(tmp_path, [f"{i}.png" for i in range(4)])
    bomb = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><annotation><object><name>&b;</name></object></annotation>'
    for i in range(4):
        (tmp_path / f"{i}.xml").write_text(bomb, encoding="utf-8")
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert "declares a document type" in found["parse-error"].message
    assert found["parse-error"].count == 4


def test_numbers_beyond_64_bits_are_kept(tmp_path: Path) -> None:
    pictures(tmp_path, [f"{i}.png" for i in range(N)])
    table(tmp_path / "hashes.csv", [["file", "hash"], *([f"{i}.png", 10**30 + i] for i in range(N))])
    assert sorted(values(opened(tmp_path), "hash")) == [10**30 + i for i in range(N)]


def test_codes_with_leading_zeros_stay_texts_and_name_files(tmp_path: Path) -> None:
    pictures(tmp_path, [f"{i:04}.png" for i in range(N)])
    rows = [[f"{i:04}", f"0{i % 3}", f"{i % 2}_0"] for i in range(N)]
    table(tmp_path / "train.csv", [["id", "zip", "visit"], *rows])
    source = opened(tmp_path)
    assert values(source, "zip") == [row[1] for row in rows]
    assert values(source, "visit") == [row[2] for row in rows]


def test_a_row_that_is_there_twice_changes_nothing(tmp_path: Path) -> None:
    """Our promise: only fields whose rows differ become lists, and a key that only a later row has is kept."""
    pictures(tmp_path, [f"{i}.png" for i in range(N)])
    rows = [{"file": f"{i}.png", "label": "ab"[i % 2], "part": i} for i in range(N)]
    rows += [rows[3], {**rows[4], "part": 99, "note": "late"}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    source = opened(tmp_path)
    assert source.label == "label"
    at = [unit.file for unit in source.units].index("4.png")
    assert values(source, "part")[at] == [4, 99]
    assert values(source, "note")[at] == "late"


def test_voc_files_with_equal_names_belong_to_the_images_beside_them(tmp_path: Path) -> None:
    for split, size in (("train", 5), ("test", 9)):
        pictures(tmp_path / split, ["0.png", "1.png"])
        for i in range(2):
            box = f"<xmin>1</xmin><ymin>1</ymin><xmax>{size}</xmax><ymax>{size}</ymax>"
            text = f"<annotation><object><name>owl</name><bndbox>{box}</bndbox></object></annotation>"
            (tmp_path / split / f"{i}.xml").write_text(text, encoding="utf-8")
    source = opened(tmp_path)
    found = dict(zip((unit.file for unit in source.units), values(source, "boxes"), strict=True))
    assert found["train/1.png"] == [[1, 1, 5, 5]]
    assert found["test/1.png"] == [[1, 1, 9, 9]]


@pytest.mark.parametrize("header", [["epoch", "loss"], ["label", "n"]])
def test_a_table_of_numbers_is_no_annotation(tmp_path: Path, header: list[str]) -> None:
    """Our promise: images that are numbered are not named by whatever counts."""
    pictures(tmp_path, [f"{'ab'[i % 2]}/{i}.png" for i in range(120)])
    table(tmp_path / "log.csv", [header, *([i % 60, i / 7] for i in range(60))])
    source = opened(tmp_path)
    assert source.label == "label"
    assert [f.name for f in source.fields] == ["image", "label"]


@pytest.mark.parametrize(
    "odd",
    [
        {"images": [{"id": [1], "file_name": "0.png"}], "annotations": [{"image_id": {}, "bbox": [10**400, 1, 2, 3]}]},
        {
            "images": [{"id": 1, "file_name": "0.png"}],
            "annotations": [{"image_id": 1, "bbox": "none", "category_id": None}],
        },
        [{"file": f"{i}.png", "timestamp": 10**400} for i in range(N)],
    ],
)
def test_odd_values_end_no_call(tmp_path: Path, odd: Any) -> None:
    pictures(tmp_path, [f"{i}.png" for i in range(N)])
    (tmp_path / "rows.json").write_text(json.dumps(odd), encoding="utf-8")
    assert opened(tmp_path).samples == N


def test_sentences_of_each_image_in_objects_are_captions(tmp_path: Path) -> None:
    """Seen: of the splits of Karpathy, whose sentences are objects with a raw text, images without labels were told."""
    images = []
    for i in range(12):
        picture(tmp_path / f"images/{i * 7:04}.jpg", np.random.default_rng(i))
        said = [{"tokens": ["a", "dog"], "raw": f"A dog of number {i} runs {k} times.", "sentid": k} for k in range(3)]
        images.append({"filename": f"{i * 7:04}.jpg", "split": ("train", "test")[i % 3 == 0], "sentences": said})
    (tmp_path / "dataset.json").write_text(json.dumps({"images": images, "dataset": "small"}))
    source: Any = opened(tmp_path)
    at = source.row_of["images/0000.jpg"]
    assert source.given["caption"].values[at] == [f"A dog of number 0 runs {k} times." for k in range(3)]

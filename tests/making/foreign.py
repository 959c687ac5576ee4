"""Data that no reader of ours takes, each with the word by which an error is to name it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.making.tiny import TINY, dicts, image_folder, records

VOC = "<annotation><filename>0.jpg</filename><object><name>cat</name></object></annotation>"


def feather(folder: Path) -> None:
    (folder / "rows.feather").write_bytes(b"FEA1" + bytes(2040) + b"FEA1")


def ts(folder: Path) -> None:
    (folder / "waves_TRAIN.ts").write_text("@problemName waves\n@data\n1,2,3:cat\n", encoding="utf-8")


def yolo(folder: Path) -> None:
    for i in range(5):
        (folder / f"{i}.txt").write_text(f"0 0.5 0.5 0.25 0.1{i}\n1 0.25 0.5 0.25 0.125\n", encoding="utf-8")


def coco(folder: Path) -> None:
    boxes = {"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 1}], "categories": [{"id": 1}]}
    (folder / "instances.json").write_text(json.dumps(boxes), encoding="utf-8")


def voc(folder: Path) -> None:
    for i in range(3):
        (folder / f"{i}.xml").write_text(VOC, encoding="utf-8")


def pictures_and_tables(folder: Path) -> None:
    (folder / "images").mkdir()
    image_folder(folder / "images")
    lines = [json.dumps(r) for r in dicts(records("test"))]
    for i in range(9):
        (folder / f"rows{i}.jsonl").write_text("\n".join(lines), encoding="utf-8")


def one_set_twice(folder: Path) -> None:
    for name in ("csv", "arrow, file", "parquet, a folder of files"):
        (folder / name[:3]).mkdir()
        TINY[name](folder / name[:3])


def pickles(folder: Path) -> None:
    (folder / "rows.pkl").write_bytes(b"\x80\x04\x95" + bytes(40))


FOREIGN: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "Feather": (feather, ("Feather",)),
    "sktime .ts": (ts, (".ts",)),
    "YOLO labels": (yolo, ("YOLO",)),
    "COCO annotations": (coco, ("COCO",)),
    "Pascal VOC annotations": (voc, ("VOC",)),
    "images and tables": (pictures_and_tables, ("image", "jsonl")),
    "one data set in three formats": (one_set_twice, ("csv", "arrow", "parquet")),
    "pickles": (pickles, ("pickle", "never loaded")),
}
"""What it is: how to make it, and words that the error holds."""

"""Objects as data sets list them that follow neither COCO, Pascal VOC nor YOLO: columns for the sides of a box, nested lists,
lines of text files, CVAT's and WIDER FACE's single files. Each is written with the same boxes, and must be read as these."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.conclusions import Finding
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.annotations.objects import box_of, sides_in
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

RNG = np.random.default_rng()
N, WIDTH, HEIGHT = 24, 64, 48
NAMES = ("owl", "yak", "gnu")
Boxes = list[list[tuple[int, int, int, int, int]]]
"""Of each image: left, top, right, bottom and the class of each object."""


def drawn() -> Boxes:
    """One to three objects in each image, of which none equals another; the first three images show each class."""
    made: Boxes = []
    for i in range(N):
        of = []
        for k in range(1 + i % 3):
            left, top = int(RNG.integers(0, 30)), int(RNG.integers(0, 20))
            of.append(
                (left, top, left + 5 + k, top + int(RNG.integers(5, 20)), i % 3 if not k else int(RNG.integers(3)))
            )
        made.append(of)
    return made


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)).save(path)


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def table(root: Path, header: str, row: str, boxes: Boxes, mark: str = ",") -> None:
    lines = [
        row.format(i=i, x1=x1, y1=y1, x2=x2, y2=y2, w=x2 - x1, h=y2 - y1, c=NAMES[c], n=c, W=WIDTH, H=HEIGHT)
        for i, of in enumerate(boxes)
        for x1, y1, x2, y2, c in of
    ]
    written(root / "boxes.csv", "\n".join([*([header] if header else []), *lines]).replace(",", mark) + "\n")


def openimages(root: Path, boxes: Boxes) -> None:
    """Shares of the image, the sides in another order."""
    rows = "".join(
        f"img{i:03},xclick,{NAMES[c]},1,{x1 / WIDTH:.6f},{x2 / WIDTH:.6f},{y1 / HEIGHT:.6f},{y2 / HEIGHT:.6f},{i % 2},{x1 % 2}\n"
        for i, of in enumerate(boxes)
        for x1, y1, x2, y2, c in of
    )
    header = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated\n"
    written(root / "boxes.csv", header + rows)


def tensorflow(root: Path, boxes: Boxes) -> None:
    header = "filename,width,height,class,xmin,ymin,xmax,ymax"
    table(root, header, "img{i:03}.png,{W},{H},{c},{x1},{y1},{x2},{y2}", boxes)


def retinanet(root: Path, boxes: Boxes) -> None:
    table(root, "", "images/img{i:03}.png,{x1},{y1},{x2},{y2},{c}", boxes)


def gtsdb(root: Path, boxes: Boxes) -> None:
    """Numbered classes, semicolons, no header."""
    table(root, "", "img{i:03}.png,{x1},{y1},{x2},{y2},{n}", boxes, ";")


def wheat(root: Path, boxes: Boxes) -> None:
    """A cell holds the box as text."""
    rows = "".join(
        f'img{i:03},"[{x1}.0, {y1}.0, {x2 - x1}.0, {y2 - y1}.0]"\n'
        for i, of in enumerate(boxes)
        for x1, y1, x2, y2, _ in of
    )
    written(root / "boxes.csv", "image_id,bbox\n" + rows)


def prefixed(root: Path, boxes: Boxes) -> None:
    header = "image,bbox_x,bbox_y,bbox_width,bbox_height,label"
    table(root, header, "img{i:03}.png,{x1},{y1},{w},{h},{c}", boxes)


def bdd(root: Path, boxes: Boxes) -> None:
    """Lanes have no box."""
    rows = [
        {
            "name": f"img{i:03}.png",
            "attributes": {"weather": "clear"},
            "labels": [
                {"category": NAMES[c], "box2d": {"x1": x1, "y1": y1, "x2": x2, "y2": y2}, "id": k}
                for k, (x1, y1, x2, y2, c) in enumerate(of)
            ]
            + [{"category": "lane", "poly2d": [[1, 2], [3, 4]], "id": 9}],
        }
        for i, of in enumerate(boxes)
    ]
    written(root / "labels.json", json.dumps(rows))


def createml(root: Path, boxes: Boxes) -> None:
    """A box is told by its centre."""
    rows = [
        {
            "image": f"img{i:03}.png",
            "annotations": [
                {
                    "label": NAMES[c],
                    "coordinates": {"x": (a + x) / 2, "y": (b + y) / 2, "width": x - a, "height": y - b},
                }
                for a, b, x, y, c in of
            ],
        }
        for i, of in enumerate(boxes)
    ]
    written(root / "images" / "_annotations.createml.json", json.dumps(rows))


def via(root: Path, boxes: Boxes) -> None:
    """A project with settings around, regions by number, rectangles and polygons."""
    held = {}
    for i, of in enumerate(boxes):
        regions = {}
        for k, (x1, y1, x2, y2, c) in enumerate(of):
            shape: dict[str, Any] = {"name": "rect", "x": x1, "y": y1, "width": x2 - x1, "height": y2 - y1}
            if k:
                shape = {"name": "polygon", "all_points_x": [x1, x2, x1], "all_points_y": [y1, y1, y2]}
            regions[str(k)] = {"shape_attributes": shape, "region_attributes": {"kind": NAMES[c]}}
        name = f"img{i:03}.png"
        held[f"{name}{1000 + i}"] = {"filename": name, "size": 1000 + i, "regions": regions, "file_attributes": {}}
    written(
        root / "via.json", json.dumps({"_via_settings": {"ui": {}}, "_via_img_metadata": held, "_via_attributes": {}})
    )


def by_file(row: str, folder: str, name: str = "img{i:03}.txt", above: str = "") -> Callable[[Path, Boxes], None]:
    def write(root: Path, boxes: Boxes) -> None:
        for i, of in enumerate(boxes):
            lines = [
                row.format(x1=x1, y1=y1, x2=x2, y2=y2, w=x2 - x1, h=y2 - y1, c=NAMES[c], n=c)
                for x1, y1, x2, y2, c in of
            ]
            written(root / folder / name.format(i=i), above + "\n".join(lines) + "\n")

    return write


kitti = by_file("{c} 0.00 0 1.5 {x1}.00 {y1}.00 {x2}.00 {y2}.00 1.5 1.6 3.7 2.1 1.4 8.4 0.01", "label_2")
dota = by_file("{x1} {y1} {x2} {y1} {x2} {y2} {x1} {y2} {c} 0", "labelTxt", above="imagesource:GoogleEarth\ngsd:0.1\n")
visdrone = by_file("{x1},{y1},{w},{h},1,{n},0,0", "annotations")
icdar = by_file("{x1},{y1},{x2},{y1},{x2},{y2},{x1},{y2},{c}, it says", "gt", "gt_img{i:03}.txt")
cartucho = by_file("{c} {x1} {y1} {x2} {y2}", "ground-truth")


def wider(root: Path, boxes: Boxes) -> None:
    parts = [
        f"img{i:03}.png\n{len(of)}\n" + "".join(f"{a} {b} {x - a} {y - b} 0 0 0 0 0 0 \n" for a, b, x, y, _ in of)
        for i, of in enumerate(boxes)
    ]
    written(root / "wider_bbx_gt.txt", "".join(parts))


def cvat(root: Path, boxes: Boxes) -> None:
    images = "".join(
        f'<image id="{i}" name="img{i:03}.png" width="{WIDTH}" height="{HEIGHT}">'
        + "".join(
            f'<box label="{NAMES[c]}" occluded="0" xtl="{a}" ytl="{b}" xbr="{x}" ybr="{y}"/>' for a, b, x, y, c in of
        )
        + "</image>"
        for i, of in enumerate(boxes)
    )
    written(root / "annotations.xml", f"<annotations><version>1.1</version><meta><job/></meta>{images}</annotations>")


TABLES = [openimages, tensorflow, retinanet, gtsdb, wheat, prefixed]
NESTED = [bdd, createml, via]
LINES = [kitti, dota, visdrone, icdar, cartucho]
WRITERS = [*TABLES, *NESTED, *LINES, wider, cvat]
IDS = [
    *(w.__name__ for w in (*TABLES, *NESTED)),
    *("kitti", "dota", "visdrone", "icdar", "cartucho"),
    "wider",
    "cvat",
]
WITHOUT_CLASSES = {"wheat", "icdar", "wider"}
NUMBERED = {"gtsdb", "visdrone"}


def made(root: Path, write: Callable[[Path, Boxes], None], name: str) -> Boxes:
    boxes = drawn()
    for i in range(N):
        picture(root / ("image_2" if name == "kitti" else "images") / f"img{i:03}.png")
    write(root, boxes)
    return boxes


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def complaints(folder: Path) -> dict[str, Finding]:
    return {f.code: f for f in scan(folder, folder).findings if f.severity != "info"}


@pytest.mark.parametrize(("write", "name"), list(zip(WRITERS, IDS, strict=True)), ids=IDS)
def test_the_boxes_are_those_that_were_written(tmp_path: Path, write: Callable[[Path, Boxes], None], name: str) -> None:
    """Our promise: each image with its boxes and the classes of these, and no complaint."""
    boxes = made(tmp_path, write, name)
    source = opened(tmp_path)
    assert (source.modality, source.samples) == ("multimodal" if name == "icdar" else "detection", N) or name == "icdar"
    field = "bbox" if name == "wheat" else "boxes"
    scale = np.array([WIDTH, HEIGHT, WIDTH, HEIGHT]) if name == "openimages" else 1
    for unit in source.units:
        i = int(unit.file.rsplit("img", 1)[1][:3])
        block = source.decode(unit, source.read(unit))
        own = np.array([box[:4] for box in boxes[i]], float)
        if name == "wheat":
            own[:, 2:] -= own[:, :2]
        assert np.allclose(np.asarray(block.columns[field].values[0]) * scale, own, atol=1e-3)
        if name not in WITHOUT_CLASSES:
            names = {**dict(enumerate(map(str, range(3)))), **(source.objects.names if source.objects else {})}
            told = [names[int(n)] for n in block.columns["classes"].values[0]]
            assert told == [str(box[4]) if name in NUMBERED else NAMES[box[4]] for box in boxes[i]]
    assert complaints(tmp_path) == {}


@pytest.mark.parametrize(("write", "name"), list(zip(WRITERS, IDS, strict=True)), ids=IDS)
def test_a_box_outside_its_image_is_found(tmp_path: Path, write: Callable[[Path, Boxes], None], name: str) -> None:
    """Our promise: whatever the format, the sample whose box leaves the image is named."""
    boxes = made(tmp_path, write, name)
    left, top, _, bottom, kind = boxes[7][0]
    boxes[7][0] = (left, top, WIDTH + 30, bottom, kind)
    write(tmp_path, boxes)
    source, found = opened(tmp_path), complaints(tmp_path)
    at = next(int(u.start) for u in source.units if "img007" in u.file)
    assert {code: [w["sample"] for w in f.where] for code, f in found.items()} == {"box-outside": [at]}


@pytest.mark.parametrize(("write", "name"), list(zip(LINES, IDS[9:14], strict=True)), ids=IDS[9:14])
def test_a_damaged_line_is_told_and_the_others_are_read(
    tmp_path: Path, write: Callable[[Path, Boxes], None], name: str
) -> None:
    made(tmp_path, write, name)
    path = next(p for p in sorted(tmp_path.rglob("*.txt")) if "img005" in p.name)
    path.write_text(path.read_text(encoding="utf-8") + "1,2\n", encoding="utf-8")
    found = complaints(tmp_path)
    assert {c: [w["file"] for w in f.where] for c, f in found.items()} == {
        "parse-error": [str(path.relative_to(tmp_path))]
    }


def test_one_sign_in_each_image_keeps_its_class(tmp_path: Path) -> None:
    """GTSRB: a table in the folder of each class, semicolons, one sign in each image."""
    for kind in ("00000", "00001"):
        rows = ""
        for i in range(12):
            picture(tmp_path / kind / f"{kind}_{i:05}.png")
            rows += f"{kind}_{i:05}.png;{WIDTH};{HEIGHT};5;6;{20 + i};30;{int(kind)}\n"
        header = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId\n"
        written(tmp_path / kind / f"GT-{kind}.csv", header + rows)
    source = opened(tmp_path)
    assert source.label is not None and complaints(tmp_path) == {}
    unit = source.units[3]
    assert source.decode(unit, source.read(unit)).columns["boxes"].values[0].tolist() == [[5, 6, 23, 30]]


SIDES = st.tuples(*[st.floats(-1e6, 1e6)] * 4)


@given(SIDES, st.sampled_from(["", "bbox_", "Box.", "roi"]))
def test_sides_say_the_same_in_any_spelling(sides: tuple[float, float, float, float], prefix: str) -> None:
    x1, y1, x2, y2 = sides
    corners = {
        f"{prefix}{a}{b}": v
        for (a, b), v in zip((("x", "Min"), ("y", "Min"), ("x", "Max"), ("y", "Max")), sides, strict=True)
    }
    assert box_of({"bbox": corners}) == [x1, y1, x2, y2] == box_of(corners)
    size = {"x": x1, "y": y1, "width": x2, "height": y2}
    assert box_of({"rect": size}) == [x1, y1, x1 + x2, y1 + y2]
    assert box_of(size) is None  # a point, and the size of something


@given(st.lists(st.text(max_size=8), max_size=12))
def test_other_names_are_no_sides(names: list[str]) -> None:
    found = sides_in(names)
    assert found is None or set(found[1]) <= set(names)


def images(root: Path, n: int = 12) -> list[str]:
    names = [f"img{i:03}.png" for i in range(n)]
    for name in names:
        picture(root / name)
    return names


NOT_BOXES = {
    "landmarks": ("file,x0,y0,x1,y1,x2,y2", "{n},{i},5,9,7,11,{i}"),
    "segments": ("file,x1,y1,x2,y2", "{n},{i},30,9,7"),
    "a point and the size": ("file,width,height,x1,y1", "{n},64,48,{i},7"),
    "margins": ("file,left,top,right,bottom", "{n},{i},4,{i},4"),
}


@pytest.mark.parametrize("name", NOT_BOXES)
def test_other_numbers_stay_columns(tmp_path: Path, name: str) -> None:
    header, row = NOT_BOXES[name]
    rows = [row.format(n=n, i=i) for i, n in enumerate(images(tmp_path))]
    written(tmp_path / "t.csv", "\n".join([header, *rows]))
    assert {f.name for f in opened(tmp_path).fields} == {"image", *header.split(",")[1:]}


def test_texts_beside_images_that_are_no_labels_stay_texts(tmp_path: Path) -> None:
    """Shares of the image may be a centre and a size; eight numbers may be anything."""
    for line in ("cat 0.3 0.3 0.4 0.4", "37,117,46,117,46,130,38,130", "hello 1 2"):
        for name in images(tmp_path):
            written(tmp_path / name.replace(".png", ".txt"), f"{line}\n")
        assert {f.name for f in opened(tmp_path).fields} == {"image", "text"}


def test_labels_stand_beside_other_texts(tmp_path: Path) -> None:
    """KITTI as it is: a file of calibration for each image, too."""
    boxes = made(tmp_path, kitti, "kitti")
    for i in range(N):
        written(tmp_path / "calib" / f"img{i:03}.txt", "P0: 7.2e+02 0.0 6.0e+02\nP1: 7.2e+02 0.0 6.0e+02\n")
    source = opened(tmp_path)
    assert source.modality == "detection"
    unit = next(u for u in source.units if "img004" in u.file)
    assert len(source.decode(unit, source.read(unit)).columns["boxes"].values[0]) == len(boxes[4])


def test_many_swapped_corners_are_found(tmp_path: Path) -> None:
    """Names of columns say that they are corners, however few are in order."""
    rows = [f"{n},{30 if i % 3 else 5},5,{10 if i % 3 else 40},40,owl" for i, n in enumerate(images(tmp_path))]
    written(tmp_path / "t.csv", "\n".join(["filename,xmin,ymin,xmax,ymax,class", *rows]))
    found = complaints(tmp_path)["box-degenerate"]
    assert found.count == 8


@pytest.mark.parametrize("odd", ["1,2,30,40", [1, 2, 3], None])
def test_an_odd_object_is_told_and_the_others_are_read(tmp_path: Path, odd: Any) -> None:
    rows: list[dict[str, Any]] = [
        {"file": n, "objects": [{"label": "owl", "bbox": [1 + i, 2, 30, 40]}]} for i, n in enumerate(images(tmp_path))
    ]
    rows[3]["objects"].append(odd if odd is None else {"label": "owl", "bbox": odd})
    rows[5]["objects"] = rows[5]["objects"][0]  # the only one, without a list
    written(tmp_path / "t.json", json.dumps(rows))
    source, found = opened(tmp_path), complaints(tmp_path)
    assert {w["sample"] for w in found["box-degenerate"].where} == {3}
    unit = source.units[5]
    assert len(source.decode(unit, source.read(unit)).columns["boxes"].values[0]) == 1


def test_one_damaged_shape_of_cvat_costs_no_other(tmp_path: Path) -> None:
    made(tmp_path, cvat, "cvat")
    path = tmp_path / "annotations.xml"
    text = path.read_text(encoding="utf-8")
    at = text.index("<box", text.index("img003"))
    path.write_text(text[:at] + '<polygon label="owl" points="1,2;3"/>' + text[at:], encoding="utf-8")
    found = complaints(tmp_path)
    assert {w["sample"] for w in found["box-degenerate"].where} == {3} and "missing-pair" not in found


@pytest.mark.parametrize(
    "text",
    [
        "<dataset><images><image file='img000.png'><box top='1' left='2'/></image></images></dataset>",
        "<annotations><meta/><track id='0' label='a'><box frame='0' xtl='1' ytl='1' xbr='3' ybr='3'/></track></annotations>",
        "<!DOCTYPE html><html><head><meta charset='x'/></head></html>",
    ],
)
def test_other_xml_is_told_once(tmp_path: Path, text: str) -> None:
    images(tmp_path)
    written(tmp_path / "other.xml", text)
    assert {c: f.where for c, f in complaints(tmp_path).items()} == {"foreign-file": ({"file": "other.xml"},)}


def test_names_beside_numbers_are_those_of_the_classes(tmp_path: Path) -> None:
    rows = [f"{n},{k},{NAMES[k]},{1 + k},2,30,40" for n in images(tmp_path) for k in range(3)]
    written(tmp_path / "t.csv", "\n".join(["file,label,class_name,xmin,ymin,xmax,ymax", *rows]))
    source = opened(tmp_path)
    assert source.objects is not None and source.objects.names == dict(enumerate(NAMES))


def test_a_word_about_one_file_is_no_table(tmp_path: Path) -> None:
    images(tmp_path)
    written(tmp_path / "cover.json", '{"image": "img000.png"}')
    assert [f.name for f in opened(tmp_path).fields] == ["image"]


@pytest.mark.parametrize("nested", [False, True])
def test_classes_are_numbered_alike_in_all_tables(tmp_path: Path, nested: bool) -> None:
    """A split without the first class: its second one keeps its number."""
    for split, kinds in (("train", NAMES), ("test", NAMES[1:])):
        names = [f"{split}{i}.png" for i in range(12)]
        boxes = {n: [((i + k) % len(kinds), [1 + k, 2, 30, 40]) for k in range(2)] for i, n in enumerate(names)}
        for name in names:
            picture(tmp_path / split / name)
        if nested:
            rows = [
                {
                    "name": n,
                    "labels": [
                        {"category": kinds[c], "box2d": dict(zip(("x1", "y1", "x2", "y2"), b, strict=True))}
                        for c, b in of
                    ],
                }
                for n, of in boxes.items()
            ]
            written(tmp_path / f"{split}.json", json.dumps(rows))
        else:
            lines = [f"{n},{kinds[c]},{','.join(map(str, b))}" for n, of in boxes.items() for c, b in of]
            written(tmp_path / f"{split}_labels.csv", "\n".join(["filename,class,xmin,ymin,xmax,ymax", *lines]))
    source = opened(tmp_path)
    assert source.objects is not None and source.objects.names == {0: "gnu", 1: "owl", 2: "yak"}
    for unit in source.units:
        i, kinds = int(unit.file.rsplit(str(unit.split), 1)[1][:-4]), NAMES if unit.split == "train" else NAMES[1:]
        told = source.decode(unit, source.read(unit)).columns["classes"].values[0].tolist()
        assert [source.objects.names[n] for n in told] == [kinds[(i + k) % len(kinds)] for k in range(2)]


def test_a_label_file_in_another_encoding_costs_no_other(tmp_path: Path) -> None:
    made(tmp_path, kitti, "kitti")
    (tmp_path / "label_2" / "img005.txt").write_bytes(b"caf\xe9 0 0 0 1 2 30 40 0 0 0 0 0 0 0\n")
    assert [(c, w["file"]) for c, f in complaints(tmp_path).items() for w in f.where] == [
        ("parse-error", "label_2/img005.txt")
    ]


def test_an_empty_file_of_lines_is_that_of_an_image_without_objects(tmp_path: Path) -> None:
    """KITTI; seen: an error for each of them."""
    for i in range(12):
        picture(tmp_path / f"training/image_2/{i:06}.png")
        line = f"Car 0.00 0 -1.5 {i}.0 2.0 30.0 20.0 1.6 1.6 3.6 -5.6 1.7 36.7 -1.6\n"
        written(tmp_path / f"training/label_2/{i:06}.txt", line if i % 3 else "")
    assert "empty-file" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_an_image_without_rows_in_a_table_of_runs_shows_nothing(tmp_path: Path) -> None:
    """Severstal; seen: a missing pair for each image without a defect."""
    rows = [f"{i:03}a.png,{k},{k + 1} 3 90 4" for i in range(20) for k in range(i % 3)]
    for i in range(20):
        picture(tmp_path / f"train_images/{i:03}a.png")
    written(tmp_path / "train.csv", "\n".join(["ImageId,ClassId,EncodedPixels", *rows]))
    assert "missing-pair" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_answers_in_another_order_than_their_questions(tmp_path: Path) -> None:
    """Seen: several questions of an image beside the answers to others (VQA), as each file has its own order. One may lack an answer."""
    ids = [i * 10 + k for i in range(12) for k in range(3)]
    (tmp_path / "images").mkdir()
    for i in range(12):
        Image.fromarray(np.full((8, 8, 3), i * 20, np.uint8)).save(tmp_path / "images" / f"{i:04}.png")
    questions = [{"image_id": q // 10, "question_id": q, "question": f"What is number {q}?"} for q in ids]
    answers = [{"image_id": q // 10, "question_id": q, "answer": f"It is {q}."} for q in reversed(ids) if q != 31]
    (tmp_path / "questions.json").write_text(json.dumps({"questions": questions}))
    (tmp_path / "annotations.json").write_text(json.dumps({"annotations": answers}))
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    for unit in source.units:
        columns = source.decode(unit, source.read(unit)).columns
        asked, told = columns["question"].values[0], columns["answer"].values[0]
        numbers = [int(text.split()[-1][:-1]) for text in asked]
        assert [None if q == 31 else f"It is {q}." for q in numbers] == list(told)

"""Data sets for detection as they are found in the wild: COCO, Pascal VOC, YOLO and Darknet, with their folders and lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.annotations.yolo import is_yolo, read_label
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.layout import split_of_folder
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

RNG = np.random.default_rng()
NAMES = {0: "owl", 1: "yak", 2: "gnu"}


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (24, 32, 3), np.uint8)).save(path)


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def opened(folder: Path, **more: Any) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),), **more), [])


def codes(folder: Path) -> dict[str, Any]:
    return {f.code: f for f in scan(folder, folder).findings if f.severity != "info"}


def coco(root: Path) -> None:
    """As the original is: years in the names of folders, one file of annotations for each, and one of captions."""
    for split, n in (("train2017", 16), ("val2017", 8)):
        images = [{"id": i + 1, "file_name": f"{i:012}.jpg"} for i in range(n)]
        objects = [
            {"id": 9 * i + k, "image_id": i + 1, "category_id": 1 + 2 * k, "bbox": [2 + k, 2, 9, 9], "segmentation": []}
            for i in range(n)
            for k in range(i % 3)
        ]
        for image in images:
            picture(root / split / str(image["file_name"]))
        found = {
            "images": images,
            "annotations": objects,
            "categories": [{"id": 1, "name": "owl"}, {"id": 3, "name": "yak"}],
        }
        written(root / "annotations" / f"instances_{split}.json", json.dumps(found))
        captions = [{"id": i, "image_id": i + 1, "caption": f"{split} shows {i}"} for i in range(n)]
        found = {"images": images, "annotations": captions}
        written(root / "annotations" / f"captions_{split}.json", json.dumps(found))


def voc(root: Path) -> None:
    """As the original is: lists of splits by name, lists of each class beside them, and masks of some images."""
    names = [f"2007_{i:06}" for i in range(24)]
    for i, name in enumerate(names):
        picture(root / "JPEGImages" / f"{name}.jpg")
        one = f"<object><name>{NAMES[i % 2]}</name><bndbox><xmin>2</xmin><ymin>2</ymin><xmax>{9 + i % 9}</xmax><ymax>9</ymax></bndbox></object>"
        written(root / "Annotations" / f"{name}.xml", f"<annotation>{one * (i > 1)}</annotation>")
        if i % 4 == 0:
            for kind in ("Class", "Object"):
                path = root / f"Segmentation{kind}" / f"{name}.png"
                path.parent.mkdir(exist_ok=True)
                Image.fromarray(RNG.integers(0, 3, (24, 32), np.uint8)).save(path)
    lists = {"train": names[:16], "val": names[16:], "trainval": names}
    for split, of in lists.items():
        written(root / "ImageSets" / "Main" / f"{split}.txt", "\n".join(of))
        written(root / "ImageSets" / "Main" / f"owl_{split}.txt", "\n".join(f"{name} -1" for name in of))
    written(root / "ImageSets" / "Segmentation" / "train.txt", "\n".join(names[::4]))


def yolo(root: Path) -> None:
    """As Ultralytics writes it for segmentation: outlines, and names in a block of YAML."""
    for split, n in (("train", 16), ("val", 8)):
        for i in range(n):
            picture(root / "images" / split / f"{i}.jpg")
            lines = [f"{k} 0.1 0.1 0.5 0.1 0.5 0.4{k}" for k in range(i % 3)]
            written(root / "labels" / split / f"{i}.txt", "\n".join(lines))
    written(
        root / "data.yaml",
        'path: .\ntrain: images/train\n\nnames:\n  0: owl  # at night\n  1: "yak"\n  2: gnu\nnc: 3\n',
    )


def labelme(root: Path) -> None:
    """A file beside each image, as the program saves them: polygons, a rectangle and a circle."""
    for i in range(24):
        path = root / ("train" if i < 16 else "val") / f"{i}.jpg"
        picture(path)
        kinds = [("polygon", [[2, 2], [9, 3], [5, 9]]), ("rectangle", [[9, 9], [3, 3]]), ("circle", [[9, 9], [9, 12]])]
        shapes = [{"label": NAMES[k % 2], "points": kinds[k][1], "shape_type": kinds[k][0]} for k in range(i % 4)]
        held: dict[str, Any] = {
            "version": "5.0.1",
            "flags": {},
            "shapes": shapes,
            "imagePath": path.name,
            "imageData": None,
        }
        written(path.with_suffix(".json"), json.dumps(held))


def darknet(root: Path) -> None:
    """Labels beside the images, and lists of paths from another folder."""
    for i in range(24):
        picture(root / "obj" / f"{i}.jpg")
        written(root / "obj" / f"{i}.txt", "".join(f"{k} 0.5 0.5 0.{2 + k} 1\n" for k in range(i % 3)))
    written(root / "train.txt", "".join(f"data/obj/{i}.jpg\n" for i in range(16)))
    written(root / "valid.txt", "".join(f"data/obj/{i}.jpg\n" for i in range(16, 24)))
    written(root / "obj.names", "owl\nyak\ngnu\n")
    written(root / "obj.data", "classes = 3\ntrain = data/train.txt\n")


def as_read(folder: Path, format: str | None) -> object:
    """What a format makes of a folder, or how it fails."""
    try:
        source = opened(folder, format=format)
    except Exception as error:
        return repr(error)
    splits, names = source.splits, source.objects and source.objects.names
    return source.modality, source.samples, sorted(splits.values()), splits.get("train"), source.label, names


@pytest.mark.parametrize("write", [coco, voc, yolo, darknet, labelme])
def test_the_usual_folders_are_read(tmp_path: Path, write: Any) -> None:
    """Our promise: splits, boxes and the names of classes, without a word of complaint, under the format's own name too."""
    write(tmp_path)
    name = {darknet: "yolo", labelme: "image-folder"}.get(write, write.__name__)
    names = {1: "owl", 3: "yak"} if write is coco else {0: "owl", 1: "yak"} if write in (voc, labelme) else NAMES
    expected = ("detection", 24, [8, 16], 16, None, names)
    assert {format: as_read(tmp_path, format) for format in (None, name)} == {None: expected, name: expected}
    assert codes(tmp_path) == {}


def test_objects_of_labelme_are_the_boxes_around_them(tmp_path: Path) -> None:
    labelme(tmp_path)
    source = opened(tmp_path)
    unit = next(unit for unit in source.units if unit.file == "train/3.jpg")
    block = source.decode(unit, source.read(unit))
    assert block.columns["boxes"].values[0].tolist() == [[2, 2, 9, 9], [3, 3, 9, 9], [6, 6, 12, 12]]
    assert block.columns["classes"].values[0].tolist() == [0, 1, 0]
    (tmp_path / "train" / "3.json").write_text('{"shapes": [{"points": []}]}', encoding="utf-8")
    found = codes(tmp_path)
    assert [w["file"] for w in found["parse-error"].where] == ["train/3.json"]


def test_a_sample_in_two_lists_is_told(tmp_path: Path) -> None:
    darknet(tmp_path)
    written(tmp_path / "valid.txt", "".join(f"data/obj/{i}.jpg\n" for i in range(15, 24)))
    found = codes(tmp_path)
    assert {code: [w["file"] for w in f.where] for code, f in found.items()} == {"splits-overlap": ["obj/15.jpg"]}


def test_what_a_list_names_in_vain_is_told(tmp_path: Path) -> None:
    darknet(tmp_path)
    with (tmp_path / "train.txt").open("a", encoding="utf-8") as file:
        file.write("data/obj/99.jpg\n")
    found = codes(tmp_path)
    assert {code: [w["file"] for w in f.where] for code, f in found.items()} == {"dangling-reference": ["train.txt"]}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("0 0.5 x 0.2 0.2", "parse-error"),
        ("0 0.5 0.5 0.2", "parse-error"),
        ("0.5 0.5 0.5 0.2 0.2", "parse-error"),
        ("0 0.5 0.5 0.2 0", "box-degenerate"),
        ("0 0.9 0.5 0.4 0.2", "box-outside"),
        ("3 0.5 0.5 0.2 0.2", "label-out-of-range"),
        ("-1 0.5 0.5 0.2 0.2", "label-out-of-range"),
        ("0 0.5 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.2", "duplicate-boxes"),
    ],
)
def test_a_wrong_line_is_found_in_its_sample(tmp_path: Path, line: str, code: str) -> None:
    """Our promise: one damaged label among sound ones neither stops the reading nor passes."""
    darknet(tmp_path)
    written(tmp_path / "obj" / "7.txt", line)
    found = codes(tmp_path)
    assert list(found) == [code]
    assert {Path(str(w["file"])).stem for w in found[code].where} == {"7"}


@pytest.mark.parametrize("renamed", [1, 4])
def test_a_few_labels_called_after_the_images_files_are_told(tmp_path: Path, renamed: int) -> None:
    """Seen: labels written as ``7.jpg.txt`` beside others as ``8.txt``, which training code does not find, were read as if it did."""
    for i in range(4):
        picture(tmp_path / "images" / "train" / f"{i}.jpg")
        written(tmp_path / "labels" / "train" / (f"{i}.jpg.txt" if i < renamed else f"{i}.txt"), "0 0.5 0.5 0.2 0.2\n")
    told = codes(tmp_path).get("odd-name")
    assert (told is not None and told.where[0]["file"] == "labels/train/0.jpg.txt") == (renamed == 1)


def test_labels_and_images_without_each_other(tmp_path: Path) -> None:
    """An image without a file shows nothing; a file without its image is a loss."""
    darknet(tmp_path)
    (tmp_path / "obj" / "3.txt").unlink()
    (tmp_path / "obj" / "4.jpg").unlink()
    for name in ("train.txt", "valid.txt"):
        path = tmp_path / name
        written(path, path.read_text(encoding="utf-8").replace("data/obj/4.jpg\n", ""))
    assert [f.where for f in codes(tmp_path).values()] == [({"file": "obj/4.txt"},)]


SHARE = st.floats(0.05, 0.95).map(lambda x: round(x, 6))


@given(st.lists(st.tuples(st.integers(0, 80), st.lists(st.tuples(SHARE, SHARE), min_size=3, max_size=9)), max_size=5))
def test_an_outline_is_read_as_the_box_around_it(shapes: list[tuple[int, list[tuple[float, float]]]]) -> None:
    text = "".join(f"{c} {' '.join(f'{x} {y}' for x, y in points)}\n" for c, points in shapes)
    found = read_label(text)
    assert found.classes == [c for c, _ in shapes] and not found.wrong
    for box, (_, points) in zip(found.boxes, shapes, strict=True):
        xs, ys = zip(*points, strict=True)
        assert box == [min(xs), min(ys), max(xs), max(ys)]
    assert found.outlines == bool(shapes)
    assert is_yolo(text) == bool(shapes)


@given(SHARE, SHARE, st.lists(SHARE, min_size=51, max_size=51))
def test_key_points_are_no_outline(x: float, y: float, points: list[float]) -> None:
    """Ultralytics: ``kpt_shape: [17, 3]`` puts 51 numbers behind each box."""
    line = " ".join(map(str, (0, x, y, 0.1, 0.1, *points)))
    assert read_label(line, (17, 3)).boxes[0] == pytest.approx([x - 0.05, y - 0.05, x + 0.05, y + 0.05])
    short = " ".join(line.split()[: 5 + 34])
    assert read_label(short, (17, 2)).boxes[0] == pytest.approx([x - 0.05, y - 0.05, x + 0.05, y + 0.05])


@pytest.mark.parametrize(
    "text",
    ["5 1 2 3 4\n5 1 2 3 4\n", "a line of words and 0.5\n", "1 200.5 10.5 30.5 40.5\n", "", "0.25 0.5 0.5 0.5 0.5\n"],
)
def test_other_texts_are_no_labels(text: str) -> None:
    assert not is_yolo(text)


def test_folders_of_splits_by_other_names() -> None:
    """COCO's years, words for the files themselves, and names of classes that only contain such a word."""
    told = ["train2017", "val_images", "test-set", "Training", "images_train", "valid2", "TrainSet"]
    assert [split_of_folder(name) for name in told] == ["train", "val", "test", "train", "train", "valid", "train"]
    for name in (
        "training_plane",
        "steam train",
        "tested positive",
        "2017",
        "train_test",
        "images",
        "trainers",
        "испытание test",
    ):
        assert split_of_folder(name) is None


def test_tables_called_after_splits_divide_the_images_of_one_folder(tmp_path: Path) -> None:
    """As in many contests: all images in one folder, and a table for each split."""
    for i in range(24):
        picture(tmp_path / "images" / f"{i}.png")
    for split, of in (("train", range(16)), ("test", range(16, 24))):
        rows = "".join(f"{i}.png,{'ab'[i % 2]}\n" for i in of)
        written(tmp_path / f"{split}.csv", "file,label\n" + rows)
    source = opened(tmp_path)
    assert source.splits == {"train": 16, "test": 8} and source.label == "label"


def test_lists_without_suffixes_divide_classes_in_folders(tmp_path: Path) -> None:
    """As Food-101 is stored: the same names in the folder of each class."""
    for kind in ("pie", "soup"):
        for i in range(12):
            picture(tmp_path / "images" / kind / f"{i}.jpg")
    for split, of in (("train", range(8)), ("test", range(8, 12))):
        written(tmp_path / "meta" / f"{split}.txt", "".join(f"{kind}/{i}\n" for kind in ("pie", "soup") for i in of))
    written(tmp_path / "meta" / "classes.txt", "pie\nsoup\n")
    source = opened(tmp_path)
    assert source.splits == {"train": 16, "test": 8} and source.classes == ("pie", "soup")
    assert codes(tmp_path) == {}


def test_hugging_faces_objects_are_boxes_with_classes(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for i in range(24):
        picture(tmp_path / "train" / f"{i}.png")
        boxes = [[20 + k, 12, 9, 9] for k in range(1 + i % 3)]
        rows.append({"file_name": f"{i}.png", "objects": {"bbox": boxes, "categories": [*range(len(boxes))]}})
    written(tmp_path / "train" / "metadata.jsonl", "\n".join(map(json.dumps, rows)))
    source = opened(tmp_path)
    assert source.modality == "detection"
    rows[7]["objects"]["bbox"][0][0] = 30
    written(tmp_path / "train" / "metadata.jsonl", "\n".join(map(json.dumps, rows)))
    assert {c: [w["sample"] for w in f.where] for c, f in codes(tmp_path).items()} == {
        "box-outside": [source_at(source, 7)]
    }


def source_at(source: Source, i: int) -> int:
    return next(int(unit.start) for unit in source.units if unit.file.endswith(f"/{i}.png"))


def test_coco_without_boxes_names_classes(tmp_path: Path) -> None:
    """iNaturalist: one class for each image; and what is annotated but not listed is told."""
    images = [{"id": i, "file_name": f"{i % 2}/{i}.jpg"} for i in range(24)]
    for image in images:
        picture(tmp_path / str(image["file_name"]))
    categories = [{"id": i, "name": NAMES[i]} for i in range(3)]
    held = {"images": images, "categories": categories}
    held["annotations"] = [{"id": i, "image_id": i, "category_id": i % 3} for i in range(24)]
    written(tmp_path / "train.json", json.dumps(held))
    source = opened(tmp_path)
    assert (source.label, source.modality) == ("category", "image")
    assert codes(tmp_path) == {}
    held["annotations"].append({"id": 99, "image_id": 99, "category_id": 0})
    written(tmp_path / "train.json", json.dumps(held))
    assert list(codes(tmp_path)) == ["dangling-reference"]


def test_the_segments_of_panoptic_annotations_are_objects(tmp_path: Path) -> None:
    """COCO's panoptic files have one annotation for each image, and its objects within."""
    numbers = {}
    for split, n in (("train2017", 14), ("val2017", 7)):
        images = [{"id": 50 + i, "file_name": f"{split[0]}{i:05}.jpg", "width": 32, "height": 24} for i in range(n)]
        annotations = []
        for image in images:
            picture(tmp_path / split / str(image["file_name"]))
            own = [int(c) for c in RNG.choice([1, 3, 187], RNG.integers(1, 5))]
            numbers[f"{split}/{image['file_name']}"] = own
            segments = [{"id": k, "category_id": c, "iscrowd": 0, "bbox": [k, 2, 9, 8]} for k, c in enumerate(own)]
            name = str(image["file_name"]).replace("jpg", "png")
            annotations.append({"image_id": image["id"], "file_name": name, "segments_info": segments})
            picture(tmp_path / "annotations" / f"panoptic_{split}" / name)
        categories = [{"id": c, "name": f"class {c}", "isthing": 1} for c in (1, 3, 187)]
        held = {"images": images, "annotations": annotations, "categories": categories}
        written(tmp_path / "annotations" / f"panoptic_{split}.json", json.dumps(held))
    source = opened(tmp_path)
    assert (source.label, source.modality) == (None, "detection")
    assert source.objects is not None and dict(source.objects.names) == {1: "class 1", 3: "class 3", 187: "class 187"}
    for unit in source.units:
        columns = source.decode(unit, source.read(unit)).columns
        assert columns["categories"].values[0].tolist() == numbers[unit.file]
        assert columns["boxes"].values[0].tolist() == [[k, 2, k + 9, 10] for k in range(len(numbers[unit.file]))]


def posed(root: Path, **odd: Any) -> int:
    """COCO's key points, 17 of each person; one person has what ``odd`` says. Returns the number of that image."""
    images = [{"id": i, "file_name": f"{i:05}.jpg"} for i in range(40)]
    persons = []
    for image in images:
        picture(root / "train" / str(image["file_name"]))
        shown = RNG.integers(0, 3, 17)
        points = np.stack([RNG.integers(3, 20, 17), RNG.integers(3, 16, 17), shown], 1).reshape(-1).tolist()
        box = [2, 2, 20, 16]
        person = {"image_id": image["id"], "category_id": 1, "bbox": box, "keypoints": points}
        persons.append({"id": image["id"], **person, "num_keypoints": int((shown > 0).sum())})
    at = int(RNG.integers(40))
    persons[at] |= odd
    held = {"images": images, "annotations": persons, "categories": [{"id": 1, "name": "person"}]}
    written(root / "annotations" / "person_keypoints_train.json", json.dumps(held))
    return at


def test_key_points_of_all_persons_are_read(tmp_path: Path) -> None:
    posed(tmp_path)
    assert {f.name: f.shape for f in opened(tmp_path).fields}["keypoints"][-2:] == (17, 3)
    assert codes(tmp_path) == {}


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"keypoints": [9, 9, 2] * 16}, "are 48 numbers, those of others 51"),
        ({"keypoints": [9, 9, 2] * 16 + [9]}, "are 49 numbers, those of others 51"),
        ({"num_keypoints": 99}, "num_keypoints of an object is 99"),
    ],
    ids=["one too few", "a number too many", "another count"],
)
def test_a_person_with_odd_key_points_is_told_and_the_others_are_read(
    tmp_path: Path, odd: dict[str, Any], said: str
) -> None:
    at = posed(tmp_path, **odd)
    assert {f.name: f.shape for f in opened(tmp_path).fields}["keypoints"][-2:] == (17, 3)
    told = codes(tmp_path)["length-mismatch"]
    assert said in told.message and [w["file"] for w in told.where] == [f"train/{at:05}.jpg"]


def test_a_count_of_all_key_points_is_told_where_some_are_not_labelled(tmp_path: Path) -> None:
    """Seen: ``num_keypoints`` was the number of all points in one file, and nothing was said, as half of its objects contradicted it. Where nearly
    all do, or each in its own way, it counts something else."""
    posed(tmp_path)
    file = tmp_path / "annotations" / "person_keypoints_train.json"
    held = json.loads(file.read_text(encoding="utf-8"))
    for person in held["annotations"][::2]:
        person["num_keypoints"] = 17
    written(file, json.dumps(held))
    assert "num_keypoints of an object is 17" in codes(tmp_path)["length-mismatch"].message
    for person in held["annotations"]:
        person["num_keypoints"] = sum(seen == 2 for seen in person["keypoints"][2::3])
    written(file, json.dumps(held))
    assert codes(tmp_path) == {}


def test_flags_that_are_all_zero_contradict_the_counts(tmp_path: Path) -> None:
    """Seen: a conversion lost all flags of a file, and no point was labelled any more, though ``num_keypoints`` said how many are."""
    posed(tmp_path)
    file = tmp_path / "annotations" / "person_keypoints_train.json"
    held = json.loads(file.read_text(encoding="utf-8"))
    for person in held["annotations"]:
        person["keypoints"][2::3] = [0] * 17
    written(file, json.dumps(held))
    assert "and 0 of its keypoints are labelled" in codes(tmp_path)["length-mismatch"].message


def outlined(root: Path, change: Callable[[list[float]], list[float]], rows: Iterable[int]) -> Any:
    """COCO with a triangle for each object; the boxes of these images are changed."""
    images = [{"id": i, "file_name": f"{i:05}.jpg"} for i in range(30)]
    objects = []
    for i in range(30):
        picture(root / "train" / f"{i:05}.jpg")
        x, y, w, h = (float(n) for n in RNG.integers([1, 1, 8, 6], [10, 8, 12, 9]))
        box = change([x, y, w, h]) if i in rows else [x, y, w, h]
        triangle = [[x, y, x + w, y + h / 2, x, y + h]]
        objects.append({"id": i, "image_id": i, "category_id": 1, "bbox": box, "segmentation": triangle, "iscrowd": 0})
    held = {"images": images, "annotations": objects, "categories": [{"id": 1, "name": "sail"}]}
    written(root / "annotations" / "instances_train.json", json.dumps(held))
    return codes(root).get("label-conflict")


def centred(box: list[float]) -> list[float]:
    x, y, w, h = box
    return [x + w / 2, y + h / 2, w, h]


def test_boxes_that_do_not_enclose_their_polygons_are_told(tmp_path: Path) -> None:
    """Seen: a fifth of the boxes were given by their centres, and few of them reached beyond the image."""
    assert outlined(tmp_path / "sound", centred, ()) is None
    some = outlined(tmp_path / "some", centred, range(6))
    assert some.count == 6 and "does not enclose its polygon: read as the centre and the size, it does" in some.message
    assert outlined(tmp_path / "all", centred, range(30)).count == 30
    assert outlined(tmp_path / "wider", lambda box: [box[0] - 1, box[1] - 1, box[2] + 1, box[3] + 1], range(9)) is None
    hidden = outlined(tmp_path / "hidden", lambda box: [0, 0, box[0] + 2 * box[2], box[1] + 2 * box[3]], range(9))
    assert hidden is None
    assert outlined(tmp_path / "of something else", lambda box: [0, 0, 3, 3], range(30)) is None


def renamed(root: Path, name: Callable[[int], str], rows: Iterable[int]) -> list[str]:
    """Pascal VOC whose files give these names to their images. Returns the files of which it is told that they name another one."""
    voc(root)
    for i in rows:
        file = root / "Annotations" / f"2007_{i:06}.xml"
        text = file.read_text(encoding="utf-8").replace("<annotation>", f"<annotation><filename>{name(i)}</filename>")
        written(file, text)
    told = codes(root).get("label-conflict")
    return [] if told is None else sorted(str(place["file"]) for place in told.where)


def test_annotations_that_name_another_image_are_told(tmp_path: Path) -> None:
    """Seen: XML files were copied for new images and still named the old ones."""
    assert renamed(tmp_path, lambda i: f"2007_{i - 1:06}.jpg", (5, 9)) == [
        f"Annotations/2007_{i:06}.xml" for i in (5, 9)
    ]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (lambda i: f"2007_{i:06}.jpg", range(24)),
        (lambda i: f"2007_{i:06}", range(24)),
        (lambda i: f"DSC_{i}.jpg", (5, 9)),
        (lambda i: f"2007_{(i + 7) % 24:06}.jpg", range(24)),
    ],
    ids=["their own", "without a suffix", "no image there", "former names"],
)
def test_other_names_in_annotations_are_no_fault(tmp_path: Path, name: Callable[[int], str], rows: Any) -> None:
    assert renamed(tmp_path, name, rows) == []


def test_files_that_number_categories_differently_are_told(tmp_path: Path) -> None:
    """Our promise: a model that is trained on numbers would learn other names for them."""
    coco(tmp_path)
    file = tmp_path / "annotations" / "instances_val2017.json"
    held = json.loads(file.read_text(encoding="utf-8"))
    held["categories"] = held["categories"][:1]  # which is no contradiction
    numbers = [c["id"] for c in held["categories"]]
    held["annotations"] = [one for one in held["annotations"] if one["category_id"] in numbers]
    written(file, json.dumps(held))
    assert "label-conflict" not in codes(tmp_path)
    held["categories"][0]["name"] = "another"
    written(file, json.dumps(held))
    assert codes(tmp_path)["label-conflict"].severity == "error"


def test_annotations_of_another_size_are_told(tmp_path: Path) -> None:
    coco(tmp_path)
    file = tmp_path / "annotations" / "instances_val2017.json"
    held = json.loads(file.read_text(encoding="utf-8"))
    for image in held["images"]:
        image |= {"width": 32, "height": 24}
    held["images"][3] |= {"width": 640, "height": 480}
    written(file, json.dumps(held))
    assert {c: [w["file"] for w in f.where] for c, f in codes(tmp_path).items()} == {
        "length-mismatch": ["val2017/000000000003.jpg"]
    }
    held["images"][3] |= {"width": 24, "height": 32}
    written(file, json.dumps(held))
    assert list(codes(tmp_path)) == ["length-mismatch"]
    lying = Image.new("RGB", (32, 24), (90, 20, 140))
    lying.getexif()[274] = 6
    lying.save(tmp_path / "val2017" / "000000000003.jpg", exif=lying.getexif())
    assert "length-mismatch" not in codes(tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        "names: ['cup, glass', 'it''s', \"a [x]\"]",
        "names: {0: 'cup, glass', 1: \"it's\", 2: 'a [x]'}",
        "names:\n  - cup, glass\n  - it's\n  - 'a [x]'\n",
        "names:\n  '0': cup, glass\n  '1': it's  # so\n  '2': 'a [x]'\n",
    ],
)
def test_names_in_yaml(tmp_path: Path, names: str) -> None:
    yolo(tmp_path)
    written(tmp_path / "data.yaml", names)
    source = opened(tmp_path)
    assert source.objects is not None
    assert source.objects.names == {0: "cup, glass", 1: "it's", 2: "a [x]"}


def test_images_whose_names_differ_in_a_dash_keep_their_own_labels(tmp_path: Path) -> None:
    darknet(tmp_path)
    for name, line in (("a-1", "0 0.5 0.5 0.2 0.2"), ("a_1", "1 0.5 0.5 0.4 0.4")):
        picture(tmp_path / "obj" / f"{name}.jpg")
        written(tmp_path / "obj" / f"{name}.txt", line)
    source = opened(tmp_path)
    classes = {
        Path(unit.file).stem: source.decode(unit, source.read(unit)).columns["classes"].values[0].tolist()
        for unit in source.units
    }
    assert (classes["a-1"], classes["a_1"]) == ([0], [1])
    assert codes(tmp_path) == {}


def test_texts_of_numbers_without_images_are_texts(tmp_path: Path) -> None:
    for i in range(20):
        written(
            tmp_path / f"{i}.txt",
            "".join(f"{k} {RNG.random():.3f} {RNG.random():.3f} 0.1 0.2 0.3 0.4\n" for k in range(5)),
        )
    assert opened(tmp_path).format == "text"


def test_odd_numbers_end_no_call(tmp_path: Path) -> None:
    """A class beyond 64 bits in one label, and a list of one endless line."""
    darknet(tmp_path)
    written(tmp_path / "obj" / "3.txt", "1e30 0.5 0.5 0.2 0.2")
    assert [w["file"] for w in codes(tmp_path)["parse-error"].where] == ["obj/3.txt"]
    written(tmp_path / "test.txt", "a/" * 500_000)
    assert opened(tmp_path).samples == 24


def supervisely(root: Path, geometry: str = "rectangle", within: str = "ds0") -> None:
    written(root / "meta.json", json.dumps({"classes": [{"title": "owl"}, {"title": "yak"}]}))
    for i in range(16):
        picture(root / within / "img" / f"IMG_{i:03}.jpeg")
        corners = [[2 + i % 3, 3], [12, 3], [14, 15]]
        one = {"classTitle": ("yak", "owl")[i % 2], "geometryType": geometry, "points": {"exterior": corners}}
        held = {"size": {"height": 24, "width": 32}, "objects": [one][: i % 5]}
        written(root / within / "ann" / f"IMG_{i:03}.jpeg.json", json.dumps(held))


def test_objects_of_supervisely_are_read(tmp_path: Path) -> None:
    """A file called after the whole name of its image; an object that is a mask alone is told."""
    supervisely(tmp_path)
    source = opened(tmp_path)
    assert (source.samples, source.modality) == (16, "detection")
    assert source.objects is not None and dict(source.objects.names) == {0: "owl", 1: "yak"}
    block = source.decode(source.units[1], source.read(source.units[1]))
    assert block.columns["boxes"].values[0].tolist() == [[3, 3, 14, 15]]
    assert block.columns["classes"].values[0].tolist() == [0]
    assert codes(tmp_path) == {}
    bitmap = {"classTitle": "owl", "geometryType": "bitmap", "bitmap": {"data": "", "origin": [1, 1]}}
    held = {"size": {"height": 24, "width": 32}, "objects": [bitmap]}
    written(tmp_path / "ds0" / "ann" / "IMG_003.jpeg.json", json.dumps(held))
    assert [w["file"] for w in codes(tmp_path)["missing-values"].where] == ["ds0/ann/IMG_003.jpeg.json"]


def test_numbers_of_names_begin_again_in_each_split(tmp_path: Path) -> None:
    """Our promise: of images that are called the same, an annotation is that of the one in the folder beside its own."""
    for within in ("train", "val"):
        supervisely(tmp_path, within=within)
    source = opened(tmp_path)
    assert source.splits == {"train": 16, "val": 16} and codes(tmp_path) == {}
    counted = [len(source.decode(u, source.read(u)).columns["classes"].values[0]) for u in source.units]
    assert counted == [min(i % 5, 1) for i in range(16)] * 2


def test_records_called_after_images_are_no_objects(tmp_path: Path) -> None:
    supervisely(tmp_path)
    for path in tmp_path.glob("ds0/ann/*.json"):
        path.write_text(json.dumps({"objects": 3, "camera": "left"}))
    assert opened(tmp_path).modality == "image"


@pytest.mark.parametrize("settings", ["names: ['owl']\nkpt_shape: [2, 3]\n", "names: ['owl']\n", None])
def test_key_points_behind_boxes(tmp_path: Path, settings: str | None) -> None:
    """With their number in the settings, or without: each is followed by whether it is visible. An empty file shows nothing."""
    for split, n in (("train", 12), ("valid", 8)):
        for i in range(n):
            picture(tmp_path / split / "images" / f"{i}.jpg")
            line = f"0 0.5 0.5 0.25 0.5 0.4 0.3{i} 2 0.6 0.6 {i % 3}\n"
            written(tmp_path / split / "labels" / f"{i}.txt", line * (i % 3 > 0))
    if settings is not None:
        written(tmp_path / "data.yaml", settings)
    unknowns: list[Unknown] = []
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), unknowns)
    assert (source.modality, source.splits) == ("detection", {"train": 12, "valid": 8})
    block = source.decode(source.units[1], source.read(source.units[1]))
    assert block.columns["boxes"].values[0].tolist() == [[0.375, 0.25, 0.625, 0.75]]
    assert "field keypoints" in {unknown.what for unknown in unknowns} and codes(tmp_path) == {}


def test_outlines_whose_numbers_are_as_many_stay_outlines(tmp_path: Path) -> None:
    for i in range(12):
        picture(tmp_path / "images" / f"{i}.jpg")
        written(tmp_path / "labels" / f"{i}.txt", f"0 0.1 0.1 0.5 0.1 0.5 0.4 0.2 0.3{i} 0.1 0.2\n")
    source = opened(tmp_path)
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert block.columns["boxes"].values[0].tolist() == [[0.1, 0.1, 0.5, 0.4]]

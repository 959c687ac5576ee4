"""The code for images with annotations, and for tables whose headers are written as other programs write them, holds the same
samples as our own loaders, without our package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.loaders import open_dataset
from dataloader_expert.tools.recommend_batch_spec import Result
from tests.journeys.test_code import assert_same_samples, rendered, runs
from tests.making.asking import Asker
from tests.making.scripts import ran
from tests.making.tiny import Made
from tests.sources.test_annotations import WRITE, pictures, table
from tests.sources.test_detection import darknet, labelme, voc, yolo
from tests.sources.test_objects import TABLES
from tests.sources.test_objects import made as objects_made

N = 60
NAMES = [f"{i:03}.png" for i in range(N)]
KINDS = ["cat", "dog", "owl"]


def with_paths(root: Path) -> None:
    pictures(root, [f"images/{name}" for name in NAMES])
    rows = [[f"data/images/{name}", KINDS[i % 3], i / 7, f"00{i % 9}"] for i, name in enumerate(NAMES)]
    table(root / "labels.csv", [["path", "label", "weight", "code"], *rows])


def with_names_of_numbers(root: Path) -> None:
    """Names without suffix that are numbers, an index without a name, semicolons, a column that names the splits."""
    pictures(root, [f"{100 + i}.png" for i in range(N)])
    lines = [f"{i};{100 + i};{KINDS[i % 3]};{'val' if i % 4 == 0 else 'train'}" for i in range(N)]
    (root / "annotations.csv").write_text("\n".join([";id; label;split", *lines]), encoding="utf-8")


def with_several_rows(root: Path) -> None:
    """A box a row; some images have several, and a few none."""
    pictures(root / "images", NAMES)
    rows = [[name, 2 + k, 3, 9 + k, 8, k] for i, name in enumerate(NAMES) if i % 20 for k in range(1 + i % 3)]
    table(root / "boxes.csv", [["image", "xmin", "ymin", "xmax", "ymax", "kind"], *rows])


def with_classes_as_folders(root: Path) -> None:
    for i, name in enumerate(NAMES):
        pictures(root, [f"{'train' if i % 5 else 'test'}/{KINDS[i % 3]}/{name}"])
    rows = [[name, f"s{i // 4}", i * 2] for i, name in enumerate(NAMES)]
    table(root / "about.csv", [["file_name", "scanner", "age"], *rows])


def with_a_table_for_each_split(root: Path) -> None:
    for split in ("train", "test"):
        pictures(root / split, NAMES[:30])
        lines = [
            json.dumps({"file_name": n, "label": KINDS[i % 3], "note": f"{split} {i}"})
            for i, n in enumerate(NAMES[:30])
        ]
        (root / split / "metadata.jsonl").write_text("\n".join(lines), encoding="utf-8")


def with_captions(root: Path) -> None:
    pictures(root / "images", NAMES)
    found = {
        "images": [{"id": i, "file_name": name} for i, name in enumerate(NAMES)],
        "annotations": [{"id": i, "image_id": i, "caption": f"no. {i}"} for i in range(N)],
    }
    (root / "captions.json").write_text(json.dumps(found), encoding="utf-8")


def boxes(write: str) -> Callable[[Path], None]:
    def made(root: Path) -> None:
        pictures(root / "images", NAMES)
        WRITE[write](root, NAMES, [[[2 + i % 5, 2, 10, 8]] * (i % 3) for i in range(N)])

    return made


def with_boxes_in_images_of_several_sizes(root: Path) -> None:
    pictures(root / "images", NAMES)
    for i, name in enumerate(NAMES):
        path = root / "images" / name
        with Image.open(path) as image:
            image.resize((32 + 8 * (i % 3), 24)).save(path)
    WRITE["voc"](root, NAMES, [[[2 + i % 5, 2, 10, 8]] * (i % 3) for i in range(N)])


def objects(write: Callable[..., None]) -> Callable[[Path], None]:
    def made(root: Path) -> None:
        objects_made(root, write, write.__name__)

    return made


SETS: dict[str, Callable[[Path], None]] = {
    **{made.__name__: made for made in (with_paths, with_names_of_numbers, with_several_rows, with_classes_as_folders)},
    **{made.__name__: made for made in (with_a_table_for_each_split, with_captions)},
    "several sizes": with_boxes_in_images_of_several_sizes,
    **{f"{write} boxes": boxes(write) for write in WRITE},
    **{f"{write.__name__} in its own folders": write for write in (yolo, darknet, labelme, voc)},
    **{write.__name__: objects(write) for write in TABLES if write.__name__ not in ("retinanet", "gtsdb", "wheat")},
}


@pytest.mark.parametrize("name", SETS)
def test_the_code_reads_annotations(name: str, quickly: Asker, tmp_path: Path) -> None:
    SETS[name](tmp_path)
    report = quickly.ask("recommend_batch_spec", str(tmp_path), str(tmp_path), budget_s=20)
    assert isinstance(report, Result)
    assert "import dataloader_expert" not in report.code
    assert "from dataloader_expert" not in report.code, report.unknowns
    assert runs(rendered(quickly, report)) == 1
    assert_same_samples(report.code, Made(str(tmp_path), tmp_path, "image-folder", "image", N, N))


@pytest.mark.parametrize("header", [",a,label", "a, b ,label", "\ufeffa,b,label", "a,b,label\r"])
def test_the_code_names_columns_as_we_do(header: str, quickly: Asker, tmp_path: Path) -> None:
    """An index without a name, blanks around names, a mark before the first: no column is lost, none is all NaN."""
    rng = np.random.default_rng()
    lines = [f"{i},{rng.normal():.4f},{KINDS[i % 3]}" + "\r" * header.endswith("\r") for i in range(80)]
    (tmp_path / "t.csv").write_bytes("\n".join([header, *lines]).encode())
    report = quickly.ask("recommend_batch_spec", str(tmp_path / "t.csv"), str(tmp_path), budget_s=20)
    assert isinstance(report, Result)
    assert "from dataloader_expert" not in report.code, report.unknowns
    assert_same_samples(report.code, Made(str(tmp_path / "t.csv"), tmp_path, "csv", "tabular", 80, 1))


def test_the_code_reads_every_kind_of_column(quickly: Asker, tmp_path: Path) -> None:
    """Numbers, words for true and false, times, texts and gaps come out as by our own loader."""
    rng = np.random.default_rng()
    rows = ["n,x,truth,day,city,gap,label"]
    for i in range(90):
        x, city, gap = f"{rng.normal():.5f}", ["Oslo", "Rome", ""][i % 3], i if i % 4 else ""
        rows.append(f"{i},{x},{['True', 'False'][int(rng.integers(2))]},2020-01-{1 + i % 28:02},{city},{gap},{i % 2}")
    (tmp_path / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    report = quickly.ask("recommend_batch_spec", str(tmp_path / "t.csv"), str(tmp_path), budget_s=20)
    assert isinstance(report, Result)
    assert "from dataloader_expert" not in report.code, report.unknowns
    held = ran(report.code, "written")
    theirs = [s for part in held["datasets"]().values() for s in map(part.__getitem__, range(len(part)))]
    assert {bool(s["truth"]) for s in theirs} == {True, False}
    ours = open_dataset(tmp_path / "t.csv")
    for i, sample in enumerate(theirs):
        for name in ("n", "x", "truth", "day", "city", "gap"):
            assert str(sample[name]) == str(ours[i][name])


@pytest.mark.parametrize("lists", [[[1.5], None, [2.0, 3.0]], [[1, 2], None, [3, 4]], [[0.5, 1.0], None, [2.0, 3.0]]])
def test_a_list_that_is_missing_is_an_empty_one(
    lists: list[list[float] | None], quickly: Asker, tmp_path: Path
) -> None:
    """Batches are made, with padding; where all have one shape and can be NaN, that is what a missing one is."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"x": lists * 20, "n": list(range(60)), "label": [0, 1, 2] * 20}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    report = quickly.ask("recommend_batch_spec", str(tmp_path), str(tmp_path), budget_s=20)
    assert isinstance(report, Result)
    [x] = [f for f in report.fields if f.name == "x"]
    nan = lists[0] != [1.5]
    assert x.shape == (["B", 2] if nan else ["B", None])
    assert runs(rendered(quickly, report)) == 1
    assert "from dataloader_expert" not in report.code, report.unknowns
    if not nan:  # which is unequal to itself
        assert_same_samples(report.code, Made(str(tmp_path), tmp_path, "parquet", "tabular", 60, 1))

"""What stands beside tables and is no fault of them: notes, markers, files of a repository, other data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.making.scanning import scan
from tests.sources.tables import put

SEVERE = ("error", "warning")


def rows(n: int = 60) -> list[list[object]]:
    return [[f"{i:07x}", round(float(v), 4), i % 2] for i, v in enumerate(np.random.default_rng(n).normal(size=n))]


@pytest.mark.parametrize("name", ["data_description.txt", "RECORDS", "tools.json", ".gitattributes", "RELEASE_v1.txt"])
def test_what_belongs_beside_a_table(tmp_path: Path, name: str) -> None:
    """Our promise: at most information; nothing of an empty marker and of what a repository needs."""
    put(tmp_path / "train.csv", ["key", "x", "label"], rows())
    text = {"tools.json": '{"a": 1}', "RELEASE_v1.txt": ""}.get(name, "age: of the person\nsex: as told\n")
    (tmp_path / name).write_text(text)
    found = scan(tmp_path, tmp_path).findings
    assert [f for f in found if f.severity in SEVERE or f.code == "junk-file"] == []


def test_a_text_called_as_the_shards_are_may_be_one(tmp_path: Path) -> None:
    for i in range(3):
        put(tmp_path / f"part-{i}.csv", ["key", "x", "label"], rows(60 + i))
    (tmp_path / "part-3.txt").write_text("the rest is on the other disk\n")
    assert "foreign-file" in {f.code for f in scan(tmp_path, tmp_path).findings if f.severity == "warning"}


def test_another_data_set_beside_the_folder_is_not_looked_at(tmp_path: Path) -> None:
    """Our promise: the same folder gets the same answer, whatever stands beside it."""
    put(tmp_path / "mine" / "train.csv", ["key", "x", "label"], rows())
    (tmp_path / "other").mkdir()
    for i in range(40):
        (tmp_path / "other" / f"{i:07x}").write_text("a document")
    codes = {f.code for f in scan(tmp_path / "mine", tmp_path).findings}
    assert "dangling-reference" not in codes and "missing-pair" not in codes


def test_identifiers_are_no_measurements(tmp_path: Path) -> None:
    """Our promise: how large they are says nothing, whether they are called so or follow each other."""
    noise = np.random.default_rng(3).normal(size=400).round(4).tolist()
    run = [*range(300), *range(100_000, 100_100)]
    objects = [587_730_774_425_665_704 + 3 * i for i in range(300)] + [
        687_730_774_425_665_704 + 3 * i for i in range(100)
    ]
    for split, at in (("train", slice(0, 300)), ("test", slice(300, 400))):
        put(
            tmp_path / f"{split}.csv",
            ["session", "objid", "x"],
            [[*row] for row in zip(run[at], objects[at], noise[at], strict=True)],
        )
    said = {f.code for f in scan(tmp_path, tmp_path).findings}
    assert not said & {"scale-drift", "feature-drift", "outliers"}


def test_time_within_a_record_begins_anew(tmp_path: Path) -> None:
    """Our promise: splits by record are not said to run back in time."""
    for split, of in (("train", range(40)), ("test", range(40, 60))):
        table = [[b, round(k * 0.03 + b * 1e-4, 5), round(float(np.sin(b * k)), 4)] for b in of for k in range(20)]
        put(tmp_path / f"{split}.csv", ["session_id", "time_step", "pressure"], table)
    assert "time-leakage" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_further_rows_of_a_header_name_no_files(tmp_path: Path) -> None:
    """Points of DeepLabCut; seen: the words "bodyparts" and "coords" were said to be files that are not there."""
    for i in range(40):
        (tmp_path / "day1").mkdir(exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), i * 6, np.uint8)).save(tmp_path / f"day1/img{i:02}.png")
    lines = [
        "scorer,AM,AM",
        "bodyparts,nose,nose",
        "coords,x,y",
        *(f"day1/img{i:02}.png,{i}.5,3.25" for i in range(40)),
    ]
    (tmp_path / "day1/points.csv").write_text("\n".join(lines))
    assert "dangling-reference" not in {f.code for f in scan(tmp_path, tmp_path).findings}
    (tmp_path / "day1/img03.png").unlink()
    assert "dangling-reference" in {f.code for f in scan(tmp_path, tmp_path).findings}

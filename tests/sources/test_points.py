"""Points of images in files and tables beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.recipes.tasks import points_in

RNG = np.random.default_rng(5)


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 255, (24, 32, 3), np.uint8)).save(path)


def read(folder: Path) -> tuple[Source, dict[str, object]]:
    source = open_source(SourceRef(str(folder), (str(folder),)), [])
    blocks = {unit.file.rpartition("/")[2]: source.decode(unit, source.read(unit)) for unit in source.units}
    return source, {name: np.asarray(block.columns["keypoints"].values[0]).tolist() for name, block in blocks.items()}


def test_a_file_of_points_for_each_image(tmp_path: Path) -> None:
    """Seen: the landmarks of faces read as what the images say."""
    points = {f"{2000 + i}_1.png": RNG.uniform(2, 20, (9, 2)).round(2).tolist() for i in range(12)}
    for name, of in points.items():
        picture(tmp_path / "faces" / name)
        rows = "".join(f"{x} {y}\n" for x, y in of)
        (tmp_path / "faces" / f"{name[:-4]}.pts").write_text(f"version: 1\nn_points: 9\n{{\n{rows}}}\n")
    source, found = read(tmp_path)
    assert found == points and not source.problems and source.modality == "image"
    assert points_in([{"name": f.name, "shape": f.shape} for f in source.fields]) == "keypoints"


def test_a_table_with_the_parts_of_a_body_above(tmp_path: Path) -> None:
    """Seen: DeepLabCut's tables not read, and the videos as classes. A part that is not seen is marked as in COCO."""
    expected: dict[str, object] = {}
    for k, video in enumerate(("mouse1_day1", "mouse2_day1")):
        lines = ["scorer,,,Anna,Anna,Anna,Anna", "bodyparts,,,snout,snout,tail,tail", "coords,,,x,y,x,y"]
        for i in range(8):
            name = f"img{k}{i:03}.png"
            picture(tmp_path / "labeled-data" / video / name)
            lines.append(f"labeled-data,{video},{name},{i}.5,2.0,,")
            expected[name] = [[i + 0.5, 2.0, 2.0], [0.0, 0.0, 0.0]]
        (tmp_path / "labeled-data" / video / "CollectedData_Anna.csv").write_text("\n".join(lines) + "\n")
    source, found = read(tmp_path)
    assert found == expected
    assert source.label is None and not source.problems


def test_texts_that_hold_other_numbers_stay_texts(tmp_path: Path) -> None:
    """Our promise: lines of points of another number in each file, as outlines are, are no points of a body."""
    for i in range(12):
        picture(tmp_path / f"{i}.png")
        (tmp_path / f"{i}.txt").write_text("".join(f"{k} {k + i}\n" for k in range(3 + i)))
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert "keypoints" not in [f.name for f in source.fields]

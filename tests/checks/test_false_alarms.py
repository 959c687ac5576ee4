"""What was told of sound data although it says nothing, or contradicted what was told beside it."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from dataloader_expert.errors import RequestError
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan
from tests.sources.noise import picture

DRIFTS = {"feature-drift", "preprocessing-differs"}


@pytest.mark.parametrize(("name", "told"), [("question_id", False), ("spectrum", True)])
def test_running_numbers_in_lists_are_no_features(tmp_path: Path, name: str, told: bool) -> None:
    """Seen: the numbers of three questions of each image, which rise from split to split, were told as drift, by component."""
    for split, first in (("train", 1_000), ("val", 90_000_000)):
        rows = [{name: [first + 3 * i + k for k in range(3)], "y": i % 2} for i in range(80)]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    codes = {f.code for f in scan(tmp_path, tmp_path).findings}
    assert bool(codes & DRIFTS) is told


def test_the_odd_text_of_a_long_column_is_shown(tmp_path: Path) -> None:
    """Seen: a column of numbers as texts had 'texts such as' and nothing behind it."""
    rng = np.random.default_rng(6)
    for file, eras in (("a", [f"{i % 90:04}" for i in range(4_000)]), ("b", ["X"] * 300)):
        pq.write_table(pa.table({"era": eras, "v": rng.random(len(eras))}), tmp_path / f"{file}.parquet")
    told = [f.message for f in scan(tmp_path, tmp_path).findings if "era" in f.message and "such as" in f.message]
    assert all("''" not in message for message in told) and any("'X'" in message for message in told)


def test_folders_that_number_the_classes_of_a_table_are_no_groups(tmp_path: Path) -> None:
    """Seen: of images in folders of a category each, the categories were told as groups in several splits."""
    rng = np.random.default_rng(6)
    images, annotations = [], []
    for i in range(60):
        category, file = 2 + 3 * (i % 4), f"photos/{2 + 3 * (i % 4)}/{i * 7919:07}.png"
        picture(tmp_path / file, rng)
        images.append({"id": i, "file_name": file})
        annotations.append({"id": i, "image_id": i, "category_id": category})
    names = [{"id": 2 + 3 * k, "name": f"species {'abcd'[k]}"} for k in range(4)]
    for split, part in (("train", slice(0, 40)), ("val", slice(40, 60))):
        held = {"images": images[part], "annotations": annotations[part], "categories": names}
        (tmp_path / f"{split}2018.json").write_text(json.dumps(held))
    assert "group-leakage" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_views_that_are_read_are_not_told_as_unread(tmp_path: Path) -> None:
    """Seen: left and right images were delivered as fields, and told as files that are not read."""
    rng = np.random.default_rng(6)
    rows = []
    for i in range(12):
        names = [f"IMG/{side}_2019_{i * 37:05}.png" for side in ("center", "left", "right")]
        (tmp_path / "IMG").mkdir(exist_ok=True)
        pixels = np.kron(rng.integers(0, 256, (6, 6, 3), np.uint8), np.ones((6, 6, 1), np.uint8))
        for k, name in enumerate(names):
            Image.fromarray(np.roll(pixels, k, axis=1)).save(tmp_path / name)
        rows.append(",".join([*names, f"{rng.random():.4f}", "0.5"]))
    (tmp_path / "driving_log.csv").write_text("\n".join(rows) + "\n")
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert {f.name for f in source.fields} >= {"left", "right"}
    assert not {"f1", "f2"} & getattr(source, "unread", {}).keys()


def test_only_fields_that_may_name_splits_are_offered(tmp_path: Path) -> None:
    """Seen: of a split that does not exist the way out was a field of rates or texts, or of nothing at all."""
    rng = np.random.default_rng(6)
    for i in range(12):
        picture(tmp_path / f"{i * 37}.png", rng)
    rows = "".join(f"{i * 37}.png,{i % 3},{i / 7:.3f}\n" for i in range(12))
    (tmp_path / "table.csv").write_text(f"file,batch,weight\n{rows}")
    with pytest.raises(RequestError) as refused:
        open_source(SourceRef(str(tmp_path), (str(tmp_path),), split="extra"), [])
    assert "weight" not in str(refused.value)


def test_a_file_beside_those_of_splits_can_be_asked_for_by_its_name(tmp_path: Path) -> None:
    """Seen: split='live' was refused beside train.parquet, validation.parquet and live.parquet."""
    rng = np.random.default_rng(6)
    for name, n in (("train", 30), ("validation", 20), ("live", 10)):
        pq.write_table(pa.table({"x": rng.random(n), "target": rng.random(n)}), tmp_path / f"{name}.parquet")
    ref = SourceRef(str(tmp_path), (str(tmp_path),), split="live")
    assert open_source(ref, []).samples == 10


def test_pictures_that_are_cut_off_are_no_copies(tmp_path: Path) -> None:
    """Seen: two pictures of a shard that do not decode were told as one sample with two labels, and as missing."""
    rng = np.random.default_rng(6)
    with tarfile.open(tmp_path / "train-000000.tar", "w") as shard:
        for i in range(40):
            buffer = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (24, 24, 3), np.uint8)).save(buffer, "JPEG")
            picture_bytes = buffer.getvalue()[: 300 if i in (7, 20) else None]
            for name, data in (("jpg", picture_bytes), ("cls", str(i % 2).encode())):
                member = tarfile.TarInfo(f"{i:04}.{name}")
                member.size = len(data)
                shard.addfile(member, io.BytesIO(data))
    told = {f.code: f for f in scan(tmp_path, tmp_path).findings if f.severity != "info"}
    assert told.keys() == {"truncated"}
    assert told["truncated"].count == 2


@pytest.mark.parametrize(
    ("name", "distinct", "is_label"),
    [
        ("age", 120, False),
        *((name, 60, False) for name in ("id", "task_id", "frame_index")),
        *((name, 60, True) for name in ("grade", "species_id", "class_idx", "disease_number")),
    ],
)
def test_the_only_number_beside_arrays_may_be_no_class(
    tmp_path: Path, name: str, distinct: int, is_label: bool
) -> None:
    """Seen: the ages of patients were told as classes with a single sample each."""
    for i in range(120):
        held: dict[str, Any] = {"ct": np.full((3, 4, 4), i / 7), name: 20 + i * 37 % distinct}
        np.savez(tmp_path / f"scan{i:03}.npz", **held)
    assert open_source(SourceRef(str(tmp_path), (str(tmp_path),)), []).label == (name if is_label else None)

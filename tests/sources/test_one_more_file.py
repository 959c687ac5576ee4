"""A small file beside the data, or a folder around them, changes nothing of what they are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.errors import RequestError
from dataloader_expert.loaders import create_loader
from tests.making.scanning import scan
from tests.sources.tables import opened


def idx(file: Path, values: np.ndarray) -> None:
    head = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(head + values.astype("u1").tobytes()))


@pytest.mark.parametrize("around", ["", "gzip/", "data/letters/"])
def test_arrays_side_by_side_in_a_folder_of_their_own(tmp_path: Path, around: str) -> None:
    """Seen: with a folder around them and names of classes beside them, each array was a sample."""
    for split, n in (("train", 30), ("test", 12)):
        idx(tmp_path / f"{around}letters-{split}-images-idx3-ubyte.gz", np.arange(n * 16).reshape(n, 4, 4) % 251)
        idx(tmp_path / f"{around}letters-{split}-labels-idx1-ubyte.gz", np.arange(n) % 3)
    (tmp_path / f"{around}letters-mapping.txt").write_text("0 65\n1 66\n2 67\n")
    source = opened(tmp_path)
    assert (source.samples, source.splits) == (42, {"train": 30, "test": 12}) and "labels" in str(source.label)
    batch = next(iter(create_loader(str(tmp_path), "train", batch_size=30, shuffle=False)))
    assert batch["letters_labels"].tolist() == [i % 3 for i in range(30)]


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng([*str(path).encode()]).integers(0, 256, (8, 8, 3), np.uint8)).save(path)


def test_what_is_to_be_predicted_beside_a_table_of_recordings(tmp_path: Path) -> None:
    """BirdCLEF; seen: refused for a table called after the test split, which names none of the recordings."""
    rows = [f"{'abc'[i % 3]},{'abc'[i % 3]}/X{i}.png,4.{i % 5}" for i in range(30)]
    for row in rows:
        picture(tmp_path / "train_images" / row.split(",")[1])
    (tmp_path / "train_metadata.csv").write_text("\n".join(["primary_label,filename,rating", *rows]))
    (tmp_path / "test.csv").write_text("row_id,file_id\nscene_1_a,scene_1\nscene_1_b,scene_1\n")
    (tmp_path / "taxonomy.csv").write_text("CODE,NAME\na,Ant\nb,Bee\nc,Cat\n")
    (tmp_path / "sample_submission.csv").write_text("row_id,target\nscene_1_a,False\nscene_1_b,False\n")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("image-folder", 30)
    assert "rating" in {f.name for f in source.fields}


def test_what_a_job_writes_beside_the_arrays_of_each_run(tmp_path: Path) -> None:
    """Seen: refused for the log of each run; and what each was run with was said to be no part of the data."""
    for i in range(12):
        (tmp_path / f"runs/run_{i:03}").mkdir(parents=True)
        np.savez(tmp_path / f"runs/run_{i:03}/output.npz", velocity=np.ones((2, 4, 4)) * i, pressure=np.ones((4, 4)))
        (tmp_path / f"runs/run_{i:03}/params.json").write_text(f'{{"reynolds": {i}.5}}')
        (tmp_path / f"runs/run_{i:03}/slurm.out").write_text(f"job {i} started\nstep 1 done\nfinished\n")
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("npz", 12, None)
    told = [f for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"]
    assert {f.severity for f in told} == {"info"}


def test_the_result_beside_the_views_of_each_part(tmp_path: Path) -> None:
    """Seen: refused. The folders of parts and days are no classes."""
    for i in range(12):
        folder = tmp_path / f"line{i % 2}/2024-05-0{1 + i % 3}/part_{i:04}"
        for view in ("left", "right", "top"):
            picture(folder / f"{view}.png")
        (folder / "result.json").write_text(f'{{"verdict": "{("OK", "NOK")[i % 2]}"}}')
    source = opened(tmp_path)
    assert (source.format, source.label) == ("image-folder", None)
    assert not [f for f in scan(tmp_path, tmp_path).findings if f.severity in ("warning", "error")]


def test_questions_beside_the_databases_that_answer_them(tmp_path: Path) -> None:
    """Spider; seen: refused for the databases, each of which has a folder of its own."""
    for i in range(3):
        (tmp_path / f"database/pets_{i}").mkdir(parents=True)
        (tmp_path / f"database/pets_{i}/pets_{i}.sqlite").write_bytes(b"SQLite format 3\0" + bytes(9000))
        (tmp_path / f"database/pets_{i}/schema.sql").write_text("CREATE TABLE pets (name TEXT, age INT);\n")
    for split, n in (("train", 40), ("dev", 15)):
        rows = [{"db_id": f"pets_{i % 3}", "question": f"How old is {i}?", "sql": f"SELECT {i}"} for i in range(n)]
        (tmp_path / f"{split}.json").write_text(json.dumps(rows))
        (tmp_path / f"{split}_gold.sql").write_text("".join(f"{row['sql']}\t{row['db_id']}\n" for row in rows))
    source = opened(tmp_path)
    assert (source.format, source.splits) == ("json", {"dev": 15, "train": 40})


def test_a_text_beside_each_of_a_few_pictures_is_no_note(tmp_path: Path) -> None:
    """Either may be the samples: what is meant is asked."""
    for i in range(12):
        for view in ("a", "b"):
            picture(tmp_path / f"news_{i:03}/{view}.png")
        (tmp_path / f"news_{i:03}/article.txt").write_text(f"The {i}th report. It has two sentences and a number, {i}.")
    with pytest.raises(RequestError, match="several kinds"):
        opened(tmp_path)

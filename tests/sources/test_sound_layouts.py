"""Sound data sets as others publish them, which were refused, misread or called faulty."""

from __future__ import annotations

import csv
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.report import Report
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from dataloader_expert.sources.samples import FileSamples
from tests.making.asking import Asker

SEED = int.from_bytes(os.urandom(4), "big")


@pytest.fixture
def rng() -> np.random.Generator:
    print(f"seed {SEED}")  # of a failure
    return np.random.default_rng(SEED)


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def checked(asker: Asker, path: Path) -> Any:
    report: Report = asker.ask("check_quality", str(path), str(path))
    return report


def told(report: Any) -> list[str]:
    return [f.code for f in report.findings if f.severity != "info"]


def table(path: Path, names: list[str], rows: list[list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([names, *rows])


def picture(path: Path, rng: np.random.Generator) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 256, (24, 24, 3), np.uint8)).save(path)


def test_more_whole_numbers_than_are_compared(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: a table of one fraction and many counts is checked whole."""
    names = ["area", *(f"count{i}" for i in range(13))]
    for split, n in (("train", 300), ("test", 120)):
        rows = [[round(float(rng.gamma(2)), 3), *rng.integers(0, 40, 13).tolist()] for _ in range(n)]
        table(tmp_path / f"{split}.csv", names, rows)
    report = checked(asker, tmp_path)
    assert not [u for u in report.unknowns if "failed" in u.why]
    assert report.passed


def test_sparse_columns_are_not_swapped_by_chance(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: random splits of rare flags are no swapped columns; flags that are swapped are."""
    shares = rng.uniform(0.02, 0.12, 40)
    flags = (rng.random((2400, 40)) < shares).astype(int)
    names = [f"kind_{i}" for i in range(40)]
    for name, part in (("train", flags[:1800]), ("test", flags[1800:])):
        table(tmp_path / f"{name}.csv", names, part.tolist())
    assert "preprocessing-differs" not in told(checked(asker, tmp_path))
    rows = np.stack([rng.normal(5, 1, 2400), rng.normal(50, 4, 2400)], 1).round(3)
    rows[1800:] = rows[1800:, ::-1]
    for name, part in (("train", rows[:1800]), ("test", rows[1800:])):
        table(tmp_path / "moved" / f"{name}.csv", ["a", "b"], part.tolist())
    assert "preprocessing-differs" in told(checked(asker, tmp_path / "moved"))


def test_people_of_one_name_are_no_copies(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: a short text among numbers does not make a row what it is."""
    first, last = (["Ann", "Bo", "Cy", "Di"], ["Kelly", "Olsen", "Braun", "Moran"])
    for split, n in (("train", 500), ("test", 200)):
        rows = [
            [
                i,
                f"{rng.choice(last)}, Mr. {rng.choice(first)} {rng.choice(first)}",
                int(rng.integers(1, 80)),
                round(float(rng.gamma(2) * 20), 4),
                int(rng.integers(1, 4)),
                int(rng.integers(0, 2)),
            ]
            for i in range(n)
        ]
        table(tmp_path / f"{split}.csv", ["id", "name", "age", "fare", "class", "survived"], rows)
    assert not {"splits-overlap", "label-conflict", "duplicate-samples"} & {*told(checked(asker, tmp_path))}


def test_several_targets_are_withheld_from_a_test_split(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: what contests leave out of the test split is no missing column; beside a label that is there, it is."""
    texts = [" ".join(rng.choice(["red", "green", "blue", "old", "new", "fast"], 24)) for _ in range(400)]
    rows = [[i, text, *rng.integers(0, 2, 3).tolist()] for i, text in enumerate(texts)]
    table(tmp_path / "open" / "train.csv", ["id", "comment", "rude", "threat", "insult"], rows[:300])
    table(tmp_path / "open" / "test.csv", ["id", "comment"], [row[:2] for row in rows[300:]])
    assert "missing-key" not in told(checked(asker, tmp_path / "open"))
    table(tmp_path / "lost" / "train.csv", ["id", "comment", "rude", "threat", "label"], rows[:300])
    table(tmp_path / "lost" / "test.csv", ["id", "comment", "label"], [[*row[:2], row[4]] for row in rows[300:]])
    assert "missing-key" in told(checked(asker, tmp_path / "lost"))


def test_lines_of_objects_called_json(tmp_path: Path) -> None:
    """Our promise: the content tells; a document in one or several lines stays one."""
    long = {"text": "word " * 300, "stars": 4}
    (tmp_path / "reviews.json").write_text("".join(json.dumps({**long, "id": i}) + "\n" for i in range(30)))
    assert (opened(tmp_path).format, opened(tmp_path).samples) == ("jsonl", 30)
    for i, indent in enumerate((None, 2)):
        folder = tmp_path / f"document{i}"
        folder.mkdir()
        (folder / "data.json").write_text(json.dumps([{**long, "id": i} for i in range(30)], indent=indent))
        assert (opened(folder).format, opened(folder).samples) == ("json", 30)


def test_folders_of_clips_are_no_classes(tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: frames are of the class above their clip."""
    for split, first in (("train", 0), ("test", 6)):
        for kind in ("Archery", "Bowling"):
            for clip in range(first, first + 4):
                for frame in range(3):
                    picture(tmp_path / split / kind / f"{kind}_c{clip:02}" / f"f{frame}.png", rng)
    assert opened(tmp_path).classes == ("Archery", "Bowling")


def test_folders_of_patients_are_no_classes(tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: a table that calls the folders patients says that they are groups."""
    rows = []
    for patient in range(12):
        for i in range(6):
            name = f"images/P{patient:03}/{i}.png"
            picture(tmp_path / name, rng)
            rows.append([name, f"P{patient:03}", i % 2, "train" if patient < 9 else "test"])
    table(tmp_path / "meta.csv", ["image_path", "patient_id", "tumor", "split"], rows)
    source = opened(tmp_path)
    assert source.label != "label"
    assert source.roles is not None and source.roles.group is not None
    assert source.roles.group.field == "patient_id"


@pytest.mark.parametrize(("name", "classes"), [("Actor_{:02}", 0), ("scene{}", 0), ("class_{}", 4), ("n0{}", 4)])
def test_folders_called_after_persons_are_no_classes(
    name: str, classes: int, tmp_path: Path, rng: np.random.Generator
) -> None:
    for k in range(4):
        for i in range(4):
            picture(tmp_path / name.format(k) / f"{i}.png", rng)
    assert len(opened(tmp_path).classes or ()) == classes


def test_a_folder_that_begins_with_an_underscore_stands_aside(tmp_path: Path, rng: np.random.Generator) -> None:
    for kind, n in (("yes", 12), ("no", 12), ("_background_noise_", 2)):
        for i in range(n):
            picture(tmp_path / kind / f"{i}.png", rng)
    source = opened(tmp_path)
    assert (source.classes, source.samples) == (("no", "yes"), 24)


TOPICS = ["anatomy", "law", "physics", "logic", "algebra", "history"]


def test_topics_called_subject_are_no_groups(tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: subjects with a number or a code are persons, words that many rows share are what they are about."""
    for name, values in (("topics", TOPICS), ("persons", [f"s{i}" for i in range(6)])):
        rows = [[i, values[i % 6], float(rng.normal()), "train" if i < 200 else "test", i % 2] for i in range(300)]
        table(tmp_path / name / "rows.csv", ["id", "subject", "x", "split", "label"], rows)
    groups = [opened(tmp_path / name).roles for name in ("topics", "persons")]
    assert [roles.group is not None for roles in groups if roles is not None] == [False, True]


def test_labels_as_a_column_are_labels(tmp_path: Path, rng: np.random.Generator) -> None:
    """Our promise: Keras's [n, 1] are classes."""
    x = rng.integers(0, 256, (60, 8, 8, 3), np.uint8)
    y = rng.integers(0, 10, (60, 1))
    np.savez(tmp_path / "cifar.npz", x_train=x[:50], y_train=y[:50], x_test=x[50:], y_test=y[50:])
    source = opened(tmp_path)
    assert source.label == "y"
    assert [f.shape for f in source.fields if f.name == "y"] == [()]
    random.seed(SEED)
    unit = random.choice(source.units)
    values = source.decode(unit, source.read(unit)).columns["y"].values
    assert np.asarray(values).ndim == 1


def test_masks_in_a_folder_in_place_of_the_split(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    """As MVTec AD has them: masks of the defects in the test split, and none of good parts."""
    for path in ["train/good", "test/good", "test/crack", "test/cut"]:
        for i in range(6):
            picture(tmp_path / path / f"{i:03d}.png", rng)
    for kind in ("crack", "cut"):
        for i in range(6):
            mask = np.zeros((24, 24), np.uint8)
            mask[i : i + 8, 4:12] = 255
            where = tmp_path / "ground_truth" / kind / f"{i:03d}_mask.png"
            where.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask).save(where)
    source = opened(tmp_path)
    assert isinstance(source, FileSamples)
    assert (source.samples, [f.name for f in source.partners]) == (24, ["mask"])
    report = checked(asker, tmp_path)
    assert not {"mode-drift", "missing-pair", "ragged"} & {*told(report)}
    assert any("test/good" in u.why for u in report.unknowns)
    (tmp_path / "ground_truth" / "cut" / "002_mask.png").unlink()
    assert "missing-pair" in told(checked(asker, tmp_path))


def test_words_for_partners_before_the_number(tmp_path: Path, rng: np.random.Generator) -> None:
    """As in NYU Depth: ``rgb_7.jpg`` and ``depth_7.png``."""
    for scene in ("kitchen_1", "study_2"):
        for i in range(5):
            picture(tmp_path / scene / f"rgb_{i:05d}.jpg", rng)
            depth = Image.fromarray(rng.integers(500, 9000, (24, 24)).astype(np.uint16))
            depth.save(tmp_path / scene / f"depth_{i:05d}.png")
    source = opened(tmp_path)
    assert isinstance(source, FileSamples)
    assert (source.samples, [f.name for f in source.partners]) == (10, ["depth"])


def test_a_table_of_pairs_says_nothing_of_one_image(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    for i in range(20):
        picture(tmp_path / "images" / f"{i:03d}.png", rng)
    drawn = rng.integers(0, 16, (80, 2))
    rows = [[f"images/{a:03d}.png", f"images/{(b if b != a else b + 1):03d}.png", int(a % 2)] for a, b in drawn]
    table(tmp_path / "pairs.csv", ["first", "second", "same"], rows)
    report = checked(asker, tmp_path)
    assert not told(report)
    assert any("pairs.csv" in u.what for u in report.unknowns)
    source = opened(tmp_path)
    assert (source.samples, source.label) == (20, None)


def test_folders_with_versions_of_the_same_images_are_no_classes(
    asker: Asker, tmp_path: Path, rng: np.random.Generator
) -> None:
    """As in DIV2K; images under two classes by mistake are still told."""
    for i in range(1, 13):
        base = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8)).resize((160, 120), Image.Resampling.BICUBIC)
        for folder, name, size in (("HR", f"{i:04d}", (160, 120)), ("LR/X2", f"{i:04d}x2", (80, 60))):
            path = tmp_path / "pairs" / folder / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            base.resize(size, Image.Resampling.BICUBIC).save(path)
        other = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8)).resize((160, 120), Image.Resampling.BICUBIC)
        for folder, image in (("cat", base), ("dog", base if i < 3 else other)):
            path = tmp_path / "classes" / folder / f"{i:04d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            image.save(path, quality=70 if folder == "dog" else 95)
    assert not {"label-conflict", "near-duplicates"} & {*told(checked(asker, tmp_path / "pairs"))}
    assert {"label-conflict", "near-duplicates"} <= {*told(checked(asker, tmp_path / "classes"))}


def test_a_few_grey_images_are_told_once(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    for i in range(60):
        picture(tmp_path / "ab"[i % 2] / f"{i}.png", rng)
    Image.open(tmp_path / "a" / "4.png").convert("L").save(tmp_path / "a" / "4.png")
    assert told(checked(asker, tmp_path)) == ["mode-drift"]


def test_a_lost_mask_is_told_where_each_sample_has_a_folder(tmp_path: Path, rng: np.random.Generator) -> None:
    for i in range(12):
        picture(tmp_path / f"p{i:03d}" / f"p{i:03d}.png", rng)
        picture(tmp_path / f"p{i:03d}" / f"p{i:03d}_mask.png", rng)
    (tmp_path / "p007" / "p007_mask.png").unlink()
    assert [p.code for p in opened(tmp_path).problems] == ["missing-pair"]


def test_classes_in_folders_and_splits_in_a_table(asker: Asker, tmp_path: Path, rng: np.random.Generator) -> None:
    rows = []
    for i in range(40):
        name = f"{'cat' if i % 4 else 'dog'}/{i:03d}.png"
        picture(tmp_path / name, rng)
        rows.append([name, "test" if i % 5 == 0 else "train"])
    table(tmp_path / "meta.csv", ["file", "split"], rows)
    report: Any = asker.ask("characterize_dataset", str(tmp_path), str(tmp_path))
    assert report.classes.counts == {"cat": 30, "dog": 10}
    assert {split: sum(of.values()) for split, of in report.class_counts_by_split.items()} == {"train": 32, "test": 8}

"""Data as contests and archives give them: tables of two kinds in each split, forms to fill in, parts of a split, what a Mac adds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.errors import Aside
from dataloader_expert.facts import Unknown
from dataloader_expert.loaders.creating import create_loader
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.layout import read_folders
from dataloader_expert.sources.registry import open_source

RNG = np.random.default_rng(5)


def opened(folder: Path) -> tuple[Source, list[Unknown]]:
    unknowns: list[Unknown] = []
    return open_source(SourceRef(str(folder), (str(folder.parent),)), unknowns), unknowns


def table(path: Path, header: str, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows, ""]))


def pictures(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True)
    for name in names:
        Image.fromarray(RNG.integers(0, 255, (8, 8, 3), np.uint8)).save(folder / f"{name}.png")


def test_a_second_table_of_each_split_holds_no_samples(tmp_path: Path) -> None:
    """Seen: rows of ``test_identity.csv``, whose columns are not written as those of ``train_identity.csv``, were test samples."""
    for split, mark, n in (("train", "_", 60), ("test", "-", 30)):
        label = ",isFraud" if split == "train" else ""
        rows = [f"{split}{i},{i * 7 % 90}.5,W{',0' if label else ''}" for i in range(n)]
        table(tmp_path / f"{split}_transaction.csv", f"TransactionID,Amount,Product{label}", rows)
        table(
            tmp_path / f"{split}_identity.csv",
            f"TransactionID,id{mark}01,id{mark}02",
            [f"{split}{i},1,x" for i in range(0, n, 4)],
        )
    source, _ = opened(tmp_path)
    assert source.splits == {"train": 60, "test": 30}
    assert all(isinstance(problem, Aside) for problem in source.problems)


def test_what_a_test_split_has_of_each_image_is_not_to_be_predicted(tmp_path: Path) -> None:
    """Seen: five flags that training and test share were the labels, and the score that training alone has was none."""
    ids = [f"{i:04x}" for i in range(40)]
    flags = [",".join(map(str, RNG.integers(0, 2, 4))) for _ in ids]
    pictures(tmp_path / "train", ids[:30])
    pictures(tmp_path / "test", ids[30:])
    table(
        tmp_path / "train.csv",
        "Id,Eyes,Face,Near,Action,Score",
        [f"{i},{f},{20 + 3 * k}" for k, (i, f) in enumerate(zip(ids[:30], flags, strict=False))],
    )
    table(
        tmp_path / "test.csv",
        "Id,Eyes,Face,Near,Action",
        [f"{i},{f}" for i, f in zip(ids[30:], flags[30:], strict=True)],
    )
    table(tmp_path / "sample_submission.csv", "Id,Score", [f"{i},38.0" for i in ids[30:]])
    source, unknowns = opened(tmp_path)
    assert (source.label, source.label_columns) == ("Score", None)
    assert not unknowns, "a template for predictions holds no labels"
    assert ["template for predictions" in problem.told() for problem in source.problems] == [True]


def test_runs_that_only_training_images_have_are_no_classes(tmp_path: Path) -> None:
    """Our promise: a column of texts is not taken for a class because a test split lacks it."""
    pictures(tmp_path / "train", [f"a{i}" for i in range(12)])
    pictures(tmp_path / "test", [f"b{i}" for i in range(6)])
    table(tmp_path / "train_masks.csv", "img,rle", [f"a{i}.png,{i} 3 9 2" for i in range(12)])
    assert opened(tmp_path)[0].label is None


@pytest.mark.parametrize(
    ("folders", "splits"),
    [
        (("training-a", "training-b", "validation"), {"train", "validation"}),
        (("training-a", "training-b"), {None}),
        (("site-a", "site-b", "validation"), {None}),
    ],
)
def test_letters_and_numbers_of_parts(folders: tuple[str, ...], splits: set[str | None]) -> None:
    """Seen: the recordings of training-a to training-f were in no split beside those of validation."""
    found = read_folders([f"{folder}/{i}.wav" for folder in folders for i in range(4)])[0]
    assert {*found} == splits or (None in splits and None in found)


def test_a_file_without_a_suffix_is_no_lost_transcript(tmp_path: Path) -> None:
    """Seen: the list of a folder's recordings was reported as a text without a recording."""
    import soundfile

    for i in range(5):
        soundfile.write(tmp_path / f"a{i}.wav", RNG.normal(0, 0.1, 400), 2000)
        (tmp_path / f"a{i}.hea").write_text(f"a{i} 1 2000 400\n")
    (tmp_path / "RECORDS").write_text("".join(f"a{i}\n" for i in range(5)))
    assert "missing-pair" not in {problem.code for problem in opened(tmp_path)[0].problems}


def test_the_log_of_a_table_says_which_files_are_its(tmp_path: Path) -> None:
    """Seen: rows of a Delta table that an update had replaced were samples beside the new ones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    log = tmp_path / "_delta_log"
    log.mkdir()
    for name, first, fixed in (("a=1.parquet", 0, 0), ("b.parquet", 50, 0), ("c.parquet", 0, 1)):
        pq.write_table(pa.table({"id": range(first, first + 50), "fixed": [fixed] * 50}), tmp_path / name)
    steps = [
        [{"protocol": {}}, {"add": {"path": "a%3D1.parquet"}}, {"add": {"path": "b.parquet"}}],
        [{"remove": {"path": "a%3D1.parquet"}}, {"add": {"path": "c.parquet", "deletionVector": {"cardinality": 2}}}],
    ]
    for i, actions in enumerate(steps):
        (log / f"{i:020d}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    source, unknowns = opened(tmp_path)
    assert {unit.file for unit in source.units} == {"b.parquet", "c.parquet"}
    assert [type(problem) for problem in source.problems] == [Aside]
    assert [unknown.what for unknown in unknowns] == ["deleted rows"]
    table = pa.table(
        {"add": [{"path": "c.parquet", "deletionVector": None}, {"path": "d.parquet", "deletionVector": None}]}
    )
    pq.write_table(table, log / f"{7:020d}.checkpoint.parquet")
    source, unknowns = opened(tmp_path)
    assert (source.samples, unknowns) == (50, [])
    assert "missing-shard" in {problem.code for problem in source.problems}


def logged(folder: Path, versions: dict[int, list[dict[str, object]]]) -> None:
    """A Delta table of the files a and b, with ten rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "_delta_log").mkdir()
    for i, name in enumerate("ab"):
        pq.write_table(pa.table({"id": range(10 * i, 10 * i + 10)}), folder / f"{name}.parquet")
    for version, actions in versions.items():
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (folder / "_delta_log" / f"{version:020d}.json").write_text(lines)


def test_a_file_that_one_version_adds_and_removes_is_added(tmp_path: Path) -> None:
    """Seen: a file of which rows were marked as deleted was no part of the table where its removal is written behind."""
    added: list[dict[str, object]] = [{"add": {"path": f"{name}.parquet"}} for name in "ab"]
    marked: dict[str, object] = {"add": {"path": "a.parquet", "deletionVector": {"cardinality": 1}}}
    logged(tmp_path, {0: added, 1: [marked, {"remove": {"path": "a.parquet"}}]})
    source, unknowns = opened(tmp_path)
    assert (source.samples, [unknown.what for unknown in unknowns]) == (20, ["deleted rows"])


@pytest.mark.parametrize("there", [(1,), (0, 2)])
def test_a_log_with_a_gap_takes_no_file_out(there: tuple[int, ...], tmp_path: Path) -> None:
    """Seen: of a log whose first versions are in a checkpoint of another form, all files but the last were no part of the table."""
    logged(tmp_path, {version: [{"add": {"path": "b.parquet"}}] for version in there})
    source, unknowns = opened(tmp_path)
    assert (source.samples, [unknown.what for unknown in unknowns]) == (20, ["table log"])


def test_lists_of_keys_divide_the_rows_of_a_table(tmp_path: Path) -> None:
    """Seen: ``splits.json`` beside a table lists the ids of each split, and the samples were in none."""
    ids = [f"c{i:03d}" for i in RNG.permutation(60)]
    table(tmp_path / "features.csv", "id,age,plan", [f"{key},{20 + i},basic" for i, key in enumerate(ids)])
    lists = {"train": sorted(ids[:40]), "val": sorted(ids[40:50]), "test": sorted(ids[50:])}
    (tmp_path / "splits.json").write_text(json.dumps(lists))
    loader = create_loader(tmp_path, "val", 16, num_workers=0)
    assert sorted(next(iter(loader))["id"]) == lists["val"]
    assert opened(tmp_path)[0].problems == []
    (tmp_path / "splits.json").write_text(json.dumps({"train": ["age", "plan"], "test": ["plan"]}))
    assert "split" not in {f.name for f in opened(tmp_path)[0].fields}, "these are no keys"


def test_lists_divide_arrays_of_a_file_each(tmp_path: Path) -> None:
    """Seen: slices in a file each were in no split beside ``train_slices.list``, ``val.list`` and ``test.list``."""
    names = [f"patient{i // 4:03d}_slice_{i}" for i in range(20)]
    (tmp_path / "slices").mkdir()
    for name in names:
        np.savez(tmp_path / "slices" / f"{name}.npz", image=RNG.normal(size=(9, 7)), mask=np.ones((9, 7), np.uint8))
    for split, of in (("train_slices", names[:12]), ("val", names[12:16]), ("test", names[16:])):
        (tmp_path / f"{split}.list").write_text("".join(f"{name}\n" for name in of))
    source, _ = opened(tmp_path)
    assert (source.splits, source.problems) == ({"train": 12, "val": 4, "test": 4}, [])


def test_files_of_a_patient_each_are_groups(tmp_path: Path) -> None:
    """Seen: tables of one patient each, in which a column counts the hours, named no group."""
    for i in range(12):
        table(tmp_path / f"p{i:06d}.psv", "HR|Hour|Sepsis", [f"{60 + i}.5|{hour}|0" for hour in range(1, 6 + i)])
    roles = opened(tmp_path)[0].roles
    assert roles is not None and roles.group is not None and roles.group.field == "file name"
    (tmp_path / "p000003.psv").write_text("HR|Hour|Sepsis\n")  # seen: KeyError for a file with only a header
    roles = opened(tmp_path)[0].roles
    assert roles is not None and roles.group is not None


def test_an_object_in_a_text_says_what_an_image_is(tmp_path: Path) -> None:
    """Seen: what SROIE's receipts say, JSON in files called .txt, was of a kind that is not read."""
    pictures(tmp_path / "img", [f"X{i}" for i in range(6)])
    (tmp_path / "entities").mkdir()
    for i in range(6):
        (tmp_path / "entities" / f"X{i}.txt").write_text(json.dumps({"company": f"SHOP {i}", "total": f"{i}.50"}))
    source, unknowns = opened(tmp_path)
    assert {"company", "total"} <= {f.name for f in source.fields}
    assert (source.problems, unknowns) == ([], [])


def test_tables_that_only_their_names_tell_apart(tmp_path: Path) -> None:
    """Seen: which rows were of ``Fake.csv`` and which of ``True.csv``, their class, was lost without a word."""
    for name, n in (("Fake", 30), ("True", 25)):
        table(tmp_path / f"{name}.csv", "title,views", [f"{name[0]}{i} of the news today,{i}" for i in range(n)])
    assert "Fake.csv and True.csv" in opened(tmp_path)[1][0].why
    (tmp_path / "Fake.csv").rename(tmp_path / "part_1.csv")
    (tmp_path / "True.csv").rename(tmp_path / "part_2.csv")
    assert opened(tmp_path)[1] == []


@pytest.mark.parametrize("names", [("part_a", "part_b", "part_c"), ("ab_" * 40 + "1", "other")])
def test_names_that_count_parts_tell_nothing(names: tuple[str, ...], tmp_path: Path) -> None:
    """Seen: letters of parts were told as their class or source; a long name of words and a number was matched without end."""
    for name in names:
        table(tmp_path / f"{name}.csv", "title,views", [f"{name[-5:]}{i} of the news today,{i}" for i in range(20)])
    assert opened(tmp_path)[1] == []


def test_what_a_mac_adds_is_no_class(tmp_path: Path) -> None:
    """Seen: ``__MACOSX`` beside the folders of classes was an empty class."""
    for name in ("ants", "bees"):
        pictures(tmp_path / "photos" / name, ["1", "2", "3"])
        extra = tmp_path / "__MACOSX" / "photos" / name
        extra.mkdir(parents=True)
        (extra / "._1.png").write_bytes(b"\0\5\x16\7")
    assert [problem.code for problem in opened(tmp_path)[0].problems] == ["junk-file"]


def test_a_part_without_rows_is_no_defect(tmp_path: Path) -> None:
    """Seen: Spark writes a header alone for a worker that got no rows, which was an error."""
    for part, n in enumerate((20, 0, 9)):
        table(tmp_path / f"part-{part:05d}-c000.csv", "id,plan,months", [f"{part}{i},basic,{i % 7}" for i in range(n)])
    source, _ = opened(tmp_path)
    assert (source.samples, [type(problem) for problem in source.problems]) == (29, [Aside])


def test_an_empty_file_of_a_year_is_told(tmp_path: Path) -> None:
    """Seen: ``sales_2021.csv`` without rows passed as a part for which there were none."""
    for year, n in ((2020, 20), (2021, 0)):
        table(tmp_path / f"sales_{year}.csv", "id,plan,months", [f"{i},basic,{i % 7}" for i in range(n)])
    assert [problem.code for problem in opened(tmp_path)[0].problems] == ["empty-file"]


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_classes_of_any_width_are_int64(dtype: type, tmp_path: Path) -> None:
    """Seen: labels of uint8 stayed so, which a cross-entropy loss refuses."""
    np.savez(
        tmp_path / "a.npz", images=RNG.integers(0, 255, (12, 8, 8, 3), np.uint8), labels=np.arange(12).astype(dtype) % 3
    )
    loader = create_loader(tmp_path, None, 4, num_workers=0)
    assert {str(next(iter(loader))["labels"].dtype), str(loader.dataset_obj[0]["labels"].dtype)} == {"torch.int64"}

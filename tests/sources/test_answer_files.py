"""Files with answers to a table's rows: which are, and how they are joined to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.sources.base import Source
from tests.sources.tables import opened, put

SEED = int.from_bytes(os.urandom(4), "big")
RNG = np.random.default_rng(SEED)
SIZES = {"train": 60, "test": 20}


def put_parquet(file: Path, header: list[str], rows: list[list[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))), file, row_group_size=16
    )


def numbers(n: int, columns: int = 3) -> list[list[Any]]:
    return [[round(float(v), 3) for v in row] for row in RNG.normal(size=(n, columns))]


def column(source: Source, name: str) -> list[Any]:
    found: list[Any] = []
    for unit in source.units:
        of = source.decode(unit, source.read(unit)).columns.get(name)
        if of is not None:
            nulls = [False] * len(of) if of.nulls is None else of.nulls.tolist()
            found += [None if gone else v for v, gone in zip(np.asarray(of.values).tolist(), nulls, strict=True)]
    return found


@pytest.mark.parametrize("x", ["X_", "x", "features."])
@pytest.mark.parametrize("named", [True, False])
def test_answers_in_the_order_of_the_rows(tmp_path: Path, named: bool, x: str) -> None:
    y = x.replace("X", "y").replace("x", "y").replace("features", "labels")
    told = {s: RNG.integers(0, 2, n).tolist() for s, n in SIZES.items()}
    for split, n in SIZES.items():
        put(tmp_path / f"{x}{split}.csv", ["a", "b", "c"] if named else None, numbers(n))
        put(tmp_path / f"{y}{split}.csv", ["grade"] if named else None, [[v] for v in told[split]])
    source = opened(tmp_path)
    assert (source.samples, source.splits, source.problems) == (80, {"test": 20, "train": 60}, [])
    assert source.label == ("grade" if named else "labels" if x == "features." else "y")
    assert column(source, source.label) == told["test"] + told["train"]


def test_answers_by_a_key_in_another_order(tmp_path: Path) -> None:
    keys = RNG.permutation(1000)[:80].tolist()
    told = dict(zip(keys, RNG.integers(1, 4, 80).tolist(), strict=True))
    put(
        tmp_path / "train_values.csv",
        ["building", "a", "b", "c"],
        [[k, *r] for k, r in zip(keys, numbers(60), strict=False)],
    )
    put(
        tmp_path / "test_values.csv",
        ["building", "a", "b", "c"],
        [[k, *r] for k, r in zip(keys[60:], numbers(20), strict=True)],
    )
    put(tmp_path / "train_labels.csv", ["building", "damage"], [[k, told[k]] for k in sorted(keys[:60])])
    source = opened(tmp_path)
    assert (source.samples, source.label, source.withheld) == (80, "damage", frozenset({"damage"}))
    assert column(source, "damage") == [told[k] for k in keys[:60]]
    assert source.problems == []
    source.read_only(["damage"])
    assert [f for u in source.units[-1:] for f in source.decode(u, source.read(u)).columns] == ["damage"]


def test_a_row_without_its_answer_lacks_a_value(tmp_path: Path) -> None:
    put(tmp_path / "features.csv", ["id", "a", "b"], [[i, *r] for i, r in enumerate(numbers(30, 2))])
    put(tmp_path / "labels.csv", ["id", "kind"], [[i, "odd" if i % 2 else "even"] for i in range(30) if i != 7])
    source = opened(tmp_path)
    assert column(source, "kind") == [None if i == 7 else "odd" if i % 2 else "even" for i in range(30)]


def test_more_or_fewer_answers_than_rows_are_told(tmp_path: Path) -> None:
    for split, n in SIZES.items():
        put(tmp_path / f"x_{split}.csv", ["a", "b", "c"], numbers(n))
        put(tmp_path / f"y_{split}.csv", ["t"], [[v] for v in range(n - (split == "train"))])
    [problem] = opened(tmp_path).problems
    assert (problem.code, problem.where["file"]) == ("length-mismatch", "y_train.csv")
    assert "59 rows" in problem.message and "x_train.csv 60" in problem.message


def test_one_answer_for_many_rows_is_set_aside(tmp_path: Path) -> None:
    put(tmp_path / "train_data.csv", ["customer", "a", "b"], [[i // 4, *r] for i, r in enumerate(numbers(80, 2))])
    put(tmp_path / "train_labels.csv", ["customer", "default"], [[i, i % 2] for i in range(20)])
    source = opened(tmp_path)
    assert source.samples == 80
    assert [p.code for p in source.problems] == ["foreign-file"]


def test_a_damaged_answer_does_not_move_the_others(tmp_path: Path) -> None:
    told = RNG.integers(0, 2, 40).tolist()
    put(tmp_path / "X.csv", ["a", "b", "c"], numbers(40))
    put(tmp_path / "y.csv", ["t", "by"], [[v, "x"] if i != 11 else [v, "x", "y"] for i, v in enumerate(told)])
    source = opened(tmp_path)
    assert column(source, "t") == [None if i == 11 else v for i, v in enumerate(told)]
    assert [(p.code, p.where["file"], p.where["sample"]) for p in source.problems] == [("parse-error", "y.csv", 11)]


@pytest.mark.parametrize("name", ["labels.csv", "classes.csv"])
def test_a_list_of_classes_is_none(tmp_path: Path, name: str) -> None:
    put(tmp_path / "data.csv", ["a", "b", "label"], [[*r, i % 3] for i, r in enumerate(numbers(50, 2))])
    put(tmp_path / name, ["number", "title"], [[i, f"class {i}"] for i in range(3)])
    source = opened(tmp_path)
    assert (source.samples, source.label, [f.name for f in source.fields]) == (50, "label", ["a", "b", "label"])


def test_each_folder_has_its_own(tmp_path: Path) -> None:
    told = {s: RNG.integers(0, 2, n).tolist() for s, n in SIZES.items()}
    for split, n in SIZES.items():
        put(tmp_path / split / "features.csv", ["a", "b"], numbers(n, 2))
        put(tmp_path / split / "labels.csv", ["t"], [[v] for v in told[split]])
    source = opened(tmp_path)
    assert (source.splits, source.label) == ({"test": 20, "train": 60}, "t")
    assert column(source, "t") == told["test"] + told["train"]


@pytest.mark.parametrize("keyed", [True, False])
def test_the_plain_reader_gives_the_same(tmp_path: Path, keyed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataloader_expert.probes.handing_over import reader_of, reading, unread
    from dataloader_expert.sources import plain

    keys = RNG.permutation(500)[:60].tolist()
    put(tmp_path / "X_train.csv", ["id", "a"], [[k, *r] for k, r in zip(keys, numbers(60, 1), strict=True)])
    rows = [[k, k % 3] for k in (sorted(keys) if keyed else keys)]
    put(tmp_path / "y_train.csv", ["id", "t"] if keyed else ["t"], rows if keyed else [row[1:] for row in rows])
    source = opened(tmp_path)
    assert unread(source) is None
    for name, value in reading(source, reader_of(source))[0].items():
        monkeypatch.setattr(plain, name, value)  # as literals of the module that is handed over define them
    found = list(reader_of(source)(tmp_path / "X_train.csv"))
    assert [row["t"] for row in found] == column(source, "t") == [k % 3 for k in keys]


@pytest.mark.parametrize("keyed", [True, False])
def test_answers_in_parquet(tmp_path: Path, keyed: bool) -> None:
    keys = RNG.permutation(500)[:80].tolist()
    for split, own in (("test", keys[:20]), ("train", keys[20:])):
        put_parquet(tmp_path / f"X_{split}.parquet", ["id", "a"], [[k, k / 7] for k in own])
        told = [[k, k % 3] for k in (sorted(own) if keyed else own)]
        put_parquet(
            tmp_path / f"y_{split}.parquet", ["id", "t"] if keyed else ["t"], told if keyed else [t[1:] for t in told]
        )
    source = opened(tmp_path)
    assert (source.samples, source.label, source.problems) == (80, "t", [])
    assert column(source, "t") == [k % 3 for k in keys]
    source.read_only(["t"])
    assert column(source, "t") == [k % 3 for k in keys]
    assert [*source.peek(source.units[0]).columns] == ["t"]


def test_other_tables_in_parquet_are_set_aside(tmp_path: Path) -> None:
    put_parquet(tmp_path / "ratings.parquet", ["user", "item", "stars"], [[i % 9, i % 7, i % 5] for i in range(90)])
    put_parquet(tmp_path / "items.parquet", ["number", "title", "year"], [[i, f"of {i}", 1990 + i] for i in range(7)])
    source = opened(tmp_path)
    assert source.samples == 90
    assert [(p.code, p.where["file"]) for p in source.problems] == [("foreign-file", "items.parquet")]


def test_numbers_of_rows_divide_the_table(tmp_path: Path) -> None:
    """Seen: the labels and the splits of a graph's nodes (OGB) left out: files without headers, row by row and as numbers of rows."""
    rows, labels = numbers(90), RNG.integers(0, 4, 90).tolist()
    of = RNG.permutation(["train"] * 50 + ["valid"] * 20 + ["test"] * 20).tolist()
    for folder in ("raw", "split/time"):
        (tmp_path / folder).mkdir(parents=True)
    for name, lines in {
        "raw/node-feat.csv": [",".join(map(str, row)) for row in rows],
        "raw/node-label.csv": [str(label) for label in labels],
        "raw/edge.csv": [f"{i},{(i * 7) % 90}" for i in range(90)] * 3,
        **{f"split/time/{s}.csv": [str(i) for i in range(90) if of[i] == s] for s in ("train", "valid", "test")},
    }.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    source = opened(tmp_path)
    assert (source.label, column(source, "node_label"), column(source, "split")) == ("node_label", labels, of)
    assert source.roles is not None and source.roles.split is not None and source.roles.split.field == "split"
    assert [p.where["file"] for p in source.problems] == ["raw/edge.csv"]

"""Folders that hold several tables: which one the samples are, and which columns are no labels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.sources.tables import opened, put, said

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))


def aside(source: Source) -> list[str]:
    assert {p.code for p in source.problems} <= {"foreign-file"}
    return sorted(str(p.where["file"]) for p in source.problems)


def test_tables_of_the_same_splits_are_not_mixed(tmp_path: Path) -> None:
    for split, n in (("train", 60), ("dev", 20)):
        put(
            tmp_path / split / "news.tsv",
            None,
            [[f"N{i}", "sports", said(RNG), said(RNG)] for i in range(n // 2)],
            "\t",
        )
        put(tmp_path / split / "behaviors.tsv", None, [[i, f"U{i % 9}", said(RNG)] for i in range(n)], "\t")
    source = opened(tmp_path)
    assert source.splits == {"dev": 20, "train": 60}
    assert aside(source) == ["dev/news.tsv", "train/news.tsv"]


def test_shards_of_other_names_are_one_table(tmp_path: Path) -> None:
    for split in ("train", "dev"):
        for site in ("north", "south"):
            put(
                tmp_path / f"{site}_{split}.csv",
                ["a", "b", "label"],
                [[float(RNG.random()), i / 3, i % 2] for i in range(20)],
            )
    source = opened(tmp_path)
    assert (source.samples, source.problems) == (80, [])


def test_a_larger_table_beside_that_of_training_is_another_one(tmp_path: Path) -> None:
    put(
        tmp_path / "sales_train.csv",
        ["id", "store", *(f"d_{i}" for i in range(9))],
        [[i, i % 3, *range(9)] for i in range(30)],
    )
    put(tmp_path / "prices.csv", ["store", "week", "price"], [[i % 3, i, i / 7] for i in range(200)])
    source = opened(tmp_path)
    assert (source.samples, aside(source)) == (30, ["prices.csv"])


def test_configurations_of_a_collection_are_not_mixed(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for split, n in (("train", 60), ("validation", 20)):
        for name, of in (("pairs", ("first", "second", "third")), ("single", ("sentence",))):
            (tmp_path / name).mkdir(exist_ok=True)
            rows = n if name == "pairs" else n // 2
            columns = {column: [said(RNG) for _ in range(rows)] for column in of} | {
                "label": [i % 2 for i in range(rows)]
            }
            pq.write_table(pa.table(columns), tmp_path / name / f"{split}-00000-of-00001.parquet")
    source = opened(tmp_path)
    assert source.splits == {"train": 60, "validation": 20}
    assert len(aside(source)) == 2


def test_a_marker_of_a_writer_is_no_file_of_the_data(tmp_path: Path) -> None:
    put(tmp_path / "part-0.csv", ["a", "label"], [[i, i % 2] for i in range(20)])
    (tmp_path / "_SUCCESS").write_bytes(b"")
    problems: list[Any] = []
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), problems)
    assert (source.problems, problems) == ([], [])


@pytest.mark.parametrize(
    ("header", "row", "label"),
    [
        (["text", "partition"], lambda i: [said(RNG), ("train", "valid", "test")[i % 3]], None),
        (["v1", "v2"], lambda i: [("ham", "spam")[i % 2], said(RNG)], "v1"),
        (None, lambda i: [i / 7, i / 9, float(i % 4)], "f2"),
        (["a", "b", "c"], lambda i: [i / 7, i / 9, float(i % 4) + 0.5], None),
    ],
)
def test_which_column_may_be_a_label(tmp_path: Path, header: list[str] | None, row: Any, label: str | None) -> None:
    put(tmp_path / "rows.csv", header, [row(i) for i in range(90)])
    assert opened(tmp_path).label == label


def test_tables_of_one_width_that_share_a_key_are_two(tmp_path: Path) -> None:
    """Our promise: rows of a list of things are not appended to the rows that name these things."""
    ordered = [[i // 6, int(RNG.integers(40)), i % 6, int(RNG.integers(2))] for i in range(600)]
    header = ["order_id", "product_id", "place", "reordered"]
    put(tmp_path / "order_products__prior.csv", header, ordered[:480])
    put(tmp_path / "order_products__train.csv", header, ordered[480:])
    put(
        tmp_path / "products.csv",
        ["product_id", "product_name", "aisle_id", "price"],
        [[i, f"p{i}", i % 4, i] for i in range(40)],
    )
    source = opened(tmp_path)
    assert (source.samples, aside(source)) == (600, ["products.csv"])
    assert "belong to each of its rows: join it by product_id" in source.problems[0].told()


def test_the_label_may_be_in_the_table_of_what_the_rows_are_of(tmp_path: Path) -> None:
    """Our promise: a guess at the last column is not made where another table has the label of each thing."""
    for part, things in (("training", range(40)), ("test", range(40, 60))):
        rows = [[i, t, float(RNG.normal()), int(RNG.integers(2))] for i in things for t in range(8)]
        put(tmp_path / f"{part}_set.csv", ["object_id", "t", "flux", "seen"], rows)
        told = [[i, float(RNG.normal()), i % 2, i % 3][: 4 - (part == "test")] for i in things]
        put(tmp_path / f"{part}_set_about.csv", ["object_id", "ra", "deep", "target"][: 4 - (part == "test")], told)
    source = opened(tmp_path)
    assert source.splits == {"test": 160, "train": 320} and source.label is None
    assert (
        source.label_how == "training_set_about.csv has target for each object_id; join it by object_id, or pass label="
    )


def test_a_part_with_another_header_stays_a_part(tmp_path: Path) -> None:
    for i in range(3):
        names = ["a", "b", "label"] if i else ["A1", "B1", "c"]
        put(tmp_path / f"part-{i}.csv", names, [[float(RNG.random()), j / 3, j % 2] for j in range(20)])
    source = opened(tmp_path)
    assert source.samples == 60 and {p.code for p in source.problems} == {"missing-key", "extra-key"}


def test_lists_of_relevant_documents_are_the_samples(tmp_path: Path) -> None:
    """TREC's columns, beside the texts of queries and of what is searched."""
    put(tmp_path / "collection.tsv", None, [[i, said(RNG)] for i in range(90)], "\t")
    for split, queries in (("train", range(60)), ("dev", range(60, 80))):
        put(tmp_path / f"queries.{split}.tsv", None, [[i, said(RNG)] for i in queries], "\t")
        put(tmp_path / f"qrels.{split}.tsv", None, [[i, 0, int(RNG.integers(90)), 1] for i in queries], "\t")
    source = opened(tmp_path)
    assert source.splits == {"dev": 20, "train": 60}
    assert [f.name for f in source.fields] == ["query_id", "iteration", "docid", "relevance"]

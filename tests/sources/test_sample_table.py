"""Which of several tables of a folder the samples are, and what is said of the columns that are predicted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan
from tests.sources.tables import opened, put, said

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))


def aside(source: Source) -> list[str]:
    assert {p.code for p in source.problems} <= {"foreign-file"}
    return sorted(str(p.where["file"]) for p in source.problems)


def numbers(n: int, *more: Any) -> list[list[Any]]:
    return [[i, *RNG.normal(size=3).round(3).tolist(), *(of(i) for of in more)] for i in range(n)]


def test_many_targets_in_a_file_beside_others_by_the_same_id(tmp_path: Path) -> None:
    """Seen: a refusal, where a third file had as many rows; the columns that the form asks for are the labels."""
    header, flags = ["id", "a", "b", "c"], [f"is_{i}" for i in range(5)]
    put(tmp_path / "train_features.csv", header, numbers(60))
    put(tmp_path / "test_features.csv", header, [[100 + row[0], *row[1:]] for row in numbers(20)])
    put(tmp_path / "train_drug.csv", ["id", "drug"], [[i, f"d{i % 7}"] for i in range(60)])
    put(tmp_path / "train_targets_scored.csv", ["id", *flags], [[i, *np.eye(5, dtype=int)[i % 5]] for i in range(60)])
    put(tmp_path / "train_targets_other.csv", ["id", "rare"], [[i, 0] for i in range(60)])
    put(tmp_path / "sample_submission.csv", ["id", *flags], [[100 + i, *[0.5] * 5] for i in range(20)])
    source = opened(tmp_path)
    assert (source.splits, aside(source)) == ({"test": 20, "train": 60}, ["sample_submission.csv", "train_drug.csv"])
    assert source.label_columns is not None and source.label_columns.names == tuple(flags)


def test_the_rows_that_a_form_names_are_the_samples(tmp_path: Path) -> None:
    put(tmp_path / "sales_validation_train.csv", ["id", "a", "b", "c"], numbers(30))
    put(tmp_path / "prices.csv", ["a", "week", "price"], [[i % 3, i, i / 7] for i in range(200)])
    put(tmp_path / "sample_submission.csv", ["id", "F1"], [[i, 0] for i in range(30)])
    assert opened(tmp_path).samples == 30


def test_the_rows_to_which_others_belong_are_the_samples(tmp_path: Path) -> None:
    """Our promise: crashes, not the casualties; but ratings, not the films that they and tags name."""
    crashes = [1000 + 3 * i for i in range(60)]
    put(tmp_path / "a" / "crash.csv", ["crash_id", "x", "kind"], [[c, c / 7, c % 3] for c in crashes])
    for name in ("person", "vehicle"):
        rows = [[c, k, int(RNG.integers(9))] for c in crashes for k in range(1 + c % 2)]
        put(tmp_path / "a" / f"{name}.csv", ["crash_id", f"{name}_number", f"{name}_age"], rows)
    assert (opened(tmp_path / "a").samples, len(aside(opened(tmp_path / "a")))) == (60, 2)
    put(tmp_path / "b" / "movies.csv", ["movie_id", "title"], [[i, said(RNG)] for i in range(40)])
    for name in ("ratings", "tags"):
        rows = [[u, m, (u * m) % 5] for u in range(12) for m in range(40) if (u + m) % 3]
        put(tmp_path / "b" / f"{name}.csv", ["user_id", "movie_id", name[:-1]], rows)
    assert "movies.csv" in aside(opened(tmp_path / "b"))


def test_edges_are_no_samples(tmp_path: Path) -> None:
    papers = RNG.permutation(10_000)[:50].tolist()
    put(tmp_path / "g.content", None, [[p, p % 2, p % 5 // 4, f"c{p % 3}"] for p in papers], "\t")
    put(tmp_path / "g.cites", None, [[papers[i % 50], papers[(i * 7 + 1) % 50]] for i in range(150)], "\t")
    source = opened(tmp_path)
    assert (source.samples, aside(source)) == (50, ["g.cites"])


def test_edges_are_no_samples_beside_features_without_names(tmp_path: Path) -> None:
    """Seen: transactions without a header lay beside their classes and more edges than there are of them, which were read."""
    keys = [i * 7919 % 100_003 for i in range(300)]
    put(
        tmp_path / "features.csv",
        None,
        [[k, i % 40, *(round(k / (7 + j), 4) for j in range(6))] for i, k in enumerate(keys)],
    )
    put(tmp_path / "classes.csv", ["txId", "class"], [[k, ("unknown", 1, 2)[i % 3]] for i, k in enumerate(keys)])
    put(tmp_path / "edges.csv", ["txId1", "txId2"], [[keys[i % 300], keys[i * 13 % 300]] for i in range(400)])
    source = opened(tmp_path)
    assert (source.samples, len(source.fields)) == (300, 8)


def test_sums_by_the_day_are_another_table(tmp_path: Path) -> None:
    days = [f"2024-{m:02}-{d:02}" for m in (1, 2) for d in range(1, 29)]
    put(tmp_path / "day.csv", ["day", "temp", "n"], [[d, i / 7, i] for i, d in enumerate(days)])
    put(tmp_path / "hour.csv", ["day", "hr", "temp", "n"], [[d, h, h / 7, h] for d in days for h in range(6)])
    source = opened(tmp_path)
    assert (source.samples, aside(source)) == (336, ["day.csv"])


def test_lists_of_rows_are_no_table(tmp_path: Path) -> None:
    order = RNG.permutation(50).tolist()
    for split, rows in (("train", order[:30]), ("valid", order[30:40]), ("test", order[40:])):
        put(tmp_path / "split" / f"{split}.csv", None, [[i] for i in rows])
    put(tmp_path / "mapping.csv", ["name", "x"], [[f"m{i}", i / 7] for i in range(50)])
    put(tmp_path / "edges.csv", None, [[i % 9, i % 7] for i in range(400)])
    source = opened(tmp_path)
    assert (source.samples, aside(source)) == (50, ["edges.csv"])  # the lists divide the rows


def test_the_form_says_which_column_is_predicted(tmp_path: Path) -> None:
    """Our promise: of columns that training alone has, it is the one that the form asks for; else all are named."""
    put(
        tmp_path / "train.csv",
        ["store", "a", "b", "c", "Amount", "Visitors"],
        numbers(80, lambda i: 100 + 13 * i, lambda i: i),
    )
    put(tmp_path / "test.csv", ["Id", "store", "a", "b", "c"], [[i, *row] for i, row in enumerate(numbers(30))])
    source = opened(tmp_path)
    assert (source.label, source.targets) == (None, ("Amount", "Visitors"))
    assert "Amount, Visitors are in the training split only" in source.label_how
    put(tmp_path / "sample_submission.csv", ["Id", "Amount"], [[i, 0] for i in range(30)])
    source = opened(tmp_path)
    assert (source.label, source.label_how) == ("Amount", "the one column that sample_submission.csv asks for")
    assert {f.code for f in scan(tmp_path, tmp_path).findings if f.severity == "error"} == set()


@pytest.mark.parametrize(
    ("header", "targets"),
    [
        (["X1", "X2", "X3", "Y1", "Y2"], ("Y1", "Y2")),
        (["a", "b", "c", "target_1", "target_2"], ("target_1", "target_2")),
        (["x1", "x2", "c", "y1", "y2"], ()),
        (["c", "x_1", "y_1", "x_2", "y_2"], ()),
    ],
)
def test_numbered_targets(tmp_path: Path, header: list[str], targets: tuple[str, ...]) -> None:
    """Our promise: several are told; coordinates are none."""
    put(tmp_path / "rows.csv", header, RNG.normal(size=(40, 5)).round(4).tolist())
    source = opened(tmp_path)
    assert (source.label, source.targets) == (None, targets)


def test_cells_that_list_classes(tmp_path: Path) -> None:
    """Our promise: ``2,19`` is two labels, and no number with a comma."""
    cells = [f"{i % 12}" if i % 5 else f"{i % 12},{10 + i % 2}" for i in range(120)]
    put(
        tmp_path / "train.tsv",
        None,
        [[said(RNG) + " and more words", cell, f"k{i:x}z"] for i, cell in enumerate(cells)],
        "\t",
    )
    source = opened(tmp_path)
    assert source.label == "f1"
    values = source.decode(source.units[0], source.read(source.units[0])).columns["f1"].values
    assert values[:2] == [[0, 10], [1]]
    assert "numbers-as-text" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_ratings_without_names(tmp_path: Path) -> None:
    rows = [[u, m, 1 + (u * m) % 5, 978_000_000 + 60 * u + m] for u in range(1, 20) for m in range(1, 30)]
    (tmp_path / "ratings.dat").write_text("".join("::".join(map(str, row)) + "\n" for row in rows))
    (tmp_path / "users.dat").write_text("".join(f"{u}::F::{20 + u}::7::1067\n" for u in range(1, 20)))
    films = "".join(f"{m}::Amélie {m} (2001)::Comedy|Drama\n" for m in range(1, 30))
    (tmp_path / "movies.dat").write_bytes(films.encode("latin-1"))
    source = opened(tmp_path)
    assert (source.samples, source.label, aside(source)) == (len(rows), "f2", ["movies.dat", "users.dat"])


def test_a_value_for_each_series_is_told(tmp_path: Path) -> None:
    """Our promise: the life that is left to each engine is no column of its rows, and not passed over."""
    for split, length in (("train", 12), ("test", 9)):
        rows = [
            f"{u} {t} {RNG.normal():.3f} {RNG.normal():.3f}  \n" for u in range(1, 11) for t in range(1, length + u)
        ]
        (tmp_path / f"{split}_A.txt").write_text("".join(rows))
    (tmp_path / "RUL_A.txt").write_text("".join(f"{20 + u}\n" for u in range(10)))
    source = opened(tmp_path)
    assert source.label is None and "RUL_A.txt has a value for each of the 10 series of test_A.txt" in source.label_how


def test_splits_by_the_names_that_files_have(tmp_path: Path) -> None:
    """Our promise: what files call a split is accepted as well as what we show."""
    for name, n in (("train_prefs", 30), ("train_sft", 20), ("test_prefs", 10)):
        put(tmp_path / f"{name}-00000-of-00001.csv", ["text", "label"], [[said(RNG), i % 2] for i in range(n)])

    def asked(split: str) -> int:
        return open_source(SourceRef(str(tmp_path), (str(tmp_path),), split=split), []).samples

    assert [asked(split) for split in ("train", "train_prefs", "test_prefs", "test")] == [50, 30, 10, 10]


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (("nli_train_set.tsv", "nli_evaluation_set.tsv"), {"eval": 30, "train": 30}),
        (("news.train.tsv", "news.dev-test.tsv"), {"devtest": 30, "train": 30}),
        (("trn.tsv", "tst.tsv"), {"test": 30, "train": 30}),
        (("xx_tst-train.tsv", "xx_tst-dev.tsv"), {"dev": 30, "train": 30}),
        (("car_evaluation.tsv",), {}),
    ],
)
def test_names_of_splits(tmp_path: Path, names: tuple[str, ...], splits: dict[str, int]) -> None:
    for name in names:
        put(tmp_path / name, ["text", "label"], [[said(RNG), i % 2] for i in range(30)], "\t")
    assert opened(tmp_path).splits == splits


def test_a_large_table_that_no_other_names_is_not_the_samples(tmp_path: Path) -> None:
    """Seen: of a shop's tables, the places of towns were read, which have the most rows; each order has one payment and one review here."""
    orders = [f"o{i:05}" for i in range(80)]
    put(tmp_path / "customers.csv", ["customer_id", "town"], [[f"c{i:05}", f"t{i % 9}"] for i in range(80)])
    put(tmp_path / "orders.csv", ["order_id", "customer_id", "state"], [[o, f"c{i:05}", "sent"] for i, o in enumerate(orders)])  # fmt: skip
    put(tmp_path / "payments.csv", ["order_id", "value"], [[o, f"{RNG.random():.3f}"] for o in orders])
    put(tmp_path / "reviews.csv", ["review_id", "order_id", "score"], [[f"r{i:05}", o, i % 5] for i, o in enumerate(orders)])  # fmt: skip
    places = [[f"t{i % 9}", *RNG.normal(size=2).round(4).tolist()] for i in range(1500)]
    put(tmp_path / "places.csv", ["town", "latitude", "longitude"], places)
    source = opened(tmp_path)
    assert {unit.file for unit in source.units} == {"orders.csv"}

"""What a CSV file says of its own form: its header, its quoting, and which of several files are one table."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

DRAW = random.Random(20)


def opened(folder: Path, **files: list[list[Any]]) -> Source:
    """The source of files with these rows, the first of which may be a header."""
    for name, rows in files.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def measured(n: int, columns: int) -> list[list[Any]]:
    return [[round(DRAW.gauss(0, 3), 4) for _ in range(columns)] + [DRAW.choice("ab")] for _ in range(n)]


def pixels(n: int) -> list[list[Any]]:
    return [[DRAW.randrange(10)] + [DRAW.randrange(256) for _ in range(12)] for _ in range(n)]


def problems(source: Source) -> list[tuple[str, Any]]:
    return [(p.code, p.where.get("file")) for p in source.problems]


HEADERS: dict[str, tuple[list[Any], list[list[Any]], list[str]]] = {
    "an index without a name": (
        ["", "x", "y", "label"],
        [[i, *row] for i, row in enumerate(measured(50, 2))],
        ["index", "x", "y", "label"],
    ),
    "pixels by number": (["label", *range(12)], pixels(40), ["label", *map(str, range(12))]),
    "years": (
        ["country", 2019, 2020, 2021, "label"],
        [[f"C{i}", *row] for i, row in enumerate(measured(40, 3))],
        ["country", "2019", "2020", "2021", "label"],
    ),
    "a name that is repeated": (["x", "x", "label"], measured(40, 2), ["x", "x_2", "label"]),
    "an index and columns by number": (
        ["", *range(3)],
        [[i, *(DRAW.randrange(90) for _ in range(3))] for i in range(40)],
        ["index", "0", "1", "2"],
    ),
    "columns by number": (list(range(4)), [row[:-1] for row in measured(40, 4)], ["0", "1", "2", "3"]),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_is_told_by_all_of_its_cells(tmp_path: Path, name: str) -> None:
    """Our promise: an empty, numeric or repeated name makes no row of data of a header that other cells prove."""
    header, rows, names = HEADERS[name]
    source = opened(tmp_path, table=[header, *rows])
    assert [f.name for f in source.fields] == names
    assert source.samples == len(rows)


BARE: dict[str, list[list[Any]]] = {
    "numbers and classes": measured(60, 3),
    "pixels": pixels(60),
    "a missing value in the first row": [["?", 1.5, "a"], *measured(60, 2)],
    "a bad cell in the first row": [[0.25, "error", 1.5, "a"], *measured(60, 3)],
    "an empty cell in the first row": [["", 1.5, "a"], *measured(60, 2)],
    "a class that occurs once": [[1.5, 0.5, "c"], *measured(60, 2)],
    "counted cells": [[3 * i + k for k in range(3)] for i in range(30)],
}


@pytest.mark.parametrize("name", BARE)
def test_a_first_row_of_values_is_a_sample(tmp_path: Path, name: str) -> None:
    """Our promise: without a header, no row is lost."""
    source = opened(tmp_path, table=BARE[name])
    assert source.samples == len(BARE[name])
    assert source.fields[0].name == "f0"


def test_a_repeated_name_is_told(tmp_path: Path) -> None:
    """Our promise: columns of one name are made distinct, and the header is named as odd."""
    source = opened(tmp_path, table=[["x", "y", "x", "label"], *measured(30, 3)])
    assert problems(source) == [("odd-name", "table.csv")]


def test_an_index_that_begins_anew_in_each_file_is_a_key(tmp_path: Path) -> None:
    """Our promise: what counts the rows of a file is no feature, so splits are not compared by it."""
    parts = {s: [["", "x", "label"], *([i, *r] for i, r in enumerate(measured(n, 1)))] for s, n in SPLITS.items()}
    source = opened(tmp_path, **parts)
    assert source.roles is not None
    assert [key.field for key in source.roles.keys] == ["index"]


SPLITS = {"train": 90, "val": 20, "test": 30}


def words(n: int) -> str:
    return " ".join(DRAW.choice(["river", "stone", "cloud", "field", "lamp"]) for _ in range(n))


@pytest.mark.parametrize("n", [3, 40, 4000])
@pytest.mark.parametrize("numbered", [False, True])
def test_cells_that_span_lines_are_one_record(tmp_path: Path, n: int, numbered: bool) -> None:
    """Our promise: a text is one cell even if every text spans lines that have as many separators as a record."""
    if numbered:
        header = ["id", "review", "label"]
        rows = [[i, f"{words(4)}, {words(3)}\n{words(2)}, {words(1)}", DRAW.choice("ab")] for i in range(n)]
    else:
        header = ["review", "label"]
        rows = [[f"{words(4)},\n{words(3)}", DRAW.choice("ab")] for _ in range(n)]
    source = opened(tmp_path, table=[header, *rows])
    assert source.samples == n
    assert [f.name for f in source.fields] == header


def test_quotes_of_an_unquoted_file_pair_by_chance_only(tmp_path: Path) -> None:
    """Our promise: a line that opens with a quote and one further down that ends with one remain two records."""
    lines = [f"{i}\t{words(4)}" for i in range(30)]
    lines[7], lines[19] = f'7\t"{words(3)}', f'19\t{words(3)}"'
    (tmp_path / "lines.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert open_source(SourceRef(str(tmp_path), (str(tmp_path),)), []).samples == 30

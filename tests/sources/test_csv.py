"""What a CSV file says of its own form: its header, its quoting, and which of several files are one table."""

from __future__ import annotations

import csv
import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.loaders import open_dataset
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

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


def written(path: Path, text: str, encoding: str = "utf-8") -> Source:
    path.write_bytes(text.encode(encoding))
    return open_source(SourceRef(str(path), (str(path),)), [])


def lines_of(n: int, mark: str = ",") -> str:
    return "".join(
        mark.join([f"C{i}", f"Country {i}", *(str(DRAW.randrange(10**6)) for _ in range(8))]) + "\n" for i in range(n)
    )


HEADER = ["Code", "Name", *map(str, range(1990, 1998))]
PREAMBLES = {
    "of a bank": '"Source","Indicators",\n\n"Updated","2023-10-26",\n\n',
    "of one line": "Export of 2024-05-01\n",
    "with marks": '!title\t"A study"\n\n!sample\t"a"\t"b"\t"c"\n!table_begin\n',
}


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("preamble", PREAMBLES.values(), ids=PREAMBLES)
def test_a_table_begins_below_its_preamble(tmp_path: Path, preamble: str, mark: str) -> None:
    """Seen: exports with a few lines above the header were read without it, and said to be damaged."""
    text = preamble.replace("\t", mark) + mark.join(HEADER) + "\n" + lines_of(60, mark)
    source = written(tmp_path / ("export.tsv" if mark == "\t" else "export.csv"), text)
    assert (source.samples, source.problems) == (60, [])
    assert [field.name for field in source.fields] == HEADER


def test_a_preamble_and_a_header_in_latin_1(tmp_path: Path) -> None:
    """Seen: an instrument's export, whose header has a degree sign."""
    rows = "".join(f"A{i:02};{DRAW.random():.4f};37,{i % 4}\n".replace(".", ",") for i in range(40))
    source = written(
        tmp_path / "plate.csv", f"User: Möller\nVolume: 200 µl\n\nWell;Density;Temp. [°C]\n{rows}", "latin-1"
    )
    assert source.samples == 40
    assert [field.name for field in source.fields] == ["Well", "Density", "Temp. [°C]"]


def test_a_mark_below_a_table_ends_it(tmp_path: Path) -> None:
    text = "!table_begin\n" + ",".join(HEADER) + "\n" + lines_of(60) + "!table_end\n"
    assert written(tmp_path / "matrix.csv", text).samples == 60


def test_a_header_of_years_over_numbers_with_flags(tmp_path: Path) -> None:
    """Seen: the tables of a statistical office, which mark estimates with a letter and what is missing with a colon."""

    def cell() -> str:
        return DRAW.choice([f"{DRAW.gauss(9, 2):.1f} ", f"{DRAW.gauss(9, 2):.1f} b", f"{DRAW.gauss(9, 2):.1f} ", ": "])

    rows = "".join("\t".join([f"A,{i},F", *(cell() for _ in range(9))]) + "\n" for i in range(60))
    source = written(
        tmp_path / "rates.tsv", "\t".join(["freq,unit,sex\\TIME", *(f"{y} " for y in range(2009, 2018))]) + "\n" + rows
    )
    assert source.samples == 60
    assert [field.name for field in source.fields][:2] == ["freq,unit,sex\\TIME", "2009"]


def test_where_a_table_without_a_header_seems_to_begin_is_said(tmp_path: Path) -> None:
    """Our promise: lines that may be damaged records stay records, and the error says what they seem to be."""
    rows = "".join(",".join(f"{DRAW.gauss(0, 1):.3f}" for _ in range(6)) + "\n" for _ in range(50))
    (tmp_path / "log.csv").write_text("Station,7\n\nUnits,mm\n" + rows)
    messages = [f.message for f in scan(tmp_path, tmp_path).findings if f.code == "parse-error"]
    assert any("the table seems to begin in line 4" in message for message in messages)


def test_a_short_first_record_is_no_preamble(tmp_path: Path) -> None:
    """Our promise: a first record that is damaged is told, whatever comes next."""
    rows = "".join(",".join(f"{DRAW.gauss(0, 1):.3f}" for _ in range(6)) + "\n" for _ in range(50))
    source = written(tmp_path / "data.csv", f"0.5,0.1,0.3\n{rows}")
    assert source.samples == 51


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


def passengers(first: int, n: int, label: bool) -> list[list[Any]]:
    rows = [[first + i, round(DRAW.gauss(40, 9), 2), round(DRAW.expovariate(0.1), 2)] for i in range(n)]
    return [[*row, DRAW.randrange(2)] if label else row for row in rows]


@pytest.mark.parametrize("tests", [60, 400])
@pytest.mark.parametrize("asked", [False, True])
def test_a_test_split_may_withhold_the_label(tmp_path: Path, tests: int, asked: bool) -> None:
    """Our promise: the one column that only the training split has is the label, and a file to fill in is not data."""
    header = ["ticket", "age", "fare", "arrived"]
    form: dict[str, list[list[Any]]] = {}
    if asked:
        form = {"sample_submission": [["ticket", "arrived"], *([201 + i, 0] for i in range(tests))]}
    parts = {"train": passengers(1, 200, True), "test": passengers(201, tests, False)}
    source = opened(tmp_path, train=[header, *parts["train"]], test=[header[:-1], *parts["test"]], **form)
    assert (source.label, source.splits) == ("arrived", {"train": 200, "test": tests})
    assert problems(source) == [("foreign-file", "sample_submission.csv")] * asked
    assert {f.code for f in scan(tmp_path, tmp_path).findings if f.severity != "info"} == set()


def test_a_column_that_one_split_lacks_is_told_unless_it_is_the_label(tmp_path: Path) -> None:
    """Our promise: only the label may be withheld."""
    parts = {s: measured(n, 3) for s, n in SPLITS.items()}
    header = ["x", "y", "z", "label"]
    rows = {s: [header, *part] for s, part in parts.items()}
    rows["test"] = [[row[0], row[1], row[3]] for row in rows["test"]]
    assert problems(opened(tmp_path, **rows)) == [("missing-key", "test.csv")]


@pytest.mark.parametrize("about", ["aaa", "zzz"])
def test_a_table_of_other_columns_is_foreign(tmp_path: Path, about: str) -> None:
    """Our promise: a description of columns or classes is named and not read as samples, wherever it comes in order."""
    words_ = [["column", "meaning"], ["x", "width"], ["y", "height"], ["label", "kind"]]
    source = opened(tmp_path, **{about: words_, "data": [["x", "y", "label"], *measured(80, 2)]})
    assert problems(source) == [("foreign-file", f"{about}.csv")]
    assert source.samples == 80
    assert source.label == "label"


def test_a_smaller_file_that_lacks_a_column_is_part_of_the_table(tmp_path: Path) -> None:
    """Our promise: a damaged part is an error, never left out as foreign."""
    rows = measured(40, 3)
    header = ["x", "y", "z", "label"]
    source = opened(
        tmp_path, a=[[*header[:2], "label"], *([r[0], r[1], r[3]] for r in rows)], b=[header, *measured(80, 3)]
    )
    assert problems(source) == [("missing-key", "a.csv")]
    assert source.samples == 120


def days(form: str, n: int) -> list[list[Any]]:
    start = date(2021, 3, 1) + timedelta(DRAW.randrange(300))
    return [[(start + timedelta(i)).strftime(form), *row] for i, row in enumerate(measured(n, 1))]


@pytest.mark.parametrize(("many", "few"), [("%d/%m/%Y", "%Y-%m-%d"), ("%Y-%m-%d", "%d/%m/%Y")])
def test_dates_that_a_file_writes_in_its_own_way_are_told(tmp_path: Path, many: str, few: str) -> None:
    """Our promise: the file that differs is named, in words, whichever comes first."""
    header = ["date", "x", "label"]
    opened(tmp_path, train=[header, *days(many, 90)], test=[header, *days(few, 20)])
    drift = [f for f in scan(tmp_path, tmp_path).findings if f.code == "dtype-drift"]
    assert {place["file"] for f in drift for place in f.where} == {"test.csv"}
    assert sum(f.count for f in drift) == 20
    assert "date has dates in 2 formats" in drift[0].message


@pytest.mark.parametrize("empty", ["train", "test"])
def test_a_column_that_is_empty_in_a_file_has_no_type_there(tmp_path: Path, empty: str) -> None:
    """Our promise: missing values contradict no type, and messages are our own words."""
    parts = {s: [["x", "y", "label"], *measured(n, 2)] for s, n in (("train", 90), ("test", 30))}
    for row in parts[empty][1:]:
        row[1] = ""
    source = opened(tmp_path, **parts)
    assert {f.name: f.kind for f in source.fields}["y"] == "number"
    assert "dtype-drift" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_texts_in_a_column_of_numbers_are_told_in_words(tmp_path: Path) -> None:
    """Our promise: the file whose column has another type is named, without a library's own words."""
    parts = {s: [["x", "y", "label"], *measured(n, 2)] for s, n in (("train", 90), ("test", 30))}
    for row in parts["test"][1:]:
        row[1] = DRAW.choice(["low", "high"])
    opened(tmp_path, **parts)
    told = {f.message for f in scan(tmp_path, tmp_path).findings if f.code == "dtype-drift"}
    assert any("test.csv: y has texts such as" in message for message in told)
    assert not [message for message in told if "CSV" in message or "double" in message]


@pytest.mark.parametrize("odd", [[3, 1, 2], [5]], ids=["surplus", "missing"])
def test_a_row_of_another_length_does_not_move_the_others(tmp_path: Path, odd: list[Any]) -> None:
    """Our promise: each sample keeps its place, so that labels, weights or groups given by row stay with it; the odd one is named."""
    rows: list[list[Any]] = [[i, i * i] for i in range(60)]
    rows[7], rows[41] = odd, ["n", "square"]  # and a header that was joined in
    source = opened(tmp_path, a=[["n", "square"], *rows])
    dataset = open_dataset(tmp_path)
    assert [int(dataset[i]["n"]) for i in range(60) if i not in (7, 41)] == [i for i in range(60) if i not in (7, 41)]
    for lost in (7, 41):
        with pytest.raises(RuntimeError, match=f"sample {lost} cannot be read"):
            dataset[lost]
    [unit] = source.units
    block = source.decode(unit, source.read(unit))
    assert [block.index(i) for i in range(block.samples)] == [i for i in range(60) if i not in (7, 41)]


def test_a_few_commas_leave_the_numbers_beside_them(tmp_path: Path) -> None:
    """Our promise: one cell that is no number does not make texts of all others; the odd ones are told at their places, once."""
    rows = [[round(DRAW.uniform(1, 99), 2), f"{'n' * 400} {i}", i % 2] for i in range(14_000)]
    odd = range(12_000, 12_007)
    for i in odd:
        rows[i][0] = str(rows[i][0]).replace(".", ",") if i % 2 else "see note"
    source = opened(tmp_path, data=[["amount", "note", "label"], *rows])
    blocks = [source.decode(unit, source.read(unit)) for unit in source.units]
    assert len(blocks) > 1
    assert sum(not isinstance(v, str) for b in blocks for v in b.columns["amount"].values) == 14_000 - len(odd)
    [told] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "dtype-drift"]
    assert told.count == len(odd)
    assert {place["sample"] for place in told.where} <= {*odd}


def test_a_column_that_only_some_files_have_is_no_reason_to_fail(tmp_path: Path) -> None:
    """Seen: rows of unequal length in a file each, and a column of texts that the first file lacks, called as a label may be."""
    short, long = ([[f"r{i}", *(DRAW.choice(["x", "y"]) for _ in range(n))] for i in range(30 * n)] for n in (1, 2))
    source = opened(tmp_path, train_a=[["name", "V2"], *short], train_b=[["name", "V2", "V3"], *long])
    assert source.samples == 90
    assert [field.name for field in source.fields] == ["name", "V2", "V3"]


@pytest.mark.parametrize("blank", ["", "NA", "null", "Null"])
def test_a_quoted_blank_among_numbers_is_a_missing_value(tmp_path: Path, blank: str) -> None:
    """Our promise: a writer that quotes every cell makes no texts of numbers; among texts, a quoted cell is what it says."""
    rows = [
        [f"{x:.3f}", blank if i % 50 == 7 else f" {y} ", DRAW.choice(["NA", "ZA", "DE", ""]), label]
        for i, (x, y, _, label) in enumerate(measured(300, 3))
    ]
    with (tmp_path / "data.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["x", "y", "country", "label"], *rows])
    source = opened(tmp_path)
    [block] = [source.decode(unit, source.read(unit)) for unit in source.units]
    assert {f.name: f.dtype for f in source.fields} == {
        "x": "float64",
        "y": "float64",
        "country": "str",
        "label": "str",
    }
    assert block.columns["y"].nulls is not None
    assert block.columns["y"].nulls.sum() == 6
    assert block.columns["country"].values == [row[2] for row in rows]
    assert "numbers-as-text" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_a_column_blank_in_the_first_file_has_no_type_there(tmp_path: Path) -> None:
    """Our promise: quoted blanks alone say nothing of what a column holds."""
    for name, y in (("part_1", ""), ("part_2", "0.5")):
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["x", "y"], *([i, y] for i in range(30))])
    assert {f.name: f.kind for f in opened(tmp_path).fields}["y"] == "number"
    assert "dtype-drift" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_the_odd_texts_of_a_column_of_numbers_are_shown(tmp_path: Path) -> None:
    """Seen: "except for 100 texts such as ''", where all of them were in a file of its own."""
    parts = {s: [["era", "x", "label"], *([i % 9, *row] for i, row in enumerate(measured(n, 1)))] for s, n in (("train", 300), ("test", 120))}  # fmt: skip
    for row in parts["test"][1:]:
        row[0] = "X"
    opened(tmp_path, **{**parts, "train_b": parts["train"]})
    told = [f.message for f in scan(tmp_path, tmp_path).findings if f.code == "dtype-drift"]
    assert told and not [message for message in told if "''" in message]


def test_series_of_unequal_length_lack_no_columns(tmp_path: Path) -> None:
    """Seen: a row for each series, filled up to its own length; the continuations to predict are shorter in another file."""
    for split, name, longest in (("train", "hourly", 40), ("train", "weekly", 60), ("test", "hourly", 12)):
        lengths = [longest if split == "test" else DRAW.randrange(9, longest) for _ in range(50)]
        rows = [[f"{name}{i}", *(round(DRAW.gauss(9, 1), 2) for _ in range(n)), *[""] * (longest - n)] for i, n in enumerate(lengths)]  # fmt: skip
        (tmp_path / split).mkdir(exist_ok=True)
        with (tmp_path / split / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerows([[f"V{i + 1}" for i in range(longest + 1)], *rows])
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert source.splits == {"train": 100, "test": 50}
    assert problems(source) == []
    assert not [f.code for f in scan(tmp_path, tmp_path).findings if f.severity == "error"]


def test_a_last_numbered_column_that_a_file_lacks_is_told(tmp_path: Path) -> None:
    """Our promise: only rows of unequal length explain it."""
    header = [f"V{i}" for i in range(9)] + ["label"]
    rows = {s: [header, *measured(n, 9)] for s, n in SPLITS.items()}
    rows["test"] = [[*row[:8], row[9]] for row in rows["test"]]
    assert problems(opened(tmp_path, **rows)) == [("missing-key", "test.csv")]

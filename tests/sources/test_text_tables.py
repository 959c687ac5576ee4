"""Tables in text files as archives keep them: codes among numbers, words above the header, a file for each thing, and tables beside
documents."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.sources.delimited import delimiter_of
from tests.sources.tables import WORDS, opened, put, said

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))


def test_codes_among_numbers_between_blanks_are_cells(tmp_path: Path) -> None:
    """Seen: proteins and credits of the UCI repository, read as one document that passed every check."""
    rows = [f"{RNG.choice(['A11', 'A12'])}  {RNG.integers(6, 48)}   {RNG.choice(['A40', 'A43', 'A49'])} {i % 2 + 1}" for i in range(90)]  # fmt: skip
    (tmp_path / "credit.data").write_text("\n".join(rows) + "\n")
    (tmp_path / "credit.doc").write_text("Description of the data.\n\n1. Title: credits\n")
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("delimited", 90, "f3")
    assert {str(p.where["file"]) for p in source.problems} == {"credit.doc"}


@pytest.mark.parametrize(
    "line",
    ["this is the sentence number {i} of many", "on day {i} the {word} runs near the old house", "{word} {i}"],
    ids=["counted sentences", "sentences of one form", "two words"],
)
def test_sentences_of_one_form_are_no_table(line: str) -> None:
    text = "".join(line.format(i=i, word=WORDS[i % 9]) + "\n" for i in range(60))
    assert delimiter_of(text.encode(), whole=True) is None


def test_words_above_the_header_and_units_below_it(tmp_path: Path) -> None:
    """Seen: a file for each weather station, with its place above the names of the columns."""
    for town in ("Lerwick", "Oxford"):
        rows = [f"   {1990 + i // 12}  {i % 12 + 1:2}  {RNG.normal(9, 5):6.1f} {RNG.uniform(0, 99):7.1f}" for i in range(200)]  # fmt: skip
        above = f"{town}\nLocation: 450900E 207200N, 63 metres amsl\nMissing data are marked by ---.\n"
        header = "   yyyy  mm   tmax    rain\n              degC      mm\n"
        (tmp_path / f"{town.lower()}data.txt").write_text(above + header + "\n".join(rows) + "\n")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("delimited", 400)
    assert [f.name for f in source.fields] == ["yyyy", "mm", "tmax", "rain"]
    assert {f.kind for f in source.fields} == {"number"}
    assert source.roles is not None and source.roles.group is not None


def test_a_file_for_each_share_is_a_group_whatever_folder_it_lies_in(tmp_path: Path) -> None:
    """Our promise: tables of the same header are one table; folders that hold two kinds of things are no classes of their rows."""
    for i, name in enumerate(("aapl", "ibm", "ko", "spy", "qqq")):
        rows = [[f"2016-01-{day + 1:02}", f"{RNG.normal(50 + i, 1):.2f}", RNG.integers(10**5)] for day in range(25)]
        put(tmp_path / ("Stocks", "ETFs")[i > 2] / f"{name}.us.txt", ["Date", "Close", "Volume"], rows)
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("delimited", 125, None)
    assert source.roles is not None and source.roles.group is not None and source.roles.group.field == "file name"


@pytest.mark.parametrize("suffix", ["txt", "csv"])
def test_a_table_that_names_records_says_what_became_of_them(tmp_path: Path, suffix: str) -> None:
    """Seen: patients with a file each, of which a table beside the folders says who died."""
    for part in "ab":
        ids = RNG.choice(10**6, 30, replace=False) + 10**6 * (1 + (part == "b"))
        for one in ids:
            rows = [[f"00:{minute:02}", "HR", f"{RNG.normal(80, 9):.1f}"] for minute in range(9)]
            put(tmp_path / f"set-{part}" / f"{one}.txt", ["Time", "Parameter", "Value"], rows)
        died = [[one, RNG.integers(1, 30), int(RNG.random() < 0.4)] for one in ids]
        put(tmp_path / f"Outcomes-{part}.{suffix}", ["RecordID", "SOFA", "In-hospital_death"], died)
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("text", 60, "In-hospital_death")


def test_essays_with_rows_of_their_parts(tmp_path: Path) -> None:
    """Seen: a table with several rows for each document of the training folder was refused as another kind of data."""
    essays = {f"{i:06X}": ("train", "test")[i > 40] for i in range(46)}
    for name, split in essays.items():
        (tmp_path / split).mkdir(exist_ok=True)
        (tmp_path / split / f"{name}.txt").write_text(". ".join(said(RNG) for _ in range(5)))
    rows = [[name, k * 30, ("Lead", "Claim", "Position")[k]] for name in list(essays)[:41] for k in range(3)]
    put(tmp_path / "train.csv", ["id", "discourse_start", "discourse_type"], rows)
    put(tmp_path / "sample_submission.csv", ["id", "class"], [[name, ""] for name in list(essays)[41:]])
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("text", 46)
    assert {"discourse_start", "discourse_type"} <= {f.name for f in source.fields}


def test_documents_in_class_folders_stay_documents(tmp_path: Path) -> None:
    """Our promise: a small table that names none of the documents changes nothing."""
    for i in range(24):
        (tmp_path / ("neg", "pos")[i % 2]).mkdir(exist_ok=True)
        (tmp_path / ("neg", "pos")[i % 2] / f"{i}_7.txt").write_text(said(RNG) + "\n" + said(RNG))
    put(tmp_path / "urls.txt", ["page", "views"], [[f"example.org/{i}", i] for i in range(12)])
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("text", 24, "label")


def test_points_with_a_header_in_folders_of_classes_stay_files(tmp_path: Path) -> None:
    """Our promise: numbered files in folders of classes may be a sample each, and their class is kept."""
    for i in range(12):
        name = ("chair", "table")[i % 2]
        rows = [[f"{x:.3f}" for x in RNG.normal(size=3)] for _ in range(30)]
        put(tmp_path / name / f"{name}_{i:04}.txt", ["x", "y", "z"], rows)
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("text", 12, "label")

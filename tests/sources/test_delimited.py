"""Tables in text files: what is one, and how its rows are read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.delimited import COLUMN, delimiter_of
from dataloader_expert.sources.groups_in_names import WHOLE, part_of_name
from dataloader_expert.sources.registry import open_source

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def column(source: Source, name: str) -> list[object]:
    values: list[object] = []
    for unit in source.units:
        values += list(source.decode(unit, source.read(unit)).columns[name].values)
    return values


@given(
    st.sampled_from(["\t", ";", "|", ","]),
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=4, max_size=40),
)
def test_numbers_between_delimiters_are_a_table(mark: str, rows: list[list[float]]) -> None:
    text = "".join(mark.join(f"{value:.4g}" for value in row) + "\n" for row in rows)
    assert delimiter_of(text.encode(), whole=True) == mark


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=4, max_size=40), st.integers(1, 9))
def test_numbers_between_blanks_are_a_table(rows: list[list[float]], blanks: int) -> None:
    text = "".join(" " * (blanks - 1) + (" " * blanks).join(f"{value:.4g}" for value in row) + "\n" for row in rows)
    assert delimiter_of(text.encode(), whole=True) == " "


@pytest.mark.parametrize(
    "text",
    [
        "The night was cold, long, and dark.\nHe came, saw, and left.\nNobody, of course, knew it.\n",
        "1 2 3\n4 5\n6 7 8 9\n1 2\n",
        "EU\tB-ORG\nrejects\tO\n\nPeter\tB-PER\n",
        "word\nother\nthird\nlast\n",
    ],
)
def test_what_is_no_table(text: str) -> None:
    assert delimiter_of(text.encode(), whole=True) is None


def test_a_column_alone() -> None:
    assert delimiter_of(b"5\n3\n1\n4\n", whole=True) == COLUMN


def test_labels_in_a_file_of_their_own(tmp_path: Path) -> None:
    """As the UCI repository publishes recordings of phones: features, labels and persons of each split in a file each."""
    for split, n in (("train", 90), ("test", 40)):
        (tmp_path / split).mkdir()
        rows = RNG.normal(size=(n, 5))
        np.savetxt(tmp_path / split / f"X_{split}.txt", rows, fmt="%16.7e")
        labels = RNG.integers(1, 7, n)
        np.savetxt(tmp_path / split / f"y_{split}.txt", labels, fmt="%d")
        np.savetxt(tmp_path / split / f"subject_{split}.txt", RNG.integers(1, 30, n), fmt="%d")
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("delimited", 130, "y")
    assert {unit.split for unit in source.units} == {"train", "test"}
    last = next(unit for unit in source.units if unit.split == split)
    block = source.decode(last, source.read(last))
    assert block.columns["y"].values.tolist() == labels.tolist()
    assert np.allclose(block.columns["f0"].values, rows[:, 0], rtol=1e-6)
    assert source.problems == []


def _phones(folder: Path, lost: int = 0) -> dict[str, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Features, labels, persons and signals of each split, and the names of features and activities beside the splits."""
    signals = {}
    for split, n in (("train", 90), ("test", 40)):
        (folder / split / "Inertial Signals").mkdir(parents=True)
        np.savetxt(folder / split / f"X_{split}.txt", RNG.normal(size=(n, 5)), fmt="%16.7e")
        np.savetxt(folder / split / f"y_{split}.txt", RNG.integers(1, 7, n), fmt="%d")
        np.savetxt(folder / split / f"subject_{split}.txt", RNG.integers(1, 30, n), fmt="%d")
        signals[split] = RNG.normal(size=(n, 16))
        for axis in "xyz":
            rows = signals[split] if axis == "y" else RNG.normal(size=(n, 16))
            np.savetxt(
                folder / split / "Inertial Signals" / f"total_acc_{axis}_{split}.txt",
                rows[: len(rows) - lost * (split == "test" and axis == "x")],
            )
    (folder / "features.txt").write_text("".join(f"{i} tBodyAcc-mean()-{i}\n" for i in range(1, 6)))
    (folder / "activity_labels.txt").write_text("".join(f"{i} ACTIVITY_{i}\n" for i in range(1, 7)))
    (folder / "features_info.txt").write_text("The signals were sampled at 50 Hz.\nThey were filtered, too.\n")
    return signals


def test_matrices_of_the_same_rows_are_fields_and_names_are_notes(tmp_path: Path) -> None:
    signals = _phones(tmp_path)
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("delimited", 130, "y")
    assert {f.name: f.shape for f in source.fields}["total_acc_y"] == (16,)
    assert np.allclose(np.stack(column(source, "total_acc_y")), np.concatenate([signals["test"], signals["train"]]))  # type: ignore[arg-type]  # arrays
    assert {(p.code, getattr(p, "what", "")) for p in source.problems} == {("foreign-file", "note")}
    assert len(source.problems) == 3


def test_a_matrix_that_lost_rows_in_one_split_is_told(tmp_path: Path) -> None:
    _phones(tmp_path, lost=3)
    source = opened(tmp_path)
    assert source.samples == 130
    [told] = [p for p in source.problems if p.code == "length-mismatch"]
    assert "37 values" in told.message and str(told.where["file"]).endswith("total_acc_x_test.txt")


def test_a_row_of_a_matrix_that_lost_values_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    _phones(tmp_path)
    path = tmp_path / "train" / "Inertial Signals" / "total_acc_z_train.txt"
    lines = path.read_text().splitlines()
    lines[7] = " ".join(lines[7].split()[:9])
    path.write_text("\n".join(lines) + "\n")
    source = opened(tmp_path)
    [told] = [p for p in source.problems if p.code == "parse-error"]
    assert (told.where["sample"], told.message) == (47, "a row of 9 values, and others have 16")


def test_the_points_of_several_clouds_with_a_class_each_are_no_samples(tmp_path: Path) -> None:
    for i in range(3):
        np.savetxt(tmp_path / f"cloud{i}.txt", RNG.normal(size=(64, 3)))
        np.savetxt(tmp_path / f"cloud{i}_labels.txt", RNG.integers(0, 4, 64), fmt="%d")
    assert opened(tmp_path).format == "text"


def test_labels_that_lost_a_line_are_told(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "X_train.txt", RNG.normal(size=(50, 4)))
    np.savetxt(tmp_path / "y_train.txt", RNG.integers(0, 3, 49), fmt="%d")
    source = opened(tmp_path)
    assert [p.code for p in source.problems] == ["length-mismatch"]
    assert "49 values" in source.problems[0].message and "50 rows" in source.problems[0].message


def test_remarks_headers_and_damaged_rows(tmp_path: Path) -> None:
    lines = [f"{i} {RNG.random():.3f}   {RNG.random():.3f}" for i in range(100)]
    lines[41] = "41 0.5"
    (tmp_path / "log.txt").write_text("# of a sensor\ntime  a b\n" + "\n".join(lines) + "\n")
    source = opened(tmp_path)
    assert [f.name for f in source.fields] == ["time", "a", "b"]
    problems = [p for unit in source.units for p in source.decode(unit, source.read(unit)).problems]
    assert [(p.code, p.where["sample"]) for p in problems] == [("parse-error", 41)]
    assert column(source, "time") == [i for i in range(100) if i != 41]


def test_pairs_of_sentences_have_no_header(tmp_path: Path) -> None:
    (tmp_path / "fra.txt").write_text("".join(f"It is {i} past.\tIl est {i} passees.\n" for i in range(60)))
    assert opened(tmp_path).samples == 60


def test_a_table_each_is_a_sample_each(tmp_path: Path) -> None:
    """Point clouds and recordings are not joined to one table."""
    for name in ("chair", "desk"):
        (tmp_path / name).mkdir()
        for i in range(4):
            np.savetxt(tmp_path / name / f"{i}.txt", RNG.normal(size=(20, 3)), delimiter=",")
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("text", 8, "label")


def test_sentences_in_the_only_file(tmp_path: Path) -> None:
    words = [["EU O", "rejects O", "it O"], ["Peter B-PER", "Blackburn I-PER", "came O"]] * 20
    (tmp_path / "train.txt").write_text("\n\n".join("\n".join(sentence) for sentence in words) + "\n")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("lines", 40)


def test_a_test_split_without_its_labels(tmp_path: Path) -> None:
    """The label is that of training; its file may begin with its name, and the names of classes are no table."""
    for split, n in (("train", 40), ("test", 12)):
        np.savetxt(tmp_path / f"X_{split}.txt", RNG.normal(size=(n, 5)))
    (tmp_path / "y_train.txt").write_text("label\n" + "".join(f"{v}\n" for v in RNG.integers(0, 3, 40)))
    (tmp_path / "classes.txt").write_text("cat\ndog\nbird\n")
    source = opened(tmp_path)
    assert (source.samples, source.label, source.withheld) == (52, "y", frozenset({"y"}))
    assert source.problems == []


def _engines(path: Path, engines: int) -> None:
    """The cycles of engines one after another, and two sensors."""
    rows = [(e, c, *RNG.normal(size=2)) for e in range(1, engines + 1) for c in range(1, 20 + e)]
    np.savetxt(path, np.array(rows), fmt="%d %d %.4f %.4f")


def test_tables_with_a_split_in_their_names_are_one_and_what_stands_beside_them_is_told(tmp_path: Path) -> None:
    for number in ("FD001", "FD002"):
        _engines(tmp_path / f"train_{number}.txt", 8)
        _engines(tmp_path / f"test_{number}.txt", 5)
        np.savetxt(tmp_path / f"RUL_{number}.txt", RNG.integers(5, 90, 5), fmt="%d")
    source = opened(tmp_path)
    train, test = (2 * sum(19 + e for e in range(1, n + 1)) for n in (8, 5))
    assert (source.format, source.splits) == ("delimited", {"test": test, "train": train})
    assert source.label is None, "the number of a series is no class"
    assert source.roles is not None and source.roles.group is None, "numbers begin anew in each file"
    assert sorted(str(p.where["file"]) for p in source.problems) == ["RUL_FD001.txt", "RUL_FD002.txt"]


def test_a_second_test_file_leaves_the_tables_tables(tmp_path: Path) -> None:
    for name, n in (("KDDTrain+", 60), ("KDDTest+", 30), ("KDDTest-21", 20)):
        rows = "".join(f"{i},tcp,{i / 7:.3f},{('normal', 'attack')[i % 2]}\n" for i in range(n))
        (tmp_path / f"{name}.txt").write_text(rows)
    source = opened(tmp_path)
    assert (source.format, source.splits, source.label) == ("delimited", {"test": 50, "train": 60}, "f3")


def test_tables_that_differ_by_a_number_are_one_with_a_group_each(tmp_path: Path) -> None:
    for subject in (101, 102, 103):
        np.savetxt(tmp_path / f"subject{subject}.dat", RNG.normal(size=(40, 4)), fmt="%.4f")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("delimited", 120)
    assert source.roles is not None and source.roles.group is not None
    assert (source.roles.group.field, source.roles.name_parts) == ("file name", WHOLE)
    assert part_of_name("subject101.dat", WHOLE) == "subject101"


def test_shards_by_their_numbers_are_no_groups(tmp_path: Path) -> None:
    for i in range(3):
        np.savetxt(tmp_path / f"part-{i:05d}.txt", RNG.normal(size=(40, 4)), fmt="%.4f")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("delimited", 120)
    assert source.roles is not None and source.roles.group is None


def test_tables_that_are_called_by_numbers_alone_stay_a_sample_each(tmp_path: Path) -> None:
    for i in range(5):
        np.savetxt(tmp_path / f"{i:03d}.txt", RNG.normal(size=(40, 3)), fmt="%.4f")
    assert (opened(tmp_path).format, opened(tmp_path).samples) == ("text", 5)


def test_series_in_the_only_file_are_groups_and_sorted_classes_are_none(tmp_path: Path) -> None:
    (tmp_path / "series").mkdir()
    _engines(tmp_path / "series" / "log.txt", 8)
    source = opened(tmp_path / "series")
    assert source.roles is not None and source.roles.group is not None and source.roles.group.field == "f0"
    (tmp_path / "classes").mkdir()
    rows = np.column_stack([np.repeat([1, 2, 3, 4], 30), RNG.normal(size=(120, 2))])
    np.savetxt(tmp_path / "classes" / "wine.txt", rows, fmt="%d %.4f %.4f")
    source = opened(tmp_path / "classes")
    assert source.label == "f0" and source.roles is not None and source.roles.group is None


def test_values_between_two_colons_and_the_tables_of_users_and_films_beside_ratings(tmp_path: Path) -> None:
    ratings = [(user, film, 1 + film % 5) for user in range(1, 41) for film in range(user % 7, 40, 7)]
    (tmp_path / "ratings.dat").write_text("".join(f"{u}::{f}::{stars}::{978300000 + f}\n" for u, f, stars in ratings))
    films = "".join(f"{i}::A summer of {i} (19{i})::Drama\n" for i in range(10, 30))
    (tmp_path / "movies.dat").write_text(films)
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("delimited", len(ratings))
    assert column(source, "f1") == [film for _, film, _ in ratings]
    [told] = source.problems
    assert (told.where["file"], getattr(told, "what", "")) == ("movies.dat", "table")


def test_a_remark_beside_a_table_is_a_note_and_a_longer_text_makes_it_a_document(tmp_path: Path) -> None:
    (tmp_path / "deu.txt").write_text("".join(f"It is {i} past.\tEs ist {i} nach.\n" for i in range(60)))
    (tmp_path / "_about.txt").write_text("Sentences of volunteers.\nThe newest are elsewhere.\n")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("delimited", 60)
    assert [p.where["file"] for p in source.problems] == ["_about.txt"]
    (tmp_path / "_about.txt").write_text("A tale of two cities.\n" * 400)
    assert opened(tmp_path).format == "text"


def test_the_largest_of_tables_that_refer_to_one_another_is_read(tmp_path: Path) -> None:
    """Seen: the files of a timetable (GTFS) were six documents."""
    stops = "".join(f"S{i},Stop {i},{52 + i / 100},13.4\n" for i in range(20))
    trips = "".join(f"R{i % 3},T{i:03},0\n" for i in range(40))
    times = "".join(f"T{i // 5:03},{6 + i // 25:02}:{i % 60:02}:00,S{i % 20},{i % 5}\n" for i in range(200))
    (tmp_path / "agency.txt").write_text("agency_id,agency_name\n1,City Transit\n")
    (tmp_path / "stops.txt").write_text(f"stop_id,stop_name,stop_lat,stop_lon\n{stops}")
    (tmp_path / "trips.txt").write_text(f"route_id,trip_id,direction_id\n{trips}")
    (tmp_path / "stop_times.txt").write_text(f"trip_id,arrival_time,stop_id,stop_sequence\n{times}")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("delimited", 200)
    assert {f.name for f in source.fields} == {"trip_id", "arrival_time", "stop_id", "stop_sequence"}
    (tmp_path / "story.txt").write_text("It was a long day, and nobody said a word. " * 400)
    assert opened(tmp_path).format == "text"

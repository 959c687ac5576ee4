"""Files of several kinds in one folder: which of them are the data, and what is left unread."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.sources.tables import WORDS, opened, put, said

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))


def told(path: Path) -> set[str]:
    return {str(problem.where["file"]) for problem in opened(path).problems}


def sentences(n: int) -> str:
    return "\n".join("".join(f"{w}\t{RNG.choice(['O', 'B-PER'])}\n" for w in RNG.choice(WORDS, 7)) for _ in range(n))


def test_spans_of_brat_beside_documents(tmp_path: Path) -> None:
    """Seen: documents with annotations in a file each were refused as several kinds of files."""
    for i in range(30):
        text, spans = said(RNG), []
        for k, word in enumerate(text.split()[:2] if i else ()):
            spans.append(f"T{k + 1}\tDrug {text.index(word)} {text.index(word) + len(word)}\t{word}\n")
        (tmp_path / f"{i:03}.txt").write_text(text)
        (tmp_path / f"{i:03}.ann").write_text("".join(spans) + "R1\tgiven Arg1:T1 Arg2:T2\n" * bool(i))
    (tmp_path / "annotation.conf").write_text("[entities]\nDrug\n")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("text", 30)
    assert [f.name for f in source.fields] == ["text", "spans", "entities"]
    block = source.decode(source.units[1], source.read(source.units[1]))
    (begin, end), text = block.columns["spans"].values[0][0], block.columns["text"].values[0]
    assert text[begin:end] == text.split()[0]
    assert list(block.columns["entities"].values[0]) == ["Drug", "Drug"]
    assert told(tmp_path) == {"annotation.conf"}


def test_tagged_tokens_whatever_their_files_are_called(tmp_path: Path) -> None:
    for name, n in (("wnut17train.conll", 40), ("emerging.dev.conll", 9), ("emerging.test.annotated", 9)):
        (tmp_path / name).write_text(sentences(n))
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("lines", 58)
    assert {unit.split for unit in source.units} == {"train", "dev", "test"}


def test_the_same_data_in_other_formats_are_left_out(tmp_path: Path) -> None:
    for split, n in (("TRAIN", 40), ("TEST", 60)):
        rows = np.column_stack([RNG.integers(1, 4, n), RNG.normal(size=(n, 30))])
        np.savetxt(tmp_path / f"Beats_{split}.txt", rows, fmt="%16.7e")
        (tmp_path / f"Beats_{split}.arff").write_text("@relation beats\n@data\n1,2\n")
        (tmp_path / f"Beats_{split}.ts").write_text("@problemName beats\n@data\n1,2:1\n")
    (tmp_path / "Beats.txt").write_text("The recordings are those of one person.\n")
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("delimited", 100, "f0")
    assert len(told(tmp_path)) == 5


def test_ratings_with_folds_films_and_persons(tmp_path: Path) -> None:
    """Our promise: of a table and its folds, the table is read, and what describes its keys is told."""
    rows = [[RNG.integers(60), RNG.integers(80), RNG.integers(1, 6), 880000000 + i] for i in range(500)]
    put(tmp_path / "u.data", None, rows, "\t")
    for k in range(3):
        put(tmp_path / f"u{k + 1}.base", None, rows[: 100 * k] + rows[100 * k + 100 :], "\t")
        put(tmp_path / f"u{k + 1}.test", None, rows[100 * k : 100 * k + 100], "\t")
    put(tmp_path / "u.user", None, [[i, 20 + i % 50, "MF"[i % 2], "writer"] for i in range(60)], "|")
    (tmp_path / "u.occupation").write_text("student\nwriter\nengineer\n")
    source = opened(tmp_path)
    assert source.samples == 500
    assert len(told(tmp_path)) == 8


def test_recordings_beside_a_table_of_persons(tmp_path: Path) -> None:
    """Our promise: the kind with nearly all bytes is the data, and the few notes beside it are told."""
    for folder in ("Protocol", "Optional"):
        (tmp_path / folder).mkdir()
        for i in range(3):
            np.savetxt(tmp_path / folder / f"subject10{i}.dat", RNG.normal(size=(300, 8)), fmt="%.5f")
    put(tmp_path / "subjects.csv", ["Subject ID", "Sex"], [[100 + i, "MF"[i % 2]] for i in range(3)])
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("delimited", 1800)
    assert told(tmp_path) == {"subjects.csv"}


def test_the_files_that_splits_name_beside_what_they_refer_to(tmp_path: Path) -> None:
    """Seen: judgements of pairs in a table of each split, beside the queries and the passages that they name."""
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"_id": str(i), "text": said(RNG)}) + "\n" for i in range(90)))  # fmt: skip
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps({"_id": str(i), "text": said(RNG)}) + "\n" for i in range(40)))  # fmt: skip
    for split, n in (("train", 60), ("test", 20)):
        rows = [[RNG.integers(40), RNG.integers(90), 1] for _ in range(n)]
        put(tmp_path / "qrels" / f"{split}.tsv", ["query-id", "corpus-id", "score"], rows, "\t")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("tsv", 80)
    assert told(tmp_path) == {"corpus.jsonl", "queries.jsonl"}


def test_a_file_of_split_ids_divides_the_documents(tmp_path: Path) -> None:
    """Seen: lists of ids in one JSON file were taken for the data, and documents that begin with a bracket for JSON."""
    ids = [str(i) for i in RNG.choice(10**6, 50, replace=False)]
    (tmp_path / "news").mkdir()
    for one in ids:
        (tmp_path / "news" / f"{one}.summary").write_text(
            f"[SN]URL[SN]\nexample.org/{one}\n\n[SN]TITLE[SN]\n{said(RNG)}\n"
        )
    (tmp_path / "SPLIT-90-5-5.json").write_text(
        json.dumps({"train": ids[:40], "validation": ids[40:45], "test": ids[45:]})
    )
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("text", 50)
    assert {u.split for u in source.units} == {"train", "validation", "test"}
    assert source.problems == []


@pytest.mark.parametrize("suffix", ["jsonl", "parquet.csv"])
def test_two_kinds_with_many_rows_are_still_asked_about(tmp_path: Path, suffix: str) -> None:
    put(tmp_path / "orders.tsv", ["id", "text"], [[i, said(RNG)] for i in range(50)], "\t")
    text = "".join(json.dumps({"id": i, "said": said(RNG)}) + "\n" for i in range(50))
    (tmp_path / f"reviews.{suffix}").write_text(text if suffix == "jsonl" else text.replace("{", "").replace("}", ""))
    with pytest.raises(RequestError, match="several kinds"):
        opened(tmp_path)


def test_headers_of_recordings_that_are_not_read_are_no_documents(tmp_path: Path) -> None:
    """Our promise: what is said of files in a format that is not read is not taken for the data."""
    for i in range(20):
        (tmp_path / f"A{i:05}.hea").write_text(f"A{i:05} 1 300 9000\nA{i:05}.mat 16+24 1000/mV 16 0 -127 0 0 ECG\n")
        (tmp_path / f"A{i:05}.mat").write_bytes(b"MATLAB 5.0 MAT-file" + RNG.bytes(4000))
    put(tmp_path / "REFERENCE.csv", None, [[f"A{i:05}", "NAO~"[i % 4]] for i in range(20)])
    with pytest.raises(RequestError, match="WFDB"):
        opened(tmp_path)


def episodes(root: Path) -> None:
    """Steps of robots: a table of each episode, and what is said of all of them."""
    for i in range(5):
        steps = {"action": RNG.normal(size=30), "episode": np.full(30, i)}
        (root / "data").mkdir(exist_ok=True)
        pq.write_table(pa.table(steps), root / "data" / f"episode_{i:03}.parquet")
    (root / "meta").mkdir()
    (root / "meta" / "tasks.jsonl").write_text('{"task_index": 0, "task": "pick up the cube"}\n')


def of_video(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\0\0\0\x18ftypmp42" + RNG.bytes(60_000))


def unknowns(path: Path) -> list[Unknown]:
    found: list[Unknown] = []
    open_source(SourceRef(str(path), (str(path),)), found)
    return found


def test_videos_beside_tables_of_numbers_are_told(tmp_path: Path) -> None:
    """Seen: tables beside the videos of the same episodes were refused as several kinds of files."""
    episodes(tmp_path)
    for i in range(5):
        of_video(tmp_path / "videos" / f"episode_{i:03}.mp4")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("parquet", 150)
    assert {unknown.what for unknown in unknowns(tmp_path)} == {"video files", "jsonl files"}


def test_pickles_beside_the_splits_of_a_table_are_told(tmp_path: Path) -> None:
    for split, n in (("train", 40), ("valid", 9), ("test", 9)):
        lines = (json.dumps({"code": said(RNG), "docstring": said(RNG)}) + "\n" for _ in range(n))
        (tmp_path / f"{split}.jsonl").write_text("".join(lines))
    (tmp_path / "licences.pkl").write_bytes(b"\x80\x04\x95" + RNG.bytes(90_000))
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("jsonl", 58)
    [told] = unknowns(tmp_path)
    assert "licences.pkl" in told.why


@pytest.mark.parametrize("n", [40, 2000])
def test_a_small_table_beside_arrays_or_columns_is_told(tmp_path: Path, n: int) -> None:
    """Our promise: an excerpt of a data set is read as the whole is."""
    np.savez(tmp_path / "trips.npz", x=RNG.normal(size=(n, 8)), y=RNG.integers(0, 2, n))
    put(tmp_path / "zones.csv", ["zone", "name"], [[i, WORDS[i % len(WORDS)]] for i in range(40)])
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("npz", n)
    assert [unknown.what for unknown in unknowns(tmp_path)] == ["csv files"]


def _videos_of_a_list(root: Path) -> None:
    put(root / "train.csv", ["video", "label"], [[f"{i}.mp4", i % 2] for i in range(12)])
    for i in range(12):
        of_video(root / "videos" / f"{i}.mp4")


def _labels_of_arrays(root: Path) -> None:
    for i in range(12):
        np.savez(root / f"scan{i}.npz", x=RNG.normal(size=(5, 5)))
    put(root / "labels.csv", ["file", "label"], [[f"scan{i}.npz", i % 2] for i in range(12)])


def _splits_beside_vectors(root: Path) -> None:
    for split, n in (("train", 40), ("test", 20)):
        put(root / f"{split}.csv", ["text", "label"], [[said(RNG), i % 2] for i in range(n)])
    np.savez(root / "vectors.npz", x=RNG.normal(size=(60, 300)))


def _table_beside_an_archive(root: Path) -> None:
    put(root / "labels.csv", ["file", "label"], [[f"{i}.png", i % 2] for i in range(12)])
    (root / "pictures.zip").write_bytes(b"PK\x03\x04" + RNG.bytes(90_000))


@pytest.mark.parametrize(
    "made", [_videos_of_a_list, _labels_of_arrays, _splits_beside_vectors, _table_beside_an_archive]
)
def test_what_may_be_the_data_is_asked_about(tmp_path: Path, made: Callable[[Path], None]) -> None:
    """Our promise: a table that names other files, or has the splits, is never set aside in silence, nor are those files."""
    made(tmp_path)
    with pytest.raises(RequestError, match="several kinds of files"):
        opened(tmp_path)


@pytest.mark.parametrize("format", ["parquet", "npz", "image-folder", "jsonl"])
def test_a_format_of_which_there_is_nothing_names_what_there_is(format: str, tmp_path: Path) -> None:
    """Seen: of a CSV file read as Parquet, that there are no rows in any Parquet file."""
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    with pytest.raises(RequestError, match=f"no {format} data, but 1 csv file; leave format out"):
        open_source(SourceRef(str(tmp_path), (str(tmp_path),), format=format), [])

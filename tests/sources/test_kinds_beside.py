"""Files of several kinds in one folder: which of them are the data, and what is left unread."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.errors import RequestError
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

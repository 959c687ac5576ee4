"""CSV files with differing columns become one table with a row per pair."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.loaders.jasper import CSVMerger, merge_csv_files
from dataloader_expert.loaders.jasper.keywords import KeywordRules
from tests.loaders.jasper.parts import table


def test_rows_of_one_pair_become_one_and_get_ids(tmp_path: Path) -> None:
    """The original's promise: highest relevance, all keywords, longest answer; order by text, ids by appearance."""
    first = table(
        tmp_path / "a.csv",
        [
            {"question": "q2", "source": "s1", "answer": "yes", "keywords": "b, a", "relevance_score": "0.3"},
            {"question": "q1", "source": "s2", "answer": "", "keywords": "", "relevance_score": ""},
        ],
    )
    second = table(
        tmp_path / "b.csv",
        [
            {"Query": " q2 ", "passage": "s1", "response": "yes, very", "tags": '["c", "a"]', "label": "0.7"},
            {"Query": "q1", "passage": "s1", "response": "", "tags": "", "label": "7"},
            {"Query": "", "passage": "s3", "response": "", "tags": "", "label": "1"},
            {"Query": "q3", "passage": "  ", "response": "", "tags": "", "label": "1"},
        ],
    )
    frame = merge_csv_files([first, str(second)], tmp_path / "out" / "merged.csv")
    assert frame.to_dict("records") == [
        row(question="q1", source="s1", relevance_score=1.0),
        row(question="q1", source="s2", relevance_score=1.0, source_id=1, pair_id=1),
        row(
            question="q2",
            source="s1",
            answer="yes, very",
            keywords=["a", "b", "c"],
            relevance_score=0.7,
            question_id=1,
            pair_id=2,
        ),
    ]
    with (tmp_path / "out" / "merged.csv").open(encoding="utf-8", newline="") as file:
        assert json.loads(list(csv.DictReader(file))[2]["keywords"]) == ["a", "b", "c"]


def row(**changes: Any) -> dict[str, Any]:
    plain = {"question": "", "source": "", "answer": "", "keywords": [], "relevance_score": 1.0}
    return {**plain, "question_id": 0, "source_id": 0, "pair_id": 0, **changes}


def test_text_stays_text(tmp_path: Path) -> None:
    """Our promise: a question that reads NA or 1e5 is neither missing nor a number."""
    path = table(tmp_path / "a.csv", [{"question": "NA", "source": "1e5"}, {"question": "nan", "source": "007"}])
    frame = merge_csv_files([path])
    assert frame[["question", "source"]].to_numpy().tolist() == [["NA", "1e5"], ["nan", "007"]]
    assert frame["relevance_score"].tolist() == [1.0, 1.0]
    assert frame["keywords"].tolist() == [[], []]


def test_a_file_of_excel_and_short_rows_are_read(tmp_path: Path) -> None:
    """Our promise: a byte order mark is no part of a name, and missing cells are empty."""
    (tmp_path / "a.csv").write_bytes("\ufeffquestion,source,keywords\nq,s\n".encode())
    assert merge_csv_files([tmp_path / "a.csv"]).to_dict("records") == [row(question="q", source="s")]


CELLS: dict[str, tuple[object, list[str]]] = {
    "commas": (" cat, dog ,,cat", ["cat", "dog"]),
    "json": ('["cat", " dog ", ""]', ["cat", "dog"]),
    "python": ("['cat', 'dog']", ["cat", "dog"]),
    "list": (["cat", None, "dog"], ["cat", "dog"]),
    "suggestions": (
        '[{"term": "cat", "confidence": 0.9, "type": "keyword"}, {"term": "dog", "confidence": 0.1, "type": "keyword"},'
        ' {"term": "elm", "confidence": 0.9, "type": "topic"}, {"confidence": 1}]',
        ["cat"],
    ),
    "topics": (
        '[{"topic_descriptor": "cat", "probability": 0.6}, {"topic_descriptor": "dog", "probability": 0.4}]',
        ["cat"],
    ),
    "one-topic": ('{"topic_descriptor": "cat", "probability": "high"}', ["cat"]),
    "broken-list": ('["cat", dog', ['["cat"', "dog"]),
    "nan": (float("nan"), []),
    "nan-text": ("NaN", []),
    "none": (None, []),
    "blank": ("  ", []),
}


@pytest.mark.parametrize(("cell", "expected"), CELLS.values(), ids=CELLS.keys())
def test_keywords_are_read_however_a_list_is_written(cell: object, expected: list[str]) -> None:
    """The original's promise, and ours of lists as Python prints them."""
    assert KeywordRules(min_confidence=0.5, types=["keyword"], min_probability=0.5).parse(cell) == expected


def test_own_names_of_columns_come_first(tmp_path: Path) -> None:
    """The original's promise: aliases in order of preference, here after the caller's."""
    path = table(tmp_path / "a.csv", [{"question": "no", "Frage": "yes", "context": "s", "source": "t"}])
    assert merge_csv_files([path], column_aliases={"question": ["frage"]})["question"].tolist() == ["yes"]
    assert merge_csv_files([path]).loc[0, ["question", "source"]].tolist() == ["no", "t"]
    with pytest.raises(ValueError, match="column_aliases has title"):
        CSVMerger({"title": ["x"]})


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The original's promise; ours that the file and its columns are named."""
    with pytest.raises(ValueError, match="csv_paths is empty"):
        merge_csv_files([])
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        merge_csv_files([tmp_path / "none.csv"])
    lacking = table(tmp_path / "a.csv", [{"question": "q", "text": "s"}])
    with pytest.raises(ValueError, match=r"Required column.*a\.csv.*question, text.*source: source_text, source"):
        merge_csv_files([lacking])
    for name, content in (("empty", b""), ("latin", "question,source\nä,s\n".encode("latin-1"))):
        (tmp_path / f"{name}.csv").write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name}\.csv could not be read"):
            merge_csv_files([tmp_path / f"{name}.csv"])


def test_an_inspection_shows_the_first_hundred_texts(tmp_path: Path) -> None:
    """The original's promise: counts of all, texts of some, ready for JSON."""
    rows = [{"question": f"q{i:03}", "source": f"s{i % 2}", "tags": ""} for i in range(150)]
    merger = CSVMerger()
    made = merger.create_inspection_metadata(merger.merge_csv_files([table(tmp_path / "a.csv", rows)]), Path("c.json"))
    assert json.loads(json.dumps(made)) == made
    counted = {name: made["metadata"][name] for name in ("n_pairs", "n_questions", "n_sources", "keywords_present")}
    assert counted == {"n_pairs": 150, "n_questions": 150, "n_sources": 2, "keywords_present": False}
    assert made["metadata"]["clustering_source"] == "c.json"
    assert [len(made[kind]) for kind in ("questions", "sources", "pair_samples")] == [100, 2, 0]
    assert made["questions"][99] == {"id": 99, "text": "q099"}

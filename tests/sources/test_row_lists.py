"""Lists of the rows of a JSON document, one for each split."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

ROWS = 60


def opened(folder: Path, document: object, lists: dict[str, list[str]]) -> Source:
    (folder / "data.json").write_text(json.dumps(document))
    for name, lines in lists.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def splits(source: Source) -> list[str]:
    return [str(v) for unit in source.units for v in source.decode(unit, source.read(unit)).columns["split"].values]


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_rows(tmp_path: Path, first: int) -> None:
    """Seen: three lists of row numbers read as texts, and the functions that they divide as no part of the data."""
    rows = [{"target": i % 2, "func": f"int f{i}(void) {{ return {i}; }}"} for i in range(ROWS)]
    of = ["test" if i % 5 == 0 else "valid" if i % 5 == 1 else "train" for i in range(ROWS)]
    lists = {f"{s}.txt": [str(i + first) for i in range(ROWS) if of[i] == s] for s in ("train", "valid", "test")}
    source = opened(tmp_path, rows, lists)
    assert source.format == "json" and source.label == "target" and splits(source) == of
    assert source.roles is not None and source.roles.split is not None and not source.problems


def test_keys_of_rows_and_the_rest_for_training(tmp_path: Path) -> None:
    """Seen: MultiWOZ's lists of dialogues read as two texts."""
    rows = {f"SNG{i:03}.json": {"goal": {"hotel": {}}, "log": [{"text": f"A room for {i}"}]} for i in range(ROWS)}
    lists = {"valListFile.txt": [*rows][:8], "testListFile.txt": [*rows][8:20]}
    assert splits(opened(tmp_path, rows, lists)) == ["val"] * 8 + ["test"] * 12 + ["train"] * 40


@pytest.mark.parametrize(
    "lines", [["3", "4", "5", "6", "7"], ["90", "91", "92", "93", "94"], ["a", "b", "c", "d", "e"]]
)
def test_other_texts_divide_nothing(tmp_path: Path, lines: list[str]) -> None:
    """Our promise: a row in two lists, numbers beyond the rows and words that no row is called by are no lists of rows."""
    rows = [{"target": i % 2, "text": f"row {i} of the document"} for i in range(ROWS)]
    source = opened(tmp_path, rows, {"train.txt": [str(i) for i in range(10)], "test.txt": lines})
    assert source.format == "lines"


def test_numbers_that_may_begin_at_nought_or_one_divide_nothing(tmp_path: Path) -> None:
    """Our promise: no row is put one place off: neither the first nor the last number tells where they begin."""
    rows = [{"target": i % 2, "text": f"row {i} of the document"} for i in range(ROWS)]
    lists = {"val.txt": [*map(str, range(1, 11))], "test.txt": [*map(str, range(11, 21))]}
    assert opened(tmp_path, rows, lists).format == "lines"


def test_ids_that_were_names_of_files(tmp_path: Path) -> None:
    """Seen: the keys of dialogues, SNG001.json, told as files that are lost."""
    rows = {f"SNG{i:03}.json": {"goal": {"hotel": {}}, "log": [{"text": f"A room for {i}"}]} for i in range(ROWS)}
    (tmp_path / "data.json").write_text(json.dumps(rows))
    assert not [u for u in scan(tmp_path, tmp_path).unknowns if u.startswith("files named by")]

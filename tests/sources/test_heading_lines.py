"""First lines that several files share."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.delimited import delimiter_of
from dataloader_expert.sources.registry import open_source


def opened(folder: Path, files: dict[str, list[str]]) -> Source:
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def sentences(split: str, n: int = 20) -> list[str]:
    return [f"The {split} ship number {i} sailed north." for i in range(n)]


@pytest.mark.parametrize(
    ("first", "splits", "samples"),
    [
        ("# Sentences of the harbour, release 3", ("train", "test"), 40),
        ("Sentences of the harbour, release 3", ("train", "dev", "test"), 60),
        ("Sentences of the harbour, release 3", ("train", "test"), 42),
    ],
)
def test_a_first_line_that_all_files_share(tmp_path: Path, first: str, splits: tuple[str, ...], samples: int) -> None:
    """Seen: the heading of a corpus, told as a sample that leaked into every split. Of two files, a mark must say that it is one."""
    source = opened(tmp_path, {f"{split}.txt": [first, *sentences(split)] for split in splits})
    assert source.format == "lines" and sum(unit.samples for unit in source.units) == samples
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert (block.columns["text"].values[0] == first) == (samples == 42)


def test_a_leak_that_stands_first(tmp_path: Path) -> None:
    """Our promise: files that share another line too share samples."""
    files = {f"{split}.txt": ["# one", "two", *sentences(split)] for split in ("train", "dev", "test")}
    assert sum(unit.samples for unit in opened(tmp_path, files).units) == 66


def test_a_row_that_looks_like_names_among_files_without_any(tmp_path: Path) -> None:
    """Seen: the first triple of a knowledge graph's validation split taken for the names of columns that no other file has."""
    rows = [f"/m/0{i % 40:x}\t/people/{'born' if i % 2 else 'spouse'}\t/m/0{i * 7 % 60:x}" for i in range(200)]
    valid = ["/m/013\t/people/lived\t/m/01q", *(f"/m/0{i % 4:x}\t/people/born\t/m/0{i % 5:x}" for i in range(40))]
    source = opened(tmp_path, {"train.txt": rows, "test.txt": rows[50:90], "valid.txt": valid})
    assert sum(unit.samples for unit in source.units) == 281 and len(source.fields) == 3 and not source.problems


def test_users_with_their_items(tmp_path: Path) -> None:
    """Seen: lists of numbers of different length, a user's items in each line, read as four documents."""
    lines = [" ".join(map(str, range(u, u + 3 + u % 5))) for u in range(30)]
    lists = {
        name: ["org_id remap_id", *(f"{i * 17} {i}" for i in range(9))] for name in ("user_list.txt", "item_list.txt")
    }
    source = opened(tmp_path, {"train.txt": lines, "test.txt": lines[::-1]} | lists)
    assert sorted(source.splits) == ["test", "train"]
    block = source.decode(source.units[-1], source.read(source.units[-1]))
    assert block.columns["numbers"].values[1].tolist() == [1, 2, 3, 4]


def test_a_row_of_long_numbers_is_looked_at_once() -> None:
    """Seen: opening never ended for rows of many numbers with several digits."""
    rows = "\n".join(" ".join(str(100 + i * 37 % 900) for i in range(k, k + 30 + k % 3)) for k in range(40))
    assert delimiter_of(rows.encode(), whole=True) is None

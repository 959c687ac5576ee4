"""Whether quotes enclose cells, spaces after delimiters, and columns that only some rows have."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

DRAW = random.Random(7)
WORDS = ["river", "stone", "cloud", "field", "lamp", "winter", "road", "glass"]


def said(n: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=n))


def opened(path: Path, text: str) -> Source:
    path.write_text(text, encoding="utf-8", newline="")
    return open_source(SourceRef(str(path), (str(path),)), [])


def cells(source: Source, name: str) -> list[object]:
    blocks = [source.decode(unit, source.read(unit)) for unit in source.units]
    return [value for block in blocks for value in list(block.columns[name].values)]


@pytest.mark.parametrize("every", [3, 10])
def test_few_cells_that_span_lines_are_one_record_each(tmp_path: Path, every: int) -> None:
    """Our promise: a line break in a cell begins no record, even if each line has as many separators as a record."""
    rows = [f"{DRAW.getrandbits(64):016x},{said(9)}\n" for _ in range(60)]
    for i in range(0, 60, every):
        rows[i] = f'{DRAW.getrandbits(64):016x},"{said(9)}.\n\nSee ""talk"" page, ok"\n'
    source = opened(tmp_path / "test.csv", "id,comment_text\n" + "".join(rows))
    assert source.samples == 60
    assert str(cells(source, "comment_text")[0]).endswith('See "talk" page, ok')


def scored(n: int, quoted: int, more: int) -> str:
    lines = [f"news\t{i:04d}\t{DRAW.random() * 5:.3f}\t{said(6)}\t{said(7)}" for i in range(n)]
    for i in DRAW.sample(range(n), quoted):
        lines[i] = lines[i].replace(f"\t{lines[i].split(chr(9))[3]}", f'\t"{said(6)}', 1)
    for i in DRAW.sample(range(n), more):
        lines[i] += "\thttp://a.org\thttp://b.org"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("more", [0, 25])
def test_a_lone_quote_swallows_no_lines(tmp_path: Path, more: int) -> None:
    """Our promise: without quoting, a quote at the start of a cell is a part of it, whether or not all rows are of one width."""
    source = opened(tmp_path / "train.tsv", scored(200, 9, more))
    assert (source.samples, len(source.fields)) == (200, 5 + 2 * bool(more))
    assert not [p for unit in source.units for p in source.decode(unit, source.read(unit)).problems]
    assert sum(str(text).startswith('"') for text in cells(source, "f3")) == 9


def test_columns_of_some_rows_are_optional_in_all_files(tmp_path: Path) -> None:
    for split, n, more in (("train", 200, 20), ("dev", 40, 2), ("test", 30, 0)):
        (tmp_path / f"{split}.tsv").write_text(scored(n, 0, more))
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert source.splits == {"dev": 40, "test": 30, "train": 200} and not source.problems
    assert source.modality == "text"
    assert sum(value is not None for value in cells(source, "f6")) == 22
    assert not [p for unit in source.units for p in source.decode(unit, source.read(unit)).problems]


def test_a_tab_too_many_is_no_optional_column(tmp_path: Path) -> None:
    """A row whose cells have moved to the right is damaged: its numbers are elsewhere."""
    lines = scored(200, 0, 0).splitlines()
    for i in DRAW.sample(range(200), 10):
        lines[i] = lines[i].replace("\t", "\t\t", 1)
    source = opened(tmp_path / "train.tsv", "\n".join(lines) + "\n")
    assert len(source.fields) == 5
    told = [p for unit in source.units for p in source.decode(unit, source.read(unit)).problems]
    assert {p.code for p in told} == {"parse-error"} and len(told) == 10


@pytest.mark.parametrize("header", ["filename, rust, crack, note\n", "filename,rust,crack,note\n", ""])
def test_spaces_after_delimiters_are_no_part_of_cells(tmp_path: Path, header: str) -> None:
    """Our promise: ``a, b, c`` is read as ``a,b,c`` is, but for what stands in quotes."""
    rows = [f'{i}.jpg, {i % 2}, {DRAW.choice(["yes", "no"])}, "{said(2)}, {said(1)}"\n' for i in range(40)]
    source = opened(tmp_path / "table.csv", header + "".join(rows))
    assert source.samples == 40
    first, second, last = (source.fields[i].name for i in (1, 2, 3))
    assert cells(source, first) == [i % 2 for i in range(40)]
    assert {*cells(source, second)} == {"yes", "no"}
    assert all(", " in str(text) and '"' not in str(text) for text in cells(source, last))


def test_a_space_that_follows_some_delimiters_stays(tmp_path: Path) -> None:
    rows = [f"{i},{' ' * (i % 2)}{said(1)}\n" for i in range(40)]
    source = opened(tmp_path / "table.csv", "id,word\n" + "".join(rows))
    assert sum(str(text).startswith(" ") for text in cells(source, "word")) == 20

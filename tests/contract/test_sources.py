"""What every reader owes, put to each format's tiny data sets."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit
from dataloader_expert.sources.reference import Reference
from dataloader_expert.sources.registry import formats, open_source
from tests.making.tiny import TINY, Made, made_once

every_format = pytest.mark.parametrize("format", sorted(formats()))
every_set = pytest.mark.parametrize("name", TINY)


@pytest.fixture
def made(name: str) -> Iterator[Made]:
    """The tiny data set; what a reference does to the interpreter is undone."""
    here, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    yield made_once(name)
    os.chdir(here)
    sys.path[:] = path
    for module in set(sys.modules) - modules:
        if module.startswith("tiny_"):
            del sys.modules[module]


@pytest.fixture
def source(made: Made) -> Source:
    unknowns: list[Unknown] = []
    ref = SourceRef(made.source, (str(made.root.parent),), made.code, label=made.label)
    opened = open_source(ref, unknowns)
    assert not unknowns
    if isinstance(opened, Reference):  # its fields are known once samples were read
        blocks = [opened.decode(u, opened.read(u)) for u in opened.units[:4]]
        columns = {
            n: Column(np.concatenate([np.stack(b.columns[n].values) for b in blocks])) for n in blocks[0].columns
        }
        opened.describe(Block(blocks[0].unit, columns))
    return opened


def blocks_of(source: Source) -> Iterator[Block]:
    for unit in source.units:
        yield source.decode(unit, source.read(unit))


@every_format
def test_a_format_has_a_tiny_data_set(format: str) -> None:
    """Our promise: a reader that is added comes with data that it is tried on."""
    assert any(name.split(",")[0] == format for name in TINY), f"format {format} has no tiny data set"


@every_set
def test_opening_finds_what_was_put_in(made: Made, source: Source) -> None:
    """Our promise: format, modality, samples, files and splits are exact before a sample is decoded."""
    assert (source.format, source.modality) == (made.format, made.modality)
    assert (source.samples, source.files) == (made.samples, made.files)
    assert source.splits == made.splits
    assert not source.problems
    assert source.sharding
    assert source.bytes == sum(p.stat().st_size for p in files_of(made))


def files_of(made: Made) -> list[Path]:
    if made.code:
        return []
    path = Path(made.source)
    return [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]


@every_set
def test_units_cover_the_samples_once_and_in_order(source: Source) -> None:
    """Our promise: units stand side by side, none overlaps the next, their ids are their places."""
    at = 0
    for i, unit in enumerate(source.units):
        assert (unit.id, unit.start) == (i, at)
        assert unit.samples > 0
        at += unit.samples
    assert at == source.samples


@every_set
def test_classes_are_counted_as_they_were_put_in(made: Made, source: Source) -> None:
    """Our promise: the label is found where name or place announces it, and its values bear their names."""
    counts: Counter[str] = Counter()
    for block in blocks_of(source):
        if source.label is not None:
            values = block.columns[source.label].values
            counts.update(source.class_name(v.tolist() if hasattr(v, "tolist") else v) for v in values)
    assert dict(counts) == made.classes, source.label_how


@every_set
def test_every_unit_reads_and_decodes_to_its_samples(source: Source) -> None:
    """Our promise: a sound data set gives every sample that was counted, and no problem."""
    for unit, block in zip(source.units, blocks_of(source), strict=True):
        assert block.unit == unit
        assert block.samples == unit.samples
        assert {len(c) for c in block.columns.values()} == {unit.samples}
        assert not block.problems


@every_set
def test_blocks_hold_what_the_fields_declare(source: Source) -> None:
    """Our promise: names, dtypes and shapes of decoded values are those that were announced."""
    declared = {f.name: f for f in source.fields}
    for block in blocks_of(source):
        assert set(block.columns) == set(declared)
        for name, column in block.columns.items():
            for value in values_of(column):
                assert fits(value, declared[name]), f"{name}: {value!r} is not {declared[name]}"


@every_set
def test_missing_values_are_marked_apart(made: Made, source: Source) -> None:
    """Our promise: a value that is absent is a null, neither NaN nor zero."""
    nulls: Counter[str] = Counter()
    for block in blocks_of(source):
        for name, column in block.columns.items():
            if column.nulls is not None:
                assert column.nulls.shape == (len(column),)
                nulls[name] += int(column.nulls.sum())
    assert {k: n for k, n in nulls.items() if n} == made.missing


@every_set
def test_reading_twice_gives_the_same(source: Source) -> None:
    """Our promise: reading leaves nothing behind that changes the next reading."""
    for unit in source.units:
        first = source.decode(unit, source.read(unit))
        again = source.decode(unit, source.read(unit))
        assert plain(first) == plain(again)


@every_set
def test_one_split_alone_keeps_the_samples_places(made: Made, source: Source) -> None:
    """Our promise: a split can be asked for; its samples keep their index in the whole."""
    if not made.splits:
        assert source.splits == {}
        return
    whole = [(u.file, u.start) for u in source.units if u.split == "test"]
    source.keep_split("test")
    assert source.samples == made.splits["test"]
    assert [(u.file, u.start) for u in source.units] == whole


def values_of(column: Column) -> Iterator[Any]:
    for i, value in enumerate(column.values):
        if column.nulls is None or not column.nulls[i]:
            yield value


def fits(value: Any, field: Field) -> bool:
    if hasattr(value, "getbands"):
        return field.kind == "image" and like((value.height, value.width, len(value.getbands())), field.shape)
    if isinstance(value, str):
        return field.dtype == "str"
    array = np.asarray(value)
    return like(array.shape, field.shape) and str(array.dtype).split("U")[0].replace("<", "str") == field.dtype


def like(shape: tuple[int, ...], declared: tuple[int | None, ...]) -> bool:
    return len(shape) == len(declared) and all(d in (None, n) for n, d in zip(shape, declared, strict=True))


def plain(block: Block) -> tuple[Unit, dict[str, list[Any]], list[bytes]]:
    """A block as values that compare."""
    columns = {
        name: [v.tobytes() if hasattr(v, "tobytes") else v for v in column.values]
        for name, column in block.columns.items()
    }
    return block.unit, columns, list(block.raw)


def test_a_users_dataset_of_any_length_is_counted_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: what is asked of a source again and again does not walk through its samples, of which no list is made."""
    code = "class Vast:\n    def __len__(self): return 10**15\n    def __getitem__(self, i): return float(i)\n"
    (tmp_path / "tiny_vast.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # opening a reference goes to its project and puts it on the path: both are put back
    monkeypatch.setattr(sys, "path", list(sys.path))
    opened = open_source(SourceRef(f"{tmp_path / 'tiny_vast.py'}:Vast", (str(tmp_path),), True), [])
    assert (opened.samples, opened.splits) == (10**15, {})

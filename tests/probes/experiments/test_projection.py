"""Columns that user code reads and does not need: found in Parquet, Arrow and HDF5 files, with what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from dataloader_expert.probes.data.layout import Layout
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.experiments.column_reads import ColumnWatch, other_than
from dataloader_expert.probes.experiments.projection import Projection, unneeded
from dataloader_expert.probes.profile.stages import Stages
from dataloader_expert.probes.system.environment import Environment
from tests.making import pipelines
from tests.making.asking import Asker
from tests.making.pipelines import ParquetRows, write_tables
from tests.making.shared import CHECKOUT

NEEDED = ["f3", "label"]
ALL = 25


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def reading(tables: Path) -> Iterator[Any]:
    asker = Asker()
    recipe = (Environment(), Layout(), Scan(near=False, most=16), Projection(most_s=10.0), Stages(most_s=0.1))
    asker.tools["diagnose_io"] = replace(asker.tools["diagnose_io"], recipe=lambda request: recipe)

    def report(name: str, **more: Any) -> tuple[Any, list[Any]]:
        args = {"folder": str(tables), **more}
        told: Any = asker.ask("diagnose_io", f"{pipelines.__file__}:{name}", str(CHECKOUT), source_args=args)
        cited = ["columns", "projection"]
        return told, [f for f in told.findings if [e.fact for e in f.evidence] == cited]

    yield report
    asker.close()


@pytest.mark.journey
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ParquetRows", "rows.parquet"),
        ("ParquetRowsKept", "rows.parquet"),
        ("ParquetClosed", "rows.parquet"),
        ("ArrowRows", "rows.arrow"),
        ("Hdf5Rows", "rows.h5"),
    ],
)
def test_columns_that_no_sample_needs_are_told_with_what_they_cost(
    name: str, file: str, reading: Any, tables: Path
) -> None:
    """Our promise: columns read and used are counted, and reading those used is timed against reading all."""
    report, found = reading(name)
    assert len(found) == 1, report.unknowns
    [told] = found
    assert (report.reading.fields_read, report.reading.fields_used) == (ALL, len(NEEDED))
    assert (told.code, told.severity, told.where) == ("read-amplification", "warning", [{"file": str(tables / file)}])
    assert told.evidence[1].how == "timed"
    assert told.evidence[1].value > 1.05
    assert all(column in told.message for column in NEEDED)


@pytest.mark.journey
@pytest.mark.parametrize("name", ["ParquetRows", "ArrowRows", "Hdf5Rows"])
def test_who_reads_only_what_is_used_is_told_nothing(name: str, reading: Any) -> None:
    """Our promise: the twin that passes its columns has as many fields read as used, and no finding."""
    report, told = reading(name, columns=NEEDED)
    assert (report.reading.fields_read, report.reading.fields_used) == (len(NEEDED), len(NEEDED))
    assert told == []


@pytest.mark.journey
def test_rows_in_memory_leave_the_fields_unknown(reading: Any) -> None:
    """Our promise: where no sample reads through these libraries nothing is claimed of columns."""
    report, told = reading("TableInMemory")
    assert report.reading.fields_read is None
    assert told == []


def test_a_watch_leaves_the_libraries_as_they_were(tables: Path) -> None:
    """Our promise: what is put in place of a library's methods is taken away again, and only hides what it is told to."""
    before = pq.ParquetFile.read_row_group
    watch = ColumnWatch(frozenset({"f0"}))
    with watch.watching():
        hidden = ParquetRows(str(tables)).read(0)
    assert pq.ParquetFile.read_row_group is before
    assert "read_all" not in vars(ipc.RecordBatchFileReader)
    whole = ParquetRows(str(tables)).read(0)
    assert set(whole.schema.names) - set(hidden.schema.names) == {"f0"}
    assert [len(read.columns) for read in watch.reads] == [ALL]


@pytest.mark.parametrize("guess", [[], ["b", "d"], ["a", "b", "c", "d", "e"], ["a"]])
def test_columns_are_left_out_in_groups_until_only_those_needed_stay(guess: list[str]) -> None:
    """Our promise: a right guess and a wrong one lead to the same columns."""
    needs = {"b", "d"}
    dropped, left = unneeded("abcde", guess, lambda without: not without & needs, lambda: False)
    assert (set(dropped), left) == ({"a", "c", "e"}, [])


def test_what_was_not_tried_in_time_is_kept() -> None:
    """Our promise: when the time is over columns that were not tried count as needed, and are said to be untried."""
    calls: list[frozenset[str]] = []

    def same(without: frozenset[str]) -> bool:
        calls.append(without)
        return False

    assert unneeded("abcd", [], same, lambda: len(calls) >= 4) == (frozenset(), ["c", "d"])


@pytest.mark.parametrize(
    "value",
    [np.float32(2), np.array([255, 0], np.uint8), np.array([np.nan, 1.0]), np.array([True]), np.int64(0), b"text"],
)
def test_other_values_differ_in_every_place_and_keep_their_kind(value: Any) -> None:
    """Our promise: a sample that used these numbers changes, whatever they are."""
    other = other_than(value)
    assert type(other) is type(value)
    assert not np.any(np.asarray(other) == np.asarray(value))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_other_values_are_seen_in_a_sample_that_is_standardised(dtype: str) -> None:
    """Seen: "read only /counts" of images whose mean is subtracted, as other values were these plus one."""
    value = (40 + 30 * np.random.default_rng(3).random((8, 8))).astype(dtype)

    def standardised(x: Any) -> Any:
        x = x.astype("float64")
        return (x - x.mean()) / x.std()

    def ranged(x: Any) -> Any:
        x = x.astype("float64")
        return (x - x.min()) / (x.max() - x.min())

    for scaled in (standardised, ranged):
        assert not np.allclose(scaled(other_than(value)), scaled(value), atol=0.01)

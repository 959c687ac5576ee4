"""Data of which no file can be read: a check of quality fails and names each file; other tools say that there is no data."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.errors import RequestError
from tests.making.asking import Asker


def parquet(path: Path) -> None:
    pq.write_table(pa.table({"x": list(range(1000))}), path)


def arrow(path: Path) -> None:
    table = pa.table({"x": list(range(1000))})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)


def npy(path: Path) -> None:
    np.save(path, np.arange(10_000.0))


def npz(path: Path) -> None:
    np.savez(path, x=np.arange(10_000.0), y=np.arange(10_000))


def lines(path: Path) -> None:
    rows = (json.dumps({"a": i, "t": f"text {i * i}"}).encode() for i in range(2000))
    path.write_bytes(gzip.compress(b"\n".join(rows)))


MADE: dict[str, Callable[[Path], None]] = {
    "a.parquet": parquet, "a.arrow": arrow, "a.npy": npy, "a.npz": npz, "a.jsonl.gz": lines,
}  # fmt: skip


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_files_that_all_are_cut_fail_the_check_by_name(
    name: str, several: bool, tmp_path: Path, quickly: Asker
) -> None:
    """Our promise: a CI job that gates data gets a verdict, not a refusal, where all its files are damaged."""
    folder = tmp_path / "data"
    folder.mkdir()
    names = [name, f"b{name[1:]}"] if several else [name]
    for each in names:
        MADE[name](folder / each)
        whole = (folder / each).read_bytes()
        (folder / each).write_bytes(whole[: len(whole) // 3])
    source = str(folder if several else folder / name)
    report = quickly.ask("check_quality", source, str(tmp_path))
    told = [f for f in report.findings if f.severity == "error"]
    assert {str(place.get("file")) for f in told for place in f.where} == set(names)
    assert report.passed is False and report.checklist.no_corrupted_files == "fail"  # type: ignore[attr-defined]  # of this tool
    assert report.checklist.no_nan_or_inf == "unknown"  # type: ignore[attr-defined]  # of this tool
    with pytest.raises(RequestError, match="format-unknown"):
        quickly.ask("characterize_dataset", source, str(tmp_path))

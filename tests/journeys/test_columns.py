"""``columns``: a model that uses few fields of a source has batches, memory and code of these alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.loaders.opening import open_dataset
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.making.asking import Asker

N = 200


def table() -> dict[str, Any]:
    rng = np.random.default_rng(11)
    return {
        "age": rng.integers(18, 90, N),
        "income": rng.normal(3e4, 9e3, N),
        "notes": [rng.bytes(300).hex() for _ in range(N)],
        "label": [("yes", "no")[i % 3 == 0] for i in range(N)],
    }


def saved(format: str, folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    held, path = pa.table(table()), folder / f"t.{format}"
    if format == "parquet":
        pq.write_table(held, path, row_group_size=64)
    elif format == "arrow":
        with pa.ipc.new_file(str(path), held.schema) as out:
            out.write_table(held, max_chunksize=64)
    elif format == "csv":
        import pyarrow.csv as pc

        pc.write_csv(held, str(path))
    elif format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in held.to_pylist()), encoding="utf-8")
    else:
        named: dict[str, Any] = {name: np.array(values) for name, values in table().items()}
        np.savez(path, **named)
    return path


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv", "jsonl", "npz"])
def test_batches_memory_and_code_hold_the_columns_alone(format: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: the same values as without columns, and nothing of the others."""
    path = saved(format, tmp_path)
    report: Any = quickly.ask(
        "recommend_batch_spec", str(path), str(tmp_path), columns=["income", "label"], label="label", budget_s=20
    )
    assert {f.name for f in report.fields} == {"income", "label"}
    assert "notes" not in report.code
    exec(compile(report.code, "<code>", "exec"), {"__name__": "__main__"})  # our own words, as a user pastes them
    few, all_ = (
        open_dataset(str(path), columns=["income", "label"], label="label"),
        open_dataset(str(path), label="label"),
    )
    assert [set(few[i]) for i in (0, N - 1)] == [{"income", "label"}] * 2
    assert all(few[i][k] == all_[i][k] for i in range(0, N, 7) for k in ("income", "label"))


def test_columns_that_are_not_named_are_not_read_of_parquet(tmp_path: Path) -> None:
    """Our promise: only the bytes of the columns asked for are read."""
    path = saved("parquet", tmp_path)

    def read(columns: tuple[str, ...] | None) -> int:
        source = open_source(SourceRef(str(path), ("/",), columns=columns), [])
        return sum(len(data) for unit in source.units for _, data in source.read(unit))

    assert 20 * read(("age",)) < read(None)


def test_a_column_that_is_not_there_is_refused_with_the_nearest(tmp_path: Path, quickly: Asker) -> None:
    path = saved("parquet", tmp_path)
    with pytest.raises(RequestError, match="did you mean income"):
        quickly.ask("recommend_batch_spec", str(path), str(tmp_path), columns=["incomes"])
    with pytest.raises(RequestError, match="columns is empty"):
        quickly.ask("recommend_batch_spec", str(path), str(tmp_path), columns=[])

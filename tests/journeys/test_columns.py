"""Only the fields that a model uses: the batch, its code and what is read of the files follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.recommend_batch_spec import Result
from tests.making.asking import Asker
from tests.making.scripts import ran
from tests.making.tiny import TINY, Made

FORMATS = (
    "parquet, a folder of files",
    "parquet, hive partitions",
    "csv",
    "jsonl",
    "arrow, file",
    "npz, shards",
    "webdataset",
)


def opened(made: Made, columns: tuple[str, ...] | None) -> Any:
    return open_source(SourceRef(made.source, (str(made.root),), columns=columns), [])


def told(values: Any) -> list[str]:
    return [repr(np.asarray(v) if hasattr(v, "getbands") else v) for v in values]


@pytest.mark.parametrize("name", FORMATS)
def test_values_are_those_of_the_whole(name: str, tmp_path: Path) -> None:
    """Our promise: every sample, of the fields named alone, as they are without the argument."""
    made = TINY[name](tmp_path)
    whole = opened(made, None)
    fields = tuple(f.name for f in whole.fields)
    for wanted in ((fields[0],), (fields[-1], fields[0])):
        some = opened(made, wanted)
        assert [f.name for f in some.fields] == [f for f in fields if f in wanted]
        assert (some.samples, some.splits) == (whole.samples, whole.splits)
        for a, b in zip(whole.units, some.units, strict=True):
            there, here = whole.decode(a, whole.read(a)), some.decode(b, some.read(b))
            assert set(here.columns) == set(wanted) & set(there.columns)
            for field, column in here.columns.items():
                assert told(column.values) == told(there.columns[field].values)


def test_of_parquet_only_these_columns_are_read(tmp_path: Path) -> None:
    """Our promise: the other columns' bytes stay on the disk."""
    made = TINY["parquet, one file"](tmp_path)
    whole, some = (
        sum(len(data) for unit in source.units for _, data in source.read(unit))
        for source in (opened(made, None), opened(made, ("age",)))
    )
    assert 0 < some < whole / 2


@pytest.mark.parametrize(
    ("columns", "says"),
    [(("agee",), "did you mean age?"), ((), "columns is empty"), (("age", "zzz"), "zzz is not there")],
)
def test_what_is_not_there_is_refused(columns: tuple[str, ...], says: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="columns") as e:
        opened(TINY["csv"](tmp_path), columns)
    assert e.value.code == "invalid-argument"
    assert says in str(e.value)


@pytest.mark.parametrize("name", ["parquet, one file", "csv", "arrow, file"])
def test_batch_and_code_follow(name: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: structure, bytes and code hold the fields named, and the split's column where there is one."""
    made = TINY[name](tmp_path)
    whole, some = (
        quickly.ask("recommend_batch_spec", made.source, str(made.root), budget_s=20, **given)
        for given in ({}, {"columns": ["age", "label"]})
    )
    assert isinstance(whole, Result)
    assert isinstance(some, Result)
    assert list(some.structure) == ["age", "label"]
    assert some.memory.batch_bytes < whole.memory.batch_bytes  # type: ignore[operator]  # both were measured
    module = ran(some.code, "written")
    assert sum(module["main"]().values()) == made.samples
    assert set(next(iter(module["datasets"]().values()))[0]) == {"age", "label"}


def test_the_column_that_names_the_split_is_kept(tmp_path: Path) -> None:
    """Our promise: no leakage by leaving out which row is whose."""
    rows = [f"{i / 7:.4f},{i},{'ab'[i % 2]},{'train' if i % 5 else 'val'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,label,split", *rows]), encoding="utf-8")
    source = open_source(SourceRef(str(tmp_path / "t.csv"), (str(tmp_path),), columns=("x",)), [])
    assert [f.name for f in source.fields] == ["x", "split"]
    assert source.label is None


def test_a_reference_chooses_its_own_fields(quickly: Asker) -> None:
    from tests.making import users
    from tests.making.shared import CHECKOUT

    with pytest.raises(RequestError, match="source_args"):
        quickly.ask("recommend_batch_spec", f"{users.__file__}:Fine", str(CHECKOUT), columns=["x"])


def test_rows_alike_in_some_columns_are_no_copies(quickly: Asker, tmp_path: Path) -> None:
    """Seen: samples were to be left out as copies, and their labels to be decided on, that other columns tell apart."""
    rows = [f"{i},{i % 4},{i // 4 % 2}" for i in range(80)]
    (tmp_path / "t.csv").write_text("\n".join(["who,age,label", *rows]), encoding="utf-8")
    report: Any = quickly.ask(
        "recommend_batch_spec", str(tmp_path / "t.csv"), str(tmp_path), columns=["age"], label="label"
    )
    assert not {f.code for f in report.findings} & {"duplicate-samples", "label-conflict"}

"""Arrays whose length differs between the splits, or the files, of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.sources.tables import opened


def rows(lengths: list[int]) -> pa.Table:
    return pa.table(
        {"ids": [list(range(1, n + 1)) for n in lengths], "text": [f"row {i} of these" for i in range(len(lengths))]}
    )


@pytest.mark.parametrize(
    ("test", "train", "shape"),
    [
        ([2] * 9, [1, 2, 3] * 9, (None,)),
        ([2] * 90, [1, 2, 3] * 3, (None,)),
        ([2] * 9, [5] * 9, (2,)),
        ([3] * 9, [3] * 27, (3,)),
        ([8] * 9, [8] * 30 + [7], (8,)),
    ],
    ids=["all alike in test", "varying in few", "all alike in each", "all alike", "one damaged"],
)
def test_a_length_that_varies_in_one_split_varies(
    test: list[int], train: list[int], shape: Any, tmp_path: Path
) -> None:
    """Seen: 'stack expects each tensor to be equal size', as the shape was that of the file that comes first."""
    pq.write_table(rows(test), tmp_path / "test.parquet")
    pq.write_table(rows(train), tmp_path / "train.parquet")
    source = opened(tmp_path)
    ids = source.field("ids")
    assert ids is not None and ids.shape == shape
    assert source.varying == ({"ids": 0} if shape == (None,) else {})

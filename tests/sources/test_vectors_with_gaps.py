"""Vectors of which a number is missing have the length of all others."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.making.scanning import scan

DRAW = random.SystemRandom()


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_missing_number_in_a_vector_is_no_other_shape(tmp_path: Path, form: str) -> None:
    """Our promise: it is told at its place as a number that is none, and not to be padded or cropped."""
    rng = np.random.default_rng(DRAW.randrange(2**32))
    vectors: list[list[float | None]] = rng.normal(size=(120, 7)).round(4).tolist()
    odd = DRAW.randrange(120)
    vectors[odd][DRAW.randrange(7)] = None
    if form == "parquet":
        column = pa.array(vectors, pa.list_(pa.float32()))
        pq.write_table(pa.table({"action": column}), tmp_path / "steps.parquet")
    else:
        (tmp_path / "steps.jsonl").write_text("\n".join(json.dumps({"action": v}) for v in vectors), encoding="utf-8")
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings if f.severity != "info"}
    assert set(found) == {"nan"}
    assert [place["sample"] for place in found["nan"].where] == [odd]

"""A value that several samples share, alone outside the range of all others: a mark of a missing one, unless it is a 0 that may be one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

N = 600
rng = np.random.default_rng(3)
ODD = np.arange(N) % 40 == 7
LEVEL = rng.normal(0, 1.5, N)
SHARE = rng.uniform(20, 95, N)


def marked(values: Any, mark: float, name: str = "x", label: bool = False, splits: Any = "") -> Data:
    return Data(
        {name: np.where(ODD, mark, values)}, label=name if label else None, splits=splits, kinds={name: "number"}
    )


SPEAKS = {
    "nines behind the point": marked(LEVEL, -9.999),
    "the only negative number": marked(SHARE, -1.0),
    "a target that was not measured": marked(SHARE, -1.0, "ethanol", label=True),
    "a saturation of 0": marked(np.rint(SHARE / 4 + 74), 0.0, "spo2_min"),
    "999 among targets that come again as often": marked(np.rint(SHARE) / 10, 999.0, "bar", label=True),
    "far above all others": marked(LEVEL, 85.0),
    "a humidity of 0, far below all others": marked(SHARE / 4 + 70, 0.0, "humidity"),
}
SILENT = {
    "one of many": marked(LEVEL, 0.0),
    "a heater that is off": marked(SHARE / 4 + 70, 0.0, "power"),
    "the tail of others": marked(np.exp(LEVEL), float(np.exp(LEVEL).max())),
    "dear products among others that come again": Data({"x": np.r_[np.arange(30.0).repeat(20), np.full(20, 900.0)]}),
    "counts from -1 on": marked(rng.integers(0, 40, N), -1.0),
    "a split whose targets are withheld": Data(
        {"y": np.r_[SHARE[:500], np.full(100, -1.0)]},
        label="y",
        splits=["train"] * 500 + ["test"] * 100,
        kinds={"y": "number"},
    ),
}


@pytest.mark.parametrize("data", SPEAKS.values(), ids=SPEAKS)
def test_a_value_alone_marks_a_missing_one(data: Data) -> None:
    """Seen: -9.999 among levels of the sea was told as 15 outliers, and -1 among targets not at all."""
    found = judged("statistics", data)["missing-values"]
    assert (found.severity, found.count) == ("warning", int(ODD.sum()))
    assert found.where[0]["sample"] == 7


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_what_may_well_be_so_is_no_mark(data: Data) -> None:
    found = judged("statistics", data).get("missing-values")
    assert found is None or found.severity == "info"

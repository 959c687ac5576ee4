"""Marks up to another end in one split or site, and numbers that only happen to end there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, merged

N = 900
rng = np.random.default_rng(5)
SITE = np.arange(N) % 6
SPLIT = ["train"] * 600 + ["test"] * 300
TEST = np.arange(N) >= 600
TEN = np.rint(rng.normal(6.5, 2, N)).clip(1, 10)
FIVE = np.ceil(TEN / 2)


def marks(values: Any, name: str = "rating", splits: Any = SPLIT, by: str = "site") -> Data:
    return Data({name: values, by: [f"{by} {s}" for s in SITE]}, splits=splits, kinds={by: "category", name: "number"})


ITEMS = np.rint(rng.normal(3, 1.2, (5, N))).clip(1, 5)


def items(values: Any) -> Data:
    """A survey of two waves."""
    wave = [1 + i // 500 for i in range(N)]
    return Data({f"q{k}": v for k, v in enumerate(values)} | {"wave": wave}, kinds={"wave": "category"})


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "the test up to 5": (
        marks(np.where(TEST, FIVE, TEN)),
        "warning",
        "goes up to 5 in test and up to 10 in the others",
    ),
    "one site in percent": (marks(np.where(SITE == 2, TEN * 10, TEN), splits=""), "warning", "where site is site 2"),
    "items counted from 0 in one wave": (
        items(ITEMS - (np.arange(N) >= 500)),
        "warning",
        "5 fields run from 0 to 4 where wave is 2, and from 1 to 5 elsewhere (q0, q1, q2, …)",
    ),
    "another name": (marks(np.where(TEST, FIVE, TEN), "feeling"), "info", "multiplied by 2"),
}
SILENT: dict[str, Data] = {
    "one scale": marks(TEN),
    "items on one scale": items(ITEMS),
    "one item that is counted from 0": items([ITEMS[0] - (np.arange(N) >= 500), *ITEMS[1:]]),
    "counts, of which one wave has more": items(rng.poisson(2 + (np.arange(N) >= 500), (5, N))),
    "half of the year": marks(np.where(TEST, rng.integers(1, 7, N), rng.integers(1, 13, N)), "month"),
    "worse marks at one site": marks(np.where(SITE == 2, np.minimum(TEN, 5), TEN), splits=""),
    "counts": marks(rng.poisson(3, N)),
    "nothing but zeros in the test": marks(np.where(TEST, 0, FIVE)),
    "kinds of things": marks(np.where(SITE == 2, FIVE, TEN), splits="", by="kind"),
}
CASES = {name: (data, "scale-drift", severity) for name, (data, severity, _) in SPEAKS.items()}


@pytest.mark.parametrize(("data", "severity", "said"), SPEAKS.values(), ids=SPEAKS)
def test_marks_on_another_scale_are_told(data: Data, severity: str, said: str) -> None:
    """Seen: nothing of ratings up to 5 in the test and up to 10 in training."""
    found = merged("ends_of_scales", data)
    assert [(f.code, f.severity) for f in found] == [("scale-drift", severity)]
    assert said in found[0].message


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_numbers_that_end_elsewhere_by_nature_are_on_one_scale(data: Data) -> None:
    assert [f.message for f in merged("ends_of_scales", data)] == []

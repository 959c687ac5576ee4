"""A category that one part writes with codes of its own, and values that differ by nature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged, merged

N = 1200
rng = np.random.default_rng(29)
SITE = np.arange(N) % 4
SEX = rng.integers(0, 2, N)


def coded(values: Any, by: str = "hospital", splits: Any = "") -> Data:
    columns = {by: [f"{by} {k}" for k in SITE], "sex": [str(v) for v in values], "age": rng.normal(50, 9, N)}
    return Data(columns, splits=splits, kinds={by: "category", "sex": "category"})


def either(odd: Any, here: str, there: str) -> Any:
    """Of each row one of the letters ``here``, if it is odd, else of those ``there``."""
    return np.where(odd, np.array(list(here))[SEX % len(here)], np.array(list(there))[SEX])


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "numbers at one hospital": (coded(either(SITE == 1, "12", "MF")), "label-twins", "warning"),
    "small letters in the test": (
        coded(either(np.arange(N) >= 900, "mf", "MF"), splits=["train"] * 900 + ["test"] * 300),
        "label-twins",
        "warning",
    ),
}
SILENT: dict[str, Data] = {
    "one list of codes": coded(either(SITE > 9, "12", "MF")),
    "languages of a country": coded(either(SITE == 1, "DI", "FN"), "country"),
    "one currency in one country": coded(either(SITE == 1, "5", "MF"), "country"),
    "kinds of things": coded(either(SITE == 1, "12", "MF"), "fabric"),
    "codes of its own at each place": coded([f"{s}{v}"[: 1 + s] for s, v in zip(SITE, SEX, strict=True)]),
    "both lists at one place": coded(either((SITE == 1) & (rng.random(N) < 0.5), "12", "MF")),
}


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_codes_of_one_part_are_told(data: Data, code: str, severity: str) -> None:
    """Seen: sex as 1 and 2 at one hospital passed. Our promise: the part and both lists."""
    [found] = merged("codes_of_part", data)
    assert (found.code, found.severity) == (code, severity)
    assert "but F, M elsewhere" in found.message


def test_labels_in_other_codes_are_not_missing_too() -> None:
    """Seen: names in training and numbers in the test, told as classes that each split lacks, to be split again."""
    test = np.arange(N) >= 900
    labels = np.where(test, SEX.astype(str), np.array(["cat", "dog"])[SEX]).tolist()
    data = Data({"x": rng.normal(0, 1, N), "label": labels}, "label", splits=np.where(test, "test", "train").tolist())
    assert [*judged("codes_of_part", data)] == ["label-twins"]
    assert judged("classes", data) == {} == judged("drift", data)


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_values_that_differ_by_nature_are_not(data: Data) -> None:
    assert [f.message for f in merged("codes_of_part", data)] == []

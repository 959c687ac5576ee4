"""Structured strings that lack a part, and strings whose parts vary by nature."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N = 400
rng = np.random.default_rng(12)


def position(ranks: int) -> str:
    return (
        "/".join(str(k) for k in rng.integers(1, 9, ranks))
        + f" {'wb'[rng.integers(2)]} - - {rng.integers(9)} {rng.integers(60)}"
    )


def strings(texts: list[str]) -> Data:
    return Data({"x": texts, "n": np.arange(N) % 7}, kinds={"x": "text"})


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "positions that lack a rank": (
        strings([position(7 if i % 9 == 4 else 8) for i in range(N)]),
        "suspicious-text",
        "warning",
    )
}
SILENT: dict[str, Data] = {
    "positions": strings([position(8) for _ in range(N)]),
    "paths of another depth": strings([f"/data/a/b/c/{'d/' * (i % 10 > 0)}{i}.png" for i in range(N)]),
    "sentences": strings([" ".join(["word"] * int(k)) + ", and so on: yes" for k in rng.integers(3, 20, N)]),
    "addresses, some with a flat": strings(
        [f"{i} Long Road, {'Flat 2, ' * (i % 12 == 0)}Town, County, Country" for i in range(N)]
    ),
    "dates with and without fractions": strings(
        [f"2020-01-{i % 28 + 1:02} 10:{i % 60:02}:00{'.5' * (i % 9 == 0)}" for i in range(N)]
    ),
}


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_strings_that_lack_a_part_are_told(data: Data, code: str, severity: str) -> None:
    """Seen: positions of seven ranks in every ninth row passed. Our promise: how many, and the usual number."""
    found = judged_alone("fixed_parts", data)[code]
    assert (found.severity, found.count) == (severity, sum(i % 9 == 4 for i in range(N)))
    assert "'/' than the usual 7 (mostly 6)" in found.message


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_strings_whose_parts_vary_are_not(data: Data) -> None:
    assert judged_alone("fixed_parts", data) == {}

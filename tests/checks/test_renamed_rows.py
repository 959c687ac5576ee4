"""Rows that come again in another split under other names, and rows that have much in common by nature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone, merged

N = 900
SPLIT = ["train"] * 700 + ["test"] * 200


def stays(again: int) -> dict[str, Any]:
    """Stays of patients; the last ``again`` are earlier ones, under another number and with a heart rate that differs by some beats."""
    rng = np.random.default_rng(3)
    of = np.arange(N)
    of[N - again :] = np.arange(again)
    return {
        "patient": [f"P{k:05}" if i < N - again else f"MRN-{k}" for i, k in enumerate(of)],
        "born": (rng.integers(-9000, 9000, N) * 86_400.0)[of],
        "height": np.round(rng.normal(170, 9, N), 1)[of],
        "temperature": np.round(rng.normal(37, 0.6, N), 1)[of],
        "lactate": np.round(rng.gamma(2, 0.8, N), 2)[of],
        "pulse": (rng.integers(50, 140, N)[of] + (np.arange(N) >= N - again)).astype(int),
        "sex": [["m", "f"][k % 2] for k in of],
    }


def visits(each: int, splits: list[str], changing: int = 3) -> Data:
    """Rows of persons who come again and again, some of whose numbers change."""
    rng = np.random.default_rng(4)
    of = np.arange(N) // each if splits == SPLIT else np.random.default_rng(5).permutation(N) // each
    lasting = {f"trait {k}": rng.integers(0, 200, N)[of] for k in range(6)}
    return Data({**lasting, **{f"x{k}": rng.integers(0, 90, N) for k in range(changing)}}, splits=splits)


def made(columns: dict[str, Any], splits: Any = SPLIT) -> Data:
    return Data(columns, splits=splits, kinds={"born": "time", "patient": "category", "sex": "category"})


MIXED = np.random.default_rng(6).choice(["train", "test"], N, p=[0.8, 0.2]).tolist()
SPEAKS: dict[str, tuple[Data, str, str]] = {
    "stays under other numbers": (made(stays(60)), "splits-near-overlap", "warning")
}
SILENT: dict[str, Data] = {
    "stays": made(stays(0)),
    "a few": made(stays(6)),
    "of one split": made(stays(60), ["train"] * N),
    "persons who come again, in both splits": visits(4, sorted(MIXED, reverse=True)),
    "persons in one split each": visits(4, SPLIT),
    "items of few values": Data({f"x{k}": np.random.default_rng(k).integers(0, 9, N) for k in range(8)}, splits=SPLIT),
}


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_rows_under_other_names_are_told(data: Data, code: str, severity: str) -> None:
    """Seen: stays that came again in the test under another patient's number. Our promise: how many, in what they agree, and in what not."""
    found = judged_alone("renamed_rows", data)[code]
    assert (found.severity, found.count) == (severity, 60)
    assert "born, height" in found.message
    assert "but not in pulse" in found.message


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_rows_that_are_alike_by_nature_are_not(data: Data) -> None:
    assert [f.message for f in merged("renamed_rows", data)] == []

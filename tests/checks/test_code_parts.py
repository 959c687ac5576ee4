"""Codes whose beginning or end tells the label, and those where only the whole code or nothing does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(6)
N = 1_200
RARE = RNG.random(N) < 0.06


def told(codes: list[str], label: Any, **more: Any) -> Any:
    data = Data({"code": codes, "label": label}, "label", kinds={"code": "category"}, **more)
    return judged("code_parts", data).get("label-leaked-by-field")


def drawn(low: int, high: int) -> list[int]:
    return [int(k) for k in RNG.integers(low, high, N)]


@pytest.mark.parametrize(
    "codes",
    [
        [f"E9{k}" if rare else f"E{1 + k % 8}{k}" for k, rare in zip(drawn(10, 99), RARE, strict=True)],
        [f"X-{k}" if rare else f"A-{k}" for k, rare in zip(drawn(10, 99), RARE, strict=True)],
        [f"{k}{'Z' if rare else 'ABC'[k % 3]}" for k, rare in zip(drawn(10, 99), RARE, strict=True)],
    ],
)
def test_beginnings_and_ends_that_tell_the_label_are_told(codes: list[str]) -> None:
    assert told(codes, RARE.astype(int)).severity == "warning"


def test_the_beginning_is_told_with_its_class() -> None:
    codes = [f"E9{k}" if rare else f"E1{k}" for k, rare in zip(drawn(10, 99), RARE, strict=True)]
    assert "first 2 characters of code predict" in told(codes, RARE.astype(int)).message
    assert "E9 means 1" in told(codes, RARE.astype(int)).message


KIND = RNG.integers(0, 4, N)
OF_CODE = RNG.random(300) < 0.3
HELD = RNG.integers(0, 300, N)


@pytest.mark.parametrize(
    ("codes", "label"),
    [
        ([f"E{k}" for k in drawn(100, 999)], RARE.astype(int)),
        ([f"P{k:03d}" for k in HELD], OF_CODE[HELD].astype(int)),  # each code has its class, and its number means nothing
        ([f"P{k // 3:03d}{'abc'[k % 3]}" for k in HELD], OF_CODE[HELD].astype(int)),
        ([f"{['EL', 'HO', 'TO', 'CL'][k]}-{i % 80}" for i, k in enumerate(KIND)], [f"kind {k}" for k in KIND]),  # skus
        ([f"R{i:05d}" for i in range(N)], (np.arange(N) + RNG.normal(0, 400, N) > 900).astype(int)),  # drift
        ([f"E9{k}" if rare and k % 4 else f"E1{k}" for k, rare in zip(drawn(10, 99), RARE, strict=True)], RARE.astype(int)),
        (["E91" if rare else f"E1{k}" for k, rare in zip(drawn(10, 99), RARE, strict=True)], RARE.astype(int)),  # one code
        ([f"{'cat' if rare else 'dog'}_{k}.jpg" for k, rare in zip(drawn(10, 99), RARE, strict=True)], RARE.astype(int)),
        ([f"anna {'smith' if rare else 'jones'}" for rare in RARE], RARE.astype(int)),  # no codes
        ([f"E{9 if rare else 1}{k}" for k, rare in zip(drawn(10, 99), RARE, strict=True)], RNG.normal(0, 1, N)),
    ],
    ids=["random", "own classes", "families", "skus", "drift", "partly", "one code", "files", "names", "measured"],
)  # fmt: skip
def test_codes_may_go_with_the_label(codes: list[str], label: Any) -> None:
    found = told(codes, label)
    assert found is None or found.severity == "info"


def test_identifiers_of_patients_are_left_alone() -> None:
    """Our promise: whom a sample is of, a model does not see."""
    codes = [f"{'AD' if rare else 'CN'}{k}" for k, rare in zip(drawn(10, 99), RARE, strict=True)]
    assert told(codes, RARE.astype(int), context={"group": "code"}) is None


def test_chance_does_not_make_codes_tell() -> None:
    """Property: random codes tell nothing of random classes."""
    for seed in range(25):
        drawn = np.random.default_rng(seed)
        n = int(drawn.integers(100, 1_000))
        codes = [f"{'ABCDEF'[k % 6]}{k}" for k in drawn.integers(10, 30 + 20 * seed, n)]
        assert told(codes, (drawn.random(n) < 0.02 + seed / 60).astype(int)) is None

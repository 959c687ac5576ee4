"""Codes that are written in two ways by where they come from, and codes that only look like one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(11)
N = 900
SITE = RNG.choice(["A", "B", "C"], N).tolist()
CODES = ["I10", "R55", "E11.9", "I50.9", "J18.9", "N17.9", "A41.9", "I48.91", "S72.001A", "K92.2", "Z51.11"]
DRAWN = RNG.choice(CODES, N).tolist()


def told(codes: list[str], site: Any, **more: Any) -> Any:
    kinds = {"code": "category", "site": "category" if isinstance(site[0], str) else "number"}
    return judged("notations", Data({"site": site, "code": codes}, kinds=kinds, **more)).get("label-twins")


def at(site: str, change: Callable[[str], str], codes: list[str] = DRAWN) -> list[str]:
    return [change(code) if s == site else code for code, s in zip(codes, SITE, strict=True)]


@pytest.mark.parametrize(
    ("codes", "change"),
    [
        (DRAWN, lambda code: code.replace(".", "")),
        ([f"AB-{k}" for k in RNG.integers(100, 180, N)], lambda code: code.replace("-", "")),
        ([f"AB{k}" for k in RNG.integers(100, 180, N)], lambda code: code.replace("AB", "AB ")),
        ([f"AB{k}x" for k in RNG.integers(1000, 1280, N)], str.lower),
    ],
)
def test_a_site_that_writes_codes_in_its_own_way_is_told(codes: list[str], change: Callable[[str], str]) -> None:
    found = told(at("B", change, codes), SITE)
    assert "site is B" in found.message
    assert found.count > 200 - 100 * (codes is DRAWN)


def test_two_sites_may_write_so() -> None:
    codes = [c.replace(".", "") if s in "AB" else c for c, s in zip(DRAWN, SITE, strict=True)]
    assert "site is C" in told(codes, SITE).message


def test_sites_may_have_numbers() -> None:
    assert told(at("B", lambda code: code.replace(".", "")), np.array(["ABC".index(s) for s in SITE])) is not None


def test_a_split_may_write_so() -> None:
    codes = [*DRAWN[:600], *(code.replace(".", "") for code in DRAWN[600:])]
    data = Data({"code": codes}, kinds={"code": "category"}, splits=["train"] * 600 + ["test"] * 300)
    assert "split is test" in judged("notations", data)["label-twins"].message


LEVEL = RNG.integers(1, 3, N)
SECTION = [f"A{k}" if level == 1 else f"A{k % 3 + 1}.{k % 5}" for k, level in zip(RNG.integers(1, 25, N), LEVEL, strict=True)]  # fmt: skip


@pytest.mark.parametrize(
    ("codes", "site"),
    [
        (DRAWN, SITE),
        (at("B", lambda code: {"E11.9": "E119"}.get(code, code)), SITE),  # one code
        ([code.replace(".", "") if RNG.random() < 0.5 else code for code in DRAWN], SITE),  # here so, there so
        ([f"A{i % 4}.{i % 7}" if i % 2 else f"A{i % 4}{i % 7}" for i in RNG.integers(0, 99, N)], SITE),  # sections
        (SECTION, [f"level {k}" for k in LEVEL]),
        (at("B", lambda code: "X" + code), SITE),  # other codes
        ([str(k) if s == "B" else f"{k // 10}.{k % 10}" for k, s in zip(RNG.integers(10, 99, N), SITE, strict=True)], SITE),
        (["New York" if s == "B" else "new-york" for s in SITE], SITE),  # words
        ([f"P{s}{k}" if s == "B" else f"P-{s}{k}" for k, s in zip(RNG.integers(10, 99, N), SITE, strict=True)], SITE),
        (["I10"] * N, SITE),
        (at("B", lambda code: code.replace(".", ""))[:12], SITE[:12]),
    ],
    ids=["one way", "one code", "mixed", "sections", "levels", "others", "numbers", "words", "own codes", "one", "few"],
)  # fmt: skip
def test_codes_may_look_alike(codes: list[str], site: list[str]) -> None:
    assert told(codes, site) is None


def test_chance_makes_no_ways_of_writing() -> None:
    """Property: of codes drawn from one list by all groups nothing is said, however alike they look."""
    for seed in range(25):
        drawn = np.random.default_rng(seed)
        listed = [f"{'AB'[k % 2]}{k // 20}{['', '.', '-'][k % 3]}{k % 20}" for k in range(10 + 8 * seed)]
        codes = drawn.choice(listed, 400).tolist()
        assert told(codes, drawn.choice(["x", "y", "z"], 400).tolist()) is None

"""The tables of weaknesses: every guard exists. That each fails with its weakness, ``python -m tests.weaknesses`` shows."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from tests.weaknesses.base import Weakness, planted
from tests.weaknesses.registry import all_weaknesses, tables
from tests.weaknesses.running import collected, outcome

SELF = "tests/weaknesses/test_weaknesses.py::"
HERE = Path(__file__).parent
WEAK = False


def test_every_guard_exists() -> None:
    """A test that was renamed or deleted guards nothing."""
    named = {w.test for w in all_weaknesses()}
    assert named
    missing = named - collected(sorted({test.split("::")[0] for test in named}))
    assert not missing


def test_every_weakness_is_told_once() -> None:
    """No two rows say the same, and none says nothing."""
    told = Counter((w.system, w.says) for w in all_weaknesses())
    assert [what for what, times in told.items() if times > 1 or not all(what)] == []


def test_every_table_of_the_folder_is_found() -> None:
    """A module with a table is registered by being there."""
    with_table = {p.stem for p in HERE.glob("*.py") if "\nWEAKNESSES = " in p.read_text(encoding="utf-8")}
    assert {name for name, table in tables().items() if table} == with_table
    assert with_table >= {"jasper", "jasper_integrity", "seed_datasets"}


def test_an_example_that_is_strong() -> None:
    """Of the test below: it fails where ``WEAK`` is planted."""
    assert not WEAK


def test_a_guard_fails_with_its_weakness_and_passes_without() -> None:
    """The plant reaches the test, and is gone afterwards."""
    weakness = Weakness(
        "none", "weak", f"{SELF}test_an_example_that_is_strong", planted((sys.modules[__name__], "WEAK", True))
    )
    assert outcome(weakness.test).word == "passed"
    with weakness.plant():
        assert outcome(weakness.test).word == "failed"
    assert outcome(weakness.test).word == "passed"
    assert outcome(f"{SELF}test_not_there").word == "not found"

"""Our own cases through a real client; the snapshot of what clients are told; the matchers themselves."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.tools.base import all_tools
from tests.harness.matching import mismatches
from tests.harness.running import CASES, cases_of, run, schemas

OURS = cases_of([CASES])
SNAPSHOT = Path(__file__).with_name("schemas.json")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return asyncio.run(run(OURS, tmp_path_factory.mktemp("harness").resolve()))


@pytest.mark.journey
@pytest.mark.parametrize("case", OURS, ids=lambda case: case.name)
def test_a_case_holds(wrong: dict[str, list[str]], case: Any) -> None:
    """Our promise: the tool's answer over stdio is what the case says."""
    assert not wrong[case.name]


def test_cases_cover_every_tool() -> None:
    """Our promise: no tool is without a case, and no two cases share a name."""
    assert {case.tool for case in OURS} >= set(all_tools())
    assert len({case.name for case in OURS}) == len(OURS)


def test_what_clients_are_told_is_what_was_reviewed() -> None:
    """Our promise: names, descriptions, schemas and hints change only with a diff of schemas.json.

    Anew: ``python -m tests.harness --schemas tests/harness/schemas.json``.
    """
    assert asyncio.run(schemas()) == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param({"a": 1}, id="a plain value"),
        pytest.param({"a": {"equals": 1, "type": "integer"}}, id="two matchers"),
        pytest.param({"b.0.c": "x"}, id="a place in a list"),
        pytest.param({"b.*.c": ["x", "y"]}, id="over a list"),
        pytest.param({"m.*": {"contains": 2}}, id="over a map"),
        pytest.param({"f": {"approx": 0.3, "within": 0.01}}, id="approx"),
        pytest.param({"v": {"approx": [1, 2], "within": 0.2}}, id="approx of a list"),
        pytest.param({"b": {"length": 2}, "f": {"at_least": 0.3, "at_most": 0.4}}, id="bounds"),
        pytest.param({"none": {"type": "null"}, "no": {"absent": True}}, id="null and absent"),
        pytest.param({"t": {"matches": "^say"}, "a": {"one_of": [1, 2]}}, id="text"),
        pytest.param({"m": {"p": 1, "q": 2}}, id="a map that is no matcher"),
    ],
)
def test_a_matcher_says_nothing_when(expected: dict[str, Any]) -> None:
    """Our promise: what holds is not reported."""
    assert mismatches(ANSWER, expected) == []


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        pytest.param({"a": 2}, "a is 1, expected equals 2", id="another value"),
        pytest.param({"x.y": 1}, "x.y is not there", id="no such place"),
        pytest.param({"b.7.c": 1}, "b.7.c is not there", id="beyond a list"),
        pytest.param({"f": {"approx": 0.4, "within": 0.01}}, "expected approx 0.4", id="too far"),
        pytest.param({"yes": {"type": "number"}}, "yes is True", id="a boolean is no number"),
        pytest.param({"b.*.c": {"contains": "z"}}, "expected contains 'z'", id="not in it"),
        pytest.param({"a": {"absent": True}}, "expected absent True", id="there after all"),
    ],
)
def test_a_matcher_speaks_when(expected: dict[str, Any], said: str) -> None:
    """Our promise: what does not hold is told with the value that was there."""
    (line,) = mismatches(ANSWER, expected)
    assert said in line


ANSWER = {
    "a": 1,
    "b": [{"c": "x"}, {"c": "y"}],
    "f": 0.305,
    "m": {"p": 1, "q": 2},
    "none": None,
    "t": "say",
    "v": [1.1, 2],
    "yes": True,
}


@pytest.mark.journey
def test_a_users_own_cases_run_from_the_command_line(tmp_path: Path) -> None:
    """The README's promise: a case beside its data, one command, status 1 and the reason where it fails."""
    (tmp_path / "rows.csv").write_text("x,label\n" + "".join(f"{i},{i % 2}\n" for i in range(10)), encoding="utf-8")
    case = {"tool": "characterize_dataset", "arguments": {"source": "{here}/rows.csv"}}
    cases = [{**case, "name": "right", "expect": {"samples": 10}}, {**case, "name": "wrong", "expect": {"samples": 11}}]
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    command = [sys.executable, "-m", "tests.harness", str(tmp_path / "cases.json")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [
        "ok   right",
        "FAIL wrong",
        "       samples is 10, expected equals 11",
        "1 of 2 cases hold",
    ]

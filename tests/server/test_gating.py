"""What a CI job lets pass, and what is said of a command line that is wrong."""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import pytest

from dataloader_expert.facts import Unknown
from dataloader_expert.report import Figure, FindingLine
from dataloader_expert.server import junit
from dataloader_expert.server.command import main, parser_of
from dataloader_expert.server.gating import Gate
from dataloader_expert.tools.base import NO_MODEL
from dataloader_expert.tools.check_quality import CheckLine, Checklist


def found(code: str, severity: Any = "error", *files: str, count: int | None = None) -> FindingLine:
    places: list[dict[str, Any]] = [{"file": file} for file in files]
    n = max(1, len(files)) if count is None else count
    return FindingLine(code=code, severity=severity, message=code, evidence=[], fix="mend it", where=places, count=n)


@dataclass
class Result:
    """What of a result the gate looks at."""

    findings: list[FindingLine]
    passed: bool | None = False
    failing: tuple[str, ...] = ()
    checks: list[CheckLine] = field(default_factory=list)
    passed_checks: list[str] = field(default_factory=list)
    elapsed_s: float = 1.0
    complete: bool = True
    unknowns: list[Unknown] = field(default_factory=list)

    @property
    def coverage(self) -> Result:
        return self

    @property
    def checklist(self) -> Checklist:
        return Checklist(**{name: "fail" if name in self.failing else "pass" for name in Checklist.model_fields})


def status(result: Any, *ignored: str, fail_on: Any = "error") -> int:
    return Gate(fail_on, ignored).status(result)


@pytest.mark.parametrize(("why", "code"), [("no time was left for it", 2), (NO_MODEL, 0)])
def test_a_model_that_was_not_checked_does_not_pass(why: str, code: int) -> None:
    """Seen: exit status 0 where the budget had ended before the model was fed."""
    assert status(Result([], True, unknowns=[Unknown("model_check", why)])) == code
    assert status(Result([], True, unknowns=[Unknown("model_check", why)]), fail_on="never") == 0


def test_what_is_ignored_does_not_count() -> None:
    broken = Result([found("truncated", "error", "old/a.png", "old/b.png")], failing=("no_corrupted_files",))
    assert status(broken) == 1
    assert status(broken, "truncated") == 0
    assert status(broken, "truncated:old/*") == 0
    assert status(broken, "truncated:new/*") == 1
    assert status(broken, "empty-file") == 1


def test_a_glob_does_not_cover_what_is_not_listed() -> None:
    """Our promise: of a finding with more places than are told, those may be elsewhere."""
    many = Result([found("truncated", "error", "old/a.png", count=50)], failing=("no_corrupted_files",))
    assert status(many, "truncated:old/*") == 1


def test_a_box_that_fails_by_a_warning_may_be_ignored_too() -> None:
    uneven = Result([found("severe-imbalance", "warning")], failing=("imbalance_strategy_defined",))
    assert (status(uneven), status(uneven, "severe-imbalance")) == (1, 0)


@pytest.mark.parametrize(("passed", "fail_on", "expected"), [
    (None, "error", 2), (True, "error", 0), (True, "warning", 1), (None, "never", 0), (None, "warning", 1),
])  # fmt: skip
def test_the_severity_decides(passed: bool | None, fail_on: str, expected: int) -> None:
    assert status(Result([found("blurry", "warning")], passed), fail_on=fail_on) == expected


def test_what_was_not_read_does_not_pass() -> None:
    """Our promise: with a stricter flag, or with findings ignored, an undecided check is undecided still."""
    assert status(Result([], None), fail_on="warning") == 2
    known = [found("truncated", "error", "old/a.png")]
    assert status(Result(known, False, ("no_corrupted_files",), complete=False), "truncated") == 2
    uneven = Result([found("severe-imbalance", "warning")], False, ("imbalance_strategy_defined",))
    assert (status(uneven), status(uneven, fail_on="warning")) == (1, 1)


@pytest.mark.parametrize(("high", "expected"), [(499.0, 1), (501.0, 0), (None, 1)])
def test_too_little_throughput_fails(high: float | None, expected: int) -> None:
    @dataclass
    class Settings:
        throughput: Figure

    @dataclass
    class Measured:
        findings: list[FindingLine]
        current: Settings | None

    rate = Figure(value=450.0, unit="samples/s", low=400.0, high=high, n=5, how="timed")
    assert Gate(least=500).status(Measured([], Settings(rate))) == expected
    assert Gate(least=500).status(Measured([], None)) == 2


def test_junit_has_a_case_for_each_check(tmp_path: Path) -> None:
    lines = [CheckLine(id="truncated", status="fail", count=1, scanned=9, how="counted")]
    lines += [CheckLine(id="time-leakage", status="unknown", count=0, scanned=9, how="counted")]
    result = Result(
        [found("truncated", "error", 'a<b>&".png'), found("blurry", "warning")], checks=lines, passed_checks=["nan"]
    )
    junit.write(result, tmp_path / "out.xml", Gate(ignored=("blurry",)))
    suite = xml.parse(tmp_path / "out.xml").getroot()
    assert {k: suite.get(k) for k in ("tests", "failures", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "skipped": "2",
    }
    cases = {case.get("name"): case for case in suite}
    assert 'a<b>&".png' in str(cases["truncated"].findtext("failure"))
    assert cases["blurry"].find("skipped") is not None
    assert len(cases["nan"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chekc", "x"], "did you mean check?"),
        (["check", "--jsn", "x"], "did you mean --json?"),
        (["check", "--checks", "nan", "x"], "give it before options that take several values"),
        (["diagnose", "x", "--source-args", "{a:1}"], "write names in double quotes"),
    ],
)
def test_what_was_meant_is_told(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    told = capsys.readouterr().err
    assert left.value.code == 2
    assert said in told
    assert words[0] not in ("check", "diagnose") or f"expert {words[0]} [options]" in told


def test_several_sources_are_answered_with_how_to_quote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        (tmp_path / name).touch()
    with pytest.raises(SystemExit):
        main(["check", *(str(tmp_path / name) for name in "ab")])
    assert "quote a glob" in capsys.readouterr().err


def test_an_empty_source_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Our promise: a variable that is not set does not pass the gate."""
    assert main(["check", "", "--json"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("invalid-argument: source is empty")
    assert '"code": "invalid-argument"' in told.out


def test_no_option_stands_for_two_things() -> None:
    commands = next(a for a in parser_of()._actions if isinstance(a, argparse._SubParsersAction))
    for command in commands.choices.values():
        flags = [f for a in command._actions for f in a.option_strings]
        assert all(a != b for a, b in itertools.combinations(flags, 2))

"""A result does not contradict itself: checks, findings and their evidence say the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.making.asking import Asker

ROWS = """
import numpy as np
import time


class Rows:
    def __init__(self, n=3000, pause=0.0):
        self.n, self.pause = n, pause

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        time.sleep(self.pause)
        if i % 50 == 7:
            raise ValueError("bad record")
        return {"x": np.array([i, np.nan if i % 5 == 0 else 1.0], dtype="float32"), "label": int(i % 97 == 0)}
"""


@pytest.fixture(scope="module", params=["all read", "some read"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("agreement")
    (folder / "rows.py").write_text(ROWS, encoding="utf-8")
    asker = Asker()
    arguments = {"n": 300} if request.param == "all read" else {"pause": 0.004}
    budget_s = 20 if request.param == "all read" else 3
    report = asker.ask("check_quality", f"{folder}/rows.py:Rows", str(folder), source_args=arguments, budget_s=budget_s)
    yield request.param, report
    asker.close()


def test_no_check_passes_that_found_something(told: Any) -> None:
    """Our promise: a finding of severity error or warning stands among the checks that did not pass, under its code."""
    _, report = told
    bad = {f.code for f in report.findings if f.severity != "info"}
    assert {"sample-raises", "nan"} <= bad
    assert not bad & set(report.passed_checks)
    status = {c.id: c.status for c in report.checks}
    assert all(status[f.code] == "fail" for f in report.findings if f.severity == "error")


def test_how_in_evidence_is_how_in_checks(told: Any) -> None:
    """Our promise: what was found in a part of the samples is said to be sampled, in both places."""
    which, report = told
    assert report.coverage.complete is (which == "all read")
    hows = {c.id: c.how for c in report.checks}
    for found in report.findings:
        if found.severity != "info":
            assert {e.how for e in found.evidence} == {hows[found.code]}, found.code
    assert hows["sample-raises"] == ("counted" if which == "all read" else "sampled")

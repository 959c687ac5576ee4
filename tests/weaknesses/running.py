"""Runs of single tests in this process, with and without a weakness planted."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
QUIET = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:unraisableexception",
    "-p",
    "no:faulthandler",
    "--no-header",
)
AGAIN = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""A second run of one process finds its plugins imported already."""


class Seen:
    """A plugin that notes what was collected, how it ended, and the first line of what it says of that."""

    def __init__(self) -> None:
        self.collected: list[str] = []
        self.outcomes: list[str] = []
        self.why = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.collected = [item.nodeid for item in items]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes.append(report.outcome if report.when == "call" or report.skipped else "error")
            said = [line[1:].strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
            self.why = self.why or next(iter(said), "")


class Outcome(NamedTuple):
    """``passed``, ``failed``, ``skipped``, ``error`` (outside of the test itself) or ``not found``; and why."""

    word: str
    why: str


def outcome(test: str) -> Outcome:
    seen = run([test])
    word = seen.outcomes[0] if len(set(seen.outcomes)) == 1 else "error" if seen.outcomes else "not found"
    return Outcome(word, seen.why)


def collected(files: Iterable[str]) -> set[str]:
    """Ids of the tests in these files."""
    return set(run(["--collect-only", *files]).collected)


def run(arguments: list[str]) -> Seen:
    """pytest in this process, with its output kept away, whatever directory and settings there are."""
    seen, here = Seen(), Path.cwd()
    kept = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST") if name in os.environ}
    path = list(sys.path)
    os.chdir(ROOT)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            pytest.main([*QUIET, *AGAIN, "--rootdir", str(ROOT), *arguments], plugins=[seen])
    finally:
        os.chdir(here)
        os.environ.update(kept)
        sys.path[:] = path
    return seen

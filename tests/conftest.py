"""Hypothesis profiles, and the rule that nothing is skipped in silence where everything must run."""

from __future__ import annotations

import fcntl
import gc
import os
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.making.asking import Asker

settings.register_profile("fast", max_examples=25, deadline=None, derandomize=True, database=None)
settings.register_profile(
    "full", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Nothing that is imported is garbage: looking for it takes a third of the collection.
gc.disable()

# Servers and hosts that tests start need not compile our modules each time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

MAY_SKIP = {"gpu", "client"}
STRICT = os.environ.get("DATALOADER_EXPERT_CI") == "1"


LOCKS = Path(tempfile.gettempdir())
"""Where the processes of one run meet: taken here, for tests point TMPDIR at folders of their own."""
LONG = (
    *("test_shapes", "test_search", "test_planted", "test_site", "test_command", "test_every_result", "test_hostile"),
    *("test_matrix", "test_code", "test_wire", "test_memory", "test_door", "test_factory"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no worker is left alone with one at the end (with --no-loadscope-reorder)."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that is marked ``alone`` waits for those of other processes, and they for it.

    Whoever waits for all holds the door, so that no stream of others keeps it waiting.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        return (yield)
    alone = item.get_closest_marker("alone") is not None
    door, machine = (LOCKS / f"dataloader-expert-{lock}-{run}" for lock in ("door", "machine"))
    with door.open("a+") as at_door, machine.open("a+") as held:  # record locks: no child inherits them
        fcntl.lockf(at_door, fcntl.LOCK_EX)
        fcntl.lockf(held, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.lockf(at_door, fcntl.LOCK_UN)
        return (yield)


@pytest.fixture(scope="session")
def asker() -> Generator[Asker, None, None]:
    """One for all: its door takes longer to start than most requests through it."""
    from tests.making.asking import Asker

    asker = Asker()
    yield asker
    asker.close()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With DATALOADER_EXPERT_CI=1 a skipped test fails, unless it is marked gpu or client."""
    report = yield
    excused = hasattr(report, "wasxfail") or MAY_SKIP & {mark.name for mark in item.iter_markers()}
    if STRICT and report.skipped and not excused:
        report.outcome, report.longrepr = "failed", f"skipped, and nothing may be: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A whole module that skips itself has no marks to be excused by."""
    report = yield
    if STRICT and report.skipped:
        report.outcome, report.longrepr = "failed", f"skipped, and nothing may be: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)

"""The official conformance suite: the stable release, and each revision's requirements, tasks among them.

What we leave out stands in ``left-out-*.yml`` with the reason. A scenario that fails and is not listed fails the test,
and so does one that is listed and passes.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driving import environment, free_port, listens, until
from tests.making.npm import installed, with_path

pytestmark = [pytest.mark.journey, pytest.mark.client]
HERE = Path(__file__).parent
STABLE, ALPHA = "0.1.16", "0.2.0-alpha.12"
TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("conformance")
    port = free_port()
    command = [sys.executable, "-m", "tests.conformance.server", str(port), str(root)]
    place = {**environment(root / "mark"), "PYTHONPATH": str(HERE.parents[1])}
    server = subprocess.Popen(command, env=place, stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: listens(port), 30), "the server does not listen"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait(10)


def judged(version: str, address: str, folder: Path, *options: str) -> tuple[int, str]:
    """The suite's exit status and what it printed."""
    bins = installed(f"conformance-{version}", f"@modelcontextprotocol/conformance@{version}")
    command = [str(bins / "conformance"), "server", "--url", address, *options]
    done = subprocess.run(command, cwd=folder, env=with_path(bins), capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_the_stable_suite_passes(address: str, tmp_path: Path) -> None:
    """The protocol: every scenario of the stable suite but those that are left out on purpose."""
    status, said = judged(STABLE, address, tmp_path, "--expected-failures", str(HERE / "left-out-0.1.yml"))
    assert status == 0, said[-4000:]


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_revision_is_kept(address: str, tmp_path: Path, revision: str) -> None:
    """The protocol: what the revision requires of a server; of the newer one the tasks' scenarios too."""
    baseline = str(HERE / f"left-out-{revision}.yml")
    status, said = judged(ALPHA, address, tmp_path, "--requirements", revision, "--expected-failures", baseline)
    assert status == 0, said[-4000:]
    if revision == "2026-07-28":
        assert not [name for name in TASKS if f"✓ {name}: " not in said], "a scenario of tasks did not run or pass"

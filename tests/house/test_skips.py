"""Where everything must run a skipped test has failed, unless it needs a device or a foreign client."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

def test_runs(): pass

@pytest.mark.skip(reason="by mark")
def test_plain(): pass

def test_inside(): pytest.skip("inside")

@pytest.mark.gpu
def test_device(): pytest.skip("no device")

@pytest.mark.client
@pytest.mark.skipif(True, reason="no npm")
def test_client(): pass

@pytest.mark.xfail
def test_known_gap(): assert False
"""


@pytest.mark.parametrize(
    ("strict", "expected"),
    [
        pytest.param("0", {"passed": 1, "skipped": 4, "xfailed": 1}, id="at a desk skips are skips"),
        pytest.param("1", {"passed": 1, "failed": 1, "error": 1, "skipped": 2, "xfailed": 1}, id="in CI they fail"),
    ],
)
def test_only_gpu_and_client_tests_may_be_skipped_in_ci(tmp_path: Path, strict: str, expected: dict[str, int]) -> None:
    """Our promise: .ci/run is not green because something did not run."""
    assert _outcomes(tmp_path, strict, TESTS) == expected


def test_a_module_that_skips_itself_fails_in_ci(tmp_path: Path) -> None:
    """Our promise: an import that is missing does not take a whole file of tests away unseen."""
    assert _outcomes(tmp_path, "1", "import pytest\npytest.importorskip('not_there')\n") == {"error": 1}


def _outcomes(folder: Path, strict: str, tests: str) -> dict[str, int]:
    shutil.copy(Path(__file__).parents[1] / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  gpu: d\n  client: c\n", encoding="utf-8")
    (folder / "test_some.py").write_text(tests, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_some.py"]
    env = {**os.environ, "DATALOADER_EXPERT_CI": strict}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    counts = done.stdout.strip().splitlines()[-1].split(" in ")[0].strip("= ")
    return {word.rstrip("s") if word == "errors" else word: int(n) for n, word in map(str.split, counts.split(", "))}

"""A dataset that leaves files open until none more can be."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.probes.descriptors import files_held, used_up
from tests.making import users

LIMIT = 512


def diagnosed(name: str, limit: int = LIMIT) -> dict[str, Any]:
    """By the command, in a process that may have few descriptors."""
    file = Path(users.__file__)
    asked = ["diagnose", f"{file}:{name}", "--root", str(file.parent), "--budget-s", "6", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "dataloader_expert.server.command", *asked],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )
    assert done.stdout, done.stderr[-2000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.journey
def test_a_dataset_that_uses_up_the_descriptors_is_told_as_such() -> None:
    found = [f for f in diagnosed("LeaksFiles")["findings"] if f["code"] == "file-descriptors-grow"]
    assert len(found) == 1
    assert found[0]["severity"] == "error"
    assert "out of file descriptors" in found[0]["message"]
    assert f"most often {users.__file__}" in found[0]["message"]
    assert found[0]["evidence"][0]["at"] == {"limit": LIMIT}
    assert found[0]["evidence"][0]["value"]["files"] > LIMIT / 2


@pytest.mark.journey
def test_how_many_stay_open_is_told_though_none_was_left_for_what_came_later() -> None:
    """The search reads thousands of such quick samples, and nothing can be measured once the limit is reached."""
    health = diagnosed("LeaksFiles", 2048)["health"]
    assert 950 < health["open_files_per_1000"] < 1050


@pytest.mark.journey
def test_one_that_closes_its_files_is_not() -> None:
    assert "file-descriptors-grow" not in {f["code"] for f in diagnosed("Fine")["findings"]}


def test_files_are_counted_by_path_without_a_descriptor() -> None:
    with tempfile.NamedTemporaryFile() as file:
        several = [os.open(file.name, os.O_RDONLY) for _ in range(5)]
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = max(several) + 1
        lowest = os.dup(several[0])  # the number that the next file would get
        os.close(lowest)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
            with pytest.raises(OSError, match="Too many open files") as none_left:
                os.open(file.name, os.O_RDONLY)
            held = files_held(most)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            for fd in several:
                os.close(fd)
        assert held[file.name] == 6
        assert used_up(none_left.value)


def test_what_a_worker_brings_home_is_known_by_its_text() -> None:
    brought = "Caught OSError in DataLoader worker process 0.\nOSError: [Errno 24] Too many open files: 'a'"
    assert used_up(OSError(brought))
    assert not used_up(OSError("[Errno 2] No such file or directory"))

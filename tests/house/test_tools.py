"""Tools as data: what they name exists, and a server opens without what they run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dataloader_expert.tools.base import all_tools

OPENING = """
import sys
from dataloader_expert.server.app import build
from dataloader_expert.tools.execution import Settings
build(Settings(("/nowhere",)))
rooms = ("checks.", "probes.data.", "probes.model.", "probes.search.", "probes.profile.", "tools.recipes.", "loaders.", "page.")
print(*(name for name in sys.modules if name.startswith(tuple("dataloader_expert." + room for room in rooms))))
"""


def test_what_a_terminal_leaves_out_is_a_probe_of_its_tool() -> None:
    left_out = 0
    for tool in all_tools().values():
        probes = {probe.name for probe in tool.recipe(tool.request.model_validate({"source": "x"}))}
        assert set(tool.unprinted) <= probes, tool.name
        left_out += len(tool.unprinted)
    assert left_out


@pytest.mark.parametrize("name", ["characterize_dataset", "check_quality"])
def test_data_files_are_read_without_torch(name: str) -> None:
    """Our promise: a check of a folder does not wait for an import that nothing in it needs."""
    tool = all_tools()[name]
    assert [probe.name for probe in tool.recipe(tool.request.model_validate({"source": "x"})) if probe.torch] == []


@pytest.mark.journey
def test_a_server_opens_without_what_its_tools_run() -> None:
    """Our promise: a client that starts the server pays for the protocol, not for probes, checks or loaders."""
    done = subprocess.run([sys.executable, "-c", OPENING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

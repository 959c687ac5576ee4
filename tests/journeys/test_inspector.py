"""The official MCP Inspector, a client that is not ours, lists the tools strictly and calls each of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.tools.base import all_tools
from tests.driving import SERVE, http
from tests.making.npm import installed, with_path
from tests.making.tiny import TINY

pytestmark = pytest.mark.client
INSPECTOR = "@modelcontextprotocol/inspector@2"
TOOL_IS_ERROR = 5


@pytest.fixture(scope="module")
def bin_folder() -> Path:
    return installed("inspector", INSPECTOR)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("inspected")
    TINY["image-folder"](root)
    return root


def inspected(bins: Path, root: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """The Inspector's exit status, what it printed as JSON, and its stderr."""
    return asked(bins, root, *SERVE, "--root", str(root), *words)


def asked(bins: Path, root: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    command = [str(bins / "mcp-inspector"), "--cli", *words, "--format", "json"]
    done = subprocess.run(command, env=with_path(bins), capture_output=True, text=True, timeout=120, cwd=root)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_it_lists_the_tools_without_a_portability_error(bin_folder: Path, root: Path, era: str) -> None:
    """The Inspector's --strict: exit 6 on a schema that some client cannot read."""
    status, printed, said = inspected(bin_folder, root, "--protocol-era", era, "--method", "tools/list", "--strict")
    assert status == 0, said
    assert [tool["name"] for tool in printed["result"]["tools"]] == list(all_tools())
    assert "inputSchema" not in said, "an input schema is less portable than it could be"


@pytest.fixture(scope="module")
def address(root: Path) -> Iterator[str]:
    """One server over HTTP for all tools: its measuring host starts once."""
    with http(root.parent / "mark", "--root", str(root)) as (address, _):
        yield address


@pytest.mark.parametrize("name", all_tools())
def test_it_calls_each_tool(bin_folder: Path, root: Path, name: str, request: pytest.FixtureRequest) -> None:
    """Our promise: a foreign client gets the report in both channels, over stdio (one tool) and over HTTP."""
    over_stdio = name == "characterize_dataset"
    server = (
        [*SERVE, "--root", str(root)] if over_stdio else [request.getfixturevalue("address"), "--transport", "http"]
    )
    arguments = json.dumps({"source": str(root), "budget_s": 5})
    call = ("--method", "tools/call", "--tool-name", name, "--tool-args-json", arguments)
    status, printed, said = asked(bin_folder, root, *server, *call)
    assert status == 0, said
    result = printed["result"]
    assert result["structuredContent"]["tool"] == name
    assert result["content"][0]["text"] == result["structuredContent"]["report_markdown"]


def test_every_tool_has_a_view_for_clients_that_show_pages(bin_folder: Path, root: Path) -> None:
    """MCP Apps: the Inspector finds each tool's ui:// resource and its type."""
    words = ("--method", "tools/list", "--app-info", "--advertise-apps", "--format", "json")
    command = [str(bin_folder / "mcp-inspector"), "--cli", *SERVE, "--root", str(root), *words]
    done = subprocess.run(command, env=with_path(bin_folder), capture_output=True, text=True, timeout=120, cwd=root)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f["toolName"] for f in found if f["hasApp"]] == list(all_tools())
    assert {f["resourceMimeType"] for f in found} == {"text/html;profile=mcp-app"}


def test_a_refusal_is_an_error_of_the_tool(bin_folder: Path, root: Path) -> None:
    """Our promise: isError with a text that begins with its code, which the Inspector ends with status 5."""
    status, printed, said = inspected(
        bin_folder,
        root,
        *("--method", "tools/call", "--tool-name", "check_quality", "--tool-arg", "source=/etc"),
    )
    assert status == TOOL_IS_ERROR
    assert "outside-roots: " in json.dumps(printed) + said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["--method", "resources/read", "--uri", "persona://dataloader-expert"], "contents", id="persona"),
        pytest.param(["--method", "prompts/get", "--prompt-name", "dataloader_expert"], "messages", id="prompt"),
        pytest.param(["--method", "resources/templates/list"], "resourceTemplates", id="templates"),
    ],
)
def test_it_reads_what_is_beside_the_tools(
    bin_folder: Path, root: Path, address: str, words: list[str], expected: str
) -> None:
    """Our promise: persona, prompts and report templates are there for a foreign client too."""
    status, printed, said = asked(bin_folder, root, address, "--transport", "http", *words)
    assert status == 0, said
    assert printed["result"][expected]

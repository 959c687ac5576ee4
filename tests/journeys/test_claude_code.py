"""The real Claude Code client, with a scripted API in the model's place: what the model would see of us.

For each of the three forms of installation: the subagent has our tools, the result holds the report, an error names
the next step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dataloader_expert.prompts import TOOL_PREFIX
from dataloader_expert.tools.base import all_tools
from tests.making.messages_api import Api, Step, serving
from tests.making.npm import installed
from tests.making.tiny import TINY

pytestmark = pytest.mark.client
ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "packaging" / "claude-code"
BINS = Path(sys.executable).parent
SUBAGENT = "Answer from what they return"
"""Words of the persona, by which the subagent's requests are known."""
FORMS = ("project", "user", "plugin")


@dataclass(frozen=True)
class Desk:
    """An emptied environment: a home, a project with data in it, the client."""

    home: Path
    project: Path
    bins: Path

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(self.bins), "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # a loaded machine takes longer than the client waits: it would start the subagent without our tools
            "CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000",
            "MCP_TIMEOUT": "60000",
            "ANTHROPIC_API_KEY": "dummy",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
            **more,
        }

    def ran(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.project,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
        )


@pytest.fixture(scope="module")
def bins() -> Path:
    return installed("claude-code", "@anthropic-ai/claude-code", "@anthropic-ai/mcpb")


@pytest.fixture
def desk(bins: Path, tmp_path: Path) -> Desk:
    made = Desk(tmp_path / "home", tmp_path / "project", bins)
    made.home.mkdir()
    (made.project / "data").mkdir(parents=True)
    TINY["csv"](made.project / "data")
    return made


def set_up(desk: Desk, form: str) -> tuple[list[str], dict[str, str]]:
    """Installs in the form; gives the client's further arguments and environment."""
    if form == "plugin":  # its server is found on the PATH
        return ["--plugin-dir", str(PLUGIN)], {"PATH": os.pathsep.join([str(desk.bins), str(BINS), "/usr/bin", "/bin"])}
    done = desk.ran(str(BINS / "dataloader-expert"), "install", "claude-code", f"--{form}", "--yes")
    assert done.returncode == 0, done.stderr
    settings = desk.home / ".claude.json"
    kept = json.loads(settings.read_text()) if settings.exists() else {}
    # what the user agrees to when the client asks whether the folder and its servers are trusted
    kept["projects"] = {
        str(desk.project): {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["dataloader-expert"]}
    }
    settings.write_text(json.dumps(kept))
    return [], {}


@pytest.fixture(params=FORMS)
def asked(request: pytest.FixtureRequest, desk: Desk) -> Iterator[tuple[str, Api]]:
    """The client told to hand a task to the subagent, which calls one tool rightly and one wrongly."""
    form = request.param
    prefix = TOOL_PREFIX["plugin" if form == "plugin" else "installed"]
    agent = "dataloader-expert:dataloader-expert" if form == "plugin" else "dataloader-expert"
    script = [
        Step(SUBAGENT, f"{prefix}characterize_dataset", {"source": "data", "budget_s": 5}),
        Step(SUBAGENT, f"{prefix}check_quality", {"source": "/etc"}),
        Step(SUBAGENT, f"{prefix}check_quality", {"sorce": "data"}),
        Step(SUBAGENT),
        Step("", "Agent", {"description": "look", "prompt": "Describe data.", "subagent_type": agent}),
    ]
    more, environ = set_up(desk, form)
    with serving(script) as api:
        words = ["claude", "-p", "go", "--allowedTools", f"{prefix}*", "--output-format", "json", *more]
        done = desk.ran(*words, ANTHROPIC_BASE_URL=f"http://127.0.0.1:{api.port}", **environ)
        assert done.returncode == 0, done.stdout + done.stderr
        assert api.asked(SUBAGENT), "the subagent was not started"
        yield prefix, api


def test_the_subagent_measures_and_the_model_sees_the_report(asked: tuple[str, Api]) -> None:
    """Our promise, in all three forms: tools in the first request, the report in the result, errors that help."""
    prefix, api = asked
    first = {tool["name"]: tool for tool in api.asked(SUBAGENT)[0]["tools"]}
    assert {f"{prefix}{name}" for name in all_tools()} <= set(first)
    assert all(first[f"{prefix}{name}"]["input_schema"]["properties"]["source"] for name in all_tools())
    (wrong, result), (refused, outside), (misspelt, near) = api.results(SUBAGENT)
    assert not wrong
    told = json.loads(result)
    assert told["tool"] == "characterize_dataset"
    assert told["report_markdown"].startswith("## ") and told["report_uri"].startswith("report://")
    assert refused and outside.startswith("outside-roots: ") and "--root" in outside
    assert misspelt and "did you mean source?" in near


def test_the_clients_own_health_check_connects(desk: Desk) -> None:
    """``claude mcp list`` starts each server: ours answers it, before and after which `doctor` agrees."""
    set_up(desk, "user")
    listed = desk.ran("claude", "mcp", "list")
    assert "dataloader-expert: " in listed.stdout and "Connected" in listed.stdout, listed.stdout
    looked = desk.ran(str(BINS / "dataloader-expert"), "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(looked.stdout)["checks"]}
    assert checks["Claude Code, user"]["status"] == checks["Claude Code, user, subagent"]["status"] == "ok"


def test_what_the_client_wrote_since_stays_after_uninstall(desk: Desk) -> None:
    """Our promise: Claude Code writes its own things into the same file; only ours goes."""
    set_up(desk, "user")
    assert desk.ran("claude", "mcp", "add", "-s", "user", "other", "--", "/bin/true").returncode == 0
    done = desk.ran(str(BINS / "dataloader-expert"), "uninstall", "claude-code", "--user", "--yes")
    assert done.returncode == 0, done.stderr
    kept = json.loads((desk.home / ".claude.json").read_text())
    assert list(kept["mcpServers"]) == ["other"] and str(desk.project) in kept["projects"]
    assert not (desk.home / ".claude" / "agents").exists()


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["claude", "plugin", "validate", str(PLUGIN), "--strict"], id="the plugin"),
        pytest.param(
            ["claude", "plugin", "validate", str(PLUGIN), "--strict", "--profile", "directory"], id="for the directory"
        ),
        pytest.param(["claude", "plugin", "validate", str(ROOT), "--strict"], id="the marketplace"),
        pytest.param(["mcpb", "validate", str(ROOT / "packaging" / "mcpb" / "manifest.json")], id="the bundle"),
    ],
)
def test_the_clients_own_validators_pass(desk: Desk, words: list[str]) -> None:
    """Our promise: what we ship for a client is valid by that client's own command."""
    done = desk.ran(*words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_installs_from_the_marketplace_of_the_repository(desk: Desk) -> None:
    """Our promise: the two commands of the plugin's README."""
    added = desk.ran("claude", "plugin", "marketplace", "add", str(ROOT))
    assert added.returncode == 0, added.stdout + added.stderr
    done = desk.ran("claude", "plugin", "install", "dataloader-expert@dataloader-expert")
    assert done.returncode == 0, done.stdout + done.stderr

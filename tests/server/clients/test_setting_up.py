"""``install`` and ``uninstall``: what a client reads afterwards, and that undoing gives every byte back."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dataloader_expert.prompts import agent_md
from dataloader_expert.server import more
from dataloader_expert.server.clients.known import CLIENTS, Place
from dataloader_expert.server.command import main

OTHERS = '{\n    // mine\n    "KEY": {\n        "other": {"command": "x"}, // keep\n    },\n    "more": [1]\n}\n'
PLAIN = '{\n\t"more": [1],\n\t"KEY": {"other": {"command": "x"}}\n}'


class Said(NamedTuple):
    status: int
    out: str
    err: str


class Desk(NamedTuple):
    """A user's home and project, both empty."""

    home: Path
    project: Path

    def files(self) -> dict[str, bytes]:
        found = [p for top in self for p in top.rglob("*")]
        return {str(p): p.read_bytes() if p.is_file() else b"" for p in found}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path / "home", tmp_path / "project")
    for folder in desk:
        folder.mkdir()
    monkeypatch.setenv("HOME", str(desk.home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(desk.project)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return desk


def ran(*words: str) -> Said:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = main(list(words))
    return Said(status, out.getvalue(), err.getvalue())


CASES = [
    pytest.param(client, scope, id=f"{client.name}, {scope}") for client in CLIENTS.values() for scope in client.scopes
]


def configured(desk: Desk, name: str, scope: str) -> tuple[Path, str]:
    client = CLIENTS[name]
    return client.file(scope, Place(desk.project, desk.home, {})), client.key  # type: ignore[arg-type]


def words(command: str, name: str, scope: str, *more: str) -> tuple[str, ...]:
    roots = ("--root", ".") if command == "install" and (scope, name) in ROOTED else ()
    return (command, name, f"--{scope}", *roots, *more)


ROOTED = {("user", "claude-desktop"), ("user", "cursor")}


@pytest.mark.parametrize(("client", "scope"), CASES)
def test_a_client_is_set_up_where_there_was_nothing_and_everything_goes_again(
    desk: Desk, client: Any, scope: str
) -> None:
    """Our promise: no file, folder or record is left behind."""
    before = desk.files()
    assert ran(*words("install", client.name, scope, "--yes")).status == 0
    path, key = configured(desk, client.name, scope)
    entry = json.loads(path.read_text())[key]["dataloader-expert"]
    assert Path(entry["command"]).is_absolute() and entry["args"][0] == "serve"
    assert entry.get("alwaysLoad", False) == (client.name == "claude-code")
    again = ran(*words("install", client.name, scope, "--yes"))
    assert again.status == 0 and "Nothing to change." in again.out
    assert ran(*words("uninstall", client.name, scope, "--yes")).status == 0
    after = {name: body for name, body in desk.files().items() if "/.local" not in name}
    assert after == before
    assert not list((desk.home / ".local").rglob("*.json"))


@pytest.mark.parametrize(("client", "scope"), CASES)
def test_other_entries_comments_and_layout_stay(desk: Desk, client: Any, scope: str) -> None:
    """Our promise: an entry is added between the user's own, and undoing gives back every byte."""
    path, key = configured(desk, client.name, scope)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (OTHERS if client.comments else PLAIN).replace("KEY", key)
    path.write_text(text)
    path.chmod(0o640)
    shown = ran(*words("install", client.name, scope, "--yes"))
    assert shown.status == 0
    now = path.read_text()
    assert all(line.rstrip(",}") in now for line in text.splitlines())
    assert "+" in shown.out and '"dataloader-expert"' in shown.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert ran(*words("uninstall", client.name, scope, "--yes")).status == 0
    assert path.read_text() == text


def test_what_stood_under_our_name_comes_back(desk: Desk) -> None:
    """Our promise: an entry of the user's own is shown as replaced, and is there again after uninstall."""
    text = '{"mcpServers": {"dataloader-expert": {"command": "mine", "env": {"MY_TOKEN": "s3cret"}}}}'
    Path(".mcp.json").write_text(text)
    shown = ran("install", "claude-code", "--yes").out
    assert '-{"mcpServers"' in shown and "s3cret" not in shown
    assert "mine" not in Path(".mcp.json").read_text()
    ran("uninstall", "claude-code", "--yes")
    assert Path(".mcp.json").read_text() == text


def test_a_file_changed_since_loses_our_entry_only(desk: Desk) -> None:
    """Our promise: what the user added after install stays after uninstall."""
    ran("install", "claude-code", "--yes")
    path = Path(".mcp.json")
    there = json.loads(path.read_text())
    there["mcpServers"]["later"] = {"command": "y"}
    path.write_text(json.dumps(there, indent=4))
    ran("uninstall", "claude-code", "--yes")
    assert json.loads(path.read_text()) == {"mcpServers": {"later": {"command": "y"}}}


def test_without_a_record_the_entry_is_taken_out(desk: Desk) -> None:
    """Our promise: an entry that a colleague installed or that was written by hand can be uninstalled too."""
    ran("install", "vscode", "--yes")
    (desk.home / ".local/state/dataloader-expert/installed.json").unlink()
    ran("uninstall", "vscode", "--yes")
    assert json.loads(Path(".vscode/mcp.json").read_text()) == {"servers": {}}


def test_an_entry_of_an_older_version_is_renewed_and_still_undone(desk: Desk) -> None:
    """Our promise: installing again brings the entry up to date; the record keeps what was there first."""
    text = '{"mcpServers": {"other": {"command": "x"}}}'
    Path(".mcp.json").write_text(text)
    ran("install", "claude-code", "--yes")
    old = Path(".mcp.json").read_text().replace('"serve"', '"old"')
    Path(".mcp.json").write_text(old)
    ran("install", "claude-code", "--yes")
    assert '"old"' not in Path(".mcp.json").read_text()
    ran("uninstall", "claude-code", "--yes")
    assert Path(".mcp.json").read_text() == text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("claude-code", '{"mcpServers": {', "line 1, column 17", id="cut short"),
        pytest.param("claude-code", '{\n// c\n"a": 1}', "reads plain JSON", id="a comment where the client reads none"),
        pytest.param("vscode", '{"servers": []}', "servers is a list", id="no object of servers"),
        pytest.param("cursor", "\udcff", "not UTF-8", id="not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_left(desk: Desk, name: str, text: str, said: str) -> None:
    """Our promise: a clear error that names the file and what to do; nothing is lost, no other file is written."""
    path, _ = configured(desk, name, "project")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = desk.files()
    done = ran("install", name, "--yes")
    assert done.status == 2
    assert done.err.startswith("invalid-argument: ") and str(path) in done.err and said in done.err
    assert "nothing was changed" in done.err
    assert desk.files() == before


def test_nothing_is_changed_unless_it_is_agreed_to(desk: Desk) -> None:
    """Our promise: the change is shown first; without a terminal, --yes must say it; --dry-run never writes."""
    asked = ran("install", "claude-code")
    assert (asked.status, "pass --yes" in asked.err) == (2, True)
    assert "+++" in asked.out and "…" in asked.out
    assert ran("install", "claude-code", "--dry-run").status == 0
    assert desk.files() == {}


def test_a_client_that_knows_no_project_needs_roots(desk: Desk) -> None:
    """Our promise: no set-up that answers every call with `no root is set`."""
    done = ran("install", "claude-desktop", "--yes")
    assert done.status == 2 and "--root DIR" in done.err
    assert ran("install", "claude-desktop", "--yes", "--root", "nowhere").status == 2
    assert ran("install", "claude-desktop", "--project", "--yes").status == 2
    assert desk.files() == {}


def test_a_linked_configuration_stays_a_link(desk: Desk) -> None:
    """Our promise: configurations kept in a repository of dotfiles are changed there."""
    kept = desk.home / "dotfiles.json"
    kept.write_text("{}")
    (desk.home / ".claude.json").symlink_to(kept)
    ran("install", "claude-code", "--user", "--yes")
    assert (desk.home / ".claude.json").is_symlink()
    assert "dataloader-expert" in kept.read_text()
    ran("uninstall", "claude-code", "--user", "--yes")
    assert kept.read_text() == "{}"


def test_the_subagent_uses_the_server_that_is_configured(desk: Desk) -> None:
    """Our promise: the installed agent file names no command of its own, which might not be on the PATH."""
    ran("install", "claude-code", "--user", "--yes")
    agent = (desk.home / ".claude/agents/dataloader-expert.md").read_text()
    assert agent == agent_md("installed")
    assert "mcpServers" not in agent and "tools: Read, Grep, Glob, mcp__dataloader-expert__*" in agent


def test_a_changed_subagent_is_left_and_said(desk: Desk) -> None:
    """Our promise: the user's own words are not deleted."""
    ran("install", "claude-code", "--yes")
    agent = Path(".claude/agents/dataloader-expert.md")
    agent.write_text(agent.read_text() + "\nMy rule.\n")
    done = ran("uninstall", "claude-code", "--yes")
    assert done.status == 0 and "was left unchanged" in done.err
    assert "My rule." in agent.read_text()


def test_an_environment_inside_the_project_is_named_by_the_clients_variable(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our promise: a shared .mcp.json holds no path of one machine where it need not."""
    bins = desk.project / ".venv" / "bin"
    bins.mkdir(parents=True)
    (bins / "dataloader-expert").write_text("#!/bin/sh\n")
    (bins / "dataloader-expert").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bins / "python"))
    ran("install", "claude-code", "--yes")
    ran("install", "vscode", "--yes")
    assert "${CLAUDE_PROJECT_DIR:-.}/.venv/bin/dataloader-expert" in Path(".mcp.json").read_text()
    assert "${workspaceFolder}/.venv/bin/dataloader-expert" in Path(".vscode/mcp.json").read_text()
    monkeypatch.setenv("PATH", str(bins))
    ran("install", "claude-code", "--user", "--yes")
    there = json.loads((desk.home / ".claude.json").read_text())["mcpServers"]["dataloader-expert"]
    activated = sys.prefix != sys.base_prefix
    assert there["command"] == (str(bins / "dataloader-expert") if activated else "dataloader-expert")


@pytest.mark.parametrize(
    ("python", "command"),
    [
        pytest.param(".cache/uv/archive-v0/x1/bin/python", ["uvx", "dataloader-expert"], id="uvx"),
        pytest.param(".local/share/pipx/.cache/x1/bin/python", ["pipx", "run", "dataloader-expert"], id="pipx run"),
    ],
)
def test_a_cache_that_may_be_emptied_is_not_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, python: str, command: list[str]
) -> None:
    """Our promise: set up from ``uvx`` or ``pipx run``, it is started the same way again."""
    monkeypatch.setattr(sys, "executable", str(desk.home / python))
    ran("install", "claude-code", "--yes")
    entry = json.loads(Path(".mcp.json").read_text())["mcpServers"]["dataloader-expert"]
    assert [entry["command"], *entry["args"]] == [*command, "serve"]


def test_the_command_line_knows_the_clients() -> None:
    """Our promise: listed twice, since the parser must stay light, and held equal here."""
    assert tuple(CLIENTS) == more.CLIENTS

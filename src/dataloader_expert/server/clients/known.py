"""The clients that can be set up: where each stores its servers, and what an entry looks like."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dataloader_expert.errors import RequestError

Scope = Literal["project", "user"]
SERVER = "dataloader-expert"
"""The server's name in every configuration."""
AGENT_FILE = f"{SERVER}.md"


@dataclass(frozen=True)
class Place:
    """Where a client looks: the system, the user's folders and variables, and the project's folder."""

    project: Path
    home: Path
    environ: Mapping[str, str]
    system: str = sys.platform

    @classmethod
    def here(cls) -> Place:
        return cls(Path.cwd(), Path.home(), dict(os.environ))

    def applications(self) -> Path:
        """Where programs on this system store user settings."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    def state(self) -> Path:
        """Where the record of what ``install`` changed is stored."""
        if self.system == "win32":
            folder = Path(self.environ.get("LOCALAPPDATA") or self.home / "AppData" / "Local")
        else:
            folder = Path(self.environ.get("XDG_STATE_HOME") or self.home / ".local" / "state")
        return folder / SERVER / "installed.json"


@dataclass(frozen=True)
class Client:
    """One client. ``key``: the object in its file that contains the servers; ``comments``: whether it accepts comments."""

    name: str
    title: str
    key: str
    scopes: tuple[Scope, ...]
    comments: bool
    project_variable: str | None = None
    """How its project files refer to the project's folder."""
    then: str = ""
    """What the user has to do next."""

    def file(self, scope: Scope, place: Place) -> Path:
        """Its configuration file.

        Raises:
            RequestError: ``invalid-argument`` for a scope that the client does not have.
        """
        if scope not in self.scopes:
            raise RequestError(
                "invalid-argument",
                f"{self.title} has no {scope} configuration: use --{self.scopes[0]}, or leave it out",
            )
        return _FILES[self.name, scope](place)

    def agent(self, scope: Scope, place: Place) -> Path | None:
        """The file of its subagent, if it has subagents."""
        if self.name != "claude-code":
            return None
        return (place.project / ".claude" if scope == "project" else _claude(place)) / "agents" / AGENT_FILE

    def entry(self, scope: Scope, command: tuple[str, ...], roots: tuple[str, ...]) -> dict[str, Any]:
        """The server's entry in its file."""
        given = [word for root in roots for word in ("--root", root)]
        if not roots and self.name in ("vscode", "cursor"):  # they may start the server in another folder
            given = ["--root", "${workspaceFolder}"]
        entry: dict[str, Any] = {"command": command[0], "args": [*command[1:], "serve", *given]}
        if self.name != "claude-desktop":
            entry = {"type": "stdio", **entry}
        if self.name == "claude-code":
            entry["alwaysLoad"] = True  # otherwise a subagent that starts early gets none of our tools
        return entry

    def needs_roots(self, scope: Scope) -> bool:
        """Whether it starts servers outside any project, so that the readable folders must be named."""
        return scope == "user" and self.name in ("claude-desktop", "cursor")


def _claude(place: Place) -> Path:
    return Path(place.environ.get("CLAUDE_CONFIG_DIR") or place.home / ".claude")


def _claude_user(place: Place) -> Path:
    return Path(place.environ.get("CLAUDE_CONFIG_DIR") or place.home) / ".claude.json"


_FILES: dict[tuple[str, Scope], Callable[[Place], Path]] = {
    ("claude-code", "project"): lambda place: place.project / ".mcp.json",
    ("claude-code", "user"): _claude_user,
    ("vscode", "project"): lambda place: place.project / ".vscode" / "mcp.json",
    ("vscode", "user"): lambda place: place.applications() / "Code" / "User" / "mcp.json",
    ("cursor", "project"): lambda place: place.project / ".cursor" / "mcp.json",
    ("cursor", "user"): lambda place: place.home / ".cursor" / "mcp.json",
    ("claude-desktop", "user"): lambda place: place.applications() / "Claude" / "claude_desktop_config.json",
}
CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            "mcpServers",
            ("project", "user"),
            comments=False,
            project_variable="${CLAUDE_PROJECT_DIR:-.}",
            then="Start `claude` in the project and approve the server, then ask: "
            "`Use dataloader-expert to analyse path/to/data`.",
        ),
        Client(
            "vscode",
            "VS Code",
            "servers",
            ("project", "user"),
            comments=True,
            project_variable="${workspaceFolder}",
            then="Open the folder in VS Code, run `MCP: List Servers` and start dataloader-expert.",
        ),
        Client(
            "cursor",
            "Cursor",
            "mcpServers",
            ("project", "user"),
            comments=True,
            project_variable="${workspaceFolder}",
            then="Open the folder in Cursor and enable dataloader-expert under Settings, MCP.",
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            "mcpServers",
            ("user",),
            comments=False,
            then="Quit Claude Desktop and start it again.",
        ),
    )
}

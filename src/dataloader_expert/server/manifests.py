"""The files by which clients and registries know this package, generated from the package itself.

``python -m dataloader_expert.server.manifests ROOT`` writes them into a checkout; a test checks that they are up to date.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from dataloader_expert.prompts import agent_md, workflows
from dataloader_expert.server.clients.known import SERVER
from dataloader_expert.tools.base import all_tools

TITLE = "DataLoader Expert"
PLUGIN_SERVER = "dle"
"""Its name inside the plugin: with the longer one, tool names would exceed the 64 characters that clients accept."""
OWNER = "dataloader-expert"
REPOSITORY = f"https://github.com/{OWNER}/{SERVER}"
REGISTRY_NAME = f"io.github.{OWNER}/{SERVER}"
PLUGIN, BUNDLE = "packaging/claude-code", "packaging/mcpb"


def files(root: Path) -> dict[str, str]:
    """Each file's path below the root of the repository, and its text."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        ".claude-plugin/marketplace.json": _json(marketplace(project)),
        f"{PLUGIN}/.claude-plugin/plugin.json": _json(plugin(project)),
        f"{PLUGIN}/.mcp.json": _json(plugin_servers()),
        f"{PLUGIN}/agents/{SERVER}.md": agent_md("plugin"),
        f"{PLUGIN}/README.md": plugin_readme(project),
        f"{PLUGIN}/LICENSE": (root / "LICENSE").read_text(encoding="utf-8"),
        f"{BUNDLE}/manifest.json": _json(bundle(project)),
        f"{BUNDLE}/pyproject.toml": bundle_project(project),
        f"{BUNDLE}/server.py": BUNDLE_ENTRY,
        "server.json": _json(registry(project)),
    }


def marketplace(project: dict[str, Any]) -> dict[str, Any]:
    """So that ``/plugin marketplace add`` accepts the repository."""
    return {
        "name": SERVER,
        "description": project["description"],
        "owner": {"name": OWNER, "url": REPOSITORY},
        "plugins": [
            {
                "name": SERVER,
                "source": f"./{PLUGIN}",
                "description": project["description"],
                "category": "development",
                "tags": project["keywords"],
            }
        ],
    }


def plugin(project: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": SERVER,
        "displayName": TITLE,
        "version": project["version"],
        "description": project["description"],
        "author": {"name": OWNER, "url": REPOSITORY},
        "homepage": REPOSITORY,
        "repository": REPOSITORY,
        "license": project["license"],
        "keywords": project["keywords"],
        "icon": "./icon.png",
        "userConfig": {
            "command": {
                "type": "string",
                "title": "Command",
                "description": f"{SERVER}, or its full path where it is not on the PATH (such as .venv/bin/{SERVER})",
                "default": SERVER,
            }
        },
        "network": {"hosts": []},
    }


def plugin_servers() -> dict[str, Any]:
    return {
        "mcpServers": {
            # alwaysLoad: a subagent that starts while the server is still connecting would get none of its tools
            PLUGIN_SERVER: {"type": "stdio", "command": "${user_config.command}", "args": ["serve"], "alwaysLoad": True}
        }
    }


def plugin_readme(project: dict[str, Any]) -> str:
    tools = "\n".join(f"- `{t.name}`: {t.title[:1].lower()}{t.title[1:]}" for t in all_tools().values())
    return f"""# {TITLE} for Claude Code

{project["description"]}

The plugin brings a subagent, `{SERVER}`, and the MCP server that it uses to measure. The server is the installed
command, so install the package first, where Claude Code finds it on the `PATH`: `uv tool install {SERVER}` or
`pipx install {SERVER}`. Then, in Claude Code:

    /plugin marketplace add {OWNER}/{SERVER}
    /plugin install {SERVER}@{SERVER}

In a shell: `claude plugin install {SERVER} --marketplace {OWNER}/{SERVER}`. If the tools are missing, `{SERVER} doctor`
says why. Where the package is installed in an environment that is not on the `PATH`, give the plugin the command's full
path, or use `{SERVER} install claude-code` instead.

## Tools

{tools}

Everything runs on your machine, on your data; nothing is sent anywhere. Your own Dataset classes run in a child process.
"""


def bundle(project: dict[str, Any]) -> dict[str, Any]:
    """The MCP bundle for Claude Desktop; it does not contain torch, uv installs the package."""
    return {
        "manifest_version": "0.4",
        "name": SERVER,
        "display_name": TITLE,
        "version": project["version"],
        "description": project["description"],
        "author": {"name": OWNER, "url": REPOSITORY},
        "repository": {"type": "git", "url": REPOSITORY},
        "homepage": REPOSITORY,
        "icon": "icon.png",
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py", "serve", "--root", "${user_config.root}"],
                "env": {},
            },
        },
        "user_config": {
            "root": {
                "type": "directory",
                "title": "Data folder",
                "description": "The folder below which data and your code may be read",
                "required": True,
            }
        },
        "tools": [{"name": t.name, "description": t.description} for t in all_tools().values()],
        "prompts_generated": True,
        "prompts": [
            {
                "name": w.name,
                "description": w.description,
                "arguments": list(w.arguments),
                "text": f"{w.title}.{''.join(f' {a}: ${{arguments.{a}}}.' for a in w.arguments)}",
            }
            for w in workflows().values()
        ],
        "keywords": project["keywords"],
        "license": project["license"],
        "compatibility": {
            "platforms": ["linux", "darwin"],
            "runtimes": {"python": project["requires-python"]},
        },
    }


def bundle_project(project: dict[str, Any]) -> str:
    return f"""[project]
name = "{SERVER}-bundle"
version = "{project["version"]}"
requires-python = "{project["requires-python"]}"
dependencies = ["{SERVER}=={project["version"]}"]
"""


BUNDLE_ENTRY = '''"""Starts the server that uv has installed; its arguments are those of the command."""

import sys

from dataloader_expert.server.command import main

sys.exit(main())
'''


def registry(project: dict[str, Any]) -> dict[str, Any]:
    """The MCP registry's ``server.json``; its description has at most 100 characters."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": REGISTRY_NAME,
        "title": TITLE,
        "description": "Measures PyTorch data pipelines: speed, memory, quality, samplers; proves each fix by a run.",
        "version": project["version"],
        "websiteUrl": REPOSITORY,
        "repository": {"url": REPOSITORY, "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": project["name"],
                "version": project["version"],
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "serve"},
                    {
                        "type": "named",
                        "name": "--root",
                        "description": "Folder below which data may be read; default: the project's folder",
                        "format": "filepath",
                        "isRepeated": True,
                        "isRequired": False,
                    },
                ],
            }
        ],
    }


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(root: Path) -> None:
    for name, text in files(root).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""What clients and registries read of the package is made from it, and valid by their own schemas."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from PIL import Image

from dataloader_expert import __version__
from dataloader_expert.prompts import TOOL_PREFIX
from dataloader_expert.server import manifests
from dataloader_expert.tools.base import all_tools

ROOT = Path(__file__).parents[2]
FILES = manifests.files(ROOT)
LONGEST_TOOL = 64
"""Provenance: clients refuse tool names beyond 64 characters, prefix included."""


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_the_package_makes_of_itself(name: str) -> None:
    """Our promise: versions, names and texts come from one place; ``make manifests`` writes them."""
    assert (ROOT / name).read_text(encoding="utf-8") == FILES[name]


def test_every_version_is_the_packages() -> None:
    """Our promise: pyproject.toml and the package say the same, and so does every manifest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__
    told = json.loads(FILES["server.json"])
    bundled = json.loads(FILES[f"{manifests.BUNDLE}/manifest.json"])
    plugin = json.loads(FILES[f"{manifests.PLUGIN}/.claude-plugin/plugin.json"])
    assert {told["version"], told["packages"][0]["version"], bundled["version"], plugin["version"]} == {__version__}


def test_the_registry_entry_is_valid_by_its_schema() -> None:
    """Provenance: the registry's published schema, as skillsaw ships it."""
    schema = resources.files("skillsaw") / "schemas/mcp_registry/v2025_12_11/server.schema.json"
    told = json.loads(FILES["server.json"])
    assert json.loads(schema.read_text(encoding="utf-8"))["$id"] == told["$schema"]
    jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(told)


def test_the_readme_names_the_registry_entry() -> None:
    """Provenance: the registry proves ownership by this comment in the package's README."""
    assert f"<!-- mcp-name: {manifests.REGISTRY_NAME} -->" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", TOOL_PREFIX)
def test_every_tool_name_fits_in_every_form_of_installation(form: str) -> None:
    """Our promise: names are short enough with each client's prefix."""
    prefix = TOOL_PREFIX[form]  # type: ignore[index]  # it is one of its own keys
    assert max(len(prefix + name) for name in all_tools()) <= LONGEST_TOOL


def test_the_plugin_names_its_server_as_its_agent_does() -> None:
    """Our promise: the prefix in the agent file follows from the plugin's and the server's names."""
    (server,) = json.loads(FILES[f"{manifests.PLUGIN}/.mcp.json"])["mcpServers"]
    plugin = json.loads(FILES[f"{manifests.PLUGIN}/.claude-plugin/plugin.json"])["name"]
    assert TOOL_PREFIX["plugin"] == f"mcp__plugin_{plugin}_{server}__"
    assert f"{TOOL_PREFIX['plugin']}*" in FILES[f"{manifests.PLUGIN}/agents/{plugin}.md"]


@pytest.mark.parametrize("folder", [manifests.PLUGIN, manifests.BUNDLE])
def test_the_icon_is_square_and_large_enough(folder: str) -> None:
    """Provenance: the plugin directory takes square PNG files of 512 to 2048 pixels."""
    with Image.open(ROOT / folder / "icon.png") as icon:
        assert icon.format == "PNG" and icon.width == icon.height and 512 <= icon.width <= 2048

"""The user's interpreter needs torch and numpy alone: none of our other dependencies may be asked of it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from dataloader_expert.lab.door import Door
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.execution import Settings, execute
from tests.making import users
from tests.making.shared import CHECKOUT

pytestmark = pytest.mark.journey

BLOCK = """
import importlib.abc
import sys


class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pydantic", "pydantic_core", "mcp", "pyarrow", "PIL", "xxhash", "datasets", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r} (refused)", name=name)
        return None


sys.meta_path.insert(0, Refuse())
"""


def bare_interpreter(folder: Path) -> Path:
    """An interpreter that finds torch and numpy but nothing else that we depend on."""
    (folder / "sitecustomize.py").write_text(BLOCK)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


def test_a_reference_is_measured_where_only_torch_and_numpy_are_installed(tmp_path: Path) -> None:
    """Our promise: the user's own environment is enough."""
    tool = all_tools()["analyze_dataset"]
    request = tool.request.model_validate({"source": f"{users.__file__}:with_own_sampler", "budget_s": 20})

    async def ask() -> object:
        door = Door(str(bare_interpreter(tmp_path)))
        try:
            return await execute(tool, request, door, Settings((str(CHECKOUT),)))
        finally:
            door.close()

    report = asyncio.run(ask())
    assert report.coverage.complete  # type: ignore[attr-defined]  # of that tool
    assert report.io.recommended.throughput.value > 0  # type: ignore[attr-defined]  # of that tool
    assert report.quality.checklist.no_nan_or_inf == "pass"  # type: ignore[attr-defined]  # of that tool


def test_another_version_of_ours_in_the_users_environment_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our promise: the server measures with its own code, whatever the user has installed."""
    other = tmp_path / "dataloader_expert"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('an older version')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    tool = all_tools()["characterize_dataset"]
    request = tool.request.model_validate({"source": f"{users.__file__}:Fine", "budget_s": 20})

    async def ask() -> object:
        door = Door()
        try:
            return await execute(tool, request, door, Settings((str(CHECKOUT),)))
        finally:
            door.close()

    assert asyncio.run(ask()).samples > 0  # type: ignore[attr-defined]  # of that tool


def test_an_interpreter_without_torch_is_refused_with_what_it_needs(tmp_path: Path) -> None:
    """Our promise: import-failed names the interpreter and the cure."""
    from dataloader_expert.errors import RequestError

    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)

    async def ask() -> str:
        door = Door(str(python))
        try:
            await door.host(True, (str(tmp_path),))
        except RequestError as e:
            return str(e)
        finally:
            door.close()
        return "no error"

    text = asyncio.run(ask())
    assert text.startswith("import-failed: ")
    assert str(python) in text
    assert "torch >= 2.4" in text

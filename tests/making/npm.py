"""Packages of npm for tests of clients that are not ours.

They are kept in the folder that DATALOADER_EXPERT_NPM names, else one in the temporary directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

NODE = "node@22"
"""Clients of today need Node 22; under an older one npm falls back to versions that know less."""
LONGEST_S = 240


def installed(room: str, *packages: str) -> Path:
    """The folder of programs, Node's among them; ``room`` keeps versions of one package apart. Skips where npm cannot."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there: the client cannot be installed")
    place = os.environ.get("DATALOADER_EXPERT_NPM")
    folder = (Path(place) if place else Path(tempfile.gettempdir()) / "dataloader-expert-npm") / room
    modules = folder / "node_modules"
    folder.mkdir(parents=True, exist_ok=True)
    for package in (NODE, *packages):
        scope, _, name = package.rpartition("/")
        if (modules / scope / name.partition("@")[0]).exists():
            continue
        command = [npm, "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(folder), package]
        try:
            done = subprocess.run(
                command, cwd=folder, env=with_path(modules / ".bin"), capture_output=True, text=True, timeout=LONGEST_S
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not install {package} within {LONGEST_S} s")
        if done.returncode:
            pytest.skip(f"npm could not install {package}: {done.stderr.strip()[-200:]}")
    return modules / ".bin"


def with_path(*folders: Path) -> dict[str, str]:
    return {**os.environ, "PATH": os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])}

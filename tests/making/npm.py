"""Programs that npm installs, for tests of clients that are not ours.

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


def installed(**packages: str) -> Path:
    """The folder of programs that holds Node and each program, given as ``program=package``; skips where npm cannot."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there: the client cannot be installed")
    place = os.environ.get("DATALOADER_EXPERT_NPM")
    folder = Path(place) if place else Path(tempfile.gettempdir()) / "dataloader-expert-clients"
    bins = folder / "node_modules" / ".bin"
    folder.mkdir(parents=True, exist_ok=True)
    for program, package in {"node": NODE, **packages}.items():
        if (bins / program).exists():
            continue
        command = [npm, "install", "--no-fund", "--no-audit", "--loglevel=error", package]
        try:
            done = subprocess.run(
                command, cwd=folder, env=with_path(bins), capture_output=True, text=True, timeout=LONGEST_S
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not install {package} within {LONGEST_S} s")
        if done.returncode:
            pytest.skip(f"npm could not install {package}: {done.stderr.strip()[-200:]}")
    return bins


def with_path(*folders: Path) -> dict[str, str]:
    return {**os.environ, "PATH": os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])}

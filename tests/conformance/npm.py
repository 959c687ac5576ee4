"""Packages of npm that tests drive the server with: kept in the folder that DATALOADER_EXPERT_NPM names, else a temporary one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

NODE = "node@22"
"""The clients need Node 22; under an older one npm falls back to versions that know less."""


def installed(room: str, *packages: tuple[str, str]) -> Path:
    """The folder of programs; ``room`` keeps versions of one package apart. Skips the test where they cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not there: the client cannot be installed")
    place = os.environ.get("DATALOADER_EXPERT_NPM")
    folder = (Path(place) if place else Path(tempfile.gettempdir()) / "dataloader-expert-npm") / room
    bins = folder / "node_modules" / ".bin"
    folder.mkdir(parents=True, exist_ok=True)
    for package, program in ((NODE, "node"), *packages):
        if (bins / program).exists():
            continue
        command = [npm, "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(folder), package]
        try:
            done = subprocess.run(command, cwd=folder, env=with_path(bins), capture_output=True, text=True, timeout=240)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not install {package} within 240 s")
        if done.returncode:
            pytest.skip(f"npm could not install {package}: {done.stderr.strip()[-200:]}")
    return bins


def with_path(bins: Path) -> dict[str, str]:
    return {**os.environ, "PATH": os.pathsep.join([str(bins), os.environ.get("PATH", os.defpath)])}

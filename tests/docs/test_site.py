"""The documentation as a site: it builds without a broken link, asks no other server, and its tutorial runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dataloader_expert.tools.reference import reference

ROOT = Path(__file__).parents[2]
TITLED = re.compile(r'```python title="([\w.]+)"\n(.*?)```', re.DOTALL)
COMMANDS = re.compile(r"```sh\n(.*?)```", re.DOTALL)
ASSET = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')


def test_the_site_builds_without_a_broken_link(tmp_path: Path) -> None:
    """Our promise: every page is reached from the site's contents, no link is broken, and no asset comes from elsewhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-2000:]
    assert "not included in the" not in built.stderr, built.stderr[-2000:]
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert not ASSET.findall(page.read_text(encoding="utf-8")), page


def test_the_reference_is_generated_from_the_code() -> None:
    """Our promise: docs/reference.md lists the arguments and fields that there are.

    Anew: ``python -m dataloader_expert.tools.reference > docs/reference.md``.
    """
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == reference()


@pytest.mark.journey
def test_the_tutorial_runs_as_it_stands(tmp_path: Path) -> None:
    """Our promise: whoever copies the tutorial's files and commands gets through it."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    for name, text in TITLED.findall(page):
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands = [line for block in COMMANDS.findall(page) for line in block.splitlines()]
    assert len(commands) == 4
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for line in commands:
        ran = subprocess.run(
            line,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, (line, ran.stdout[-2000:], ran.stderr[-2000:])

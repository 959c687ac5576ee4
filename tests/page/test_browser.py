"""The page in a headless Chromium, light and dark, wide and narrow: no message, no request, no finding of axe.

Chromium is the system's (``apt install chromium``), or the one that
DATALOADER_EXPERT_CHROMIUM names. SCREENSHOTS names a folder for pictures of what was seen.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.page.rendering import page
from dataloader_expert.report import Report
from dataloader_expert.server.pages import shell
from tests.making.npm import installed

pytestmark = [pytest.mark.journey, pytest.mark.client]
SCRIPT = Path(__file__).with_name("browser.cjs")
DARK, LIGHT = "rgb(13, 17, 23)", "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def chromium() -> str:
    named = os.environ.get("DATALOADER_EXPERT_CHROMIUM")
    found = named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium here: apt install chromium")
    return found


@pytest.fixture(scope="module")
def modules() -> Path:
    return installed("browser", "playwright-core@1", "axe-core@4").parent


def seen(chromium: str, modules: Path, mode: str, *files: Path) -> Any:
    command = ["node", str(SCRIPT), chromium, mode, *map(str, files)]
    environment = {**os.environ, "NODE_PATH": str(modules)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_pages_show_without_a_message_a_request_or_a_barrier(
    chromium: str, modules: Path, reports: dict[str, Report], tmp_path: Path
) -> None:
    """Our promise: readable by everybody, in either scheme, on a phone too, without a network."""
    files = {}
    for key in ("analyze", "table", "diagnose", "batch"):  # every kind of chart
        files[key] = tmp_path / f"{key}.html"
        files[key].write_text(page(reports[key]), encoding="utf-8")
    told = seen(chromium, modules, "page", *files.values())
    for key, file in files.items():
        assert len(told[str(file)]) == 4
        for look in told[str(file)]:
            where = f"{key} in {look['colorScheme']} at {look['width']}"
            assert look["said"] == [], where
            assert look["asked"] == [], where
            assert look["violations"] == [], where
            assert look["scrollWidth"] <= look["width"], f"{where} is to be scrolled sideways"
            assert look["ground"] == (DARK if look["colorScheme"] == "dark" else LIGHT)
            assert look["charts"] > 0


@pytest.mark.parametrize("mode", ["view", "without resources"])
def test_the_view_shows_the_same_page_inside_a_client(
    chromium: str, modules: Path, reports: dict[str, Report], tmp_path: Path, mode: str
) -> None:
    """MCP Apps, 2026-01-26: the view is told the result and reads the page; without that it shows the Markdown."""
    report = reports["check"]
    result = {
        "content": [{"type": "text", "text": "# The report"}],
        "structuredContent": {"report_uri": "report://0123456789", "report_markdown": "# The report <b>"},
    }
    texts = {"shell.html": shell(), "page.html": page(report), "result.json": json.dumps(result)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    told = seen(chromium, modules, mode, *(tmp_path / name for name in texts))["view"]
    for look in told:
        assert look["said"] == []
        assert look["asked"] == []
        assert look["told"][0] == "ui/initialize"
        assert look["told"][1] == "ui/notifications/initialized"
        assert "ui/notifications/size-changed" in look["told"]
        assert look["ground"] == DARK, "the host's theme decides"
        if mode == "view":
            assert look["heading"] == "pictures"
            assert look["violations"] == []
            assert look["charts"] > 0
        else:
            assert look["text"].strip() == "# The report <b>"

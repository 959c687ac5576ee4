"""Every Python block of the pages on loaders runs: those of the guide in their order, as one program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.journey

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_guide_runs(tmp_path: Path) -> None:
    """Our promise: what the guide shows is what happens."""
    blocks = BLOCK.findall((ROOT / "docs" / "loader-guide.md").read_text())
    assert len(blocks) > 15
    program = tmp_path / "guide.py"
    lines = [f"def block_{n}():\n    pass\n{block}" for n, block in enumerate(blocks)]  # a failing line tells its block
    program.write_text("if __name__ == '__main__':\n" + _indented("\n".join(lines)))
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def _indented(code: str) -> str:
    """Indented by four, but for what stands within a string of several lines."""
    parts = code.split("'''")
    return "'''".join(p if i % 2 else p.replace("\n", "\n    ") for i, p in enumerate(["    " + parts[0], *parts[1:]]))

"""JSON files that are never half written."""

from __future__ import annotations

import json
import os
from pathlib import Path


def write_json(value: object, path: Path) -> None:
    """Writes ``value``, indented, in UTF-8; makes missing folders and replaces an older file atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

"""Where real data sets lie that several projects share, if they are there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

NAME = "DATALOADER_EXPERT_DATA"
CHECKOUT = Path(__file__).parents[2]


def shared() -> Path | None:
    """The folder with MANIFEST.json: ``DATALOADER_EXPERT_DATA``, else ``../shared/data`` beside the checkout."""
    folder = Path(os.environ.get(NAME) or CHECKOUT.parent / "shared" / "data")
    return folder if (folder / "MANIFEST.json").is_file() else None


def manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """Each data set's entry by name."""
    entries = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["datasets"]
    return {entry["name"]: entry for entry in entries}

"""Where real data sets lie that several projects share, if they are there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

NAME = "DATALOADER_EXPERT_DATA"
CHECKOUT = Path(__file__).parents[2]


def shared() -> Path | None:
    """The folder with MANIFEST.json: ``DATALOADER_EXPERT_DATA``, else ``../shared/data`` beside the checkout."""
    folder = Path(os.environ.get(NAME) or CHECKOUT.parent / "shared" / "data")
    return folder if (folder / "MANIFEST.json").is_file() else None


def real(cases: Iterable[str]) -> list[Any]:
    """Cases of the shared data sets, as parameters: journeys, for they are large; none where the folder is not there."""
    return [] if shared() is None else [pytest.param(case, marks=pytest.mark.journey) for case in cases]


def manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """Each data set's entry by name."""
    entries = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["datasets"]
    return {entry["name"]: entry for entry in entries}

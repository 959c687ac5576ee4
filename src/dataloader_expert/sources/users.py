"""Which code is the user's own."""

from __future__ import annotations

import importlib
from pathlib import Path


def is_users(filename: str) -> bool:
    """Whether a frame's file belongs neither to us, nor to the standard library, nor to an installed package."""
    ours, standard = str(Path(__file__).parent.parent), str(Path(importlib.__file__).parent.parent)
    return not filename.startswith((ours, "<frozen", standard)) and "site-packages" not in filename

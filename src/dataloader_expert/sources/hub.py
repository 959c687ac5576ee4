"""What Hugging Face's ``datasets`` writes next to the data: class names of ClassLabel features."""

from __future__ import annotations

import json
from typing import Any


def feature_classes(info: bytes | str | None, label: str | None) -> tuple[str, ...] | None:
    """The names of the label's ClassLabel feature, from ``dataset_info.json`` or a Parquet file's metadata."""
    if not info or label is None:
        return None
    try:
        data: Any = json.loads(info)
        features = data.get("features") or data["info"]["features"]
        names = features[label].get("names", None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return tuple(map(str, names)) if isinstance(names, list) else None

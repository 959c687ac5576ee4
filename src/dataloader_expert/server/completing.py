"""Completions for the arguments of prompts and resource templates: paths, references, formats, fields, splits, reports."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.prompts.references import Kind, references
from dataloader_expert.server.looking import Looks
from dataloader_expert.sources.opened import below
from dataloader_expert.sources.registry import GROUP, formats
from dataloader_expert.tools.base import Request
from dataloader_expert.tools.execution import Settings

FIELDS = ("label", "group", "time", "group_by", "difficulty", "length")
SPLITS = ("split", "train_split")
REFERENCES: dict[str, tuple[Kind, ...]] = {
    "source": ("loader", "dataset"),
    "model": ("model",),
    "transform": ("transform",),
}
MOST_ENTRIES = 1000


async def completed(
    name: str, value: str, known: Mapping[str, str], settings: Settings, looks: Looks, reports: Sequence[str]
) -> list[str]:
    """Completions of ``value``, the most likely first. ``known``: the arguments given so far."""
    if name == "id":
        return [id_ for id_ in reversed(reports) if id_.startswith(value)]
    if name == "format":
        known_formats = {*formats(), *(point.name for point in entry_points(group=GROUP))}
        return [format_ for format_ in sorted(known_formats) if format_.startswith(value)]
    if name in REFERENCES:
        found = await asyncio.to_thread(references, settings.roots, REFERENCES[name]) if not settings.no_code else []
        paths = await asyncio.to_thread(_paths, value, settings.roots) if name == "source" else []
        return [*(r for r in found if value.lower() in r.lower()), *paths]
    if name not in (*FIELDS, *SPLITS) or not known.get("source"):
        return []
    try:
        look = await looks.at(Request.model_validate({"source": known["source"], "format": known.get("format")}))
    except RequestError:
        return []
    if look is None:
        return []
    there = list(look.splits) if name in SPLITS else sorted(look.fields, key=lambda f: f != look.label)
    return [escaped(n) for n in there if n.lower().startswith(value.lower())]


def _paths(value: str, roots: tuple[str, ...]) -> list[str]:
    """Folders and files below the roots that begin with ``value``: relative to the first root, or absolute."""
    if not roots or "\0" in value:
        return []
    folder, _, begun = value.rpartition("/")
    above = (folder or "/") if value.startswith("/") else folder
    base = Path(above) if value.startswith("/") else Path(roots[0]) / above
    if not below(os.path.realpath(base), roots):
        return [root for root in roots if root.startswith(value)] if value.startswith("/") else []
    found = []
    try:
        with os.scandir(base) as listed:
            for _, entry in zip(range(MOST_ENTRIES), listed, strict=False):
                if entry.name.startswith(begun) and not entry.name.startswith(".") and entry.name.isprintable():
                    shown = f"{above.rstrip('/')}/{entry.name}" if above else entry.name
                    found.append(shown + "/" if entry.is_dir() else shown)
    except OSError:
        return []
    return sorted(found)

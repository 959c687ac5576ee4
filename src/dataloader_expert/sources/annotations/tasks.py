"""Label Studio's export: a JSON file of tasks, each with the file that it shows and what was said of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import (
    MOST_TOLD,
    NEARLY_ALL,
    ODD,
    Annotations,
    Names,
    Row,
    Table,
    around,
)
from dataloader_expert.sources.files import Listing

KIND = "tasks"
HEAD, MOST_BYTES, MOST_FILES = 1 << 18, 1 << 28, 20
_UPLOADED = re.compile(r"[0-9a-f]{8}-(?=.)")
"""What the names of uploaded files begin with, and the files themselves do not."""


def join_tasks(found: Annotations, listing: Listing, paths: list[str]) -> None:
    files: Names | None = None
    taken = {*found.tables}
    able = [e for e in listing.entries if e.kind == "json" and e.path not in taken and 0 < e.size <= MOST_BYTES]
    for entry in able if len(able) <= MOST_FILES else ():  # more are of a sample each
        try:
            head = listing.head(entry.path, HEAD)
            if b'"annotations"' not in head or b'"data"' not in head or not head.lstrip().startswith(b"["):
                continue
            tasks = json.loads(listing.read(entry.path))
            files = files or Names(paths)
            named = [(task, _file_of(task["data"], files)) for task in tasks if isinstance(task["annotations"], list)]
            there = [(task, path) for task, path in named if path is not None]
            if len(there) < max(2, NEARLY_ALL * len(tasks)):
                continue
            _join(found, entry.path, there)
        except ODD:
            continue
        found.problems += [
            Unreadable(
                "dangling-reference", f"names {escaped(str(task['data']), 80)}, which is not there", file=entry.path
            )
            for task, path in named
            if path is None
        ][:MOST_TOLD]


def _file_of(data: Mapping[str, Any], files: Names) -> str | None:
    """The file that a task shows: uploaded, from local storage, or at another address."""
    for value in data.values():
        if isinstance(value, str) and "." in value:
            name = value.rpartition("?d=")[2]
            folder, _, last = name.rpartition("/")
            path = files.find(name, False) or files.find(f"{folder}/{_UPLOADED.sub('', last, count=1)}", False)
            if path is not None:
                return path
    return None


def _join(found: Annotations, table: str, tasks: list[tuple[dict[str, Any], str]]) -> None:
    """Takes over the first annotation of each task that was not cancelled."""
    boxed: dict[str, tuple[list[list[float]], list[str]]] = {}
    rows: dict[str, Row] = {}
    for task, path in tasks:
        said = next((one for one in task["annotations"] if not one.get("was_cancelled")), None)
        if said is None:
            continue
        rows[path], boxed[path] = {}, ([], [])
        for one in said.get("result") or []:
            value, kind = one.get("value") or {}, one.get("type")
            if kind in ("rectanglelabels", "polygonlabels"):
                boxed[path][0].append(_box(value, one))
                boxed[path][1].append(str(value[kind][0]))
                found.outlines = found.outlines or kind == "polygonlabels"
            elif kind in value:
                told = value[kind]
                rows[path][str(one.get("from_name"))] = told[0] if isinstance(told, list) and len(told) == 1 else told
    if any(boxes for boxes, _ in boxed.values()):
        found.add_named(boxed)
    for path, row in rows.items():
        found.add(path, row)
    found.tables.append(table)
    fields = tuple(dict.fromkeys(name for row in rows.values() for name in row))
    found.joined.append(Table(table, KIND, "data", by_stem=False, paths={path: path for path in rows}, fields=fields))


def _box(value: Mapping[str, Any], one: Mapping[str, Any]) -> list[float]:
    """Left, top, right and bottom in pixels, from percent of the width and the height."""
    width, height = one["original_width"] / 100, one["original_height"] / 100
    if "points" in value:
        xs, ys = zip(*value["points"], strict=True)
    else:
        xs, ys = (value["x"], value["x"] + value["width"]), (value["y"], value["y"] + value["height"])
    return around([x * width for x in xs], [y * height for y in ys])

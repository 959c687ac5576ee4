"""Delta tables: which files a table consists of is what its log says. Files that were replaced stay where they are until they are vacuumed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from dataloader_expert.conclusions import number
from dataloader_expert.errors import Aside, Unreadable
from dataloader_expert.facts import Unknown
from dataloader_expert.sources.files import Listing

_LOG = re.compile(r"((?:.*/)?)_delta_log/(\d{20})(?:\.json|(?:\.\d+\.\d+)?(\.checkpoint)(?:\.\d+\.\d+)?\.parquet)")
_OF = re.compile(r"\.\d+\.(\d+)\.parquet\Z")
Action = Mapping[str, Any]


def without_replaced(listing: Listing) -> list[Unknown]:
    """Takes the files out of the listing that the log of a table no longer names, and the log itself; returns what remains unknown."""
    logs: dict[str, list[tuple[int, bool, str]]] = {}
    for entry in listing.entries:
        if (match := _LOG.fullmatch(entry.path)) is not None:
            logs.setdefault(match[1], []).append((int(match[2]), match[3] is None, entry.path))
    unknowns: list[Unknown] = []
    for root, log in logs.items():
        try:
            named = _current(listing, log)
        except (Unreadable, ValueError, KeyError, TypeError, OSError):
            unknowns.append(
                Unknown("table log", f"{root}_delta_log cannot be read, so files that were replaced may be read too")
            )
            continue
        there = {
            e.path
            for e in listing.entries
            if e.path.startswith(root) and e.kind == "parquet" and "_delta_log/" not in e.path
        }
        current = {root + path for path in named}
        listing.entries[:] = [e for e in listing.entries if e.path not in there - current]
        listing.problems += [
            Aside("note", "is no longer part of the table, as its log says: not read", file=path)
            for path in sorted(there - current)
        ]
        listing.problems += [
            Unreadable("missing-shard", "is missing, although the table's log names it", file=path)
            for path in sorted(current - there)
        ]
        if marked := sum(map(bool, named.values())):
            text = f"the log marks rows of {number(marked, 'file')} as deleted; they are read nevertheless"
            unknowns.append(Unknown("deleted rows", text))
    if logs:
        listing.entries[:] = [e for e in listing.entries if "_delta_log" not in e.path.split("/")]
    return unknowns


def _current(listing: Listing, log: list[tuple[int, bool, str]]) -> dict[str, bool]:
    """The table's files, from its folder on, and whether rows of each are marked as deleted.

    Raises:
        ValueError: the log has a gap, or begins later than with version 0 and no checkpoint that can be read.
    """
    whole = max((version for version, plain, _ in log if not plain), default=-1)
    later = sorted({version for version, plain, _ in log if plain and version > whole})
    parts = [path for version, plain, path in log if not plain and version == whole]
    told = [int(of[1]) for path in parts if (of := _OF.search(path)) is not None]
    if later != [*range(whole + 1, whole + 1 + len(later))] or len(parts) < max(told, default=0):
        raise ValueError("versions or parts of a checkpoint are missing")
    found: dict[str, bool] = {}
    for version, plain, path in sorted(log):
        if version < whole or (version == whole and plain):
            continue
        # the order within a version says nothing: a file that is removed may be added again, with rows marked as deleted
        for action in sorted(_actions(listing, path, plain), key=lambda one: one.get("remove") is None):
            if (added := action.get("add")) is not None:
                found[unquote(added["path"])] = added.get("deletionVector") is not None
            elif (removed := action.get("remove")) is not None:
                found.pop(unquote(removed["path"]), None)
    return found


def _actions(listing: Listing, path: str, plain: bool) -> Iterator[Action]:
    data = listing.read(path)
    if plain:
        yield from (json.loads(line) for line in data.splitlines() if line.strip())
        return
    import pyarrow.parquet as pq

    table = pq.ParquetFile(io.BytesIO(data)).read(columns=["add"])
    yield from ({"add": of} for of in table.column("add").to_pylist() if of is not None)

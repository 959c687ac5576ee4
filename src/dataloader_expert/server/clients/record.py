"""What ``install`` changed, recorded so that ``uninstall`` undoes exactly that.

If a file has not been changed since, one splice restores every byte; if it has, the record says what our name held before
and which objects were created for it. The record contains nothing else of the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dataloader_expert.server.clients.writing import replaced


@dataclass(frozen=True)
class Change:
    """The change of one file. ``text`` goes back to ``start:end`` of what was written, whose digest is ``digest``.

    ``created``: the file did not exist; ``folders``: those created for it, innermost first; ``made``: whether the object
    of the servers was created; ``previous``: the earlier entry of our name.
    """

    digest: str
    start: int
    end: int
    text: str
    created: bool
    folders: tuple[str, ...] = ()
    made: bool = False
    previous: Any = None

    def undone(self, now: str) -> str | None:
        """The text before the change; None if the file has been changed since."""
        return now[: self.start] + self.text + now[self.end :] if digest(now) == self.digest else None


def change(
    before: str | None, after: str, folders: tuple[str, ...] = (), made: bool = False, previous: Any = None
) -> Change:
    old = before or ""
    start = 0
    while start < min(len(old), len(after)) and old[start] == after[start]:
        start += 1
    same = 0
    while same < min(len(old), len(after)) - start and old[-1 - same] == after[-1 - same]:
        same += 1
    text = old[start : len(old) - same]
    return Change(digest(after), start, len(after) - same, text, before is None, folders, made, previous)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read(path: Path) -> dict[str, Change]:
    """The changes by file; empty if there is no readable record."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {name: Change(**{**one, "folders": tuple(one["folders"])}) for name, one in kept.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def write(path: Path, changes: dict[str, Change]) -> None:
    if not changes:
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.parent.rmdir()
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = json.dumps({name: asdict(one) for name, one in changes.items()}, indent=1) + "\n"
    replaced(path, text, mode=0o600)

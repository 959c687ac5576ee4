"""Why the user's costly lines cost what they do, as far as running a few samples shows it.

In a process of its own, with SQLite's statements traced and explained, and Pillow's conversions and resizing noted: queries that no
index serves, images that are made into the same image again, work on images that are shrunk afterwards.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.health.shared_handles import databases
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.profile.stage_classifier import is_users
from dataloader_expert.probes.profile.statements import lines_with
from dataloader_expert.probes.system.pristine_process import apart

CAUSES = Quantity(
    "line_causes", "", "what a few samples did at the user's costly lines: queries, conversions, work before shrinking"
)
LEAST_SHARE = 0.3
"""The least share of a sample's time of a line that is looked at."""
SAMPLES = 16
MANY_ROWS = 1000
"""Rows of a table from which on reading all of them for a query is told."""
SHRUNK = 4.0
"""How many times as many pixels an image has before it is shrunk if that is noted."""
STATEMENTS = 20
WHERE = re.compile(
    r"\bwhere\b\s+\(*\s*(?:\w+\.)?[\"`\[]?(\w+)[\"`\]]?\s*(?:=|<|>|in\b|between\b|like\b|is\b)", re.IGNORECASE
)
Place = tuple[str, int]


@dataclass(frozen=True)
class LineCauses(Probe):
    name: ClassVar[str] = "line_causes"
    doing: ClassVar[str] = "looking at what costly lines do"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.15
    most_s: float = 1.5

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or hangs(bench):
            return
        spots = bench.facts.value(USER_FUNCTIONS, [])
        costly = {(spot["file"], spot["line"]) for spot in spots if spot["line_share"] >= LEAST_SHARE}
        if not costly or not {"sqlite3", "PIL.Image"} & sys.modules.keys():
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        dataset = bench.source.dataset  # type: ignore[attr-defined]  # opened by a reference: such a source has one
        found = apart(partial(looked, dataset, costly, bench.source.iterable), max(0.0, until - time.monotonic()))
        if found and found["samples"]:
            yield Fact(CAUSES, found, evidence("counted", self.name, seen=found["samples"]))


@dataclass
class Notes:
    """What samples did. ``again``: images made from an array that holds what an image of the same sample held."""

    costly: set[Place]
    statements: dict[Place, tuple[Any, str]] = field(default_factory=dict)
    again: list[Place] = field(default_factory=list)
    exported: dict[bytes, list[Place]] = field(default_factory=dict)
    parts: set[Place] = field(default_factory=set)
    """The user's lines of both conversions."""
    reached: set[Place] = field(default_factory=set)
    shrunk: list[tuple[Any, Any]] = field(default_factory=list)
    before: dict[Place, tuple[Any, Any]] = field(default_factory=dict)
    _fresh: bool = True

    def begin(self) -> None:
        self.exported.clear()
        self.reached.clear()
        self._fresh = True

    def ran(self, connection: Any, statement: str) -> None:
        places = users_places(sys._getframe(1))
        selects = statement.lstrip().lower().startswith(("select", "with "))
        if places and selects and len(self.statements) < STATEMENTS:
            self.statements.setdefault(places[0], (connection, statement))

    def resized(self, before: Any, after: Any) -> None:
        if self._fresh and before[0] * before[1] >= SHRUNK * after[0] * after[1]:
            self._fresh = False
            self.shrunk.append((before, after))
            for place in self.reached:
                self.before.setdefault(place, (before, after))


def users_places(frame: FrameType | None) -> list[Place]:
    """The user's innermost line, and the one that called it."""
    found: list[Place] = []
    while frame is not None and len(found) < 2:
        if is_users(frame.f_code.co_filename):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def looked(dataset: Any, costly: set[Place], streamed: bool, seconds: float) -> dict[str, Any]:
    """What a few samples did; changes this process."""
    notes, until, read = Notes(costly), time.monotonic() + seconds, 0
    watch_queries(notes, dataset)
    watch_images(notes)
    stream = iter(dataset) if streamed else None
    size = 0 if streamed else len(dataset)
    for k in range(SAMPLES):
        if time.monotonic() > until:
            break
        notes.begin()
        sys.settrace(partial(_entered, notes))
        try:
            next(stream) if stream is not None else dataset[k * size // SAMPLES]
        except StopIteration:
            break
        except Exception:  # the scan says which samples raise
            continue
        finally:
            sys.settrace(None)
        read += 1
    return {
        "samples": read,
        "scans": list(scans(notes)),
        "again": len(notes.again) / max(1, read),
        "again_at": [{"file": f, "line": n} for f, n in sorted(notes.parts)],
        "before": [
            {"file": f, "line": n, "pixels": list(was), "used": list(made)}
            for (f, n), (was, made) in notes.before.items()
        ],
        "shrinking": len(notes.shrunk) / max(1, read),
    }


def _entered(notes: Notes, frame: FrameType, event: str, arg: Any) -> Any:
    if not any(file == frame.f_code.co_filename for file, _ in notes.costly):
        return None

    def at_line(frame: FrameType, event: str, arg: Any) -> Any:
        place = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and place in notes.costly:
            notes.reached.add(place)
        return at_line

    first = frame.f_code.co_filename, frame.f_lineno
    if first in notes.costly:  # a function on one line
        notes.reached.add(first)
    return at_line


def watch_queries(notes: Notes, dataset: Any) -> None:
    sqlite = sys.modules.get("sqlite3")
    if sqlite is None:
        return
    plain: Any = sqlite.connect

    def connect(*given: Any, **named: Any) -> Any:
        made = plain(*given, **named)
        made.set_trace_callback(partial(notes.ran, made))
        return made

    for module in list(sys.modules.values()):
        if getattr(module, "connect", None) is plain:
            with contextlib.suppress(AttributeError, TypeError):
                module.connect = connect  # type: ignore[attr-defined]  # modules take any
    for held in databases(dataset).values():
        with contextlib.suppress(Exception):  # it may be closed, or another thread's
            held.set_trace_callback(partial(notes.ran, held))


def scans(notes: Notes) -> Iterator[dict[str, Any]]:
    """Queries that read all rows of a large table although they ask for some, as SQLite explains them."""
    for (file, line), (connection, statement) in notes.statements.items():
        column = WHERE.search(statement)
        if column is None:
            continue
        with contextlib.suppress(Exception):  # a statement that was cut, a closed connection
            connection.set_trace_callback(None)
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall():
                detail = re.match(r"SCAN (?:TABLE )?(\w+)", str(row[3]))
                if detail is None or "INDEX" in str(row[3]):
                    continue
                [rows] = connection.execute(f"SELECT max(rowid) FROM {detail[1]}").fetchone()
                if rows and rows >= MANY_ROWS:
                    found = {"file": file, "line": line, "table": detail[1], "column": column[1], "rows": rows}
                    yield {**found, "lines": lines_with(file, line)}


def watch_images(notes: Notes) -> None:
    image: Any = sys.modules.get("PIL.Image")
    if image is None:
        return
    kind, made_from = image.Image, image.fromarray
    resize, thumbnail, exported = kind.resize, kind.thumbnail, kind.__dict__.get("__array_interface__")

    def from_array(*given: Any, **named: Any) -> Any:
        made = made_from(*given, **named)
        digest = _digest(made)
        if digest in notes.exported:
            places = users_places(sys._getframe(1))
            notes.again += places[:1]
            notes.parts.update(places, notes.exported[digest])
        return made

    def resized(picture: Any, size: Any, *more: Any, **named: Any) -> Any:
        notes.resized(picture.size, tuple(size))
        return resize(picture, size, *more, **named)

    def shrunk(picture: Any, size: Any, *more: Any, **named: Any) -> Any:
        notes.resized(picture.size, tuple(size))
        return thumbnail(picture, size, *more, **named)

    for module in list(sys.modules.values()):
        if getattr(module, "fromarray", None) is made_from:
            with contextlib.suppress(AttributeError, TypeError):
                module.fromarray = from_array  # type: ignore[attr-defined]  # modules take any
    kind.resize, kind.thumbnail = resized, shrunk
    if isinstance(exported, property) and exported.fget is not None:
        export = exported.fget

        def as_array(picture: Any) -> Any:
            notes.exported[_digest(picture)] = users_places(sys._getframe(1))
            return export(picture)

        kind.__array_interface__ = property(as_array)


def _digest(picture: Any) -> bytes:
    return hashlib.blake2b(picture.tobytes(), digest_size=16, salt=str(picture.size)[:16].encode()).digest()


PROBES = (LineCauses,)

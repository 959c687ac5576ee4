"""SQLite queries of the samples that are read: which of them read all rows of a large table, as SQLite itself explains them, and how
long they take."""

from __future__ import annotations

import contextlib
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dataloader_expert.probes.health.kept_parts import Place, users_places
from dataloader_expert.probes.health.shared_handles import databases
from dataloader_expert.probes.profile.statements import lines_with

MANY_ROWS = 1000
"""Rows of a table from which on reading all of them for a query is told."""
STATEMENTS = 20
WHERE = re.compile(
    r"\b(?:where|and)\b\s+\(*\s*(?:\w+\.)?[\"`\[]?(\w+)[\"`\]]?\s*(?:=|<|>|in\b|between\b|like\b|is\b)", re.IGNORECASE
)


@dataclass
class Queries:
    """Queries by the user's line that runs them, each with what gives a connection to explain it and how often it ran."""

    statements: dict[Place, tuple[Callable[[], Any], str]] = field(default_factory=dict)
    times: dict[Place, int] = field(default_factory=dict)

    def ran(self, connection: Callable[[], Any], statement: str) -> None:
        places = users_places(sys._getframe(1))
        selects = statement.lstrip().lower().startswith(("select", "with "))
        if places and selects and (places[0] in self.statements or len(self.statements) < STATEMENTS):
            self.statements.setdefault(places[0], (connection, statement))
            self.times[places[0]] = self.times.get(places[0], 0) + 1

    def watch(self, dataset: Any) -> None:
        """Notes the queries of this process from now on, also those of connections that the dataset holds."""
        sqlite = sys.modules.get("sqlite3")
        if sqlite is None:
            return
        plain: Any = sqlite.connect

        def connect(*given: Any, **named: Any) -> Any:
            made = plain(*given, **named)
            made.set_trace_callback(partial(self.ran, partial(plain, *given, **named)))  # its user may close this one
            return made

        for module in list(sys.modules.values()):
            if getattr(module, "connect", None) is plain:
                with contextlib.suppress(AttributeError, TypeError):
                    module.connect = connect  # type: ignore[attr-defined]  # modules take any
        for held in databases(dataset).values():
            with contextlib.suppress(Exception):  # it may be closed, or another thread's
                held.set_trace_callback(partial(self.ran, partial(_itself, held)))

    def scans(self, until: float = math.inf) -> Iterator[dict[str, Any]]:
        """Queries that read all rows of a large table although they ask for some: the table, its columns and rows, the seconds of one
        and how often it ran; looked for until then (monotonic)."""
        for (file, line), (connected, statement) in self.statements.items():
            columns = list(dict.fromkeys(WHERE.findall(statement)))
            if not columns or time.monotonic() > until:
                continue
            with contextlib.suppress(Exception), closing_new(connected) as connection:  # a statement that was cut, say
                connection.set_trace_callback(None)
                connection.execute("PRAGMA query_only = ON")  # what begins with WITH may write
                for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall():
                    detail = re.match(r"SCAN (?:TABLE )?(\w+)", str(row[3]))
                    if detail is None or "INDEX" in str(row[3]):
                        continue
                    [rows] = connection.execute(f"SELECT max(rowid) FROM {detail[1]}").fetchone()
                    there = {str(column[1]) for column in connection.execute(f"PRAGMA table_info({detail[1]})")}
                    asked = [column for column in columns if column in there]  # others are of tables that are joined
                    if rows and rows >= MANY_ROWS and asked:
                        found = {"file": file, "line": line, "table": detail[1], "columns": asked, "rows": rows}
                        spent = {"seconds": seconds_of(connection, statement), "times": self.times[file, line]}
                        yield {**found, **spent, "lines": lines_with(file, line)}


def seconds_of(connection: Any, statement: str) -> float:
    """What a query takes whose rows are in the page cache."""
    begun = time.perf_counter()
    connection.execute(statement).fetchall()
    return time.perf_counter() - begun


def _itself(connection: Any) -> Any:
    return connection


@contextlib.contextmanager
def closing_new(connected: Callable[[], Any]) -> Iterator[Any]:
    """A connection, closed afterwards unless it is the user's own."""
    connection = connected()
    try:
        yield connection
    finally:
        if getattr(connected, "func", None) is not _itself:
            connection.close()

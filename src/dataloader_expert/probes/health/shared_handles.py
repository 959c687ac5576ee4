"""Files and connections that were opened before the fork and that workers use: what one of them does, the others see.

A handle that is merely inherited harms nobody. So three things are looked at that change only with use: the position of
an open file, the bytes that a TCP connection carried, and the statements through an SQLite connection.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.health.attribute_lines import uses_of
from dataloader_expert.sources.held import attributes, owners_of
from dataloader_expert.sources.users import is_users

POSITIONS = Quantity(
    "positions_moved", "", "open files of the main process whose position moved while only workers read"
)
CONNECTIONS = Quantity(
    "connections_used", "", "connections of the main process that carried data while only workers read"
)
DATABASES = Quantity(
    "databases_shared",
    "",
    "attributes that held an SQLite connection before the fork through which workers ran statements",
)
POOL = Quantity("pool_held", "", "the attribute that holds a pool of threads or processes, and the line that makes it")
RECEIVED, ESTABLISHED = (struct.Struct("=Q").unpack_from, 128), 1
"""Bytes received, and where Linux's ``struct tcp_info`` has them; its first byte if the connection is open."""
DEEPEST, WIDEST = 3, 200
"""Levels of a dataset's attributes that are searched for connections, and attributes of one level."""


def used() -> dict[str, int]:
    """By descriptor and path the position of each file that this process has open to read, and by descriptor and peer the
    bytes that it received over each of its TCP connections that are open."""
    found = {}
    with contextlib.suppress(OSError):
        for fd in map(int, os.listdir("/proc/self/fd")):
            with contextlib.suppress(OSError, ValueError, KeyError):
                path = os.readlink(f"/proc/self/fd/{fd}")
                if path.startswith("socket:"):
                    peer, received = _received(fd)
                    found[f"{fd} {peer}"] = received
                elif path.startswith("/") and not path.startswith(("/dev/", "/proc/", "/memfd:")):
                    about = dict(
                        line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines()
                    )
                    if int(about["flags"], 8) & os.O_ACCMODE != os.O_WRONLY:  # a log that all write to is no harm
                        found[f"{fd} {path}"] = int(about["pos"])
    return found


def _received(fd: int) -> tuple[str, int]:
    """The peer of a TCP connection as ``tcp://host:port``, and the bytes received.

    Raises:
        OSError: if it is no open TCP connection.
        ValueError: if the system counts no bytes.
    """
    blocking, own = os.get_blocking(fd), os.dup(fd)
    try:
        try:
            copy = socket.socket(fileno=own)
        except OSError:
            os.close(own)
            raise
        with copy:
            if copy.family not in (socket.AF_INET, socket.AF_INET6) or copy.type != socket.SOCK_STREAM:
                raise OSError("no TCP connection")
            host, port = copy.getpeername()[:2]
            info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    finally:
        os.set_blocking(fd, blocking)  # a default timeout changes it, and both descriptors share it
    unpack, at = RECEIVED
    if len(info) < at + 8:
        raise ValueError("this kernel counts no bytes")
    if info[0] != ESTABLISHED:  # its end is counted as a byte
        raise OSError("closed")
    return f"tcp://{host}:{port}", unpack(info, at)[0]


def shared(before: dict[str, int], by: str, dataset: Any = None) -> list[Fact]:
    """What of this process only workers can have used since ``before``. Connections are left out if threads of this process may
    talk over them. ``dataset``: whose attributes are searched for the files."""
    now = used()
    changed = sorted(name for name, state in now.items() if name in before and before[name] != state)
    names = [name.partition(" ")[2] for name in changed]
    answered = [n for n in names if n.startswith("tcp://")] if threading.active_count() == 1 else []
    found = []
    for quantity, chosen in ((POSITIONS, [n for n in names if not n.startswith("tcp://")]), (CONNECTIONS, answered)):
        value = {"paths": chosen[:MAX_PLACES], "count": len(chosen), "held": _held(dataset, chosen[:1])}
        found.append(Fact(quantity, value, evidence("counted", by, seen=len(before)), {"read_by": by}))
    return found


def _held(dataset: Any, paths: list[str]) -> dict[str, Any] | None:
    """The attribute that holds one of these files open, with the line that makes it; None if none is seen to. It is one of the user's
    where there is one, though the file itself be held by what a library made."""
    owners = owners_of(dataset)
    users = [owner for owner in owners if _is_users(owner)]
    for those, within in ((users, _itself), (users, _parts), (owners, _itself)):
        for owner in those:
            for name, value in attributes(owner).items():
                if any(_opens(one, paths) for one in within(value)):
                    return {"attribute": name, "place": made_at(dataset, name)}
    return None


def _itself(value: object) -> list[object]:
    return [value]


def _parts(value: object) -> list[object]:
    return [held for one in owners_of(value) for held in attributes(one).values()]


def _opens(value: Any, paths: list[str]) -> bool:
    if not _is_users(value):  # asking an object of the user's may run their code
        with contextlib.suppress(Exception):  # it may be closed, or no file at all
            return os.path.realpath(f"/proc/self/fd/{value.fileno()}") in paths
    return False


def _is_users(thing: object) -> bool:
    module = sys.modules.get(type(thing).__module__)
    return is_users(getattr(module, "__file__", None) or os.__file__)


def made_at(dataset: Any, name: str) -> dict[str, Any] | None:
    """The line that makes an attribute of the dataset or of what it holds."""
    uses = uses_of(dataset, name)
    return None if uses is None else uses.place(uses.made)


def pool(dataset: Any) -> Fact | None:
    """The first pool of threads or processes that the dataset holds: a fork copies it without these."""
    kinds = [
        getattr(module, name)
        for file, name in (("concurrent.futures", "Executor"), ("multiprocessing.pool", "Pool"))
        if (module := sys.modules.get(file)) is not None
    ]
    for owner in owners_of(dataset):
        for name, value in attributes(owner).items():
            if isinstance(value, tuple(kinds)):
                held = {"attribute": name, "place": made_at(dataset, name)}
                return Fact(POOL, held, evidence("counted", "static_checks", seen=1))
    return None


class Statements:
    """Counts the SQL statements that workers run through SQLite connections which the dataset holds before the fork."""

    def __init__(self, dataset: Any) -> None:
        self.parent, self.dataset, self.held = os.getpid(), dataset, databases(dataset)
        self.run = mmap.mmap(-1, max(1, len(self.held)))  # shared with the workers: whether each was used
        for i, connection in enumerate(self.held.values()):
            with contextlib.suppress(Exception):  # it may be closed, or another thread's
                if _in_a_file(connection):
                    connection.set_trace_callback(functools.partial(self._ran, i))

    def _ran(self, i: int, statement: str) -> None:
        if os.getpid() != self.parent:
            self.run[i] = 1

    def ended(self) -> Fact:
        """The attributes whose connections workers used."""
        for connection in self.held.values():
            with contextlib.suppress(Exception):  # it may be closed
                connection.set_trace_callback(None)
        names = [name for i, name in enumerate(self.held) if self.run[i]]
        self.run.close()
        place = made_at(self.dataset, names[0].rpartition(".")[2]) if names else None
        return Fact(DATABASES, names, evidence("counted", "worker_resources", seen=len(self.held)), {"place": place})


def _in_a_file(connection: Any) -> bool:
    """Whether a database is in a file: of one in memory each worker has a copy of its own."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return any(file for _, _, file in cursor.execute("PRAGMA database_list"))


def databases(dataset: Any, level: int = 0) -> dict[str, Any]:
    """The SQLite connections among a dataset's attributes, by the attribute's path; no code of the user's runs."""
    sqlite3 = sys.modules.get("sqlite3")
    found: dict[str, Any] = {}
    if sqlite3 is None or level == DEEPEST:
        return found
    for name, value in list(attributes(dataset).items())[:WIDEST]:
        if isinstance(value, sqlite3.Connection):
            found[name] = value
        else:
            found |= {f"{name}.{path}": one for path, one in databases(value, level + 1).items()}
    return found

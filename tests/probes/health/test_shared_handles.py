"""Handles that were opened before a fork: those that are used in the child are told from those that it merely inherits."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dataloader_expert.advice.base import findings_of
from dataloader_expert.advice.failures import stuck
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.health.shared_handles import Statements, pool, shared, used
from dataloader_expert.probes.health.worker_resources import kept_per_batch
from dataloader_expert.probes.search.stuck import STUCK


def in_a_fork(work: Callable[[], object]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def codes(facts: Facts) -> list[str]:
    return [found.code for found in findings_of(facts)]


@pytest.mark.parametrize(("mode", "told"), [("rb", ["handle-shared-across-fork"]), ("ab", [])])
def test_a_file_is_shared_where_a_worker_reads_it(tmp_path: Path, mode: str, told: list[str]) -> None:
    """B8: two that read move one position; a log to which all append is no harm."""
    path = tmp_path / "all.bin"
    path.write_bytes(bytes(100))
    with path.open(mode, buffering=0) as file:
        before = used()
        assert codes(Facts(tuple(shared(before, "x")))) == []
        in_a_fork(lambda: file.read(10) if mode == "rb" else file.write(b"line"))
        assert codes(Facts(tuple(shared(before, "x")))) == told


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    """A process that echoes what it receives on one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        pid = os.fork()
        if pid == 0:
            try:
                one, _ = listening.accept()
                while got := one.recv(64):
                    one.sendall(got)
            finally:
                os._exit(0)
        yield listening.getsockname()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_connection_is_shared_where_a_worker_talks_over_it(
    server: tuple[str, int], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B40: whose answer arrives is anybody's guess. A thread of the main process may have talked as well."""
    monkeypatch.setattr(threading, "active_count", lambda: threads)  # those of whoever runs this test are not counted
    with socket.create_connection(server) as client:

        def ask() -> None:
            client.sendall(b"which?")
            client.recv(64)

        ask()
        before = used()
        assert codes(Facts(tuple(shared(before, "x")))) == []
        in_a_fork(ask)
        found = findings_of(Facts(tuple(shared(before, "x"))))
    assert [f.code for f in found] == ["client-used-across-fork"] * (threads == 1)
    assert threads > 1 or f"127.0.0.1:{server[1]}" in found[0].message


def test_the_end_of_a_connection_is_no_use_of_it(server: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What idles in the main process may be closed by its peer meanwhile."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # with more nothing is told, whatever else is looked at
    with socket.create_connection(server) as client:
        client.sendall(b"which?")
        client.recv(64)
        before = used()
        client.shutdown(socket.SHUT_WR)  # the server closes too
        assert client.recv(64) == b""
        assert codes(Facts(tuple(shared(before, "x")))) == []


@pytest.mark.parametrize("own", [False, True])
def test_sqlite_is_shared_where_a_worker_queries_it(tmp_path: Path, own: bool) -> None:
    """B8: a worker that connects anew has merely inherited the other connection."""

    class Rows:
        def __init__(self) -> None:
            self.base = sqlite3.connect(tmp_path / "rows.db", check_same_thread=False)

        def read(self) -> None:
            if own:
                self.base = sqlite3.connect(tmp_path / "rows.db")
            self.base.execute("select 1").fetchone()

    class Subset:
        def __init__(self, dataset: Rows) -> None:
            self.dataset = dataset

    rows = Rows()
    statements = Statements(Subset(rows))
    rows.base.execute("select 1").fetchone()  # by this process, which may
    in_a_fork(rows.read)
    found = findings_of(Facts((statements.ended(),)))
    assert [f.code for f in found] == ([] if own else ["handle-shared-across-fork"])
    assert own or "`dataset.base` (test_shared_handles.py:" in found[0].message


def test_a_file_that_a_library_holds_is_named_by_the_users_attribute(tmp_path: Path) -> None:
    """Seen: "through a handle opened before the fork (`self.fp`)", of a dataset that has `self.archive`."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in "ab":
            archive.writestr(name, bytes(100_000))

    class Images:
        def __init__(self) -> None:
            self.archive = zipfile.ZipFile(tmp_path / "all.zip")

    images = Images()
    before = used()
    in_a_fork(lambda: images.archive.read("a"))
    [found] = findings_of(Facts(tuple(shared(before, "x", images))))
    assert "(`self.archive`, test_shared_handles.py:" in found.message and found.where[0]["line"]


def test_a_pool_made_before_the_fork_is_named() -> None:
    """Seen: workers that waited for a pool whose threads a fork does not copy: "look at what that line does differently in a worker"."""

    class Wells:
        def __init__(self) -> None:
            self.pool = ThreadPoolExecutor(1)

    held = pool(Wells())
    assert held is not None and pool(object()) is None
    v = {"seconds": 8.0, "alone_s": 0.05, "threads": 1, "cpu_s": 0.0, "queue_s": 0.0, "cpus": 2.0, "late": True}
    for waits, code in ((True, "deadlock"), (False, "sample-hangs")):
        value = {**v, "where": "read (wells.py:9)", "init": None, "pool": waits}
        silent = Fact(STUCK, value, Evidence("timed", "a test"), {"workers": 2})
        [found] = stuck(Facts((held, silent)))
        assert found.code == code and ("(`self.pool`, test_shared_handles.py:" in found.message) is waits


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        (list(range(10, 40)), 1.0),  # one more after each batch
        ([10, 74, 42, 138, 10, 106] * 5, 0.0),  # those of batches in transit
        ([9], 0.0),
    ],
)
def test_descriptors_of_batches_in_transit_are_not_kept(files: list[int], kept: float) -> None:
    assert kept_per_batch(files) == pytest.approx(kept)

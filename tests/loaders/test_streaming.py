"""Streams from servers that stall, cut and refuse: each sample once; shuffled, shared out, resumed; or an error in words."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.loaders import StreamError, StreamingDataset
from dataloader_expert.sources.fetching import Patience, read_lines
from tests.loaders.material import flat, made, three_workers

LINES, FILES = 40, 4
FAST: dict[str, Any] = {"timeout": 0.3, "retries": 6, "wait": 0.001}


class Site:
    """Files by path, and what happens to every so manyth request: ``stall``, ``cut`` or ``503``."""

    def __init__(self, faults: tuple[str, ...] = (), every: int = 3) -> None:
        self.files: dict[str, bytes] = {}
        self.faults, self.every = faults, every
        self.ranges = self.tags = self.lengths = True
        self.late = 0
        self.requests: list[str] = []
        self.fails: dict[str, int] = {}
        self.numbers = count(1)
        self.versions: dict[str, list[bytes]] = {}
        self.over = threading.Event()

    def fault(self) -> str | None:
        number = next(self.numbers)
        return self.faults[number // self.every % len(self.faults)] if self.faults and not number % self.every else None


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.1 with ranges, of a site."""

    protocol_version = "HTTP/1.1"

    def __init__(self, site: Site, *arguments: Any) -> None:
        self.site = site
        super().__init__(*arguments)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        site = self.site
        site.requests.append(f"{self.path} {self.headers.get('Range', '')}".strip())
        self.close_connection = True
        versions = site.versions.get(self.path)
        content = (versions.pop(0) if len(versions) > 1 else versions[0]) if versions else site.files.get(self.path)
        fault = site.fault()
        if self.path in site.fails or content is None or fault == "503":
            self.send_response(site.fails.get(self.path, 503 if fault == "503" and content is not None else 404))
            self.send_header("Content-Length", "0")
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        tag = f'"{hash(content)}"'
        start = self._start(tag)
        if start and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start += site.late if start else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if site.tags:
            self.send_header("ETag", tag)
        if site.lengths:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        self.wfile.write(body[: len(body) // 2] if fault else body)
        self.wfile.flush()
        if fault == "stall":
            site.over.wait(2)

    def _start(self, tag: str) -> int:
        asked = self.headers.get("Range")
        same = self.headers.get("If-Range", tag) == tag
        return int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.site.ranges and same else 0


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    url = ""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is what is tested."""


@pytest.fixture
def served() -> Iterator[Any]:
    """``served(site)`` serves it and gives its address."""
    servers: list[tuple[Quiet, Site]] = []

    def serve(site: Site) -> str:
        server = Quiet(("127.0.0.1", 0), partial(Handler, site))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append((server, site))
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server, site in servers:
        site.over.set()
        server.shutdown()
        server.server_close()


def numbered(at: int, padding: int = 0) -> bytes:
    """One of ``FILES`` files of ``LINES`` lines."""
    rows = ({"i": at * LINES + i, "x": "y" * padding} for i in range(LINES))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def site_of(faults: tuple[str, ...] = (), every: int = 3) -> Site:
    site = Site(faults, every)
    site.files = {f"/{at}.jsonl": numbered(at) for at in range(FILES)}
    return site


def urls_at(address: str) -> list[str]:
    return [f"{address}/{at}.jsonl" for at in range(FILES)]


def values(samples: Any) -> list[int]:
    return [sample["i"] for sample in samples]


ALL = list(range(LINES * FILES))


# ── servers ────────────────────────────────────────────────────────────────────


@three_workers
@pytest.mark.parametrize("workers", [0, 3])
@pytest.mark.parametrize("fault", ["stall", "cut", "503"])
def test_each_sample_arrives_once(served: Any, fault: str, workers: int) -> None:
    """Though every third request fails; for any number of workers, in a shuffled order."""
    site = site_of((fault,))
    dataset = StreamingDataset(urls_at(served(site)), 20, **FAST)
    found = flat(made(dataset, batch_size=8, shuffle=False, num_workers=workers))
    assert sorted(found) == ALL and found != ALL
    assert len(site.requests) > FILES


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("tags", [True, False])
def test_a_connection_is_taken_up_behind_the_last_byte(served: Any, ranges: bool, tags: bool) -> None:
    """By a range, or where the server has none, by passing over what comes again."""
    site = Site(("cut",), 2)
    site.ranges, site.tags = ranges, tags
    content = bytes(range(256)) * 1000
    site.files = {"/a": content, "/b": content[::-1]}
    address = served(site)
    for name, due in (("/b", content[::-1]), ("/a", content)):
        assert b"".join(read_lines(address + name, Patience(**FAST))) == due
    assert len(site.requests) == 3
    assert site.requests[2] == "/a bytes=128000-"


@pytest.mark.parametrize("late", [-7, 7])
def test_a_server_that_goes_on_elsewhere_is_understood(served: Any, late: int) -> None:
    """What comes again is passed over; what it leaves out is an error."""
    site = Site(("cut",), 2)
    site.late = late
    site.files = {"/a": bytes(range(256)) * 10, "/b": b""}
    address = served(site)
    assert list(read_lines(address + "/b", Patience(**FAST))) == []
    if late < 0:
        assert b"".join(read_lines(address + "/a", Patience(**FAST))) == site.files["/a"]
        return
    with pytest.raises(StreamError, match="asked to resume at byte 1280, the server sends from byte 1287"):
        list(read_lines(address + "/a", Patience(**FAST)))


def test_without_a_length_the_end_is_the_connections(served: Any) -> None:
    """As HTTP has it."""
    site = site_of()
    site.lengths = False
    assert values(StreamingDataset(urls_at(served(site)), shuffle=False, **FAST)) == ALL


def test_a_file_that_changes_is_an_error(served: Any) -> None:
    """Half of one and half of another is no sample; that it changed and how far it was read is said."""
    site = Site(("cut",), 1)
    site.versions = {"/a.jsonl": [numbered(0, 9), numbered(1, 9)]}
    with pytest.raises(StreamError, match=r"/a.jsonl: it changed while being read, at byte \d+"):
        list(StreamingDataset([served(site) + "/a.jsonl"], **FAST))


@pytest.mark.parametrize("tags", [True, False])
def test_a_file_that_shrinks_is_an_error(served: Any, tags: bool) -> None:
    """That nothing is behind the last byte is an end only where that is the file's."""
    site = Site(("cut",), 1)
    site.tags = tags
    site.versions = {"/a.jsonl": [numbered(0, 9), numbered(0)[:100]]}
    with pytest.raises(StreamError, match=r"/a\.jsonl: it changed while being read"):
        list(StreamingDataset([served(site) + "/a.jsonl"], **FAST))


@pytest.mark.parametrize("workers", [0, 1])
def test_what_is_not_there_is_said_at_once(served: Any, workers: int) -> None:
    """Without another attempt; from a worker too."""
    site = site_of()
    url = served(site) + "/none.jsonl"
    going = iter(made(StreamingDataset([url], **FAST), shuffle=False, num_workers=workers, persistent_workers=False))
    with pytest.raises(StreamError, match=r"none\.jsonl: the server answers 404 Not Found"):
        next(going)
    assert site.requests == ["/none.jsonl"]
    assert list(going) == [] or not workers  # so that the worker ends, for which torch else waits


def test_a_server_that_refuses_for_good_is_given_up(served: Any) -> None:
    """After so many attempts as were asked; where and why is said."""
    site = site_of()
    site.fails = {"/0.jsonl": 503}
    with pytest.raises(StreamError, match=r"gave up at byte 0 after 3 attempts: the server answers 503"):
        list(StreamingDataset(urls_at(served(site))[:1], timeout=1, retries=2, wait=0.001))
    assert len(site.requests) == 3


def test_nobody_at_all_is_given_up(unused: str = "http://127.0.0.1:9/a.jsonl") -> None:
    """The reason is the system's."""
    with pytest.raises(StreamError, match=r"gave up at byte 0 after 2 attempts: .*[Rr]efused"):
        list(StreamingDataset([unused], timeout=1, retries=1, wait=0.001))


def test_waits_grow_and_servers_are_heard(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as long each time, at most 30 s; what a server asks for goes first."""
    waits: list[float] = []
    monkeypatch.setattr("dataloader_expert.sources.fetching.time", type("t", (), {"sleep": waits.append}))
    with pytest.raises(StreamError, match="after 6 attempts"):
        list(read_lines("http://127.0.0.1:9/a", Patience(1, 5, 3)))
    assert waits == [3, 6, 12, 24, 30]
    waits.clear()
    site = site_of(("503",), 2)
    address = served(site)
    for url in urls_at(address)[:2]:
        list(read_lines(url, Patience(1, 5, 3)))
    assert waits == [0.0] and time is not None


# ── formats ────────────────────────────────────────────────────────────────────


def write(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(path)


@pytest.mark.parametrize(
    ("name", "content", "due"),
    [
        ("a.jsonl", b'{"i": 1}\n\n[2]\n"x"', [{"i": 1}, [2], "x"]),
        ("a.ndjson", b"1\r\n2\r\n", [1, 2]),
        ("a.csv", b'a,b\n1,"x\ny"\n3,\n', [{"a": "1", "b": "x\ny"}, {"a": "3", "b": ""}]),
        ("a.tsv", b"a\tb\n1\t2\n", [{"a": "1", "b": "2"}]),
        ("a.txt", "ä\n\nb".encode(), ["ä", "b"]),
        ("a", b"x\n", ["x"]),
        ("empty.jsonl", b"", []),
    ],
)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_name_says_what_is_in_a_file(tmp_path: Path, name: str, content: bytes, due: list[Any], packed: str) -> None:
    """Lines of JSON, rows of tables, lines of text; packed ones are unpacked."""
    path = write(tmp_path, name + packed, content)
    for url in (path, f"file://{path}"):
        assert list(StreamingDataset([url], shuffle=False)) == due


def test_several_members_of_gzip_are_one_stream(tmp_path: Path, served: Any) -> None:
    """As ``cat`` makes them, with zeros behind as tapes leave them; also over HTTP, with the query left out."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"1\n2\n") + gzip.compress(b"3\n") + bytes(512))
    assert list(StreamingDataset([str(path)], shuffle=False)) == [1, 2, 3]
    site = Site(("cut",), 2)
    site.files = {"/a.jsonl.gz?x=1": path.read_bytes(), "/b": b""}
    address = served(site)
    list(read_lines(address + "/b", Patience(**FAST)))
    assert list(StreamingDataset([address + "/a.jsonl.gz?x=1"], shuffle=False, **FAST)) == [1, 2, 3]


def test_a_packed_file_that_is_cut_short_is_an_error(tmp_path: Path) -> None:
    """What is missing is not silently left out; nor is what is no gzip at all read."""
    path = tmp_path / "a.txt.gz"
    packed = gzip.compress(numbered(0))
    for content in (packed[:-1], packed[:-30], packed[:5], packed + packed[:40]):
        path.write_bytes(content)
        with pytest.raises(StreamError, match=r"a\.txt\.gz: .*ends"):
            list(StreamingDataset([str(path)]))
    path.write_bytes(b"1\n2\n")
    with pytest.raises(StreamError, match=r"a\.txt\.gz: not a gzip stream"):
        list(StreamingDataset([str(path)]))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", b"1\n{x\n", "a.jsonl: line 2 is not a sample: "),
        ("a.txt", b"x\n\xff\n", "a.txt: line 2 is not a sample: "),
        ("a.csv", b"a,b\n1,\xff\n", "a.csv"),
    ],
)
def test_a_line_that_is_no_sample_is_named(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    """Its file and its number."""
    with pytest.raises(StreamError, match=words):
        list(StreamingDataset([write(tmp_path, name, content)]))


def test_a_parser_of_ones_own_gets_every_line(tmp_path: Path) -> None:
    """Without its end, empty ones too; and a method of a subclass may take the whole of it."""
    path = write(tmp_path, "a.csv", b"a\r\n\nb")
    assert list(StreamingDataset([path], parse=lambda line: line + b"!", shuffle=False)) == [b"a!", b"!", b"b!"]

    class BatchedIndexing(StreamingDataset):
        def stream_from_url(self, url: str) -> Iterator[Any]:
            yield Path(url).read_text()

    assert list(BatchedIndexing([path])) == ["a\n\nb"]


def test_what_cannot_be_a_stream_is_said(tmp_path: Path) -> None:
    """At once where it can be known, else with the path."""
    with pytest.raises(ValueError, match="urls must be a list of at least one URL"):
        StreamingDataset("http://x/a")
    with pytest.raises(ValueError, match="urls must be a list"):
        StreamingDataset([])
    small: dict[str, Any]
    for keyword, value in (("buffer_size", 0), ("retries", -1), ("timeout", 0), ("wait", -1), ("seed", -1)):
        with pytest.raises(ValueError, match=f"{keyword} is {value}; it must be"):
            small = {keyword: value}
            StreamingDataset(["a"], **small)
    with pytest.raises(ValueError, match="rank is 2 of 2 replicas"):
        StreamingDataset(["a"], num_replicas=2, rank=2)
    with pytest.raises(StreamError, match=r"none\.txt: No such file"):
        list(StreamingDataset([str(tmp_path / "none.txt")]))
    with pytest.raises(StreamError, match="ftp://x/a: only http, https and files can be streamed"):
        list(StreamingDataset(["ftp://x/a"]))


# ── orders, shares, places ─────────────────────────────────────────────────────


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    return [write(tmp_path, f"{at}.jsonl", numbered(at)) for at in range(FILES)]


def test_an_epoch_has_an_order_of_its_own(paths: list[str]) -> None:
    """That seed and epoch decide; within the reach of the buffer; none where it is not wanted."""

    def order(epoch: int, **more: Any) -> list[int]:
        dataset = StreamingDataset(paths, **{"buffer_size": 15, "seed": 4, **more})
        dataset.set_epoch(epoch)
        assert dataset.epoch == epoch
        return values(dataset)

    assert order(0) == order(0) != order(1) != order(1, seed=5)
    assert sorted(order(3)) == ALL
    assert order(2, shuffle=False) == ALL
    by_file = [value // LINES for value in order(0, buffer_size=1)]
    assert by_file == sorted(by_file, key=by_file.index) and order(0, buffer_size=1) != ALL
    whole = order(0, buffer_size=1000)
    assert sum(a // LINES != b // LINES for a, b in pairwise(whole)) > 50


@three_workers
@pytest.mark.parametrize("files", [FILES, 1])
@pytest.mark.parametrize("workers", [0, 3])
def test_ranks_and_workers_share_a_stream(paths: list[str], files: int, workers: int) -> None:
    """Whatever the number of files: together each sample once."""
    shares = [
        flat(
            made(
                StreamingDataset(paths[:files], 10, num_replicas=2, rank=rank),
                batch_size=8,
                shuffle=False,
                num_workers=workers,
            )
        )
        for rank in range(2)
    ]
    assert all(shares) and sorted(shares[0] + shares[1]) == ALL[: files * LINES]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("replicas", [1, 2, 5])
def test_a_stream_goes_on_in_its_midst(paths: list[str], shuffle: bool, replicas: int) -> None:
    """At any place, in another process: what was to come comes, once; then the next pass is the next epoch's."""

    def fresh() -> StreamingDataset:
        return StreamingDataset(paths, 12, shuffle=shuffle, seed=1, num_replicas=replicas, rank=replicas - 1)

    first = fresh()
    first.set_epoch(2)
    whole = values(first)
    following = values(first)
    assert (following == whole) is (replicas > 1 or not shuffle)
    for place in (0, 1, 7, len(whole) // 2, len(whole) - 1, len(whole)):
        first.set_epoch(2)
        going = iter(first)
        assert values(next(going) for _ in range(place)) == whole[:place]
        state = json.loads(json.dumps(first.state_dict()))
        resumed = fresh()
        resumed.load_state_dict(state)
        assert resumed.epoch == 2 and resumed.state_dict() == state
        assert values(resumed) == whole[place:]
        assert values(resumed) == following


def test_a_state_before_the_first_sample_is_of_the_epoch(paths: list[str]) -> None:
    """Nothing was read yet; and another epoch that is asked for goes before a state."""
    dataset = StreamingDataset(paths, 5)
    dataset.set_epoch(3)
    resumed = StreamingDataset(paths, 5)
    resumed.load_state_dict(dataset.state_dict())
    assert resumed.epoch == 3 and values(resumed) == values(dataset)
    going = iter(dataset)
    next(going)
    resumed.load_state_dict(dataset.state_dict())
    resumed.set_epoch(3)
    assert len(values(resumed)) == len(ALL)


def test_a_state_of_another_share_is_refused(paths: list[str]) -> None:
    """As many ranks and workers, and the same one of them."""
    one = StreamingDataset(paths, num_replicas=2, rank=0)
    next(iter(one))
    other = StreamingDataset(paths, num_replicas=2, rank=1)
    other.load_state_dict(one.state_dict())
    with pytest.raises(ValueError, match="the state is of shard 0 of 2, this is shard 1 of 2: resume with as many"):
        next(iter(other))


def test_workers_that_persist_see_the_epoch(paths: list[str]) -> None:
    """Named through the loader; the order is another, and nothing is lost."""
    loader = made(StreamingDataset(paths, 10), batch_size=8, shuffle=False, num_workers=2)
    orders = []
    for epoch in (0, 1, 0):
        loader.set_epoch(epoch)
        orders.append(flat(loader))
        assert sorted(orders[-1]) == ALL
    assert orders[0] == orders[2] != orders[1]

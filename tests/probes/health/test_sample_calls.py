"""What samples do again or in vain: run on code that does each, and on sound code."""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import sqlite3
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image

from dataloader_expert.advice.sample_calls import calls, opened_twice
from dataloader_expert.advice.worker_counts import decoding
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS, SampleCalls
from dataloader_expert.probes.health.watched_calls import part_of_chunks
from dataloader_expert.probes.profile.statements import lines_with
from dataloader_expert.sources.registry import open_source

CODE = """
import copy, json, logging, pickle, sqlite3, subprocess
import h5py
from json import load as parsed
from pathlib import Path
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
try:
    from lmdb import open as opened
except ImportError:
    pass

HERE = Path(__file__).parent
BOXES = [{{"bbox": [1, 2, 3, 4], "id": k}} for k in range(200)]
log = logging.getLogger("samples")
log.addHandler(logging.NullHandler())
log.propagate = False

class Samples(Dataset):
    db = archive = None

    def __len__(self):
        return 16

    def image(self, index):
        with Image.open(HERE / f"{{index}}.png") as image:
            return np.asarray(image.convert("RGB"))

    def checked(self, index):
        with Image.open(HERE / f"{{index}}.png") as image:
            return image.convert("L").getextrema() != (0, 0)

    def sized(self, index):
        with Image.open(HERE / f"{{index}}.png") as image:
            return image.size

    def converted(self, index, times, made=Image.fromarray):
        image = Image.fromarray(self.image(index))
        for _ in range(times):
            x = torch.from_numpy(np.array(image)).float() / 255
            image = made((x * 255).round().byte().numpy())
        return image

    def buffered(self, array):  # as torchvision does
        return Image.frombuffer("RGB", array.shape[1::-1], array.tobytes(), "raw", "RGB", 0, 1)

    def doubled(self, index):
        return torch.from_numpy(self.image(index) / 255.0).float()

    def vocabulary(self):
        with open(HERE / "vocabulary.json") as file:
            return len(parsed(file))

    def kept(self, index):
        if self.archive is None:
            self.archive = np.load(HERE / "all.npy", mmap_mode="r")
        return np.array(self.archive[index])

    def whole(self, index):
        if self.archive is None:
            self.archive = np.load(HERE / "all.npz")
        return self.archive["x"][index]

    def entry(self, index):
        import lmdb
        with opened(str(HERE / "vocabulary.json"), opener=lmdb.opener) as file:
            assert isinstance(file, lmdb.open)
            return file.read()

    def shrunk(self, index):
        return np.asarray(Image.open(HERE / f"{{index}}.png").resize((20, 20)))

    def cells(self, index):
        with h5py.File(HERE / "cells.h5", rdcc_nbytes=1 << 18) as file:
            return file["x"][index]

    def pickled(self, index):
        with open(HERE / "all.pkl", "rb") as file:
            file.seek(index * ((HERE / "all.pkl").stat().st_size // 16))
            return pickle.load(file)  # the user's own code: it is told, not imitated

    def history(self, query):
        if self.db is None:
            self.db = sqlite3.connect(HERE / "events.db")
        return self.db.execute(query, (3,)).fetchall()

    def connected_anew(self, query):
        db = sqlite3.connect(HERE / "events.db")
        rows = db.execute(query, (3,)).fetchall()
        db.close()
        return rows

    def history_once(self, query):
        if self.db is None:
            self.db = self.connected_anew(query)
        return self.db

    def __getitem__(self, index):
        return {work}

class Batched(Samples):
    def __getitem__(self, index):
        return self.__getitems__([index])[0]

    def __getitems__(self, indices):
        rows = np.load(HERE / "all.npy", mmap_mode="r")
        return [(torch.from_numpy(rows[i].copy()), [self.kept(i) for _ in range(9)])[0] for i in indices]

class EachInTurn(Samples):
    def __getitem__(self, index):
        return self.image(index), self.vocabulary()

    def __getitems__(self, indices):
        return [self[i] for i in indices]

def batched():
    return DataLoader(Batched(), batch_size=16)

def each_in_turn():
    return DataLoader(EachInTurn(), batch_size=4)

def collate(batch):
    with open(HERE / "vocabulary.json") as file:
        parsed(file)
    return batch

def with_collate():
    return DataLoader(Samples(), batch_size=2, collate_fn=collate)
"""


@functools.cache
def images() -> list[bytes]:
    """Sixteen of noise, as PNG."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(16):
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (160, 160, 3), dtype=np.uint8)).save(file, "PNG", compress_level=1)
        made.append(file.getvalue())
    return made


def called(folder: Path, work: str, name: str = "Samples") -> Fact:
    rng = np.random.default_rng(0)
    folder.mkdir(exist_ok=True)
    for k, image in enumerate(images()) if any(word in work for word in ("image", "sized", "shrunk")) else ():
        (folder / f"{k}.png").write_bytes(image)
    if "kept" in work:
        np.save(folder / "all.npy", rng.random((16, 2000)))
    if "whole" in work:
        np.savez_compressed(folder / "all.npz", x=rng.random((16, 2000)))
    if "cells" in work:
        with h5py.File(folder / "cells.h5", "w") as file:
            file.create_dataset("x", data=rng.random((16, 20_000)), chunks=(16, 20_000), compression="gzip")
    if "pickled" in work:
        (folder / "all.pkl").write_bytes(b"".join(pickle.dumps(row.tolist()) for row in rng.random((16, 2000))))
    if "history" in work or "connected" in work:
        tables(folder / "events.db", "indexed" in work)
    (folder / "vocabulary.json").write_text(json.dumps({str(k): k for k in range(1000)}))
    (folder / "samples.py").write_text(CODE.format(work=work))
    ref = SourceRef(f"{folder}/samples.py:{name}", (str(folder),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    [found] = [fact for fact in SampleCalls(most_s=20).measure(bench) if isinstance(fact, Fact)]
    return found


def tables(path: Path, indexed: bool) -> None:
    database = sqlite3.connect(path)
    database.executescript("CREATE TABLE ev (t INTEGER PRIMARY KEY, user, v); CREATE TABLE names (id, name);")
    database.executemany("INSERT INTO ev VALUES (?, ?, ?)", ((k, k % 50, 0.5) for k in range(5000)))
    database.execute("INSERT INTO names VALUES (1, 'one')")
    if indexed:
        database.execute("CREATE INDEX of_user ON ev (user)")
    database.commit()
    database.close()


def told(fact: Fact) -> list[tuple[str, str, list[str]]]:
    """Kind, name and functions of the work that was noted."""
    return [(w["kind"], w["name"], sorted(at["function"] for at in w["places"])) for w in fact.value["work"]]


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("self.checked(index) and self.image(index)", [("twice", "decoding an image", ["checked", "image"])]),
        ("(self.image(index).sum(), self.vocabulary())[0]", [("same", "json.load", ["vocabulary"])]),
        ("self.whole(index)", [("same", "numpy", ["whole"])]),
        ("(self.image(index).sum(), copy.deepcopy(BOXES))[0]", [("copies", "copy.deepcopy", ["__getitem__"])]),
        ("self.converted(index, 3) # image", [("round_trips", "PIL.Image.fromarray", ["converted", "converted"])]),
        (
            "self.converted(index, 3, self.buffered) # image",
            [("round_trips", "PIL.Image.fromarray", ["buffered", "converted"])],
        ),
        ("self.doubled(index) # image", [("doubles", "torch.Tensor.float", ["doubled"])]),
        ("(self.image(index), log.error('read %s', index))[0]", [("logs", "a logger", ["__getitem__"])]),
        ("subprocess.check_output(['true'])", [("processes", "subprocess.check_output", ["__getitem__"])]),
    ],
    ids=[
        "decoded twice",
        "parsed in every sample",
        "whole array in every sample",
        "copied",
        "converted back",
        "converted back as torchvision does",
        "float64",
        "logged",
        "a process",
    ],
)
def test_work_that_is_done_again_or_in_vain_is_noted_with_its_lines(
    tmp_path: Path, work: str, expected: list[tuple[str, str, list[str]]]
) -> None:
    """Seen: where few stacks were sampled, an image that each sample decoded twice and a copy that took 8 % were not named."""
    assert told(called(tmp_path, work))[:1] == expected


@pytest.mark.parametrize(
    "work",
    [
        "self.image(index)",
        "(self.image(index), self.image((index + 1) % 16))",
        "self.kept(index)",
        "self.converted(index, 0) # image",
        "self.pickled(index)",
        "(self.image(index), log.debug('read %s', index))[0]",
        "(self.image(index), copy.deepcopy(BOXES[index]))[0]",
    ],
)
def test_nothing_is_noted_of_samples_that_read_what_they_need(tmp_path: Path, work: str) -> None:
    """Our promise: another file, another part of a file, a header, a handle that is kept, a message below the level, and a copy of
    little are no work done again."""
    assert told(called(tmp_path, work)) == []


def test_what_a_class_of_compiled_code_opens_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: an LMDB environment that each sample opened, a quarter of its time, of which nothing was told: its class allows no change."""

    def slowly(path: str, flags: int) -> int:
        time.sleep(1e-3)  # as long as opening one takes
        return os.open(path, flags)

    library: Any = ModuleType("lmdb")
    library.open, library.opener = io.FileIO, slowly
    monkeypatch.setitem(sys.modules, "lmdb", library)
    assert told(called(tmp_path, "self.entry(index)")) == [("same", "lmdb.open", ["entry"])]


def test_chunks_of_which_a_sample_takes_little_are_noted(tmp_path: Path) -> None:
    """Seen: "88 % of a sample's time is spent in decode", of samples that took a five-hundredth of the chunks that HDF5 decompressed for them."""
    fact = called(tmp_path, "self.cells(index)")
    [work] = [w for w in fact.value["work"] if w["kind"] == "chunks"]
    assert work["part"] == 1 / 16 and work["file"].endswith("cells.h5") and work["share"] > 0.3


def test_images_that_are_decoded_at_full_size_are_told_before_workers_have_run(tmp_path: Path) -> None:
    """Seen: photographs of 4 megapixels that become 224 x 224, and no word of it, as a batch took too long for workers to be watched."""
    fact, other = (called(folder, f"self.{folder.name}(index)") for folder in (tmp_path / "shrunk", tmp_path / "kept"))
    [found] = decoding(Facts((fact,)))
    assert (found.code, found.severity) == ("decodes-too-large", "warning")
    assert "25,600 pixels are decoded to use 400" in found.message
    assert not [*decoding(Facts((other,)))]


@pytest.mark.parametrize(
    ("shuffled", "made", "index", "part"),
    [
        (True, {"chunks": (8, 64, 64), "compression": "gzip"}, 3, 1 / 8),
        (True, {"chunks": (8, 64, 64), "compression": "gzip"}, (slice(6, 10), ...), 1 / 4),
        (True, {"chunks": (8, 64, 64), "compression": "gzip"}, (..., slice(0, 32)), 1 / 2),
        (False, {"chunks": (8, 64, 64), "compression": "gzip"}, 3, 1.0),  # the next samples are in the cache
        (False, {"chunks": (64, 64, 64), "compression": "gzip"}, 3, 1 / 64),  # too large for it
        (True, {"chunks": (1, 64, 64), "compression": "gzip"}, 3, 1.0),
        (True, {"chunks": (8, 64, 64)}, 3, 1.0),  # what others read is counted in bytes
        (True, {}, 3, 1.0),
        (True, {"chunks": (8, 64, 64), "compression": "gzip"}, [3, 9], 1.0),
    ],
)
def test_the_part_of_chunks_is_told_where_it_is_known(
    tmp_path: Path, shuffled: bool, made: dict[str, Any], index: Any, part: float
) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", (64, 64, 64), "f8", **made)
    with h5py.File(tmp_path / "x.h5", rdcc_nbytes=1 << 20) as file:
        assert part_of_chunks(shuffled, file["x"], index) == pytest.approx(part)


def test_what_every_batch_reads_again_is_noted(tmp_path: Path) -> None:
    """Seen: a vocabulary parsed in the collate function of each batch."""
    fact = called(tmp_path, "torch.zeros(1)", "with_collate")
    assert told(fact) == [("same", "json.load", ["collate"])]
    (found,) = calls(Facts((fact,)))
    assert (found.code, found.severity) == ("opened-per-sample", "warning")
    assert found.message.startswith("every batch reads vocabulary.json again with json.load, at samples.py:")


def test_what_a_batch_needs_once_is_no_work_of_each_sample(tmp_path: Path) -> None:
    """Seen: a memory map made once for each batch, in __getitems__, was said to be opened for every sample and to take half of its time."""
    fact = called(tmp_path, "index # kept", "batched")
    assert sum(w["share"] for w in fact.value["work"]) < 0.1 and not [
        w for w in fact.value["work"] if w["of"] == "sample"
    ]


def test_what_each_sample_of_a_batch_reads_again_is_noted(tmp_path: Path) -> None:
    """Our promise: also of a dataset that reads several samples at once, and does so one by one."""
    fact = called(tmp_path, "index # image", "each_in_turn")
    assert told(fact) == [("same", "json.load", ["vocabulary"])]
    assert (fact.value["work"][0]["of"], fact.value["work"][0]["times"]) == ("sample", 1.0)


def test_a_file_that_is_opened_at_two_lines_is_told_where_nothing_else_is(tmp_path: Path) -> None:
    fact = called(tmp_path, "self.sized(index) and self.image(index)")
    assert told(fact) == []  # a header is no work done again
    (found,) = opened_twice(Facts((fact,)))
    assert (found.severity, len(found.where)) == ("info", 2)
    twice = {"kind": "twice", "share": 0.4, "places": []}
    assert not [*opened_twice(Facts((Fact(SAMPLE_CALLS, {**fact.value, "work": [twice]}, fact.evidence),)))]


WORK = {
    "kind": "twice",
    "name": "decoding an image",
    "decodes": True,
    "file": "",
    "of": "sample",
    "share": 0.3,
    "times": 2.0,
    "places": [{"file": "a/b.py", "line": 9, "function": "f"}],
}


@pytest.mark.parametrize(
    ("work", "code", "severity", "text"),
    [
        (
            {},
            "avoidable-work",
            "warning",
            "each sample decodes the same image 2 times, at b.py:9 in `f`: doing it once would save 30%",
        ),
        ({"share": 0.05}, "avoidable-work", "info", "doing it once would save 5%"),
        (
            {"kind": "same", "name": "json.load", "decodes": False, "file": "a/v.json"},
            "opened-per-sample",
            "warning",
            "every sample reads v.json again with json.load, at b.py:9 in `f`: this takes 30% of a sample's time",
        ),
        (
            {"kind": "same", "name": "h5py.File", "decodes": False},
            "opened-per-sample",
            "warning",
            "opens the same thing again with h5py.File",
        ),
        ({"kind": "logs", "times": 1.0}, "chatty-workers", "info", "each sample prints or logs once, at b.py:9"),
        (
            {"kind": "chunks", "name": "h5py", "file": "a/v.h5", "part": 0.0125},
            "read-amplification",
            "warning",
            "each sample uses 1.2% of what is decompressed for it from v.h5, at b.py:9 in `f`, because whole chunks are decompressed: this takes 30%",
        ),
        ({"kind": "copies"}, "avoidable-work", "info", "30% of a sample's time goes to copying objects, at b.py:9"),
    ],
)
def test_what_was_noted_is_told_with_its_cure(work: dict[str, Any], code: str, severity: str, text: str) -> None:
    value = {"samples": 16, "work": [{**WORK, **work}], "scans": [], "opened": []}
    (found,) = calls(Facts((Fact(SAMPLE_CALLS, value, Evidence("timed", "a test")),)))
    assert (found.code, found.severity) == (code, severity) and text in found.message and found.fix


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select v from ev where user = ? order by t limit 9", True),
        ("select v from ev where user = ? -- indexed", False),
        ("select v from ev where t = ?", False),  # its key
        ("select name from names where id = ?", False),  # a small table
        ("select count(*), ? from ev", False),  # all rows are asked for
    ],
)
def test_queries_that_read_all_rows_for_some_are_explained(tmp_path: Path, query: str, told: bool) -> None:
    """Our promise: SQLite itself says that no index serves a query; the table, its column and its rows are named."""
    scans = called(tmp_path, f"self.history({query!r})").value["scans"]
    assert [(s["table"], s["columns"], s["rows"]) for s in scans] == ([("ev", ["user"], 4999)] if told else [])


def test_a_query_of_a_connection_that_is_closed_again_is_explained(tmp_path: Path) -> None:
    """Seen: where each sample opened and closed its connection, the query that read the whole table had no cause."""
    query = "select t from ev where user = ? and v = 0.5"
    [scan] = called(tmp_path, f"self.connected_anew({query!r})").value["scans"]
    assert (scan["table"], scan["columns"]) == ("ev", ["user", "v"])


def test_a_query_that_only_the_first_sample_runs_is_not_told(tmp_path: Path) -> None:
    """Our promise: a table that is read once and kept is read as it should be."""
    assert called(tmp_path, "self.history_once('select v from ev where user = ?')").value["scans"] == []


@pytest.mark.parametrize(
    ("code", "line", "lines"),
    [
        ("def f(db):\n    return db.execute(\n        Q,\n    ).fetchall()\n", 2, [2, 3, 4]),
        ("def f(db):\n    c = db.execute(Q)\n    x = 1\n    return c.fetchall()\n", 2, [2, 4]),
        ("def f(db):\n    for row in db.execute(Q):\n        use(row)\n", 2, [2]),
        ("not python (", 1, [1]),
    ],
)
def test_lines_of_a_query_are_those_of_its_statement_and_where_its_rows_are_fetched(
    code: str, line: int, lines: list[int], tmp_path: Path
) -> None:
    """Seen: a query over several lines had no known cause, as its costly line was another of its lines."""
    (tmp_path / "mine.py").write_text(code)
    assert lines_with(str(tmp_path / "mine.py"), line) == lines

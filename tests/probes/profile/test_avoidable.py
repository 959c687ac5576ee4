"""What need not be done for each sample, from real stacks of real work."""

from __future__ import annotations

import gc
import importlib.util
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pandas
import pytest
import torch
from torch.utils.data import default_collate

from dataloader_expert.advice.avoidable import KINDS, avoidable
from dataloader_expert.facts import Facts
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.profile import avoidable as looked
from dataloader_expert.probes.profile.python_loops import lines_of
from dataloader_expert.probes.profile.remote_stack import Columns, Stack
from dataloader_expert.probes.serving import Serving

LIGHT = """
import os
import numpy as np
import torch

X = np.random.default_rng(0).random(3000)

def loops(i):
    total = 0.0
    for x in X.tolist() * 30:
        total += x * x
    return total

def labels(i):
    return TABLE.loc[[i]]["v"].to_numpy()

def syncs(i):
    with open(HERE / "log.txt", "a") as log:
        os.fsync(log.fileno())

class Sized:
    def __init__(self, work, n=8):
        self.work, self.n = work, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.work(i)
        return i

def arrays(i):
    wide = np.ones((400, 2000))
    for k in range(40):
        wide = wide * 1.0001 + k
    return wide

class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        for i in range(8):
            yield loops(i)

def pads(samples):
    out = torch.zeros(len(samples), 2000)
    for row, sample in enumerate(samples):
        for column in range(len(sample)):
            out[row, column] = sample[column]
    return out

def fine(i):
    return torch.from_numpy(X[:64].copy()).sum()
"""
HEAVY = """
import copy, gc, gzip, hashlib, json, pickle, re, subprocess, time, zipfile
import pandas as pd
from multiprocessing.pool import ThreadPool
from pathlib import Path

HERE = Path(__file__).parent
CONFIG = {str(i): {"at": [i] * 20} for i in range(3000)}
ROWS = [(str(i), i) for i in range(200_000)]
TEXT = json.dumps(CONFIG)
KEPT = [[] for _ in range(300_000)]
TABLE = pd.DataFrame({"v": np.arange(2_000_000)}, index=np.arange(2_000_000) * 7919 % 9973)

def copies(i):
    return copy.deepcopy(CONFIG)

PATTERNS = [f"(a|b{i})+c" for i in range(700)]  # more than `re` keeps
PICKLED = pickle.dumps(X.tolist() * 100)  # our own, as users do

def compiles(i):
    return [re.sub(pattern, "", "abc") for pattern in PATTERNS]

def unpickles(i):
    return pickle.loads(PICKLED)

def parses(i):
    return json.loads(TEXT)

def paths(i):
    return [HERE / "clips" / str(k) for k in range(3000)]

def processes(i):
    return subprocess.run(["true"])

def collects(i):
    return gc.collect()

NUMBERS = X.tolist() * 10
SHARES = np.ones(200_000) / 200_000
BYTES = bytes(4_000_000)
WORDS = "the owl met a gnu by the lake " * 3000

def dates(i):
    return [time.strptime(f"2024-01-{1 + k % 28:02}", "%Y-%m-%d") for k in range(300)]

def matches(i):
    return re.sub(r"(?:o|w|l)+ (m[a-z]*)", "x", WORDS)

def draws(i):
    return np.random.choice(len(SHARES), size=5, p=SHARES)

def hashes(i):
    return hashlib.sha256(BYTES).hexdigest()


def converts(i):
    return torch.tensor(NUMBERS)

def formats(i):
    return np.array2string(X, threshold=10**9)

def searches(i):
    for row in ROWS:
        if row[0] == "199999":
            return row

def threads(i):
    with ThreadPool(16) as pool:
        return pool.map(len, ["a"])

def rewinds(i):
    with gzip.open(HERE / "all.gz") as file:
        file.seek(20_000_000 - i)
        return file.read(1)

def lists(i):
    return zipfile.ZipFile(HERE / "all.zip").read("5")

class Length(Sized):
    def __len__(self):
        return sum(1 for _ in ROWS) and self.n

    def __getitem__(self, i):
        return i % len(self)

"""


def imported(folder: Path, source: str) -> Iterator[ModuleType]:
    path = folder / "pipeline.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("pipeline", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pipeline"] = module
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("pipeline", None)  # of another fixture


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    import gzip
    import zipfile

    folder = tmp_path_factory.mktemp("theirs")
    with gzip.open(folder / "all.gz", "wb", compresslevel=1) as file:
        file.write(bytes(range(250)) * 80_000)
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for i in range(5000):
            archive.writestr(str(i), b"x")
    yield from imported(folder, LIGHT + HEAVY)


@pytest.fixture
def light(tmp_path: Path) -> Iterator[ModuleType]:
    """Their module without what only the kinds of work need, which takes a second to make."""
    yield from imported(tmp_path, LIGHT)


def stacks_of(dataset: Any, seconds: float = 0.5) -> tuple[list[tuple[Stack, float]], list[Columns | None]]:
    """Stacks of this thread while torch's fetcher reads samples, each with its share, and what their innermost frames execute.

    They are seen where Python's lock is given up, which within `gc.collect` is in callbacks only (Hypothesis registers one): without.
    """
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    fetcher = _MapDatasetFetcher(dataset, True, default_collate, False)
    found: list[Stack] = []
    parts: list[Columns | None] = []
    me, done = threading.get_ident(), threading.Event()

    def looking() -> None:
        while not done.wait(0.002):
            frame, stack = sys._current_frames().get(me), []
            part = None if frame is None else executed(frame)
            while frame is not None:
                stack.append((frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name))
                frame = frame.f_back
            if any("_utils/fetch" in file for file, _, _ in stack):
                found.append(tuple(stack))
                parts.append(part)

    thread = threading.Thread(target=looking)
    switching, callbacks = sys.getswitchinterval(), gc.callbacks[:]
    gc.callbacks.clear()
    sys.setswitchinterval(1e-4)  # or stacks are seen only where Python's lock is given up anyway
    thread.start()
    until, k = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < until or len(found) < 20:
            fetcher.fetch([k % 8])  # type: ignore[no-untyped-call]
            k += 1
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(switching)
        gc.callbacks.extend(callbacks)
    return [(stack, 1 / len(found)) for stack in found], parts


def stacks_by_calls_of(dataset: Any) -> tuple[list[tuple[Stack, float]], list[Columns | None]]:
    """The same with the CPU time from each call or return to the next. A thread that waits for Python's lock sees a long call of C only once it has
    returned, and on a busy machine in the function that is called next. What innermost frames execute is not known."""
    found: list[tuple[Stack, float]] = []
    now: tuple[Stack, float] | None = None

    def happened(frame: FrameType, what: str, _: Any) -> None:
        nonlocal now
        if now is not None:
            found.append((now[0], time.thread_time() - now[1]))
        at, stack = frame.f_back if what == "return" else frame, []
        while at is not None:
            stack.append((at.f_code.co_filename, at.f_lineno or 0, at.f_code.co_name))
            at = at.f_back
        now = tuple(stack), time.thread_time()

    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    fetcher = _MapDatasetFetcher(dataset, True, default_collate, False)
    fetcher.fetch([0])  # type: ignore[no-untyped-call]
    sys.setprofile(happened)
    try:
        for k in range(8):
            fetcher.fetch([k])  # type: ignore[no-untyped-call]
    finally:
        sys.setprofile(None)
    found = [(stack, spent) for stack, spent in found if any("_utils/fetch" in file for file, _, _ in stack)]
    whole = sum(spent for _, spent in found)
    return [(stack, spent / whole) for stack, spent in found], [None] * len(found)


def executed(frame: FrameType) -> Columns | None:
    """The part of its source that a frame executes: its first and last line, and where they begin and end."""
    first, last, begin, end = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return None if None in (first, last, begin, end) else (first, last, begin, end)  # type: ignore[return-value]  # none is


def told(dataset: Any, seen: Callable[[Any], Any] = stacks_of) -> list[Any]:
    stacks, parts = seen(dataset)
    begun = time.perf_counter()
    for k in range(4):
        dataset[k]
    sample_s = (time.perf_counter() - begun) / 4
    served = Serving(dataset, default_collate, "default", LoaderPlan(batch_size=1), False, "a test")
    return list(avoidable(Facts(tuple(looked.avoidable(served, stacks, len(stacks), sample_s, parts)))))


@pytest.mark.journey
@pytest.mark.parametrize(
    "kind",
    [
        "dates",
        "compiles",
        "unpickles",
        "matches",
        "draws",
        "hashes",
        "copies",
        "labels",
        "parses",
        "paths",
        "processes",
        "collects",
        "converts",
        "formats",
        "searches",
        "loops",
        "threads",
        "rewinds",
        "lists",
    ],
)
def test_each_kind_of_work_is_told_by_its_own_name(users: ModuleType, kind: str) -> None:
    """Our promise: what takes most of a sample's time, where, and what to do instead."""
    dataset = users.Sized(getattr(users, kind))
    [first, *_] = told(dataset, stacks_by_calls_of if kind == "labels" else stacks_of)
    what, fix = KINDS[kind]
    assert first.code == "avoidable-work" and what in first.message and first.fix == fix
    assert f"in `{kind}`" in first.message and first.cost >= 0.1  # beside other processes


@pytest.mark.journey
def test_a_length_that_is_counted_for_each_sample_is_told(users: ModuleType) -> None:
    [first] = told(users.Length(None))
    assert "len()" in first.message and "in `__len__`" in first.message


def test_lines_are_counted_in_streams_and_in_the_collate_function(light: ModuleType) -> None:
    file = light.__file__ or ""
    source = LIGHT.splitlines()
    in_loop = source.index("    for x in X.tolist() * 30:") + 1
    served = Serving(light.Stream(), default_collate, "default", LoaderPlan(batch_size=1), False, "a test")
    assert lines_of(served, file, in_loop, 0.01) == pytest.approx(2 * 90_000, rel=0.01)
    padding = Serving([torch.ones(500)] * 8, light.pads, "pads", LoaderPlan(batch_size=4), False, "a test")
    in_pads = source.index("    for row, sample in enumerate(samples):") + 1
    assert lines_of(padding, file, in_pads, 0.01) == pytest.approx(2 * 500, rel=0.01)


@pytest.mark.parametrize("work", ["arrays", "fine"])
def test_work_with_whole_arrays_is_none(light: ModuleType, work: str) -> None:
    """Our promise: a loop over arrays is no loop over single values, and what takes microseconds is not worth a word."""
    assert told(light.Sized(getattr(light, work))) == []


def test_rows_that_are_looked_up_by_label_are_told_from_rows_that_are_taken_out(light: ModuleType) -> None:
    """Seen: a look-up that compared all labels of an index was told as rows taken out one at a time; arrays find no rows."""
    own = (light.__file__ or "", 1 + LIGHT.splitlines().index('    return TABLE.loc[[i]]["v"].to_numpy()'), "labels")
    fetch = (torch.utils.data._utils.fetch.__file__, 54, "fetch")
    taking = (pandas.core.indexing.__file__, 1191, "__getitem__")
    comparing = (pandas.core.indexes.base.__file__, 6474, "get_indexer_non_unique")
    for stack, kind in (
        ((taking, own, fetch), "rows"),
        ((comparing, taking, own, fetch), "labels"),
        ((comparing, own, fetch), "labels"),
        (((pandas.core.indexes.base.__file__, 7600, "ensure_index"), comparing, own, fetch), "rows"),  # of a few labels
        (
            ((pandas.core.series.__file__, 5000, "_arith_method"), own, fetch),
            "rows",
        ),  # Seen: a table's row, standardised
    ):
        found = looked.work_of(stack)
        assert found is not None and found[0] == kind


def test_waiting_for_the_disk_is_told(light: ModuleType) -> None:
    """Seen: a log that was written to the disk for each sample had no name; which call of a line waits is known from its columns."""
    source = LIGHT.splitlines()
    line = 1 + source.index("        os.fsync(log.fileno())")
    fetch = (torch.utils.data._utils.fetch.__file__, 54, "fetch")
    found = looked.work_of(((light.__file__ or "", line, "syncs"), fetch), (line, line, 8, 30))
    assert found is not None and found[0] == "syncs"


def test_a_tokenizer_that_is_loaded_for_each_sample_is_told(tmp_path: Path) -> None:
    """Seen: compiled class methods say no module of their own, and a tokenizer read anew for each sample had no name."""
    pytest.importorskip("tokenizers")
    (tmp_path / "encoding.py").write_text(
        "from tokenizers import Tokenizer\n\ndef f(x):\n    t = Tokenizer.from_file(x)\n    return t\n"
    )
    module = importlib.util.spec_from_file_location("encoding", tmp_path / "encoding.py")
    assert module is not None and module.loader is not None
    sys.modules["encoding"] = importlib.util.module_from_spec(module)
    module.loader.exec_module(sys.modules["encoding"])
    stack = ((str(tmp_path / "encoding.py"), 4, "f"), (torch.utils.data._utils.fetch.__file__, 54, "fetch"))
    found = looked.work_of(stack)
    del sys.modules["encoding"]
    assert found is not None and found[0] == "loads"


LINE = """
import contextlib, re, zlib, hashlib, time
from time import sleep
import numpy as np
import torch

def of_a_list(xs):
    return torch.tensor([hash(x) % 7 for x in xs])

def of_a_name(xs):
    return torch.tensor(xs)

def of_a_call(xs):
    return torch.tensor(np.sort(xs).tolist())

def of_tokens(xs):
    return [zlib.crc32(x.encode()) % 7 for x in xs]

def of_a_file(raw):
    return zlib.crc32(raw)

RULES = [(re.compile(f"a{k}"), "b") for k in range(12)]
FEW = RULES[:2]

def all_rules(x):
    for pattern, by in RULES: x = pattern.sub(by, x)
    return x

def few_rules(x):
    return [pattern.search(x) for pattern, by in FEW]

def in_except(x):
    try:
        return load(x)
    except OSError:
        repr(x); time.sleep(0.1)

def in_retry(x):
    for k in range(3):
        with contextlib.suppress(OSError):
            pass
        try:
            return load(x)
        except OSError:
            pass
        time.sleep(2 ** k)

def in_wait(x):
    while not ready(x):
        sleep(0.5)

def of_lines(xs):
    for x in xs:
        y = hashlib.md5(x).hexdigest()
    return y
"""


@pytest.fixture(scope="module")
def lined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    file = tmp_path_factory.mktemp("lined") / "lined_users.py"
    file.write_text(LINE)
    spec = importlib.util.spec_from_file_location("lined_users", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules["lined_users"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["lined_users"]


@pytest.mark.parametrize(
    ("text", "part", "frame", "kind"),
    [
        ("torch.tensor([hash", "torch.tensor([hash(x) % 7 for x in xs])", "of_a_list", "converts"),
        ("torch.tensor([hash", "hash(x)", "<listcomp>", None),
        ("torch.tensor([hash", "hash(x) % 7", "of_a_list", None),  # as it is inlined
        ("torch.tensor([hash", None, "<listcomp>", None),
        ("torch.tensor([hash", None, "of_a_list", "converts"),
        ("torch.tensor(xs)", None, "of_a_name", "converts"),
        ("torch.tensor(np", "torch.tensor(np.sort(xs).tolist())", "of_a_call", "converts"),
        ("torch.tensor(np", "np.sort(xs).tolist()", "of_a_call", None),
        ("torch.tensor(np", None, "of_a_call", None),  # which of them is not known
        ("for x in xs]", "zlib.crc32(x.encode())", "<listcomp>", None),
        ("zlib.crc32(raw)", "zlib.crc32(raw)", "of_a_file", "hashes"),
        ("pattern.sub(by, x)", "pattern.sub(by, x)", "all_rules", "patterns"),
        ("pattern.sub(by, x)", None, "all_rules", "patterns"),
        ("pattern.search(x)", "pattern.search(x)", "<listcomp>", None),
        ("time.sleep(0.1)", "time.sleep(0.1)", "in_except", "retries"),
        ("time.sleep(0.1)", None, "in_except", "retries"),
        ("time.sleep(0.1)", "repr(x)", "in_except", None),
        ("time.sleep(2 ** k)", None, "in_retry", "retries"),
        ("sleep(0.5)", None, "in_wait", None),  # no error led to it
        ("hashlib.md5(x)", "hashlib.md5(x)", "of_lines", None),
    ],
)
def test_a_line_counts_for_the_call_that_it_is_in(
    lined: ModuleType, text: str, part: str | None, frame: str, kind: str | None
) -> None:
    """Our promise: what is computed for a call is none of its time, and hashed tokens are no checksum of a file."""
    lines = LINE.splitlines()
    text = "zlib.crc32(x.encode()) % 7 for x in xs]" if text == "for x in xs]" else text
    n = next(i for i, line in enumerate(lines) if text in line) + 1
    columns = None
    if part is not None:
        begin = lines[n - 1].index(part)
        columns = (n, n, begin, begin + len(part))
    stack: Stack = ((lined.__file__ or "", n, frame), ("/lib/torch/utils/data/_utils/fetch.py", 54, "fetch"))
    found = looked.work_of(stack, columns)
    assert (found[0] if found and found[0] != "loops" else None) == kind


@pytest.mark.parametrize(
    ("file", "function", "kind"),
    [
        ("pandas/core/indexing.py", "__getitem__", "rows"),
        ("pandas/core/tools/datetimes.py", "_guess_datetime_format_for_array", "dates"),
        ("pandas/core/frame.py", "_getitem_bool_array", "selects"),
        ("pandas/core/frame.py", "copy", "rows"),
        ("pandas/core/groupby/groupby.py", "mean", "tables"),
    ],
)
def test_work_of_tables_is_told_by_what_it_does(file: str, function: str, kind: str) -> None:
    """Seen: dates parsed and rows taken for each sample, at a line that was named without a cure."""
    inner = ("/x/site-packages/pandas/_libs/x.py", 3, "f"), (f"/x/site-packages/{file}", 7, function)
    fetch = "/x/site-packages/torch/utils/data/_utils/fetch.py", 52, "fetch"
    found = looked.work_of((*inner, ("/home/me/clicks.py", 20, "__getitem__"), fetch))
    assert found is not None and found[0] == kind and found[3] == 20
    assert kind in KINDS

# mypy: ignore-errors
"""A user's dataset with a stage of known cost, computing or waiting; and real code under names that say nothing."""

from __future__ import annotations

import binascii
import itertools
import json
import multiprocessing
import os
import sys
import tempfile
import time
import zlib
from pathlib import Path
from zlib import decompress as thing

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

FOLDER = Path(os.environ.get("WORKLOADS_FOLDER", Path(tempfile.gettempdir()) / "dataloader-expert-injected"))
WHOLE_S = 0.01
BLOCK_S = 0.1
TRUE_S = 2.0
"""Seconds of the plain loop that tells what stages really take."""
EPOCH = 400
"""Samples of an epoch whose cost with workers is told."""


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def spend(seconds, waits):
    (time.sleep if waits else burn)(seconds)


class Parts(Dataset):
    """``share`` of ten milliseconds goes to ``stage``, by waiting or work, the rest to work in another."""

    def __init__(self, stage="read", share=0.3, waits=False, n=100_000):
        self.n = n
        self.parts = {"read": (0.0, False), "decode": (0.0, False), "transform": (0.0, False)}
        other = "transform" if stage == "decode" else "decode"
        self.parts[other] = ((1 - share) * WHOLE_S, False)
        if stage in self.parts:
            self.parts[stage] = (share * WHOLE_S, waits)

    def __len__(self):
        return self.n

    def read_file(self, index):
        spend(*self.parts["read"])
        return index

    def decode(self, index):
        spend(*self.parts["decode"])
        return index

    def transform(self, index):
        spend(*self.parts["transform"])
        return torch.full((16,), float(index))

    def __getitem__(self, index):
        return self.transform(self.decode(self.read_file(index)))


class Collate:
    def __init__(self, seconds, waits):
        self.seconds, self.waits = seconds, waits

    def __call__(self, samples):
        spend(self.seconds * len(samples), self.waits)
        return torch.stack(samples)


def parts(stage="read", share=0.3, waits=False, workers=0, n=100_000):
    collate = Collate(share * WHOLE_S, waits) if stage == "collate" else None
    more = {"num_workers": workers, "persistent_workers": True, "timeout": 60} if workers else {}
    return DataLoader(Parts(stage, share, waits, n), batch_size=8, shuffle=True, collate_fn=collate, **more)


class Real(Dataset):
    """Code of the field; ``held`` keeps the output of the steps named, so that what they cost shows by its absence."""

    held = ()

    def __len__(self):
        return 100_000

    def kept(self, name, make):
        if name not in self.held:
            return make()
        if name not in self.__dict__:
            self.__dict__[name] = make()
        return self.__dict__[name]


class Pillow(Real):
    """Decoding and resizing in one body, by names that say nothing."""

    def __init__(self, held=()):
        from PIL import Image

        self.held = held
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.p = FOLDER / "one.jpg"
        if not self.p.exists():
            noise = np.random.default_rng(0).integers(0, 255, (80, 100, 3), dtype=np.uint8)
            Image.fromarray(noise).resize((1000, 800)).save(self.p, quality=92)

    def __getitem__(self, index):
        from PIL import Image

        def a():
            f = Image.open(self.p)
            f.load()
            return f

        q = self.kept("decode", a)
        return self.kept(
            "transform", lambda: torch.from_numpy(np.asarray(q.resize((300, 300)), dtype=np.float32) / 255)
        )


class Zlib(Real):
    """Two stages in one function body, on arrays so small that no page is mapped anew for what either makes: with larger
    ones the stage that is left out changes what the other costs, and the two do not add up."""

    def __init__(self, held=()):
        self.held = held
        rng = np.random.default_rng(0)
        self.b = [zlib.compress(rng.integers(0, 16, 20_000).astype(np.uint8).tobytes()) for _ in range(24)]
        self.o = [zlib.decompress(b) for b in self.b]

    def __getitem__(self, index):
        z = []
        for b, o in zip(self.b, self.o, strict=True):
            x = o if "decode" in self.held else thing(b)
            if "transform" not in self.held:
                y = np.frombuffer(x, dtype=np.uint8).astype(np.float32)
                y = np.tanh(y / 7.0) * 2.0
                z.append(y[:100].copy())
        return torch.from_numpy(np.concatenate(z)) if z else torch.zeros(2400)


class Mapped(Real):
    """Rows of a memory map, small for the same reason."""

    def __init__(self, held=()):
        self.held = held
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / "rows.npy"
        if not path.exists():
            np.save(path, np.random.default_rng(0).random((3200, 16_000), dtype=np.float32))
        self.m = np.load(path, mmap_mode="r")
        self.one = np.array(self.m[0])

    def __getitem__(self, index):
        z = []
        for k in range(100):
            v = self.one if "read" in self.held else np.array(self.m[(31 * index + k) % 3200])
            if "transform" not in self.held:
                z.append(np.exp(-v)[:10].copy())
        return torch.from_numpy(np.concatenate(z)) if z else torch.zeros(1000)


class Parquet(Real):
    """Two steps whose values are freed in them: what frees a table is nobody's else. Pages are inflated, not only copied."""

    def __init__(self, held=()):
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.held = held
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / "small.parquet"
        if not path.exists():
            rng = np.random.default_rng(0)
            columns = {f"c{i}": rng.integers(0, 1000, 12_000).astype(float) for i in range(8)}
            pq.write_table(pa.table(columns), path, row_group_size=4_000, compression="gzip", use_dictionary=False)
        self.f = pq.ParquetFile(path)

    def g(self, index):
        t = self.f.read_row_group(index % 3, use_threads=False)
        return t.column(0).to_numpy()

    def h(self, v):
        return torch.from_numpy(v[np.argsort(v)[:100]])

    def __getitem__(self, index):
        v = self.kept("decode", lambda: self.g(index))
        return self.kept("transform", lambda: self.h(v))


class Locked(Real):
    """C code that holds the interpreter's lock, and pure Python, in functions that are named."""

    def __init__(self, held=()):
        self.held = held
        self.text = binascii.b2a_base64(np.random.default_rng(0).bytes(60_000))

    def parse(self):
        for _ in range(12):  # small enough that no page is mapped anew for what comes out
            values = binascii.a2b_base64(self.text)
        return values

    def normalize(self, values):
        total = 0
        for value in values[:30_000]:
            total += value * 2
        return total

    def __getitem__(self, index):
        values = self.kept("decode", self.parse)
        return torch.tensor([float(self.kept("transform", lambda: self.normalize(values)))])


REAL = {
    "Pillow": ("decode", "transform"),
    "Zlib": ("decode", "transform"),
    "Mapped": ("read", "transform"),
    "Parquet": ("decode", "transform"),
    "Locked": ("decode", "transform"),
}


def real(name="Zlib", held=(), workers=0):
    more = {"num_workers": workers, "persistent_workers": True, "timeout": 60} if workers else {}
    return DataLoader(globals()[name](tuple(held)), batch_size=8, shuffle=True, **more)


def blocks(name, held):
    """Seconds of a sample in this process, which does nothing else, each time that a line comes: what ran before bears on
    memory and caches."""
    loader = real(name, held)
    stream = itertools.chain.from_iterable(itertools.repeat(loader))
    for _ in range(4):
        next(stream)
    for _ in sys.stdin:
        begun, n = time.perf_counter(), 0
        while time.perf_counter() - begun < BLOCK_S:
            next(stream)
            n += 8
        print((time.perf_counter() - begun) / n, flush=True)


class Own:
    """Seconds of this thread by step: on a core where the step computes, since there a hypervisor's taking is all else that
    passes; where it waits also those blocked. Waiting for a core is the machine's."""

    def __init__(self):
        self.fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        self.spent = {}

    def now(self, waits):
        cpu = time.thread_time()
        return time.perf_counter() - int(os.pread(self.fd, 64, 0).split()[1]) / 1e9 if waits else cpu, cpu

    def clocked(self, name, step, waits=False):
        def timed(*given):
            begun = self.now(waits)
            made = step(*given)
            spent = zip(self.spent.get(name, (0.0, 0.0)), begun, self.now(waits), strict=True)
            self.spent[name] = tuple(so_far + b - a for so_far, a, b in spent)
            return made

        return timed

    def shares(self, loader, delivering=None, seconds=TRUE_S):
        """Each step's share of a plain loop over the loader; with ``delivering``, the same with workers, of what that
        costs, so that bringing batches over counts as well."""
        stream = itertools.chain.from_iterable(itertools.repeat(loader))
        next(stream)
        self.spent.clear()
        begun, end, n = time.thread_time(), time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            next(stream)
            n += 1
        cpu = time.thread_time() - begun if delivering is None else n * cpu_of(delivering)
        whole = cpu + sum(own - on for own, on in self.spent.values())
        return {name: own / whole for name, (own, _) in self.spent.items()}


def cpu_of(loader):
    """CPU seconds of a batch, of all threads of this process and of its lasting workers: over a second epoch, since between
    two of them nothing is on its way."""

    def spent():
        clocks = [(~worker.pid << 3) | 2 for worker in multiprocessing.active_children()]  # clock_getcpuclockid(3)
        return time.process_time() + sum(map(time.clock_gettime, clocks))

    for _ in loader:
        pass
    begun = spent()
    for _ in loader:
        pass
    return (spent() - begun) / len(loader)


def truth(stage="read", share=0.3, waits=False, workers=0):
    """What each stage takes: a wait is longer than asked for, and loading costs something itself."""
    own, loader = Own(), parts(stage, share, waits)
    delivering = parts(stage, share, waits, workers, n=EPOCH) if workers else None
    dataset = loader.dataset
    for name, method in (("read", "read_file"), ("decode", "decode"), ("transform", "transform")):
        setattr(dataset, method, own.clocked(name, getattr(dataset, method), waits and name == stage))
    loader.collate_fn = own.clocked("collate", loader.collate_fn, waits and stage == "collate")
    return own.shares(loader, delivering)


if __name__ == "__main__":
    if sys.argv[1] == "truth":
        print(json.dumps(truth(**json.loads(sys.argv[2]))))
    else:
        blocks(sys.argv[1], sys.argv[2:])

# mypy: ignore-errors
"""Loaders limited by different things, with costs drawn from a seed, in a user's own file that knows nothing of this package.

Each function returns a DataLoader with torch's defaults and a batch size; ``WORKLOADS`` names them all.
Sleeping stands for storage that answers after a while.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

FOLDER = Path(os.environ.get("WORKLOADS_FOLDER", Path(tempfile.gettempdir()) / "dataloader-expert-workloads"))


def drawn(name, seed, low, high):
    """A cost between two bounds, by the workload's name and the seed."""
    return random.Random(f"{name}-{seed}").uniform(low, high)


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Costs(Dataset):
    """``cpu`` seconds of work and ``wait`` seconds of waiting a sample, of one in twenty ``long``; each has ``shape``."""

    def __init__(self, cpu=0.0, wait=0.0, shape=(64,), n=100_000, door=None, long=0.0):
        self.cpu, self.wait, self.n, self.door, self.long = cpu, wait, n, door, long
        self.x = torch.zeros(shape)

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if self.door is not None:
            with self.door:
                time.sleep(self.wait)  # the workload: a store that gives one answer, or a few, at a time
        elif self.wait:
            # drawn for each index: at even distances they might come to the same worker every time
            rare = self.long and np.random.default_rng(index).random() < 0.05
            time.sleep(self.wait + (self.long if rare else 0.0))  # what the workload is made to wait
        if self.cpu:
            burn(self.cpu)
        return self.x + index


class Pictures(Dataset):
    def __init__(self, side):
        from PIL import Image

        FOLDER.mkdir(parents=True, exist_ok=True)
        self.paths = [FOLDER / f"{side}-{i}.jpg" for i in range(32)]
        for i, path in enumerate(self.paths):
            if not path.exists():
                noise = np.random.default_rng(i).integers(0, 255, (side // 8, side // 8, 3), dtype=np.uint8)
                Image.fromarray(noise).resize((side, side)).save(path, quality=90)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        from PIL import Image

        with Image.open(self.paths[index % len(self.paths)]) as image:
            small = image.convert("RGB").resize((160, 160))
        return torch.from_numpy(np.asarray(small).transpose(2, 0, 1).copy())


class Arrays(Dataset):
    def __init__(self, side):
        self.x = np.random.default_rng(0).random((side, side), dtype=np.float32)

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        x = np.tanh(np.roll(self.x, index % 7) * 1.5) + np.sqrt(self.x)
        return torch.from_numpy(np.ascontiguousarray(x[::8, ::8]))


class Blobs(Dataset):
    def __init__(self, kilobytes):
        rng = np.random.default_rng(0)
        self.blobs = [
            zlib.compress(rng.integers(0, 16, kilobytes << 10).astype(np.uint8).tobytes(), 6) for _ in range(16)
        ]

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        raw = np.frombuffer(zlib.decompress(self.blobs[index % 16]), dtype=np.uint8)
        return torch.from_numpy(raw[:4096].astype(np.float32))


class Groups(Dataset):
    """One row group of a Parquet file is read for each sample."""

    def __init__(self, rows):
        import pyarrow as pa
        import pyarrow.parquet as pq

        FOLDER.mkdir(parents=True, exist_ok=True)
        self.path = FOLDER / f"groups-{rows}.parquet"
        if not self.path.exists():
            rng = np.random.default_rng(0)
            table = pa.table({f"c{i}": rng.random(rows * 40) for i in range(8)})
            pq.write_table(table, self.path, row_group_size=rows)
        self.files = {}

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        import pyarrow.parquet as pq

        if os.getpid() not in self.files:
            self.files[os.getpid()] = pq.ParquetFile(self.path)
        table = self.files[os.getpid()].read_row_group(index % 40, use_threads=False)
        return torch.tensor([c[index % 100].as_py() for c in table.columns])


class Windows(Dataset):
    """Cut from a series in memory: nothing to compute, much to hand on."""

    def __init__(self, length):
        self.x, self.length = torch.randn(4_000_000), length

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        at = index * 7919 % (len(self.x) - self.length)
        return self.x[at : at + self.length]


class Stream(IterableDataset):
    def __init__(self, cpu):
        self.cpu = cpu

    def __iter__(self):
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info is not None else (0, 1)
        for i in range(start, 100_000, step):
            burn(self.cpu)
            yield torch.full((64,), float(i))


class SlowCollate:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, samples):
        for _ in samples:
            burn(self.seconds)
        return torch.stack(samples)


def shuffled(dataset, batch_size=32, **more):
    return DataLoader(dataset, batch_size=batch_size, shuffle=True, generator=torch.Generator().manual_seed(0), **more)


def decode(seed=0):
    return shuffled(Pictures(int(drawn("decode", seed, 300, 500)) // 8 * 8))


def transform(seed=0):
    return shuffled(Arrays(int(drawn("transform", seed, 300, 500))))


def collate(seed=0):
    slow = drawn("collate", seed, 0.001, 0.003)
    return shuffled(Costs(cpu=0.0005), collate_fn=SlowCollate(slow))


def transfer(seed=0):
    side = int(drawn("transfer", seed, 256, 448))
    return shuffled(Costs(shape=(3, side, side)))


def latency(seed=0):
    return shuffled(Costs(wait=drawn("latency", seed, 0.005, 0.012)), batch_size=16)


def bandwidth(seed=0):
    return shuffled(Costs(wait=drawn("bandwidth", seed, 0.001, 0.003), cpu=0.0005, door=multiprocessing.Lock()))


def archives(seed=0):
    return shuffled(Blobs(int(drawn("archives", seed, 200, 600))))


def groups(seed=0):
    return shuffled(Groups(int(drawn("groups", seed, 2_000, 10_000))))


def tiny(seed=0):
    x = torch.randn(50_000, int(drawn("tiny", seed, 8, 64)))
    return shuffled(torch.utils.data.TensorDataset(x), batch_size=64)


def huge(seed=0):
    return shuffled(Costs(cpu=drawn("huge", seed, 0.003, 0.008), shape=(1 << 20,)), batch_size=8)


def mixed(seed=0):
    return shuffled(Costs(cpu=drawn("mixed", seed, 0.001, 0.002), wait=drawn("mixed wait", seed, 0.004, 0.008)), 16)


def remote(seed=0):
    """A store that answers only so many requests at a time."""
    answers = multiprocessing.Semaphore(int(drawn("remote", seed, 5, 11)))
    return shuffled(Costs(wait=drawn("remote wait", seed, 0.006, 0.015), cpu=0.0002, door=answers), batch_size=16)


def windows(seed=0):
    return shuffled(Windows(int(drawn("windows", seed, 8_000, 24_000))))


def iterable(seed=0):
    return DataLoader(Stream(drawn("iterable", seed, 0.001, 0.004)), batch_size=32)


WORKLOADS = (
    decode, transform, collate, transfer, latency, bandwidth, archives, groups, tiny, huge, mixed, remote, windows, iterable
)  # fmt: skip
WAITING = ("latency", "mixed", "remote")
"""Workloads whose grid goes to sixteen workers a core."""
assert io  # users import more than they use

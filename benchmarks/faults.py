# mypy: ignore-errors
"""Loaders with one fault each, and a clean counterpart of each, in a user's own file that knows nothing of this package.

Sleeping stands for a store, an index or a state that takes its time: the wait is either the fault or the work of its
counterpart. It is one file because the command is given one, with a function's name. ``CASES`` names for each code the
function that returns the faulty loader or dataset and the one that returns its counterpart.
"""

from __future__ import annotations

import copy
import gc
import io
import json
import logging
import os
import tempfile
import threading
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, WeightedRandomSampler, get_worker_info

FOLDER = Path(os.environ.get("FAULTS_FOLDER", Path(tempfile.gettempdir()) / "dataloader-expert-faults"))
N = 2000


def burn(seconds):
    """Uses this thread's CPU."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Plain(Dataset):
    """Half a millisecond of work for a vector."""

    def __init__(self, n=N, seconds=0.0005):
        self.n, self.seconds = n, seconds

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if not 0 <= index < self.n:
            raise IndexError(index)
        burn(self.seconds)
        return torch.arange(16, dtype=torch.float32) + index, index % 4


def plain():
    return Plain()


def seeded(dataset, **more):
    """A loader that leaves nothing to say: a generator, a timeout where there are workers."""
    more = {"batch_size": 16, "shuffle": True, **more}
    if more.get("num_workers"):
        more.setdefault("timeout", 60)
    if isinstance(dataset, IterableDataset):
        more.pop("shuffle")
    return DataLoader(dataset, generator=torch.Generator().manual_seed(0), **more)


def fine():
    return seeded(Plain())


def fine_with_workers():
    return seeded(Plain(), num_workers=2, persistent_workers=True)


# memory


class Strings(Dataset):
    """An index of many Python strings: reading them writes to their reference counts."""

    def __init__(self, n=600_000, arrays=False):
        names = [f"/data/images/{i:09d}.jpg" for i in range(n)]
        self.names = np.array(names, dtype="S32") if arrays else names

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return torch.tensor([len(self.names[index]), index])


def list_of_strings():
    return seeded(Strings(), batch_size=64)


def array_of_strings():
    return seeded(Strings(arrays=True), batch_size=64)


class Leaks(Plain):
    """Keeps a hundred kilobytes of every sample."""

    kept: list = []

    def __getitem__(self, index):
        self.kept.append(np.random.default_rng(index).random(12_500))
        return super().__getitem__(index)


def leaks():
    return seeded(Leaks())


class Keeps(Plain):
    """Keeps each sample, in whichever process reads it."""

    def __init__(self):
        super().__init__(seconds=0.002)
        self.kept = {}

    def __getitem__(self, index):
        if index not in self.kept:
            self.kept[index] = super().__getitem__(index)
        return self.kept[index]


def keeps():
    return seeded(Keeps(), num_workers=2, timeout=60)


class LeaksFiles(Plain):
    def __init__(self):
        super().__init__()
        self.kept = []

    def __getitem__(self, index):
        self.kept.append(open(os.devnull, "rb"))
        return super().__getitem__(index)


def leaks_files():
    return seeded(LeaksFiles())


# random numbers


class Noise(Plain):
    """``made``: a generator from ``__init__``; ``source``: system, constant or torch."""

    def __init__(self, made=False, source="torch"):
        super().__init__()
        self.rng = np.random.default_rng(7) if made else None
        self.source = source

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        if self.rng is not None:
            return x + torch.from_numpy(self.rng.random(16)).float(), y
        if self.source == "system":
            return x + torch.from_numpy(np.frombuffer(os.urandom(16), dtype=np.uint8).copy()), y
        if self.source == "numpy":
            return x + torch.from_numpy(np.random.random(16)).float(), y
        return x + torch.rand(16), y


def noise_from_init():
    return seeded(Noise(made=True))


def noise_from_torch():
    return seeded(Noise())


def seed_constant(worker):
    np.random.seed(42 + worker)


def seed_right(worker):
    np.random.seed(torch.initial_seed() % 2**32)


def noise_seeded_constantly():
    return seeded(Noise(source="numpy"), num_workers=2, worker_init_fn=seed_constant)


def noise_seeded_right():
    return seeded(Noise(source="numpy"), num_workers=2, worker_init_fn=seed_right)


def noise_from_system():
    return seeded(Noise(source="system"))


# streams


class Stream(IterableDataset):
    """``shards``: what a worker takes a share of; ``lies``: what len() adds."""

    def __init__(self, sharded=True, shards=400, lies=0, each=4):
        self.sharded, self.shards, self.lies, self.each = sharded, shards, lies, each

    def __len__(self):
        return self.shards * self.each + self.lies

    def __iter__(self):
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info is not None and self.sharded else (0, 1)
        for shard in range(start, self.shards, step):
            for i in range(self.each):
                burn(0.0003)
                yield torch.arange(8, dtype=torch.float32) + shard * self.each + i


def stream_not_sharded():
    return seeded(Stream(sharded=False), num_workers=2)


def stream_sharded():
    return seeded(Stream(), num_workers=2)


def stream_of_one_shard():
    return seeded(Stream(shards=1, each=400), num_workers=2)


def stream_of_wrong_length():
    return seeded(Stream(lies=77), num_workers=2)


class Buffered(IterableDataset):
    """Shuffles within a buffer of so many samples."""

    def __init__(self, buffer, n=2000):
        self.buffer, self.n = buffer, n

    def __iter__(self):
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info is not None else (0, 1)
        held = []
        for i in range(start, self.n, step):
            held.append(i)
            if len(held) >= self.buffer:
                yield self._sample(held.pop(int(torch.randint(len(held), ()))))
        while held:
            yield self._sample(held.pop(int(torch.randint(len(held), ()))))

    def _sample(self, i):
        return torch.arange(8, dtype=torch.float32) + i


def stream_barely_mixed():
    return seeded(Buffered(8), batch_size=32)


def stream_mixed():
    return seeded(Buffered(1500), batch_size=32)


# files


def _archive(deflated=False):
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"archive-{deflated}.zip"
    if not path.exists():
        rng = np.random.default_rng(0)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as z:
            for i in range(200):
                out = io.BytesIO()
                np.save(out, rng.integers(0, 8, 40_000).astype(np.uint8))
                z.writestr(f"{i}.npy", out.getvalue())
    return path


class Archive(Dataset):
    """``when``: init, use or each: when the archive is opened."""

    def __init__(self, when, deflated=False):
        self.path, self.when = _archive(deflated), when
        self.zip = zipfile.ZipFile(self.path) if when == "init" else None
        self.owner = os.getpid()

    def __len__(self):
        return 200

    def __getitem__(self, index):
        if self.when == "each":
            with zipfile.ZipFile(self.path) as z:
                return self._of(z, index)
        if self.when == "use" and (self.zip is None or self.owner != os.getpid()):
            self.zip, self.owner = zipfile.ZipFile(self.path), os.getpid()
        return self._of(self.zip, index)

    def _of(self, z, index):
        return torch.from_numpy(np.load(io.BytesIO(z.read(f"{index % 200}.npy")))[:4000].astype(np.float32))

    def __getstate__(self):
        return {**self.__dict__, "zip": None}


def archive_opened_in_init():
    return seeded(Archive("init"))


def archive_opened_on_use():
    return seeded(Archive("use"))


def archive_opened_each_time():
    return seeded(Archive("each"))


class Inflates(Dataset):
    def __init__(self, stored=False):
        rng = np.random.default_rng(1)
        blobs = [rng.integers(0, 8, 200_000).astype(np.uint8).tobytes() for _ in range(16)]
        self.stored, self.blobs = stored, blobs if stored else [zlib.compress(b) for b in blobs]

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        blob = self.blobs[index % 16]
        x = np.frombuffer(blob if self.stored else zlib.decompress(blob), dtype=np.uint8)
        return torch.from_numpy(x.reshape(200, 1000).astype(np.float32).mean(0) + index)


def inflates():
    return seeded(Inflates())


def stored():
    return seeded(Inflates(stored=True))


class Groups(Dataset):
    """``rows`` of a group are read for each sample, or one row only."""

    def __init__(self, whole=True):
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.path, self.whole = FOLDER / "groups.bin", whole
        if not self.path.exists():
            np.random.default_rng(2).random((4000, 512), dtype=np.float32).tofile(self.path)

    def __len__(self):
        return 4000

    def __getitem__(self, index):
        with open(self.path, "rb") as f:
            first = index // 100 * 100 if self.whole else index
            f.seek(first * 2048)
            rows = np.frombuffer(f.read(2048 * (100 if self.whole else 1)), dtype=np.float32).reshape(-1, 512)
        burn(0.0002)
        return torch.from_numpy(rows[index - first].copy())


class OneHandle(Groups):
    """One handle a process, one row a sample."""

    def __init__(self):
        super().__init__(whole=False)
        self.files = {}

    def __getitem__(self, index):
        f = self.files.setdefault(os.getpid(), None) or self.files.setdefault(
            os.getpid() + (1 << 30), open(self.path, "rb")
        )
        raw = os.pread(f.fileno(), 2048, index * 2048)
        burn(0.0002)
        return torch.from_numpy(np.frombuffer(raw, dtype=np.float32).copy())

    def __getstate__(self):
        return {**self.__dict__, "files": {}}


def groups_for_a_row():
    return seeded(Groups())


def rows_for_a_row():
    return seeded(OneHandle())


class Lists(Plain):
    """Lists a folder for every sample."""

    def __init__(self, each=True):
        super().__init__(seconds=0.0002)
        FOLDER.mkdir(parents=True, exist_ok=True)
        folder = FOLDER / "many"
        folder.mkdir(exist_ok=True)
        if len(os.listdir(folder)) < 3000:
            for i in range(3000):
                (folder / f"{i:05d}.txt").touch()
        self.folder, self.names = folder, None if each else sorted(os.listdir(folder))

    def __getitem__(self, index):
        names = sorted(os.listdir(self.folder)) if self.names is None else self.names
        assert names[index % len(names)]
        return super().__getitem__(index)


def lists_for_each():
    return seeded(Lists())


def lists_once():
    return seeded(Lists(each=False))


# processes


class Locks(Plain):
    """A thread of the main process holds a lock at the fork; workers wait for it."""

    def __init__(self, held=True):
        super().__init__()
        self.lock, self.owner = threading.Lock(), os.getpid()
        if held:
            threading.Thread(target=self._hold, daemon=True).start()
            time.sleep(0.05)  # until it has the lock

    def _hold(self):
        with self.lock:
            while True:
                time.sleep(1)  # and never lets it go

    def __getitem__(self, index):
        if os.getpid() != self.owner:
            with self.lock:
                pass
        return super().__getitem__(index)

    def __getstate__(self):
        return {**self.__dict__, "lock": None}


def lock_held_at_fork():
    return seeded(Locks(), num_workers=2, timeout=0)


def lock_free_at_fork():
    return seeded(Locks(held=False), num_workers=2)


class Client(Plain):
    """A connection made in the main process, whose thread does not live in workers."""

    def __init__(self, before=True):
        super().__init__()
        import asyncio

        self.loop = asyncio.new_event_loop()
        self.owner = os.getpid()
        self.before = before
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def __getitem__(self, index):
        import asyncio

        if os.getpid() != self.owner and not self.before:
            self.loop, self.owner = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=self.loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result()
        return super().__getitem__(index)

    def __getstate__(self):
        return {**self.__dict__, "loop": None}


def client_before_fork():
    return seeded(Client(), num_workers=2, timeout=0)


def client_after_fork():
    return seeded(Client(before=False), num_workers=2)


class Dies(Plain):
    def __getitem__(self, index):
        if get_worker_info() is not None and index % 50 == 7:
            os.kill(os.getpid(), 9)
        return super().__getitem__(index)


def dies():
    return seeded(Dies(), num_workers=2)


class Odd(Exception):
    def __init__(self, code, where):
        super().__init__(f"{code} at {where}")


class Raises(Plain):
    def __init__(self, odd=True):
        super().__init__()
        self.odd = odd

    def __getitem__(self, index):
        if index % 400 == 11:
            raise Odd(3, index) if self.odd else ValueError(f"bad sample {index}")
        return super().__getitem__(index)


def raises_oddly():
    return seeded(Raises())


def raises_plainly():
    return seeded(Raises(odd=False))


class Unpicklable(Plain):
    def __init__(self):
        super().__init__()
        self.change = lambda x: x

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return self.change(x), y


def unpicklable():
    return seeded(Unpicklable())


class Handle(Plain):
    """Gives a thing that cannot be sent."""

    def __init__(self, sent=True):
        super().__init__()
        self.sent = sent

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return {"x": x, "y": y, "by": (lambda: index) if self.sent else index}


def listed(samples):
    return samples


def gives_functions():
    return seeded(Handle(), collate_fn=listed)


def gives_numbers():
    return seeded(Handle(sent=False), collate_fn=listed)


class Threads(Plain):
    """A pool of threads in every worker, all busy."""

    def __init__(self, pool=True):
        super().__init__()
        self.pool = pool
        self.held = {}

    def __getitem__(self, index):
        if self.pool and get_worker_info() is not None and os.getpid() not in self.held:
            self.held[os.getpid()] = [threading.Thread(target=self._spin, daemon=True) for _ in range(12)]
            for thread in self.held[os.getpid()]:
                thread.start()
        return super().__getitem__(index)

    def _spin(self):
        data = os.urandom(1 << 20)
        while True:
            zlib.crc32(data)

    def __getstate__(self):
        return {**self.__dict__, "held": {}}


def many_threads():
    return seeded(Threads(), num_workers=2)


# batches


class Large(Plain):
    """Samples of many bytes and little work; ``shape`` of float32."""

    def __init__(self, shape, n=256):
        super().__init__(n=n)
        self.x = torch.zeros(shape)

    def __getitem__(self, index):
        return self.x + index


def large_batches():
    return seeded(Large((3, 512, 512)), num_workers=2)


class Worked(Large):
    def __getitem__(self, index):
        burn(0.01)
        return self.x[:, :64, :64] + index


def worked_batches():
    return seeded(Worked((3, 512, 512)), num_workers=2)


class Many(Plain):
    """So many small tensors a sample."""

    def __init__(self, tensors, seconds=0.0):
        super().__init__(seconds=seconds)
        self.tensors = tensors

    def __getitem__(self, index):
        super().__getitem__(index)
        return {f"f{i}": torch.tensor([float(index + i)]) for i in range(self.tensors)}


def many_tensors():
    return seeded(Many(40), num_workers=2)


def few_tensors():
    return seeded(Many(2, 0.0005), num_workers=2)


class Rows(Dataset):
    """Rows in memory; ``whole``: a batch in one call."""

    def __init__(self, n=50_000):
        self.x = torch.randn(n, 16, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index]


class WholeRows(Rows):
    def __getitems__(self, indices):
        return self.x[torch.tensor(indices)]


def given_whole(samples):
    return samples


def rows():
    return seeded(Rows(), batch_size=64)


def whole_rows():
    return seeded(WholeRows(), batch_size=64, collate_fn=given_whole)


class Nested(Plain):
    """Samples that are nested Python objects."""

    def __init__(self, deep=True):
        super().__init__(seconds=0.0001)
        self.deep = deep

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return (
            {"x": x, "y": y, "boxes": [{"a": [float(i + j) for j in range(8)]} for i in range(40)]}
            if self.deep
            else (x, y)
        )


def nested():
    return seeded(Nested(), num_workers=2, collate_fn=listed)


def flat():
    return seeded(Nested(deep=False), num_workers=2)


def slow_stack(samples):
    rows = []
    for x, _ in samples:
        burn(0.001)
        rows.append(x)
    return torch.stack(rows)


def quick_stack(samples):
    return torch.stack([x for x, _ in samples])


def slow_collate():
    return seeded(Plain(), collate_fn=slow_stack)


def quick_collate():
    return seeded(Plain(), collate_fn=quick_stack)


class Uneven(Plain):
    """One sample in forty waits long."""

    def __init__(self, long=0.15):
        super().__init__(n=4000, seconds=0.0001)
        self.long = long

    def __getitem__(self, index):
        time.sleep(self.long if index % 40 == 3 else 0.004)
        return super().__getitem__(index)


def stragglers():
    return seeded(Uneven(), batch_size=4)


def stragglers_out_of_order():
    return seeded(Uneven(), batch_size=4, num_workers=4, in_order=False)


def even():
    return seeded(Uneven(long=0.004), batch_size=4)


# order, length, epochs


def dropped():
    return seeded(Plain(n=40), batch_size=32, drop_last=True)


def kept_whole():
    return seeded(Plain(n=64), batch_size=32, drop_last=True)


class Lies(Plain):
    def __len__(self):
        return self.n + 5


def lies():
    return seeded(Lies())


class SameOrder(torch.utils.data.Sampler):
    def __init__(self, n, moving):
        self.n, self.moving, self.epoch = n, moving, 0

    def __len__(self):
        return self.n

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.epoch)
        if self.moving:
            self.epoch += 1
        yield from torch.randperm(self.n, generator=generator).tolist()


def same_order():
    return DataLoader(Plain(), batch_size=16, sampler=SameOrder(N, False))


def other_order():
    return DataLoader(Plain(), batch_size=16, sampler=SameOrder(N, True))


def order_from_global():
    return DataLoader(Plain(), batch_size=16, shuffle=True)


class Epochs(Plain):
    """Content that depends on the epoch; ``shared``: kept where workers see it."""

    def __init__(self, shared):
        super().__init__()
        self.value = torch.zeros(1).share_memory_() if shared else None
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch
        if self.value is not None:
            self.value[0] = epoch

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + (float(self.value[0]) if self.value is not None else self.epoch), y


def epoch_in_self():
    return seeded(Epochs(False), num_workers=2, persistent_workers=True)


def epoch_shared():
    return seeded(Epochs(True), num_workers=2, persistent_workers=True)


def too_many_weights():
    return DataLoader(Rows(1 << 21), batch_size=64, sampler=WeightedRandomSampler(torch.ones(1 << 21), 1000))


def few_weights():
    return DataLoader(Rows(), batch_size=64, sampler=WeightedRandomSampler(torch.ones(50_000), 1000))


def no_timeout():
    return seeded(Plain(), num_workers=2, timeout=0)


class Custom:
    """A batch type of the user's."""

    def __init__(self, samples):
        self.x = torch.stack([x for x, _ in samples])


class Pinnable(Custom):
    def pin_memory(self):
        self.x = self.x.pin_memory()
        return self


def custom_batch():
    return seeded(Plain(), collate_fn=Custom, pin_memory=True)


def pinnable_batch():
    return seeded(Plain(), collate_fn=Pinnable, pin_memory=True)


def remade_workers():
    return seeded(Plain(n=160), num_workers=2, persistent_workers=False)


def kept_workers():
    return seeded(Plain(n=160), num_workers=2, persistent_workers=True)


class Heavy(Plain):
    """A large object that spawn pickles for every worker."""

    def __init__(self, words):
        super().__init__()
        self.words = [str(i) for i in range(words)]


def heavy_spawn():
    return seeded(Heavy(4_000_000), num_workers=2, multiprocessing_context="spawn")


def light_spawn():
    return seeded(Heavy(10), num_workers=2)


class Scans(Plain):
    """Builds its index on the first read."""

    ready = False

    def __init__(self, late=True):
        super().__init__()
        self.ready = not late

    def __getitem__(self, index):
        if not self.ready:
            time.sleep(1.5)
            self.ready = True
        return super().__getitem__(index)


def late_index():
    return seeded(Scans())


def early_index():
    return seeded(Scans(late=False))


class Garbage(Plain):
    """Makes reference cycles, and the collector walk a large heap."""

    def __init__(self, cycles=True):
        super().__init__(seconds=0.0001)
        self.heap = [[i] for i in range(300_000)] if cycles else []
        self.cycles = cycles

    def __getitem__(self, index):
        if self.cycles and index % 4 == 0:
            gc.collect()
        return super().__getitem__(index)


def garbage():
    return seeded(Garbage())


def tidy():
    return seeded(Garbage(cycles=False))


class Talks(Plain):
    def __init__(self, talks=True):
        super().__init__()
        self.talks = talks
        self.log = logging.getLogger("talks")
        self.log.propagate = False
        if talks and not self.log.handlers:
            self.log.addHandler(logging.StreamHandler(open(os.devnull, "w")))

    def __getitem__(self, index):
        if self.talks:
            self.log.warning("sample %d", index)
        return super().__getitem__(index)

    def __getstate__(self):
        return {**self.__dict__, "log": None}


def talks():
    return seeded(Talks())


def silent():
    return seeded(Talks(talks=False))


class Stateful(Plain):
    """A dataset with a state; ``heavy``: one that takes long to give."""

    def __init__(self, heavy):
        super().__init__()
        self.heavy = heavy

    def state_dict(self):
        if self.heavy:
            time.sleep(0.02)
        return {"at": 0}

    def load_state_dict(self, state):
        pass


class StatefulLoader(DataLoader):
    snapshot_every_n_steps = 1

    def state_dict(self):
        return {"dataset": self.dataset.state_dict()}


def state_each_step():
    return StatefulLoader(Stateful(True), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(0))


def state_light():
    return StatefulLoader(Stateful(False), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(0))


class Waits(Plain):
    def __getitem__(self, index):
        time.sleep(0.008)
        return super().__getitem__(index)


def waits():
    return seeded(Waits(seconds=0.0001))


class Throttled(Plain):
    """One store that serves one read at a time."""

    def __init__(self, shared=True):
        super().__init__(seconds=0.0001)
        import multiprocessing

        self.door = multiprocessing.Lock() if shared else None

    def __getitem__(self, index):
        if self.door is not None:
            with self.door:
                time.sleep(0.004)
        else:
            burn(0.004)
        return super().__getitem__(index)


def behind_a_lock():
    return seeded(Throttled(), num_workers=2)


def one_at_a_time():
    return seeded(Throttled())


def computing():
    return seeded(Throttled(shared=False))


def crowded():
    return seeded(Plain(seconds=0.003))


class Pictures(Dataset):
    """JPEGs of 1600 by 1200 for 112 pixels; ``draft``: decoded small."""

    def __init__(self, draft=False):
        from PIL import Image

        FOLDER.mkdir(parents=True, exist_ok=True)
        self.paths, self.draft = [FOLDER / f"picture-{i}.jpg" for i in range(8)], draft
        for i, path in enumerate(self.paths):
            if not path.exists():
                noise = np.random.default_rng(i).integers(0, 255, (75, 100, 3), dtype=np.uint8)
                Image.fromarray(noise).resize((1600, 1200)).save(path, quality=85)

    def __len__(self):
        return 400

    def __getitem__(self, index):
        from PIL import Image

        with Image.open(self.paths[index % 8]) as image:
            if self.draft:
                image.draft("RGB", (200, 150))
            small = image.convert("RGB").resize((112, 112))
        return torch.from_numpy(np.asarray(small).transpose(2, 0, 1).copy())


def pictures_whole():
    return seeded(Pictures())


def pictures_small():
    return seeded(Pictures(draft=True))


def starving():
    return seeded(Plain(seconds=0.003))


def left_over():
    """Leaves shared memory behind under the name of a process that has gone."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    with open(f"/dev/shm/torch_{pid}_1_1", "wb") as f:
        f.write(bytes(2 << 20))
    return seeded(Plain())


def swept():
    """Takes away what ``left_over`` left."""
    for name in os.listdir("/dev/shm"):
        if name.startswith("torch_") and name.endswith("_1_1"):
            os.unlink(f"/dev/shm/{name}")
    return seeded(Plain())


class Hungry(Plain):
    """Batches of half a gigabyte and more in flight."""

    def __init__(self, side):
        super().__init__(n=512)
        self.side = side

    def __getitem__(self, index):
        return torch.empty((self.side, 1 << 20), dtype=torch.uint8).fill_(index % 7)


def holes():
    return seeded(Hungry(12), num_workers=2, batch_size=8)


def much_in_flight():
    return seeded(Hungry(12), num_workers=2, prefetch_factor=14, batch_size=8)


def little_in_flight():
    return seeded(Hungry(1), num_workers=2, batch_size=8)


class Retains(DataLoader):
    """Keeps every batch that it gave."""

    def __iter__(self):
        self.__dict__.setdefault("held", [])
        for batch in super().__iter__():
            self.held.append(batch)
            yield batch


def retains():
    return Retains(Plain(), batch_size=16, num_workers=2, timeout=60, generator=torch.Generator().manual_seed(0))


class Temporaries(Plain):
    """Arrays of ``n`` numbers on the way to a sample."""

    def __init__(self, n):
        super().__init__(200, seconds=0.0002)
        self.numbers = n

    def __getitem__(self, index):
        one = np.full(self.numbers, index, dtype=np.float32)
        other = np.sqrt(one)
        return torch.from_numpy((one + other)[:100].copy())


def large_temporaries():
    return seeded(Temporaries(800_000))


def small_temporaries():
    return seeded(Temporaries(8_000))


class Configured(Plain):
    """A transform's settings, of some thousand objects; ``each``: copied for each sample."""

    def __init__(self, each):
        super().__init__()
        self.each = each
        self.settings = {f"step{k}": {"scale": [k * 0.5] * 50} for k in range(200)}

    def __getitem__(self, index):
        settings = copy.deepcopy(self.settings) if self.each else self.settings
        vector, label = super().__getitem__(index)
        return vector * settings["step3"]["scale"][7], label


def copies_settings():
    return seeded(Configured(each=True))


def shares_settings():
    return seeded(Configured(each=False))


class Lengths(Plain):
    """Vectors of unlike lengths."""

    def __getitem__(self, index):
        vector, label = super().__getitem__(index)
        return vector[: 4 + index % 9], label


def padded(samples):
    vectors, labels = zip(*samples, strict=True)
    return torch.nn.utils.rnn.pad_sequence(list(vectors), batch_first=True), torch.tensor(labels)


def unlike_lengths():
    return seeded(Lengths())


def padded_lengths():
    return seeded(Lengths(), collate_fn=padded)


class Ordered(Sampler):
    """Draws its order at the start of an epoch, which takes ``seconds``."""

    def __init__(self, n, seconds):
        self.n, self.seconds, self.drawn = n, seconds, torch.Generator().manual_seed(0)

    def __len__(self):
        return self.n

    def __iter__(self):
        burn(self.seconds)
        yield from torch.randperm(self.n, generator=self.drawn).tolist()


def slow_order():
    return seeded(Plain(), shuffle=None, sampler=Ordered(N, 0.6))


def quick_order():
    return seeded(Plain(), shuffle=None, sampler=Ordered(N, 0.0))


CASES = {
    "copy-on-write-growth": ("list_of_strings", "array_of_strings"),
    "memory-leak": ("leaks", "fine"),
    "dataset-caches-samples": ("keeps", "fine_with_workers"),
    "rng-duplicated": ("noise_from_init", "noise_from_torch"),
    "rng-constant-seed": ("noise_seeded_constantly", "noise_seeded_right"),
    "iterable-not-sharded": ("stream_not_sharded", "stream_sharded"),
    "idle-workers": ("stream_of_one_shard", "stream_sharded"),
    "handle-shared-across-fork": ("archive_opened_in_init", "archive_opened_on_use"),
    "opened-per-sample": ("archive_opened_each_time", "archive_opened_on_use"),
    "inflate-per-sample": ("inflates", "stored"),
    "read-amplification": ("groups_for_a_row", "rows_for_a_row"),
    "too-many-threads": ("many_threads", "fine_with_workers"),
    "deadlock": ("lock_held_at_fork", "lock_free_at_fork"),
    "file-descriptors-grow": ("leaks_files", "fine"),
    "samples-cheaper-than-transport": ("rows", "crowded"),
    "many-small-tensors": ("many_tensors", "few_tensors"),
    "large-batches-copied": ("large_batches", "worked_batches"),
    "head-of-line-blocking": ("stragglers", "even"),
    "slow-samples": ("stragglers", "even"),
    "workers-recreated": ("remade_workers", "kept_workers"),
    "slow-worker-start": ("heavy_spawn", "light_spawn"),
    "unpicklable": ("unpicklable", "fine"),
    "result-unpicklable": ("gives_functions", "gives_numbers"),
    "exception-garbled": ("raises_oddly", "raises_plainly"),
    "no-timeout": ("no_timeout", "fine_with_workers"),
    "worker-died": ("dies", "fine_with_workers"),
    "not-pinned": ("custom_batch", "pinnable_batch"),
    "main-process-busy": ("nested", "flat"),
    "batched-fetch-unused": ("rows", "whole_rows"),
    "cores-used-up": ("crowded", "waits"),
    "latency-bound": ("waits", "crowded"),
    "bandwidth-bound": ("one_at_a_time", "computing"),
    "waits-for-lock": ("behind_a_lock", "waits"),
    "slow-metadata": ("lists_for_each", "lists_once"),
    "client-used-across-fork": ("client_before_fork", "client_after_fork"),
    "batches-dropped": ("dropped", "kept_whole"),
    "wrong-length": ("lies", "fine"),
    "same-order-each-epoch": ("same_order", "other_order"),
    "not-deterministic": ("noise_from_system", "noise_from_torch"),
    "order-from-global-rng": ("order_from_global", "fine"),
    "epoch-not-seen-by-workers": ("epoch_in_self", "epoch_shared"),
    "slow-first-batch": ("late_index", "early_index"),
    "garbage-collector-pauses": ("garbage", "tidy"),
    "chatty-workers": ("talks", "silent"),
    "weighted-sampler-limit": ("too_many_weights", "few_weights"),
    "poor-mixing": ("stream_barely_mixed", "stream_mixed"),
    "slow-collate": ("slow_collate", "quick_collate"),
    "state-snapshots-slow": ("state_each_step", "state_light"),
    "stale-shared-memory": ("left_over", "swept"),
    "decodes-too-large": ("pictures_whole", "pictures_small"),
    "prefetch-memory": ("much_in_flight", "little_in_flight"),
    "freed-memory-kept": ("holes", "fine"),
    "avoidable-work": ("copies_settings", "shares_settings"),
    "not-collatable": ("unlike_lengths", "padded_lengths"),
    "slow-epoch-start": ("slow_order", "quick_order"),
    "memory-given-back": ("large_temporaries", "small_temporaries"),
}
"""Code: (a loader with that fault, its clean twin)."""

if __name__ == "__main__":
    print(json.dumps(CASES))

"""Loaders of the factory equal plain ones, sample by sample and effect by effect, but for what is their defect."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    default_collate,
    get_worker_info,
)

from dataloader_expert.loaders import (
    DataLoaderConfig,
    DataLoaderFactory,
    EpochLoader,
    create_seeded_generator,
    get_default_task_specs,
)
from dataloader_expert.loaders.collate import Gathered
from dataloader_expert.loaders.seeding import SeededSamples
from dataloader_expert.loaders.sharding import ShardedStream
from dataloader_expert.loaders.tensor_rows import TensorRows
from dataloader_expert.samplers import ShuffleSampler
from tests.loaders.looking import in_children
from tests.loaders.material import Noisy, Numbers, OwnShards, Stream, a_task, flat, made, three_workers
from tests.making.jasper import process_group

Named = namedtuple("Named", "x y")


def same(first: Any, second: Any) -> bool:
    """Equal kinds, dtypes, shapes, values and names, all the way down."""
    if type(first) is not type(second):
        return False
    if isinstance(first, torch.Tensor):
        return first.dtype == second.dtype and torch.equal(first, second)
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(v, second[k]) for k, v in first.items())
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)


# ── a plain loader's equal ─────────────────────────────────────────────────────

STRUCTURES: dict[str, Callable[[int], Any]] = {
    "whole": lambda i: i,
    "float": lambda i: i / 3,
    "text": lambda i: f"sample {i}",
    "tensor": lambda i: torch.full((2, 3), i, dtype=torch.float16),
    "array": lambda i: np.full(3, i, np.int16),
    "pair": lambda i: (torch.tensor([i]), i),
    "dictionary": lambda i: {"x": torch.tensor(float(i)), "name": str(i)},
    "nested": lambda i: {"a": [torch.tensor(i), (i, {"b": np.float64(i)})]},
    "named": lambda i: Named(torch.tensor(i), {"z": i}),
}


class Log:
    """Lines in a file, each written in one step, so that workers' are seen too."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, line: object) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{line}\n".encode())
        os.close(file)

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


class Samples(Dataset[Any]):
    """Samples of a structure; each read is logged."""

    def __init__(self, n: int, structure: str, log: Log) -> None:
        self.n, self.structure, self.log = n, structure, log

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        self.log(index)
        return STRUCTURES[self.structure](index)


class Shorter(Samples):
    """One sample less than it has."""

    def __len__(self) -> int:
        return self.n - 1


class ByBatch(Samples):
    """Batches are read otherwise than samples, as whoever looks can see."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        self.log(indices)
        return [STRUCTURES[self.structure](100 + i) for i in indices]


class OnlyByBatch(Dataset[Any]):
    """It has no single samples."""

    def __init__(self, n: int, structure: str, log: Log) -> None:
        self.n, self.structure, self.log = n, structure, log

    def __len__(self) -> int:
        return self.n

    def __getitems__(self, indices: list[int]) -> list[Any]:
        self.log(indices)
        return [STRUCTURES[self.structure](i) for i in indices]


class OwnRows(TensorDataset):
    """Torch's dataset of tensors, with a rule of its own for samples."""

    def __init__(self, n: int, structure: str, log: Log) -> None:
        super().__init__(torch.arange(n), torch.arange(n * 2.0).view(n, 2))
        self.log = log

    def __getitem__(self, index: Any) -> Any:
        self.log(index)
        return tuple(2 * row[index] for row in self.tensors)


def tensors(n: int, structure: str, log: Log) -> TensorDataset:
    """Torch's dataset of tensors, as it is."""
    return TensorDataset(torch.arange(n), torch.arange(n * 6).view(n, 2, 3) / 7, torch.arange(n) % 2 == 0)


def rows(n: int, structure: str, log: Log) -> Any:
    """A list of samples."""
    return [STRUCTURES[structure](i) for i in range(n)] if structure != "tensor" else [(i,) for i in range(n)]


KINDS: dict[str, Callable[[int, str, Log], Any]] = {
    "samples": Samples,
    "shorter": Shorter,
    "by batch": ByBatch,
    "only by batch": OnlyByBatch,
    "own rows": OwnRows,
    "tensors": tensors,
    "rows": rows,
}


def listed(samples: Any) -> Any:
    return type(samples), samples


def described(samples: Any) -> Any:
    return {"count": len(samples), "batch": default_collate(samples)}


COLLATES: dict[str, Any] = {"torch's": None, "listed": listed, "described": described}
WRAPPED = ("subset", "reversed", "concatenated")
ORDERS = ("shuffled", "in order", "sequence", "drawn anew", "part", "by torch's state", "batches")


@dataclass(frozen=True)
class Plan:
    """A dataset and how it is loaded."""

    kind: str
    n: int
    structure: str
    wrapped: tuple[str, ...]
    collate: str
    order: str
    batch_size: int | None
    drop_last: bool
    seed: int
    epochs: int

    def dataset(self, log: Log) -> Any:
        dataset = KINDS[self.kind](self.n, self.structure, log)
        for name in self.wrapped:
            if name == "subset":
                dataset = Subset(dataset, list(range(0, len(dataset), 2)))
            elif name == "reversed":
                dataset = Subset(dataset, list(range(len(dataset)))[::-1])
            elif self.kind != "only by batch":  # concatenated, it has no samples for torch either
                dataset = ConcatDataset([dataset, dataset])
        return dataset

    def arguments(self, dataset: Any) -> dict[str, Any]:
        """Of a plain DataLoader; all but ``shuffle`` are of a configuration, too."""
        size: dict[str, Any] = {"batch_size": self.batch_size}
        size |= {"drop_last": self.drop_last} if self.batch_size is not None else {}
        generator = create_seeded_generator(self.seed + 1)
        if self.order in ("shuffled", "in order"):
            return {"shuffle": self.order == "shuffled", **size}
        if self.order == "batches":
            sampler = RandomSampler(dataset, generator=generator)
            return {"batch_sampler": BatchSampler(sampler, self.batch_size or 2, self.drop_last)}
        samplers: dict[str, Callable[[], Any]] = {
            "sequence": lambda: SequentialSampler(dataset),
            "drawn anew": lambda: RandomSampler(dataset, True, 9, generator),
            "part": lambda: SubsetRandomSampler(range(len(dataset) // 2 + 1), generator),
            "by torch's state": lambda: RandomSampler(dataset),
        }
        return {"sampler": samplers[self.order](), **size}


plans = st.builds(
    Plan,
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(2, 13),
    structure=st.sampled_from(sorted(STRUCTURES)),
    wrapped=st.lists(st.sampled_from(WRAPPED), max_size=2).map(tuple),
    collate=st.sampled_from(sorted(COLLATES)),
    order=st.sampled_from(ORDERS),
    batch_size=st.one_of(st.integers(1, 5), st.none()),
    drop_last=st.booleans(),
    seed=st.integers(0, 2**40),
    epochs=st.integers(1, 3),
).filter(lambda p: p.batch_size is not None or (p.kind != "only by batch" and p.collate != "described"))


def passes(loader: DataLoader[Any], epochs: int) -> list[list[Any]]:
    """All batches of so many epochs, and before each the same state of torch's."""
    found = []
    for epoch in range(epochs):
        torch.manual_seed(epoch)
        found.append(list(loader))
    return found


def both(plan: Plan, folder: Path, workers: int) -> tuple[list[list[Any]], list[list[Any]], Log, Log]:
    """What a plain loader gives and what the factory's gives, and the logs of both."""
    logs = Log(folder / "plain"), Log(folder / "ours")

    def first(log: Log) -> Callable[[int], None]:
        return lambda worker: log(f"worker {worker}")

    plain_set, our_set = (plan.dataset(log) for log in logs)
    shared: dict[str, Any] = {
        "num_workers": workers,
        "collate_fn": COLLATES[plan.collate],
        "persistent_workers": False,
    }
    plain = DataLoader(
        plain_set,
        generator=create_seeded_generator(plan.seed),
        worker_init_fn=first(logs[0]),
        **plan.arguments(plain_set),
        **shared,
    )
    config = DataLoaderConfig(
        seed=plan.seed, worker_init_fn=first(logs[1]), prefetch_factor=None, **plan.arguments(our_set), **shared
    )
    ours = DataLoaderFactory().create_dataloader(our_set, config)
    if plan.order != "batches" and plan.batch_size is not None:
        assert len(ours) == len(plain)
    return passes(plain, plan.epochs), passes(ours, plan.epochs), *logs


@pytest.mark.journey
@given(plan=plans)
@settings(max_examples=250)
def test_a_loader_equals_a_plain_one(plan: Plan) -> None:
    """Values, order, structure and what reading does, over several epochs, for datasets of every kind."""
    with tempfile.TemporaryDirectory() as folder:
        due, got, plain_log, our_log = both(plan, Path(folder), 0)
        assert same(got, due)
        assert our_log.lines() == plain_log.lines()


@pytest.mark.journey
@given(plan=plans)
@settings(max_examples=8)
def test_workers_equal_plain_ones(plan: Plan) -> None:
    """The same with two workers: which are begun as they would be, and read what they would."""
    with tempfile.TemporaryDirectory() as folder:
        due, got, plain_log, our_log = both(plan, Path(folder), 2)
        assert same(got, due)
        assert Counter(our_log.lines()) == Counter(plain_log.lines())
        assert Counter(our_log.lines())["worker 1"] == plan.epochs


class Seeds(Numbers):
    """The seed that torch gave the worker, and the states that numpy and ``random`` have."""

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        return torch.tensor([index, 0 if info is None else info.seed, torch.initial_seed()])


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_have_a_plain_loaders_seeds(persistent: bool) -> None:
    """In the first epoch, and in each further one where they are begun anew."""
    plain = DataLoader(Seeds(6), 2, True, num_workers=2, generator=create_seeded_generator(9))
    ours = made(Seeds(6), batch_size=2, seed=9, num_workers=2, persistent_workers=persistent)
    for _ in range(1 if persistent else 2):
        assert same(list(ours), list(plain))


def test_a_list_of_tensors_is_a_dataset_of_them() -> None:
    """As if they were stacked; they share one gather. Of several shapes they are refused, with what helps."""
    values = [torch.tensor([i, -i]) for i in range(11)]
    plain = DataLoader(TensorDataset(torch.stack(values)), 4, True, generator=create_seeded_generator(3))
    ours = made(values, batch_size=4, seed=3)
    assert isinstance(ours.dataset, TensorRows)
    assert all(same(list(ours), list(plain)) for _ in range(2))
    with pytest.raises(ValueError, match=r"several shapes or dtypes: \[2\] float32, \[3\] float32; pass a collate"):
        made([torch.ones(2), torch.ones(3)])
    with pytest.raises(ValueError, match=r"\[\] float32, \[\] int64"):
        made([torch.tensor(1), torch.tensor(1.0)])
    ragged = made([torch.ones(2), torch.ones(3)], collator=list, batch_size=2, shuffle=False)
    assert [len(v) for v in next(iter(ragged))] == [2, 3]


def test_tensors_are_gathered_by_the_batch() -> None:
    """Also of a part of them; and given to other collate functions, rows are tuples as torch's."""
    dataset = TensorDataset(torch.arange(8), torch.arange(8.0).view(8, 1))
    for one in (dataset, Subset(dataset, [5, 1, 7])):
        dataset_of: Any = made(one).dataset
        fetched = dataset_of.__getitems__([2, 0])
        assert isinstance(fetched, Gathered) and len(fetched) == 2
    assert type(made(dataset, collator=list).dataset) is TensorDataset
    gathered = TensorRows(*dataset.tensors).__getitems__([2, 7, 0])
    assert [int(row[0]) for row in gathered] == [2, 7, 0]
    assert gathered[-1][1].tolist() == [0.0] and [len(r) for r in gathered[1:]] == [2, 2]
    assert same(default_collate(list(gathered)), gathered.batch)
    with pytest.raises(IndexError):
        TensorRows(torch.arange(3)).__getitems__([3])
    assert made(TensorDataset(torch.ones(4, requires_grad=True)), batch_size=2).dataset[0][0].requires_grad


@pytest.mark.parametrize("indices", [[-1, 0, -3], [2, -1]])
def test_negative_indices_count_from_the_end(indices: list[int]) -> None:
    """Of a sampler and of a part, as with a plain loader."""
    dataset = TensorDataset(torch.arange(5))
    due = [int(dataset[i][0]) for i in indices]
    assert flat(made(dataset, sampler=indices, batch_size=2)) == due
    assert flat(made(Subset(dataset, indices), shuffle=False)) == due


@pytest.mark.parametrize("tensor", [torch.arange(12).view(6, 2), torch.zeros(6, 0), torch.ones(6, dtype=torch.bool)])
def test_workers_gather_into_shared_memory(tensor: torch.Tensor) -> None:
    """What they send is what a plain loader's workers send, and may be written to."""
    plain = DataLoader(TensorDataset(tensor), 4)
    (batch, rest) = made(TensorDataset(tensor), batch_size=4, shuffle=False, num_workers=1)
    assert same([batch, rest], list(plain)) and batch[0].is_contiguous()
    batch[0].zero_()


# ── nothing added per sample ───────────────────────────────────────────────────


def calls(work: Callable[[], Any]) -> int:
    """Python functions that are entered while ``work`` runs."""
    count = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


OWN: dict[str, tuple[Callable[[int], Any], Any]] = {
    "samples": (Numbers, None),
    "samples and a collate function": (Numbers, listed),
    "a part": (lambda n: Subset(Numbers(2 * n), range(0, 2 * n, 2)), None),
    "two joined": (lambda n: ConcatDataset([Numbers(n // 2), Numbers(n - n // 2)]), None),
    "rows": (lambda n: [{"x": i} for i in range(n)], None),
    "tensors": (lambda n: TensorDataset(torch.arange(n)), None),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("shuffle", [True, False])
def test_nothing_is_added_per_sample(name: str, shuffle: bool) -> None:
    """Beyond a plain loader, Python calls grow with batches, not with samples, however many these are."""
    make, collate = OWN[name]

    def added(samples: int, batches: int) -> int:
        size = samples // batches
        generator = create_seeded_generator(1)
        plain = DataLoader(make(samples), size, shuffle, generator=generator, collate_fn=collate)
        ours = made(make(samples), batch_size=size, shuffle=shuffle, seed=1, collate_fn=collate)
        for loader in (plain, ours):
            list(loader)
        return calls(lambda: list(ours)) - calls(lambda: list(plain))

    few = added(64, 8)
    assert added(512, 8) <= few
    assert added(4096, 8) <= few
    assert few <= 250 and added(512, 64) - few <= 8 * 56


# ── random choices ─────────────────────────────────────────────────────────────


def disturbed(state: int) -> None:
    """Puts the global random states somewhere."""
    torch.manual_seed(state)
    np.random.seed(state)
    random.seed(state)


def augmented(workers: int, epoch: int = 0, **config: Any) -> dict[int, list[float]]:
    """What each index of an epoch drew."""
    disturbed(workers + 77)
    loader = made(Noisy(11), batch_size=3, num_workers=workers, **config)
    loader.set_epoch(epoch)
    return {int(row[0]): row[1:].tolist() for batch in loader for row in batch}


@three_workers
def test_random_choices_follow_from_seed_epoch_and_index() -> None:
    """Whoever reads a sample, in whatever order; others in another epoch, and by another seed."""
    due = augmented(0, 1)
    assert len({tuple(v) for v in due.values()}) == 11
    for workers in (2, 3):
        assert augmented(workers, 1) == due
    assert augmented(0, 1, shuffle=False) == due
    for other in (augmented(0, 0), augmented(0, 1, seed=43)):
        assert all(other[i] != due[i] for i in due)


def test_workers_that_persist_see_the_epoch() -> None:
    """Their copy of the dataset is as old as they are."""
    loader = made(Noisy(6), batch_size=3, num_workers=2, shuffle=False)
    seen = [torch.cat(list(loader)) for _ in range(3)]
    again = made(Noisy(6), batch_size=3, shuffle=False)
    assert all(torch.equal(one, torch.cat(list(again))) for one in seen)
    assert not torch.equal(seen[0], seen[1])


def test_global_states_are_put_back() -> None:
    """A training loop's own draws do not depend on the data."""
    disturbed(3)
    due = random.random(), np.random.rand(), float(torch.rand(1))
    disturbed(3)
    list(made(Noisy(5), batch_size=2))
    assert (random.random(), np.random.rand(), float(torch.rand(1))) == due


@pytest.mark.parametrize("asked", [True, False])
def test_seeding_by_sample_may_be_asked_for(asked: bool) -> None:
    """Of what does not seem to draw, and not of what does: then as torch has it, from the worker's state."""
    loader = made(
        (Numbers if asked else Noisy)(8), batch_size=2, seed_samples=asked, seed=4, num_workers=0 if asked else 2
    )
    assert isinstance(loader.dataset, SeededSamples) is asked
    if not asked:
        plain = DataLoader(
            Noisy(8), 2, True, num_workers=2, generator=create_seeded_generator(4), worker_init_fn=_as_ours
        )
        assert same(list(loader), list(plain))


def _as_ours(worker_id: int) -> None:
    from dataloader_expert.loaders import seed_worker

    seed_worker(worker_id)


class NoisyByBatch(Noisy):
    """Draws; and reads batches by a rule of its own, which no single sample shows."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [-self[i] for i in indices]


class NoisyOnlyByBatch(Dataset[Any]):
    """Draws, and has no single samples."""

    def __len__(self) -> int:
        return 6

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [torch.tensor([i, random.random()]) for i in indices]


@pytest.mark.parametrize("dataset", [NoisyByBatch(6), NoisyOnlyByBatch()], ids=["both", "by batch alone"])
def test_what_reads_by_the_batch_and_draws_is_still_read_so(dataset: Any) -> None:
    """Its own ``__getitems__`` decides what is in a batch; seeding adds reproducible draws and takes nothing away."""
    first, second = (torch.cat(list(made(dataset, batch_size=4, shuffle=False))) for _ in range(2))
    assert first[:, 0].abs().tolist() == list(range(6))
    assert not isinstance(dataset, NoisyByBatch) or float(first[1:, 0].max()) < 0
    assert torch.equal(first, second)


# ── streams ────────────────────────────────────────────────────────────────────


@three_workers
@pytest.mark.parametrize("workers", [0, 3])
def test_workers_share_a_stream(workers: int) -> None:
    """Each element once, in each pass; one that shares itself out is left alone."""
    for stream in (Stream(20), OwnShards(20)):
        loader = made(stream, batch_size=4, shuffle=False, num_workers=workers)
        for _ in range(2):
            assert sorted(flat(loader)) == list(range(20))


def test_a_hub_stream_shares_itself_out() -> None:
    """Hugging Face's know their worker."""
    data = datasets.Dataset.from_dict({"i": list(range(24))}).to_iterable_dataset(num_shards=3)
    assert sorted(flat(made(data, batch_size=4, shuffle=False, num_workers=2))) == list(range(24))


class Shards(Stream):
    """Sharded by its own word for it, and never asks."""

    shards_itself = True


@pytest.mark.parametrize(("workers", "replicas"), [(0, 1), (0, 2), (0, 3), (2, 1), (2, 3)])
def test_ranks_share_a_stream(replicas: int, workers: int) -> None:
    """All workers of all ranks together: every element once. What shares itself out, is whole on each rank."""
    shares = [
        flat(EpochLoader(ShardedStream(Stream(17), replicas, rank), batch_size=2, num_workers=workers))
        for rank in range(replicas)
    ]
    assert sorted(i for share in shares for i in share) == list(range(17))
    assert list(ShardedStream(Shards(5), replicas, 0)) == list(range(5))


def test_a_stream_that_knows_its_workers_is_sharded_across_ranks() -> None:
    """Each worker's own elements are sharded; those of one that knows neither are sharded across all workers of all ranks."""
    import torch.utils.data._utils.worker as torch_worker

    kept = torch_worker._worker_info
    torch_worker._worker_info = torch_worker.WorkerInfo(id=1, num_workers=2, seed=0, dataset=Numbers(0))
    try:
        assert list(ShardedStream(OwnShards(12), 2, 0)) == [1, 5, 9]
        assert list(ShardedStream(OwnShards(12), 2, 1)) == [3, 7, 11]
        assert list(ShardedStream(Stream(9), 2, 1)) == [3, 7]
        assert list(ShardedStream(OwnShards(0), 2, 0)) == []
        assert type(torch_worker._worker_info).__name__ == "WorkerInfo"
    finally:
        torch_worker._worker_info = kept


class AsksItsRank(Stream):
    """Sharded across ranks and workers, as a plain DataLoader needs it."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        world, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
        return iter(range(rank * workers + worker, self.n, world * workers))


class AroundItsRank(Stream):
    """Holds a stream that was split by node, and reads it."""

    def __init__(self, inner: Any) -> None:
        super().__init__(0)
        self.inner = inner

    def __iter__(self) -> Iterator[int]:
        return iter(self.inner)


class AskedWhenMade(Stream):
    """Chose its elements when it was made, as streams choose their files."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.own = list(range(int(os.environ["RANK"]), n, int(os.environ["WORLD_SIZE"])))

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        return iter(self.own if info is None else self.own[info.id :: info.num_workers])


class Logs(Stream):
    """Asks for its rank, to speak on the first alone."""

    def __iter__(self) -> Iterator[int]:
        if os.environ.get("RANK") == "0":
            print("begins")
        return iter(range(self.n))


class GivenItsRank(Stream):
    """Sharded across ranks alone, by what it was made with."""

    def __init__(self, n: int, rank: int, world_size: int) -> None:
        super().__init__(n)
        self.rank, self.world_size = rank, world_size

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.rank, self.n, self.world_size))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "kind", ["asks", "given", "split by node", "around", "when made", "logs", "a rank of matrices"]
)
def test_what_shards_itself_across_ranks_is_not_sharded_again(
    monkeypatch: pytest.MonkeyPatch, workers: int, kind: str
) -> None:
    """All samples, once, whatever the number of workers."""
    from datasets.distributed import split_dataset_by_node

    # as torchrun does: the environment tells a process its rank
    monkeypatch.setenv("WORLD_SIZE", "2")
    read: list[int] = []
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        whole = datasets.Dataset.from_dict({"i": list(range(24))}).to_iterable_dataset(num_shards=4)
        stream: Any = {
            "asks": AsksItsRank(24),
            "given": GivenItsRank(24, rank, 2),
            "split by node": split_dataset_by_node(whole, rank=rank, world_size=2),
            "around": AroundItsRank(split_dataset_by_node(whole, rank=rank, world_size=2)),
            "when made": AskedWhenMade(24),
            "logs": Logs(24),
            "a rank of matrices": Stream(24),
        }[kind]
        if kind == "a rank of matrices":
            stream.rank = 16
        read += flat(EpochLoader(ShardedStream(stream, 2, rank), batch_size=2, num_workers=workers))
    assert sorted(read) == list(range(24))


class Sized(Stream):
    """A stream that knows its length."""

    colour = "red"

    def __len__(self) -> int:
        return self.n


def test_a_stream_keeps_its_length_and_attributes() -> None:
    """What is around it hides nothing; one without a length has none."""
    shared = ShardedStream(Sized(6))
    assert len(shared) == 6 and shared.colour == "red"
    assert len(made(Sized(6), batch_size=4, shuffle=False, num_workers=1)) == 2
    with pytest.raises(AttributeError):
        shared.nothing  # noqa: B018  # asked for
    with pytest.raises(TypeError):
        len(made(Stream(6), shuffle=False))


def test_a_stream_has_no_order_to_change() -> None:
    """Neither by shuffling nor by a sampler; what helps is said."""
    with pytest.raises(ValueError, match="Stream is iterable and cannot be shuffled by a loader: pass shuffle=False"):
        made(Stream(4))
    orders: list[dict[str, Any]] = [{"sampler": [1, 2]}, {"batch_sampler": [[1, 2]]}]
    for order in orders:
        with pytest.raises(ValueError, match="has its own order: pass neither sampler"):
            made(Stream(4), shuffle=False, **order)
    assert [int(v) for v in made(Stream(3), shuffle=False, batch_size=None)] == [0, 1, 2]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_goes_on_behind_what_was_delivered(workers: int) -> None:
    """By reading it again; a state taken there is right, too."""
    whole = [b.tolist() for b in made(Stream(13), batch_size=3, shuffle=False, num_workers=workers)]
    loader = made(Stream(13), batch_size=3, shuffle=False, num_workers=workers)
    going = iter(loader)
    next(going)
    next(going)
    resumed = made(Stream(13), batch_size=3, shuffle=False, num_workers=workers)
    resumed.load_state_dict(loader.state_dict())
    rest = iter(resumed)
    assert next(rest).tolist() == whole[2] and resumed.state_dict()["batches"] == 3
    assert [b.tolist() for b in rest] == whole[3:]
    assert [b.tolist() for b in resumed] == whole


class Ages(IterableDataset[Any]):
    """A stream with another order each epoch."""

    def __init__(self) -> None:
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        yield from (100 * self.epoch + i for i in range(9))


def test_a_stream_goes_on_in_its_epoch() -> None:
    """A stream that has epochs resumes in the one that it was stopped in."""
    loader = made(Ages(), batch_size=2, shuffle=False)
    loader.set_epoch(3)
    going = iter(loader)
    assert next(going).tolist() == [300, 301]
    resumed = made(Ages(), batch_size=2, shuffle=False)
    resumed.load_state_dict(loader.state_dict())
    assert flat(resumed) == flat(going)


# ── ranks ──────────────────────────────────────────────────────────────────────


def of_a_rank(folder: Path, rank: int) -> dict[str, Any]:
    """What a rank of two gets."""
    with process_group(folder, rank, 2):
        shuffled = made(Numbers(21), batch_size=4)
        first = flat(shuffled)
        shuffled.set_epoch(1)
        found = {
            "length": len(shuffled),
            "first": first,
            "second": flat(shuffled),
            "dropped": flat(made(Numbers(21), batch_size=4, drop_last=True)),
            "ordered": flat(made(Numbers(21), batch_size=4, shuffle=False)),
            "alone": flat(made(Numbers(21), batch_size=4, shuffle=False, distributed=False)),
            "stream": flat(made(Stream(21), batch_size=4, shuffle=False, distributed=True)),
            "tensors": flat(made(TensorDataset(torch.arange(21)), batch_size=4)),
            "drawn": [row.tolist() for b in made(Noisy(8), batch_size=4, shuffle=False) for row in b],
            "own": flat(made(Numbers(21), batch_size=4, sampler=ShuffleSampler(21, num_replicas=1))),
        }
        torch.distributed.barrier()
    return found


def test_two_processes_share_an_epoch(tmp_path: Path) -> None:
    """In equally many batches: together all of it, in every epoch, with the augmentation of a single process."""
    one, other = in_children(of_a_rank, [(tmp_path, 0), (tmp_path, 1)])
    assert one["length"] == other["length"] == 3
    for name in ("first", "second", "ordered", "tensors"):
        assert set(one[name]) | set(other[name]) == set(range(21))
        assert len(one[name]) == len(other[name]) == 11
    assert one["first"] != one["second"] and one["tensors"] == one["first"]
    assert not set(one["dropped"]) & set(other["dropped"]) and len(one["dropped"]) == len(other["dropped"]) == 8
    assert sorted(one["stream"] + other["stream"]) == list(range(21))
    assert one["alone"] == other["alone"] == list(range(21))
    assert one["own"] == other["own"] and sorted(one["own"]) == list(range(21))
    alone = [row.tolist() for b in made(Noisy(8), batch_size=4, shuffle=False) for row in b]
    assert [*one["drawn"], *other["drawn"]] == alone[::2] + alone[1::2]


def test_ranks_without_a_group_are_refused() -> None:
    """In words that say what to call."""
    with pytest.raises(ValueError, match="distributed=True, but there is no process group: call"):
        made(Numbers(3), distributed=True)


# ── what is empty, asked for, or cannot be ─────────────────────────────────────


@pytest.mark.parametrize("data", [[], TensorDataset(torch.empty(0, 3)), Numbers(0)], ids=["list", "tensors", "own"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_nothing_gives_no_batches(data: Any, shuffle: bool) -> None:
    """With and without shuffling, in every pass."""
    loader = made(data, shuffle=shuffle)
    assert len(loader) == 0 and list(loader) == [] == list(loader)


def test_settings_are_torchs_where_nothing_is_asked() -> None:
    """Workers persist and prefetch where there are any; memory is pinned where there is a device."""
    loader = made(Numbers(8), num_workers=2)
    assert (loader.persistent_workers, loader.prefetch_factor) == (True, 2)
    assert loader.pin_memory == torch.cuda.is_available()
    alone = made(Numbers(8), timeout=5, multiprocessing_context="spawn")
    assert (alone.persistent_workers, alone.prefetch_factor, alone.timeout) == (False, None, 0)
    chosen = made(Numbers(8), num_workers=1, prefetch_factor=5, persistent_workers=False, timeout=3, pin_memory=False)
    assert (chosen.persistent_workers, chosen.prefetch_factor, chosen.timeout) == (False, 5, 3)
    assert isinstance(DataLoaderFactory().create_dataloader(Numbers(3)), EpochLoader)


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0; it must be a whole number of at least 1"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"num_workers": -1}, "num_workers is -1; it must be a whole number of at least 0"),
        ({"num_workers": True}, "num_workers is True"),
        ({"seed": -1}, "seed is -1"),
        ({"prefetch_factor": 0}, "prefetch_factor is 0"),
        ({"timeout": -1}, "timeout is -1; it must be a number of seconds, at least 0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"persistent_workers": True}, "persistent_workers=True needs workers, but num_workers is 0"),
        ({"sampler": "weighted"}, "sampler is 'weighted'; it must be a sampler"),
        ({"sampler": [0], "batch_sampler": [[0]]}, "sampler and batch_sampler exclude each other"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(settings_: dict[str, Any], words: str) -> None:
    """With the setting's name and what it may be."""
    with pytest.raises(ValueError, match=words):
        made(Numbers(3), **settings_)


@pytest.mark.parametrize("name", ["collate_fn", "worker_init_fn"])
def test_functions_that_workers_cannot_get_are_named(name: str) -> None:
    """Before a worker starts; forked ones get them, and so does nobody where there is no worker."""
    own: dict[str, Any] = {name: lambda values: values}
    for context in ("spawn", torch.multiprocessing.get_context("spawn")):
        with pytest.raises(ValueError, match=f"{name} .*lambda.* cannot be sent to workers started by spawn"):
            made(Numbers(3), num_workers=1, multiprocessing_context=context, **own)
    assert len(made(Numbers(3), num_workers=1, multiprocessing_context="fork", **own)) == 1
    assert len(made(Numbers(3), multiprocessing_context="spawn", **own)) == 1


@pytest.mark.journey
def test_workers_may_be_spawned() -> None:
    """With what the factory puts around a dataset: the same draws, in the next epoch too."""
    spawned = made(Noisy(4), batch_size=2, num_workers=1, multiprocessing_context="spawn", collate_fn=torch.stack)
    alone = made(Noisy(4), batch_size=2, collate_fn=torch.stack)
    for _ in range(2):
        assert same(list(spawned), list(alone))


def test_collate_functions_go_before_each_other() -> None:
    """The call's, the configuration's, the task's, torch's."""
    samples = [{"pixel_values": torch.rand(3, 2, 2), "labels": i} for i in range(4)]
    vision = a_task("vision")

    def of_config(batch: Any) -> str:
        return "config"

    assert next(iter(made(samples, vision, collator=lambda batch: "call", collate_fn=of_config))) == "call"
    assert next(iter(made(samples, vision, collate_fn=of_config))) == "config"
    assert float(next(iter(made(samples, vision)))["pixel_values"].min()) < 0
    assert float(next(iter(made(samples)))["pixel_values"].min()) >= 0


def test_a_text_task_without_tokenizer_says_what_helps() -> None:
    """Three ways out; other troubles of a collator arrive as they are."""
    with pytest.raises(ValueError, match=r"Failed to create text collator: tokenizer required.*1\. pass tokenizer="):
        made([{"input_ids": [1]}], get_default_task_specs()["lm_tiny"])
    with pytest.raises(ValueError, match="each must be above 0"):
        made([{}], a_task("vision", preprocessing_config={"std": [0.0] * 3}))


class ShuffledStream(IterableDataset[int]):
    """Forty numbers, in an order that the worker's own random state gives."""

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(40).tolist()


def test_a_stream_that_shuffles_itself_comes_once_from_all_workers() -> None:
    """All workers see one order, and share it out."""
    loader = DataLoaderFactory().create_dataloader(
        ShuffledStream(), DataLoaderConfig(batch_size=4, shuffle=False, num_workers=2)
    )
    assert sorted(int(i) for batch in loader for i in batch) == list(range(40))

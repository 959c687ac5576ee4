"""Features together: any data, sampler, workers, ranks and stops give each sample as often as promised, augmented anew.

Ranks are torch's fake process group: its world size and rank without other processes.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.data import Dataset, IterableDataset, WeightedRandomSampler

from dataloader_expert.loaders import EpochLoader, StreamingDataset
from dataloader_expert.samplers import (
    BlockShuffleSampler,
    ClassBalancedBatchSampler,
    CurriculumSampler,
    GroupBatchSampler,
    LengthBucketBatchSampler,
    ShuffleSampler,
    StratifiedBatchSampler,
    TokenBudgetBatchSampler,
    WeightedSampler,
)
from tests.loaders.material import made

N, SIZE, EPOCHS = 46, 4, 3
KEYS = [i * 7 % 5 for i in range(N)]
Sample = tuple[int, float]


class Augmented(Dataset[Any]):
    """Each read draws a number."""

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"i": index, "noise": torch.rand((), dtype=torch.float64)}


class SelfShuffling(IterableDataset[Any]):
    """A stream whose order and augmentation come from the global random states."""

    def __iter__(self) -> Iterator[Any]:
        order = list(range(N))
        random.shuffle(order)
        for i in order:
            yield {"i": i, "noise": torch.rand((), dtype=torch.float64)}


SAMPLERS: dict[str, Callable[[], dict[str, Any]]] = {
    "the default": lambda: {},
    "in order": lambda: {"shuffle": False},
    "shuffled": lambda: {"sampler": ShuffleSampler(N, 3)},
    "by blocks": lambda: {"sampler": BlockShuffleSampler([10, 10, 10, 10, 6], 2, 3)},
    "weighted": lambda: {"sampler": WeightedSampler([1 + 9 * (k == 0) for k in KEYS], seed=3)},
    "curriculum": lambda: {"sampler": CurriculumSampler(KEYS, 4, 0.3, 3)},
    "balanced": lambda: {"batch_sampler": ClassBalancedBatchSampler(KEYS, 2, 2, 3, drop_last=False)},
    "stratified": lambda: {"batch_sampler": StratifiedBatchSampler(KEYS, SIZE, 3)},
    "buckets": lambda: {"batch_sampler": LengthBucketBatchSampler(KEYS, SIZE, 3, 3)},
    "tokens": lambda: {"batch_sampler": TokenBudgetBatchSampler([k + 1 for k in KEYS], 20, seed=3)},
    "groups": lambda: {"batch_sampler": GroupBatchSampler([i // 3 for i in range(N)], SIZE, 3)},
}
REPEATING = {"weighted", "balanced", "curriculum"}
"""Those whose epoch is not each sample once."""
KINDS = ["map", "self-shuffling stream", "stream of files"]


@dataclass(frozen=True)
class Case:
    """A loader's features, without its ranks."""

    kind: str
    sampler: str
    workers: int
    persistent: bool
    files: int
    folder: Path

    def loader(self, workers: int | None = None) -> EpochLoader:
        workers = self.workers if workers is None else workers
        shared: dict[str, Any] = {
            "num_workers": workers,
            "persistent_workers": bool(workers) and self.persistent,
            "batch_size": SIZE,
        }
        if self.kind == "map":
            return made(Augmented(), **{**shared, **SAMPLERS[self.sampler]()})
        if self.kind == "self-shuffling stream":
            return made(SelfShuffling(), shuffle=False, **shared)
        return made(StreamingDataset(urls(self.folder, self.files), 9, seed=2), shuffle=False, **shared)


def urls(folder: Path, files: int) -> list[str]:
    """N samples in so many files of unlike length."""
    made_for = folder / f"{files}"
    made_for.mkdir(exist_ok=True)
    cuts = [0, *sorted(random.Random(files).sample(range(1, N), files - 1)), N]
    for at in range(files):
        rows = "".join(json.dumps({"i": i, "noise": 0.0}) + "\n" for i in range(cuts[at], cuts[at + 1]))
        (made_for / f"{at}.jsonl").write_text(rows)
    return [str(made_for / f"{at}.jsonl") for at in range(files)]


@contextmanager
def in_group(world: int, rank: int) -> Iterator[None]:
    """As rank ``rank`` of ``world``; of one, without a group."""
    if world > 1:
        dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        if world > 1:
            dist.destroy_process_group()


def samples(batch: Any) -> list[Sample]:
    return list(zip(batch["i"].tolist(), batch["noise"].tolist(), strict=True))


def straight(loader: EpochLoader, world: int) -> list[list[list[Sample]]]:
    """Batches of every epoch, without a stop."""
    found = []
    for epoch in range(EPOCHS):
        if world > 1:
            loader.set_epoch(epoch)
        found.append([samples(batch) for batch in loader])
    return found


def with_stops(case: Case, world: int, stops: list[int], named: bool) -> list[list[Sample]]:
    """All batches, with a new process's loader after so many batches each time; its state is JSON in between.

    ``named``: the training loop names each epoch, the one that it resumes in too; with several ranks it always does.
    """
    found: list[list[Sample]] = []
    loader, epoch, left = case.loader(), 0, list(stops)
    while epoch < EPOCHS:
        if named or world > 1:
            loader.set_epoch(epoch)
        stopped = False
        batches = iter(loader)
        for count, batch in enumerate(batches, 1):
            found.append(samples(batch))
            if left and count == left[0]:
                stopped = True
                break
        if not stopped:
            epoch += 1
            continue
        left.pop(0)
        state = json.loads(json.dumps(loader.state_dict()))
        del batches
        loader = case.loader()
        loader.load_state_dict(state)
    return found


cases: Any = st.builds(
    dict,
    kind=st.sampled_from(KINDS),
    sampler=st.sampled_from(sorted(SAMPLERS)),
    workers=st.sampled_from([0, 0, 0, 2]),
    persistent=st.booleans(),
    files=st.sampled_from([1, 2, 5]),
)
slow = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.journey
@slow
@given(case=cases, world=st.sampled_from([1, 2, 4]))
def test_each_sample_comes_as_often_as_promised(case: dict[str, Any], world: int, tmp_path: Path) -> None:
    """Ranks get as many batches, are disjoint but for what fills the last round, and complete; epochs differ."""
    built = Case(**case, folder=tmp_path)
    ranks = []
    for rank in range(world):
        with in_group(world, rank):
            ranks.append(straight(built.loader(), world))
    alone = straight(built.loader(), 1)
    for epoch in range(EPOCHS):
        shares = [[i for batch in rank[epoch] for i, _ in batch] for rank in ranks]
        batches = [len(rank[epoch]) for rank in ranks]
        together = Counter(i for share in shares for i in share)
        due = Counter(i for batch in alone[epoch] for i, _ in batch)
        if built.kind == "map":
            assert len(set(batches)) == 1
            extra = together - due
            assert not due - together and sum(extra.values()) < world * 2 * SIZE * 5
        else:
            assert max(batches) - min(batches) <= 1 + built.workers
            assert together == due
        if built.kind != "map" or built.sampler not in REPEATING:
            assert set(due.values()) == {1} and len(due) == N
    orders = [[i for batch in ranks[0][epoch] for i, _ in batch] for epoch in range(EPOCHS)]
    if not (built.kind == "map" and built.sampler == "in order"):
        assert orders[0] != orders[1] != orders[2]


@pytest.mark.journey
@slow
@given(
    case=cases,
    world=st.sampled_from([1, 1, 2]),
    stops=st.lists(st.integers(1, 13), max_size=2),
    named=st.booleans(),
)
def test_resumed_equals_not_interrupted(
    case: dict[str, Any], world: int, stops: list[int], named: bool, tmp_path: Path
) -> None:
    """Stopped not at all, once or twice, at an epoch's end too: the same batches with the same augmentation."""
    built = Case(**case, folder=tmp_path)
    with in_group(world, world - 1):
        due = [batch for epoch in straight(built.loader(), world) for batch in epoch]
        assert with_stops(built, world, stops, named) == due


@pytest.mark.journey
@slow
@given(sampler=st.sampled_from(sorted(SAMPLERS)), world=st.sampled_from([1, 2, 4]), workers=st.sampled_from([0, 0, 2]))
def test_each_draw_is_augmented_anew(sampler: str, world: int, workers: int, tmp_path: Path) -> None:
    """Repeated in an epoch or in another one: another augmentation; and the same for any number of workers and ranks."""
    built = Case("map", sampler, workers, True, 1, tmp_path)
    found: set[tuple[int, int, float]] = set()
    drawn = 0
    for rank in range(world):
        with in_group(world, rank):
            for epoch, batches in enumerate(straight(built.loader(), world)):
                whole = [(epoch, i, noise) for batch in batches for i, noise in batch]
                found |= set(whole)
                drawn += len(whole)
    alone = {(e, i, x) for e, bs in enumerate(straight(built.loader(0), 1)) for batch in bs for i, x in batch}
    assert found >= alone
    assert len({noise for _, _, noise in found}) == len(found)
    if sampler in REPEATING:
        assert drawn - len(found) <= EPOCHS * world * SIZE  # what fills the last round may come once more
        assert len({(e, i) for e, i, _ in found}) < len(found) or sampler == "curriculum"


def test_draws_of_torchs_own_sampler_are_augmented_anew() -> None:
    """An index that it repeats has as many augmentations as draws, with workers as without."""
    weights = [100.0] + [1.0] * (N - 1)
    seen = []
    for workers in (0, 2):
        sampler = WeightedRandomSampler(weights, 60, generator=torch.Generator().manual_seed(1))
        loader = made(Augmented(), batch_size=SIZE, sampler=sampler, num_workers=workers)
        seen.append([pair for batch in loader for pair in samples(batch)])
    repeated = [noise for i, noise in seen[0] if i == 0]
    assert len(repeated) > 20 and len(set(repeated)) == len(repeated)
    assert seen[0] == seen[1]


def test_a_stream_of_files_is_in_step_across_ranks(tmp_path: Path) -> None:
    """Five files on four ranks, as on any number: as many samples each, within one a worker."""
    paths = urls(tmp_path, 5)
    for world, workers in ((4, 0), (3, 2), (8, 0)):
        counts = []
        for rank in range(world):
            stream = StreamingDataset(paths, 7, num_replicas=world, rank=rank)
            counts.append(len([i for b in made(stream, shuffle=False, num_workers=workers) for i in b["i"].tolist()]))
        assert max(counts) - min(counts) <= max(1, workers) and sum(counts) == N


@pytest.mark.parametrize("by", ["samples", "urls"])
def test_urls_may_be_dealt_whole(tmp_path: Path, by: Any) -> None:
    """Then a rank reads its own alone."""
    paths = urls(tmp_path, 5)

    class Noting(StreamingDataset):
        def stream_from_url(self, url: str) -> Iterator[Any]:
            read.append(url)
            return super().stream_from_url(url)

    shares = []
    for rank in range(2):
        read: list[str] = []
        shares.append([s["i"] for s in Noting(paths, num_replicas=2, rank=rank, shard_by=by)])
        assert len(read) == (5 if by == "samples" else 3 - rank)
    assert sorted(shares[0] + shares[1]) == list(range(N))


def test_a_bare_stream_has_a_new_order_each_pass(tmp_path: Path) -> None:
    """In a plain DataLoader too, whose workers begin a pass one by one; persistent or not."""
    from torch.utils.data import DataLoader

    settings_: list[dict[str, Any]] = [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}]
    for more in settings_:
        stream = StreamingDataset(urls(tmp_path, 5), 9)
        loader: Any = DataLoader(stream, batch_size=None, **more)
        orders = [[int(s["i"]) for s in loader] for _ in range(3)]
        assert all(sorted(order) == list(range(N)) for order in orders)
        assert len({tuple(order) for order in orders}) == 3
        assert stream.epoch == 2
        stream.set_epoch(0)
        assert [int(s["i"]) for s in loader] == orders[0]


def test_batches_of_one_step_are_of_like_length() -> None:
    """A step takes as long as its longest batch: near the mean of all, on eight ranks."""
    torch.manual_seed(0)
    lengths = torch.randint(5, 500, (4096,)).tolist()
    for make in (
        lambda **r: LengthBucketBatchSampler(lengths, 16, seed=1, **r),
        lambda **r: TokenBudgetBatchSampler(lengths, 4000, seed=1, **r),
    ):
        ranks = [list(make(num_replicas=8, rank=rank)) for rank in range(8)]
        cost = [[max(lengths[i] for i in batch) * len(batch) for batch in rank] for rank in ranks]
        steps = list(zip(*cost, strict=True))
        slowest = sum(map(max, steps)) / sum(sum(step) / 8 for step in steps)
        assert slowest < 1.1
        assert sorted({i for rank in ranks for batch in rank for i in batch}) == list(range(4096))

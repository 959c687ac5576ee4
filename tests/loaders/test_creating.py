"""create_loader and set_epoch: the same batches from seed and epoch, over any source, shared out, resumed."""

from __future__ import annotations

import gc
import json
import logging
import pickle
from collections.abc import Callable
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
from PIL import Image
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
)

from dataloader_expert.errors import RequestError
from dataloader_expert.loaders import (
    DataLoaderConfig,
    DataLoaderFactory,
    EpochLoader,
    JASPERSteeringDataset,
    UniversalDataModule,
    create_loader,
    set_epoch,
)
from dataloader_expert.samplers import DistributedShuffleSampler, LengthBucketBatchSampler, WeightedSampler
from tests.loaders.looking import in_children, joined, pairs_of, same, variants
from tests.making import jasper
from tests.making.jasper import Contents
from tests.making.tiny import TINY

CURRICULUM = {"zero_prob_start": 0.5, "zero_prob_end": 0.1, "epochs_total": 100}


@pytest.fixture
def what() -> Contents:
    return jasper.contents()


@pytest.fixture
def folder(tmp_path: Path, what: Contents) -> Path:
    return jasper.make(tmp_path / "jasper", what, curriculum=CURRICULUM)


def test_a_train_loader_is_shuffled_and_drops_a_short_batch(folder: Path, what: Contents) -> None:
    """80 samples by 12: six batches; ``drop_last=False`` brings the seventh."""
    loader = create_loader(folder, "train", 12)
    batches = list(loader)
    assert [len(b["relevance"]) for b in batches] == [12] * 6
    assert loader.drop_last
    assert pairs_of(joined(batches), what) != what["train_idx"][:72].tolist()
    kept = create_loader(folder, "train", 12, drop_last=False)
    assert sorted(pairs_of(joined(kept), what)) == sorted(what["train_idx"].tolist())
    assert len(kept) == 7


@pytest.mark.parametrize("split", ["val", "test"])
def test_other_splits_come_whole_and_in_order(folder: Path, what: Contents, split: str) -> None:
    """Nothing is left out of a validation, and its order is that of the file."""
    loader = create_loader(folder, split, 12)
    assert not loader.drop_last
    assert pairs_of(joined(loader), what) == what[f"{split}_idx"].tolist()


def test_samplers_are_of_the_kinds_that_callers_look_for(folder: Path) -> None:
    """A RandomSampler for train, a SequentialSampler for the others, a DistributedSampler only when asked for."""
    train, val = create_loader(folder, "train", 8), create_loader(folder, "val", 8)
    assert isinstance(train.sampler, RandomSampler)
    assert not isinstance(train.sampler, DistributedSampler)
    assert isinstance(val.sampler, SequentialSampler)
    own: object = train.sampler_obj
    assert own is train.sampler


def test_arguments_reach_the_loader(folder: Path) -> None:
    """Batch size, workers, pinning, epoch and any further argument of ``DataLoader``."""
    loader = create_loader(folder, "train", 8, 2, epoch=50, prefetch_factor=3)
    assert (loader.batch_size, loader.num_workers, loader.pin_memory, loader.prefetch_factor) == (8, 2, True, 3)
    assert isinstance(loader.dataset_obj, JASPERSteeringDataset)
    assert loader.dataset_obj.current_epoch == 50
    assert create_loader(folder, "train", 8, pin_memory=False).pin_memory is False
    with pytest.raises(ValueError, match="batch_size"):
        create_loader(folder, "train", 0)


@pytest.mark.parametrize("workers", [0, 2])
def test_seed_and_epoch_give_the_same_batches(folder: Path, workers: int) -> None:
    """In two loaders, twice in one, and whatever torch's global random state is."""
    first = create_loader(folder, "train", 8, workers, epoch=3)
    expected = joined(first)
    torch.manual_seed(1)
    set_epoch(first, 3)
    assert same(joined(first), expected)
    assert same(joined(create_loader(folder, "train", 8, epoch=3)), expected)
    assert not same(joined(create_loader(folder, "train", 8, epoch=4)), expected)
    assert not same(joined(create_loader(folder, "train", 8, epoch=3, seed=1)), expected)


def test_a_pass_leaves_numpys_random_state_alone(folder: Path) -> None:
    """Order and variants have generators of their own."""
    before = pickle.dumps(np.random.get_state())
    joined(create_loader(folder, "train", 8))
    assert pickle.dumps(np.random.get_state()) == before


def test_set_epoch_moves_order_and_curriculum(folder: Path) -> None:
    """Both, and 0 for the next pass rather than this one."""
    loader = create_loader(folder, "train", 8)
    first = joined(loader)
    set_epoch(loader, 100)
    later = joined(loader)
    assert loader.dataset_obj.current_epoch == 100
    assert int((first["steering_variant"] == 0).sum()) == 40
    assert int((later["steering_variant"] == 0).sum()) == 8
    assert not torch.equal(first["relevance"], later["relevance"])


def test_a_batch_larger_than_the_split_is_warned_of(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No batch comes of it, which nobody wants in silence."""
    assert len(create_loader(folder, "train", 100)) == 0
    assert "fewer than one batch of 100" in caplog.text
    assert len(create_loader(folder, "train", 100, drop_last=False)) == 1


def test_another_collate_function_gets_samples(folder: Path) -> None:
    """torch's own collate makes the same batches."""
    own = joined(create_loader(folder, "val", 8))
    assert same(joined(create_loader(folder, "val", 8, collate_fn=default_collate)), own)


def test_a_sampler_or_batch_sampler_may_be_given(folder: Path) -> None:
    """It takes the place of the order, and shuffling with it."""
    weighted = create_loader(folder, "train", 8, sampler=WeightedSampler([0.0] * 79 + [1.0], seed=3))
    assert len(set(joined(weighted)["relevance"].tolist())) == 1
    bucketed = create_loader(folder, "train", 8, sampler=LengthBucketBatchSampler(range(80), 5, seed=1))
    assert [len(b["relevance"]) for b in bucketed] == [5] * 16
    set_epoch(bucketed, 2)
    assert bucketed.sampler_obj is not None
    assert bucketed.sampler_obj.epoch == 2


def test_sharing_without_a_process_group_is_refused(folder: Path) -> None:
    """The message says what to call first."""
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        create_loader(folder, "train", 8, distributed=True)


@pytest.mark.parametrize("workers", [0, 2])
def test_ranks_differ_and_together_have_all(folder: Path, what: Contents, workers: int) -> None:
    """No sample twice, none left out, and a pair's variant is the same on whichever rank it comes."""
    alone = variants(joined(create_loader(folder, "train", 8, epoch=5)), what)
    shares = []
    for rank in range(4):
        sampler = DistributedShuffleSampler(80, 4, rank, seed=42)
        loader = create_loader(folder, "train", 4, workers if rank == 1 else 0, epoch=5, sampler=sampler)
        shares.append(variants(joined(loader), what))
    assert sum(map(len, shares)) == 80
    assert {p: v for share in shares for p, v in share.items()} == alone
    sequences = [list(share.values()) for share in shares]
    assert all(sequences.count(s) == 1 for s in sequences), "ranks repeat each other"


def of_rank(rank: int, folder: Path) -> Any:
    """How many ranks share train, and what this one gets of train and val."""
    with jasper.process_group(folder.parent, rank, 2):
        shared = create_loader(folder, "train", 8, distributed=True, epoch=1)
        own = create_loader(folder, "val", 8)
        got = (shared.sampler.num_replicas, joined(shared), joined(own))  # type: ignore[attr-defined]  # a sampler of ours
        got = tuple(pickle.dumps(g) for g in got)  # type: ignore[assignment]  # shared memory would go with this process
        torch.distributed.barrier()
        return got


def test_in_a_process_group_only_what_is_asked_for_is_shared(folder: Path, what: Contents) -> None:
    """Two real ranks: train is shared out between them, and each has the whole of val."""
    told = in_children(of_rank, [(0, folder), (1, folder)])
    (ranks, first, val), (_, second, other) = ([pickle.loads(part) for part in rank] for rank in told)
    assert ranks == 2
    assert sorted(pairs_of(first, what) + pairs_of(second, what)) == sorted(what["train_idx"].tolist())
    assert pairs_of(val, what) == pairs_of(other, what) == what["val_idx"].tolist()


@pytest.mark.parametrize("rule", ["by_pair", "by_access"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_where_it_stood(folder: Path, workers: int, rule: Any) -> None:
    """A state that went through JSON, taken in the middle of an epoch, brings exactly the batches that were left."""
    loader = create_loader(folder, "train", 8, workers if rule == "by_pair" else 0, epoch=2, variant_rule=rule)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = json.loads(json.dumps(loader.state_dict()))
    rest = joined(batches)
    other = create_loader(folder, "train", 8, variant_rule=rule)
    other.load_state_dict(state)
    assert same(joined(other), rest)


def test_a_state_reaches_a_dataset_within_a_subset(folder: Path) -> None:
    """The curriculum goes on as well as the order."""

    def made() -> EpochLoader:
        dataset = Subset(JASPERSteeringDataset(folder, "train"), range(10, 60))
        return EpochLoader(dataset, batch_size=5, sampler=DistributedShuffleSampler(50, 1, 0))

    loader = made()
    set_epoch(loader, 90)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = joined(batches)
    other = made()
    other.load_state_dict(state)
    assert same(joined(other), rest)


Wrap = Callable[[JASPERSteeringDataset], Any]
WRAPS: dict[str, Wrap] = {
    "itself": lambda d: d,
    "a Subset": lambda d: Subset(d, range(40)),
    "a Subset of a Subset": lambda d: Subset(Subset(d, range(40)), range(20)),
    "a ConcatDataset": lambda d: ConcatDataset([d, TensorDataset(torch.zeros(3))]),
}


@pytest.mark.parametrize("kind", [DataLoader, EpochLoader])
@pytest.mark.parametrize("wrap", WRAPS)
def test_set_epoch_reaches_a_wrapped_dataset(folder: Path, wrap: str, kind: Any) -> None:
    """In a loader of ours and in torch's, however deep the dataset is."""
    dataset = JASPERSteeringDataset(folder, "train")
    set_epoch(kind(WRAPS[wrap](dataset), batch_size=4), 7)
    assert dataset.current_epoch == 7


@pytest.mark.parametrize("kind", [DataLoader, EpochLoader])
def test_set_epoch_reaches_a_sampler_of_torch(kind: Any) -> None:
    """A DistributedSampler has an epoch too."""
    sampler = DistributedSampler(range(8), 2, 0)  # type: ignore[arg-type, var-annotated]  # its length is all it asks
    set_epoch(kind(TensorDataset(torch.zeros(8)), sampler=sampler), 3)
    assert sampler.epoch == 3


def test_set_epoch_says_where_there_is_nothing_to_set(folder: Path) -> None:
    """A loader without any epoch, and an epoch below 0, are errors rather than silence."""
    with pytest.raises(ValueError, match="TensorDataset nor SequentialSampler has set_epoch"):
        set_epoch(DataLoader(TensorDataset(torch.zeros(4))), 1)
    for loader in (create_loader(folder, "val", 8), DataLoader(JASPERSteeringDataset(folder, "val"))):
        with pytest.raises(ValueError, match="epoch is -1"):
            set_epoch(loader, -1)


@pytest.mark.parametrize("name", ["image-folder", "npy, side by side", "parquet, a folder of files", "audio-folder"])
def test_any_source_of_ours_gets_the_same_loader(tmp_path: Path, name: str) -> None:
    """Splits, seeded order and epochs as of a JASPER directory; defaults as of the factory and the module."""
    made = TINY[name](tmp_path)
    loader = create_loader(made.source, split="train", batch_size=8)
    assert [len(next(iter(b.values()))) for b in loader] == [8, 8, 8, 6]
    factory = DataLoaderFactory().create_dataloader(loader.dataset_obj, DataLoaderConfig(batch_size=8))
    module = UniversalDataModule(loader.dataset_obj, batch_size=8, val_split=0).train_dataloader()
    for other in (factory, module):
        for setting in ("num_workers", "drop_last", "persistent_workers", "prefetch_factor", "pin_memory", "seed"):
            assert getattr(loader, setting) == getattr(other, setting)
        loader.set_epoch(0)
        assert list(loader.sampler_obj or ()) == list(other.sampler_obj or ())
    assert len(loader.dataset_obj) == 30
    first, other = (create_loader(made.source, "train", 30, epoch=e) for e in (1, 2))
    batch, later = next(iter(first)), next(iter(other))
    set_epoch(other, 1)
    again = next(iter(other))
    assert all(_plain(again[n]) == _plain(batch[n]) for n in batch)
    assert any(_plain(later[n]) != _plain(batch[n]) for n in batch)
    assert len(create_loader(made.source, "test", 8)) == 2


def _plain(values: Any) -> list[Any]:
    listed: list[Any] = torch.nan_to_num(values.double()).tolist() if isinstance(values, torch.Tensor) else values
    return listed


def test_photos_come_as_tensors_with_labels(tmp_path: Path) -> None:
    """``create_loader('photos/', split='train', batch_size=32)``."""
    photos = TINY["image-folder"](tmp_path)
    loader = create_loader(f"{photos.source}/", split="train", batch_size=10, drop_last=False)
    batches = list(loader)
    assert all(b["image"].shape == (10, 3, 24, 32) and b["image"].dtype == torch.uint8 for b in batches)
    labels = torch.cat([b["label"] for b in batches])
    assert torch.bincount(labels).tolist() == [15, 10, 5]
    assert create_loader(photos.source, None, 8).dataset_obj is not None
    assert len(create_loader(photos.source, None, 8).dataset_obj) == 42


def test_photos_of_several_sizes_say_what_to_pass(tmp_path: Path) -> None:
    """The error names the argument that helps, and it helps."""
    photos = TINY["image-folder, jpeg of several sizes, no class, no split"](tmp_path)
    with pytest.raises(ValueError, match=r"size=\(height, width\)"):
        list(create_loader(photos.source, None, 8))
    assert next(iter(create_loader(photos.source, None, 8, size=(16, 20))))["image"].shape == (8, 3, 16, 20)


def test_an_error_in_a_worker_does_not_keep_its_workers(tmp_path: Path) -> None:
    """Once the error is dropped its workers end at once: torch's own frames would hold them until a garbage collection."""
    photos = TINY["image-folder, jpeg of several sizes, no class, no split"](tmp_path)
    before = {p.pid for p in active_children()}
    gc.disable()
    try:
        with pytest.raises(ValueError) as raised:
            list(create_loader(photos.source, None, 8, num_workers=2))
        del raised
        assert {p.pid for p in active_children()} <= before
    finally:
        gc.enable()


def test_an_error_in_the_main_process_keeps_its_place(tmp_path: Path) -> None:
    """A sampler is read here, workers or not: its line is in the traceback."""

    class Fails(SequentialSampler):
        def __iter__(self) -> Any:
            yield from range(20)  # more than are prefetched
            raise KeyError("missing")

    loader = EpochLoader(TensorDataset(torch.zeros(40)), batch_size=2, sampler=Fails(range(40)), num_workers=2)
    with pytest.raises(KeyError) as raised:
        list(loader)
    places = [(entry.name, entry.path) for entry in raised.traceback]
    del raised  # with this frame it is a cycle, and workers that a collection of it ends take five seconds each
    assert ("__iter__", Path(__file__)) in places


@pytest.mark.journey
def test_a_file_or_a_pattern_is_a_source(tmp_path: Path) -> None:
    """Not only folders are read; what is not there is not taken for a JASPER directory."""
    made = TINY["csv"](tmp_path)
    assert len(create_loader(f"{made.source}/train.csv", None, 8).dataset_obj) == 30
    assert len(create_loader(f"{made.source}/*.csv", None, 8).dataset_obj) == 42
    with pytest.raises(RequestError, match="source-not-found"):
        create_loader(f"{made.source}/gone.csv", None, 8)
    with pytest.raises(ValueError, match="Dataset directory not found"):
        create_loader(f"{made.source}/gone", "train", 8)


def test_a_config_json_of_something_else_makes_no_jasper_directory(tmp_path: Path) -> None:
    """Many folders have one; a JASPER directory's names its sizes."""
    made = TINY["image-folder"](tmp_path)
    (made.root / "config.json").write_text('{"model_type": "vit"}', encoding="utf-8")
    assert len(create_loader(made.source, "train", 8).dataset_obj) == 30


def test_a_jasper_directory_that_is_not_whole_is_told_as_one(folder: Path) -> None:
    """Its own messages, not those of a folder that nobody can read."""
    (folder / "config.json").unlink()
    with pytest.raises(ValueError, match="Config file not found"):
        create_loader(folder, "train", 8)


def test_an_unknown_split_is_refused_with_those_there_are(folder: Path, tmp_path: Path) -> None:
    """JASPER or not."""
    (tmp_path / "npy").mkdir()
    with pytest.raises(ValueError, match="train, val, test"):
        create_loader(folder, "holdout", 8)
    with pytest.raises(RequestError, match=r"test.*train"):
        create_loader(TINY["npy, side by side"](tmp_path / "npy").source, "holdout", 8)


def test_no_accelerator_is_no_warning(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """``pin_memory=True`` is the default, so a machine without a device is told once, in the log."""
    with caplog.at_level(logging.INFO, "dataloader_expert"):
        list(create_loader(folder, "val", 8))
    if not torch.accelerator.is_available():
        assert "batches are not pinned" in caplog.text


@pytest.mark.parametrize("by_column", [False, True])
def test_labels_of_training_are_whole_where_a_contest_withholds_those_of_its_test_split(
    tmp_path: Path, by_column: bool
) -> None:
    """Seen: labels of training came as float64, which a cross entropy refuses, as the samples of another split have none."""
    rows = [
        (f"{split}_{i}", split, str(i % 3) if split == "train" else "")
        for split in ("train", "test")
        for i in range(20)
    ]
    for name, split, _ in rows:
        path = tmp_path / ("all" if by_column else split) / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.random.default_rng().integers(0, 256, (8, 8, 3), np.uint8)).save(path)
    if by_column:
        text = "id,split,label\n" + "".join(f"{name},{split},{label}\n" for name, split, label in rows)
        (tmp_path / "all.csv").write_text(text)
    else:
        for split in ("train", "test"):
            text = "id,label\n" if split == "train" else "id\n"
            text += "".join(f"{n},{label}\n" if label else f"{n}\n" for n, s, label in rows if s == split)
            (tmp_path / f"{split}.csv").write_text(text)
    batch = next(iter(create_loader(str(tmp_path), split="train", batch_size=4)))
    assert batch["label"].dtype == torch.int64

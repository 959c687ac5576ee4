"""JASPERSteeringDataset: samples, batches, variants that follow from seed, epoch and pair, and running workers."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dataloader_expert.loaders import JASPERSteeringDataset, create_loader, set_epoch
from tests.loaders.looking import Batch, joined, same, variants
from tests.making import jasper
from tests.making.jasper import Contents

VARIANTS = ("zero", "centroid", "keyword", "residual")
CURRICULUM = {"zero_prob_start": 0.5, "zero_prob_end": 0.1, "epochs_total": 100, "mode": "linear"}


@pytest.fixture
def what() -> Contents:
    return jasper.contents()


@pytest.fixture
def folder(tmp_path: Path, what: Contents) -> Path:
    return jasper.make(tmp_path / "jasper", what)


@pytest.fixture
def train(folder: Path) -> JASPERSteeringDataset:
    return JASPERSteeringDataset(folder, "train")


def all_of(dataset: Any) -> Batch:
    batch: Batch = dataset.__getitems__(range(len(dataset))).batch
    return batch


def test_a_split_has_its_pairs_and_the_configurations_sizes(folder: Path) -> None:
    """What the configuration and the split files say is what the dataset says."""
    for split, count in jasper.SIZES.items():
        dataset = JASPERSteeringDataset(folder, split)  # type: ignore[arg-type]  # a name of the loop
        assert len(dataset) == count
        assert (dataset.embedding_dim, dataset.n_neg, dataset.split) == (jasper.DIM, jasper.NEGATIVES, split)


@pytest.mark.parametrize("options", [{}, {"use_mmap": True}, {"variant_rule": "by_access"}], ids=str)
def test_a_sample_is_what_the_files_hold(folder: Path, what: Contents, options: dict[str, Any]) -> None:
    """Nine keys, each with its pair's values and dtype, for every sample of a split."""
    dataset = JASPERSteeringDataset(folder, "train", **options)
    for at, pair in enumerate(what["train_idx"].tolist()):
        sample = dataset[at]
        assert same(sample, jasper.sample_of(what, pair, int(sample["steering_variant"])))


@pytest.mark.parametrize("forced", [None, *VARIANTS])
@pytest.mark.parametrize("mapped", [False, True], ids=["read", "mapped"])
def test_a_batch_is_its_samples(folder: Path, forced: Any, mapped: bool) -> None:
    """Gathered whole or sample by sample, in any order and with repeats: the same tensors."""
    dataset = JASPERSteeringDataset(folder, "train", use_mmap=mapped)
    dataset.force_steering(forced)
    indices = [3, 79, 0, 3, *np.random.default_rng(0).integers(0, 80, 40).tolist()]
    samples = [dataset[i] for i in indices]
    assert same(dataset.__getitems__(indices).batch, {n: torch.stack([s[n] for s in samples]) for n in samples[0]})


def test_a_loader_gathers_batches_rather_than_samples(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch costs one gather a field, not one a sample."""
    read: list[int] = []
    sample = JASPERSteeringDataset.__getitem__

    def noting(self: JASPERSteeringDataset, index: int) -> Batch:
        read.append(index)
        return sample(self, index)

    monkeypatch.setattr(JASPERSteeringDataset, "__getitem__", noting)
    assert sum(len(b["relevance"]) for b in create_loader(folder, "train", 16)) == 80
    assert not read


@pytest.mark.parametrize("index", [-1, 80, 10**6])
def test_an_index_out_of_range_is_refused(train: JASPERSteeringDataset, index: int) -> None:
    """Negative indices too, alone and in a batch, with the range in the message."""
    with pytest.raises(IndexError, match=rf"Index {index} out of range \[0, 80\)"):
        train[index]
    with pytest.raises(IndexError, match=rf"Index {index} out of range \[0, 80\)"):
        train.__getitems__([0, index])


def test_an_index_may_be_any_integer_and_no_slice(train: JASPERSteeringDataset) -> None:
    """Integers of numpy and torch count as integers."""
    own: tuple[Any, ...] = (np.int64(3), torch.tensor(3))  # what samplers may hand out
    assert all(same(train[index], train[3]) for index in own)
    with pytest.raises(TypeError):
        train[0:2]  # type: ignore[index]  # refused


@pytest.mark.parametrize("code", range(4))
def test_a_forced_variant_is_every_samples(train: JASPERSteeringDataset, what: Contents, code: int) -> None:
    """All four can be forced; None returns to what the rule had chosen."""
    before = all_of(train)
    train.force_steering(VARIANTS[code])  # type: ignore[arg-type]  # a name of the tuple
    forced = all_of(train)
    assert forced["steering_variant"].tolist() == [code] * 80
    expected = [jasper.steering_of(what, pair, code) for pair in what["train_idx"].tolist()]
    assert torch.equal(forced["steering"], torch.stack(expected))
    train.force_steering(None)
    assert same(all_of(train), before)


@pytest.mark.parametrize("name", ["none", "keyword_weighted", "", 1])
def test_an_unknown_variant_is_refused(train: JASPERSteeringDataset, name: Any) -> None:
    """The message names the four."""
    with pytest.raises(ValueError, match="zero, centroid, keyword, residual"):
        train.force_steering(name)


@pytest.mark.parametrize("epoch", [-1, 1.5, "1", True, None])
def test_an_epoch_is_an_integer_from_0(train: JASPERSteeringDataset, epoch: Any) -> None:
    """Anything else is refused before it can bend probabilities."""
    with pytest.raises(ValueError, match="integer from 0"):
        train.set_epoch(epoch)
    assert train.current_epoch == 0


def test_variants_do_not_depend_on_the_order_of_access(train: JASPERSteeringDataset, what: Contents) -> None:
    """Backwards, in batches of any size, or one sample again and again: a pair keeps its variant."""
    first = variants(all_of(train), what)
    backwards = [train[i] for i in reversed(range(80))]
    assert {p: v for s in backwards for p, v in variants({n: t[None] for n, t in s.items()}, what).items()} == first
    assert len({int(train[5]["steering_variant"]) for _ in range(20)}) == 1
    assert variants(joined(train.__getitems__(range(i, i + 8)).batch for i in range(0, 80, 8)), what) == first


def test_variants_follow_from_seed_and_epoch(folder: Path, what: Contents) -> None:
    """Equal seed and epoch: equal variants, in another dataset too; else others."""

    def at(epoch: int, seed: int) -> dict[int, int]:
        return variants(all_of(JASPERSteeringDataset(folder, "train", epoch, seed=seed)), what)

    first = at(5, 42)
    assert at(5, 42) == first
    assert at(6, 42) != first
    assert at(5, 43) != first


def test_splits_do_not_repeat_each_others_variants(folder: Path) -> None:
    """The k-th sample of train and the k-th of val are different draws."""
    first = [all_of(JASPERSteeringDataset(folder, s))["steering_variant"][:15].tolist() for s in ("train", "val")]
    assert first[0] != first[1]


def test_rule_by_access_draws_as_the_original_did(folder: Path) -> None:
    """The k-th access gets the k-th draw of ``choice`` from a stream of seed + epoch, alone or in a batch."""
    dataset = JASPERSteeringDataset(folder, "train", epoch=7, variant_rule="by_access")
    drawn = [int(dataset[0]["steering_variant"]) for _ in range(30)]
    drawn += dataset.__getitems__(range(30)).batch["steering_variant"].tolist()
    rng = np.random.default_rng(42 + 7)
    assert drawn == [int(rng.choice([0, 1, 2, 3], p=[0.25] * 4)) for _ in range(60)]
    assert dataset.rng is not None


def test_rule_by_access_goes_on_where_its_state_was_taken(folder: Path) -> None:
    """A state is plain values, and the draws behind it are those that would have come."""
    dataset = JASPERSteeringDataset(folder, "train", epoch=3, variant_rule="by_access")
    dataset.__getitems__(range(13))
    state = json.loads(json.dumps(dataset.state()))
    after = dataset.__getitems__(range(20)).batch
    other = JASPERSteeringDataset(folder, "train", variant_rule="by_access")
    other.restore(state)
    assert same(other.__getitems__(range(20)).batch, after)


def test_an_unknown_rule_is_refused(folder: Path) -> None:
    """The message names the rules."""
    with pytest.raises(ValueError, match="by_pair, by_access"):
        JASPERSteeringDataset(folder, "train", variant_rule="by_chance")  # type: ignore[arg-type]  # refused


def test_workers_deliver_what_the_process_itself_delivers(folder: Path, what: Contents) -> None:
    """Order, samples and variants do not depend on the number of workers."""
    alone = joined(create_loader(folder, "train", 8, epoch=2))
    assert same(joined(create_loader(folder, "train", 8, 2, epoch=2)), alone)
    assert variants(alone, what) == variants(all_of(JASPERSteeringDataset(folder, "train", 2)), what)


def _set_epoch(loader: Any, folder: Path) -> None:
    set_epoch(loader, 90)


def _force(loader: Any, folder: Path) -> None:
    loader.dataset_obj.force_steering("residual")


def _reload(loader: Any, folder: Path) -> None:
    jasper.rewrite(folder, hard_negatives=(jasper.stored(folder, "hard_negatives") + 1) % jasper.SOURCES)
    loader.dataset_obj.reload_negatives()


ORDERS: dict[str, Callable[[Any, Path], None]] = {"set_epoch": _set_epoch, "force": _force, "reload": _reload}


@pytest.mark.parametrize("order", ORDERS)
def test_persistent_workers_follow(folder: Path, order: str) -> None:
    """Workers that were started before see a new epoch, a forced variant, new negatives."""
    loader = create_loader(folder, "val", 8, 2, persistent_workers=True)
    before = joined(loader)
    ORDERS[order](loader, folder)
    after = joined(loader)
    assert not same(after, before)
    alone = create_loader(folder, "val", 8)
    ORDERS[order](alone, folder) if order != "reload" else None
    assert same(after, joined(alone))
    del loader


@pytest.mark.journey
def test_spawned_workers_deliver_the_same_and_follow(tmp_path: Path) -> None:
    """Every start method will do: the dataset pickles, and what it is told later reaches it."""
    folder = jasper.make(tmp_path / "jasper", curriculum=CURRICULUM)
    loader = create_loader(folder, "train", 16, 2, persistent_workers=True, multiprocessing_context="spawn")
    alone = create_loader(folder, "train", 16)
    assert same(joined(loader), joined(alone))
    set_epoch(loader, 60)
    set_epoch(alone, 60)
    assert same(joined(loader), joined(alone))
    _reload(loader, folder)
    loader.dataset_obj.force_steering("keyword")
    set_epoch(loader, 61)
    last = joined(loader)
    alone = create_loader(folder, "train", 16, epoch=61)
    alone.dataset_obj.force_steering("keyword")
    assert same(last, joined(alone))
    del loader


@pytest.mark.parametrize("mapped", [False, True], ids=["read", "mapped"])
def test_a_dataset_pickles_with_each_tensor_once(folder: Path, mapped: bool) -> None:
    """A copy by pickle gives the same samples; its bytes are hardly more than the tensors, or far fewer where mapped."""
    what = jasper.contents(pairs=4000)
    folder = jasper.make(folder.parent / "larger", what)
    dataset = JASPERSteeringDataset(folder, "val", use_mmap=mapped)
    size = len(pickle.dumps(dataset))
    assert size < (0.2 if mapped else 1.2) * dataset.memory_usage_mb() * 1e6
    copy = pickle.loads(pickle.dumps(dataset))
    assert same(all_of(copy), all_of(dataset))
    assert copy.pair_keyword_ids == dataset.pair_keyword_ids


def test_a_pickled_dataset_keeps_its_epoch_its_variant_and_its_negatives(folder: Path) -> None:
    """What was told before is still so in the copy."""
    dataset = JASPERSteeringDataset(folder, "train")
    dataset.set_epoch(4)
    dataset.force_steering("centroid")
    jasper.rewrite(folder, negative_tiers=torch.full((jasper.PAIRS, jasper.NEGATIVES), 4))
    dataset.reload_negatives()
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.current_epoch == 4
    assert same(all_of(copy), all_of(dataset))
    assert copy[0]["negative_tiers"].tolist() == [4] * jasper.NEGATIVES


def test_a_closed_dataset_has_no_tensors(train: JASPERSteeringDataset) -> None:
    """Closing may be repeated; a closed dataset pickles, and has no samples."""
    train.close()
    train.close()
    closed = pickle.loads(pickle.dumps(train))
    for dataset in (train, closed):
        with pytest.raises(AttributeError):
            _ = dataset.question_embs
        with pytest.raises(AttributeError):
            len(dataset)


def test_a_dataset_is_a_context_that_closes_it(folder: Path) -> None:
    """Inside it works; afterwards the tensors are gone, after an error too."""
    with JASPERSteeringDataset(folder, "train") as dataset:
        assert len(dataset) == 80
    with pytest.raises(AttributeError):
        _ = dataset.question_embs
    with pytest.raises(KeyError), JASPERSteeringDataset(folder, "train") as dataset:
        raise KeyError
    assert not hasattr(dataset, "source_embs")


def test_closing_one_dataset_leaves_another_of_the_directory(folder: Path) -> None:
    """They share tensors, but each lets go of its own hold only."""
    first, second = JASPERSteeringDataset(folder, "train"), JASPERSteeringDataset(folder, "val")
    before = all_of(second)
    first.close()
    assert same(all_of(second), before)


def test_steering_statistics_count_what_is_served(tmp_path: Path) -> None:
    """Epoch, probabilities and the exact count of each variant; rule by_access cannot count beforehand."""
    folder = jasper.make(tmp_path / "jasper", curriculum=CURRICULUM)
    dataset = JASPERSteeringDataset(folder, "train", epoch=50)
    stats = dataset.get_steering_stats()
    served = all_of(dataset)["steering_variant"]
    assert stats["counts"] == {v: int((served == i).sum()) for i, v in enumerate(VARIANTS)}
    assert stats["counts"]["zero"] == 24
    assert stats["epoch"] == 50
    assert stats["probabilities"] == dataset.steering_probs
    by_access = JASPERSteeringDataset(folder, "train", variant_rule="by_access")
    assert by_access.get_steering_stats()["counts"] is None


def test_a_cluster_is_a_subset(train: JASPERSteeringDataset) -> None:
    """The clusters' subsets are a partition of the split; one that does not exist is refused."""
    subsets = [train.subset_by_cluster(c) for c in range(jasper.CLUSTERS)]
    assert sorted(i for s in subsets for i in s.indices) == list(range(80))
    assert all(int(s[0]["cluster_id"]) == c for c, s in enumerate(subsets))
    for cluster in (-1, jasper.CLUSTERS):
        with pytest.raises(ValueError, match="there are 4 clusters"):
            train.subset_by_cluster(cluster)


def test_memory_is_counted_and_logged(folder: Path, what: Contents, caplog: pytest.LogCaptureFixture) -> None:
    """Opening says in the log how much the tensors hold."""
    with caplog.at_level(logging.INFO, "dataloader_expert"):
        dataset = JASPERSteeringDataset(folder, "train")
    assert any("memory=" in r.getMessage() for r in caplog.records)
    held = sum(t.nbytes for n, t in what.items() if isinstance(t, torch.Tensor) and not n.endswith("_idx"))
    assert held < dataset.memory_usage_mb() * 1e6 < held + 16 * jasper.PAIRS * 2


def test_samples_need_no_more_than_the_cpu(train: JASPERSteeringDataset) -> None:
    """The CPU is the device unless another is asked for."""
    assert train.device == torch.device("cpu")
    assert all(t.device.type == "cpu" for t in train[0].values())

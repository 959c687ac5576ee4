"""Splits: by ratio, without a question in two of them, and the same each time."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from dataloader_expert.loaders.jasper import DatasetSplitter, create_train_val_split, split_dataset
from dataloader_expert.loaders.jasper.allotting import allotted
from tests.loaders.jasper.parts import pairs_of

ratio = st.sampled_from([0.05, 0.1, 0.15, 0.2, 1 / 3])


@given(size=st.integers(3, 300), val=ratio, test=st.one_of(st.just(0.0), ratio), seed=st.integers(0, 9))
def test_a_simple_split_covers_all_samples_once(size: int, val: float, test: float, seed: int) -> None:
    """The original's promise; ours that what was asked for is not empty."""
    splitter = DatasetSplitter("simple", val, test, seed)
    returned = splitter.split(size)
    parts = splitter.parts()
    assert isinstance(returned, tuple)
    assert returned[0] is parts.train
    assert (parts.test is None) == (test == 0)
    tested = [] if parts.test is None else parts.test.tolist()
    assert sorted([*parts.train, *parts.val, *tested]) == list(range(size))
    assert len(parts.val) == max(1, int(size * val + 1e-9))
    assert test == 0 or len(tested) == max(1, int(size * test + 1e-9))
    assert splitter.validate_split(size)


@pytest.mark.parametrize(
    ("size", "val", "test", "expected"),
    [
        (100, 0.2, 0.0, (80, 20, 0)),
        (100, 0.2, 0.1, (70, 20, 10)),
        (5, 0.3, 0.0, (4, 1, 0)),
        (100, 0.29, 0, (71, 29, 0)),
    ],
)
def test_sizes_of_a_simple_split(size: int, val: float, test: float, expected: tuple[int, int, int]) -> None:
    """The original's promise, without the product that falls just short of 29."""
    splitter = DatasetSplitter(val_ratio=val, test_ratio=test)
    splitter.split(size)
    sizes = [
        0 if part is None else len(part)
        for part in (splitter.train_indices, splitter.val_indices, splitter.test_indices)
    ]
    assert tuple(sizes) == expected


def test_a_split_of_ten_thousand() -> None:
    """The original's promise."""
    splitter = DatasetSplitter(val_ratio=0.1, test_ratio=0.1)
    splitter.split(10_000)
    parts = splitter.parts()
    assert parts.test is not None
    assert [len(parts.train), len(parts.val), len(parts.test)] == [8000, 1000, 1000]


def stratified(sizes: list[int], val: float, test: float, seed: int = 0) -> tuple[dict[str, torch.Tensor], Any]:
    """A split of questions with one to three pairs each, in clusters of these sizes; and their pairs."""
    cluster_of = [cluster for cluster, size in enumerate(sizes) for _ in range(size)]
    questions = [q for q in range(len(cluster_of)) for _ in range(q % 3 + 1)]
    pairs = torch.tensor([[q, 0] for q in questions])
    clusters = torch.tensor([cluster_of[q] for q in questions])
    return split_dataset(pairs, clusters, val_ratio=val, test_ratio=test, random_state=seed), (pairs[:, 0], clusters)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    val=ratio,
    test=st.one_of(st.just(0.0), ratio),
    seed=st.integers(0, 9),
)
def test_a_stratified_split_loses_no_pair_shares_no_question_and_hits_the_ratios(
    sizes: list[int], val: float, test: float, seed: int
) -> None:
    """Our promise; the original lost pairs at test_ratio 0 and strayed far in small clusters."""
    total = sum(sizes)
    assume(total >= 3)
    split, (questions, _) = stratified(sizes, val, test, seed)
    assert list(split) == ["train_idx", "val_idx", *(["test_idx"] if test else [])]
    assert sorted(torch.cat(list(split.values())).tolist()) == list(range(len(questions)))
    asked = {name: {int(q) for q in questions[rows]} for name, rows in split.items()}
    assert sum(map(len, asked.values())) == total
    wanted = {"train_idx": 1 - val - test, "val_idx": val, "test_idx": test}
    for name, members in asked.items():
        assert members
        exact = wanted[name] * total
        # a split that would be empty is given one question, which the largest does without
        assert abs(len(members) - exact) < 1 + 1e-6 or min(val, test or 1) * total < 1


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=9), val=ratio, test=ratio, seed=st.integers(0, 9))
def test_clusters_get_their_own_share_of_each_split(sizes: list[int], val: float, test: float, seed: int) -> None:
    """Our promise: within two of the exact share, and all of a cluster is given out."""
    assume(sum(sizes) * min(val, test) >= 1)
    counts = allotted(np.array(sizes), val, test, np.random.RandomState(seed))
    assert counts.sum(axis=1).tolist() == sizes
    assert counts.min() >= 0
    assert np.abs(counts - np.outer(sizes, [1 - val - test, val, test])).max() < 2


def test_twenty_questions_in_four_clusters_come_out_80_10_10() -> None:
    """Our promise: the original made 60/20/20 of them."""
    split, (questions, _) = stratified([5, 5, 5, 5], 0.1, 0.1)
    assert [len(questions[rows].unique()) for rows in split.values()] == [16, 2, 2]


def test_a_question_belongs_to_the_cluster_of_most_of_its_pairs() -> None:
    """The original's promise: of clusters with as many pairs the smallest id."""
    pairs = torch.tensor([[q, 0] for q in range(8) for _ in range(3)])
    clusters = torch.tensor([9, 2, 9] * 4 + [2, 2, 9] * 4)
    split = split_dataset(pairs, clusters, val_ratio=0.25)
    val = pairs[split["val_idx"], 0].tolist()
    assert len({q for q in val if q < 4}) == len({q for q in val if q >= 4}) == 1


@pytest.mark.parametrize(
    "make",
    [lambda s: create_train_val_split(50, random_state=s), lambda s: stratified([9, 9], 0.2, 0.2, s)[0]],
    ids=["simple", "stratified"],
)
def test_a_seed_makes_one_split_and_global_generators_are_left_alone(make: Callable[[int], Any]) -> None:
    """Our promise: the original reseeded numpy's and torch's global generators."""
    numpy_before, torch_before = np.random.get_state(legacy=False), torch.get_rng_state()

    def listed(seed: int) -> list[Any]:
        made = make(seed)
        return [part.tolist() for part in (made.values() if isinstance(made, dict) else made)]

    assert listed(7) == listed(7) != listed(8)
    assert repr(np.random.get_state(legacy=False)) == repr(numpy_before)
    assert torch.equal(torch.get_rng_state(), torch_before)


def test_without_shuffling_samples_come_in_order() -> None:
    """The original's promise: validation first."""
    train, val = create_train_val_split(10, 0.2, shuffle=False)
    assert (val.tolist(), train.tolist()) == ([0, 1], list(range(2, 10)))


def test_attributes_say_how_it_will_be_and_was_split() -> None:
    """The original's promise: defaults, the mode by what is given, None before the split."""
    splitter = DatasetSplitter()
    assert (splitter.mode, splitter.val_ratio, splitter.test_ratio, splitter.random_state) == ("simple", 0.1, 0.0, 42)
    assert splitter.train_ratio == pytest.approx(0.9)
    assert [splitter.train_indices, splitter.val_indices, splitter.test_indices, splitter.dataset_size] == [None] * 4
    made = pairs_of(7, 5, 3, 40)
    paired = DatasetSplitter(
        pair_indices=made["pair_indices"], pair_cluster_ids=made["pair_cluster_ids"], val_ratio=0.4
    )
    assert (paired.mode, paired.n_pairs, paired.n_questions, paired.question_ids.tolist()) == (
        "stratified",
        40,
        7,
        [*range(7)],
    )
    assert isinstance(paired.split(), dict)
    assert paired.dataset_size == 40
    splitter.split(10, val_ratio=0.3)
    assert (splitter.val_ratio, len(splitter.get_split()[1])) == (0.3, 3)
    assert splitter.train_ratio == pytest.approx(0.7)


def test_a_split_survives_its_file(tmp_path: Path) -> None:
    """The original's promise, by both names of the methods."""
    splitter = DatasetSplitter(val_ratio=0.2, test_ratio=0.1, random_state=3)
    splitter.split(50)
    splitter.save(tmp_path / "a" / "split.json", metadata={"why": "test"})
    assert json.loads((tmp_path / "a" / "split.json").read_text())["metadata"] == {"why": "test"}
    splitter.save_split(tmp_path / "again.json")
    for loaded in (
        DatasetSplitter.from_file(tmp_path / "a" / "split.json"),
        DatasetSplitter.load_split(tmp_path / "again.json"),
    ):
        for one, other in zip(vars(splitter.parts()).values(), vars(loaded.parts()).values(), strict=True):
            assert (one == other).all()
        assert (loaded.val_ratio, loaded.test_ratio, loaded.random_state, loaded.dataset_size) == (0.2, 0.1, 3, 50)
    create_train_val_split(10, save_path=tmp_path / "two.json")
    assert DatasetSplitter.from_file(tmp_path / "two.json").test_indices is None


def test_tensors_of_a_split_are_written(tmp_path: Path) -> None:
    """The original's promise: a file a split."""
    made = pairs_of(12, 5, 3, 40)
    split = split_dataset(made["pair_indices"], made["pair_cluster_ids"], tmp_path, test_ratio=0.2, random_seed=5)
    for name, rows in split.items():
        assert torch.equal(torch.load(tmp_path / f"{name}.pt"), rows)
        assert rows.dtype == torch.int64
    again = split_dataset(made["pair_indices"], made["pair_cluster_ids"], test_ratio=0.2, random_state=5)
    assert torch.equal(again["test_idx"], split["test_idx"])


def _saved(path: Path, **changes: Any) -> Path:
    path.write_text(
        json.dumps({"train_indices": [0], "val_indices": [1], "dataset_size": 2} | changes), encoding="utf-8"
    )
    return path


PAIRS = torch.tensor([[0, 0], [1, 0], [2, 0]])
ZEROS = torch.zeros(3, dtype=torch.long)
Case = Callable[[Path], Any]
REFUSES: dict[str, tuple[Case, type[Exception], str]] = {
    "too-much": (lambda _: DatasetSplitter(val_ratio=0.6, test_ratio=0.5), ValueError, "val_ratio.*test_ratio"),
    "nothing-to-train": (lambda _: DatasetSplitter(val_ratio=0.5, test_ratio=0.5), ValueError, "val_ratio.*test_ratio"),
    "below-zero": (lambda _: DatasetSplitter(val_ratio=-0.1), ValueError, "at least 0"),
    "lost-pairs": (lambda _: DatasetSplitter(train_ratio=0.5, val_ratio=0.2), ValueError, "pairs would be lost"),
    "mode": (lambda _: DatasetSplitter("both"), ValueError, "mode is 'both'"),
    "no-pairs": (lambda _: DatasetSplitter("stratified"), ValueError, "needs pair_indices"),
    "array": (
        lambda _: DatasetSplitter(pair_indices=PAIRS.numpy(), pair_cluster_ids=ZEROS),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "must be torch.Tensor",
    ),
    "lengths": (lambda _: split_dataset(PAIRS, ZEROS[:2]), ValueError, r"length \(2\) must equal 3"),
    "question": (lambda _: split_dataset(PAIRS - 1, ZEROS), ValueError, "question index -1"),
    "no-val": (lambda _: split_dataset(PAIRS, ZEROS, val_ratio=0.0), ValueError, "val split would be empty"),
    "few-questions": (lambda _: split_dataset(PAIRS[:1], ZEROS[:1]), ValueError, "cannot fill 2 splits"),
    "no-size": (lambda _: DatasetSplitter().split(), ValueError, "dataset_size is None"),
    "size-0": (lambda _: DatasetSplitter().split(0), ValueError, "dataset_size is 0"),
    "size-below-0": (lambda _: DatasetSplitter().split(-1), ValueError, "dataset_size is -1"),
    "size-1": (lambda _: DatasetSplitter().split(1), ValueError, "leave train or val empty"),
    "save-early": (lambda p: DatasetSplitter().save(p / "x.json"), ValueError, "No split generated"),
    "no-file": (lambda p: DatasetSplitter.from_file(p / "x.json"), FileNotFoundError, "Split file not found"),
    "overlap": (
        lambda p: DatasetSplitter.from_file(_saved(p / "x.json", val_indices=[0])).validate_split(2),
        ValueError,
        "occurs twice",
    ),
    "range": (
        lambda p: DatasetSplitter.from_file(_saved(p / "x.json")).validate_split(1),
        ValueError,
        "not all within",
    ),
}


@pytest.mark.parametrize(("case", "error", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_what_cannot_be_split_is_refused(case: Case, error: type[Exception], says: str, tmp_path: Path) -> None:
    """The original's promise, and ours for pairs that would be lost."""
    with pytest.raises(error, match=says):
        case(tmp_path)


def test_only_a_simple_split_goes_into_json(tmp_path: Path) -> None:
    """The original's promise."""
    splitter = DatasetSplitter(pair_indices=PAIRS, pair_cluster_ids=ZEROS)
    splitter.split()
    with pytest.raises(NotImplementedError, match="only a simple split"):
        splitter.save(tmp_path / "x.json")
    simple = DatasetSplitter()
    simple.split(9)
    with pytest.raises(ValueError, match="format is 'csv'"):
        simple.save(tmp_path / "x.json", "csv")


def test_a_file_that_lacks_indices_is_refused_and_another_size_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The original's promise."""
    (tmp_path / "y.json").write_text('{"train_indices": []}', encoding="utf-8")
    with pytest.raises(ValueError, match="lacks val_indices, dataset_size"):
        DatasetSplitter.from_file(tmp_path / "y.json")
    with caplog.at_level(logging.WARNING, logger="dataloader_expert.loaders.jasper"):
        assert DatasetSplitter.from_file(_saved(tmp_path / "x.json")).validate_split(9)
    assert "of 2 samples, and there are 9" in caplog.text

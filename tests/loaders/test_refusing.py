"""What would lose or repeat samples without a word is refused: states of another order, samplers of another data set."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import IterableDataset, TensorDataset

from dataloader_expert.loaders import (
    CollatorRegistry,
    DataLoaderConfig,
    DataLoaderFactory,
    StreamingDataset,
    create_loader,
    open_dataset,
)
from dataloader_expert.samplers import (
    CurriculumSampler,
    ShuffleSampler,
    StratifiedBatchSampler,
    WeightedSampler,
)


class Numbers(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return ({"id": i} for i in range(40))


def loader(dataset: Any, batch_size: int = 4, workers: int = 0, **more: Any) -> Any:
    config = DataLoaderConfig(batch_size=batch_size, num_workers=workers, shuffle=False, **more)
    return DataLoaderFactory().create_dataloader(dataset, config)


def shards(folder: Path) -> list[str]:
    paths = [folder / f"{s}.jsonl" for s in range(4)]
    for s, path in enumerate(paths):
        path.write_text("".join(json.dumps({"id": 25 * s + i}) + "\n" for i in range(25)), encoding="utf-8")
    return list(map(str, paths))


@pytest.mark.parametrize(
    ("first", "then", "says"),
    [
        ({}, {"batch_size": 8}, "batches of 4"),
        ({"workers": 2}, {}, "num_workers 2"),
        ({}, {"seed": 2}, "seed 1"),
        ({}, {"urls": 3}, "urls 4"),
        ({}, {"buffer_size": 5}, "buffer_size 10"),
    ],
)
def test_a_state_of_another_stream_is_refused(
    first: dict[str, int], then: dict[str, int], says: str, tmp_path: Path
) -> None:
    urls = shards(tmp_path)

    def made(seed: int = 1, urls_: int = 4, buffer_size: int = 10, **how: Any) -> Any:
        return loader(StreamingDataset(urls[:urls_], seed=seed, buffer_size=buffer_size), **how)

    named = {("urls_" if k == "urls" else k): v for k, v in then.items()}
    begun = made(**first)
    passing = iter(begun)
    for _ in range(3):
        next(passing)
    with pytest.raises(ValueError, match=says):
        made(**named).load_state_dict(begun.state_dict())


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_state_of_the_same_stream_resumes(workers: int, tmp_path: Path) -> None:
    """Also where the files lie elsewhere now, and with one worker in place of none."""
    for dataset in (Numbers, lambda: StreamingDataset(shards(tmp_path), seed=1, buffer_size=10)):
        whole = [int(i) for batch in loader(dataset(), workers=workers) for i in batch["id"]]
        begun = loader(dataset(), workers=workers)
        passing = iter(begun)
        seen = [int(i) for _ in range(3) for i in next(passing)["id"]]
        resumed = loader(dataset(), workers=1 - workers if workers < 2 else 2)
        resumed.load_state_dict(json.loads(json.dumps(begun.state_dict())))
        assert seen + [int(i) for batch in resumed for i in batch["id"]] == whole


OTHERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "weights": (lambda: WeightedSampler([1, 2, 3]), lambda: WeightedSampler([3, 2, 1])),
    "labels": (lambda: StratifiedBatchSampler([0, 0, 1, 1], 2), lambda: StratifiedBatchSampler([0, 1, 1, 1], 2)),
    "difficulty": (lambda: CurriculumSampler(range(9)), lambda: CurriculumSampler(range(9, 0, -1))),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_state_of_other_values_is_refused(what: str) -> None:
    one, other = OTHERS[what]
    one().load_state_dict(one().state_dict())
    with pytest.raises(ValueError, match=f"the state has {what}"):
        other().load_state_dict(one().state_dict())


@pytest.mark.parametrize("state", [{}, {"epoch": 0}, {"epoch": 0, "taken": -1}])
def test_what_is_no_state_is_refused(state: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="not a sampler state"):
        ShuffleSampler(5).load_state_dict(state)
    with pytest.raises(ValueError, match="not a loader state"):
        loader(TensorDataset(torch.arange(3))).load_state_dict(state)


def test_a_sampler_for_other_samples_is_refused_or_told(caplog: pytest.LogCaptureFixture) -> None:
    data = TensorDataset(torch.arange(100))
    with pytest.raises(ValueError, match="for 101 samples, the dataset has 100"):
        loader(data, sampler=WeightedSampler(np.ones(101)))
    with caplog.at_level(logging.WARNING):
        loader(data, sampler=ShuffleSampler(60))
    assert "for 60 samples, the dataset has 100" in caplog.text
    caplog.clear()
    loader(data, sampler=WeightedSampler(np.ones(100), 60))
    assert not caplog.text


@pytest.mark.parametrize("size", [2.5, "8", True])
def test_sizes_are_whole_numbers(size: Any) -> None:
    with pytest.raises(ValueError, match="must be a whole number"):
        StratifiedBatchSampler([0, 1] * 5, size)
    ten: Any = np.int64(10)
    assert len(list(ShuffleSampler(ten))) == 10
    with pytest.raises(ValueError, match="data is -5"):
        ShuffleSampler(-5)


def test_a_data_set_without_splits_is_shuffled_where_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,x\n" + "".join(f"{i},{i / 3:.3f}\n" for i in range(64)), encoding="utf-8")

    def epoch(**how: Any) -> list[int]:
        return [int(i) for batch in create_loader(path, None, 8, num_workers=0, **how) for i in batch["id"]]

    assert epoch() == list(range(64))
    shuffled = epoch(shuffle=True)
    assert sorted(shuffled) == list(range(64)) != shuffled
    assert sorted(epoch(shuffle=True, mixed_blocks=2)) == list(range(64))
    with pytest.raises(ValueError, match="nothing is shuffled"):
        epoch(mixed_blocks=2)


def test_a_field_that_only_later_samples_have_is_no_field_lost() -> None:
    """Whether a field is kept must not depend on which sample comes first."""
    collate = CollatorRegistry.get_instance().get_collator(collator_name="array")
    with pytest.raises(ValueError, match="sample 1 of the batch has 'b', which sample 0 has not"):
        collate([{"a": 1}, {"a": 2, "b": 3}])


@pytest.mark.parametrize("other", ["seed", "order", "fewer", "shuffle"])
def test_a_streams_own_state_is_refused_by_one_of_another_order(tmp_path: Path, other: str) -> None:
    """Our promise: samples are neither lost nor repeated without a word, whoever keeps the state."""
    paths = shards(tmp_path)
    first = StreamingDataset(paths, 20, seed=1)
    passed = iter(first)
    taken = [next(passed)["id"] for _ in range(33)]
    state = json.loads(json.dumps(first.state_dict()))
    cases: dict[str, dict[str, Any]] = {
        "seed": {"seed": 9}, "order": {"urls": paths[::-1]}, "fewer": {"urls": paths[:3]}, "shuffle": {"shuffle": False},
    }  # fmt: skip
    with pytest.raises(ValueError, match="resume with the arguments with which it was taken"):
        given: dict[str, Any] = {"urls": paths, "buffer_size": 20, "seed": 1, **cases[other]}
        StreamingDataset(**given).load_state_dict(state)
    again = StreamingDataset(paths, 50, seed=1)  # of another buffer, which loses nothing
    again.load_state_dict(state)
    assert sorted([*taken, *(sample["id"] for sample in again)]) == list(range(100))


def test_an_argument_that_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,2\n" * 8, encoding="utf-8")
    with pytest.raises(TypeError, match="no argument 'num_worker': did you mean 'num_workers'"):
        create_loader(tmp_path, None, 4, num_worker=2)
    with pytest.raises(TypeError):
        create_loader(tmp_path, None, 4).set_epoch(1.5)  # type: ignore[arg-type]  # as given


def test_single_samples_are_asked_for_without_a_batch_size(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n" + "".join(f"{i},2\n" for i in range(8)), encoding="utf-8")
    assert [int(sample["a"]) for sample in create_loader(tmp_path, None, None, num_workers=0)] == list(range(8))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_of_which_nothing_can_be_read_is_told(tmp_path: Path, workers: int) -> None:
    """Our promise: the error of a worker says the same as that of this process."""
    text = "".join("{\n" if i in (4, 5) else json.dumps({"id": i}) + "\n" for i in range(8))
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError, match="none of the 2 samples of a batch can be read: 4, 5"):
        list(create_loader(tmp_path, None, 2, num_workers=workers, unreadable="skip"))


def test_a_signature_that_expires_is_no_other_url() -> None:
    first, second = (StreamingDataset([f"https://a.example/x.jsonl?sig={k}"], seed=1) for k in "12")
    second.load_state_dict(first.state_dict())
    assert second.stream_order() == first.stream_order()


def test_what_files_cannot_do_is_refused(tmp_path: Path) -> None:
    """Seen: batches on the CPU for ``device="cuda"``; a size of no pixels; a slice, answered with the operands of a sum."""
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i % 3}\n" for i in range(12)), encoding="utf-8")
    with pytest.raises(ValueError, match="device is meta, but only JASPER"):
        create_loader(path, None, 4, num_workers=0, device="meta")
    assert len(create_loader(path, None, 4, num_workers=0, device="cpu")) == 3
    with pytest.raises(ValueError, match="height is 0; it must be at least 1"):
        open_dataset(path, size=(0, 8))
    with pytest.raises(TypeError, match="for a part of a dataset use"):
        open_dataset(path)[slice(0, 3)]  # type: ignore[index]

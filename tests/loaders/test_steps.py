"""How many batches an epoch has: of every kind of loader, shared out or not, and what is refused."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, SequentialSampler

from dataloader_expert.loaders import (
    Batch,
    DataLoaderSetupMixin,
    UniversalDataModule,
    get_dataloader_length,
    get_epoch_length,
    get_train_dataloader_steps,
    get_val_dataloader_steps,
)
from dataloader_expert.loaders.trainers.steps import TrainSteps, ValSteps, is_sharded
from dataloader_expert.samplers import ShuffleSampler, TokenBudgetBatchSampler
from tests.loaders.material import Numbers, Stream, made


def thirteen(**more: Any) -> DataLoader[Any]:
    """13 batches of 8, of 100 samples."""
    return DataLoader(Numbers(100), batch_size=8, **more)


def by_batch_sampler(**more: Any) -> DataLoader[Any]:
    return DataLoader(Numbers(100), batch_sampler=BatchSampler(SequentialSampler(range(100)), 8, **more))


def stream() -> DataLoader[Any]:
    return DataLoader(Stream(50), batch_size=8)


def test_a_length_is_known_or_none() -> None:
    """Of a loader, of a list, of a stream."""
    assert get_dataloader_length(thirteen()) == 13
    assert get_dataloader_length([1, 2]) == 2
    assert get_dataloader_length(stream()) is None
    assert Batch == dict[str, Any]


def test_an_epochs_length_is_given_or_known() -> None:
    """What is given goes first, even beyond the loader; below 1, or unknown, is an error."""
    assert get_epoch_length(thirteen()) == 13
    assert get_epoch_length(thirteen(), 1000) == 1000
    assert get_epoch_length(stream(), 7) == 7
    with pytest.raises(ValueError, match=r"does not have __len__ defined. Please specify training_parameters"):
        get_epoch_length(stream())
    for length in (0, -3, True, 2.5):
        with pytest.raises(ValueError, match=f"length is {length}; it must be a whole number of at least 1"):
            get_epoch_length(thirteen(), length)  # type: ignore[arg-type]  # what a configuration may hold


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        ((None,), (8, 13, 1)),
        ((None, 4), (32, 13, 4)),
        ((None, 4, 2), (64, 13, 4)),
        ((3, 4), (32, 12, 4)),
        ((13,), (8, 13, 1)),
        ((2, 3, 2), (48, 6, 3)),
    ],
)
def test_training_counts_batches_of_the_loader(arguments: Any, due: Any) -> None:
    """Steps of the optimizer are multiplied by the batches that each takes; per rank."""
    steps = get_train_dataloader_steps(thirteen(), *arguments)
    assert steps == due
    assert (steps.global_batch_size, steps.num_train_steps, steps.gradient_accumulation_steps) == due


@pytest.mark.parametrize(
    ("loader", "due"),
    [
        (by_batch_sampler(drop_last=False), (8, 13, 1)),
        (by_batch_sampler(drop_last=True), (8, 12, 1)),
        (thirteen(drop_last=True), (8, 12, 1)),
        (thirteen(sampler=DistributedSampler(Numbers(100), 2, 0)), (8, 7, 1)),
        (made(Numbers(100), batch_size=8), (8, 13, 1)),
    ],
    ids=["batch sampler", "batch sampler, last dropped", "last dropped", "shared out", "the factory's"],
)
def test_every_kind_of_loader_is_counted(loader: Any, due: Any) -> None:
    """What the loader says is what is drawn from it."""
    assert get_train_dataloader_steps(loader) == due
    assert len(list(loader)) == due[1]


def test_the_batch_size_may_be_the_datasets() -> None:
    """Of datasets that make batches themselves; where nobody says it, that is an error, and so is what is none."""
    dataset: Any = Numbers(4)
    dataset.batch_size = 5
    assert get_train_dataloader_steps(DataLoader(dataset, batch_size=None)) == (5, 4, 1)
    with pytest.raises(ValueError, match=r"Neither dataloader nor dataloader\.dataset has non-None 'batch_size'"):
        get_train_dataloader_steps([1, 2])
    with pytest.raises(ValueError, match="batch_size is 0"):
        get_train_dataloader_steps(SimpleNamespace(batch_size=0, __len__=lambda: 3))
    budget = TokenBudgetBatchSampler([1] * 20, 8)
    with pytest.raises(ValueError, match="nor has its batch sampler"):
        get_train_dataloader_steps(DataLoader(Numbers(20), batch_sampler=budget))


@pytest.mark.parametrize(
    ("wanted", "ranks", "due"), [(8, 1, (8, 13, 1)), (32, 1, (32, 13, 4)), (64, 2, (64, 13, 4)), (32, 4, (32, 13, 1))]
)
def test_the_accumulation_follows_from_the_batch_that_is_wanted(wanted: int, ranks: int, due: Any) -> None:
    """Over all ranks; smaller ones and no multiples are refused."""
    assert get_train_dataloader_steps(thirteen(), dp_size=ranks, train_batch_size=wanted) == due


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"train_batch_size": 4}, "Effective minibatch size, 8, is greater than train_batch_size, 4"),
        ({"train_batch_size": 20}, "train_batch_size, 20, is not a multiple of the effective minibatch size, 8"),
        ({"train_batch_size": 0}, "train_batch_size is 0"),
        ({"train_steps_per_epoch": 0}, "train_steps_per_epoch is 0; it must be a whole number of at least 1"),
        ({"train_steps_per_epoch": -3}, "train_steps_per_epoch is -3"),
        ({"gradient_accumulation_steps": 0}, "gradient_accumulation_steps is 0"),
        ({"gradient_accumulation_steps": -1}, "gradient_accumulation_steps is -1"),
        ({"dp_size": 0}, "dp_size is 0"),
        ({"dp_size": True}, "dp_size is True"),
    ],
)
def test_numbers_of_training_that_cannot_be_are_refused(keywords: dict[str, Any], words: str) -> None:
    """Zero is not the default."""
    with pytest.raises(ValueError, match=words):
        get_train_dataloader_steps(thirteen(), **keywords)


def test_an_empty_or_endless_loader_is_refused() -> None:
    """Where it is counted; a stream needs its steps given."""
    with pytest.raises(ValueError, match=r"Training dataloader yielded 0 batches \(batch_size=8\)"):
        get_train_dataloader_steps(DataLoader(Numbers(3), batch_size=8, drop_last=True))
    with pytest.raises(ValueError, match="Validation dataloader yielded 0 batches"):
        get_val_dataloader_steps(DataLoader(Numbers(3), batch_size=8, drop_last=True))
    for steps in (get_train_dataloader_steps, get_val_dataloader_steps):
        with pytest.raises(ValueError, match="does not have __len__ defined"):
            steps(stream())
    assert get_train_dataloader_steps(stream(), 5, 2) == (16, 10, 2)
    assert get_val_dataloader_steps(stream(), 5) == (5, 0)


@pytest.mark.parametrize(
    ("arguments", "due"),
    [
        ((None,), (13, 0)),
        ((5, 2), (5, 2)),
        ((None, 3, 2), (6, 2)),
        ((None, 0, 4), (3, 0)),
        ((None, 0, 20), (1, 0)),
        ((1, 1, 2), (1, 1)),
        ((3, 0, 4), (1, 0)),
    ],
)
def test_validation_is_shared_out_and_never_nothing(arguments: Any, due: Any) -> None:
    """Rounded down, to at least one batch; the look before training is rounded up."""
    steps = get_val_dataloader_steps(thirteen(), *arguments)
    assert steps == due and (steps.num_val_steps, steps.num_sanity_steps) == due


def shared_out(kind: str, ranks: int) -> Any:
    """A loader that gives each rank its own share."""
    if kind == "torch's":
        return thirteen(sampler=DistributedSampler(Numbers(100), ranks, 0))
    if kind == "in a batch sampler":
        sampler: Any = DistributedSampler(Numbers(100), ranks, 0)
        return DataLoader(Numbers(100), batch_sampler=BatchSampler(sampler, 8, drop_last=False))
    if kind == "a batch sampler of ours":
        return DataLoader(Numbers(100), batch_sampler=TokenBudgetBatchSampler([1] * 100, 8, num_replicas=ranks, rank=0))
    return thirteen(sampler=ShuffleSampler(100, num_replicas=ranks, rank=0))


@pytest.mark.parametrize("kind", ["torch's", "in a batch sampler", "ours", "a batch sampler of ours"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_what_is_shared_out_already_is_not_divided_again(kind: str, ranks: int) -> None:
    """Its length is a rank's."""
    loader = shared_out(kind, ranks)
    assert is_sharded(loader) and not is_sharded(thirteen())
    assert get_val_dataloader_steps(loader, None, 0, ranks) == (len(loader), 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None, 0, 0), "dp_size is 0"),
        ((None, 0, -1), "dp_size is -1"),
        ((0,), "val_steps_per_epoch is 0"),
        ((-3,), "val_steps_per_epoch is -3"),
        ((None, -1), "num_sanity_val_steps is -1; it must be at least 0"),
    ],
)
def test_numbers_of_validation_that_cannot_be_are_refused(arguments: Any, words: str) -> None:
    """No division by zero, and nothing negative."""
    with pytest.raises(ValueError, match=words):
        get_val_dataloader_steps(thirteen(), *arguments)


def test_more_batches_than_there_are_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Batches are compared with batches: five steps of four are twenty, and thirteen are there."""
    with caplog.at_level(logging.WARNING):
        get_train_dataloader_steps(thirteen(), 3, 4)
        get_val_dataloader_steps(thirteen(), 13)
        get_val_dataloader_steps(shared_out("torch's", 2), 14, 0, 2)
        assert not caplog.records
        assert get_train_dataloader_steps(thirteen(), 5, 4) == (32, 20, 4)
        assert "it needs 20 batches" in caplog.text
        caplog.clear()
        assert get_val_dataloader_steps(thirteen(), 30, 0, 2) == (15, 0)
        assert "val_batches_per_epoch, 15, is greater" in caplog.text and "6 per rank" in caplog.text


@pytest.mark.parametrize("kind", [SimpleNamespace, dict])
def test_parameters_may_come_as_an_object(kind: Any) -> None:
    """``(parameters, loader)``, as attributes or keys, gives the number of batches alone."""
    nothing = kind(train_steps_per_epoch=None, gradient_accumulation_steps=1, val_steps_per_epoch=None)
    assert get_train_dataloader_steps(nothing, thirteen()) == 13
    assert get_val_dataloader_steps(nothing, thirteen()) == 13
    said = kind(train_steps_per_epoch=3, gradient_accumulation_steps=2, val_steps_per_epoch=4, dp_size=2)
    assert get_train_dataloader_steps(said, thirteen()) == 6
    assert get_val_dataloader_steps(said, thirteen()) == 2
    assert type(get_train_dataloader_steps(kind(), thirteen())) is int


def test_a_trainer_sets_its_loaders_up_once() -> None:
    """Read before that, they are an error that says what to call."""

    class Trainer(DataLoaderSetupMixin):
        def configure_dataloaders(self) -> Any:
            module = UniversalDataModule(Numbers(20), batch_size=4, num_workers=0)
            return module.train_dataloader(), module.val_dataloader()

    trainer = Trainer()
    for name in ("train_dataloader", "val_dataloader"):
        with pytest.raises(RuntimeError, match=r"call _setup_dataloaders\(\) first"):
            getattr(trainer, name)
    trainer._setup_dataloaders()
    assert get_train_dataloader_steps(trainer.train_dataloader) == (4, 4, 1)
    assert get_dataloader_length(trainer.val_dataloader) == 1
    with pytest.raises(TypeError, match="abstract"):
        DataLoaderSetupMixin()  # type: ignore[abstract]  # what the test is about


def test_help_tells_what_each_number_is() -> None:
    """Seen: "Alias for field number 1" was all that help() said of it."""
    told = [getattr(kind, name).__doc__ for kind in (TrainSteps, ValSteps) for name in kind._fields]
    assert all(text and "Alias for" not in text for text in told)

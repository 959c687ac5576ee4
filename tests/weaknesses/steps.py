"""What the trainer's data utilities, and the recipes of their document, did badly."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import islice
from typing import Any

from dataloader_expert.loaders import streaming
from dataloader_expert.loaders.trainers import profiling, stateful, steps
from dataloader_expert.loaders.trainers.steps import TrainSteps, ValSteps
from dataloader_expert.sources import fetching
from tests.weaknesses.base import Change, Weakness, planted

SYSTEM = "data utilities of the trainer"
GUARDS = "tests/loaders/test_steps_guards.py::test_"

_train: Any = steps.get_train_dataloader_steps
_val: Any = steps.get_val_dataloader_steps
_stream: Any = streaming.StreamingDataset.__init__
_way: Any = streaming._Pass.__init__
_profile = profiling.profile_dataloader
_warning = steps.logger.warning
_answer: Any = fetching._answer
_read_lines = fetching.read_lines


def _train_is(function: Any) -> Change:
    return steps, "get_train_dataloader_steps", function


def _val_is(function: Any) -> Change:
    return steps, "get_val_dataloader_steps", function


def _divided(loader: Any, wanted: Any = None, sanity: int = 0, dp_size: int = 1) -> ValSteps:
    return ValSteps((wanted or len(loader)) // dp_size, sanity)


def _zero_is_default(function: Any) -> Any:
    return lambda loader, wanted=None, *more, **named: function(loader, wanted or None, *more, **named)


def _silent_if_empty(function: Any) -> Any:
    def counted(loader: Any, *more: Any, **named: Any) -> Any:
        return function(loader, *more, **named) if len(loader) else (0, 0)

    return counted


def _without_batch_sampler(loader: Any) -> int:
    if loader.batch_size is None:
        raise ValueError("Neither dataloader nor dataloader.dataset has non-None 'batch_size'")
    return int(loader.batch_size)


def _compared_by_steps(said: str, *numbers: Any) -> None:
    """The warning only where steps of the optimizer, not batches, are more than there are batches."""
    if numbers[0] > numbers[1]:
        _warning(said, *numbers)


def _by_batch_size_of_one(loader: Any, *more: Any) -> TrainSteps:
    made: TrainSteps = _train(loader, *more, train_batch_size=1)
    return made


def _nameless(*arguments: Any, **named: Any) -> tuple[int, ...]:
    return tuple(_train(*arguments, **named))


def _not_there(*arguments: Any, **named: Any) -> int:
    raise ImportError("cannot import name 'get_epoch_length'")


def _epoch_alone(self: Any) -> dict[str, Any]:
    return {"current_epoch": self.current_epoch, "sampler_state": {}}


def _in_order(self: Any, urls: Any, buffer_size: int = 1000, **named: Any) -> None:
    _stream(self, urls, buffer_size, **{**named, "shuffle": False})


def _alone(self: Any, dataset: Any, epoch: int, world: int, rank: int, state: Any) -> None:
    _way(self, dataset, epoch, 1, 0, state)


def _in_one_go(url: str, patience: Any) -> Iterator[bytes]:
    return _read_lines(url, dataclasses.replace(patience, retries=0))


def _until_it_ends(url: str, patience: Any) -> Iterator[bytes]:
    with fetching._answer(url, 0, None, patience) as answer:
        while chunk := answer.read1():
            yield chunk


def _from_the_start(url: str, done: int, tag: Any, patience: Any) -> Any:
    answer = _answer(url, 0, None, patience)
    answer.status = 206
    return answer


def _divided_by_what_was_asked(loader: Any, num_batches: int = 100, **named: Any) -> Any:
    made = _profile(loader, num_batches, **named)
    share = made.batches / num_batches
    return dataclasses.replace(made, fetch_ms=made.fetch_ms * share, batches_per_s=made.batches_per_s / share)


def _all_together(loader: Any, num_batches: int = 100, **named: Any) -> Any:
    made = _profile(loader, num_batches, **named)
    spent = made.startup_ms + made.fetch_ms * (made.batches - 1)
    return dataclasses.replace(made, fetch_ms=spent / made.batches)


UNCHECKED = planted((steps, "whole", lambda least, **values: None))

WEAKNESSES = [
    Weakness(SYSTEM, says, GUARDS + test, plant)
    for says, test, plant in [
        *(
            (
                f"validation is divided by the ranks a second time: {case}",
                f"a_share_is_not_divided_again[{case}]",
                planted((steps, "is_sharded", lambda loader: False)),
            )
            for case in ("2-7", "4-4")
        ),
        (
            "with more ranks than batches validation is rounded to none",
            "validation_is_never_rounded_to_nothing",
            planted(_val_is(_divided)),
        ),
        (
            "0 steps of training mean the default",
            "no_steps_are_not_all_steps[train]",
            planted(_train_is(_zero_is_default(_train))),
        ),
        (
            "0 steps of validation mean the default",
            "no_steps_are_not_all_steps[val]",
            planted(_val_is(_zero_is_default(_val))),
        ),
        *(
            (f"not checked: {case}", f"numbers_of_training_are_checked[{case}]", UNCHECKED)
            for case in ("no accumulation", "negative accumulation", "no ranks", "negative steps")
        ),
        ("no ranks of validation are a division by 0", "ranks_of_validation_are_checked", UNCHECKED),
        *(
            (f"an explicit length is not checked: {n}", f"an_epoch_s_length_is_checked[{n}]", UNCHECKED)
            for n in (0, -3)
        ),
        (
            "loaders with a batch sampler are refused",
            "a_batch_sampler_knows_its_batch_size",
            planted((steps, "_batch_size", _without_batch_sampler)),
        ),
        (
            "steps of the optimizer are compared with batches: 5 of 4 batches each are no shortfall of 13",
            "a_shortfall_is_told_in_batches",
            planted((steps.logger, "warning", _compared_by_steps)),
        ),
        (
            "a shortfall of training is silent",
            "a_shortfall_is_told_in_batches",
            planted((steps.logger, "warning", lambda *said: None)),
        ),
        (
            "a shortfall of validation is silent",
            "a_shortfall_of_validation_is_told",
            planted((steps.logger, "warning", lambda *said: None)),
        ),
        (
            "training on no batches is 0 steps in silence",
            "no_batches_are_an_error[train]",
            planted(_train_is(_silent_if_empty(_train))),
        ),
        (
            "validation of no batches is left out in silence",
            "no_batches_are_an_error[val]",
            planted(_val_is(_silent_if_empty(_val))),
        ),
        (
            "every batch of more than one sample needs a train_batch_size",
            "a_batch_is_of_any_size_by_default",
            planted(_train_is(_by_batch_size_of_one)),
        ),
        *(
            (
                f"the document's call, of parameters and a loader, is an error: {of}",
                f"the_document_s_call_gives_a_number[{of}]",
                planted((steps, "_is_loader", lambda value: False)),
            )
            for of in ("train", "val")
        ),
        (
            "batches are called steps, in a tuple without names",
            "what_is_called_steps_says_what_it_is",
            planted(_train_is(_nameless)),
        ),
        (
            "the document's import does not exist",
            "the_document_s_import_exists",
            planted((steps, "get_epoch_length", _not_there)),
        ),
        (
            "the document's stateful loader stores no position",
            "a_stateful_loader_knows_its_place",
            planted((stateful.StatefulDataLoader, "state_dict", _epoch_alone)),
        ),
        (
            "the document's stream is not shuffled",
            "a_stream_is_shuffled",
            planted((streaming.StreamingDataset, "__init__", _in_order)),
        ),
        *(
            (
                f"the document's stream is not shared out: {files} files for 2 ranks",
                f"a_stream_is_shared_out[{files}]",
                planted((streaming._Pass, "__init__", _alone)),
            )
            for files in (1, 4)
        ),
        (
            "the document's stream ends with a server's first refusal",
            "a_server_that_refuses_is_asked_again",
            planted((streaming, "read_lines", _in_one_go)),
        ),
        (
            "the document's stream takes what came before a cut for the whole",
            "a_stream_that_is_cut_off_is_read_on",
            planted((fetching, "_over_http", _until_it_ends)),
        ),
        (
            "a stream that begins again delivers samples twice",
            "a_stream_that_is_cut_off_is_read_on",
            planted((fetching, "_answer", _from_the_start)),
        ),
        (
            "the document's profile divides by the batches asked for, not by those seen",
            "a_profile_is_of_the_batches_that_were_seen",
            planted((profiling, "profile_dataloader", _divided_by_what_was_asked)),
        ),
        (
            "the document's profile fetches one batch that it does not count",
            "a_profile_takes_no_batch_more",
            planted((profiling, "islice", lambda batches, n: islice(batches, n + 1))),
        ),
        (
            "the document's profile counts the start of workers as batches",
            "a_profile_tells_the_start_from_the_batches",
            planted((profiling, "profile_dataloader", _all_together)),
        ),
    ]
]

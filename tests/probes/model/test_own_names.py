"""Fields that a model's own names tell, and targets that it takes as a training call gives them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from dataloader_expert.probes.model.live_bytes import PHASES
from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.spec import batch_of, of_batch
from dataloader_expert.probes.model.training_step import loss_of, with_own_loss
from dataloader_expert.probes.model.trials import Setup, run_here
from dataloader_expert.probes.model.ways import functions

N, T = 6, 7


class Pairs(nn.Module):
    """Two tables of ids, of which neither is required."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.types, self.head = nn.Embedding(50, 6), nn.Embedding(60, 6), nn.Linear(6, 3)

    def forward(self, ids: Any = None, mask: Any = None, types: Any = None, scale: Any = None) -> Any:
        x = self.words(ids) + (self.types(types) if types is not None else 0)
        return self.head((x * mask[..., None]).mean(1))


class Scaled(nn.Module):
    """An input, and a mask of its size by name."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor, mask: Any = None) -> Any:
        return self.layer(x if mask is None else x * mask)


class Language(nn.Module):
    """As nanoGPT's: the logits of the last place alone where no targets are given."""

    def __init__(self, words: int = 500) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(words, 6), nn.Linear(6, words)

    def forward(self, idx: torch.Tensor, targets: Any = None) -> Any:
        x = self.table(idx)
        if targets is None:
            return self.head(x[:, [-1]]), None
        logits = self.head(x)
        return logits, cross_entropy(logits.flatten(0, 1), targets.flatten())


class Objects(nn.Module):
    """Rows of (image, class, x, y) as targets, as YOLO takes them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, images: torch.Tensor, targets: Any = None) -> Any:
        out = self.layer(images).mean((2, 3))
        if targets is None:
            return out
        wanted = nn.functional.one_hot(targets[:, 1].long(), 3).float()
        loss = nn.functional.binary_cross_entropy_with_logits(out[targets[:, 0].long()], wanted)
        return loss, loss.detach()[None]


def objects(first: int) -> tuple[torch.Tensor, torch.Tensor]:
    rows = torch.arange(N + 3) % N
    return torch.randn(N, 3, 8, 8), torch.stack([rows, first + torch.arange(N + 3) % 3, *torch.rand(2, N + 3)], 1)


def test_fields_that_have_the_models_names_are_not_swapped() -> None:
    """Our promise: ids beyond a table are told, and no other field that bears the model's name takes their place."""
    ids = torch.randint(0, 56, (N, T))
    ids[0, 0] = 55
    batch = {"ids": ids, "types": torch.randint(0, 2, (N, T)), "mask": torch.ones(N, T)}
    verdict = judged(Pairs(), batch, None)
    assert [(m.code, m.field) for m in verdict.misfits] == [("out-of-range-ids", "ids")]
    assert verdict.way is not None and "< 50" in verdict.way.code()
    assert functions(verdict.way.code())[0](batch)[1]["types"] is batch["types"]


def test_an_input_under_another_name_leaves_the_other_fields_under_theirs() -> None:
    """Our promise: with ``x`` under another name, ``mask`` is still given as ``mask``, whichever comes first."""
    batch = {"mask": torch.ones(N, 5), "signal": torch.randn(N, 5)}
    verdict = judged(Scaled(), batch, None)
    assert verdict.accepted and verdict.way is not None
    (x,), named = functions(verdict.way.code())[0](batch)
    assert x is batch["signal"] and named == {"mask": batch["mask"]}


def test_optional_targets_are_fed_as_a_training_call_does() -> None:
    """Our promise: the loss within the model is part of the step whose memory is traced."""
    ids = torch.randint(0, 500, (N, T + 1))
    batch = (ids[:, :-1].contiguous(), ids[:, 1:].contiguous())
    verdict = judged(Language(), batch, None)
    assert verdict.accepted and verdict.way is not None
    adapt, target = functions(verdict.way.code())
    assert adapt(batch)[1]["targets"] is batch[1]

    def call(model: Any, given: Any) -> Any:
        arguments, named = adapt(given)
        return (lambda: with_own_loss(model(*arguments, **named), named)), target(given)

    made = run_here(Language, lambda: batch_of(of_batch(batch, N), N), call, N, Setup())
    assert made.loss == "the model's own loss"
    assert (
        max(made.phases[p] for p in PHASES if p in made.phases) > 2 * N * T * 500 * 4
    )  # the logits and their gradient


def test_the_loss_of_a_model_that_was_given_no_targets_is_not_its_own() -> None:
    """Our promise: an auxiliary loss beside the output is not taken for the loss."""
    logits, aux = torch.randn(N, 3, requires_grad=True), torch.ones((), requires_grad=True)
    assert loss_of(with_own_loss((logits, aux), {}), torch.arange(N) % 3)[1] == "cross-entropy over 3 classes"


@pytest.mark.parametrize("first", [0, 1])
def test_classes_in_a_column_of_the_targets_begin_at_0(first: int) -> None:
    """Seen: an optional target was left out, and classes from 1 passed."""
    batch = objects(first)
    verdict = judged(Objects(), batch, None)
    assert verdict.accepted == (first == 0) and verdict.way is not None
    given, named = functions(verdict.way.code())[0](batch)
    assert bool((named["targets"][:, 1].unique() == torch.arange(3)).all())
    Objects()(*given, **named)
    if first:
        (misfit,) = verdict.misfits
        assert misfit.code == "label-out-of-range" and "column 1" in misfit.says


def test_the_target_is_the_field_that_fits_the_output() -> None:
    """Seen: of six activities and twenty subjects the last field was taken, and called an error."""
    y, subject = torch.arange(40) % 6, torch.arange(40) // 2
    batch = {"x": torch.randn(40, 4), "activity": y, "subject": subject}
    verdict = judged(nn.Linear(4, 6), batch, "subject", guessed=True)
    assert verdict.misfits == () and verdict.way is not None and verdict.way.target == "batch['activity']"
    known = judged(nn.Linear(4, 6), batch, "subject")
    assert [m.code for m in known.misfits] == ["label-out-of-range"] and not known.misfits[0].runs


def test_of_several_arrays_the_target_has_the_outputs_shape() -> None:
    """Our promise: the last item of a sample is the target only where no other fits better."""

    class Ahead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(9, 4)

        def forward(self, x: torch.Tensor, x_mark: Any = None) -> Any:
            return self.layer(x.transpose(1, 2)).transpose(1, 2)

    batch = (torch.randn(N, 9, 5), torch.randn(N, 4, 5), torch.randn(N, 9, 2), torch.randn(N, 4, 2))
    verdict = judged(Ahead(), batch, None)
    assert verdict.accepted and verdict.way is not None and verdict.way.target == "batch[1]"


def test_a_guessed_target_that_does_not_fit_is_no_error() -> None:
    """Our promise: a number of a sample that no name calls a label makes sound data no error."""
    batch = {"x": torch.randn(40, 4), "sample": torch.arange(40)}
    (misfit,) = judged(nn.Linear(4, 6), batch, "sample", guessed=True).misfits
    assert misfit.runs and "only guessed" in misfit.says


class Looks(nn.Module):
    """Takes its batch as a dict, with labels if there are some."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, batch: Any) -> Any:
        logits = self.layer(batch["features"])
        return cross_entropy(logits, batch["label"]) if "label" in batch else logits


def test_parts_without_keys_are_given_under_those_that_the_model_looks_up() -> None:
    """Seen: 'too many indices for tensor' of a model that takes a dict, and nothing of the keys."""
    batch = [torch.randn(N, 5), torch.arange(N) % 3]
    verdict = judged(Looks(), batch, "1")
    assert verdict.way is not None
    assert [m.says.split(" in a dict")[0] for m in verdict.misfits] == [
        f"the model looks up '{k}'" for k in ("features", "label")
    ]
    (given,), named = functions(verdict.way.code())[0](batch)
    assert not named and {*given} == {"features", "label"} and given["label"] is batch[1]

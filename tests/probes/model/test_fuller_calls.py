"""What a model takes if it is given: the call of training counts, not one with fewer arguments; and what a config may be."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.ways import functions

N = 6


class Churn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, features: torch.Tensor, left: torch.Tensor | None = None) -> Any:
        out = self.layer(features)
        return out if left is None else F.binary_cross_entropy_with_logits(out, left)


class Segments(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 2, 1)

    def forward(self, image: torch.Tensor, mask: torch.Tensor | None = None) -> Any:
        out = self.layer(image)
        return out if mask is None else F.cross_entropy(out, mask)


class HidesPatches(nn.Module):
    """A mask of patches, where the batch has one of pixels for a loss elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(48, 5)

    def forward(self, image: torch.Tensor, mask: torch.Tensor | None = None) -> Any:
        x = image.flatten(1).view(len(image), 4, -1)
        return self.layer(x if mask is None else x * mask.view(len(x), 4, 1)).mean(1)


CURES = {
    "a target of another shape": (
        Churn(),
        {"features": torch.randn(N, 4), "left": torch.rand(N).round()},
        "batch['left'].unsqueeze(-1)",
    ),
    "a mask of 0 and 255": (
        Segments(),
        {"image": torch.randn(N, 3, 8, 8), "mask": torch.eye(8).long().expand(N, 8, 8) * 255},
        "batch['mask'] // 255",
    ),
    "a mask with channels": (
        Segments(),
        {"image": torch.randn(N, 3, 8, 8), "mask": torch.eye(8).long().expand(N, 1, 8, 8)},
        "batch['mask'].squeeze(1)",
    ),
}


@pytest.mark.parametrize("kind", CURES)
def test_a_call_with_fewer_arguments_hides_nothing(kind: str) -> None:
    """Seen: a model with its loss inside taken as accepted, because it runs without its target."""
    model, batch, cure = CURES[kind]
    verdict = judged(model, batch, None)
    assert not verdict.accepted and verdict.way is not None
    assert cure in verdict.way.code()
    given, named = functions(verdict.way.code())[0](batch)
    model(*given, **named)


def test_a_field_that_may_be_meant_for_something_else_is_a_warning() -> None:
    """Our promise: a mask for the loss, which the model's own argument of that name refuses, does not make the batch an error."""
    batch = {"image": torch.randn(N, 3, 8, 8), "mask": torch.ones(N, 8, 8).long()}
    verdict = judged(HidesPatches(), batch, None)
    assert verdict.accepted
    (misfit,) = verdict.misfits
    assert misfit.field == "mask" and misfit.runs and not misfit.cured


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (Churn(), {"features": torch.randn(N, 4), "left": torch.rand(N, 1).round()}),
        (Churn(), {"features": torch.randn(N, 4)}),
        (Churn(), (torch.randn(N, 4), torch.rand(N, 1).round())),
        (Segments(), {"image": torch.randn(N, 3, 8, 8), "mask": torch.eye(8).long().expand(N, 8, 8)}),
    ],
)
def test_what_the_fuller_call_takes_is_accepted(model: nn.Module, batch: Any) -> None:
    """Our promise: a sound batch stays accepted, with its target or without."""
    verdict = judged(model, batch, None)
    assert verdict.accepted and not verdict.misfits


class Width:
    width = 4


class Frozen:
    __slots__ = ()


class Noted(nn.Module):
    """Keeps its config, and notes in it what a call was for."""

    def __init__(self, config: Any, notes: bool = False) -> None:
        super().__init__()
        self.layer, self.config, self.notes = nn.Linear(4, 2), config, notes

    def forward(self, x: torch.Tensor) -> Any:
        if self.notes:
            self.config.problem, self.config.width = "regression", 3
        return self.layer(x)


@pytest.mark.parametrize("config", [Width, Width(), Frozen(), math, SimpleNamespace(width=4), {"width": 4}, None, "a"])
def test_a_config_of_any_kind_is_called(config: Any) -> None:
    """Seen: ``self.config = CFG``, a class that serves as a namespace, told as an error of the model."""
    verdict = judged(Noted(config), torch.randn(N, 4), None)
    assert verdict.accepted and verdict.error is None
    assert math.pi > 3 and Width.width == 4


def test_what_a_call_notes_in_a_config_does_not_stay() -> None:
    """Our promise: a model of transformers keeps to no loss that an earlier trial was for."""
    config = SimpleNamespace(width=4)
    judged(Noted(config, notes=True), torch.randn(N, 4), None)
    assert vars(config) == {"width": 4}

"""Which numbers that a model is fed are no measures for its layers: targets, and what it scales by itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.unscaled import scales_pictures, unscaled

N = 8


class Regresses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, litres: torch.Tensor) -> Any:
        return F.mse_loss(self.layer(x).squeeze(1), litres)


class Denoises(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.time = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(6, 4)

    def forward(self, x: torch.Tensor, moment: torch.Tensor) -> Any:
        at = moment[:, None] * torch.arange(1, 4)
        noise = torch.randn_like(x)
        return self.first(x + noise) + self.time(torch.cat([at.sin(), at.cos()], 1))[..., None, None]


class TakesColumns(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, age: torch.Tensor, income: torch.Tensor) -> Any:
        return self.layer(torch.stack([age, income], 1))


class Own(nn.Module):
    """Without layers of torch's: what it does with its parameters is not seen."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3))

    def forward(self, x: torch.Tensor) -> Any:
        return x @ self.weight


@pytest.mark.parametrize(
    ("model", "batch", "found"),
    [
        (Regresses(), {"x": torch.randn(N, 4), "litres": torch.rand(N) * 30}, ["litres"]),
        (Denoises(), {"x": torch.randn(N, 1, 5, 5), "moment": torch.rand(N)}, ["moment"]),
        (TakesColumns(), {"age": torch.rand(N) * 80, "income": torch.rand(N) * 9e4}, []),
        (Own(), {"x": torch.randn(N, 4)}, []),
        (nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 3)), torch.randn(N, 4), []),
    ],
    ids=["a target", "a time step", "columns", "no layers", "a layer that scales"],
)
def test_only_what_no_layer_gets_as_it_is_is_unscaled(model: Any, batch: Any, found: list[str]) -> None:
    """Seen: mean and std of a target and of a time step, advised for inputs."""
    way = judged(model, batch, None).way
    assert way is not None and unscaled(model, way, batch) == found


class Pictures(nn.Module):
    """``within``: it brings its input to the scale of its mean and std by itself."""

    def __init__(self, within: bool) -> None:
        super().__init__()
        self.layer, self.within = nn.Conv2d(3, 4, 3), within
        self.mean: torch.Tensor
        self.std: torch.Tensor
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1))

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer((x - self.mean) / self.std if self.within else x)


@pytest.mark.parametrize("within", [True, False])
def test_a_model_that_normalises_by_itself_wants_plain_pictures(within: bool) -> None:
    """Our promise: no second normalisation is asked for by what a model declares and does already."""
    batch, model = torch.rand(N, 3, 8, 8), Pictures(within)
    said = {"by": "a test", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    verdict = judged(model, batch, None, said)
    assert bool(verdict.misfits) is not within and verdict.way is not None
    assert scales_pictures(model, verdict.way, batch) is within or not within


@pytest.mark.parametrize(
    ("stored", "cure"),
    [
        (lambda x: x, None),
        (lambda x: (x * 255).round(), "255"),
        (lambda x: (x - 0.45) / 0.225, "torch.tensor"),
        (lambda x: x * 2 - 1, "+ 1) / 2"),
        (lambda x: x * 1.2 - 0.1, None),
    ],
    ids=["from 0 to 1", "bytes", "standardized before", "from -1 to 1", "hardly beyond"],
)
def test_what_a_model_normalises_is_to_be_a_picture(stored: Any, cure: str | None) -> None:
    """Seen: bytes as floats, and pictures that were standardized before, passed to a model that standardizes them itself."""
    batch, model = stored(torch.rand(N, 3, 8, 8) * 0.98 + 0.01), Pictures(True)
    said = {"by": "a test", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    verdict = judged(model, batch, None, said)
    assert [m.code for m in verdict.misfits] == (["value-range-mismatch"] if cure else []) and verdict.way is not None
    assert cure is None or cure in verdict.way.code()


def test_lengths_and_boxes_are_no_target() -> None:
    """Seen: the numbers of boxes, as labels beyond a detector's four outputs."""
    detector = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 4))
    boxes = {
        "boxes": torch.rand(N, 6, 4),
        "boxes_lengths": torch.tensor([6] * (N - 1) + [5]),
        "labels": torch.ones(N, 6).long(),
    }
    verdict = judged(detector, [torch.rand(N, 3, 8, 8), boxes], None, guessed=True)
    assert verdict.accepted and not verdict.misfits

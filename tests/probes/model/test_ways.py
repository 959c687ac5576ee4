"""How fields of a batch find their way to a model's arguments: by name, whole, renamed, or in another order."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.ways import functions

N = 6


class Graph(nn.Module):
    """As PyG calls it: ``batch`` says whose each node is."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, batch: torch.Tensor) -> Any:
        return self.layer(x) + batch[:, None]


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, a: dict[str, torch.Tensor], b: dict[str, torch.Tensor], weight: Any = None) -> Any:
        return self.layer(a["x"]) + self.layer(b["x"])


class Padded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(3, 5, batch_first=True)

    def forward(self, series: torch.Tensor, lengths: torch.Tensor) -> Any:
        packed = pack_padded_sequence(series, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return self.layer(packed)[1][0]


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, ids: torch.Tensor, pad_mask: torch.Tensor) -> Any:
        return self.layer(self.table(ids), src_key_padding_mask=pad_mask).mean(1)


class MakesItsLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> Any:
        out = self.layer(pixel_values)
        return {"loss": nn.functional.cross_entropy(out, labels), "logits": out}


class PictureAndNumbers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 2, 3), nn.Linear(5, 2)

    def forward(self, picture: torch.Tensor, numbers: torch.Tensor) -> Any:
        return self.first(picture).mean((2, 3)) + self.second(numbers)


class Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv3d(1, 2, 3)

    def forward(self, volume: torch.Tensor) -> Any:
        return self.layer(volume).mean((2, 3, 4))


LENGTHS = torch.tensor([7, 5, 6, 2, 3, 4])
MASK = torch.arange(7)[None] >= LENGTHS[:, None]
FITS: dict[str, tuple[nn.Module, Any]] = {
    "a field called batch": (Graph(), {"x": torch.randn(N, 4), "batch": torch.arange(N), "y": torch.arange(N) % 2}),
    "nested entries": (
        Nested(),
        {"a": {"x": torch.randn(N, 4)}, "b": {"x": torch.randn(N, 4)}, "weight": torch.ones(N)},
    ),
}
MISFITS: dict[str, tuple[nn.Module, Any, str, str]] = {
    "lengths that the collate function gives": (
        Padded(),
        {"series": torch.randn(N, 7, 3), "series_lengths": LENGTHS},
        "key-missing",
        "lengths = batch['series_lengths']",
    ),
    "a mask of whole numbers": (
        Attending(),
        {"ids": torch.randint(0, 50, (N, 7)), "pad_mask": MASK.long()},
        "dtype-mismatch",
        "pad_mask = batch['pad_mask'].bool()",
    ),
    "labels under another name": (
        MakesItsLoss(),
        {"pixel_values": torch.randn(N, 4), "label": torch.arange(N) % 3},
        "key-missing",
        "labels = batch['label']",
    ),
    "inputs in the other order": (
        PictureAndNumbers(),
        (torch.randn(N, 5), torch.randn(N, 3, 8, 8), torch.arange(N) % 2),
        "key-missing",
        "x0 = batch[1]",
    ),
    "volumes without channels": (
        Volumes(),
        (torch.randn(N, 5, 6, 6), torch.arange(N) % 2),
        "channels-mismatch",
        "unsqueeze(1)",
    ),
}


@pytest.mark.parametrize("kind", FITS)
def test_what_a_model_takes_as_it_is_is_accepted(kind: str) -> None:
    """Our promise: what ``model(**batch)`` runs with is no misfit, and the code runs too."""
    model, batch = FITS[kind]
    verdict = judged(model, batch, None)
    assert verdict.accepted and verdict.error is None and verdict.way is not None
    given, named = functions(verdict.way.code())[0](batch)
    model(*given, **named)


@pytest.mark.parametrize("kind", MISFITS)
def test_the_right_field_is_found_and_the_cure_runs(kind: str) -> None:
    """Our promise: what is there under another name, dtype or place is used, before anything is made up."""
    model, batch, code, cure = MISFITS[kind]
    verdict = judged(model, batch, None)
    assert not verdict.accepted and verdict.misfits[0].code == code and verdict.way is not None
    assert cure in verdict.way.code()
    given, named = functions(verdict.way.code())[0](batch)
    model(*given, **named)


def test_what_a_model_needs_and_no_field_is_like_is_named() -> None:
    """Our promise: never "raises: None"."""
    verdict = judged(MakesItsLoss(), {"pixel_values": torch.randn(N, 4)}, None)
    assert verdict.way is None and verdict.error is not None
    assert "the model needs labels; the batch has pixel_values" in verdict.error


def test_labels_of_minus_one_are_samples_without_a_label() -> None:
    labels = torch.tensor([0, 1, 2, -1, 1, 0])
    verdict = judged(nn.Linear(4, 3), (torch.randn(N, 4), labels), None)
    (misfit,) = verdict.misfits
    assert misfit.code == "label-out-of-range" and "ignore_index=-1" in misfit.says

"""Models that run as they are, whatever their outputs look like; and batches that no model should be fed so that it runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.facts import Facts, Unknown
from dataloader_expert.lab.surroundings import surroundings
from dataloader_expert.probes.model import remaining
from dataloader_expert.probes.model.check import told
from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.tools.base import Measured
from dataloader_expert.tools.recipes.recommend_batch_spec import conclude
from dataloader_expert.tools.recommend_batch_spec import Request

N = 8


class Loss(nn.Module):
    """Gives its loss alone."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, 6), nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor, labels: torch.Tensor, padding_mask: Any = None) -> Any:
        return nn.functional.cross_entropy(self.head(self.table(ids).mean(1)), labels)


class Views(nn.Module):
    """Similarities of all views with all: [2B, 2B]."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 6))

    def forward(self, views: Any) -> Any:
        z = torch.cat([self.layers(view) for view in views])
        return z @ z.T


class Pairs(nn.Module):
    """Distances of all pairs: B (B - 1) / 2."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.pdist(self.layer(x))


class Prototypes(nn.Module):
    """A mean of each class, so many whatever the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 4)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
        return torch.zeros(10, 4).index_add(0, labels, self.layer(x))


class Found(nn.Module):
    """What is found in each image, in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return [{"boxes": torch.zeros(i, 4), "scores": one.mean((1, 2))} for i, one in enumerate(self.layer(x))]


def padded() -> dict[str, Any]:
    lengths = torch.tensor([3, 7, 5, 9, 4, 6, 8, 2])
    ids = torch.randint(1, 50, (N, 9)) * (torch.arange(9) < lengths[:, None])
    return {"ids": ids, "ids_lengths": lengths, "labels": torch.arange(N) % 3}


SOUND = {
    "its loss": (Loss, padded),
    "similarities of views": (Views, lambda: [[torch.rand(N, 3, 8, 8), torch.rand(N, 3, 8, 8)], torch.arange(N)]),
    "distances of pairs": (Pairs, lambda: {"x": torch.rand(N, 5), "labels": torch.arange(N) % 10}),
    "prototypes": (Prototypes, lambda: {"x": torch.rand(N, 5), "labels": torch.arange(N) % 10}),
    "what is found": (Found, lambda: [torch.rand(N, 3, 9, 9), torch.arange(N)]),
}


@pytest.mark.parametrize("kind", SOUND)
def test_an_output_without_the_samples_is_no_misfit(kind: str) -> None:
    """Our promise: where the plain call runs, nothing is invented, and no other call's error is told."""
    make, batch = SOUND[kind]
    verdict = judged(make(), batch(), None, seconds=30, n=N)
    assert verdict.accepted
    assert not verdict.misfits
    assert verdict.error is None
    assert verdict.way is not None
    assert not verdict.way.mends


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, 6), nn.Linear(6, 5)

    def forward(self, tokens: torch.Tensor) -> Any:
        return self.head(self.table(tokens).mean(1))


@pytest.mark.parametrize("label", [None, "stars"])
@pytest.mark.parametrize("beside", [{}, {"id": torch.arange(N)}], ids=["alone", "beside ids"])
def test_texts_are_to_be_tokenised_and_no_label_is_fed(label: str | None, beside: dict[str, Any]) -> None:
    """Seen: the label as token ids of one sample, since the model ran with it."""
    batch = {"text": [f"so good {i}" for i in range(N)], "stars": torch.arange(N) % 5, **beside}
    verdict = judged(Words(), batch, label, seconds=30, n=N)
    assert not verdict.accepted
    assert verdict.way is None
    [misfit] = verdict.misfits
    assert (misfit.code, misfit.field, misfit.cured) == ("key-missing", "text", False)
    assert "AutoTokenizer" in misfit.fix
    assert "s['text']" in misfit.fix


def test_a_look_that_fails_leaves_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: what could not be looked at is told, and that the model runs is not lost."""

    def fails(*_: Any) -> Any:
        raise RuntimeError("of no concern")

    monkeypatch.setattr(remaining, "unmasked", fails)
    verdict = judged(Loss(), padded(), None, seconds=30, n=N)
    assert verdict.accepted
    [said] = verdict.unseen
    assert said.startswith("padding: RuntimeError: of no concern")


def test_a_model_that_was_not_checked_is_said_first() -> None:
    """Our promise: no result without a check of the model that was asked for reads as a success."""
    request = Request.model_validate({"source": "data", "model": "net.py:Net"})
    found = Measured(Facts(), (), (Unknown("model", "TypeError: len() of a 0-d tensor"),), surroundings(), 1.0)
    said = conclude(request, found)
    assert "The model was not checked: TypeError: len() of a 0-d tensor; call the model" in said.summary
    [unknown] = [u for u in said.unknowns if u.what == "model_check"]
    assert "call the model with one batch" in unknown.why


class Encoder(nn.Module):
    """torch's own encoder, which works on nested tensors in evaluation if a mask hides padding."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 8, padding_idx=0)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        return self.layers(self.table(ids), src_key_padding_mask=mask == 0)[:, 0]


def test_an_encoder_with_a_mask_of_padding_is_checked() -> None:
    """Seen: its nested tensors have no shape, and the model was not checked at all."""
    torch.manual_seed(0)
    ids = padded()["ids"]
    batch, model = {"ids": ids, "mask": (ids != 0).long()}, Encoder()
    verdict = judged(model, batch, None)
    assert told(verdict, model, batch, N)["accepted"]

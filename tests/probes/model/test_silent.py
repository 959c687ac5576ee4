"""What a model takes without complaint and should not be given."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import SCALE
from dataloader_expert.probes.model.ways import functions

N, LONG = 12, 10


class Attends(nn.Module):
    def __init__(self, turns: bool = False, padding: int | None = 0) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 8, padding_idx=padding)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)
        self.head, self.turns = nn.Linear(8, 2), turns

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        return self.head(self.layers(self.table(ids), src_key_padding_mask=~mask if self.turns else mask)[:, 0])


class Sums(nn.Module):
    """``own``: hides padding of 1 itself; ``mean``: over all positions."""

    def __init__(self, padding: int | None, own: bool = False) -> None:
        super().__init__()
        self.table, self.head, self.own = nn.Embedding(50, 8, padding_idx=padding), nn.Linear(8, 2), own

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.table(ids)
        return self.head((x * (ids != 1)[..., None] if self.own else x).sum(1))


class Losses(nn.Module):
    def __init__(self, reduction: str, bare: bool = False) -> None:
        super().__init__()
        self.layer, self.loss, self.bare = nn.Linear(5, 3), nn.CrossEntropyLoss(reduction=reduction), bare

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
        logits = self.layer(x)
        loss = self.loss(logits, labels)
        return loss if self.bare else {"loss": loss, "logits": logits}


class Scores(nn.Module):
    """A number a sample, which the labels do not change."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 1)

    def forward(self, x: torch.Tensor, labels: Any = None) -> Any:
        return self.layer(x).squeeze(1)


def tokens(pad: int, shortest: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    real = torch.arange(LONG) < torch.randint(shortest, LONG, (N, 1), generator=generator)
    return torch.where(real, torch.randint(3, 50, (N, LONG), generator=generator), pad), real


def ask(model: nn.Module, batch: Any) -> Any:
    return judged(model, batch, None, seconds=60, n=N)


@pytest.mark.parametrize("turns", [False, True], ids=["as given", "turned within"])
def test_a_mask_the_wrong_way_round_is_told(turns: bool) -> None:
    """Seen: True for real tokens in torch's key_padding_mask, which hides what is True."""
    ids, real = tokens(0)
    wrong = ~real if turns else real
    model = Attends(turns)
    verdict = ask(model, {"ids": ids, "mask": wrong})
    [misfit] = verdict.misfits
    assert (misfit.code, misfit.field, misfit.cured) == (SCALE, "mask", True)
    _, named = functions(verdict.way.code())[0]({"ids": ids, "mask": wrong})
    assert torch.equal(named["mask"], ~wrong)
    assert not ask(model, {"ids": ids, "mask": ~wrong}).misfits


def test_a_mask_of_samples_of_one_length_is_left() -> None:
    """Our promise: where nothing is padded, a mask that hides nothing is right."""
    ids, real = tokens(0, LONG - 1)
    assert not ask(Attends(), {"ids": ids[:, : LONG - 1], "mask": ~real[:, : LONG - 1]}).misfits


@pytest.mark.parametrize("kind", ["names", "places", "lengths"])
def test_padding_that_counts_as_a_token_is_told(kind: str) -> None:
    """Seen: padded with 1, and a table whose padding_idx is 0."""
    pad, index = (0, 1) if kind == "lengths" else (1, 0)
    ids, real = tokens(pad)
    label = torch.arange(N) % 2
    batch: Any = {"ids": ids, "label": label} if kind != "places" else [ids, label]
    if kind == "lengths":
        most = int(real.sum(1).max())
        batch = {"ids": ids[:, :most], "ids_lengths": real.sum(1), "label": label}
    verdict = ask(Sums(index), batch)
    [misfit] = verdict.misfits
    assert misfit.code == SCALE
    assert f"padded with {pad}" in misfit.says
    given, named = functions(verdict.way.code())[0](batch)
    fed = next(iter([*given, *named.values()]))
    assert set(fed[~real[:, : fed.shape[1]]].tolist()) == {index}
    assert torch.equal(fed[real[:, : fed.shape[1]]], ids[real])


@pytest.mark.parametrize(
    ("model", "pad"),
    [(Sums(0), 0), (Sums(1), 1), (Sums(None), 1), (Sums(0, own=True), 1)],
    ids=["the same", "the same, of 1", "a table without", "hidden by the model itself"],
)
def test_padding_that_does_not_count_is_left(model: nn.Module, pad: int) -> None:
    """Our promise: nothing is said where the table's padding_idx is met, not set, or does not matter."""
    assert not ask(model, {"ids": tokens(pad)[0], "label": torch.arange(N) % 2}).misfits


class OfLoss(Sums):
    """Gives its loss alone."""

    def forward(self, ids: torch.Tensor, label: torch.Tensor) -> Any:  # type: ignore[override]
        return nn.functional.cross_entropy(super().forward(ids), label)


@pytest.mark.parametrize(("index", "told"), [(0, True), (1, False)])
def test_padding_that_counts_in_a_loss_alone_is_told(index: int, told: bool) -> None:
    """Seen: of a model that gives its loss alone nothing was said, since no sample has an output of its own."""
    verdict = ask(OfLoss(index), {"ids": tokens(1)[0], "label": torch.arange(N) % 2})
    assert ["padded with 1" in m.says for m in verdict.misfits] == [True] * told


@pytest.mark.parametrize("bare", [False, True], ids=["beside logits", "alone"])
def test_a_loss_that_is_no_number_is_told(bare: bool) -> None:
    """Seen: reduction="none", which only backward() refuses."""
    batch = {"x": torch.rand(N, 5), "labels": torch.arange(N) % 3}
    verdict = ask(Losses("none", bare), batch)
    assert verdict.accepted
    [misfit] = verdict.misfits
    assert (misfit.code, misfit.field, misfit.runs) == ("shape-mismatch", "the loss", True)
    assert "loss.mean()" in misfit.fix
    assert not ask(Losses("mean", bare), batch).misfits


def test_a_number_a_sample_is_no_loss() -> None:
    """Our promise: predictions do not change with the labels."""
    assert not ask(Scores(), {"x": torch.rand(N, 5), "labels": torch.rand(N)}).misfits


class Shares(nn.Module):
    """Words as shares of those that occur."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(LONG, 2)

    def forward(self, words: torch.Tensor) -> Any:
        return self.layer(words / words.sum(1, keepdim=True))


def test_words_that_occur_are_no_mask() -> None:
    """Seen: NaN of a text without words was said to come from a mask the wrong way round, and the cure turned all words into those that do
    not occur."""
    words = torch.randint(0, 2, (N, LONG)).float()
    words[0] = 0
    verdict = judged(Shares(), {"words": words}, None, n=N)
    assert [(m.field, m.cured) for m in verdict.misfits] == [("words", False)]

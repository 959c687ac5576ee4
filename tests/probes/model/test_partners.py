"""A cure that reorders, resizes or cuts one field takes along what belongs to it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from dataloader_expert.probes.model.misfits import judged
from tests.probes.model.test_which_part import ran_as

N = 8


class Packs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)

    def forward(self, strokes: torch.Tensor, lengths: torch.Tensor) -> Any:
        return self.head(self.layer(pack_padded_sequence(strokes, lengths, batch_first=True))[1][0])


def test_samples_that_are_sorted_keep_their_labels() -> None:
    """Seen: a label under a name of its own stayed in the order of before, and belonged to other samples."""
    lengths = torch.tensor([3, 5, 2, 6, 4, 1, 6, 5])
    batch = {"strokes": torch.randn(N, 6, 3), "lengths": lengths, "letter": torch.arange(N)}
    (_, given), letters = ran_as(Packs(), judged(Packs(), batch, None), batch)
    assert torch.equal(lengths[letters], given)
    verdict = judged(Packs(), {**batch, "label": torch.arange(N) % 5}, "label")
    assert [(m.field, m.runs) for m in verdict.misfits if m.runs] == [("letter", True)]


class Halves(nn.Module):
    """Sides that are multiples of 8."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 4, 8, 8), nn.ConvTranspose2d(4, 2, 8, 8)

    def forward(self, image: torch.Tensor) -> Any:
        return self.up(self.down(image)) + image[:, :2]


def test_masks_are_resized_with_their_images() -> None:
    """Seen: the masks kept the size of before, so that no loss could be computed; classes are not blended."""
    mask = torch.randint(0, 2, (N, 20, 28))
    batch = {"image": torch.rand(N, 3, 20, 28), "vessels": mask, "id": torch.arange(N)}
    (image,), made = ran_as(Halves(), judged(Halves(), batch, None), batch)
    assert image.shape[2:] == made.shape[1:] == (24, 32) and made.dtype == torch.int64
    assert set(made.unique().tolist()) == {0, 1}


class Fits(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, mel: torch.Tensor, text: torch.Tensor, text_len: torch.Tensor) -> Any:
        return (self.layer(mel)[..., 0].mean(1) - text.float().mean(1)).abs().mean() * text_len.float().mean()


def test_an_input_of_the_models_own_loss_is_no_target() -> None:
    """Seen: lengths that the loss inside takes were given as the target."""
    batch = {"mel": torch.randn(N, 4, 9), "text": torch.randint(1, 9, (N, 5)), "text_len": torch.arange(N) + 1}
    verdict = judged(Fits(), batch, "text_len", guessed=True)
    assert ran_as(Fits(), verdict, batch)[1] is None

"""Padding that counts: a mask the wrong way round without NaN, a token taken for padding, labels padded with a class."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import SCALE
from dataloader_expert.probes.model.ways import functions

N, LONG = 8, 12
LENGTHS = torch.tensor([12, 4, 7, 9, 5, 8, 6, 10])
REAL = torch.arange(LONG) < LENGTHS[:, None]
IDS = torch.where(REAL, torch.arange(N * LONG).view(N, LONG) % 29 + 1, 0)
BASES = torch.where(REAL, torch.arange(N * LONG).view(N, LONG) % 4, 0)
TAGS = torch.arange(N * LONG).view(N, LONG) % 5


class Pools(nn.Module):
    """``keeps``: where the mask is true; else it leaves that out."""

    def __init__(self, keeps: bool, soft: bool = True) -> None:
        super().__init__()
        self.table, self.score, self.head = nn.Embedding(30, 8), nn.Linear(8, 1), nn.Linear(8, 3)
        self.keeps, self.soft = keeps, soft

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        x, kept = self.table(ids), mask.bool() if self.keeps else ~mask.bool()
        if self.soft:
            weights = self.score(x).squeeze(-1).masked_fill(~kept, -1e4).softmax(1)
            return self.head((weights[..., None] * x).sum(1))
        return self.head((x * kept[..., None]).sum(1) / kept.sum(1, keepdim=True).clamp(min=1))


class Reads(nn.Module):
    def __init__(self, rows: int, padding: int | None = 0) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(rows, 8, padding_idx=padding), nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.head(self.table(ids).amax(1))


class Tags(nn.Module):
    """``own``: leaves padding out of the loss by its mask."""

    def __init__(self, own: bool = False) -> None:
        super().__init__()
        self.table, self.head, self.own = nn.Embedding(30, 8), nn.Linear(8, 5), own

    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor, labels: Any = None) -> Any:
        out = self.head(self.table(ids))
        if labels is None:
            return {"logits": out}
        if self.own:
            labels = labels.masked_fill(attention_mask == 0, -100)
        return {"loss": F.cross_entropy(out.transpose(1, 2), labels), "logits": out}


class TagsIds(Tags):
    """Takes no mask: where padding is, its ids alone tell."""

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> Any:  # type: ignore[override]  # without a mask
        labels = labels.masked_fill(ids == 0, -100) if self.own else labels
        return F.cross_entropy(self.head(self.table(ids)).transpose(1, 2), labels)


def of_ids(pad: int) -> dict[str, torch.Tensor]:
    return {"ids": IDS, "labels": torch.where(REAL, TAGS, pad)}


def tagged(pad: int) -> dict[str, torch.Tensor]:
    return {"ids": IDS, "attention_mask": REAL.long(), "labels": torch.where(REAL, TAGS, pad)}


WRONG = {
    "a mask of padding, kept": (Pools(True), {"ids": IDS, "mask": ~REAL}, "~batch['mask']"),
    "a mask of what is real, left out": (
        Pools(False, soft=False),
        {"ids": IDS, "mask": REAL.long()},
        "(1 - batch['mask'])",
    ),
    "labels padded with a class": (Tags(), tagged(0), "-100"),
    "labels padded with a class where ids end": (TagsIds(), of_ids(0), "-100"),
    "a token that is the padding": (Reads(4), (BASES, torch.arange(N) % 3), ""),
}
SOUND = {
    "a mask of what is real, kept": (Pools(True), {"ids": IDS, "mask": REAL}),
    "a mask of padding, left out": (Pools(False), {"ids": IDS, "mask": ~REAL}),
    "some tokens hidden to be predicted": (
        Pools(False),
        {"ids": torch.where(TAGS == 1, 29, IDS + 0), "mask": TAGS == 1},
    ),
    "labels padded with what the loss leaves out": (Tags(), tagged(-100)),
    "a loss that leaves padding out by itself": (Tags(own=True), tagged(0)),
    "ids that tell the loss what is padding": (TagsIds(own=True), of_ids(0)),
    "labels padded with what the loss leaves out, without a mask": (TagsIds(), of_ids(-100)),
    "padding of its own": (Reads(30), (IDS, torch.arange(N) % 3)),
    "a table without padding": (Reads(4, None), (BASES, torch.arange(N) % 3)),
    "columns of categories, 0 where one is missing": (Reads(5), (TAGS, torch.arange(N) % 3)),
}


@pytest.mark.parametrize("kind", WRONG)
def test_padding_that_counts_is_told_with_a_cure_that_ran(kind: str) -> None:
    """Seen: accepted without a word, though the model learns from the padding."""
    model, batch, cure = WRONG[kind]
    verdict = judged(model, batch, None)
    assert [m.code for m in verdict.misfits] == [SCALE] and verdict.way is not None
    adapt, _ = functions(verdict.way.code())
    assert cure in verdict.way.code()
    given, named = adapt(batch)
    model(*given, **named)


@pytest.mark.parametrize("kind", SOUND)
def test_sound_masks_and_padding_are_left_alone(kind: str) -> None:
    """Our promise: what masks and padding usually are is no finding."""
    model, batch = SOUND[kind]
    assert judged(model, batch, None).misfits == ()


def test_unknown_ids_are_not_sent_to_the_padding() -> None:
    """Seen: ids beyond a table became those of the padding, which was then told of the user's data."""
    verdict = judged(Reads(20), {"ids": IDS}, None)
    assert [m.code for m in verdict.misfits] == ["out-of-range-ids"] and verdict.way is not None
    given = functions(verdict.way.code())[0]({"ids": IDS})
    assert "0)" not in verdict.way.mends["ids"][0] and given is not None

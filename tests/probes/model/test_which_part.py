"""What an error names is one of several things: which of them it is, is found by what the model does, and not by the first that fits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dataloader_expert.probes.model.expected import expects
from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import functions

N = 12


def ran_as(model: nn.Module, verdict: Verdict, batch: Any) -> tuple[list[Any], Any]:
    """What the cure feeds and what it gives as the target; the model takes it."""
    assert verdict.way is not None, verdict.error
    adapt, target = functions(verdict.way.code())
    given, named = adapt(batch)
    model(*given, **named)
    return [*given, *named.values()], target(batch)


class TimeFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.LSTM(4, 8), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.cross_entropy(self.head(self.layer(x)[0][-1]), y)


@pytest.mark.parametrize("steps", [20, N])
def test_the_length_of_a_sequence_is_no_batch_size(steps: int) -> None:
    """Seen: of [B, 50, 4] for layers that take time first, batches of 50 were advised, which train on mixed samples."""
    batch = torch.randn(N, steps, 4), torch.arange(N) % 3
    verdict = judged(TimeFirst(), batch, None)
    assert verdict.only is None and [m.code for m in verdict.misfits] == ["layout-mismatch"]
    (x, _), _ = ran_as(TimeFirst(), verdict, batch)
    assert torch.equal(x, batch[0].transpose(0, 1))


class Attends(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.parts, self.head = nn.Embedding(30, 8), nn.Linear(8, 24), nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        b, t = ids.shape
        q, k, v = self.parts(self.table(ids)).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return self.head(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).mean((1, 2)).repeat(1, 2))


def test_a_mask_of_tokens_is_given_to_all_heads() -> None:
    """Seen: the number of tokens was taken for the one batch size."""
    batch = {"ids": torch.randint(1, 30, (N, 9)), "mask": torch.rand(N, 9) > 0.2}
    verdict = judged(Attends(), batch, None)
    assert verdict.only is None and verdict.misfits[0].field == "mask"
    assert torch.equal(ran_as(Attends(), verdict, batch)[0][1], batch["mask"][:, None, None])


class Rates(nn.Module):
    """Two tables, of which the first is the smaller."""

    def __init__(self) -> None:
        super().__init__()
        self.users, self.games, self.head = nn.Embedding(20, 4), nn.Embedding(50, 4), nn.Linear(8, 1)

    def forward(self, user: torch.Tensor, game: torch.Tensor) -> Any:
        return self.head(torch.cat([self.users(user), self.games(game)], 1)).squeeze(1)


def test_ids_are_held_against_the_table_that_looks_them_up() -> None:
    """Seen: games beyond a table of 1,200 were cut to the 500 of the users', so that sound ones were lost."""
    batch = {"user": torch.arange(N), "game": torch.arange(N) + 30, "rating": torch.rand(N)}
    batch["game"][3] = 51
    verdict = judged(Rates(), batch, "rating")
    (misfit,) = verdict.misfits
    assert (misfit.field, misfit.code) == ("game", "out-of-range-ids") and "knows 0 to 49" in misfit.says
    games = ran_as(Rates(), verdict, batch)[0][1]
    assert games[3] == 0 and torch.equal(games[4:], batch["game"][4:])
    said = "user: int64 [B, …] below 20 (Embedding); game: int64 [B, …] below 50 (Embedding)"
    assert expects(Rates(), verdict.way, batch) == said


class Denoises(nn.Module):
    """The layer that it registers first gets no input."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.first = nn.Linear(6, 4), nn.Conv2d(1, 4, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.first(0.5 * x) + self.time(torch.ones(len(x), 6))[..., None, None]


def test_what_is_expected_is_of_the_layer_that_gets_the_input() -> None:
    """Seen: of pictures, the features of a table of times were expected."""
    x = torch.randn(N, 1, 8, 8)
    assert expects(Denoises(), judged(Denoises(), x, None).way, x) == "float [B, 1, *, *] (Conv2d)"


class Words(nn.Module):
    def __init__(self, rows: int = 600) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(rows, 6), nn.Linear(6, 3)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.head(self.table(ids).mean(1))


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32])
def test_tokens_as_unsigned_integers_are_made_int64(dtype: torch.dtype) -> None:
    """Seen: of dtypes that torch does not compare nothing was told at all."""
    ids = torch.randint(0, 600, (N, 7)).to(dtype)
    verdict = judged(Words(), ids, None)
    assert [m.code for m in verdict.misfits] == ["dtype-mismatch"]
    assert ran_as(Words(), verdict, ids)[0][0].dtype == torch.int64
    verdict = judged(nn.Linear(5, 3), (torch.randn(N, 5), (torch.arange(N) % 3).to(dtype)), None)
    assert [m.code for m in verdict.misfits] == ["dtype-mismatch"]

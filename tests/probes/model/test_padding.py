"""A mask that a model takes and a padded batch lacks is told where padding changes the output, and only there."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import functions

N, LONGEST, DIM = 12, 20, 8


def batch(padded: bool = True, lengths: bool = True, **more: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    n = torch.randint(2, LONGEST, (N,)) if padded else torch.full((N,), LONGEST)
    n[3] = LONGEST
    ids = torch.randint(1, 50, (N, LONGEST)) * (torch.arange(LONGEST) < n[:, None])
    return {"ids": ids, **({"ids_lengths": n} if lengths else {}), "label": torch.randint(0, 3, (N,)), **more}


class Attends(nn.Module):
    """Attends to all positions that the mask leaves, and takes the mean of these."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table, self.head = nn.Embedding(50, DIM), nn.Linear(DIM, 3)
        self.attention = nn.MultiheadAttention(DIM, 2, batch_first=True)

    def attend(self, ids: torch.Tensor, real: torch.Tensor | None) -> Any:
        x = self.table(ids)
        x = x + self.attention(x, x, x, key_padding_mask=None if real is None else ~real)[0]
        weights = torch.ones_like(ids, dtype=x.dtype) if real is None else real.to(x.dtype)
        return self.pooled(x, weights)

    def pooled(self, x: torch.Tensor, weights: torch.Tensor) -> Any:
        return self.head((x * weights[..., None]).sum(1) / weights.sum(1, keepdim=True))


class OfAttention(Attends):
    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> Any:
        return self.attend(ids, None if attention_mask is None else attention_mask == 1)


class OfKeys(Attends):
    def forward(self, ids: torch.Tensor, src_key_padding_mask: torch.Tensor | None = None) -> Any:
        return self.attend(ids, None if src_key_padding_mask is None else ~src_key_padding_mask)


class OfMask(Attends):
    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> Any:
        return self.attend(ids, None if mask is None else mask)


class OfMaskedOut(Attends):
    """``mask`` is True where there is padding."""

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> Any:
        return self.attend(ids, None if mask is None else ~mask)


class OfLengths(Attends):
    def forward(self, ids: torch.Tensor, lengths: torch.Tensor | None = None) -> Any:
        real = None if lengths is None else torch.arange(ids.shape[1]) < lengths[:, None]
        return self.attend(ids, real)


class ByToken(OfAttention):
    def pooled(self, x: torch.Tensor, weights: torch.Tensor) -> Any:
        return self.head(x)


class AveragesAll(OfAttention):
    """As many do: padding is masked from attention, and counts in the mean."""

    def pooled(self, x: torch.Tensor, weights: torch.Tensor) -> Any:
        return self.head(x.mean(1))


class KnowsPadding(OfAttention):
    """Makes its mask itself where it is given none."""

    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> Any:
        return self.attend(ids, ids != 0 if attention_mask is None else attention_mask == 1)


class Causal(nn.Module):
    """No token sees those after it, so padding at the end changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, DIM), nn.Linear(DIM, 50)
        self.layer = nn.GRU(DIM, DIM, batch_first=True)

    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> Any:
        return self.head(self.layer(self.table(ids))[0])


class HidesTokens(Attends):
    """``mask`` says which tokens are to be guessed, as for pretraining."""

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> Any:
        return self.attend(ids if mask is None else torch.where(mask.bool(), 7, ids), None)


class OfHeads(Attends):
    def forward(self, ids: torch.Tensor, head_mask: torch.Tensor | None = None) -> Any:
        return self.attend(ids, None)


class Needs(OfAttention):
    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:  # type: ignore[override]  # torch names no arguments
        return super().forward(ids, attention_mask)


def ask(model: nn.Module, given: dict[str, Any]) -> Verdict:
    return judged(model, given, "label", seconds=60, n=N)


@pytest.mark.parametrize("kind", [OfAttention, OfKeys, OfMask, OfMaskedOut, OfLengths, ByToken])
def test_the_mask_is_made_from_the_lengths(kind: type[nn.Module]) -> None:
    """Our promise: with the code handed over, a padded sample gives what it gives alone."""
    model, given = kind(), batch()
    verdict = ask(model, given)
    assert verdict.accepted
    [misfit] = [m for m in verdict.misfits if m.runs]
    assert misfit.code == "key-missing" and "of ids is padding" in misfit.says and "even with it" not in misfit.says
    assert verdict.way is not None
    arguments, named = functions(verdict.way.code())[0](given)
    out, row = model(*arguments, **named), int(given["ids_lengths"].argmin())
    n = int(given["ids_lengths"][row])
    alone = model(given["ids"][row : row + 1, :n])[0]
    torch.testing.assert_close(out[row][:n] if out.ndim == 3 else out[row], alone, rtol=1e-3, atol=1e-4)


def test_padding_that_counts_in_a_mean_is_told_too() -> None:
    [misfit] = [m for m in ask(AveragesAll(), batch()).misfits if m.runs]
    assert "even with it padding counts" in misfit.says


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (KnowsPadding, batch()),
        (Causal, batch()),
        (HidesTokens, batch()),
        (OfHeads, batch()),
        (OfAttention, batch(padded=False)),
        (OfAttention, batch(lengths=False)),
        (OfAttention, batch(attention_mask=(batch()["ids"] != 0).long())),
        (OfKeys, batch(src_key_padding_mask=batch()["ids"] == 0)),
    ],
    ids=[
        "a mask of its own",
        "causal",
        "a mask of something else",
        "a mask of heads",
        "nothing padded",
        "lengths unknown",
        "given",
        "the padding given",
    ],
)
def test_nothing_is_said_where_no_mask_is_lacking(kind: type[nn.Module], given: dict[str, Any]) -> None:
    verdict = ask(kind(), given)
    assert verdict.accepted and not [m for m in verdict.misfits if m.runs]


def test_a_mask_that_is_needed_hides_the_padding() -> None:
    """Our promise: what follows from the shape alone would let the model attend to padding."""
    verdict, given = ask(Needs(), batch()), batch()
    assert verdict.way is not None
    mask = functions(verdict.way.code())[0](given)[1]["attention_mask"]
    assert torch.equal(mask.sum(1), given["ids_lengths"])


class AgainstTheBatch(OfAttention):
    """Each sample against the mean of the batch, as losses over pairs and layers of batch statistics have it; padding is a zero."""

    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> Any:
        x = (self.table(ids) * (ids > 0)[..., None]).sum(1)
        x = x - x.mean(0) if len(x) > 1 else x
        return self.head(x if attention_mask is None else x / attention_mask.sum(1, keepdim=True))


def test_what_the_other_samples_change_is_not_laid_on_padding() -> None:
    """Our promise: where a sample alone, padded as it is, gives something else than in its batch, nothing is said of padding."""
    verdict = judged(AgainstTheBatch(), batch(), None)
    assert verdict.accepted and verdict.misfits == ()


class NeedsMask(nn.Module):
    def __init__(self, padding_idx: int | None) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, 8, padding_idx=padding_idx), nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        m = attention_mask[..., None].float()
        return self.head((self.table(ids) * m).sum(1) / m.sum(1))


@pytest.mark.parametrize("padding_idx", [0, None], ids=["known to the table", "seen at the ends"])
def test_a_mask_that_is_made_up_leaves_the_padding_out(padding_idx: int | None) -> None:
    """Seen: a mask of ones for ids that are padded with 0."""
    ids = torch.randint(1, 50, (8, 11)) * (torch.arange(11) < torch.tensor([4, 11, 7, 5, 9, 6, 8, 3])[:, None])
    verdict = judged(NeedsMask(padding_idx), {"input_ids": ids, "labels": torch.arange(8) % 3}, "labels")
    assert verdict.way is not None
    mask = functions(verdict.way.code())[0]({"input_ids": ids})[1]["attention_mask"]
    assert torch.equal(mask, (ids != 0).long())
    assert "it follows from the padding, whose id is 0" in verdict.misfits[-1].says

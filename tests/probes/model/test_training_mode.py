"""Models that take a batch in evaluation mode, of one size only, or never: what is theirs, and what is the batch's."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import functions

FRESH = int.from_bytes(os.urandom(4), "big")
N = 6


class Finds(nn.Module):
    """As torchvision's detectors: of classes from 1, a target only to train."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(3, classes)

    def forward(self, images: Any, targets: Any = None) -> Any:
        scores = self.layer(torch.stack([x.mean((1, 2)) for x in images]))
        if not self.training:
            return [{"scores": s} for s in scores]
        if targets is None:
            raise ValueError("targets should not be none when in training mode")
        return {"loss": nn.functional.cross_entropy(scores, torch.stack([t["labels"].max() for t in targets]))}


def found(classes: int, targets: bool = True) -> Verdict:
    drawn = torch.Generator().manual_seed(FRESH)
    labels = torch.arange(1, N + 1)
    images = tuple(torch.rand(3, 8, 8, generator=drawn) for _ in range(N))
    batch = (
        (images, tuple({"labels": labels[i : i + 1]} for i in range(N))) if targets else {"image": torch.stack(images)}
    )
    return judged(Finds(classes), batch, None, n=N)


def test_a_model_is_called_as_it_is_in_training() -> None:
    """Our promise: a way that runs in both modes is taken, as the one with targets."""
    verdict = found(N + 1)
    assert verdict.accepted
    assert verdict.misfits == ()
    assert verdict.way is not None
    assert [e for _, e in verdict.way.arguments] == ["batch[0]", "batch[1]"]


def test_labels_that_only_training_refuses_are_told() -> None:
    verdict = found(N)
    assert not verdict.accepted
    assert [(m.code, m.cured) for m in verdict.misfits] == [("label-out-of-range", False)]
    assert f"Target {N} is out of bounds" in verdict.misfits[0].says


def test_targets_that_only_training_needs_are_told() -> None:
    verdict = found(N + 1, targets=False)
    assert not verdict.accepted
    assert [m.code for m in verdict.misfits] == ["model-raises"]
    assert "targets should not be none" in verdict.misfits[0].says


class Pairs(nn.Linear):
    """Of neighbouring samples, as a contrastive loss takes them; with a penalty on gradients in training."""

    def forward(self, x: torch.Tensor) -> Any:
        out = super().forward(x)
        if self.training:
            x = x.requires_grad_()
            torch.autograd.grad(super().forward(x).sum(), x)
            out.view(-1, 2, 3)
        return out


def test_what_training_needs_of_a_batch_is_there() -> None:
    """Our promise: gradients, and a whole batch for a model that takes no few of its samples."""
    assert judged(Pairs(4, 3), (torch.rand(16, 4), torch.arange(16) % 3), None).accepted


class Norm(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 3))


@pytest.mark.parametrize("n", [1, 2, N])
def test_a_sound_model_is_not_blamed_in_training_mode(n: int) -> None:
    """A batch of one, which batch normalisation refuses, is told elsewhere; the model is left in evaluation mode."""
    model = Norm()
    verdict = judged(model, (torch.rand(n, 4), torch.arange(n) % 3), None)
    assert (verdict.accepted, verdict.misfits, model.training) == (True, (), False)


class OfOneSize(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.GRU(4, 5, batch_first=True), nn.Linear(5, 3)
        self.register_buffer("state", torch.zeros(1, N, 5))

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.layer(x, self.state)[1][0])


def test_the_one_size_that_a_model_takes_is_told() -> None:
    verdict = judged(OfOneSize(), (torch.rand(N, 7, 4), torch.arange(N) % 3), None)
    assert (verdict.accepted, verdict.only) == (True, N)
    assert judged(Norm(), (torch.rand(N, 4), torch.arange(N) % 3), None).only is None


class Own(nn.Module):
    """``features``: that the second layer takes of the first's 9."""

    def __init__(self, features: int, device: str = "cpu") -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 9), nn.Linear(features, 3, device=device)

    def forward(self, x: torch.Tensor) -> Any:
        return self.second(self.first(x).mean(1))


@pytest.mark.parametrize(
    ("model", "code", "says"),
    [
        (Own(9, "meta"), "model-raises", "its second.weight has no values: it is on the meta device"),
        (Own(11), "shape-mismatch", "second takes 11 features, and first gives 9"),
    ],
)
def test_a_fault_of_the_models_own_is_no_misfit_of_the_batch(model: nn.Module, code: str, says: str) -> None:
    """Our promise: the layer is named, and no field is."""
    [misfit] = judged(model, (torch.rand(N, 7, 4), torch.arange(N) % 3), None).misfits
    assert (misfit.code, misfit.field, misfit.cured) == (code, "the model", False)
    assert says in misfit.says


class Sees(nn.Module):
    """Of so many channels, and at most of one size."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.layer, self.head = nn.Conv2d(channels, 4, 3), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.layer(x).mean((2, 3)))


def test_stored_pictures_are_made_floats_as_the_result_says() -> None:
    """What else differs is told, and not their dtype; without the word that they are pictures it is one."""
    stored = torch.randint(0, 256, (N, 3, 16, 16)).byte()
    batch = {"x": stored, "label": torch.arange(N) % 2}
    known = {"x": "image"}
    fine = judged(Sees(), batch, "label", stored=known)
    assert (fine.accepted, fine.misfits) == (True, ())
    assert fine.way is not None
    [x] = functions(fine.way.code())[0](batch)[0] or functions(fine.way.code())[0](batch)[1].values()
    assert float(x.max()) <= 1.0
    grey = judged(Sees(), {**batch, "x": stored[:, :1]}, "label", stored=known)
    assert [m.code for m in grey.misfits] == ["channels-mismatch"]
    assert "1 channel where" in grey.misfits[0].says
    assert "byte" not in str(grey.error).lower()
    assert [m.code for m in judged(Sees(), batch, "label").misfits] == ["dtype-mismatch"]


class Spectra(nn.Module):
    def __init__(self, parts: bool) -> None:
        super().__init__()
        self.parts, self.layer = parts, nn.Conv1d(2, 4, 3) if parts else nn.Linear(12, 3)
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.layer(x).mean(2)) if self.parts else self.layer(x)


@pytest.mark.parametrize(("parts", "cure"), [(False, ".abs()"), (True, "view_as_real")])
def test_complex_numbers_are_made_what_the_output_shows_to_fit(parts: bool, cure: str) -> None:
    """Magnitudes, where the output has the target's shape with them; real and imaginary parts where the model takes two channels."""
    verdict = judged(Spectra(parts), (torch.randn(N, 12, dtype=torch.complex64), torch.arange(N) % 3), None)
    assert verdict.way is not None
    assert cure in verdict.way.code()
    assert [m.code for m in verdict.misfits] == ["dtype-mismatch"]


class MakesItsLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, N)

    def forward(self, features: torch.Tensor, labels: Any = None) -> Any:
        out = self.layer(features)
        return out if labels is None else (nn.functional.cross_entropy(out, labels), out)


def test_the_target_is_mended_as_the_argument_is() -> None:
    """Our promise: ``adapt`` and ``target`` give the same labels."""
    batch = {"features": torch.rand(N, 4), "labels": torch.arange(1, N + 1)}
    verdict = judged(MakesItsLoss(), batch, "labels")
    assert verdict.way is not None
    adapt, target = functions(verdict.way.code())
    assert torch.equal(adapt(batch)[1]["labels"], torch.arange(N))
    assert torch.equal(target(batch), torch.arange(N))

"""What a model refuses by numbers: sizes that it names, ids below zero, values and classes of a loss, layers deep within."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import functions

N = 8


class Sized(nn.Module):
    """Pictures of one size, which an attribute or an assertion tells."""

    def __init__(self, says: bool) -> None:
        super().__init__()
        self.layer, self.says = nn.Conv2d(3, 2, 3), says
        if not says:
            self.img_size = 56

    def forward(self, x: torch.Tensor) -> Any:
        assert x.shape[-1] == 56, f"height of {x.shape[-1]}, not 56" if self.says else None
        return self.layer(x).mean((2, 3))


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x)


class Categories(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(5, 4), nn.Embedding(9, 4)])
        self.head = nn.Linear(4 + 2, 1)

    def forward(self, x_num: torch.Tensor, x_cat: torch.Tensor) -> Any:
        e = self.tables[0](x_cat[:, 0]) + self.tables[1](x_cat[:, 1])
        return self.head(torch.cat([x_num, e], 1)).squeeze(1)


class Attends(nn.Module):
    """A picture, and a context that a layer deep within takes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.k = nn.Linear(10, 4), nn.Linear(6, 4)

    def forward(self, sample: torch.Tensor, context: torch.Tensor) -> Any:
        return self.first(sample) + self.k(context).mean(1)


class Spectra(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(1, 2, 3, padding=1), nn.MaxPool1d(4), nn.Flatten(), nn.Linear(2 * 10, 3))

    def forward(self, spectrum: torch.Tensor) -> Any:
        return self.layers(spectrum[:, None])


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(12, 12)

    def forward(self, x: torch.Tensor) -> Any:
        out = self.layer(x).sigmoid()
        return out, functional.binary_cross_entropy(out, x)


class Binary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        out = self.layer(x)
        return functional.binary_cross_entropy_with_logits(out, y), out


class Stateful(nn.Module):
    """A recurrent layer whose first state is of 16 samples."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(4, 6, batch_first=True)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x, torch.zeros(1, 16, 6))[0][:, -1]


def cured(model: nn.Module, batch: Any) -> Verdict:
    """The verdict, whose cure runs in plain torch."""
    verdict = judged(model, batch, None)
    assert not verdict.accepted and verdict.way is not None
    given, named = functions(verdict.way.code())[0](batch)
    model(*given, **named)
    return verdict


def test_the_size_that_a_model_names_is_the_first_one_tried() -> None:
    """Our promise: what an assertion or an attribute says of height and width comes before usual sizes."""
    for says in (True, False):
        (misfit,) = cured(Sized(says), (torch.rand(N, 3, 40, 40), torch.arange(N) % 2)).misfits
        assert misfit.says == "height and width 40 x 40 where the model takes 56 x 56"


def test_features_are_not_cut_to_the_number_that_an_error_names() -> None:
    """Our promise: ten features for a layer of six are another table, and none of them is left out silently."""
    verdict = judged(Wide(), (torch.rand(N, 10), torch.arange(N) % 3), None)
    assert verdict.way is None and "10 features where the model takes 6" in verdict.misfits[0].says


def test_ids_below_zero_are_told_by_field_and_column() -> None:
    """Seen: -1 in a column of categories was an IndexError without a name."""
    x_cat = torch.stack([torch.arange(N) % 5, torch.arange(N) % 9], 1)
    x_cat[3, 1] = -1
    verdict = cured(Categories(), {"x_num": torch.randn(N, 2), "x_cat": x_cat, "y": torch.randn(N)})
    (misfit,) = verdict.misfits
    assert (misfit.code, misfit.field) == (
        "out-of-range-ids",
        "x_cat",
    ) and "ids from -1 to 7 in column 1" in misfit.says


def test_a_refused_layer_is_told_of_the_field_that_reached_it() -> None:
    """Seen: the features of a context were said to be those of the first field."""
    batch = {"sample": torch.randn(N, 10), "context": torch.randn(N, 3, 7)}
    (misfit,) = judged(Attends(), batch, None).misfits
    assert misfit.field == "context" and "7 features where the model takes 6" in misfit.says
    (misfit,) = judged(Spectra(), {"spectrum": torch.randn(N, 32), "label": torch.arange(N) % 3}, None).misfits
    assert misfit.field == "spectrum" and "shape [B, 32], from which the model makes 16 features" in misfit.says
    assert "it runs with 40 instead of 32" in misfit.says


def test_values_of_bytes_where_a_loss_takes_zero_to_one_are_scaled() -> None:
    """Our promise: a reconstruction of pictures from 0 to 255 is refused, and runs with / 255."""
    x = torch.randint(0, 256, (N, 12)).float()
    x[0] = torch.linspace(0, 255, 12)
    (misfit,) = cured(Autoencoder(), (x, torch.arange(N) % 3)).misfits
    assert misfit.code == "value-range-mismatch" and "0 to 255" in misfit.says
    verdict = judged(Autoencoder(), (torch.randn(N, 12), torch.arange(N) % 3), None)
    assert verdict.way is None  # standardised values are no bytes


def test_class_numbers_for_binary_cross_entropy_become_rows_of_0_and_1() -> None:
    """Our promise: the sizes that the loss names tell how many classes there are."""
    verdict = cured(Binary(), (torch.randn(N, 5), torch.arange(N) % 3))
    assert verdict.way is not None and "one_hot(batch[1].long(), 3).float()" in verdict.way.code()


def test_a_model_of_one_batch_size_names_it() -> None:
    """Seen: the size was compared with that of an excerpt of the batch, which nobody had fed."""
    verdict = judged(Stateful(), (torch.randn(12, 5, 4), torch.arange(12) % 6), None)
    assert verdict.only == 16 and [m.fix for m in verdict.misfits] == ["batch_size=16, drop_last=True"]
    assert verdict.misfits[0].says == "12 samples, where the model only takes 16 at once"


class Generates(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ConvTranspose2d(10, 2, 4)

    def forward(self, z: torch.Tensor) -> Any:
        return self.layer(z)


class Bias(nn.Module):
    """A mask of whole numbers, with which it calculates."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Embedding(9, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        return (self.layer(ids) * (1 - mask)[..., None]).mean(1)


def test_noise_for_a_generator_gets_two_dimensions_of_one() -> None:
    """Seen: three misfits, one of them of channels that there are none of."""
    (misfit,) = cured(Generates(), {"z": torch.randn(N, 10)}).misfits
    assert misfit.says == "shape [B, 10] where the model takes [B, 10, 1, 1]"


def test_a_mask_is_not_said_to_be_looked_up() -> None:
    """Our promise: a mask of bool is a mask, whatever the model's first layer is."""
    batch = {"ids": torch.randint(0, 9, (N, 5)), "mask": torch.rand(N, 5) > 0.5}
    (misfit,) = cured(Bias(), batch).misfits
    assert misfit.field == "mask" and "calculates with numbers" in misfit.says

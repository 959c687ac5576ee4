"""A table's columns for a model of one input: how many there are and how many it takes, and no second target among them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from dataloader_expert.probes.model.misfits import judged
from dataloader_expert.probes.model.verdict import Verdict
from dataloader_expert.probes.model.ways import like_target

N = 32


def net(features: int, *first: nn.Module) -> nn.Module:
    return nn.Sequential(*first, nn.Linear(features, 8), nn.ReLU(), nn.Linear(8, 5))


def table(*more: str, features: int = 10) -> dict[str, Any]:
    fields = {f"f{i}": torch.randn(N, dtype=torch.float64) for i in range(features)}
    fields |= {name: torch.randn(N) for name in more}
    return {**fields, "city": ["rome"] * N, "cls": torch.randint(0, 5, (N,))}


def ask(model: nn.Module, batch: dict[str, Any], chosen: bool = False) -> Verdict:
    return judged(model, batch, "cls", seconds=60, n=N, chosen=chosen)


@pytest.mark.parametrize("takes", [1, 3, 5, 7, 9, 20])
@pytest.mark.parametrize("first", ["linear", "normalised"])
def test_the_numbers_of_columns_are_said(takes: int, first: str) -> None:
    """Our promise: neither one column alone nor the size of the batch passes for the features."""
    model = net(takes, *([nn.BatchNorm1d(takes)] if first == "normalised" else []))
    verdict = ask(model, table())
    assert verdict.way is None
    [misfit] = verdict.misfits
    assert (misfit.code, misfit.field, misfit.cured) == ("shape-mismatch", "columns", False)
    assert misfit.says.startswith("the batch has 10 numeric columns besides the label (f0, f1,")
    assert f"the model takes {takes}" in misfit.says
    assert ("choose the" in misfit.says) == (takes <= 10)


def test_a_second_target_is_never_stacked_silently() -> None:
    """Our promise: what is named like a target is left out and named, whether or not the model has room for it."""
    verdict = ask(net(10), table("target"))
    assert verdict.way is not None and "target" not in verdict.way.columns
    assert "target is left out, being named like a target" in verdict.misfits[0].says
    [misfit] = ask(net(11), table("target")).misfits
    assert "10 numeric columns besides the label" in misfit.says
    assert "and target, named like a target; the model takes 11" in misfit.says


@pytest.mark.parametrize("takes", [10, 11])
def test_a_key_is_left_out_where_the_model_has_no_room_for_it(takes: int) -> None:
    """Seen: the eight to choose of nine columns, one of which numbers the rows, were left to the user."""
    batch = table()
    batch = {"id": torch.arange(5000, 5000 + N), **batch}
    verdict = ask(net(takes), batch)
    assert verdict.way is not None
    assert ("id" in verdict.way.columns) == (takes == 11)
    assert ("id is left out" in verdict.misfits[0].says) == (takes == 10)


def test_columns_that_the_user_names_are_all_fed() -> None:
    verdict = ask(net(11), table("target"), chosen=True)
    assert verdict.way is not None and "target" in verdict.way.columns
    [misfit] = ask(net(10), table("target"), chosen=True).misfits
    assert "11 numeric columns" in misfit.says


@pytest.mark.parametrize("name", ["target", "y", "Label", "y_true", "price_target", "labels"])
def test_these_names_are_like_a_target(name: str) -> None:
    assert like_target(name)


@pytest.mark.parametrize("name", ["f0", "years", "yield", "labelled_by", "x", "category", "targeted"])
def test_these_names_are_not(name: str) -> None:
    assert not like_target(name)

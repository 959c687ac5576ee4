"""Which shapes are unlike the others, and what is done about them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from dataloader_expert.sources.reference import Reference
from tests.checks.looking import Data, judged


@pytest.mark.parametrize(
    ("odd", "says", "fix"),
    [
        ((1, 8, 8), "but float32[1, 8, 8]", "convert these images to the channels of the others"),
        ((3, 9, 8), "but float32[3, 9, 8]", "resize, pad or crop"),
    ],
)
def test_an_unusual_shape_is_shown_with_its_cure(odd: tuple[int, ...], says: str, fix: str) -> None:
    """Seen: pictures of one channel among those of three, to be padded, with their shape left unsaid."""
    pictures = [np.random.default_rng(i).random(odd if i == 7 else (3, 8, 8), np.float32) for i in range(30)]
    found = judged("integrity", Data({"x": pictures}))["shape-drift"]
    assert says in found.message and found.fix.startswith(fix)


@pytest.mark.parametrize(("collates", "code"), [(True, "ragged"), (False, "shape-drift")])
def test_lengths_that_a_collate_function_is_there_for_are_no_error(collates: bool, code: str) -> None:
    """Seen: "1 of 2 samples is not float32[108, 24]" as an error, where the user's collate function pads."""
    rows = [np.zeros((9 if i == 7 else 8, 4), np.float32) for i in range(60)]
    found = judged("integrity", Data({"x": rows}, kinds={"x": "array"}, context={"collates": collates}))
    assert code in found and ("shape-drift" in found) is not collates


@pytest.mark.parametrize("batch_size", [None, 1])
def test_batches_that_a_dataset_makes_may_end_in_a_smaller_one(batch_size: int | None) -> None:
    """Seen: "11 of 337 samples are not float32[512, 6]" as an error, of a stream of batches whose last one of each file was smaller."""
    source = Reference()
    source.parts, source.dataset = {}, [torch.zeros(8, 4), torch.zeros(3, 4)]
    source.loader = DataLoader(source.dataset, batch_size=batch_size)
    assert source.unstacked is (batch_size is None) and not source.collates


def test_two_samples_tell_no_usual_shape() -> None:
    """Our promise: of two samples none is the odd one."""
    rows = [np.zeros((n, 4), np.float32) for n in (8, 9)]
    assert "shape-drift" not in judged("integrity", Data({"x": rows}, kinds={"x": "array"}))

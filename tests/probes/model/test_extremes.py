"""Samples unlike the others are found wherever they stand, and fed to the model."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.probes.model.extremes import extremes, whole_numbers
from tests.journeys.conftest import asker, quickly  # noqa: F401  # fixtures
from tests.making.asking import Asker


@given(st.integers(2, 600), st.data())
def test_the_largest_number_of_each_leaf_is_found_in_any_sample(n: int, data: Any) -> None:
    """Our promise: one id beyond a table, in any of the samples that there was time for."""
    at = data.draw(st.integers(0, n - 1))
    dataset = [{"ids": torch.tensor([1, 2, 3 + 90 * (i == at)]), "x": torch.ones(2), "y": i % 3} for i in range(n)]
    found = extremes(dataset, n, None, time.monotonic() + 60, 0, lambda index: None, 4)
    assert found.looked == n and at in found.highest


def test_only_whole_numbers_count() -> None:
    sample = {"a": torch.tensor([2.5]), "b": torch.tensor([True]), "c": torch.tensor([], dtype=torch.long), "d": 7}
    assert dict(whole_numbers(sample)) == {"d": 7}


PIPELINE = """
import torch
from torch import nn
from torch.utils.data import DataLoader

def make():
    rows = [(torch.randint(1, 50, (5 + i % 7,)), i % 2) for i in range(120)]
    ODD
    pad = nn.utils.rnn.pad_sequence
    return DataLoader(rows, 8, collate_fn=lambda b: (pad([s[0] for s in b], True), torch.tensor([s[1] for s in b])))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.places, self.head = nn.Embedding(50, 8), nn.Embedding(16, 8), nn.Linear(8, 2)

    def forward(self, ids):
        x = self.table(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(x.mean(1))
"""


@pytest.mark.journey
@pytest.mark.parametrize(
    ("odd", "code"),
    [
        ("", None),
        ("rows[77][0][2] = 99", "out-of-range-ids"),
        ("rows[91] = (torch.ones(30).long(), 0)", "shape-mismatch"),
    ],
)
def test_one_sample_that_a_model_refuses_is_told(odd: str, code: str | None, tmp_path: Any, quickly: Asker) -> None:  # noqa: F811
    """Our promise: what ends a run in its seventh batch is told before it."""
    path = tmp_path / "train.py"
    path.write_text(PIPELINE.replace("ODD", odd or "pass"), encoding="utf-8")
    report = quickly.ask("recommend_batch_spec", f"{path}:make", str(tmp_path), model=f"{path}:Model")
    told = [(f.code, f.severity) for f in report.findings if f.code.endswith(("-ids", "-mismatch"))]
    assert told == ([] if code is None else [(code, "error")])

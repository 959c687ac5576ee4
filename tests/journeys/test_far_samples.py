"""Samples unlike the others are fed to the model, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making.asking import Asker

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


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        ("", None),
        ("rows[77][0][2] = 99", "out-of-range-ids"),
        ("rows[91] = (torch.ones(30).long(), 0)", "shape-mismatch"),
    ],
)
def test_one_sample_that_a_model_refuses_is_told(odd: str, code: str | None, tmp_path: Path, quickly: Asker) -> None:
    """Our promise: what ends a run in its seventh batch is told before it."""
    path = tmp_path / "train.py"
    path.write_text(PIPELINE.replace("ODD", odd or "pass"), encoding="utf-8")
    report = quickly.ask("recommend_batch_spec", f"{path}:make", str(tmp_path), model=f"{path}:Model")
    told = [(f.code, f.severity) for f in report.findings if f.code.endswith(("-ids", "-mismatch"))]
    assert told == ([] if code is None else [(code, "error")])


OF_ONE_SIZE = """
import torch
from torch import nn
from torch.utils.data import DataLoader

def make():
    numbers = torch.Generator().manual_seed(0)
    return DataLoader([(torch.randint(0, WIDTH, (6,), generator=numbers), i % 2) for i in range(120)], 4)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(1000, 8), nn.Linear(48, 2)

    def forward(self, ids):
        return self.head(self.table(ids).view(4, 48))
"""


@pytest.mark.parametrize(("width", "codes"), [(1000, []), (1100, ["out-of-range-ids"])])
def test_a_model_of_one_batch_size_gets_no_larger_batch(
    width: int, codes: list[str], tmp_path: Path, quickly: Asker
) -> None:
    """Our promise: more samples are worth a look than its batch holds, and it takes no more at once."""
    path = tmp_path / "train.py"
    path.write_text(OF_ONE_SIZE.replace("WIDTH", str(width)), encoding="utf-8")
    report = quickly.ask("recommend_batch_spec", f"{path}:make", str(tmp_path), model=f"{path}:Model")
    assert [f.code for f in report.findings if f.code.endswith(("-ids", "-mismatch"))] == codes

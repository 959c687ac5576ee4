"""Samples unlike the others are fed to the model, wherever they stand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
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


JOINED = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Clouds(torch.utils.data.Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, i):
        numbers = torch.Generator().manual_seed(i)
        n = int(torch.randint(200, 300, (1,), generator=numbers))
        return torch.randn(n, 3, generator=numbers), i % 4

def join(rows):
    owner = [torch.full((len(points),), k) for k, (points, _) in enumerate(rows)]
    y = torch.tensor([y for _, y in rows])
    return {"points": torch.cat([points for points, _ in rows]), "owner": torch.cat(owner), "y": y}

def make():
    return DataLoader(Clouds(), 6, collate_fn=join)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(3, 512), nn.Linear(512, 4)

    def forward(self, points, owner):
        each = self.first(points)
        return self.head(torch.zeros(int(owner.max()) + 1, 512).index_add(0, owner, each))
"""


def test_the_memory_of_rows_one_after_another_grows_with_the_batch(tmp_path: Path, quickly: Asker) -> None:
    """Our promise: told for the loader's own size, and of a sample as many rows as the largest batch has."""
    path = tmp_path / "train.py"
    path.write_text(JOINED, encoding="utf-8")
    report = quickly.ask("recommend_batch_spec", f"{path}:make", str(tmp_path), model=f"{path}:Model")
    assert report.batch_size == 6  # type: ignore[attr-defined]  # of that tool
    assert "the loader's own" in report.summary
    memory = report.memory  # type: ignore[attr-defined]  # of that tool
    assert memory.fit["check"]["batch_size"] == 6
    assert memory.fit["forward"][0]["bytes_per_sample"] > 200 * 512 * 4


PICTURES = """
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.first(x).mean((2, 3)))
"""


def test_what_the_printed_code_delivers_and_the_model_refuses_is_no_acceptance(tmp_path: Path, quickly: Asker) -> None:
    """Our promise: of files as of a user's own Dataset; only stored pictures are made floats by the way."""
    path, data = tmp_path / "train.py", tmp_path / "data.npz"
    path.write_text(PICTURES, encoding="utf-8")
    numbers = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))
    np.savez(data, x=numbers.random((60, 9, 11, 3)), label=numbers.integers(0, 2, 60))
    report = quickly.ask("recommend_batch_spec", str(data), str(tmp_path), model=f"{path}:Model")
    assert not report.model_check.accepted  # type: ignore[attr-defined]  # of that tool
    told = {f.code for f in report.findings if f.severity == "error"}
    assert told == {"dtype-mismatch", "layout-mismatch"}


OF_LABELS = """
import torch
from torch import nn
from torch.utils.data import DataLoader

def make():
    labels = [4 + i % 7 for i in range(160)]
    labels[-9:] = range(LEAST, LEAST + 9)
    return DataLoader([(torch.randn(6), y) for y in labels], 16)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        return self.head(x)
"""


@pytest.mark.parametrize(("least", "cured"), [(1, True), (0, False)])
def test_labels_of_one_batch_do_not_tell_where_classes_begin(
    least: int, cured: bool, tmp_path: Path, quickly: Asker
) -> None:
    """Seen: of labels from 0 to 10, those of a batch that has no 0 were to be made smaller by one."""
    path = tmp_path / "train.py"
    path.write_text(OF_LABELS.replace("LEAST", str(least)), encoding="utf-8")
    report: Any = quickly.ask("recommend_batch_spec", f"{path}:make", str(tmp_path), model=f"{path}:Model")
    [one] = [f for f in report.findings if f.code == "label-out-of-range"]
    assert f"labels from {least} to 10" in one.message
    assert ("model_check.cure" in one.fix) == cured

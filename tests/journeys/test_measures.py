"""What is no measure is neither normalised nor called constant: marks of padding, edges, targets, fields that the model does not take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.making.asking import Asker

SOURCE = '''
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset


class Graphs(Dataset):
    """Atoms one-hot, edges, a mask of padding that is never shorter than 3, and lists of ids that may be of one length."""

    def __len__(self):
        return 120

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        n = 3 + i % 6
        mask = torch.arange(8) < n
        x = torch.eye(4)[rng.integers(0, 4, 8)] * mask[:, None]
        return {"x": x, "edges": torch.from_numpy(rng.integers(0, 2, (8, 8))).float(), "mask": mask.float(),
                "size": torch.tensor(float(rng.normal(5, 2))), "group": i // 20}


class Photographs(Dataset):
    """Grey pictures with a bright spot, and boxes."""

    def __len__(self):
        return 60

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        image = np.clip(0.3 + rng.gamma(0.5, 0.05, (1, 20, 24)), 0.01, 0.99).astype(np.float32)
        return torch.from_numpy(image), torch.from_numpy(rng.random((2, 5)).astype(np.float32) + 1)


class Bags(Dataset):
    def __len__(self):
        return 60

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        lengths = [2, 2, 2] if i % 9 == 4 else [1 + i % 3, 2 + i % 2, 4]
        return rng.normal(size=3).astype(np.float32), [rng.integers(0, 50, n) for n in lengths], i % 2


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x, edges, mask):
        return self.layer((edges @ x * mask[..., None]).mean(1)).squeeze(1)


class Detects(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 5, 3)

    def forward(self, images, targets=None):
        out = self.layer(images).mean((2, 3))
        return out if targets is None else ((out[:, None] - targets) ** 2).mean()
'''


def asked(asker: Asker, root: Path, name: str, **more: Any) -> Any:
    (root / "mine.py").write_text(SOURCE, encoding="utf-8")
    return asker.ask("recommend_batch_spec", f"{root / 'mine.py'}:{name}", str(root), **more)


def test_marks_and_edges_are_no_measures(quickly: Asker, tmp_path: Path) -> None:
    """Seen: a mask of padding was to be left out of the inputs as constant, and one-hot rows were to be normalised."""
    report = asked(quickly, tmp_path, "Graphs", model=f"{tmp_path / 'mine.py'}:Sums")
    assert report.model_check.accepted
    assert all(f.code != "constant-field" for f in report.findings)
    assert report.preprocessing.normalization["method"] == "none"


def test_pictures_and_targets_get_no_logarithm(quickly: Asker, tmp_path: Path) -> None:
    """Seen: a logarithm of grey photographs, and a mean and std for boxes."""
    report = asked(quickly, tmp_path, "Photographs", model=f"{tmp_path / 'mine.py'}:Detects")
    found = report.preprocessing.normalization
    assert found["method"] == "standard" and isinstance(found["mean"], float)
    assert "[B, 1, 20, 24]" in report.preprocessing.layout


def test_a_list_of_arrays_of_one_length_is_no_other_type(quickly: Asker, tmp_path: Path) -> None:
    """Seen: three arrays of ids were a list or numbers, by whether they happened to be as long as each other."""
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    report: Any = quickly.ask("check_quality", f"{tmp_path / 'mine.py'}:Bags", str(tmp_path))
    assert all(f.code != "dtype-drift" for f in report.findings)

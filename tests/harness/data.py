"""Tiny data that cases name: the builders of tests/making, and a few with what a case is about planted in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.making.tiny import TINY

CODE = '''
import numpy as np


class Rows:
    """Forty samples of eight numbers; sample 7 raises where it is told to."""

    def __init__(self, n=40, raises=None):
        self.n, self.raises = n, raises

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.raises == "always" or self.raises == i:
            raise KeyError("img")
        if not 0 <= i < self.n:
            raise IndexError(i)
        return {"x": np.random.default_rng(i).normal(0, 1, 8).astype("float32"), "label": i % 4}


def model(width=8):
    import torch
    return torch.nn.Linear(width, 4)
'''


def code(folder: Path) -> None:
    """A user's module, and one that does not import."""
    (folder / "rows.py").write_text(CODE, encoding="utf-8")
    (folder / "broken.py").write_text("import a_package_that_is_not_there\n", encoding="utf-8")


def skewed(folder: Path) -> None:
    """240 rows of two classes, 30 to 1 (rounded), and one row that is there twice."""
    labels = ["common"] * 232 + ["rare"] * 8
    rows = [f"{i},{(i * 37) % 101 / 10},{label}" for i, label in enumerate(labels)]
    rows[11] = rows[10]
    (folder / "table.csv").write_text("\n".join(["id,value,label", *rows]) + "\n", encoding="utf-8")


def mixed(folder: Path) -> None:
    """Two kinds of data side by side: nothing says which is meant."""
    TINY["image-folder"](folder)
    TINY["csv"](folder)


def numbers(folder: Path) -> None:
    """Rows whose mean, spread and one missing value are known: 1 … 100."""
    rows = [f"{i},{i % 2}" for i in range(1, 101)]
    (folder / "numbers.csv").write_text("\n".join(["x,label", *rows]) + "\n", encoding="utf-8")


def linked(folder: Path) -> None:
    """A link that leads out of any root."""
    (folder / "out").symlink_to("/etc")


BUILDERS: dict[str, Callable[[Path], object]] = {
    **TINY,
    "code": code,
    "skewed": skewed,
    "mixed": mixed,
    "numbers": numbers,
    "linked": linked,
}

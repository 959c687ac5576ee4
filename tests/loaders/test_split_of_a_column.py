"""A loader of one split that a table's own column names."""

from __future__ import annotations

from pathlib import Path

import torch

from dataloader_expert.loaders import create_loader


def test_the_rows_of_one_split_are_loaded_and_what_they_lack_is_nan(tmp_path: Path) -> None:
    """Our promise: as from a file of these rows alone; absent numbers are NaN, never 0."""
    rows = [f"{'val' if i % 3 == 0 else 'train'},{'' if i % 6 == 0 else i * 1.5},{i % 2}" for i in range(60)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["split,x,label", *rows]) + "\n")
    x = torch.cat([batch["x"] for batch in create_loader(path, split="val", batch_size=7)])
    assert len(x) == 20
    assert x.isnan().tolist() == [i % 6 == 0 for i in range(0, 60, 3)]
    assert x[~x.isnan()].tolist() == [i * 1.5 for i in range(3, 60, 6)]
